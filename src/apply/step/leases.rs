//! Expired Leases, which are read twice before they prove anything.

use std::time::Instant;

use super::super::Outcome;
use super::super::change_end::ChangeEnd;
use super::super::current_cluster::ExpiredLeases;
use super::{ChangeExecutor, RETRY};

impl ChangeExecutor<'_> {
    /// Waits for as long as expired Leases are valid, and reads them again: one that has changed
    /// has a holder that is at work.
    pub(super) async fn read_leases_again(&self, leases: ExpiredLeases) -> Result<(), ChangeEnd> {
        let began = Instant::now();
        while began.elapsed() < leases.wait {
            if (self.interrupted)() {
                let detail = "interrupted before an expired Lease was read a second time";
                return Err(ChangeEnd::new(Outcome::Refused, detail));
            }
            tokio::time::sleep(RETRY).await;
        }
        let changed = self.cluster.confirm_leases(leases).await;
        match changed.map_err(|error| ChangeEnd::unread(&error))? {
            None => Ok(()),
            Some(lease) => {
                let detail = format!(
                    "{lease} seemed expired but has changed since: its holder is running, with a \
                     wrong clock"
                );
                Err(ChangeEnd::new(Outcome::Stale, detail))
            }
        }
    }
}
