//! The garbage collector, in a simulation.

use super::super::set_situation::{DeletionCause, OwnerState, Presence, Propagation};
use super::super::{names_pod, names_set};
use super::{SimulatedClaim, SimulatedPod, Simulation};
use crate::model::{Uid, split_ordinal};

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
        if let Some(claim) = self.claim_named(owner)
            && claim.outcome.deleted.is_some()
        {
            return false;
        }
        match owner.presence {
            Presence::Absent => false,
            // It is deleted with its owners, and then its dependents.
            Presence::Present | Presence::Unknown if !self.remains(&owner.owners) => false,
            Presence::Present if owner.doubt.is_none() => true,
            Presence::Present | Presence::Unknown => self.assumptions.owners_exist,
        }
    }

    /// Whether an object with these owners is not deleted with them. Deleted with
    /// `--cascade=orphan`, the set is removed from them before.
    fn remains(&self, owners: &[OwnerState]) -> bool {
        let orphans = self.deleting == Some(Propagation::Orphan);
        let is_orphaned = |it: &&OwnerState| orphans && it.reference.uid.as_ref() == self.uid;
        let mut left = owners.iter().filter(|it| !is_orphaned(it)).peekable();
        left.peek().is_none() || left.any(|it| self.stays(it))
    }

    /// Returns the claim of this set with the name of an owner.
    fn claim_named(&self, owner: &OwnerState) -> Option<&SimulatedClaim<'_>> {
        let reference = &owner.reference;
        if &*reference.api_version != "v1" || &*reference.kind != "PersistentVolumeClaim" {
            return None;
        }
        let (stem, ordinal) = split_ordinal(&reference.name)?;
        let template = stem.strip_suffix(self.name)?.strip_suffix('-')?;
        let places = self.by_ordinal.get(&ordinal)?;
        let claims = places.iter().map(|place| &self.claims[*place]);
        claims.into_iter().find(|it| *it.known.template == *template)
    }

    /// Returns the pod of this set with the name of an owner, whichever uid the owner has.
    pub(super) fn pod_named(&self, owner: &OwnerState) -> Option<(i32, &SimulatedPod)> {
        let reference = &owner.reference;
        let (stem, ordinal) = split_ordinal(&reference.name)?;
        let of_set = *stem == *self.name && names_pod(reference, &reference.name);
        self.pods.get(&ordinal).filter(|_| of_set).map(|pod| (ordinal, pod))
    }

    fn collector(&self, claim: &SimulatedClaim) -> (DeletionCause, u32) {
        let mut uids = Vec::new();
        add_uids(&claim.owners, &mut uids);
        if uids.iter().any(|uid| self.uid == Some(*uid)) {
            return (DeletionCause::Set, self.turn);
        }
        match uids.iter().filter_map(|uid| self.gone.get(*uid)).max() {
            Some(turn) => (DeletionCause::Pod, *turn),
            None => (DeletionCause::Dangling, self.turn),
        }
    }
}

/// Adds the uids of owners, and of their owners.
fn add_uids<'a>(owners: &'a [OwnerState], uids: &mut Vec<&'a Uid>) {
    for owner in owners {
        uids.extend(owner.reference.uid.as_ref());
        add_uids(&owner.owners, uids);
    }
}
