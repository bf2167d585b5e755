//! Verifies the effect of a write: no change counts as done before its effect was read.

mod claim;
mod bound;
mod created;
mod deletion;
pub(super) mod owners;
mod removal;
mod retention;
pub(super) mod snapshot;

use std::time::Duration;

use serde_json::Value;

use super::Outcome;
use super::current_cluster::CurrentCluster;
use crate::model::{Action, ReclaimPolicy};
use crate::plan::{ProposedChange, Purpose};
pub(super) use bound::until_bound;
pub(super) use created::until_reclaimed;
use deletion::until_gone;
pub(super) use retention::shows;

/// The object was held by the deletion-protection finalizer until its driver had answered.
const ANSWERED: &str = "the driver answered OK, and the object is deleted";
/// Anybody may have deleted the object before the driver was asked.
const UNSEEN: &str = "the object is deleted; unknown whether the driver deleted the backend volume";

/// Waits for the effect of a write that the API server has answered with `written`.
pub(super) async fn verify(
    cluster: &CurrentCluster,
    change: &ProposedChange,
    done: usize,
    written: &Value,
    wait: Option<Duration>,
) -> (Outcome, String) {
    let action = &change.proposal.steps[done];
    let policy = written["spec"]["persistentVolumeReclaimPolicy"].as_str().unwrap_or_default();
    let only_written = matches!(change.purpose, Purpose::Revert(_));
    match action {
        // No controller acts on it.
        Action::SetReclaimPolicy { to, .. } if only_written || *to == ReclaimPolicy::Retain => {
            if policy == to.to_string() {
                let told = cluster.rescue(&change.object.key.name);
                let told = told.filter(|_| matches!(change.purpose, Purpose::Retain));
                let and = told.map_or_else(String::new, |told| format!("; {told}"));
                return (Outcome::Done, format!("its policy is {to}{and}"));
            }
            // A webhook has changed it.
            (Outcome::Pending, format!("the API server shows the policy {policy:?}"))
        }
        Action::CreateVolume { .. } => created::until_settled(cluster, change, wait).await,
        Action::SetReclaimPolicy { .. } | Action::CondemnVolume { .. } => {
            // The watch may not have brought the write yet: Retain is then the earlier policy.
            let taken = cluster.take_in(&change.object.key, Some(written));
            let tracked = taken.is_ok();
            let (outcome, detail) =
                until_gone(cluster, &change.object, wait, UNSEEN, tracked).await;
            if outcome == Outcome::Done && tracked && cluster.driver_answered(&change.object).await
            {
                return (outcome, ANSWERED.to_owned());
            }
            (outcome, detail)
        }
        Action::DeleteVolume { .. } => {
            let gone = "the object is deleted; the backend volume is kept";
            until_gone(cluster, &change.object, wait, gone, false).await
        }
        Action::DeleteAttachment { .. } => {
            let gone = "the VolumeAttachment is deleted: its attacher has detached the volume";
            until_gone(cluster, &change.object, wait, gone, false).await
        }
        Action::DeleteClaim { claim, released } => {
            let is_last = done + 1 == change.proposal.steps.len();
            let deletion = claim::ClaimDeletion { claim, released: released.as_ref(), is_last };
            deletion.verify(cluster, wait).await
        }
        Action::DeleteWithClaims { object, .. } => {
            deletion::until_deleted(cluster, object, wait).await
        }
        Action::RemoveFinalizer { object, finalizer, .. } => {
            let following = change.proposal.steps.get(done + 1..).unwrap_or_default();
            let last = !matches!(following.first(), Some(Action::RemoveFinalizer { .. }));
            // The API server keeps a finalizer that is in the list twice.
            let again = |it: &&Action| matches!(it, Action::RemoveFinalizer { finalizer: other, .. } if other == finalizer);
            let removal = removal::RemovedFinalizer {
                object,
                finalizer,
                again: following.iter().filter(again).count(),
            };
            removal.verify(cluster, written, wait.filter(|_| last)).await
        }
        Action::AddFinalizer { finalizer, .. } => removal::added(finalizer, written),
        // Whether they stay so is verified for all claims of the set at once.
        Action::RemoveOwnerReferences { owners, .. }
            if matches!(change.purpose, Purpose::SetRetentionPart(..)) =>
        {
            owners::are_removed(owners, written)
        }
        Action::RemoveOwnerReferences { claim, owners } => {
            owners::stay_removed(cluster, claim, owners, written, wait).await
        }
        Action::SetRetentionPolicy { to, .. } => retention::is_set(to, written),
        Action::ReserveVolume { claim, .. } if done + 1 < change.proposal.steps.len() => {
            bound::reserved(claim, written)
        }
        Action::ReserveVolume { claim, .. } => {
            bound::until_bound(cluster, &change.object, claim, wait).await
        }
        Action::BindVolume { claim, .. } | Action::CreateClaim { claim, .. } => {
            bound::until_bound(cluster, &change.object, &bound::key(claim), wait).await
        }
        Action::ReclaimBackend { .. }
        | Action::ReclaimReleased { .. }
        | Action::Announce { .. }
        | Action::RecordVeto { .. }
        | Action::AddOwnerReference { .. }
        | Action::CreateSnapshot { .. } => {
            (Outcome::Done, "the API server confirmed the change".to_owned())
        }
    }
}
