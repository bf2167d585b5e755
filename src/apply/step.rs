//! Carries out one change, step by step: from the last read to the verified effect.

mod announce;
mod dry_run;
mod owner;
mod reclaim;
mod retention;
mod veto;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::sync::{Mutex, Semaphore};

use super::{
    Outcome,
    current_cluster::CurrentCluster,
    event,
    kept_record::KeptBackendRecorder,
    receipt::{ChangeEnd, DryRun, Moment},
    request::{self, WriteRequest},
    turn::{JournalQueue, Turn},
    verify::{self, SETTLING},
    writer::{WriteAnswer, WriteError, Writer},
};
use crate::cluster::Reach;
use crate::journal::{Backend, Intent, JournalRecord, SentRequest};
use crate::model::{ANNOUNCED, Action, ObjectKey, ObjectRef, Proposal, Text, Uid, format_bytes};
use crate::plan::{ProposedChange, Purpose};

/// The pause before an object that cannot be judged at the moment is read again.
const RETRY: Duration = Duration::from_millis(500);

/// The duration for which lists may be acted on.
const FRESH: Duration = Duration::from_secs(1);
/// The duration for which a judgement may be acted on: a webhook may take its time with the dry run in between.
const JUDGED: Duration = Duration::from_secs(5);

/// The message where the object changed while its intent was being recorded.
const CHANGED_MEANWHILE: &str = "nothing was sent: it changed while it was being recorded";

/// Carries out the changes of a plan.
pub(super) struct ChangeExecutor<'a> {
    pub(super) cluster: &'a CurrentCluster,
    pub(super) writer: &'a Writer,
    pub(super) log: &'a JournalQueue,
    /// Writes the record of kept backend volumes in the cluster; `None` with `--journal-only`.
    pub(super) recorder: Option<KeptBackendRecorder<'a>>,
    /// The command for which the plan was made.
    pub(super) command: &'a str,
    /// What had not been read when the plan was made.
    pub(super) unread: &'a BTreeSet<Reach>,
    /// The id of this run.
    pub(super) run: &'a str,
    pub(super) dry_run: DryRun,
    /// Limit of Events that are written at the same time; `None` for no Events.
    pub(super) events: Option<Semaphore>,
    /// The time to wait for objects that cannot be read at the moment.
    pub(super) patience: Duration,
    /// The time to wait for the effect of a write; `None` for not at all.
    pub(super) wait: Option<Duration>,
    /// Whether the user has interrupted the run.
    pub(super) interrupted: &'a dyn Fn() -> bool,
    /// The namespaces in which the dry run of a removal of owner references was accepted.
    pub(super) accepted: RefCell<BTreeSet<Option<Text>>>,
    /// The end of each change that announces.
    pub(super) announcements: RefCell<BTreeMap<ObjectKey, ChangeEnd>>,
    /// Held while the record of vetoes is changed.
    pub(super) vetoing: Mutex<()>,
}

impl ChangeExecutor<'_> {
    /// Carries out a change in its turn; the first step that is not done ends it.
    pub(super) async fn carry_out(&self, change: &ProposedChange, turn: &Turn<'_>) -> ChangeEnd {
        if let Purpose::SetRetention(request) = &change.purpose {
            return self.set_retention(change, request).await;
        }
        match &change.purpose {
            // Those of a run are announced together.
            Purpose::Announce(_) => {
                return ChangeEnd::new(Outcome::Refused, "not announced: the run has ended");
            }
            Purpose::RecordVeto => return self.record_veto(change).await,
            _ => {}
        }
        let mut last = ChangeEnd::new(Outcome::Refused, "there is nothing to do");
        let count = change.proposal.steps.len();
        if let Some(Action::AddOwnerReference { claim, owner, guard, .. }) =
            change.proposal.steps.first()
        {
            return self.add_owner(change, turn, claim, owner, guard.as_ref()).await;
        }
        if count == 0 && matches!(change.purpose, Purpose::Rebind(_)) {
            return self.wait_for_binding(change).await;
        }
        for done in 0..count {
            turn.wait_again().await;
            let ended = match &change.proposal.steps[done] {
                Action::ReclaimBackend { .. } => self.reclaim(change, &last).await,
                Action::ReclaimReleased { volume, claim } => {
                    self.reclaim_released(change, volume, claim).await
                }
                _ => self.step(change, done, Some(turn)).await,
            };
            let mut ended = match ended {
                Ok(ended) | Err(ended) => ended,
            };
            if self.dry_run == DryRun::Server && count > 1 {
                // The later steps rest on what the first one changes.
                ended.detail = format!("first step: {}", ended.detail);
                return ended;
            }
            if done > 0 {
                ended = ended.after(last);
            }
            last = ended;
            if last.outcome != Outcome::Done {
                break;
            }
        }
        last
    }

    /// Carries out the step after `done` others. `Err` is an early end. `turn` is what the next change waits for.
    pub(super) async fn step(
        &self,
        change: &ProposedChange,
        done: usize,
        turn: Option<&Turn<'_>>,
    ) -> Result<ChangeEnd, ChangeEnd> {
        let action = &change.proposal.steps[done];
        let judged = Moment::now();
        let Some(live) = self.read_and_propose_again(change, done).await? else {
            return Ok(self.wait_for_binding(change).await);
        };
        let request = request::request(action, &live)
            .map_err(|unfit| ChangeEnd::new(Outcome::Stale, unfit.to_string()))?;
        let rehearsed = !self.is_accepted(change);
        if rehearsed {
            if let Err(ended) = self.dry_run_step(&change.purpose, action, &request).await {
                return Err(self.recorded(change, done, &request, live, ended).await);
            }
            if change.only_removes_owners() {
                self.accepted.borrow_mut().insert(change.object.key.namespace.clone());
            }
        }
        if done == 0 {
            self.dry_run_later_steps(change, &live).await?;
            self.dry_run_reclaim(change, &live).await?;
        }
        // Written with the first step, and again with the step that deletes the volume object: then
        // it has the number of the entry that `destroy-orphan` continues.
        let record = match done == 0 || keeps(change, done) {
            true => self.dry_run_record(change, &live).await?,
            false => None,
        };
        if self.dry_run == DryRun::Server {
            return Ok(dry_run::changes_nothing());
        }
        let looked = Moment::now();
        self.look_for_users(action).await?;
        let entry = self.begin(change, done, &request, live.clone()).await?;
        let kept = match self.keep_record(record, entry).await {
            Ok(kept) => kept,
            Err(mut ended) => {
                ended.entry = Some(entry);
                self.end(&mut ended, entry).await;
                return Err(ended);
            }
        };
        if (looked.elapsed() > FRESH || judged.elapsed() > JUDGED)
            && let Err(mut ended) = self.look_again(change, done, &request).await
        {
            ended.entry = Some(entry);
            self.end(&mut ended, entry).await;
            if let Err(note) = self.revert_record(kept.as_ref()).await {
                ended.notes.push(note);
            }
            return Err(ended);
        }
        let sent = match self.writer.send(&request, false).await {
            Err(error) if exists_already(&change.purpose, &error) => Ok(WriteAnswer::default()),
            sent => sent,
        };
        let mut ended = match &sent {
            Ok(_) => ChangeEnd::new(Outcome::Sent, ""),
            Err(error) if !rehearsed => ChangeEnd::not_admitted(error),
            Err(error) => ChangeEnd::unsent(error),
        };
        ended = self.unless_own(ended, action.object(), &request, &live).await;
        ended.entry = Some(entry);
        self.end(&mut ended, entry).await;
        let Ok(written) = sent else {
            // A write without an answer may have been carried out: then only the record references
            // the backend volume.
            if ended.outcome != Outcome::Unanswered
                && let Err(note) = self.revert_record(kept.as_ref()).await
            {
                ended.notes.push(note);
            }
            return Err(ended);
        };
        let turn = turn.filter(|_| ended.ends_batch.is_none() && change.settles_apart());
        if let Some(turn) = turn {
            turn.pass();
        }
        let (note, (outcome, detail)) = futures::join!(
            self.write_event(change, action, &written, entry, turn),
            self.verify(change, done, &written)
        );
        ended.notes.extend(note);
        (ended.outcome, ended.detail) = (outcome, detail);
        ended.before = Some(Box::new(live));
        self.end(&mut ended, entry).await;
        if ended.outcome == Outcome::Failed {
            // It was written, and another client has reverted it: somebody who acts on one object must not
            // end the changes of others.
            ended = ChangeEnd { partly: true, ..ended };
            // A controller that was judged absent, and is not: others are judged by the same.
            if matches!(action, Action::RemoveFinalizer { .. }) {
                ended = ended.ends_batch();
            }
        }
        if ended.outcome == Outcome::Done {
            ended.notes.extend(self.end_record(change).await);
        }
        Ok(ended)
    }

    /// Returns the end of a request that found its object changed: by another client, or by itself, where a proxy sent
    /// it twice and only the second answer came. Unless the object is read as it was, that is unknown.
    pub(super) async fn unless_own(
        &self,
        ended: ChangeEnd,
        object: &ObjectRef,
        request: &WriteRequest,
        before: &Value,
    ) -> ChangeEnd {
        if ended.outcome != Outcome::Stale {
            return ended;
        }
        let read = self.cluster.read(&object.key).await;
        let why = match &read {
            Ok(live) if !request::may_have_caused(request, before, live.as_ref()) => return ended,
            Ok(_) => "or this request did that, and a proxy has sent it twice".to_owned(),
            Err(error) => format!("and it could not be read again: {error}"),
        };
        let detail = format!("unknown whether the request took effect: {}, {why}", ended.detail);
        ChangeEnd { outcome: Outcome::Unanswered, detail, ..ended }
    }

    /// Judges a change again right before it is sent, because the journal took long.
    async fn look_again(
        &self,
        change: &ProposedChange,
        done: usize,
        request: &WriteRequest,
    ) -> Result<(), ChangeEnd> {
        let action = &change.proposal.steps[done];
        let unsent =
            |why: String| ChangeEnd::new(Outcome::Refused, format!("nothing was sent: {why}"));
        let again = self.read_and_propose_again(change, done).await;
        let live = again.map_err(|ended| unsent(ended.detail))?;
        let live = live.ok_or_else(|| unsent("another client was first".to_owned()))?;
        let rendered =
            request::request(action, &live).map_err(|unfit| unsent(unfit.to_string()))?;
        if rendered.body != request.body {
            return Err(ChangeEnd::new(Outcome::Refused, CHANGED_MEANWHILE));
        }
        self.look_for_users(action).await.map_err(|ended| unsent(ended.detail))
    }

    /// Reads the object again and proposes again: only the identical proposal is carried out.
    ///
    /// What a watch lost is listed again soon, and is waited for until then. `None` where another
    /// client has created meanwhile what the rest would create.
    async fn read_and_propose_again(
        &self,
        change: &ProposedChange,
        done: usize,
    ) -> Result<Option<Value>, ChangeEnd> {
        let began = Instant::now();
        let confirmed = &change.proposal;
        let (step, volume) = (&change.proposal.steps[done], &change.object);
        let key = &step.read_before().key;
        let purpose = change.purpose.after(&confirmed.steps[..done]);
        loop {
            let judged = self.cluster.propose_again(&purpose, &change.object).await;
            let (objects, proposed) = judged.map_err(|error| ChangeEnd::unread(&error))?;
            let live = match step.creates() && *key != volume.key {
                true => Some(Value::Null),
                false => objects.object_of(&volume.key, key),
            };
            let Some(live) = live else {
                return Err(ChangeEnd::new(Outcome::Stale, "it does not exist"));
            };
            let unseen = match proposed {
                Ok(Ok(proposal)) if is_rest(confirmed, done, &proposal) => {
                    match self.cluster.unconfirmed_leases(&purpose, &change.object) {
                        None => return Ok(Some(live)),
                        Some(leases) => self.read_leases_again(leases).await?,
                    }
                    continue;
                }
                Ok(Ok(proposal)) if is_fulfilled(confirmed, done, &proposal) => return Ok(None),
                Ok(Ok(proposal)) => {
                    let is_same = confirmed.steps.get(done..) == Some(&*proposal.steps);
                    let lost = self.cluster.lost_since(self.unread).filter(|_| is_same);
                    lost.ok_or_else(|| {
                        ChangeEnd::new(Outcome::Stale, difference(confirmed, done, &proposal))
                    })?
                }
                Ok(Err(refusal)) => return Err(ChangeEnd::new(Outcome::Stale, refusal.reason)),
                Err(unseen) => unseen.reason,
            };
            if began.elapsed() >= self.patience || (self.interrupted)() {
                let denied = unseen.contains("forbidden: ");
                let way = format!(
                    "; `kubectl storage rbac {} --check` lists the permissions that you lack",
                    self.command
                );
                let reason = if denied { unseen + &way } else { unseen };
                return Err(ChangeEnd::new(Outcome::Refused, reason));
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Appends the intent of a step to the journal.
    pub(super) async fn begin(
        &self,
        change: &ProposedChange,
        done: usize,
        request: &WriteRequest,
        live: Value,
    ) -> Result<u64, ChangeEnd> {
        let action = &change.proposal.steps[done];
        let capacity = change.about.volume.as_ref().and_then(|it| it.capacity);
        let intent = Intent {
            command: self.command.to_owned(),
            object: action.object().clone(),
            action: action.name().to_owned(),
            because: change.purpose.id().to_owned(),
            request: self.sent_request(request),
            pre_image: Some(live).filter(|it| !it.is_null()),
            backend: backend(change),
            capacity: capacity.map(format_bytes),
            keeps: keeps(change, done),
            adds_finalizer: action.added_finalizer().map(str::to_owned),
            removes_finalizer: action.removed_finalizer().map(str::to_owned),
            // What is half done is not undone.
            undoes: change.purpose.undoes().filter(|_| done + 1 == change.proposal.steps.len()),
        };
        let (run, at) = (self.run.to_owned(), self.cluster.clock());
        let record = JournalRecord::Intent { run, at, intent: Box::new(intent) };
        self.log.append(record).await.map_err(|error| {
            let detail = error.with_cause();
            ChangeEnd::new(Outcome::Failed, detail).ends_batch()
        })
    }

    /// Converts a request to its form in the journal.
    fn sent_request(&self, request: &WriteRequest) -> SentRequest {
        SentRequest {
            method: request.method.to_string(),
            path: self.writer.uri(request, false),
            content_type: request.content_type.to_owned(),
            body: request.body.clone(),
        }
    }

    /// Appends the outcome of an entry to the journal. Where that fails, no other change begins.
    pub(super) async fn end(&self, ended: &mut ChangeEnd, entry: u64) {
        let (at, outcome, detail) = (self.cluster.clock(), ended.outcome, ended.detail.clone());
        let record = JournalRecord::Outcome { of: entry, at, outcome, detail };
        if let Err(error) = self.log.append(record).await {
            let note = error.with_cause();
            ended.ends_batch.get_or_insert_with(|| note.clone());
            // The first and the second outcome most likely fail for the same reason.
            if !ended.notes.contains(&note) {
                ended.notes.push(note);
            }
        }
    }
}

/// Whether a step deletes the volume object while its backend volume is kept: the last step about the object.
fn keeps(change: &ProposedChange, done: usize) -> bool {
    let following = change.proposal.steps.get(done + 1);
    let last = following.is_none_or(|it| matches!(it, Action::ReclaimBackend { .. }));
    change.proposal.keeps_backend && last
}

/// Returns the backend volume of a change in its form in the journal.
fn backend(change: &ProposedChange) -> Option<Backend> {
    let backend = change.about.backend.as_ref()?;
    Some(Backend { driver: backend.driver.to_string(), handle: backend.handle.to_string() })
}

/// Whether an earlier run has created the object: then this run only waits for its deletion.
fn exists_already(purpose: &Purpose, error: &WriteError) -> bool {
    let exists = matches!(error, WriteError::Rejected { reason, .. } if reason == "AlreadyExists");
    exists && purpose.resumes()
}

/// Whether a proposal made after `done` steps is the rest of the confirmed one.
fn is_rest(confirmed: &Proposal, done: usize, now: &Proposal) -> bool {
    if done == 0 {
        // It may need fewer assertions: after a change before it, something is known that was not.
        let same = Proposal { relies_on: now.relies_on.clone(), ..confirmed.clone() };
        return same == *now && relies_on_no_more(confirmed, now);
    }
    confirmed.steps.get(done..) == Some(&now.steps)
        && now.notices.iter().all(|it| confirmed.notices.contains(it))
        && relies_on_no_more(confirmed, now)
}

/// Whether a proposal relies only on flags on which the confirmed one relied.
fn relies_on_no_more(confirmed: &Proposal, now: &Proposal) -> bool {
    now.relies_on.iter().all(|it| confirmed.relies_on.contains(it))
}

/// Whether nothing is left to do of a confirmed proposal: another client has created meanwhile what the rest would create.
fn is_fulfilled(confirmed: &Proposal, done: usize, now: &Proposal) -> bool {
    let rest = confirmed.steps.get(done..).unwrap_or_default();
    let new = |it: &&String| !confirmed.notices.contains(*it);
    now.steps.is_empty()
        && rest.iter().all(|it| matches!(it, Action::CreateClaim { .. }))
        && now.notices.iter().filter(new).count() == 0
        && relies_on_no_more(confirmed, now)
}

/// Describes how a proposal differs from the confirmed one.
fn difference(confirmed: &Proposal, done: usize, now: &Proposal) -> String {
    let new: Vec<_> = now.notices.iter().filter(|it| !confirmed.notices.contains(it)).collect();
    if let Some(reverted) = reverted(confirmed, done, now) {
        return reverted;
    }
    if let ([Action::Announce { mark: before, .. }], [Action::Announce { mark, .. }]) =
        (&*confirmed.steps, &*now.steps)
        && before != mark
    {
        return format!("another client has changed annotation {ANNOUNCED}");
    }
    if confirmed.steps.get(done..) != Some(&now.steps) && new.is_empty() {
        return "the change that would be made now differs from the confirmed one".to_owned();
    }
    match new.first() {
        Some(notice) => format!("new since it was confirmed: {notice}"),
        None => "its effect now differs from the confirmed one".to_owned(),
    }
}

/// Describes that an earlier step would be needed again: another client has reverted it.
fn reverted(confirmed: &Proposal, done: usize, now: &Proposal) -> Option<String> {
    if let (true, Some(Action::CreateSnapshot { snapshot, .. })) = (done > 0, now.steps.first()) {
        return Some(format!("another client has deleted {snapshot}, which was ready to use"));
    }
    let before = confirmed.steps.get(done.checked_sub(1)?..)?;
    if *before != *now.steps {
        return None;
    }
    let [Action::SetReclaimPolicy { volume, from, .. }, next, ..] = before else { return None };
    let left = match next {
        Action::DeleteClaim { claim, .. } => format!("; {claim} is not deleted"),
        _ => String::new(),
    };
    Some(format!("another client has set the policy of {volume} back to {from}{left}"))
}

impl ChangeExecutor<'_> {
    /// Writes an Event about the object; an error is returned as a note. With a turn that was passed, the other changes
    /// come first.
    async fn write_event(
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
    async fn verify(
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
            let taken = verify::FirstSnapshot { snapshot, claim, written: &written.value };
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

impl ChangeExecutor<'_> {
    /// Waits until a volume that is reserved for an existing claim is bound to it.
    async fn wait_for_binding(&self, change: &ProposedChange) -> ChangeEnd {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Effect, Loss, Undo};

    #[test]
    fn what_needs_fewer_assertions_is_what_was_confirmed() {
        let relying = |relies_on: &[&'static str], notice: &str| Proposal {
            steps: Vec::new(),
            effect: Effect { what: String::new(), risk: String::new() },
            undo: Undo::Revert,
            notices: vec![notice.to_owned()],
            relies_on: relies_on.to_vec(),
            keeps_backend: false,
            loses: Loss::default(),
        };
        let (all, some) = (["--backend-exclusive", "--in-tree"], ["--in-tree"]);
        let confirmed = relying(&all, "");
        assert!(is_rest(&confirmed, 0, &relying(&some, "")));
        assert!(!is_rest(&relying(&some, ""), 0, &confirmed));
        assert!(!is_rest(&confirmed, 0, &relying(&some, "it is another one")));
    }
}
