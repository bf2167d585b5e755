//! One possible world: a situation that moves on until nothing happens any more.

mod progress;
mod deletion;

use std::collections::BTreeMap;

use crate::facts::PVC_PROTECTION;
use crate::model::{OwnerReference, RetentionPolicy, Text, Uid, split_ordinal};

use super::set_situation::{
    DeletionCause, Operation, OwnerState, Presence, Propagation, SetClaimState, SetPodState,
    SetSituation,
};
use super::{
    ClaimPod, NoUpdateReason, Ordinals, OwnerIdentity, ReferenceUpdate, expected_ownership,
    names_pod, names_set,
};

/// What is not known, decided one way.
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that is not known")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Assumptions {
    /// `podManagementPolicy` is `OrderedReady`.
    pub ordered: bool,
    /// Owners that nobody looked for exist.
    pub owners_exist: bool,
    /// The controllers have caught up before somebody does something.
    pub caught_up: bool,
    /// Pods that are going are gone before anybody looks.
    pub gone_first: bool,
}

/// What became of a claim in one world.
#[expect(clippy::struct_excessive_bools, reason = "they do not exclude each other")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SimulatedOutcome {
    pub owners: Vec<OwnerReference>,
    pub deleted: Option<(DeletionCause, u32)>,
    pub recreated: bool,
    /// What the controller last said about it.
    pub left: NoUpdateReason,
    /// Whether an orphaning deletion took a reference off.
    pub orphaned: bool,
    /// Whether a pod whose ordinal is wanted took it away.
    pub flapped: bool,
    /// Whether the set's pod of its ordinal is there in the end.
    pub has_pod: bool,
}

struct SimulatedClaim<'a> {
    known: &'a SetClaimState,
    owners: Vec<OwnerState>,
    outcome: SimulatedOutcome,
}

impl SimulatedClaim<'_> {
    /// Whether it is there, if only because something holds it.
    fn exists(&self) -> bool {
        self.outcome.deleted.is_none() || self.is_held(false)
    }

    /// Whether it stays although it is deleted, with or without a pod of its own that uses it.
    fn is_held(&self, by_its_pod: bool) -> bool {
        let known = self.known;
        let protected = |it: &Text| &**it == PVC_PROTECTION;
        let used = by_its_pod || !known.other_users.is_empty();
        known.finalizers.iter().any(|it| !protected(it))
            || (used && known.finalizers.iter().any(protected))
    }
}

#[expect(clippy::struct_excessive_bools, reason = "they do not exclude each other")]
struct SimulatedPod {
    uid: Option<Uid>,
    member: bool,
    leaving: bool,
    finished: bool,
    /// It waits for its claims, which wait for it.
    locked: bool,
}

/// A situation under way.
pub(super) struct Simulation<'a> {
    name: &'a str,
    uid: Option<&'a Uid>,
    situation: &'a SetSituation,
    assumptions: Assumptions,
    replicas: Option<i32>,
    policy: Option<&'a RetentionPolicy>,
    deleting: Option<Propagation>,
    exists: bool,
    pods: BTreeMap<i32, SimulatedPod>,
    /// The pods that went, and in which turn.
    gone: BTreeMap<Uid, u32>,
    claims: Vec<SimulatedClaim<'a>>,
    /// The places of the claims of each ordinal.
    by_ordinal: BTreeMap<i32, Vec<usize>>,
    turn: u32,
    made: u32,
    changed: bool,
}

/// More rounds than any answer takes to settle: two owners could only fight for ever by a bug.
const ROUNDS: usize = 16;

impl<'a> Simulation<'a> {
    pub(super) fn new(situation: &'a SetSituation, assumptions: Assumptions) -> Self {
        let set = &situation.set;
        let claim = |known: &'a SetClaimState| SimulatedClaim {
            known,
            owners: known.owners.clone(),
            outcome: SimulatedOutcome {
                owners: Vec::new(),
                deleted: known.deleting.then_some((DeletionCause::Somebody, 0)),
                recreated: false,
                left: NoUpdateReason::Podless,
                orphaned: false,
                flapped: false,
                has_pod: false,
            },
        };
        let pod = |pod: &SetPodState| SimulatedPod {
            uid: pod.uid.clone(),
            member: pod.member,
            leaving: pod.terminating,
            finished: pod.finished,
            locked: false,
        };
        let mut by_ordinal: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (place, claim) in situation.claims.iter().enumerate() {
            by_ordinal.entry(claim.ordinal).or_default().push(place);
        }
        Self {
            name: &set.name,
            uid: set.uid.as_ref(),
            situation,
            assumptions,
            replicas: set.replicas,
            policy: set.policy.as_ref(),
            deleting: set.deleting,
            exists: true,
            pods: situation.pods.iter().map(|(ordinal, it)| (*ordinal, pod(it))).collect(),
            gone: BTreeMap::new(),
            claims: situation.claims.iter().map(claim).collect(),
            by_ordinal,
            turn: 0,
            made: 0,
            changed: false,
        }
    }

    /// Lets somebody do something, and returns what became of the claims, in their order.
    pub(super) fn after(mut self, operation: &'a Operation) -> Vec<SimulatedOutcome> {
        if self.assumptions.gone_first {
            self.delete_pods();
        }
        if self.assumptions.caught_up {
            self.collect_garbage();
            self.make_pods();
            self.update_owners();
        }
        self.operate(operation);
        for _ in 0..ROUNDS {
            self.changed = false;
            self.collect_garbage();
            self.update_owners();
            self.condemn_pods();
            self.delete_pods();
            self.delete_set();
            self.collect_garbage();
            self.make_pods();
            if !self.changed {
                break;
            }
        }
        let ordinals = self.ordinals();
        let progress = self.progress();
        let pods = &self.pods;
        let makes = self.exists && self.deleting.is_none();
        let outcome = |mut claim: SimulatedClaim| {
            claim.outcome.owners = claim.owners.into_iter().map(|it| it.reference).collect();
            // Claims are made before the pod, so that they are there even if that fails.
            let wanted = ordinals.contains(claim.known.ordinal);
            let made = makes && wanted && progress.touches(claim.known.ordinal);
            claim.outcome.recreated = claim.outcome.deleted.is_some() && made;
            claim.outcome.has_pod = pods.contains_key(&claim.known.ordinal);
            claim.outcome
        };
        self.claims.into_iter().map(outcome).collect()
    }

    fn ordinals(&self) -> Ordinals {
        Ordinals::new(self.situation.set.start, self.replicas)
    }

    fn operate(&mut self, operation: &'a Operation) {
        match operation {
            Operation::Wait => {}
            Operation::DeleteSet(propagation) => {
                // Each request decides anew (apiserver, `deletionFinalizersForGarbageCollection`).
                self.deleting = Some(*propagation);
            }
            Operation::Scale(replicas) => self.replicas = Some(*replicas),
            Operation::SetPolicy(policy) => self.policy = Some(policy),
            Operation::DeletePod(ordinal) => {
                if let Some(pod) = self.pods.get_mut(ordinal) {
                    pod.leaving = true;
                }
            }
        }
        if self.deleting == Some(Propagation::Background) {
            self.exists = false;
        }
    }

    // --- the set's controller ---------------------------------------------------------------

    /// Adapts the owners of the claims of pods (`processReplica`, and `fixPodClaim` of condemned
    /// pods), as far as the controller gets.
    fn update_owners(&mut self) {
        if !self.exists || self.deleting.is_some() {
            return;
        }
        let ordinals = self.ordinals();
        let progress = self.progress();
        let set = OwnerIdentity { name: self.name, uid: self.uid };
        for claim in self.claims.iter_mut().filter(|it| it.outcome.deleted.is_none()) {
            let ordinal = claim.known.ordinal;
            let pod_name = format!("{}-{ordinal}", self.name);
            let place = match self.pods.get(&ordinal).filter(|pod| pod.member) {
                None => ClaimPod::Podless,
                Some(pod) => {
                    let identity = OwnerIdentity { name: &pod_name, uid: pod.uid.as_ref() };
                    let wanted = ordinals.contains(ordinal);
                    if !progress.reaches(ordinal, wanted) || (wanted && pod.finished) {
                        ClaimPod::Leaving(identity)
                    } else if wanted {
                        ClaimPod::InRange(identity)
                    } else {
                        ClaimPod::Condemned(identity)
                    }
                }
            };
            let references: Vec<_> = claim.owners.iter().map(|it| it.reference.clone()).collect();
            let form = self.situation.set.form;
            match expected_ownership(&references, set, self.policy, &place, form) {
                ReferenceUpdate::Leaves(because) => claim.outcome.left = because,
                ReferenceUpdate::Writes(references) => {
                    claim.outcome.left = NoUpdateReason::Matches;
                    let owner = |reference| keep_presence(&claim.owners, reference);
                    claim.owners = references.into_iter().map(owner).collect();
                    self.changed = true;
                }
            }
        }
    }

    /// Deletes the pods whose ordinals are not wanted, or that have finished.
    fn condemn_pods(&mut self) {
        if !self.exists || self.deleting.is_some() {
            return;
        }
        let ordinals = self.ordinals();
        let progress = self.progress();
        for (ordinal, pod) in self.pods.iter_mut().filter(|(_, pod)| pod.member) {
            let wanted = ordinals.contains(*ordinal);
            let goes = if wanted { pod.finished } else { progress.reaches(*ordinal, false) };
            self.changed |= goes && !pod.leaving;
            pod.leaving |= goes;
        }
    }

    /// Makes the pods that are missing, where a claim waits for one; a claim of an earlier pod of
    /// that name holds them up (`PodClaimIsStale`).
    fn make_pods(&mut self) {
        if !self.exists || self.deleting.is_some() {
            return;
        }
        let ordinals = self.ordinals();
        let progress = self.progress();
        for index in 0..self.claims.len() {
            let claim = &self.claims[index];
            let ordinal = claim.known.ordinal;
            let makes = ordinals.contains(ordinal) && progress.reaches(ordinal, true);
            let missing = makes && !self.pods.contains_key(&ordinal);
            if claim.outcome.deleted.is_none() && missing && self.pod_obstacle(ordinal).is_none() {
                self.made += 1;
                let uid = Uid::parse(&format!("made-{}", self.made));
                let pod = SimulatedPod {
                    uid,
                    member: true,
                    leaving: false,
                    finished: false,
                    locked: false,
                };
                self.pods.insert(ordinal, pod);
                self.changed = true;
            }
        }
    }

    // --- the garbage collector --------------------------------------------------------------

    /// Deletes the claims all of whose owners are gone, and takes off the owners that are gone.
    fn collect_garbage(&mut self) {
        let running = self.exists && self.deleting.is_none();
        for index in 0..self.claims.len() {
            let claim = &self.claims[index];
            if claim.outcome.deleted.is_some() || claim.owners.is_empty() {
                continue;
            }
            let stays: Vec<_> = claim.owners.iter().map(|it| self.stays(it)).collect();
            if stays.iter().all(|stays| *stays) {
                continue;
            }
            self.changed = true;
            if stays.iter().any(|stays| *stays) {
                let mut stays = stays.into_iter();
                self.claims[index].owners.retain(|_| stays.next() == Some(true));
                continue;
            }
            let (by, turn) = self.collector(claim);
            let wanted = self.ordinals().contains(claim.known.ordinal);
            let outcome = &mut self.claims[index].outcome;
            outcome.deleted = Some((by, turn));
            outcome.flapped = by == DeletionCause::Pod && running && wanted;
        }
    }

    /// Whether an owner holds its claims: it exists, and does not wait for them to be deleted.
    fn stays(&self, owner: &OwnerState) -> bool {
        let reference = &owner.reference;
        let Some(uid) = &reference.uid else { return false };
        if self.uid == Some(uid) {
            return self.exists && self.deleting != Some(Propagation::Foreground);
        }
        if let Some((_, pod)) = self.pod_named(owner) {
            return pod.uid.as_ref() == Some(uid) && !pod.locked;
        }
        if self.gone.contains_key(uid) || names_set(reference, self.name) {
            return false;
        }
        match owner.presence {
            Presence::Present => true,
            Presence::Absent => false,
            Presence::Unknown => self.assumptions.owners_exist,
        }
    }

    /// Returns the pod of this set that has the name of an owner, whichever uid the owner has.
    fn pod_named(&self, owner: &OwnerState) -> Option<(i32, &SimulatedPod)> {
        let reference = &owner.reference;
        let (stem, ordinal) = split_ordinal(&reference.name)?;
        let of_set = *stem == *self.name && names_pod(reference, &reference.name);
        self.pods.get(&ordinal).filter(|_| of_set).map(|pod| (ordinal, pod))
    }

    fn collector(&self, claim: &SimulatedClaim) -> (DeletionCause, u32) {
        let uids = || claim.owners.iter().filter_map(|it| it.reference.uid.as_ref());
        if uids().any(|uid| self.uid == Some(uid)) {
            return (DeletionCause::Set, self.turn);
        }
        match uids().filter_map(|uid| self.gone.get(uid)).max() {
            Some(turn) => (DeletionCause::Pod, *turn),
            None => (DeletionCause::Dangling, self.turn),
        }
    }
}

/// What was known of an owner is still known of it when the references are written anew.
fn keep_presence(known: &[OwnerState], reference: OwnerReference) -> OwnerState {
    let presence = known
        .iter()
        .find(|it| it.reference == reference)
        .map_or(Presence::Present, |it| it.presence);
    OwnerState { reference, presence }
}
