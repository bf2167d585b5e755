//! Progress of the `StatefulSet` controller through the pods of a set, and what stops it.

use super::{SimulatedClaim, SimulatedPod, Simulation, names_pod};
use crate::model::Retention;

/// Why the controller cannot create a pod.
pub(super) enum PodObstacle {
    /// A claim is owned by an earlier pod of its name (`PodClaimIsStale`): the controller waits.
    Stale,
    /// A pod that does not belong to the set has its name, or a claim is Terminating: the
    /// controller fails.
    Error,
}

/// How far the controller gets.
pub(super) struct ControllerProgress {
    /// The ordinal in range at which it stops, if it does.
    first: Option<i64>,
    /// The first ordinal that it does not visit.
    end: i64,
}

impl ControllerProgress {
    const NONE: Self = Self { first: None, end: i64::MAX };

    /// Whether it handles an ordinal; ordinals out of range only if nothing stops it.
    pub(super) fn reaches(&self, ordinal: i32, wanted: bool) -> bool {
        if wanted { i64::from(ordinal) < self.end } else { self.first.is_none() }
    }

    /// Whether it begins to handle an ordinal in range.
    pub(super) fn begins(&self, ordinal: i32) -> bool {
        self.reaches(ordinal, true) || self.first == Some(i64::from(ordinal))
    }
}

impl Simulation<'_> {
    /// Returns why the controller cannot create the pod of an ordinal that has none.
    pub(super) fn pod_obstacle(&self, ordinal: i32) -> Option<PodObstacle> {
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
    pub(super) fn progress(&self) -> ControllerProgress {
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
