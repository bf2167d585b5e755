//! The reasons for which a claim must not be deleted (R-PVCP-9).

use super::super::in_use;
use super::{
    ClaimDataEffect, ClaimWorkloads, PodUsage, PodUser, claim_workloads, data_effect, pod_users,
};
use crate::cluster::{Cx, Seen, Unseen};
use crate::facts::{
    OtherUser, Ownership, PVC_PROTECTION, controller_of, ownership,
    retention::{Ordinals, TemplateClaim, membership},
};
use crate::model::{
    Attachment, Claim, ClaimCondition, ClaimPhase, Kind, ObjectRef, OwnerReference, ReclaimPolicy,
    StatefulSet, Text, Volume, VolumeSnapshot, Workload, split_ordinal,
};

/// Conditions of a claim during changes of its volume.
const CHANGING: [&str; 3] = ["Resizing", "FileSystemResizePending", "ModifyingVolume"];

/// A reason not to delete a claim, with the object that proves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnsafeReason<'a> {
    /// A pod uses the claim, in any phase, scheduled or not.
    Pod(PodUser<'a>),
    /// The template of a workload references the claim, at any number of replicas, suspended or not.
    Workload(&'a Workload),
    /// The name of the claim is that of a claim of the template of a `StatefulSet`.
    Template(SetTemplate<'a>),
    /// A clone of the claim is still Pending.
    Clone(&'a Claim),
    /// A snapshot of the claim is not ready.
    Snapshot(&'a VolumeSnapshot),
    /// The volume of the claim is attached to a node.
    Attached(&'a Attachment),
    /// A custom resource uses the claim, with or without a pod ([`other_users`](crate::facts::other_users) asks for
    /// them).
    Other(OtherUser),
    /// The claim is controlled by an object that exists, and that uses it or would recreate it.
    Owned(OwnerReference),
    /// The protection finalizer of the claim is missing: a deletion would be immediate, also under a running pod.
    Unprotected,
    /// The policy of the claim's volume does not keep the data. The only reason that a flag overrides.
    DataLost(&'a Volume),
    /// The size or the attributes of the claim are being changed.
    Changing(ClaimCondition),
}

/// A claim template of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetTemplate<'a> {
    /// The set.
    pub set: &'a StatefulSet,
    /// The template's name.
    pub template: &'a Text,
    /// The ordinal of the claim.
    pub ordinal: i32,
    /// Whether it is known that the claim belongs to this set: by its name alone, several can match.
    pub decided: bool,
}

impl SetTemplate<'_> {
    /// Whether the set has a pod of this ordinal, or creates it.
    pub fn is_in_range(&self) -> bool {
        Ordinals::of(self.set).contains(self.ordinal)
    }

    /// Describes where the ordinal lies, if the set has no pod of it.
    fn beyond(&self) -> String {
        match (self.is_in_range(), self.set.replicas) {
            (true, _) => String::new(),
            (false, Some(0)) => " (replicas: 0)".to_owned(),
            (false, replicas) => {
                format!(
                    " (ordinal {}, beyond its {} replicas)",
                    self.ordinal,
                    replicas.unwrap_or(1)
                )
            }
        }
    }
}

/// The reasons not to delete a claim.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unsafe<'a> {
    /// The reasons that were found, pods first.
    pub reasons: Vec<UnsafeReason<'a>>,
    /// Gaps that might contain further reasons.
    pub unseen: Vec<Unseen>,
    /// References to the claim that are no reason: from finished Jobs, and earlier revisions.
    pub notices: Vec<String>,
}

impl Unsafe<'_> {
    fn take<'a, T>(
        unseen: &mut Vec<Unseen>,
        seen: Seen<impl IntoIterator<Item = T>>,
        reason: impl Fn(T) -> UnsafeReason<'a>,
    ) -> Vec<UnsafeReason<'a>> {
        match seen {
            Ok(found) => found.into_iter().map(reason).collect(),
            Err(what) => {
                unseen.push(what);
                Vec::new()
            }
        }
    }
}

impl UnsafeReason<'_> {
    /// Whether a flag about the data overrides this reason.
    pub const fn is_lifted_by_choice(&self) -> bool {
        matches!(self, Self::DataLost(_))
    }

    /// Returns the object that proves this reason; `None` if that is the claim itself.
    pub fn object(&self) -> Option<ObjectRef> {
        match self {
            Self::Pod(user) => Some(user.pod.object()),
            Self::Workload(workload) => Some(workload.object()),
            Self::Template(SetTemplate { set, .. }) => Some(set.object()),
            Self::Clone(claim) => Some(claim.object()),
            Self::Snapshot(snapshot) => Some(snapshot.object()),
            Self::Attached(attachment) => Some(attachment.object()),
            Self::DataLost(volume) => Some(volume.object()),
            Self::Other(_) | Self::Owned(_) | Self::Unprotected | Self::Changing(_) => None,
        }
    }

    /// Returns this reason in the words of a refusal.
    pub fn words(&self) -> String {
        match self {
            Self::Pod(PodUser { pod, usage }) => {
                let how = match usage {
                    PodUsage::Named => "references it",
                    PodUsage::Ephemeral => "has it as an ephemeral volume",
                };
                let scheduled = if pod.node.is_some() { "" } else { ", not scheduled" };
                let shut_down = if pod.is_shut_down() { ", shut down" } else { "" };
                format!("{} {how}, {}{scheduled}{shut_down}", pod.object(), pod.state())
            }
            Self::Workload(workload) => {
                let state = if workload.suspended {
                    " (suspended)".to_owned()
                } else {
                    workload.replicas.map_or_else(String::new, |n| format!(" (replicas: {n})"))
                };
                format!("the template of {} references it{state}", workload.object())
            }
            Self::Template(it) => format!(
                "it is a claim of template {} of {}{}",
                it.template,
                it.set.object(),
                it.beyond()
            ),
            Self::Clone(claim) => format!("{} is being cloned from it", claim.object()),
            Self::Snapshot(snapshot) => format!("its snapshot {} is not ready", snapshot.object()),
            Self::Attached(attachment) => {
                format!("its volume is attached to node {}", attachment.node)
            }
            Self::Other(user) => user.words(),
            Self::Owned(owner) => format!("{} {} controls it", owner.kind, owner.name),
            Self::Unprotected => {
                format!("finalizer {PVC_PROTECTION} is missing: it would be deleted at once")
            }
            Self::DataLost(volume) => {
                format!("policy {} of {} does not keep it", volume.reclaim_policy, volume.object())
            }
            Self::Changing(condition) => format!("condition {} is True", condition.kind),
        }
    }

    /// Returns what ends this use of the claim.
    pub fn ended_by(&self) -> String {
        match self {
            Self::Pod(PodUser { pod, .. }) => match &pod.controller {
                _ if pod.deleting.is_some() => {
                    "wait until it is deleted; by force only if its node is known to be off"
                        .to_owned()
                }
                Some(owner) if pod.is_finished() => {
                    format!("delete that pod, or {} {}", owner.kind, owner.name)
                }
                Some(_) | None => "delete that pod".to_owned(),
            },
            Self::Workload(workload) => in_use::ended_by(workload),
            Self::Template(it) if !it.is_in_range() => format!(
                "a scale-up uses its data again: delete {} first, if it is not needed",
                it.set.object()
            ),
            Self::Template(SetTemplate { set, .. }) => format!(
                "the set recreates the claim: delete {} first, if it is not needed",
                set.object()
            ),
            Self::Clone(_) => "wait until the clone is Bound, or delete it".to_owned(),
            Self::Snapshot(_) => {
                "wait until it is ready, or delete a VolumeSnapshot that never becomes ready"
                    .to_owned()
            }
            Self::Attached(attachment) => format!("wait until {} is deleted", attachment.object()),
            Self::Other(user) => user.ended_by().to_owned(),
            Self::Owned(owner) => format!("delete {} {}", owner.kind, owner.name),
            Self::Unprotected => "let kube-controller-manager add the finalizer, or add it with \
                 `kubectl storage fix-finalizers`"
                .to_owned(),
            Self::DataLost(volume) => format!("`kubectl storage retain {}`", volume.object()),
            Self::Changing(_) => "wait until the change is complete".to_owned(),
        }
    }
}

/// Returns the reasons not to delete a claim. One user proves use, whatever else was not read.
pub fn unsafe_to_delete<'a>(cx: &Cx<'a>, claim: &Claim) -> Unsafe<'a> {
    let mut unseen = Vec::new();
    let key = claim.key();
    let mut reasons = Unsafe::take(&mut unseen, pod_users(cx, claim), UnsafeReason::Pod);
    let workloads = claim_workloads(cx, &key);
    let notices = workloads.as_ref().map(ClaimWorkloads::notices).unwrap_or_default();
    let active = workloads.map(|it| it.active);
    reasons.extend(Unsafe::take(&mut unseen, active, UnsafeReason::Workload));
    reasons.extend(Unsafe::take(&mut unseen, template_wanting(cx, claim), UnsafeReason::Template));
    let clones = cx
        .claims_from(&key)
        .map(|claims| claims.into_iter().filter(|claim| claim.phase == ClaimPhase::Pending));
    reasons.extend(Unsafe::take(&mut unseen, clones, UnsafeReason::Clone));
    let snapshots = cx
        .volume_snapshots_of(&key)
        .map(|snapshots| snapshots.into_iter().filter(|snapshot| !snapshot.ready));
    reasons.extend(Unsafe::take(&mut unseen, snapshots, UnsafeReason::Snapshot));
    if let Some(volume) = &claim.volume_name {
        let attached =
            cx.attachments_of(volume).map(|rows| rows.into_iter().filter(|row| row.attached));
        reasons.extend(Unsafe::take(&mut unseen, attached, UnsafeReason::Attached));
    }
    if let Some(owner) = controller_of(&claim.metadata).filter(|it| !is_its_set(cx, claim, it)) {
        match ownership(cx, claim, owner) {
            Ok(Ownership::Solid) => reasons.push(UnsafeReason::Owned(owner.clone())),
            Ok(Ownership::Dangling) => {}
            Ok(Ownership::NotServed) => unseen.push(Unseen {
                kind: Kind::PartialObjectMetadata,
                namespace: Some(Text::clone(&claim.namespace)),
                reason: format!(
                    "unknown whether {} {} exists, which controls {}: its kind is not served",
                    owner.kind,
                    owner.name,
                    claim.object()
                ),
            }),
            Err(what) => unseen.push(what),
        }
    }
    if !claim.metadata.has_finalizer(PVC_PROTECTION) {
        reasons.push(UnsafeReason::Unprotected);
    }
    match data_effect(cx, claim) {
        // The policy is enough, whether or not a controller can act on it now.
        ClaimDataEffect::Destroyed(volume)
        | ClaimDataEffect::Scrubbed(volume)
        | ClaimDataEffect::Kept(volume)
        | ClaimDataEffect::Forgotten(volume) => {
            if matches!(volume.reclaim_policy, ReclaimPolicy::Delete | ReclaimPolicy::Recycle) {
                reasons.push(UnsafeReason::DataLost(volume));
            }
        }
        ClaimDataEffect::NoVolume => {}
        ClaimDataEffect::Unseen(reason) => {
            unseen.push(Unseen { kind: Kind::PersistentVolume, namespace: None, reason });
        }
    }
    let changing = CHANGING.iter().find_map(|kind| claim.condition(kind));
    reasons.extend(changing.cloned().map(UnsafeReason::Changing));
    Unsafe { reasons, unseen, notices }
}

/// Whether an owner is the `StatefulSet` of a claim: whether the set wants the claim, its ordinal tells, and the
/// reference stays on claims without pods (R-1847-8).
fn is_its_set(cx: &Cx, claim: &Claim, owner: &OwnerReference) -> bool {
    // What was not read is reported with the template.
    let set = membership(cx, claim).ok().and_then(|it| it.decided);
    set.is_some_and(|it| it.owner().is_named_by(owner))
}

/// Returns the templates of `StatefulSet`s that use the claim, or retain it although its ordinal is
/// out of range now, or are paused at replicas 0. If the `StatefulSet` of the claim is ambiguous, all
/// of them (R-PVCP-9 c, R-1847-4).
fn template_wanting<'a>(cx: &Cx<'a>, claim: &Claim) -> Seen<Vec<SetTemplate<'a>>> {
    let found = membership(cx, claim)?;
    let leaves = |it: &TemplateClaim| {
        !it.is_wanted()
            && it.set.replicas != Some(0)
            && it.set.retention.as_ref().is_some_and(|it| it.when_scaled.deletes())
    };
    if found.decided.as_ref().is_some_and(leaves) {
        return Ok(Vec::new());
    }
    let decided = found.decided.is_some();
    let pairs = found.decided.map_or(found.pairs, |it| vec![it]);
    let of = |it: &TemplateClaim<'a>| SetTemplate {
        set: it.set,
        template: it.template,
        ordinal: it.ordinal,
        decided,
    };
    Ok(pairs.iter().map(of).collect())
}

/// Returns the templates of `StatefulSet`s that match the name of a claim: in range or not,
/// whatever the policy.
///
/// R-PVCP-9 c does not count claims out of range with `whenScaled: Delete`. Here every claim of a
/// template counts, which refuses more than necessary.
///
/// # Errors
/// When sets of its namespace were not read.
pub fn template_of<'a>(cx: &Cx<'a>, claim: &Claim) -> Seen<Vec<SetTemplate<'a>>> {
    let Some((stem, ordinal)) = split_ordinal(&claim.metadata.name) else { return Ok(Vec::new()) };
    let sets = cx.sets_of_stem(&claim.namespace, stem)?;
    let decided = sets.len() == 1;
    let of = |(set, template)| SetTemplate { set, template, ordinal, decided };
    Ok(sets.into_iter().map(of).collect())
}
