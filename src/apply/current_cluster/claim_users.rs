//! The pods that use a claim now, its owners, and the volumes that are bound to it.

use super::CurrentCluster;
use crate::cluster::{Reach, Seen};
use crate::facts::{self, OwnerPresence};
use crate::model::{Kind, MountedClaim, ObjectRef, OwnerReference, PodUse, ReclaimPolicy, Volume};
use crate::sources::live::list_again;

impl CurrentCluster {
    /// Lists the pods of the namespace of a claim now and returns those that use it, or why they are
    /// unknown. A pod that waits for an ephemeral volume of its name is none of them.
    pub(in crate::apply) async fn users_of(
        &self,
        claim: &ObjectRef,
    ) -> Result<Vec<String>, String> {
        let Some(key) = claim.key.as_claim() else { return Ok(Vec::new()) };
        let reach = Reach { kind: Kind::Pod, namespace: Some(key.namespace.clone()) };
        let again = list_again(&self.reader, &reach, Kind::Pod.group().version).await;
        let again = again.map_err(|error| error.to_string())?;
        let state = &mut *self.state.borrow_mut();
        again.take_in(&mut state.intake).map_err(|error| error.to_string())?;
        let cx = state.cx(&self.settings);
        let pods: Seen<Vec<&PodUse>> = match cx.claim(&key) {
            Ok(Some(claim)) => facts::pod_users(&cx, claim)
                .map(|users| users.into_iter().map(|it| it.pod).collect()),
            Ok(None) | Err(_) => cx.pods_of(&key).map(|mut pods| {
                let names_it = |it: &MountedClaim| it.claim == key.name && !it.ephemeral;
                pods.retain(|pod| pod.claims.iter().any(names_it));
                pods
            }),
        };
        let pods = pods.map_err(|unseen| unseen.reason)?;
        Ok(pods.into_iter().map(|pod| pod.object().to_string()).collect())
    }

    /// Returns the owners of a claim whose kind is served in no version, as it was last read.
    pub(in crate::apply) fn unserved_owners(&self, claim: &ObjectRef) -> Vec<String> {
        let state = self.state.borrow();
        let cx = state.cx(&self.settings);
        let Some(Ok(Some(claim))) = claim.key.as_claim().map(|key| cx.claim(&key)) else {
            return Vec::new();
        };
        let unserved = |owner: &&OwnerReference| {
            facts::owner_presence(&cx, claim, owner) == Ok(OwnerPresence::KindGone)
        };
        let owners = claim.metadata.owners.iter().filter(unserved);
        owners.map(|it| format!("{} {}", it.kind, it.name)).collect()
    }

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
