//! Acts: what is done when, within which bounds, and what is told of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{sync::watch, time::sleep};

use super::{
    ActingTerms, PAUSE,
    permit::{Busy, Counting, HourRoom, Permit, TermPermit},
    session::{Judged, Looked, Session},
};
use crate::{
    apply::{Confirmed, JournalLeader, OpenJournal, Outcome, Receipt, RunOptions},
    cli::{
        Failure,
        args::ConnectionArgs,
        collect::Collected,
        terminal,
        writing::{
            journal,
            perform::{self, Execution},
        },
    },
    journal::{
        Term,
        rate::{Rate, rate},
    },
    model::{ObjectRef, Text},
    output::writing,
    plan::{Plan, ProposedChange, Purpose},
    watch::{
        acting::{
            ActingCounts, AnnouncementCounts, Breaker, LeftAlone, Repeats, Wanted, Work,
            WorkSchedule, WorkTerms, room,
        },
        policy::acting::ReconcilerName,
    },
};

/// How soon it is asked again whether anything may be changed.
const NOT_NOW: Duration = Duration::from_secs(3);
/// The same where something was to be changed, and was not.
const RETRY: Duration = Duration::from_secs(30);
/// The same after a look that failed.
const FAILED: Duration = Duration::from_secs(60);
/// Nothing is to be done.
const LONG: Duration = Duration::from_secs(3600);

/// Does what is wanted.
pub(in crate::cli) struct Actor<'a> {
    pub(in crate::cli) connection: &'a ConnectionArgs,
    /// The work that it does, if that is switched on.
    pub(in crate::cli) works: &'static [Work],
    pub(in crate::cli) terms: watch::Receiver<Arc<ActingTerms>>,
    pub(in crate::cli) wanted: watch::Receiver<Wanted>,
    pub(in crate::cli) permit: Permit,
    pub(in crate::cli) field_manager: &'a str,
    pub(in crate::cli) options: RunOptions,
    pub(in crate::cli) counts: ActingCounts,
    pub(in crate::cli) tell: &'a dyn Fn(ActingNews<'_>),
    /// Whether changes are being made.
    pub(in crate::cli) busy: Busy,
    /// The room of an hour, which it shares with other actors.
    pub(in crate::cli) room: HourRoom,
    /// What it has seen and done so far.
    pub(in crate::cli) past: ActorPast,
}

/// What an actor has seen and done so far.
pub(in crate::cli) struct ActorPast {
    begun: Instant,
    /// Whether the last look at what is to be announced found a flood, or there was none.
    breaker_open: bool,
    /// What was to be changed last time, and was not.
    unchanged: BTreeSet<(Work, ObjectRef)>,
    repeats: Repeats,
}

impl Default for ActorPast {
    fn default() -> Self {
        Self {
            begun: Instant::now(),
            breaker_open: true,
            unchanged: BTreeSet::new(),
            repeats: Repeats::default(),
        }
    }
}

/// What came of a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// There is nothing to do, or not now: it is looked at again in a while.
    Idle,
    /// Something was changed: there may be more to do.
    Changed,
    /// It may not be changed now.
    NotNow,
    /// Something that was to be changed was not.
    Retry,
}

impl Actor<'_> {
    /// Goes on for ever.
    pub(in crate::cli) async fn run(mut self) -> Infallible {
        let mut schedule = WorkSchedule::default();
        loop {
            if self.terms.has_changed().unwrap_or(false) {
                schedule.reset();
            }
            let terms = Arc::clone(&self.terms.borrow_and_update());
            let wanted = self.wanted.borrow_and_update().clone().only(self.works);
            self.forget_what_nobody_looks_at(&terms, &wanted);
            let at = self.past.begun.elapsed();
            let next = schedule.next(&wanted, at);
            let Some(work) = next.filter(|(_, due)| *due <= at).map(|it| it.0) else {
                let wait = next.map_or(LONG, |(_, due)| due.saturating_sub(at));
                tokio::select! {
                    () = sleep(wait) => {}
                    Ok(()) = self.wanted.changed() => {}
                    Ok(()) = self.terms.changed() => schedule.reset(),
                }
                continue;
            };
            let ended = self.work(work, &terms).await;
            let at = self.past.begun.elapsed();
            let (again, pause) = match ended {
                Ok(Ended::Idle) => (terms.again(work), PAUSE),
                Ok(Ended::Changed) => (PAUSE, PAUSE),
                Ok(Ended::NotNow) => (NOT_NOW, NOT_NOW),
                Ok(Ended::Retry) => (terms.again(work).min(RETRY), PAUSE),
                Err(failure) => {
                    (self.tell)(ActingNews::Failed { work, message: terminal::message(&failure) });
                    (FAILED, FAILED)
                }
            };
            schedule.served(work, &wanted, at + again, at + pause);
        }
    }

    /// Where nobody looks at announcements any more, nothing is known of them.
    fn forget_what_nobody_looks_at(&mut self, terms: &ActingTerms, wanted: &Wanted) {
        if !self.works.contains(&Work::Announce) || wanted.has(Work::Announce) {
            return;
        }
        self.past.breaker_open = true;
        match terms.on().contains(&Work::Announce) {
            true => {
                self.counts.announced(AnnouncementCounts::default());
                self.counts.break_circuit(false);
            }
            false => self.counts.no_announcements(),
        }
    }

    async fn work(&mut self, work: Work, terms: &ActingTerms) -> Result<Ended, Failure> {
        if work == Work::Announce {
            // Nothing is reclaimed by what was known before.
            self.past.breaker_open = true;
        }
        let acts = terms.works.contains(&(work, true));
        let may_go_on = |permit: &Permit| if acts { permit.allows() } else { permit.leads() };
        if !may_go_on(&self.permit) {
            return Ok(Ended::NotNow);
        }
        let term = self.permit.leadership.term();
        let of_work = WorkTerms { counts_from: self.permit.counts_from(), ..terms.terms.clone() };
        let settings = of_work.settings(work, &terms.judged);
        let Self { connection, .. } = self;
        let session =
            Session { connection, work, acts, terms: &of_work, settings, bounds: &terms.bounds };
        let mut looked = Box::pin(session.look()).await?;
        let judged = &mut looked.judged;
        if work.reconciler() == ReconcilerName::Reclaim && judged.breaker.is_none() {
            judged.breaker = self.permit.unattended();
        }
        if let Some(counts) = judged.announcements {
            self.counts.announced(counts);
        }
        if work == Work::Announce {
            self.past.breaker_open = judged.breaker.is_some();
            self.counts.break_circuit(self.past.breaker_open);
        }
        if let Some(left_alone) = &judged.left_alone {
            (self.tell)(ActingNews::LeftAlone { work, left_alone });
        }
        for object in &judged.taken_back {
            (self.tell)(ActingNews::TakenBack { work, object });
        }
        if let Some(breaker) = &judged.breaker {
            (self.tell)(ActingNews::BreakerOpen { work, breaker });
            self.counts.break_circuit(true);
            // What people object to is recorded all the same.
            judged.plan.changes.retain(|it| it.purpose == Purpose::RecordVeto);
        } else if looked.unsettled {
            return Ok(Ended::Retry);
        }
        if judged.plan.changes.is_empty() || (work == Work::Reclaim && self.past.breaker_open) {
            return Ok(Ended::Idle);
        }
        if !acts {
            (self.tell)(ActingNews::Would { work, changes: &judged.plan.changes });
            return Ok(Ended::Idle);
        }
        if !looked.age.is_fresh() {
            return Err(Failure::error(anyhow::anyhow!("a look took too long to be acted on")));
        }
        if !may_go_on(&self.permit) || self.terms.has_changed().unwrap_or(true) {
            return Ok(Ended::NotNow);
        }
        Box::pin(self.act(work, terms, term, looked)).await
    }

    /// Makes the changes for which there is room, in the term in which they were judged.
    async fn act(
        &mut self,
        work: Work,
        terms: &ActingTerms,
        term: Option<Term>,
        looked: Looked,
    ) -> Result<Ended, Failure> {
        let Looked { mut collected, judged: Judged { mut plan, .. }, age, .. } = looked;
        if term.is_none() && self.permit.leadership.lease().is_some() {
            return Ok(Ended::NotNow);
        }
        self.leave_out_what_is_undone(work, &mut plan);
        if plan.changes.is_empty() {
            return Ok(Ended::Idle);
        }
        if terms.bounds.most.is_some_and(|most| plan.changes.len() > most) {
            (self.tell)(ActingNews::TooMany { work, count: plan.changes.len() });
            return Ok(Ended::Idle);
        }
        let hour = self.room.clone();
        // What saves data waits for nobody who counts.
        let counting = if work == Work::Rescue { None } else { Some(hour.count().await) };
        let (journal, rate) = self.open_journal(&collected, term.clone()).await?;
        // To record what people object to saves data, and waits for nothing.
        let is_veto = |it: &ProposedChange| it.purpose == Purpose::RecordVeto;
        let vetoes = plan.changes.iter().filter(|it| is_veto(it)).count();
        let waiting = plan.changes.len() - vetoes;
        let room = match made(work, &rate) {
            Ok(made) => {
                let made = made + counting.as_ref().map_or(0, Counting::others);
                let per_hour =
                    if work == Work::Rescue { usize::MAX } else { terms.bounds.per_hour };
                let room = room(terms.bounds.per_run, per_hour, made);
                if room == 0 && waiting > 0 {
                    (self.tell)(ActingNews::NoRoom { work, waiting, made });
                }
                room
            }
            Err(why) => {
                if waiting > 0 {
                    (self.tell)(ActingNews::UnknownRate { work, waiting, why });
                }
                0
            }
        };
        // What was not changed last time must not keep the others waiting.
        plan.changes.sort_by_key(|it| {
            (!is_veto(it), self.past.unchanged.contains(&(work, it.object.clone())))
        });
        plan.changes.truncate(vetoes.saturating_add(room));
        if plan.changes.is_empty() {
            return Ok(Ended::Idle);
        }
        let _taken = counting.map(|it| it.take(plan.changes.len()));
        let permit = self.permit.clone();
        let now = self.terms.clone();
        let sends = TermPermit { permit: permit.clone(), term: term.clone() };
        let is_over = || {
            let is_same = permit.leadership.term() == term;
            !age.is_fresh() || !permit.allows() || !is_same || now.has_changed().unwrap_or(true)
        };
        let execution = Execution {
            journal: &journal,
            field_manager: self.field_manager,
            options: self.options,
            interrupted: &is_over,
            in_background: Some(Arc::new(sends)),
            progress: &|_| {},
        };
        let receipt = {
            let _busy = self.busy.begin();
            let made = perform::execute(&mut collected, Confirmed::by_policy(plan), execution);
            Box::pin(made).await?
        };
        let past = &mut self.past;
        past.unchanged.retain(|(of, _)| *of != work);
        for done in &receipt.done {
            self.counts.count(work, done.outcome);
            let object = &done.change.object;
            // What somebody has undone before it was verified counts too.
            if done.outcome == Outcome::Done || done.partly {
                past.repeats.note(work, object, past.begun.elapsed());
            }
            if done.outcome != Outcome::Done {
                past.unchanged.insert((work, object.clone()));
            }
        }
        let is_done = receipt.count(Outcome::Done) > 0;
        if is_done {
            self.counts.changed(receipt.ended);
        }
        let shape =
            perform::shape(&receipt, &collected, work.command(), &journal, self.options.dry_run);
        (self.tell)(ActingNews::Changed { work, receipt: &receipt, shape: &shape });
        Ok(match is_done {
            _ if receipt.interrupted => Ended::NotNow,
            true => Ended::Changed,
            false => Ended::Retry,
        })
    }

    /// Leaves out what was changed again and again within the hour: somebody else undoes it.
    fn leave_out_what_is_undone(&self, work: Work, plan: &mut Plan) {
        let at = self.past.begun.elapsed();
        plan.changes.retain(|change| {
            let is_undone = self.past.repeats.are_enough(work, &change.object, at);
            if is_undone {
                (self.tell)(ActingNews::Undone { work, object: &change.object });
            }
            !is_undone
        });
    }

    /// Opens the journal, and counts what was changed within the hour. Without it nothing is changed.
    async fn open_journal(
        &self,
        collected: &Collected,
        term: Option<Term>,
    ) -> Result<(OpenJournal, Rate), Failure> {
        let Some(now) = collected.intake.cluster.clock() else {
            return Err(Failure::error(anyhow::anyhow!("the API server tells no time")));
        };
        let leader = term.zip(self.permit.leadership.lease());
        let leader = leader.map(|(term, lease)| JournalLeader {
            term,
            namespace: Text::clone(&lease.namespace),
            lease: Text::clone(&lease.name),
        });
        let opened = perform::open_journal(collected, self.field_manager, leader.as_ref()).await?;
        let (_, history) = journal::read(collected).await?;
        Ok((opened, rate(&history, now)))
    }
}

/// How many changes were made within the hour; `Err` is why that is not known.
fn made(work: Work, rate: &Rate) -> Result<usize, &str> {
    match (work, &rate.incomplete) {
        // What saves data waits for nothing: a bound would lose what it is there for.
        (Work::Rescue, _) => Ok(0),
        (_, Some(why)) => Err(why),
        (_, None) => {
            let bounded = Work::ALL.iter().filter(|it| **it != Work::Rescue);
            Ok(bounded.filter_map(|it| rate.by_command.get(it.command())).sum())
        }
    }
}

/// Why something was not done, as it was told of each work since something was done: nothing is told twice.
#[derive(Default)]
pub(in crate::cli) struct ToldReasons(BTreeMap<Work, BTreeSet<String>>);

/// More reasons of one work are not remembered: some of them name objects.
const REMEMBERED: usize = 100;

impl ToldReasons {
    /// Whether this reason was not told yet.
    pub(in crate::cli) fn is_new(&mut self, work: Work, reason: &str) -> bool {
        let known = self.0.entry(work).or_default();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(reason.to_owned())
    }

    /// Forgets it: something was done.
    pub(in crate::cli) fn forget(&mut self, work: Work) {
        self.0.remove(&work);
    }
}

/// What is told of what is done in the background.
pub(in crate::cli) enum ActingNews<'a> {
    /// A reconciler that only reports would make these changes.
    Would { work: Work, changes: &'a [ProposedChange] },
    /// Nothing is announced or reclaimed.
    BreakerOpen { work: Work, breaker: &'a Breaker },
    /// Changes wait, since so many were made within the hour.
    NoRoom { work: Work, waiting: usize, made: usize },
    /// Changes wait, since it is not known how many were made within the hour.
    UnknownRate { work: Work, waiting: usize, why: &'a str },
    /// So many changes at once are refused altogether.
    TooMany { work: Work, count: usize },
    /// Somebody else undoes again and again what was done to an object.
    Undone { work: Work, object: &'a ObjectRef },
    /// It was reclaimed, and somebody has set its reclaim policy back.
    TakenBack { work: Work, object: &'a ObjectRef },
    /// Volumes are not announced, although they are old enough.
    LeftAlone { work: Work, left_alone: &'a LeftAlone },
    /// Changes were made, or were not.
    Changed { work: Work, receipt: &'a Receipt, shape: &'a writing::Receipt },
    /// It could not look, or not write.
    Failed { work: Work, message: String },
}
