//! `gc`: selects volumes and plans to reclaim them. `retain`: plans to set the reclaim policy to Retain.
//! The reconciler `rescue` of `watch` keeps data that is about to be lost, and destroys nothing.

use super::{ObjectDetails, Plan, Purpose, no_such};
use crate::cluster::{Cx, Seen, Subject};
use crate::facts::{self, AnnouncementStatus};
use crate::model::{
    Claim, Kind, ObjectKey, ObjectRef, Phase, ReclaimPolicy, RuleId, Text, Threshold, VerdictState,
    Volume,
};
use crate::remedies::{Announcing, RetentionChange};
use crate::rules;

/// Volumes that `gc` selects, besides the scope of the settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GcSelection {
    /// Names of volumes, whatever their phase; when empty, every Released volume with policy Retain.
    pub names: Vec<Text>,
    /// Class of the volumes, if they are to have one.
    pub class: Option<Text>,
    /// Driver of the volumes, if they are to have one.
    pub driver: Option<Text>,
    /// Whether only the object is deleted and the backend volume is kept.
    pub keep_backend: bool,
    /// Time at which the volumes are reclaimed.
    pub when: WhenReclaimed,
}

/// Time at which the selected volumes are reclaimed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum WhenReclaimed {
    /// The volumes are reclaimed now.
    #[default]
    Now,
    /// The volumes are announced now, and reclaimed later.
    Announce(Announcing),
    /// The volumes that were announced long enough ago are reclaimed now.
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
                plan.refuse(object, usual.id(), no_such(Kind::PersistentVolume).to_owned(), false);
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

/// Returns the status of a volume's announcement; `None` where announcements were not read.
fn status(cx: &Cx, volume: &Volume) -> Option<AnnouncementStatus> {
    facts::announcement_status(cx, volume, None).ok()
}

/// Plans to set the policy of these volumes, or of the volumes of these claims, to Retain.
pub fn retain(cx: &Cx, objects: &[ObjectKey]) -> Plan {
    let mut plan = Plan::new("retain", cx);
    for key in objects {
        let object = ObjectRef { key: key.clone(), uid: None };
        match volume_of(cx, key) {
            Ok(Ok(volume)) => {
                // A volume that is named by itself and by its claim is one change, or one refusal.
                let object = volume.object();
                let changes = plan.changes.iter().map(|it| &it.object);
                let refusals = plan.refusals.iter().map(|it| &it.object);
                if !changes.chain(refusals).any(|known| *known == object) {
                    plan.take(cx, Purpose::Retain, volume, true);
                }
            }
            Ok(Err(reason)) => plan.refuse(object, Purpose::Retain.id(), reason, false),
            Err(unseen) => plan.refuse(object, Purpose::Retain.id(), unseen.reason, true),
        }
    }
    plan.sorted()
}

/// Finds the volume that a key names, or the one that the named claim is bound to.
fn volume_of<'a>(cx: &Cx<'a>, key: &ObjectKey) -> Seen<Result<&'a Volume, String>> {
    let name = match key.as_claim() {
        Some(claim) => {
            let Some(claim) = cx.claim(&claim)? else {
                return Ok(Err(no_such(key.kind).to_owned()));
            };
            match &claim.volume_name {
                Some(name) => (name.clone(), Some(&claim.metadata.uid)),
                None => return Ok(Err("it is not bound to a volume".to_owned())),
            }
        }
        None => (key.name.clone(), None),
    };
    let (name, claim) = name;
    let Some(volume) = cx.volume(&name)? else {
        return Ok(Err(match claim {
            None => no_such(key.kind).to_owned(),
            Some(_) => format!("its volume pv/{name} does not exist"),
        }));
    };
    if let Some(uid) = claim {
        // A claim can reference a volume that is bound to another claim.
        let bound = volume.claim_ref.as_ref().and_then(|it| it.uid.as_ref());
        if bound.is_none() || bound != uid.as_ref() {
            return Ok(Err(format!("pv/{name}, which it references, is not bound to it")));
        }
    }
    Ok(Ok(volume))
}

/// Name of the command in plans and in the journal.
const COMMAND: &str = "watch-rescue";

/// Findings that `rescue` answers.
pub const RESCUED: [RuleId; 3] = [IN_USE, DOOMED, CONTRADICTS];
const IN_USE: RuleId = "pvc-terminating-in-use";
const DOOMED: RuleId = "pvc-doomed-by-gc";
const CONTRADICTS: RuleId = "sts-ownerref-contradicts-retain";

/// Plans to set the policy of volumes to Retain whose claims are Terminating while pods use them, and to remove owner
/// references with which the garbage collector would delete a claim although its set retains it, or of which no
/// owner exists. Findings that the user excluded, and those without a remedy, are left alone.
///
/// A claim whose pods are all Terminating is on its way out on purpose, as in a namespace that is being deleted: what
/// is kept of that would be billed for ever.
pub fn rescue(cx: &Cx) -> Plan {
    let mut plan = Plan::new(COMMAND, cx);
    let found = |subject: &Subject, id: RuleId| {
        let rule = rules::find(id)
            .filter(|_| !rules::is_left_out(cx.cluster(), cx.settings(), subject, id));
        let finding = rule.and_then(|rule| rules::judge_with(cx, subject, rule).finding);
        finding.is_some_and(|it| it.verdict.state == VerdictState::Fixable)
    };
    let mut in_use = Vec::new();
    for (id, claim) in cx.cluster().claims() {
        let subject = Subject::Claim(id);
        if found(&subject, IN_USE) && stays_in_use(cx, claim) {
            in_use.push(claim.object().key);
        } else if found(&subject, DOOMED) {
            take(cx, &mut plan, claim, Purpose::Disown);
        } else if found(&subject, CONTRADICTS) {
            take(cx, &mut plan, claim, Purpose::ReconcileRetention(RetentionChange::RemoveOwners));
        }
    }
    let Plan { changes, refusals, .. } = retain(cx, &in_use);
    plan.changes.extend(changes);
    plan.refusals.extend(refusals);
    plan.sorted()
}

/// Whether a pod that is neither Terminating nor finished uses a claim.
fn stays_in_use(cx: &Cx, claim: &Claim) -> bool {
    let users = facts::upstream_in_use(cx, claim).unwrap_or_default();
    users.iter().any(|user| user.pod.deleting.is_none() && !user.pod.is_finished())
}

fn take(cx: &Cx, plan: &mut Plan, claim: &Claim, purpose: Purpose) {
    let object = claim.object();
    let about = ObjectDetails::of_object(cx, &object);
    plan.take_proposed(cx, purpose, object, about, false);
}
