//! The addition of an owner reference (P-OWNER-ADD; I.6 of the design; semantics#requests).
//!
//! The garbage collector deletes a claim whose owners do not exist, within milliseconds: a reference to
//! a set that is deleted between the last read and the write destroys the claim (*seen*). So the claim's
//! own volume, which exists, is added as another owner by the same patch. It is removed only after the
//! set was read again twice; and where the set is being deleted, both are removed.

use super::super::receipt::ChangeEnd;
use super::super::receipt::DryRun;
use super::super::receipt::Moment;
use super::super::request::WriteRequest;
use super::super::turn::Turn;
use super::super::verify::{SETTLING, in_words, is_in, is_same};
use super::super::{Outcome, request};
use super::{CHANGED_MEANWHILE, ChangeExecutor, FRESH, RETRY};
use crate::model::{
    Action, Effect, Kind, Loss, ObjectKey, ObjectRef, OwnerReference, Proposal, Undo,
};
use crate::plan::ProposedChange;
use crate::remedies::retention::NEVER_ADDED;

/// Number of times that a removal is rendered anew from the claim as it is then.
const ATTEMPTS: usize = 5;

impl ChangeExecutor<'_> {
    /// Adds a reference, verifies that its owner is not being deleted, and removes the guard; after any failure, takes
    /// the reference back.
    pub(super) async fn add_owner(
        &self,
        change: &ProposedChange,
        turn: &Turn<'_>,
        claim: &ObjectRef,
        owner: &OwnerReference,
        guard: Option<&OwnerReference>,
    ) -> ChangeEnd {
        let first = match self.step(change, 0, Some(turn)).await {
            Ok(ended) => ended,
            // It may have been added.
            Err(ended) if ended.outcome == Outcome::Unanswered => ended,
            Err(ended) => return ended,
        };
        if self.dry_run == DryRun::Server {
            return first;
        }
        let ended = match (first.outcome, guard) {
            (Outcome::Done, None) => return first,
            (Outcome::Done, Some(_)) => {
                turn.wait_again().await;
                match self.step(change, 1, Some(turn)).await {
                    Ok(ended) | Err(ended) => ended.after(first),
                }
            }
            _ => first,
        };
        // Pending: the guard is removed, and the owner was confirmed before.
        if matches!(ended.outcome, Outcome::Done | Outcome::Pending) {
            return ended;
        }
        let added: Vec<_> = std::iter::once(owner).chain(guard).cloned().collect();
        let told = self.take_back(change, claim, &added).await;
        let mut ended = ChangeEnd { partly: true, ..ended };
        ended.detail = format!("{}: {told}", ended.detail);
        if ended.outcome == Outcome::Stale {
            ended.outcome = Outcome::Failed;
        }
        ended
    }

    /// Verifies that the owner whose reference was added is not being deleted, also after a while: the garbage
    /// collector acts on earlier reads.
    pub(super) async fn confirm_owner(
        &self,
        claim: &ObjectRef,
        owner: &OwnerReference,
    ) -> (Outcome, String) {
        for settled in [false, true] {
            if settled {
                tokio::time::sleep(SETTLING).await;
            }
            if let Err(reason) = self.is_kept(claim, owner).await {
                return (Outcome::Failed, reason);
            }
        }
        let named = format!("{} {}", owner.kind, owner.name);
        match self.cluster.read_again(claim).await {
            Ok(Some(live)) if is_same(&live, claim) && is_in(owner, &live) => {
                match live["metadata"]["deletionTimestamp"].is_null() {
                    true => (Outcome::Done, format!("the claim is owned by {named}")),
                    false => (Outcome::Failed, "the claim has become Terminating".to_owned()),
                }
            }
            Ok(Some(live)) if is_same(&live, claim) => {
                (Outcome::Failed, format!("another client removed the reference to {named}"))
            }
            Ok(_) => (Outcome::Failed, "the claim was deleted meanwhile".to_owned()),
            Err(error) => (Outcome::Failed, format!("the claim could not be read: {error}")),
        }
    }

    /// Refuses an owner that does not exist any more, by its uid, or is being deleted.
    async fn is_kept(&self, claim: &ObjectRef, owner: &OwnerReference) -> Result<(), String> {
        let namespace = claim.key.namespace.as_deref().unwrap_or_default();
        let key = ObjectKey::named(Kind::StatefulSet, namespace, &owner.name);
        let live = match self.cluster.get(&key).await {
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

    /// Removes the added references, as far as they remain, and describes the state of the claim.
    async fn take_back(
        &self,
        change: &ProposedChange,
        claim: &ObjectRef,
        added: &[OwnerReference],
    ) -> String {
        let help = format!("`kubectl storage retain {}` keeps its data", in_words(claim));
        let mut unread = None;
        for _ in 0..ATTEMPTS {
            let live = match self.cluster.read_alone(claim).await {
                Ok(Some(live)) if is_same(&live, claim) => live,
                Ok(_) => return "the claim was deleted".to_owned(),
                Err(error) => {
                    unread = Some(error);
                    tokio::time::sleep(RETRY).await;
                    continue;
                }
            };
            if !live["metadata"]["deletionTimestamp"].is_null() {
                return format!("the claim is Terminating; {help}");
            }
            let left: Vec<_> = added.iter().filter(|it| is_in(it, &live)).cloned().collect();
            if left.is_empty() {
                return "no reference that was added remains, and the claim is kept".to_owned();
            }
            match self.send_removal(change, claim, left, live).await {
                Ok(()) => return self.after_removal(claim, &help).await,
                Err(ended) if ended.outcome == Outcome::Stale => {}
                Err(ended) => {
                    return format!(
                        "the references that were added remain ({}); {help}",
                        ended.detail
                    );
                }
            }
        }
        let why = match unread {
            Some(error) => format!("the claim could not be read ({error})"),
            None => "other clients change the claim".to_owned(),
        };
        format!("the references that were added remain, since {why}; {help}")
    }

    /// Sends the removal of references, with its own journal entry.
    async fn send_removal(
        &self,
        change: &ProposedChange,
        claim: &ObjectRef,
        owners: Vec<OwnerReference>,
        live: serde_json::Value,
    ) -> Result<(), ChangeEnd> {
        let action = Action::RemoveOwnerReferences { claim: claim.clone(), owners };
        let request = request::request(&action, &live)
            .map_err(|unfit| ChangeEnd::new(Outcome::Stale, unfit.to_string()))?;
        let proposal = Proposal {
            steps: vec![action],
            effect: Effect {
                what: "removes the owner references that were added".to_owned(),
                risk: String::new(),
            },
            undo: Undo::Never(NEVER_ADDED),
            notices: Vec::new(),
            relies_on: Vec::new(),
            keeps_backend: false,
            loses: Loss::default(),
        };
        let removal = ProposedChange { proposal, ..change.clone() };
        let looked = Moment::now();
        let entry = self.begin(&removal, 0, &request, live).await?;
        let is_still = match looked.elapsed() > FRESH {
            true => self.is_still_rendered(&removal, claim, &request).await,
            false => Ok(()),
        };
        let mut ended = match is_still {
            Err(ended) => ended,
            Ok(()) => match self.writer.send(&request, false).await {
                Ok(_) => {
                    ChangeEnd::new(Outcome::Done, "the references that were added are removed")
                }
                Err(error) => ChangeEnd::unsent(&error),
            },
        };
        self.end(&mut ended, entry).await;
        match ended.outcome {
            Outcome::Done => Ok(()),
            _ => Err(ended),
        }
    }

    /// Verifies that a removal which took long to be recorded would still be rendered the same.
    async fn is_still_rendered(
        &self,
        removal: &ProposedChange,
        claim: &ObjectRef,
        request: &WriteRequest,
    ) -> Result<(), ChangeEnd> {
        let live = match self.cluster.read_alone(claim).await {
            Ok(live) => live.filter(|it| is_same(it, claim)),
            Err(error) => return Err(ChangeEnd::unread(&error)),
        };
        let rendered = live.and_then(|it| request::request(&removal.proposal.steps[0], &it).ok());
        match rendered.is_some_and(|it| it.body == request.body) {
            true => Ok(()),
            false => Err(ChangeEnd::new(Outcome::Stale, CHANGED_MEANWHILE)),
        }
    }

    /// Describes the claim after the removal: the garbage collector may have been faster.
    async fn after_removal(&self, claim: &ObjectRef, help: &str) -> String {
        const REMOVED: &str = "the references that were added are removed again";
        tokio::time::sleep(SETTLING).await;
        match self.cluster.read_again(claim).await {
            Ok(Some(live)) if is_same(&live, claim) => {
                match live["metadata"]["deletionTimestamp"].is_null() {
                    true => format!("{REMOVED}, and the claim is kept"),
                    false => format!("{REMOVED}, but the claim is Terminating; {help}"),
                }
            }
            Ok(_) => format!("{REMOVED}, but the claim was deleted"),
            Err(error) => format!("{REMOVED}; unknown whether the claim was deleted: {error}"),
        }
    }
}
