//! One change, from the last look to the verified end.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::kept::Keeper;
use super::run::DryRun;
use super::view::{LookError, View};
use super::writer::{WriteError, Writer, Written};
use super::{Outcome, Request, event, request, verify};
use crate::journal::{Backend, Intent, Log, Request as Sent};
use crate::model::{Action, ObjectRef, Proposal, Uid, format_bytes};
use crate::plan::{Change, Purpose};

/// How often what cannot be seen at the moment is looked for again.
const GLANCE: Duration = Duration::from_millis(500);

/// What carries out changes.
pub(super) struct Hand<'a> {
    pub(super) view: &'a View,
    pub(super) writer: &'a Writer,
    pub(super) log: &'a Log,
    /// The record in the cluster of backend volumes that are left behind; `None` where nothing is,
    /// or where the journal is to be enough.
    pub(super) keeper: Option<Keeper<'a>>,
    /// The command that the plan was made for.
    pub(super) command: &'a str,
    /// The id of this run.
    pub(super) run: &'a str,
    pub(super) dry_run: DryRun,
    /// Whether Events are written about what is done.
    pub(super) events: bool,
    /// How long to wait for what cannot be seen at the moment.
    pub(super) patience: Duration,
    /// How long to wait for what follows a write; `None` for not at all.
    pub(super) wait: Option<Duration>,
    /// Whether somebody has asked for the end.
    pub(super) interrupted: &'a dyn Fn() -> bool,
}

/// How a change ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) outcome: Outcome,
    pub(super) detail: String,
    /// Its entry in the journal.
    pub(super) entry: Option<u64>,
    /// Why no other change should be begun, if none should.
    pub(super) ends_batch: Option<String>,
    /// What went wrong besides.
    pub(super) notes: Vec<String>,
    /// Whether an earlier step of the change was carried out.
    pub(super) partly: bool,
    /// The object as it was before the step, where the step was carried out.
    pub(super) before: Option<Box<Value>>,
}

impl Ended {
    pub(super) fn new(outcome: Outcome, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self {
            outcome,
            detail,
            entry: None,
            ends_batch: None,
            notes: Vec::new(),
            partly: false,
            before: None,
        }
    }

    pub(super) fn ends_batch(mut self) -> Self {
        self.ends_batch = Some(self.detail.clone());
        self
    }
}

impl Hand<'_> {
    /// Carries out a change; a step that fails ends it.
    pub(super) async fn carry_out(&self, change: &Change) -> Ended {
        let mut last = Ended::new(Outcome::Refused, "there is nothing to do");
        let count = change.proposal.steps.len();
        for done in 0..count {
            let ended = match &change.proposal.steps[done] {
                Action::ReclaimBackend { .. } => self.reclaim(change, &last).await,
                _ => self.step(change, done).await,
            };
            let mut ended = match ended {
                Ok(ended) | Err(ended) => ended,
            };
            if self.dry_run == DryRun::Server && count > 1 {
                // The others rest on what the first one changes.
                ended.detail = format!("of its first step: {}", ended.detail);
                return ended;
            }
            if done > 0 {
                ended = after(last, ended);
            }
            last = ended;
            if last.outcome != Outcome::Done {
                break;
            }
        }
        last
    }

    /// Carries out one step, after so many others. `Err` is an early end.
    pub(super) async fn step(&self, change: &Change, done: usize) -> Result<Ended, Ended> {
        let action = &change.proposal.steps[done];
        let live = self.judge_again(change, done).await?;
        let request = request::request(action, &live)
            .map_err(|unfit| Ended::new(Outcome::Stale, unfit.to_string()))?;
        self.rehearse(&change.purpose, &request).await?;
        if done == 0 {
            self.rehearse_others(change, &live).await?;
            self.rehearse_reclaim(change, &live).await?;
        }
        // From the first step on; with the last one it names the entry that can be gone on with.
        let record = match done == 0 || keeps(change, done) {
            true => self.rehearse_record(change, &live).await?,
            false => None,
        };
        if self.dry_run == DryRun::Server {
            return Ok(Ended::new(Outcome::Done, "the API server would accept it"));
        }
        let entry = self.begin(change, done, &request, live.clone())?;
        let kept = self.keep_record(record, entry).await.map_err(|mut ended| {
            ended.entry = Some(entry);
            self.end(&mut ended, entry);
            ended
        })?;
        let sent = match self.writer.send(&request, false).await {
            Err(error) if is_there_already(&change.purpose, &error) => Ok(Written::default()),
            sent => sent,
        };
        let mut ended = match &sent {
            Ok(_) => Ended::new(Outcome::Sent, ""),
            Err(error) => unsent(error),
        };
        ended.entry = Some(entry);
        self.end(&mut ended, entry);
        let Ok(written) = sent else {
            // What got no answer may have been carried out: then the record is all there is.
            if ended.outcome != Outcome::Unanswered
                && let Err(note) = self.take_record_back(kept.as_ref()).await
            {
                ended.notes.push(note);
            }
            return Err(ended);
        };
        if self.events {
            ended.notes.extend(self.announce(change, action, &written, entry).await);
        }
        let (outcome, detail) = self.verify(change, done, &written).await;
        (ended.outcome, ended.detail) = (outcome, detail);
        ended.before = Some(Box::new(live));
        self.end(&mut ended, entry);
        if ended.outcome == Outcome::Failed {
            // It was written, and somebody works against it.
            ended = Ended { partly: true, ..ended }.ends_batch();
        }
        if ended.outcome == Outcome::Done {
            ended.notes.extend(self.end_record(change).await);
        }
        Ok(ended)
    }

    /// Reads the object again and proposes again: only the identical proposal goes on.
    ///
    /// What a watch lost is listed again within moments: until then it is waited for.
    async fn judge_again(&self, change: &Change, done: usize) -> Result<Value, Ended> {
        let began = Instant::now();
        let confirmed = &change.proposal;
        let key = &change.proposal.steps[done].object().key;
        loop {
            let judged = self.view.judge(&change.purpose, &change.object).await;
            let (looked, proposed) = judged.map_err(|error| unread(&error))?;
            let Some(live) = looked.of(&change.object.key, key) else {
                return Err(Ended::new(Outcome::Stale, "it is gone"));
            };
            match proposed {
                Ok(Ok(proposal)) if is_rest(confirmed, done, &proposal) => return Ok(live),
                Ok(Ok(proposal)) => {
                    let detail = difference(confirmed, done, &proposal);
                    return Err(Ended::new(Outcome::Stale, detail));
                }
                Ok(Err(refusal)) => return Err(Ended::new(Outcome::Stale, refusal.reason)),
                Err(unseen) if began.elapsed() >= self.patience || (self.interrupted)() => {
                    return Err(Ended::new(Outcome::Refused, unseen.reason));
                }
                Err(_) => tokio::time::sleep(GLANCE).await,
            }
        }
    }

    /// The server's dry run: admission and RBAC have their say before anything is written.
    pub(super) async fn rehearse(&self, purpose: &Purpose, request: &Request) -> Result<(), Ended> {
        let Err(error) = self.writer.send(request, true).await else { return Ok(()) };
        if is_there_already(purpose, &error) {
            return Ok(());
        }
        if let Some(detail) = error.overtaken() {
            return Err(Ended::new(Outcome::Stale, detail));
        }
        Err(match error {
            error @ WriteError::Rejected { code: 429, .. } => {
                Ended::new(Outcome::Failed, error.to_string()).ends_batch()
            }
            error @ WriteError::Rejected { .. } => Ended::new(Outcome::Refused, error.to_string()),
            // Nothing was written, but what is the matter is not understood.
            WriteError::Unanswered(detail) | WriteError::NotSent(detail) => {
                let detail = format!("its dry run came to nothing: {detail}");
                Ended::new(Outcome::Failed, detail).ends_batch()
            }
        })
    }

    /// Has the server look at the later steps before the first is taken: who may not take the second
    /// should not be left with half of it.
    async fn rehearse_others(&self, change: &Change, live: &Value) -> Result<(), Ended> {
        let [first, others @ ..] = &*change.proposal.steps else { return Ok(()) };
        for action in others {
            // Rendered from an object that is gone by then.
            if matches!(action, Action::ReclaimBackend { .. }) {
                continue;
            }
            let object = &action.object().key;
            let read = match *object == first.object().key {
                true => Some(live.clone()),
                false => self.view.get(&request::path(object)).await.map_err(|error| {
                    Ended::new(Outcome::Failed, format!("{object} was not read: {error}"))
                })?,
            };
            let Some(read) = read else {
                return Err(Ended::new(Outcome::Stale, "what a later step is about is gone"));
            };
            let request = request::request(action, &read)
                .map_err(|unfit| Ended::new(Outcome::Stale, unfit.to_string()))?;
            self.rehearse(&change.purpose, &request).await?;
        }
        Ok(())
    }

    /// Has the journal hold what is about to be sent.
    fn begin(
        &self,
        change: &Change,
        done: usize,
        request: &Request,
        live: Value,
    ) -> Result<u64, Ended> {
        let action = &change.proposal.steps[done];
        let capacity = change.about.volume.as_ref().and_then(|it| it.capacity);
        let intent = Intent {
            command: self.command.to_owned(),
            object: action.object().clone(),
            action: action.name().to_owned(),
            because: change.purpose.id().to_owned(),
            request: Sent {
                method: request.method.to_string(),
                path: self.writer.uri(request, false),
                content_type: request.content_type.to_owned(),
                body: request.body.clone(),
            },
            pre_image: Some(live).filter(|it| !it.is_null()),
            backend: backend(change),
            capacity: capacity.map(format_bytes),
            keeps: keeps(change, done),
            undoes: change.purpose.undoes(),
        };
        self.log.begin(self.run, self.view.clock(), &intent).map_err(|error| {
            let detail = error.whole();
            Ended::new(Outcome::Failed, detail).ends_batch()
        })
    }

    /// Has the journal hold how it ended. Where that fails, nothing more is begun.
    fn end(&self, ended: &mut Ended, entry: u64) {
        let at = self.view.clock();
        if let Err(error) = self.log.end(entry, at, ended.outcome, &ended.detail) {
            let note = error.whole();
            ended.ends_batch.get_or_insert_with(|| note.clone());
            // What keeps the first outcome out most likely keeps out the second.
            if !ended.notes.contains(&note) {
                ended.notes.push(note);
            }
        }
    }

    /// Writes an Event about the object; that it could not be written is no reason to stop.
    async fn announce(
        &self,
        change: &Change,
        action: &Action,
        written: &Written,
        entry: u64,
    ) -> Option<String> {
        let created = written.value["metadata"]["uid"].as_str().and_then(Uid::parse);
        let uid = action.object().uid.clone().or(created);
        let object = ObjectRef { uid, key: action.object().key.clone() };
        let request =
            event::request(change, action, &object, self.command, entry, self.view.clock());
        match self.writer.send(&request, false).await {
            Ok(_) => None,
            Err(error) => Some(format!("no event about {}: {error}", change.object)),
        }
    }

    /// Waits until what was meant to happen has happened.
    async fn verify(&self, change: &Change, done: usize, written: &Written) -> (Outcome, String) {
        if let Some(date) = written.date {
            self.view.advance(date);
        }
        verify::verify(self.view, change, done, &written.value, self.wait).await
    }
}

/// What became of a change with its latest step.
fn after(earlier: Ended, mut ended: Ended) -> Ended {
    let Ended { detail, entry, notes, before, .. } = earlier;
    ended.partly = true;
    ended.detail = format!("{detail}; then: {}", ended.detail);
    ended.entry = ended.entry.or(entry);
    ended.before = ended.before.or(before);
    ended.notes.splice(0..0, notes);
    ended
}

/// Whether what is proposed after so many steps is what was confirmed, without them.
fn is_rest(confirmed: &Proposal, done: usize, now: &Proposal) -> bool {
    if done == 0 {
        return confirmed == now;
    }
    confirmed.steps.get(done..) == Some(&now.steps)
        && now.notices.iter().all(|it| confirmed.notices.contains(it))
        && now.relies_on.iter().all(|it| confirmed.relies_on.contains(it))
}

/// Whether the object goes with a step, and leaves its backend volume: with the last about it.
fn keeps(change: &Change, done: usize) -> bool {
    let following = change.proposal.steps.get(done + 1);
    let last = following.is_none_or(|it| matches!(it, Action::ReclaimBackend { .. }));
    change.proposal.keeps_backend && last
}

/// What a change's volume names at the storage backend, as the journal writes it.
pub(super) fn backend(change: &Change) -> Option<Backend> {
    let backend = change.about.backend.as_ref()?;
    Some(Backend { driver: backend.driver.to_string(), handle: backend.handle.to_string() })
}

fn unread(error: &LookError) -> Ended {
    Ended::new(Outcome::Failed, format!("it could not be read again: {error}")).ends_batch()
}

/// Whether an earlier run has created what this one would: then there is only its end to wait for.
fn is_there_already(purpose: &Purpose, error: &WriteError) -> bool {
    let exists = matches!(error, WriteError::Rejected { reason, .. } if reason == "AlreadyExists");
    exists && purpose.resumes()
}

/// What became of a write that was not answered with success.
fn unsent(error: &WriteError) -> Ended {
    if let Some(detail) = error.overtaken() {
        return Ended::new(Outcome::Stale, detail);
    }
    match error {
        // The dry run passed a moment ago: that this does not is nothing that is understood.
        WriteError::Rejected { .. } | WriteError::NotSent(_) => {
            Ended::new(Outcome::Failed, error.to_string()).ends_batch()
        }
        WriteError::Unanswered(detail) => {
            let detail = format!("whether it was carried out is not known: {detail}");
            Ended::new(Outcome::Unanswered, detail).ends_batch()
        }
    }
}

/// Says how a proposal differs from the one that was confirmed.
fn difference(confirmed: &Proposal, done: usize, now: &Proposal) -> String {
    let new: Vec<_> = now.notices.iter().filter(|it| !confirmed.notices.contains(it)).collect();
    if confirmed.steps.get(done..) != Some(&now.steps) {
        return "what would be done now is not what was confirmed".to_owned();
    }
    match new.first() {
        Some(notice) => format!("something to know has come up since it was confirmed: {notice}"),
        None => "what it would mean now is not what was confirmed".to_owned(),
    }
}
