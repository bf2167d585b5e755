//! Deletion of the pods of a set and of the set itself, in a simulation.

use super::super::set_situation::Propagation;
use super::Simulation;

impl Simulation<'_> {
    /// Deletes the Terminating pods, and the pods of a set that is deleted.
    pub(super) fn delete_pods(&mut self) {
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

    /// Finds deadlocks. If a set is deleted in the foreground, its pods are deleted in the
    /// foreground too, if they own anything (garbagecollector.go, `attemptToDeleteItem`). Such a
    /// pod waits for the claims that block it, and these are protected as long as the pod exists:
    /// neither is ever deleted (observed on 1.36.3). As owners such pods count as absent, since the
    /// garbage collector deletes their dependents.
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
    pub(super) fn delete_set(&mut self) {
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
