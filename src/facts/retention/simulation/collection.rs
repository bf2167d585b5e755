//! The garbage collector, in a simulation.

use super::super::set_situation::{DeletionCause, OwnerState, Presence, Propagation};
use super::super::{names_pod, names_set};
use super::{SimulatedClaim, SimulatedPod, Simulation};
use crate::model::split_ordinal;

impl Simulation<'_> {
    /// Deletes the claims none of whose owners remains, and removes references to absent owners.
    pub(super) fn collect_garbage(&mut self) {
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

    /// Whether an owner keeps its claims from being deleted: it exists, and does not wait for their
    /// deletion.
    pub(super) fn stays(&self, owner: &OwnerState) -> bool {
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

    /// Returns the pod of this set with the name of an owner, whichever uid the owner has.
    pub(super) fn pod_named(&self, owner: &OwnerState) -> Option<(i32, &SimulatedPod)> {
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
