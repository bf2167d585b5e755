//! Sends requests as dry runs: admission and RBAC refuse them before anything is written. Expired Leases
//! are read twice before they prove anything.

use std::time::Instant;

use http::Method;
use serde_json::Value;

use super::super::{
    Outcome,
    current_cluster::ExpiredLeases,
    receipt::{ChangeEnd, DryRun},
    request::{self, WriteRequest},
    verify,
    writer::{WriteAnswer, WriteError},
};
use super::{ChangeExecutor, RETRY, exists_already};
use crate::model::Action;
use crate::plan::{ProposedChange, Purpose};

/// Returns the end of a change of which only dry runs were sent.
pub(super) fn changes_nothing() -> ChangeEnd {
    ChangeEnd::new(Outcome::Done, "the API server would accept it")
}

impl ChangeExecutor<'_> {
    /// Whether a dry run would show nothing new: the change only removes owner references, in one patch, and a dry run
    /// was accepted in its namespace. A user who lacks the permission, or whom admission refuses, is refused before
    /// anything is sent; where only other claims are refused, the API server refuses the whole patch.
    pub(super) fn is_accepted(&self, change: &ProposedChange) -> bool {
        self.dry_run == DryRun::None
            && change.only_removes_owners()
            && self.accepted.borrow().contains(&change.object.key.namespace)
    }

    /// Sends the request of an action as a dry run, and refuses it where the API server would drop a part.
    pub(super) async fn dry_run_step(
        &self,
        purpose: &Purpose,
        action: &Action,
        request: &WriteRequest,
    ) -> Result<(), ChangeEnd> {
        let answer = self.send_dry_run(purpose, request).await?;
        match action {
            // A server that does not honour the field drops it, and says nothing (F71).
            Action::SetRetentionPolicy { to, .. } if !verify::shows(to, &answer.value) => {
                let shown = &answer.value["spec"]["persistentVolumeClaimRetentionPolicy"];
                Err(ChangeEnd::new(
                    Outcome::Refused,
                    format!(
                        "the API server drops the change: after a dry run, \
                         spec.persistentVolumeClaimRetentionPolicy is {shown}; nothing was changed"
                    ),
                ))
            }
            Action::RequestStorage { to, .. } if !verify::requests(*to, &answer.value) => {
                let shown = &answer.value["spec"]["resources"]["requests"]["storage"];
                Err(ChangeEnd::new(
                    Outcome::Refused,
                    format!(
                        "the API server changes the request: after a dry run, it is {shown}; nothing was changed"
                    ),
                ))
            }
            _ => Ok(()),
        }
    }

    /// Sends a request as a dry run, so that admission and RBAC refuse it before anything is
    /// written.
    pub(super) async fn send_dry_run(
        &self,
        purpose: &Purpose,
        request: &WriteRequest,
    ) -> Result<WriteAnswer, ChangeEnd> {
        let error = match self.writer.send(request, true).await {
            Ok(answer) => return Ok(answer),
            Err(error) if exists_already(purpose, &error) => return Ok(WriteAnswer::default()),
            Err(error) => error,
        };
        // What is created was not deleted: its namespace does not exist.
        let absent = matches!(error, WriteError::Rejected { absent: Some(_), .. });
        if let Some(detail) =
            error.overtaken().filter(|_| !absent || request.method != Method::POST)
        {
            return Err(ChangeEnd::new(Outcome::Stale, detail));
        }
        Err(match error {
            error @ WriteError::Rejected { code: 429, .. } => {
                ChangeEnd::new(Outcome::Failed, error.to_string()).ends_batch()
            }
            error @ (WriteError::Rejected { .. } | WriteError::Withdrawn(_)) => {
                ChangeEnd::new(Outcome::Refused, error.to_string())
            }
            // Nothing was written, but the cause is unknown.
            WriteError::CarriedOut(detail) => {
                ChangeEnd::new(Outcome::Unanswered, detail).ends_batch()
            }
            WriteError::Unanswered(detail) | WriteError::NotSent(detail) => {
                let detail = format!("its dry run failed: {detail}");
                ChangeEnd::new(Outcome::Failed, detail).ends_batch()
            }
        })
    }

    /// Sends the later steps as dry runs before the first is carried out, so that no change ends
    /// half way because the user may not carry out its second step.
    pub(super) async fn dry_run_later_steps(
        &self,
        change: &ProposedChange,
        live: &Value,
    ) -> Result<(), ChangeEnd> {
        let [first, others @ ..] = &*change.proposal.steps else { return Ok(()) };
        for (done, action) in (1..).zip(others) {
            // Rendered only after an earlier step.
            if matches!(
                action,
                Action::ReclaimBackend { .. }
                    | Action::ReclaimReleased { .. }
                    | Action::RemoveOwnerReferences { .. }
            ) {
                continue;
            }
            let object = &action.read_before().key;
            let read = match *object == first.read_before().key {
                _ if action.creates() => Some(Value::Null),
                true => Some(live.clone()),
                false => self.cluster.get(object).await.map_err(|error| {
                    ChangeEnd::new(Outcome::Failed, format!("{object} was not read: {error}"))
                })?,
            };
            let Some(read) = read else {
                return Err(ChangeEnd::new(
                    Outcome::Stale,
                    "the object of a later step does not exist",
                ));
            };
            let request = request::request(action, &read)
                .map_err(|unfit| ChangeEnd::new(Outcome::Stale, unfit.to_string()))?;
            if let Err(ended) = self.dry_run_step(&change.purpose, action, &request).await {
                return Err(self.recorded(change, done, &request, read, ended).await);
            }
        }
        Ok(())
    }

    /// Records a dry run that was carried out, or may have been, like a request of its own: the journal and the record
    /// of the backend volume may be all that references it now.
    pub(super) async fn recorded(
        &self,
        change: &ProposedChange,
        done: usize,
        request: &WriteRequest,
        live: Value,
        mut ended: ChangeEnd,
    ) -> ChangeEnd {
        if ended.outcome != Outcome::Unanswered {
            return ended;
        }
        let record = self.record_of(change, &live).ok().flatten();
        let entry = match self.begin(change, done, request, live).await {
            Ok(entry) => entry,
            Err(unwritten) => {
                ended.notes.push(unwritten.detail);
                return ended;
            }
        };
        ended.entry = Some(entry);
        if let Err(unwritten) = self.keep_record(record, entry).await {
            ended.notes.push(unwritten.detail);
        }
        self.end(&mut ended, entry).await;
        ended
    }
}

impl ChangeExecutor<'_> {
    /// Waits for as long as expired Leases are valid, and reads them again: a Lease that changed has a running holder.
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
