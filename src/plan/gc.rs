//! `gc`: selects volumes and plans to reclaim them.

use super::{Plan, Purpose};
use crate::cluster::{Cx, Subject};
use crate::facts::{self, AnnouncementStatus};
use crate::model::{Kind, ObjectKey, ObjectRef, Phase, ReclaimPolicy, Text, Threshold, Volume};
use crate::remedies::Announcing;
use crate::rules;

/// Which volumes `gc` selects, besides the scope of the settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GcSelection {
    /// These volumes, whatever their phase; when empty, every Released volume with policy Retain.
    pub names: Vec<Text>,
    /// Only of this class.
    pub class: Option<Text>,
    /// Only of this driver.
    pub driver: Option<Text>,
    /// Whether only the object is deleted and the backend volume is kept.
    pub keep_backend: bool,
    /// Whether they are reclaimed now.
    pub when: WhenReclaimed,
}

/// When the selected volumes are reclaimed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum WhenReclaimed {
    /// Now.
    #[default]
    Now,
    /// Later: now, that is announced.
    Announce(Announcing),
    /// Now, of those that were announced for long enough.
    Announced,
}

/// Plans to reclaim the selected volumes.
///
/// A volume that is too young is not selected by a filter, and refused where the user names it.
/// Every other failed check is a refusal with its reason.
pub fn gc(cx: &Cx, selection: &GcSelection) -> Plan {
    let mut plan = Plan::new("gc", cx);
    let cluster = cx.cluster();
    let usual = match &selection.when {
        WhenReclaimed::Announce(announcing) => Purpose::Announce(announcing.clone()),
        WhenReclaimed::Announced => Purpose::ReclaimAnnounced,
        WhenReclaimed::Now if selection.keep_backend => Purpose::KeepBackend,
        WhenReclaimed::Now => Purpose::Reclaim,
    };
    for name in &selection.names {
        let key = ObjectKey::cluster_wide(Kind::PersistentVolume, name);
        let object = ObjectRef { key, uid: None };
        match cx.volume(name) {
            Ok(Some(volume)) => {
                let condemned = cx.settings().destroy_data && volume.phase == Phase::Available;
                let purpose = if condemned { Purpose::Condemn } else { usual.clone() };
                if selection.finds_veto(cx, volume) {
                    plan.take(cx, Purpose::RecordVeto, volume, true);
                }
                plan.take(cx, purpose, volume, true);
            }
            Ok(None) => {
                plan.refuse(object, usual.id(), "there is no such volume".to_owned(), false);
            }
            Err(unseen) => plan.refuse(object, usual.id(), unseen.reason, true),
        }
    }
    if selection.names.is_empty() {
        for (id, volume) in cluster.volumes() {
            let in_scope = rules::in_scope(cluster, cx.settings(), &Subject::Volume(id));
            if in_scope && selection.selects(cx, volume) {
                if selection.finds_veto(cx, volume) {
                    plan.take(cx, Purpose::RecordVeto, volume, false);
                }
                plan.take(cx, usual.clone(), volume, false);
            }
        }
    }
    plan.sorted()
}

impl GcSelection {
    /// Whether the filters select a volume.
    fn selects(&self, cx: &Cx, volume: &Volume) -> bool {
        // What was announced is looked at whatever it is now, to say what has become of it.
        let is_announced = self.when == WhenReclaimed::Announced;
        let kept = match is_announced {
            true => status(cx, volume).is_some_and(|it| it != AnnouncementStatus::NotAnnounced),
            false => {
                volume.phase == Phase::Released
                    && volume.reclaim_policy == ReclaimPolicy::Retain
                    && volume.metadata.deleting.is_none()
            }
        };
        if !kept || self.class.as_ref().is_some_and(|it| volume.class.as_ref() != Some(it)) {
            return false;
        }
        if self.driver.as_ref().is_some_and(|it| facts::owner(volume).name() != it) {
            return false;
        }
        let age = facts::phase_age(cx, volume);
        is_announced || age.since.is_none() || cx.older_than(&age, Threshold::OlderThan)
    }

    /// Whether the announcement of a volume was vetoed, and no record says so yet.
    fn finds_veto(&self, cx: &Cx, volume: &Volume) -> bool {
        let overrides = match &self.when {
            WhenReclaimed::Now => return false,
            WhenReclaimed::Announce(announcing) => announcing.include_vetoed,
            WhenReclaimed::Announced => false,
        };
        let status = status(cx, volume);
        !overrides && matches!(status, Some(AnnouncementStatus::Vetoed(veto)) if !veto.recorded)
    }
}

/// What is known of the announcement of a volume; `None` where announcements were not read.
fn status(cx: &Cx, volume: &Volume) -> Option<AnnouncementStatus> {
    facts::announcement_status(cx, volume, None).ok()
}
