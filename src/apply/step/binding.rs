//! The rest of a change that only waits until a volume and a claim are bound to each other.

use super::super::change_end::ChangeEnd;
use super::super::options::DryRun;
use super::super::{Outcome, verify};
use super::ChangeExecutor;
use crate::plan::{ProposedChange, Purpose};

impl ChangeExecutor<'_> {
    /// Waits until a volume that is reserved for a claim, which exists, is bound to it.
    pub(super) async fn wait_for_binding(&self, change: &ProposedChange) -> ChangeEnd {
        let Purpose::Rebind(rebinding) = &change.purpose else {
            return ChangeEnd::new(Outcome::Refused, "there is nothing to do");
        };
        let name = &change.object.key.name;
        let target = self.cluster.volume(name, |it| it.and_then(|it| rebinding.target(it)));
        let Some(claim) = target else {
            return ChangeEnd::new(
                Outcome::Stale,
                "it does not exist, or its spec.claimRef is empty",
            );
        };
        if self.dry_run == DryRun::Server {
            return ChangeEnd::new(Outcome::Done, "there is nothing to write");
        }
        let (outcome, detail) =
            verify::until_bound(self.cluster, &change.object, &claim, self.wait).await;
        ChangeEnd::new(outcome, detail)
    }
}
