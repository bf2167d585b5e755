//! What follows the addition of an owner reference: the owner is read again, and where it is being
//! deleted, the reference is removed at once (I.6 of the design; semantics#retention).
//!
//! The garbage collector deletes a claim whose only owner does not exist. The owner may have been
//! deleted between the last read and the write, with `--cascade=orphan` too.

use super::super::change_end::ChangeEnd;
use super::super::verify::owners::{SETTLING, in_words, is_in, is_same};
use super::super::{Outcome, request};
use super::ChangeExecutor;
use crate::model::{Action, Effect, Kind, ObjectKey, ObjectRef, OwnerReference, Proposal, Undo};
use crate::plan::ProposedChange;
use crate::remedies::retention::NEVER_ADDED;

/// How often the removal is rendered anew from the claim as it is then.
const ATTEMPTS: usize = 5;

impl ChangeExecutor<'_> {
    /// Verifies that the owner whose reference was added is not being deleted, also after a while: the
    /// garbage collector acts on what it read before.
    pub(super) async fn confirm_owner(
        &self,
        change: &ProposedChange,
        claim: &ObjectRef,
        owner: &OwnerReference,
    ) -> (Outcome, String) {
        for settled in [false, true] {
            if settled {
                tokio::time::sleep(SETTLING).await;
            }
            if let Err(reason) = self.is_kept(claim, owner).await {
                let removed = self.take_off(change, claim, owner).await;
                return (Outcome::Failed, format!("{reason}: {removed}"));
            }
        }
        let named = format!("{} {}", owner.kind, owner.name);
        match self.cluster.read_again(claim).await {
            Ok(Some(live)) if is_same(&live, claim) => {
                if !live["metadata"]["deletionTimestamp"].is_null() {
                    let told = format!(
                        "the claim has been deleted meanwhile and is Terminating: `kubectl storage retain {}` keeps its data",
                        in_words(claim)
                    );
                    return (Outcome::Failed, told);
                }
                match is_in(owner, &live) {
                    true => (Outcome::Done, format!("the claim is owned by {named}")),
                    false => {
                        let told = format!("another client removed the reference to {named}");
                        (Outcome::Failed, told)
                    }
                }
            }
            Ok(_) => (Outcome::Failed, "the claim was deleted meanwhile".to_owned()),
            Err(error) => (
                Outcome::Pending,
                format!("the reference to {named} is added; unknown whether it remains: {error}"),
            ),
        }
    }

    /// Refuses an owner that does not exist any more, by its uid, or is being deleted.
    async fn is_kept(&self, claim: &ObjectRef, owner: &OwnerReference) -> Result<(), String> {
        let namespace = claim.key.namespace.as_deref().unwrap_or_default();
        let key = ObjectKey::named(Kind::StatefulSet, namespace, &owner.name);
        let live = match self.cluster.get(&request::path(&key)).await {
            Ok(Some(live)) => live,
            Ok(None) => return Err(format!("{key} was deleted meanwhile")),
            Err(error) => return Err(format!("{key} could not be read again ({error})")),
        };
        let uid = owner.uid.as_ref().map(ToString::to_string);
        if live["metadata"]["uid"].as_str() != uid.as_deref() {
            return Err(format!("{key} was deleted and recreated meanwhile"));
        }
        match live["metadata"]["deletionTimestamp"].is_null() {
            true => Ok(()),
            false => Err(format!("{key} has become Terminating meanwhile")),
        }
    }

    /// Removes the reference that was added, and tells what has become of the claim.
    async fn take_off(
        &self,
        change: &ProposedChange,
        claim: &ObjectRef,
        owner: &OwnerReference,
    ) -> String {
        let help = format!("`kubectl storage retain {}` keeps its data", in_words(claim));
        for _ in 0..ATTEMPTS {
            let live = match self.cluster.read_again(claim).await {
                Ok(Some(live)) if is_same(&live, claim) => live,
                Ok(_) => return "the claim was deleted".to_owned(),
                Err(error) => {
                    return format!(
                        "the reference is not removed again, since the claim could not be read ({error}); {help}"
                    );
                }
            };
            if !live["metadata"]["deletionTimestamp"].is_null() {
                return format!("the claim is Terminating already; {help}");
            }
            if !is_in(owner, &live) {
                return "the reference is removed again, by another client".to_owned();
            }
            match self.send_removal(change, claim, owner, live).await {
                Ok(()) => return self.after_removal(claim, &help).await,
                Err(ended) if ended.outcome == Outcome::Stale => {}
                Err(ended) => {
                    return format!(
                        "the reference is not removed again ({}); {help}",
                        ended.detail
                    );
                }
            }
        }
        format!("the reference is not removed again, since other clients change the claim; {help}")
    }

    /// Sends the removal, with an entry of its own in the journal.
    async fn send_removal(
        &self,
        change: &ProposedChange,
        claim: &ObjectRef,
        owner: &OwnerReference,
        live: serde_json::Value,
    ) -> Result<(), ChangeEnd> {
        let action =
            Action::RemoveOwnerReferences { claim: claim.clone(), owners: vec![owner.clone()] };
        let request = request::request(&action, &live)
            .map_err(|unfit| ChangeEnd::new(Outcome::Stale, unfit.to_string()))?;
        let proposal = Proposal {
            steps: vec![action],
            effect: Effect {
                what: "removes the owner reference that was added".to_owned(),
                risk: String::new(),
            },
            undo: Undo::Never(NEVER_ADDED),
            notices: Vec::new(),
            relies_on: Vec::new(),
            keeps_backend: false,
        };
        let removal = ProposedChange { proposal, ..change.clone() };
        let entry = self.begin(&removal, 0, &request, live)?;
        let mut ended = match self.writer.send(&request, false).await {
            Ok(_) => ChangeEnd::new(Outcome::Done, "the reference is removed again"),
            Err(error) => ChangeEnd::unsent(&error),
        };
        self.end(&mut ended, entry);
        match ended.outcome {
            Outcome::Done => Ok(()),
            _ => Err(ended),
        }
    }

    /// Whether the garbage collector was faster.
    async fn after_removal(&self, claim: &ObjectRef, help: &str) -> String {
        tokio::time::sleep(SETTLING).await;
        match self.cluster.read_again(claim).await {
            Ok(Some(live)) if is_same(&live, claim) => {
                match live["metadata"]["deletionTimestamp"].is_null() {
                    true => "the reference is removed again, and the claim is kept".to_owned(),
                    false => format!(
                        "the reference is removed again, but the claim is Terminating; {help}"
                    ),
                }
            }
            Ok(_) => "the reference is removed again, but the claim was deleted".to_owned(),
            Err(error) => format!(
                "the reference is removed again; unknown whether the claim was deleted: {error}"
            ),
        }
    }
}
