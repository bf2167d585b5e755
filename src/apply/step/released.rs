//! The last step of a deletion of a claim with its data: after the claim is deleted and nothing was
//! found that began to use it, its volume is reclaimed as `gc` reclaims a Released volume.
//!
//! Until then the policy is Retain: whatever stops the run or this step, the data remains.

use std::time::Instant;

use super::super::Outcome;
use super::super::change_end::ChangeEnd;
use super::{ChangeExecutor, RETRY};
use crate::model::{Action, ObjectRef, Proposal};
use crate::plan::{ProposedChange, Purpose};

impl ChangeExecutor<'_> {
    /// Lists the pods of the namespace of a claim once more right before its deletion is sent: after
    /// all checks and the dry run.
    pub(super) async fn look_for_users(&self, action: &Action) -> Result<(), ChangeEnd> {
        let Action::DeleteClaim { claim, .. } = action else { return Ok(()) };
        match self.cluster.users_of(claim).await.as_deref() {
            Ok([]) => Ok(()),
            Ok([pod, ..]) => {
                let told = format!("{pod} has started to use it: it is not deleted");
                Err(ChangeEnd::new(Outcome::Stale, told))
            }
            Err(error) => {
                let told = format!("unknown whether a pod has started to use it: {error}");
                Err(ChangeEnd::new(Outcome::Failed, told).ends_batch())
            }
        }
    }

    /// Reclaims the volume of a claim that the step before has deleted. `Err` is an early end.
    pub(super) async fn reclaim_released(
        &self,
        change: &ProposedChange,
        volume: &ObjectRef,
        claim: &ObjectRef,
    ) -> Result<ChangeEnd, ChangeEnd> {
        let left = |why: String| {
            let told = format!(
                "{why}; {volume} is not reclaimed: it is Released with policy Retain and its data, \
                 which `kubectl storage rebind {volume}` gives back"
            );
            ChangeEnd::new(Outcome::Pending, told)
        };
        let purpose = Purpose::ReclaimReleased(Box::new(claim.key.clone()));
        let proposal = self.propose_to_reclaim(&purpose, volume).await.map_err(left)?;
        let unconfirmed =
            proposal.relies_on.iter().find(|it| !change.proposal.relies_on.contains(it));
        if let Some(flag) = unconfirmed {
            return Err(left(format!(
                "it would rely on {flag} now, which was not confirmed for it"
            )));
        }
        let (object, about) = (volume.clone(), change.about.clone());
        let reclaim = ProposedChange { purpose, object, about, proposal };
        self.step(&reclaim, 0, None).await.map_err(|ended| match ended.outcome {
            Outcome::Unanswered => ended,
            _ => {
                ChangeEnd { outcome: Outcome::Pending, detail: left(ended.detail).detail, ..ended }
            }
        })
    }

    /// Proposes to reclaim the volume as it is now. What a watch has lost is waited for.
    async fn propose_to_reclaim(
        &self,
        purpose: &Purpose,
        volume: &ObjectRef,
    ) -> Result<Proposal, String> {
        let began = Instant::now();
        loop {
            let judged = self.cluster.propose_again(purpose, volume).await;
            match judged.map_err(|error| format!("it could not be read again: {error}"))?.1 {
                Ok(Ok(proposal)) => return Ok(proposal),
                Ok(Err(refusal)) => return Err(refusal.reason),
                Err(unseen) if began.elapsed() >= self.patience || (self.interrupted)() => {
                    return Err(unseen.reason);
                }
                Err(_) => tokio::time::sleep(RETRY).await,
            }
        }
    }
}
