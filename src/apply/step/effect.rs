//! What follows a write: an Event about it, and its effect.

use super::super::turn::Turn;
use super::super::verify::owners::SETTLING;
use super::super::writer::WriteAnswer;
use super::super::{Outcome, event, verify};
use super::ChangeExecutor;
use crate::model::{Action, ObjectRef, Uid};
use crate::plan::ProposedChange;

impl ChangeExecutor<'_> {
    /// Writes an Event about the object; an error is returned as a note. With a turn that was passed,
    /// the other changes come first.
    pub(super) async fn write_event(
        &self,
        change: &ProposedChange,
        action: &Action,
        written: &WriteAnswer,
        entry: u64,
        passed: Option<&Turn<'_>>,
    ) -> Option<String> {
        let events = self.events.as_ref()?;
        if let Some(turn) = passed {
            turn.all_had_one(SETTLING).await;
        }
        let _few = events.acquire().await;
        let created = written.value["metadata"]["uid"].as_str().and_then(Uid::parse);
        let uid = action.object().uid.clone().or(created);
        let object = ObjectRef { uid, key: action.object().key.clone() };
        let entry = self.log.numbered(entry);
        let request =
            event::request(change, action, &object, self.command, &entry, self.cluster.clock());
        match self.writer.in_any_case().send(&request, false).await {
            Ok(_) => None,
            Err(error) => Some(format!("no Event was written about {}: {error}", change.object)),
        }
    }

    /// Waits for the effect of a write.
    pub(super) async fn verify(
        &self,
        change: &ProposedChange,
        done: usize,
        written: &WriteAnswer,
    ) -> (Outcome, String) {
        if let Some(date) = written.date {
            self.cluster.advance(date);
        }
        let action = &change.proposal.steps[done];
        if let Action::CreateSnapshot { snapshot, claim, .. } = action {
            let taken =
                verify::snapshot::FirstSnapshot { snapshot, claim, written: &written.value };
            return taken.until_ready(self.cluster, self.wait, self.interrupted).await;
        }
        if let Action::AddOwnerReference { claim, owner, .. } = action {
            return self.confirm_owner(claim, owner).await;
        }
        if matches!(action, Action::CreateVolume { .. }) && change.purpose.destroys() {
            let entry = change.purpose.undoes().map(|it| self.log.numbered(it));
            return verify::until_reclaimed(self.cluster, change, entry, self.wait).await;
        }
        verify::verify(self.cluster, change, done, &written.value, self.wait).await
    }
}
