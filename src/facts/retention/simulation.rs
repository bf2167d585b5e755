//! A simulation of the `StatefulSet` controller, the garbage collector and pods, under one set of
//! assumptions.

mod collection;
mod deletion;
mod progress;

use std::collections::{BTreeMap, BTreeSet};

use crate::facts::PVC_PROTECTION;
use crate::model::{OwnerReference, RetentionPolicy, Text, Uid};

use super::set_situation::{
    DeletionCause, Operation, OwnerState, Presence, Propagation, Readiness, SetClaimState,
    SetPodState, SetSituation,
};
use super::{
    ClaimPod, NoUpdateReason, Ordinals, OwnerIdentity, ReferenceUpdate, expected_ownership,
    names_pod,
};

/// Assumptions about what is unknown.
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that is not known")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Assumptions {
    /// `podManagementPolicy` is `OrderedReady`.
    pub ordered: bool,
    /// Owners that were not read exist.
    pub owners_exist: bool,
    /// The controllers have caught up before the operation.
    pub caught_up: bool,
    /// Terminating pods are deleted before the controllers act.
    pub gone_first: bool,
    /// Pods that are not ready become ready.
    pub become_ready: bool,
}

/// The outcome for a claim in one simulation.
#[expect(clippy::struct_excessive_bools, reason = "they do not exclude each other")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SimulatedOutcome {
    pub owners: Vec<OwnerReference>,
    pub deleted: Option<(DeletionCause, u32)>,
    pub recreated: bool,
    /// Why the controller last left its owners unchanged.
    pub left: NoUpdateReason,
    /// Whether a deletion with `--cascade=orphan` removed a reference.
    pub orphaned: bool,
    /// Whether it was deleted with a pod whose ordinal is in range.
    pub flapped: bool,
    /// Whether the pod of its ordinal exists at the end.
    pub has_pod: bool,
}

struct SimulatedClaim<'a> {
    known: &'a SetClaimState,
    owners: Vec<OwnerState>,
    outcome: SimulatedOutcome,
}

impl SimulatedClaim<'_> {
    /// Whether it exists, be it only as Terminating.
    fn exists(&self) -> bool {
        self.outcome.deleted.is_none() || self.is_held(false)
    }

    /// Whether its deletion is blocked, with or without a pod of its own that uses it.
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
    /// It is ready, or becomes so.
    ready: bool,
    /// It waits for its claims, which wait for the pod: a deadlock.
    locked: bool,
}

/// The state of a simulation.
pub(super) struct Simulation<'a> {
    name: &'a str,
    uid: Option<&'a Uid>,
    situation: &'a SetSituation,
    assumptions: Assumptions,
    replicas: Option<i32>,
    start: i32,
    policy: Option<&'a RetentionPolicy>,
    deleting: Option<Propagation>,
    exists: bool,
    pods: BTreeMap<i32, SimulatedPod>,
    /// The deleted pods, with the turn of their deletion.
    gone: BTreeMap<Uid, u32>,
    /// The ordinals whose pods do not become ready, recreated or not.
    never_ready: BTreeSet<i32>,
    claims: Vec<SimulatedClaim<'a>>,
    /// The indexes in `claims` of the claims of each ordinal.
    by_ordinal: BTreeMap<i32, Vec<usize>>,
    turn: u32,
    made: u32,
    changed: bool,
}

/// More rounds than any simulation needs: only a bug could make it go on for ever.
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
            ready: match pod.readiness {
                Readiness::Ready => true,
                Readiness::NotReady => assumptions.become_ready,
                Readiness::Never => false,
            },
            locked: false,
        };
        let unready = |pod: &SetPodState| pod.readiness == Readiness::NotReady;
        let never_ready = match assumptions.become_ready {
            true => BTreeSet::new(),
            false => situation.pods.iter().filter(|it| unready(it.1)).map(|it| *it.0).collect(),
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
            start: set.start,
            policy: set.policy.as_ref(),
            deleting: set.deleting,
            exists: true,
            pods: situation.pods.iter().map(|(ordinal, it)| (*ordinal, pod(it))).collect(),
            gone: BTreeMap::new(),
            never_ready,
            claims: situation.claims.iter().map(claim).collect(),
            by_ordinal,
            turn: 0,
            made: 0,
            changed: false,
        }
    }

    /// Runs the simulation after each of some operations, and returns the outcome for each claim, in
    /// their order.
    pub(super) fn after(mut self, operations: &'a [Operation]) -> Vec<SimulatedOutcome> {
        if self.assumptions.gone_first {
            self.delete_pods();
        }
        if self.assumptions.caught_up {
            self.collect_garbage();
            self.make_pods();
            self.update_owners();
        }
        for operation in operations {
            self.operate(operation);
            self.settle();
        }
        self.outcomes()
    }

    /// Has the controllers act until none has anything to do.
    fn settle(&mut self) {
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
    }

    fn outcomes(self) -> Vec<SimulatedOutcome> {
        let ordinals = self.ordinals();
        let progress = self.progress();
        let pods = &self.pods;
        let makes = self.exists && self.deleting.is_none();
        let outcome = |mut claim: SimulatedClaim| {
            claim.outcome.owners = claim.owners.into_iter().map(|it| it.reference).collect();
            // The controller creates claims before the pod, so that they exist even if creating the
            // pod fails.
            let wanted = ordinals.contains(claim.known.ordinal);
            let made = makes && wanted && progress.begins(claim.known.ordinal);
            claim.outcome.recreated = claim.outcome.deleted.is_some() && made;
            claim.outcome.has_pod = pods.contains_key(&claim.known.ordinal);
            claim.outcome
        };
        self.claims.into_iter().map(outcome).collect()
    }

    fn ordinals(&self) -> Ordinals {
        Ordinals::new(self.start, self.replicas)
    }

    fn operate(&mut self, operation: &'a Operation) {
        match operation {
            Operation::Wait => {}
            Operation::DeleteSet(propagation) => {
                // Each request replaces the propagation of the previous one (apiserver,
                // `deletionFinalizersForGarbageCollection`).
                self.deleting = Some(*propagation);
            }
            Operation::Scale(replicas) => self.replicas = Some(*replicas),
            Operation::SetPolicy(policy) => self.policy = Some(policy),
            Operation::Change(change) => {
                self.replicas = change.replicas.or(self.replicas);
                self.start = change.start.unwrap_or(self.start);
                self.policy = change.policy.as_ref().or(self.policy);
            }
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

    /// Updates the owners of the claims of pods (`processReplica`, and `fixPodClaim` of condemned
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
            let wanted = ordinals.contains(ordinal);
            let (place, visited) = match self.pods.get(&ordinal).filter(|pod| pod.member) {
                None => (ClaimPod::Podless, true),
                Some(pod) => {
                    let identity = OwnerIdentity { name: &pod_name, uid: pod.uid.as_ref() };
                    let visited = progress.reaches(ordinal, wanted) && !(wanted && pod.finished);
                    match wanted {
                        true => (ClaimPod::InRange(identity), visited),
                        false => (ClaimPod::Condemned(identity), visited),
                    }
                }
            };
            let references: Vec<_> = claim.owners.iter().map(|it| it.reference.clone()).collect();
            let form = self.situation.set.form;
            match expected_ownership(&references, set, self.policy, &place, form) {
                ReferenceUpdate::Leaves(because) => claim.outcome.left = because,
                ReferenceUpdate::Writes(_) if !visited => {
                    claim.outcome.left = NoUpdateReason::Waits;
                }
                ReferenceUpdate::Writes(references) => {
                    claim.outcome.left = NoUpdateReason::Matches;
                    let owner = |reference| keep_presence(&claim.owners, reference);
                    claim.owners = references.into_iter().map(owner).collect();
                    self.changed = true;
                }
            }
        }
    }

    /// Deletes the pods whose ordinals are out of range, or that have finished.
    fn condemn_pods(&mut self) {
        if !self.exists || self.deleting.is_some() {
            return;
        }
        let ordinals = self.ordinals();
        let progress = self.progress();
        // With OrderedReady a condemned pod that is not ready blocks the deletion, unless it is the
        // first of these (`processCondemned`).
        let condemned = |ordinal: i32| !ordinals.contains(ordinal);
        let mut unavailable = self.pods.iter().filter(|(ordinal, pod)| {
            let unavailable = !pod.ready || pod.leaving;
            self.assumptions.ordered && pod.member && unavailable && condemned(**ordinal)
        });
        unavailable.next();
        let blocks = unavailable.rfind(|(_, pod)| !pod.leaving).map(|(ordinal, _)| *ordinal);
        for (ordinal, pod) in self.pods.iter_mut().filter(|(_, pod)| pod.member) {
            let goes = match condemned(*ordinal) {
                true => progress.reaches(*ordinal, false) && blocks.is_none_or(|it| *ordinal > it),
                false => pod.finished,
            };
            self.changed |= goes && !pod.leaving;
            pod.leaving |= goes;
        }
    }

    /// Creates the missing pods, where a claim waits for one; a claim of an earlier pod of that
    /// name blocks this (`PodClaimIsStale`).
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
                    ready: !self.never_ready.contains(&ordinal),
                    locked: false,
                };
                self.pods.insert(ordinal, pod);
                self.changed = true;
            }
        }
    }
}

/// Keeps what is known of an owner when references are replaced.
fn keep_presence(known: &[OwnerState], reference: OwnerReference) -> OwnerState {
    match known.iter().find(|it| it.reference == reference) {
        Some(known) => known.clone(),
        None => OwnerState::new(reference, Presence::Present),
    }
}
