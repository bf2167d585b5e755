//! Session: before anything is changed, the cluster is listed anew and judged several times.

use std::pin::pin;
use std::time::Duration;

use chrono::Utc;
use tokio::time::sleep;

use crate::apply::Moment;
use crate::cli::{
    Failure,
    args::ConnectionArgs,
    collect::{ClusterSource, Collected, collect, dump_failure},
    writing::journal,
};
use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::journal::History;
use crate::model::{ObjectRef, Settings};
use crate::plan::Plan;
use crate::watch::acting::{
    ActingBounds, AnnouncementCounts, Breaker, Candidates, LeftAlone, Work, WorkTerms, breaker,
    left_alone, take_out_what_was_taken_back,
};
use crate::watch::policy::acting::{OLDEST_LOOK, ReconcilerName};

/// Look at the cluster for one work, with its settings and bounds.
pub(super) struct Session<'a> {
    pub(super) connection: &'a ConnectionArgs,
    pub(super) work: Work,
    /// Whether the work makes changes, and does not only say what it would do.
    pub(super) acts: bool,
    pub(super) terms: &'a WorkTerms,
    pub(super) settings: Settings,
    pub(super) bounds: &'a ActingBounds,
}

/// Result of a look: the cluster as it was read, and its judgement.
pub(super) struct Looked {
    pub(super) collected: Collected,
    /// Last judgement, with only the changes that every judgement proposed.
    pub(super) judged: Judged,
    /// Whether changes are proposed, of which none stood unchanged.
    pub(super) unsettled: bool,
    /// Time since the look began, which bounds how long it may be acted on.
    pub(super) age: LookAge,
}

/// Judgement of the cluster by one work.
pub(super) struct Judged {
    pub(super) plan: Plan,
    /// Volumes by the state of their announcement, where that was read.
    pub(super) announcements: Option<AnnouncementCounts>,
    /// Volumes whose reclaim policy was set back after they were reclaimed.
    pub(super) taken_back: Vec<ObjectRef>,
    /// Volumes that are not announced, although they are old enough.
    pub(super) left_alone: Option<LeftAlone>,
    /// Reason to announce and reclaim nothing.
    pub(super) breaker: Option<Breaker>,
}

/// Moment at which a look began.
#[derive(Clone, Copy)]
pub(super) struct LookAge(Moment);

impl LookAge {
    /// Whether the look is recent enough to act on.
    pub(super) fn is_fresh(self) -> bool {
        self.0.elapsed() < OLDEST_LOOK
    }
}

impl Session<'_> {
    /// Lists the cluster, and judges it as often as the bounds require, or until there is nothing to do.
    pub(super) async fn look(&self) -> Result<Looked, Failure> {
        let age = LookAge(Moment::now());
        let Self { connection, settings, bounds, .. } = self;
        let from = ClusterSource::Watched { connection, namespace: None };
        let mut collected = collect(from, settings, None).await?;
        let history = self.history(&collected).await?;
        let mut candidates = Candidates::default();
        let mut judgement = 0;
        loop {
            judgement += 1;
            let judged = collected.make(settings, |cx| self.judge(cx, history.as_ref())).await?;
            let mut judged =
                judged.map_err(|unread| Failure::error(anyhow::anyhow!(unread.reason)))?;
            candidates.judge(std::mem::take(&mut judged.plan.changes));
            if candidates.is_empty() || judgement >= bounds.judgements {
                judged.plan.changes = candidates.settled(bounds.judgements);
                let unsettled = judged.plan.changes.is_empty() && !candidates.is_empty();
                return Ok(Looked { collected, judged, unsettled, age });
            }
            follow(&mut collected, bounds.interval).await?;
        }
    }

    /// Judges the cluster once, as it was read.
    fn judge(&self, cx: &Cx, history: Option<&History>) -> Seen<Judged> {
        let Self { work, terms, bounds, .. } = self;
        let of_reclaim = work.reconciler() == ReconcilerName::Reclaim;
        if of_reclaim && let Some(unread) = facts::known_announcements(cx).and_then(Seen::err) {
            return Err(unread);
        }
        let mut plan = terms.plan(*work, cx, history);
        let taken_back = match (work, history) {
            (Work::Reclaim, Some(history)) => take_out_what_was_taken_back(cx, &mut plan, history),
            _ => Vec::new(),
        };
        let clocks = || Breaker::of_clocks(cx.clock()?, Utc::now());
        let (breaker, left_alone) = match work {
            Work::Announce => {
                let flood = || breaker(cx, &plan, bounds.newly_eligible_percent);
                (clocks().or_else(flood), left_alone(cx, &plan))
            }
            Work::Reclaim => (clocks(), None),
            Work::Rescue | Work::Retention | Work::Finalizers => (None, None),
        };
        let announcements = of_reclaim.then(|| terms.announcements(cx)).flatten();
        Ok(Judged { plan, announcements, taken_back, left_alone, breaker })
    }

    /// Reads the journal, if the plan of the work rests on it.
    async fn history(&self, collected: &Collected) -> Result<Option<History>, Failure> {
        match self.work {
            // What only reports needs no right to read it.
            Work::Reclaim if !self.acts => Ok(None),
            Work::Finalizers | Work::Reclaim => Ok(Some(journal::read(collected).await?.1)),
            Work::Rescue | Work::Retention | Work::Announce => Ok(None),
        }
    }
}

/// Takes in changes of the cluster for this time.
async fn follow(collected: &mut Collected, time: Duration) -> Result<(), Failure> {
    let Collected { intake, live, .. } = collected;
    let Some(watches) = live.as_mut().and_then(|live| live.watches.as_mut()) else { return Ok(()) };
    let mut over = pin!(sleep(time));
    loop {
        tokio::select! {
            taken = watches.next(intake) => taken.map_err(dump_failure)?,
            () = &mut over => return watches.drain(intake).map_err(dump_failure),
        }
    }
}
