//! The claims that are deleted with a `StatefulSet` although [`simulate`](super::simulate) knows
//! nothing of them: the garbage collector goes by the uids of owners, whatever a claim is called
//! (`garbagecollector.go`, `attemptToDeleteItem`).

use std::collections::{BTreeMap, HashMap};

use crate::cluster::{Cx, Seen, Unseen};
use crate::facts::{PodUsage, pod_users};
use crate::model::{Claim, Kind, OwnerReference, PodUse, StatefulSet, Uid, split_ordinal};

use super::{ClaimOutcome, OutcomeReason, Prediction, Presence, Propagation, is_member, presence};

/// A claim that the set owns, or a pod or claim that is deleted with the set.
#[derive(Debug, Clone, Copy)]
pub struct DependentClaim<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// What becomes of it.
    pub fate: DependentFate,
    /// Whether every pod that uses it has it as an ephemeral volume, so that its data ends with its
    /// pod by design.
    pub ephemeral: bool,
}

/// What becomes of a claim when one of its owners is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DependentFate {
    /// It is kept, for this reason.
    Kept(OutcomeReason),
    /// It is deleted.
    Deleted,
    /// It is deleted unless another owner of it exists, or unless what owns it is kept.
    Unknown,
}

impl DependentFate {
    /// Whether it is certain to be kept.
    pub const fn is_kept(self) -> bool {
        matches!(self, Self::Kept(_))
    }
}

/// The owners that are deleted with a set, and whether that is certain.
struct DeletedOwners<'a> {
    by_uid: HashMap<&'a Uid, bool>,
    /// The set, whose dependents are orphaned.
    orphaned: Option<&'a Uid>,
}

/// Returns the claims of the set's namespace that are deleted with it, or that only another owner
/// or `--cascade=orphan` keeps, besides those that were predicted; in the order of their names.
///
/// # Errors
/// When claims or pods of the namespace were not read, or the uid of the set is unknown.
pub fn dependent_claims<'a>(
    cx: &Cx<'a>,
    set: &StatefulSet,
    propagation: Propagation,
    predicted: &[Prediction],
) -> Seen<Vec<DependentClaim<'a>>> {
    let (cluster, namespace) = (cx.cluster(), &set.namespace);
    for kind in [Kind::PersistentVolumeClaim, Kind::Pod] {
        cluster.reach(kind, Some(namespace))?;
    }
    let Some(uid) = &set.metadata.uid else {
        return Err(Unseen {
            kind: Kind::StatefulSet,
            namespace: Some(namespace.clone()),
            reason: format!("the uid of {} is unknown", set.object()),
        });
    };
    let orphans = propagation == Propagation::Orphan;
    let mut deleted =
        DeletedOwners { by_uid: HashMap::from([(uid, true)]), orphaned: orphans.then_some(uid) };
    if !orphans {
        for pod in cluster.pods().map(|(_, pod)| pod).filter(|it| it.namespace == *namespace) {
            if let Some(uid) = &pod.uid
                && is_pod_of(set, pod)
            {
                // A pod without a controller is adopted only if the set lives long enough.
                deleted.by_uid.insert(uid, pod.controller.is_some());
            }
        }
    }
    let outcomes: HashMap<&str, &ClaimOutcome> =
        predicted.iter().map(|it| (&*it.claim, &it.outcome)).collect();
    let mut claims: BTreeMap<&str, &Claim> = BTreeMap::new();
    for claim in cluster.claims().map(|(_, it)| it).filter(|it| it.namespace == *namespace) {
        let certain = match outcomes.get(&*claim.metadata.name) {
            None => {
                claims.insert(&claim.metadata.name, claim);
                continue;
            }
            Some(ClaimOutcome::Kept | ClaimOutcome::Reowned(_)) => continue,
            Some(ClaimOutcome::Deleted { .. }) => true,
            Some(ClaimOutcome::Unknown(_)) => false,
        };
        deleted.by_uid.extend(claim.metadata.uid.as_ref().map(|uid| (uid, certain)));
    }
    let mut fates: BTreeMap<&str, DependentFate> = BTreeMap::new();
    // A claim may be owned by a claim that is deleted.
    loop {
        let known = deleted.by_uid.len();
        for (name, claim) in &claims {
            if fates.get(name).is_some_and(|fate| !fate.is_kept()) {
                continue;
            }
            let Some(fate) = deleted.fate_of(cx, claim) else { continue };
            fates.insert(name, fate);
            if !fate.is_kept() {
                let certain = fate == DependentFate::Deleted;
                deleted.by_uid.extend(claim.metadata.uid.as_ref().map(|uid| (uid, certain)));
            }
        }
        if deleted.by_uid.len() == known {
            break;
        }
    }
    let dependent = |(name, fate)| {
        let claim: &'a Claim = claims[name];
        let users = pod_users(cx, claim)?;
        let ephemeral = !users.is_empty() && users.iter().all(|it| it.usage == PodUsage::Ephemeral);
        Ok(DependentClaim { claim, fate, ephemeral })
    };
    fates.into_iter().map(dependent).collect()
}

/// Whether the set owns a pod, or may adopt it.
fn is_pod_of(set: &StatefulSet, pod: &PodUse) -> bool {
    let is_named_after =
        split_ordinal(&pod.name).is_some_and(|(stem, _)| *stem == *set.metadata.name);
    is_member(set, pod) && (pod.controller.is_some() || is_named_after)
}

impl DeletedOwners<'_> {
    /// What becomes of a claim; `None` where none of its owners is deleted.
    fn fate_of(&self, cx: &Cx, claim: &Claim) -> Option<DependentFate> {
        let certainty = |owner: &OwnerReference| self.by_uid.get(owner.uid.as_ref()?).copied();
        let of = || claim.metadata.owners.iter().filter_map(certainty);
        of().next()?;
        if claim.metadata.deleting.is_some() {
            return Some(DependentFate::Deleted);
        }
        let mut others =
            claim.metadata.owners.iter().filter(|owner| certainty(owner).is_none()).peekable();
        let is_orphaned =
            |owner: &OwnerReference| self.orphaned.is_some() && owner.uid.as_ref() == self.orphaned;
        // Without a reference that is left, the garbage collector does not look at it.
        if others.peek().is_none() && claim.metadata.owners.iter().all(is_orphaned) {
            return Some(DependentFate::Kept(OutcomeReason::Orphaned));
        }
        let mut certain = of().all(|certain| certain);
        for owner in others {
            match presence(cx, &claim.namespace, owner) {
                Presence::Present => return Some(DependentFate::Kept(OutcomeReason::HeldByOwner)),
                Presence::Absent => {}
                Presence::Unknown => certain = false,
            }
        }
        Some(if certain { DependentFate::Deleted } else { DependentFate::Unknown })
    }
}
