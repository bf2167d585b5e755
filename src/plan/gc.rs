//! `gc`: which volumes are reclaimed.

use super::{Plan, Purpose};
use crate::cluster::{Cx, Subject};
use crate::facts;
use crate::model::{Kind, ObjectKey, ObjectRef, Phase, ReclaimPolicy, Text, Threshold, Volume};
use crate::rules;

/// Which volumes `gc` looks at, besides the scope of its settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// These volumes, whatever their phase; every Released volume that Retain keeps when empty.
    pub names: Vec<Text>,
    /// Only of this class.
    pub class: Option<Text>,
    /// Only of this driver.
    pub driver: Option<Text>,
    /// Drop the object, keep the backend volume.
    pub keep_backend: bool,
}

/// Plans to reclaim what was selected.
///
/// What was chosen by a filter and is too young is not selected at all; what was named is refused.
/// Everything else that fails a check is refused with its reason, so that nobody wonders.
pub fn gc(cx: &Cx, selection: &Selection) -> Plan {
    let mut plan = Plan::new("gc", cx);
    let cluster = cx.cluster();
    let usual = if selection.keep_backend { Purpose::KeepBackend } else { Purpose::Reclaim };
    for name in &selection.names {
        let key = ObjectKey::cluster_wide(Kind::PersistentVolume, name);
        let object = ObjectRef { key, uid: None };
        match cx.volume(name) {
            Ok(Some(volume)) => {
                let condemned = cx.settings().destroy_data && volume.phase == Phase::Available;
                let purpose = if condemned { Purpose::Condemn } else { usual.clone() };
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
            if in_scope && selection.wants(cx, volume) {
                plan.take(cx, usual.clone(), volume, false);
            }
        }
    }
    plan.sorted()
}

impl Selection {
    /// Whether a volume is one that a filter asks for.
    fn wants(&self, cx: &Cx, volume: &Volume) -> bool {
        let kept = volume.phase == Phase::Released
            && volume.reclaim_policy == ReclaimPolicy::Retain
            && volume.metadata.deleting.is_none();
        if !kept || self.class.as_ref().is_some_and(|it| volume.class.as_ref() != Some(it)) {
            return false;
        }
        if self.driver.as_ref().is_some_and(|it| facts::owner(volume).name() != it) {
            return false;
        }
        let age = facts::phase_age(cx, volume);
        age.since.is_none() || cx.older_than(&age, Threshold::OlderThan)
    }
}
