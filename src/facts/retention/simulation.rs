//! A simulation of the `StatefulSet` controller, the garbage collector and pods, under one set of
//! assumptions.

mod collection;

use std::collections::{BTreeMap, BTreeSet};

use super::{
    ClaimPod, NoUpdateReason, Ordinals, OwnerIdentity, ReferenceUpdate, expected_ownership,
    names_pod,
    set_situation::{
        DeletionCause, Operation, OwnerState, Presence, Propagation, Readiness, SetClaimState,
        SetPodState, SetSituation,
    },
};
use crate::facts::PVC_PROTECTION;
use crate::model::{OwnerReference, Retention, RetentionPolicy, Text, Uid};

/// Assumptions about what is unknown of a set, of which each simulation makes one choice.
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that is not known")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Assumptions {
    /// Assumption that `podManagementPolicy` is `OrderedReady`.
    pub ordered: bool,
    /// Assumption that owners that were not read exist.
    pub owners_exist: bool,
    /// Assumption that the controllers have caught up before the operation.
    pub caught_up: bool,
    /// Assumption that Terminating pods are deleted before the controllers act.
    pub gone_first: bool,
    /// Assumption that pods that are not ready become ready.
    pub become_ready: bool,
}

/// The outcome for a claim in one simulation.
#[expect(clippy::struct_excessive_bools, reason = "they do not exclude each other")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SimulatedOutcome {
    pub owners: Vec<OwnerReference>,
    pub deleted: Option<(DeletionCause, u32)>,
    pub recreated: bool,
    /// The reason for which the controller last left the claim's owners unchanged.
    pub left: NoUpdateReason,
    /// Whether a deletion with `--cascade=orphan` removed a reference.
    pub orphaned: bool,
    /// Whether the claim was deleted with a pod whose ordinal is in range.
    pub flapped: bool,
    /// Whether the pod of the claim's ordinal exists at the end.
    pub has_pod: bool,
}

struct SimulatedClaim<'a> {
    known: &'a SetClaimState,
    owners: Vec<OwnerState>,
    outcome: SimulatedOutcome,
}

impl SimulatedClaim<'_> {
    /// Whether the claim exists, be it only as Terminating.
    fn exists(&self) -> bool {
        self.outcome.deleted.is_none() || self.is_held(false)
    }

    /// Whether finalizers block the claim's deletion; `by_its_pod` if the pod of its own uses it.
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
    /// Whether the pod is ready, or becomes so.
    ready: bool,
    /// Whether the pod waits for its claims, which wait for the pod: a deadlock.
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

/// Largest number of rounds, more than any simulation needs: only a bug could make it go on for ever.
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

    /// Makes the controllers act until none has anything to do.
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

/// Returns the known state of the owner of a new reference; one that was not known exists.
fn keep_presence(known: &[OwnerState], reference: OwnerReference) -> OwnerState {
    match known.iter().find(|it| it.reference == reference) {
        Some(known) => known.clone(),
        None => OwnerState::new(reference, Presence::Present),
    }
}

/// The reason for which the controller cannot create a pod.
enum PodObstacle {
    /// A claim is owned by an earlier pod of its name (`PodClaimIsStale`): the controller waits.
    Stale,
    /// A pod that does not belong to the set has its name, or a claim is Terminating: the
    /// controller fails.
    Error,
}

/// The ordinals that the controller reaches.
struct ControllerProgress {
    /// The ordinal in range at which the controller stops, if it does.
    first: Option<i64>,
    /// The first ordinal that the controller does not visit.
    end: i64,
}

impl ControllerProgress {
    const NONE: Self = Self { first: None, end: i64::MAX };

    /// Whether the controller handles an ordinal; ordinals out of range only if nothing stops it.
    fn reaches(&self, ordinal: i32, wanted: bool) -> bool {
        if wanted { i64::from(ordinal) < self.end } else { self.first.is_none() }
    }

    /// Whether the controller begins to handle an ordinal in range.
    fn begins(&self, ordinal: i32) -> bool {
        self.reaches(ordinal, true) || self.first == Some(i64::from(ordinal))
    }
}

impl Simulation<'_> {
    /// Returns why the controller cannot create the pod of an ordinal that has none.
    fn pod_obstacle(&self, ordinal: i32) -> Option<PodObstacle> {
        let careful = self.policy.is_some_and(|policy| policy.when_scaled != Retention::Retain);
        let name = format!("{}-{ordinal}", self.name);
        let places = self.by_ordinal.get(&ordinal).map_or(&[][..], Vec::as_slice);
        let of_pod = || places.iter().map(|it| &self.claims[*it]).filter(|it| it.exists());
        let names =
            |claim: &SimulatedClaim| claim.owners.iter().any(|it| names_pod(&it.reference, &name));
        if careful && of_pod().any(names) {
            return Some(PodObstacle::Stale);
        }
        let taken = self.pods.contains_key(&ordinal);
        (taken || of_pod().any(|it| it.outcome.deleted.is_some())).then_some(PodObstacle::Error)
    }

    /// Returns how far the controller gets through the pods in range (`processReplica`,
    /// `runForAll`, `slowStartBatch`).
    fn progress(&self) -> ControllerProgress {
        let ordinals = self.ordinals();
        let known = self.pods.keys().chain(self.by_ordinal.keys()).copied();
        let stops = |ordinal: &i32| {
            let own = self.pods.get(ordinal).filter(|pod| pod.member);
            match own.map_or_else(|| self.pod_obstacle(*ordinal), |_| None) {
                Some(PodObstacle::Error) => true,
                Some(PodObstacle::Stale) => self.assumptions.ordered,
                None => {
                    let waits_for = |pod: &SimulatedPod| pod.finished || pod.leaving || !pod.ready;
                    self.assumptions.ordered && own.is_some_and(waits_for)
                }
            }
        };
        let first = known.filter(|it| ordinals.contains(*it)).filter(stops).min();
        let Some(first) = first else { return ControllerProgress::NONE };
        let first = i64::from(first);
        // With OrderedReady it handles no later ordinal; otherwise those of the same batch.
        let end = if self.assumptions.ordered { first } else { ordinals.end_of_batch(first) };
        ControllerProgress { first: Some(first), end }
    }
}

impl Simulation<'_> {
    /// Deletes the Terminating pods, and the pods of a set that is deleted.
    fn delete_pods(&mut self) {
        self.lock_pods();
        let orphans = self.deleting == Some(Propagation::Orphan);
        let collected = self.deleting.is_some() && !orphans;
        let mut gone: Vec<_> = self
            .pods
            .iter()
            .filter(|(_, pod)| !pod.locked && (pod.leaving || (collected && pod.member)))
            .map(|(ordinal, _)| *ordinal)
            .collect();
        // The largest ordinals are deleted first, one after the other with OrderedReady.
        gone.reverse();
        let one_by_one = self.assumptions.ordered && self.deleting.is_none();
        for ordinal in &gone {
            if let Some(uid) = self.pods.remove(ordinal).and_then(|pod| pod.uid) {
                self.gone.insert(uid, self.turn);
            }
            self.turn += u32::from(one_by_one);
        }
        self.changed |= !gone.is_empty();
        self.turn += u32::from(!gone.is_empty() && !one_by_one);
    }

    /// Finds deadlocks of pods and their claims. If a set is deleted in the foreground, its pods are deleted in the
    /// foreground too, if they own anything (garbagecollector.go, `attemptToDeleteItem`). Such a pod waits for the
    /// claims that block it, and these are protected as long as the pod exists: neither is ever deleted (observed on
    /// 1.36.3). As owners such pods count as absent, since the garbage collector deletes their dependents.
    fn lock_pods(&mut self) {
        if self.deleting != Some(Propagation::Foreground) {
            return;
        }
        let mut locked = Vec::new();
        for claim in &self.claims {
            for owner in claim.owners.iter().filter(|it| it.reference.blocks_deletion) {
                let Some((ordinal, pod)) = self.pod_named(owner) else { continue };
                if pod.uid != owner.reference.uid {
                    continue;
                }
                let stays = claim.owners.iter().any(|it| it != owner && self.stays(it));
                if pod.member
                    && !pod.leaving
                    && !stays
                    && claim.is_held(claim.known.ordinal == ordinal)
                {
                    locked.push(ordinal);
                }
            }
        }
        for ordinal in locked {
            let Some(pod) = self.pods.get_mut(&ordinal).filter(|pod| !pod.locked) else { continue };
            pod.locked = true;
            if let Some(uid) = pod.uid.clone() {
                self.gone.insert(uid, self.turn);
            }
            self.changed = true;
        }
    }

    /// Deletes the set; if its dependents are orphaned, removes their references to it first.
    fn delete_set(&mut self) {
        if self.deleting == Some(Propagation::Orphan) {
            for claim in self.claims.iter_mut().filter(|it| it.outcome.deleted.is_none()) {
                let count = claim.owners.len();
                let uid = self.uid;
                claim.owners.retain(|it| uid.is_none() || it.reference.uid.as_ref() != uid);
                claim.outcome.orphaned |= claim.owners.len() < count;
            }
        }
        if self.deleting.is_some() && self.exists {
            self.exists = false;
            self.changed = true;
        }
    }
}
