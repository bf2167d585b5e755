//! The volumes that are bound to a claim.

use super::CurrentCluster;
use crate::model::{ObjectRef, ReclaimPolicy, Volume};

impl CurrentCluster {
    /// Returns the names of the volumes that are bound to a claim by its uid, with another policy than
    /// Retain.
    pub(in crate::apply) fn volumes_bound_to(&self, claim: &ObjectRef) -> Vec<String> {
        let state = self.state.borrow();
        let volumes = state.intake.cluster.volumes().map(|(_, volume)| volume);
        let is_bound = |it: &&Volume| {
            it.claim_ref.as_ref().is_some_and(|it| it.uid.is_some() && it.uid == claim.uid)
                && it.reclaim_policy != ReclaimPolicy::Retain
        };
        volumes.filter(is_bound).map(|it| it.object().to_string()).collect()
    }
}
