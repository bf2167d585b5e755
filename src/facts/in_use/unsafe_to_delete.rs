//! Why a claim must not be deleted (R-PVCP-9).

use super::{ClaimFate, PodUser, Why, fate, pod_users};
use crate::cluster::{Cx, Seen, Unseen};
use crate::facts::{
    Ownership, PVC_PROTECTION, controller_of, ownership,
    retention::{Member, membership},
};
use crate::model::{
    Attachment, Claim, ClaimCondition, ClaimPhase, Kind, ObjectRef, OwnerReference, ReclaimPolicy,
    StatefulSet, Text, Volume, VolumeSnapshot, Workload, split_ordinal,
};

/// Conditions that say that the volume is being changed.
const CHANGING: [&str; 3] = ["Resizing", "FileSystemResizePending", "ModifyingVolume"];

/// One reason not to delete a claim, with the object that proves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason<'a> {
    /// A pod uses it, in whatever phase, scheduled or not.
    Pod(PodUser<'a>),
    /// A workload's template names it, at any number of replicas, suspended or not.
    Workload(&'a Workload),
    /// It is, by its name, a claim of a set's template.
    Template(SetTemplate<'a>),
    /// A claim that is to be filled from it is still Pending.
    Clone(&'a Claim),
    /// A snapshot of it is not ready.
    Snapshot(&'a VolumeSnapshot),
    /// Its volume is attached to a node.
    Attached(&'a Attachment),
    /// It is controlled by an object that is there, and which relies on it or would make it anew.
    Owned(OwnerReference),
    /// Its protection is missing: a deletion would be immediate, under a running pod too.
    Unprotected,
    /// Its volume's policy destroys the data. The only reason that a choice of the user lifts.
    DataLost(&'a Volume),
    /// Its size or its attributes are being changed.
    Changing(ClaimCondition),
}

/// A claim template of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetTemplate<'a> {
    /// The set.
    pub set: &'a StatefulSet,
    /// The template's name.
    pub template: &'a Text,
}

/// What speaks against deleting a claim.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unsafe<'a> {
    /// The reasons that were found, pods first.
    pub reasons: Vec<Reason<'a>>,
    /// What was not seen, and might hold another one.
    pub unseen: Vec<Unseen>,
}

impl Unsafe<'_> {
    fn take<'a, T>(
        unseen: &mut Vec<Unseen>,
        seen: Seen<impl IntoIterator<Item = T>>,
        reason: impl Fn(T) -> Reason<'a>,
    ) -> Vec<Reason<'a>> {
        match seen {
            Ok(found) => found.into_iter().map(reason).collect(),
            Err(what) => {
                unseen.push(what);
                Vec::new()
            }
        }
    }
}

impl Reason<'_> {
    /// Whether saying what is to become of the data is enough to lift it.
    pub const fn is_lifted_by_choice(&self) -> bool {
        matches!(self, Self::DataLost(_))
    }

    /// The object that proves it; `None` where it is the claim itself.
    pub fn object(&self) -> Option<ObjectRef> {
        match self {
            Self::Pod(user) => Some(user.pod.object()),
            Self::Workload(workload) => Some(workload.object()),
            Self::Template(SetTemplate { set, .. }) => Some(set.object()),
            Self::Clone(claim) => Some(claim.object()),
            Self::Snapshot(snapshot) => Some(snapshot.object()),
            Self::Attached(attachment) => Some(attachment.object()),
            Self::DataLost(volume) => Some(volume.object()),
            Self::Owned(_) | Self::Unprotected | Self::Changing(_) => None,
        }
    }

    /// In words, as a refusal would say it.
    pub fn words(&self) -> String {
        match self {
            Self::Pod(PodUser { pod, why }) => {
                let how = match why {
                    Why::Named => "names it",
                    Why::Ephemeral => "has it as an ephemeral volume",
                };
                let scheduled = if pod.node.is_some() { "" } else { ", not scheduled yet" };
                let shut_down = if pod.is_shut_down() { ", shut down" } else { "" };
                format!("{} {how}, phase {}{scheduled}{shut_down}", pod.object(), pod.phase.name())
            }
            Self::Workload(workload) => {
                let state = if workload.finished {
                    " (finished: it starts no more pods)".to_owned()
                } else if workload.suspended {
                    " (suspended)".to_owned()
                } else {
                    workload.replicas.map_or_else(String::new, |n| format!(" (replicas: {n})"))
                };
                format!("the template of {} names it{state}", workload.object())
            }
            Self::Template(SetTemplate { set, template }) => {
                format!("it is a claim of template {template} of {}", set.object())
            }
            Self::Clone(claim) => format!("{} is being filled from it", claim.object()),
            Self::Snapshot(snapshot) => format!("{} of it is not ready", snapshot.object()),
            Self::Attached(attachment) => {
                format!("its volume is attached to node {}", attachment.node)
            }
            Self::Owned(owner) => format!("{} {} controls it", owner.kind, owner.name),
            Self::Unprotected => {
                format!("finalizer {PVC_PROTECTION} is missing: it would go at once")
            }
            Self::DataLost(volume) => {
                format!("the policy of {} destroys the data", volume.object())
            }
            Self::Changing(condition) => format!("condition {} holds", condition.kind),
        }
    }
}

/// Returns everything that speaks against deleting a claim. One user that was found is proof
/// enough of use, whatever else was not seen.
pub fn unsafe_to_delete<'a>(cx: &Cx<'a>, claim: &Claim) -> Unsafe<'a> {
    let mut unseen = Vec::new();
    let key = claim.key();
    let mut reasons = Unsafe::take(&mut unseen, pod_users(cx, claim), Reason::Pod);
    let workloads = cx.workloads_of(&key);
    reasons.extend(Unsafe::take(&mut unseen, workloads, Reason::Workload));
    reasons.extend(Unsafe::take(&mut unseen, template_wanting(cx, claim), Reason::Template));
    let clones = cx
        .claims_from(&key)
        .map(|claims| claims.into_iter().filter(|claim| claim.phase == ClaimPhase::Pending));
    reasons.extend(Unsafe::take(&mut unseen, clones, Reason::Clone));
    let snapshots = cx
        .volume_snapshots_of(&key)
        .map(|snapshots| snapshots.into_iter().filter(|snapshot| !snapshot.ready));
    reasons.extend(Unsafe::take(&mut unseen, snapshots, Reason::Snapshot));
    if let Some(volume) = &claim.volume_name {
        let attached =
            cx.attachments_of(volume).map(|rows| rows.into_iter().filter(|row| row.attached));
        reasons.extend(Unsafe::take(&mut unseen, attached, Reason::Attached));
    }
    if let Some(owner) = controller_of(&claim.metadata) {
        match ownership(cx, claim, owner) {
            Ok(Ownership::Solid) => reasons.push(Reason::Owned(owner.clone())),
            Ok(Ownership::Dangling) => {}
            Err(what) => unseen.push(what),
        }
    }
    if !claim.metadata.has_finalizer(PVC_PROTECTION) {
        reasons.push(Reason::Unprotected);
    }
    match fate(cx, claim) {
        // The policy is enough, whether or not somebody can act on it now.
        ClaimFate::Destroyed(volume) | ClaimFate::Scrubbed(volume) | ClaimFate::Kept(volume) => {
            if matches!(volume.reclaim_policy, ReclaimPolicy::Delete | ReclaimPolicy::Recycle) {
                reasons.push(Reason::DataLost(volume));
            }
        }
        ClaimFate::NoVolume => {}
        ClaimFate::Unseen(reason) => {
            unseen.push(Unseen { kind: Kind::PersistentVolume, namespace: None, reason });
        }
    }
    let changing = CHANGING.iter().find_map(|kind| claim.condition(kind));
    reasons.extend(changing.cloned().map(Reason::Changing));
    Unsafe { reasons, unseen }
}

/// Returns the templates of sets that want the claim, or keep it although they do not want its
/// ordinal now. Where it cannot be told whose it is, all of them (R-PVCP-9 c, R-1847-4).
fn template_wanting<'a>(cx: &Cx<'a>, claim: &Claim) -> Seen<Vec<SetTemplate<'a>>> {
    let found = membership(cx, claim)?;
    let leaves = |it: &Member| {
        !it.is_wanted() && it.set.retention.as_ref().is_some_and(|it| it.when_scaled.deletes())
    };
    if found.decided.as_ref().is_some_and(leaves) {
        return Ok(Vec::new());
    }
    let pairs = found.decided.map_or(found.pairs, |it| vec![it]);
    Ok(pairs.iter().map(|it| SetTemplate { set: it.set, template: it.template }).collect())
}

/// Returns the templates of sets whose claim it is, by its name alone: in range or not, whatever
/// the set's policy.
///
/// SEAM: R-PVCP-9 c also lets go of claims out of range with `whenScaled: Delete`. Which ordinals
/// are in range is for the facts about sets to say, and to be asked here. Until then every claim
/// of a template counts, which refuses more than it has to.
///
/// # Errors
/// When sets of its namespace were not seen.
pub fn template_of<'a>(cx: &Cx<'a>, claim: &Claim) -> Seen<Vec<SetTemplate<'a>>> {
    let Some((stem, _)) = split_ordinal(&claim.metadata.name) else { return Ok(Vec::new()) };
    let sets = cx.sets_of_stem(&claim.namespace, stem)?;
    Ok(sets.into_iter().map(|(set, template)| SetTemplate { set, template }).collect())
}
