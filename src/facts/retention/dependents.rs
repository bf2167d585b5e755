//! The claims that are deleted with a `StatefulSet` although [`simulate`](super::simulate) knows
//! nothing of them: the garbage collector goes by the uids of owners, whatever a claim is called
//! (`garbagecollector.go`, `attemptToDeleteItem`).

use std::collections::HashMap;

use crate::cluster::{Cx, Seen, Unseen};
use crate::facts::{PodUsage, pod_users};
use crate::model::{Claim, Kind, PodUse, StatefulSet, Uid, split_ordinal};

use super::{
    ClaimOutcome, OutcomeReason, OwnerDoubt, OwnerState, Prediction, Presence, Propagation,
    is_member, owner_state::owner_states,
};

/// A claim that the set owns, or an object that is deleted with the set.
#[derive(Debug, Clone)]
pub struct DependentClaim<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// What becomes of it.
    pub fate: DependentFate,
    /// Whether every pod that uses it has it as an ephemeral volume, so that its data ends with its
    /// pod by design.
    pub ephemeral: bool,
}

impl DependentClaim<'_> {
    /// The reason for its fate, in words that begin a sentence.
    pub fn reason(&self) -> String {
        match (&self.fate, self.ephemeral) {
            (DependentFate::Kept(reason), _) => reason.to_string(),
            (DependentFate::Deleted, true) => {
                "it is an ephemeral volume and is deleted with its pod, by design".to_owned()
            }
            (DependentFate::Deleted, false) => {
                "the set owns it, or an object that is deleted with the set".to_owned()
            }
            (DependentFate::Unknown(why), _) => why.clone(),
        }
    }
}

/// What becomes of an object when one of its owners is deleted. The garbage collector deletes what
/// has owners, but none that remains: of several fates of owners the greatest counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum DependentFate {
    /// It is deleted.
    Deleted,
    /// It may be deleted: what is unknown, in words.
    Unknown(String),
    /// It is kept, for this reason.
    Kept(OutcomeReason),
}

/// The claims and pods whose fate is known by their uid, and the set itself.
struct DeletedOwners<'a> {
    set: &'a Uid,
    /// Whether its dependents are orphaned.
    orphans: bool,
    by_uid: HashMap<&'a Uid, DependentFate>,
}

/// Returns the claims of the set's namespace that are deleted with it, or that only another owner
/// or `--cascade=orphan` keeps, besides those that were predicted; in the order of their names.
/// Owners are followed to their own owners, of whatever kind they are.
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
    let by_uid = HashMap::from([(uid, DependentFate::Deleted)]);
    let mut deleted = DeletedOwners { set: uid, orphans, by_uid };
    if !orphans {
        for pod in cluster.pods().map(|(_, pod)| pod).filter(|it| it.namespace == *namespace) {
            if let Some(uid) = &pod.uid
                && is_pod_of(set, pod)
            {
                let fate = match pod.controller {
                    Some(_) => DependentFate::Deleted,
                    // It is adopted only if the set lives long enough.
                    None => DependentFate::Unknown(format!(
                        "the set may adopt its owner Pod {} before",
                        pod.name
                    )),
                };
                deleted.by_uid.insert(uid, fate);
            }
        }
    }
    let outcomes: HashMap<&str, &Prediction> =
        predicted.iter().map(|it| (&*it.claim, it)).collect();
    let mut claims: Vec<&Claim> = Vec::new();
    for claim in cluster.claims().map(|(_, it)| it).filter(|it| it.namespace == *namespace) {
        let Some(prediction) = outcomes.get(&*claim.metadata.name) else {
            claims.push(claim);
            continue;
        };
        let fate = match &prediction.outcome {
            ClaimOutcome::Kept | ClaimOutcome::Reowned(_) => DependentFate::Kept(prediction.reason),
            ClaimOutcome::Deleted { .. } => DependentFate::Deleted,
            ClaimOutcome::Unknown(why) => DependentFate::Unknown(why.clone()),
        };
        deleted.by_uid.extend(claim.metadata.uid.as_ref().map(|uid| (uid, fate)));
    }
    claims.sort_by_key(|it| &it.metadata.name);
    let mut dependents = Vec::new();
    for claim in claims {
        let owners = owner_states(cx, namespace, Some(uid), &claim.metadata.owners);
        let Some(fate) = deleted.fate_of_claim(claim, &owners) else { continue };
        let users = pod_users(cx, claim)?;
        let ephemeral = !users.is_empty() && users.iter().all(|it| it.usage == PodUsage::Ephemeral);
        dependents.push(DependentClaim { claim, fate, ephemeral });
    }
    Ok(dependents)
}

/// Whether the set owns a pod, or may adopt it.
fn is_pod_of(set: &StatefulSet, pod: &PodUse) -> bool {
    let is_named_after =
        split_ordinal(&pod.name).is_some_and(|(stem, _)| *stem == *set.metadata.name);
    is_member(set, pod) && (pod.controller.is_some() || is_named_after)
}

impl DeletedOwners<'_> {
    /// What becomes of a claim; `None` where the deletion of the set does not concern it.
    fn fate_of_claim(&self, claim: &Claim, owners: &[OwnerState]) -> Option<DependentFate> {
        if !owners.iter().any(|it| self.concerns(it)) {
            return None;
        }
        if claim.metadata.deleting.is_some() {
            return Some(DependentFate::Deleted);
        }
        // Without a reference that is left, the garbage collector does not look at it.
        if owners.iter().all(|it| self.is_orphaned(it)) {
            return Some(DependentFate::Kept(OutcomeReason::Orphaned));
        }
        Some(self.fate_with(owners))
    }

    /// Whether an owner is deleted with the set, or may be, or one of its owners.
    fn concerns(&self, owner: &OwnerState) -> bool {
        let fate = owner.reference.uid.as_ref().and_then(|uid| self.by_uid.get(uid));
        let hidden = owner.doubt.is_some_and(|it| it != OwnerDoubt::Terminating);
        match fate {
            Some(DependentFate::Kept(_)) => false,
            Some(DependentFate::Deleted | DependentFate::Unknown(_)) => true,
            None => hidden || owner.owners.iter().any(|it| self.concerns(it)),
        }
    }

    /// Whether the reference to an owner is removed before the owner is deleted.
    fn is_orphaned(&self, owner: &OwnerState) -> bool {
        self.orphans && owner.reference.uid.as_ref() == Some(self.set)
    }

    /// What becomes of an object that has these owners.
    fn fate_with(&self, owners: &[OwnerState]) -> DependentFate {
        let left = owners.iter().filter(|it| !self.is_orphaned(it));
        let fates = left.map(|it| self.fate_of(it));
        fates.max().unwrap_or(DependentFate::Kept(OutcomeReason::Orphaned))
    }

    /// What becomes of an owner, as one of a claim.
    fn fate_of(&self, owner: &OwnerState) -> DependentFate {
        let Some(uid) = &owner.reference.uid else { return DependentFate::Deleted };
        match self.by_uid.get(uid) {
            Some(DependentFate::Kept(_)) => return REMAINS,
            Some(fate) => return fate.clone(),
            None => {}
        }
        let own = match &owner.owners[..] {
            [] => REMAINS,
            owners => self.fate_with(owners),
        };
        match (owner.presence, own) {
            (Presence::Absent, _) | (_, DependentFate::Deleted) => DependentFate::Deleted,
            (Presence::Present | Presence::Unknown, own) => match (owner.doubt, own) {
                (Some(doubt), _) => DependentFate::Unknown(doubt.describe(&owner.reference)),
                (None, DependentFate::Kept(_)) => REMAINS,
                (None, unknown) => unknown,
            },
        }
    }
}

/// An owner that is not deleted keeps its claims.
const REMAINS: DependentFate = DependentFate::Kept(OutcomeReason::HeldByOwner);
