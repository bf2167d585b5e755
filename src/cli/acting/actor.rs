//! Actor: does the works for which there are findings, within their bounds, and reports what was done or not.

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

/// Wait before the permit is asked again, where nothing may be changed now.
const NOT_NOW: Duration = Duration::from_secs(3);
/// Longest wait after a look whose changes were due, but not made.
const RETRY: Duration = Duration::from_secs(30);
/// Wait after a look or a write that failed.
const FAILED: Duration = Duration::from_secs(60);
/// Longest wait, where no work is scheduled.
const LONG: Duration = Duration::from_secs(3600);

/// Loop that does the wanted works in the background.
pub(in crate::cli) struct Actor<'a> {
    pub(in crate::cli) connection: &'a ConnectionArgs,
    /// Works that this actor does while they are switched on.
    pub(in crate::cli) works: &'static [Work],
    pub(in crate::cli) terms: watch::Receiver<Arc<ActingTerms>>,
    pub(in crate::cli) wanted: watch::Receiver<Wanted>,
    pub(in crate::cli) permit: Permit,
    pub(in crate::cli) field_manager: &'a str,
    pub(in crate::cli) options: RunOptions,
    pub(in crate::cli) counts: ActingCounts,
    pub(in crate::cli) tell: &'a dyn Fn(ActingNews<'_>),
    /// Counter of runs that make changes now.
    pub(in crate::cli) busy: Busy,
    /// Room for the changes of an hour, shared with other actors.
    pub(in crate::cli) room: HourRoom,
    /// Results of earlier looks and changes of this actor.
    pub(in crate::cli) past: ActorPast,
}

/// Results of earlier looks and changes of an actor.
pub(in crate::cli) struct ActorPast {
    begun: Instant,
    /// Whether the last look for volumes to announce opened a breaker, or there was no such look.
    breaker_open: bool,
    /// Objects whose last change by a work did not end as done.
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

/// Outcome of one look for a work, which decides when the next look is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// Nothing to do, or not now: the next look comes after the usual wait.
    Idle,
    /// Something was changed, and more may be left to do.
    Changed,
    /// Changes are not permitted now.
    NotNow,
    /// Changes were due, but not made.
    Retry,
}

impl Actor<'_> {
    /// Waits until a work is due and does it, for ever.
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

    /// Forgets what is known of announcements as soon as no finding calls for announcing.
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
        // What saves data waits for no other work that counts.
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
            // What another client has undone before it was verified counts too.
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

    /// Removes changes of objects that were changed too often within the hour: another client undoes them.
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

    /// Opens the journal and counts the changes of the last hour; nothing is changed where that fails.
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

/// Returns how many changes were made within the hour; `Err` says why that is unknown.
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

/// Reasons for inaction that were told for each work since it last did something, so that none is told twice.
#[derive(Default)]
pub(in crate::cli) struct ToldReasons(BTreeMap<Work, BTreeSet<String>>);

/// Number of remembered reasons of a work at which all are forgotten: some name objects.
const REMEMBERED: usize = 100;

impl ToldReasons {
    /// Remembers a reason, and returns whether it is new.
    pub(in crate::cli) fn is_new(&mut self, work: Work, reason: &str) -> bool {
        let known = self.0.entry(work).or_default();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(reason.to_owned())
    }

    /// Forgets the reasons of a work that has done something.
    pub(in crate::cli) fn forget(&mut self, work: Work) {
        self.0.remove(&work);
    }
}

/// Report of what was done in the background, or why it was not.
pub(in crate::cli) enum ActingNews<'a> {
    /// A reconciler that only reports would make these changes.
    Would { work: Work, changes: &'a [ProposedChange] },
    /// A breaker forbids to announce and to reclaim.
    BreakerOpen { work: Work, breaker: &'a Breaker },
    /// Changes wait because the bound on changes within an hour is reached.
    NoRoom { work: Work, waiting: usize, made: usize },
    /// Changes wait because it is unknown how many were made within the hour.
    UnknownRate { work: Work, waiting: usize, why: &'a str },
    /// A plan with more changes than allowed is refused whole.
    TooMany { work: Work, count: usize },
    /// An object is left alone because another client keeps undoing its changes.
    Undone { work: Work, object: &'a ObjectRef },
    /// A reclaimed volume is left alone because its reclaim policy was set back.
    TakenBack { work: Work, object: &'a ObjectRef },
    /// Volumes are not announced, although they are old enough.
    LeftAlone { work: Work, left_alone: &'a LeftAlone },
    /// A plan was carried out, in whole or in part.
    Changed { work: Work, receipt: &'a Receipt, shape: &'a writing::Receipt },
    /// A look or a write failed.
    Failed { work: Work, message: String },
}
