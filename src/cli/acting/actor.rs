//! What is done, when, and within which bounds.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::time::sleep;

use super::{
    news::ActingNews,
    permit::{Busy, Permit},
    session::{Looked, Session},
    terms::{ActingTerms, PAUSE},
};
use crate::apply::{Confirmed, DryRun, JournalLeader, OpenJournal, Outcome, RunOptions};
use crate::cli::{
    Failure,
    args::ConnectionArgs,
    collect::Collected,
    terminal,
    writing::{
        journal,
        perform::{self, Execution},
    },
};
use crate::journal::rate::{Rate, rate};
use crate::model::Text;
use crate::watch::acting::{
    ActingCounts, AnnouncementCounts, ChangeCount, Wanted, Work, WorkSchedule, room,
};

/// How soon it is asked again whether anything may be changed.
const NOT_NOW: Duration = Duration::from_secs(3);
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
    /// Whether the last look at what is to be announced found a flood, or there was none.
    pub(in crate::cli) breaker_open: bool,
    /// Whether changes are being made.
    pub(in crate::cli) busy: Busy,
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
}

impl Actor<'_> {
    /// Goes on for ever.
    pub(in crate::cli) async fn run(mut self) -> Infallible {
        let begun = Instant::now();
        let mut schedule = WorkSchedule::default();
        loop {
            let terms = Arc::clone(&self.terms.borrow_and_update());
            let wanted = self.wanted.borrow_and_update().clone().only(self.works);
            let reclaims =
                self.works.contains(&Work::Reclaim) && terms.on().contains(&Work::Reclaim);
            if reclaims && !wanted.has(Work::Reclaim) {
                self.counts.announced(AnnouncementCounts::default());
            }
            let at = begun.elapsed();
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
            let at = begun.elapsed();
            let (again, pause) = match ended {
                Ok(Ended::Idle) => (terms.again(work), PAUSE),
                Ok(Ended::Changed) => (PAUSE, PAUSE),
                Ok(Ended::NotNow) => (NOT_NOW, NOT_NOW),
                Err(failure) => {
                    (self.tell)(ActingNews::Failed { work, message: terminal::message(&failure) });
                    (FAILED, FAILED)
                }
            };
            schedule.served(work, &wanted, at + again, at + pause);
        }
    }

    async fn work(&mut self, work: Work, terms: &ActingTerms) -> Result<Ended, Failure> {
        let acts = terms.works.iter().any(|it| *it == (work, true));
        let may_go_on = |permit: &Permit| if acts { permit.allows() } else { permit.leads() };
        if !may_go_on(&self.permit) {
            return Ok(Ended::NotNow);
        }
        let settings = terms.terms.settings(work, &terms.judged);
        let Self { connection, .. } = self;
        let session =
            Session { connection, work, terms: &terms.terms, settings, bounds: &terms.bounds };
        let looked = Box::pin(session.look()).await?;
        if let Some(counts) = looked.announcements {
            self.counts.announced(counts);
        }
        if work == Work::Announce {
            self.breaker_open = looked.breaker.is_some();
            self.counts.break_circuit(self.breaker_open);
        }
        if let Some(breaker) = looked.breaker {
            (self.tell)(ActingNews::BreakerOpen { work, breaker });
            return Ok(Ended::Idle);
        }
        if looked.plan.changes.is_empty() || (work == Work::Reclaim && self.breaker_open) {
            return Ok(Ended::Idle);
        }
        if !acts {
            (self.tell)(ActingNews::Would { work, changes: &looked.plan.changes });
            return Ok(Ended::Idle);
        }
        if !may_go_on(&self.permit) || !looked.is_fresh() {
            return Ok(Ended::NotNow);
        }
        Box::pin(self.act(work, terms, looked)).await
    }

    /// Makes the changes for which there is room.
    async fn act(
        &mut self,
        work: Work,
        terms: &ActingTerms,
        looked: Looked,
    ) -> Result<Ended, Failure> {
        let Looked { mut collected, mut plan, .. } = looked;
        let (journal, rate) = self.open_journal(&collected).await?;
        let waiting = plan.changes.len();
        let made = match made(work, &rate) {
            Ok(made) => made,
            Err(why) => {
                (self.tell)(ActingNews::UnknownRate { work, waiting, why });
                return Ok(Ended::Idle);
            }
        };
        let room = room(terms.bounds.per_run, terms.bounds.per_hour, made);
        if room == 0 {
            (self.tell)(ActingNews::NoRoom { work, waiting, made });
            return Ok(Ended::Idle);
        }
        plan.changes.truncate(room);
        let permit = self.permit.clone();
        let execution = Execution {
            journal: &journal,
            field_manager: self.field_manager,
            options: self.options,
            interrupted: &|| !permit.allows(),
            progress: &|_| {},
        };
        let receipt = {
            let _busy = self.busy.begin();
            perform::execute(&mut collected, Confirmed::by_policy(plan), execution).await?
        };
        for done in &receipt.done {
            let (reconciler, outcome) = (work.reconciler().name(), done.outcome.name());
            self.counts.count(ChangeCount { reconciler, outcome });
        }
        let is_done = receipt.count(Outcome::Done) > 0;
        if is_done {
            self.counts.changed(receipt.ended);
        }
        let shape =
            perform::shape(&receipt, &collected, work.command(), &journal, self.options.dry_run);
        (self.tell)(ActingNews::Changed { work, receipt: &receipt, shape: &shape });
        Ok(if is_done { Ended::Changed } else { Ended::Idle })
    }

    /// Opens the journal, and counts what was changed within the hour. Without it nothing is changed.
    async fn open_journal(&self, collected: &Collected) -> Result<(OpenJournal, Rate), Failure> {
        let Some(now) = collected.intake.cluster.clock() else {
            return Err(Failure::error(anyhow::anyhow!("the API server tells no time")));
        };
        let leader = self.permit.leadership.term().zip(self.permit.leadership.lease());
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

/// How background changes are made.
pub(in crate::cli) const OPTIONS: RunOptions =
    RunOptions { parallel: None, dry_run: DryRun::None, events: true, wait: true };
