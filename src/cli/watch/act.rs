//! Reconcilers that act, or say what they would do: by which terms of a policy, and what is logged of them.

use std::{cell::RefCell, convert::Infallible, sync::Arc};

use futures::{StreamExt as _, stream::FuturesUnordered};
use tokio::sync::watch;
use tracing::{error, info, warn};

use crate::{
    apply::{DryRun, Outcome, RunOptions},
    cli::{
        Interrupt,
        acting::{
            ActingNews, ActingTerms, Actor, ActorPast, Busy, FollowedFindings, HourRoom,
            PauseFollower, Permit, ReadPause, ToldReasons,
        },
        args::ConnectionArgs,
    },
    client::Connection,
    model::{Text, escape_control},
    watch::{
        Leadership,
        acting::{ActingBounds, ActingCounts, LeftAlone, Work, WorkTerms},
        pause::PauseRecord,
        policy::{WatchPolicy, acting::ReconcilerMode},
    },
};

/// Field manager of changes in the background.
const FIELD_MANAGER: &str = "kubectl-storage-watch";

/// Options of changes in the background.
const OPTIONS: RunOptions =
    RunOptions { parallel: None, per_driver: 1, dry_run: DryRun::None, events: true, wait: true };

/// Returns the terms of acting by a policy. `namespace` is that of the journal.
pub(super) fn terms(policy: &WatchPolicy, namespace: &str) -> ActingTerms {
    let works =
        Work::ALL.into_iter().filter_map(|work| match policy.reconcilers.mode(work.reconciler()) {
            ReconcilerMode::Off => None,
            ReconcilerMode::Report => Some((work, false)),
            ReconcilerMode::Act => Some((work, true)),
        });
    let times = policy.reconcilers.reclaim.times();
    let bounds = &policy.bounds;
    let mut judged = policy.settings();
    judged.recording.cluster_journal = Some(namespace.into());
    ActingTerms {
        works: works.collect(),
        terms: WorkTerms {
            grace: times.map(|it| it.grace).unwrap_or_default(),
            older_than: times.map(|it| it.older_than).unwrap_or_default(),
            ..WorkTerms::default()
        },
        judged,
        bounds: ActingBounds {
            most: None,
            per_run: bounds.changes_per_run.get(),
            per_hour: bounds.changes_per_hour.get(),
            judgements: bounds.unchanged_judgements.get(),
            newly_eligible_percent: bounds.newly_eligible_percent.get(),
            interval: bounds.judgement_interval,
        },
    }
}

/// Actors of `watch`, beside its loop.
pub(super) struct Acting {
    pub(super) followed: FollowedFindings,
    pub(super) leadership: Leadership,
    pub(super) interrupt: Interrupt,
    pub(super) counts: ActingCounts,
    pub(super) busy: Busy,
}

impl Acting {
    /// Acts for as long as it is polled. The records in these namespaces pause it.
    pub(super) async fn run(
        self,
        connection: &ConnectionArgs,
        connected: &Connection,
        pauses: Vec<Text>,
    ) -> Infallible {
        let Self { followed, leadership, interrupt, counts, busy } = self;
        let FollowedFindings { terms, wanted } = followed;
        // Where no work is switched on, no record that pauses has to exist.
        let mut switched = terms.clone();
        while switched.borrow_and_update().works.is_empty() {
            if switched.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
        let (follower, pause) = PauseFollower::new(connected, pauses, terms.clone());
        let permit = Permit { leadership, pause: Some(pause.clone()), interrupt };
        let log = RefCell::new(ActingLog::default());
        let tell = |news: ActingNews<'_>| log.borrow_mut().tell(&news);
        let room = HourRoom::default();
        let actor = |works| Actor {
            connection,
            works,
            terms: terms.clone(),
            wanted: wanted.clone(),
            permit: permit.clone(),
            field_manager: FIELD_MANAGER,
            options: OPTIONS,
            counts: counts.clone(),
            tell: &tell,
            busy: busy.clone(),
            room: room.clone(),
            past: ActorPast::default(),
        };
        let mut actors: FuturesUnordered<_> =
            Work::APART.map(|it| actor(it).run()).into_iter().collect();
        tokio::select! {
            Some(never) = actors.next() => match never {},
            never = follower.follow() => match never {},
            never = log_pauses(terms.clone(), pause, counts.clone()) => match never {},
        }
    }
}

/// Logs pauses of the reconcilers, and their ends.
async fn log_pauses(
    mut terms: watch::Receiver<Arc<ActingTerms>>,
    mut pause: watch::Receiver<ReadPause>,
    counts: ActingCounts,
) -> Infallible {
    loop {
        tokio::select! {
            Ok(()) = pause.changed() => {}
            Ok(()) = terms.changed() => {}
            else => std::future::pending().await,
        }
        let now = pause.borrow_and_update().pause.clone();
        if !terms.borrow_and_update().acts() {
            counts.rest();
            continue;
        }
        counts.pause(!now.may_act());
        let text = |it: &Option<String>| escape_control(it.as_deref().unwrap_or("-")).into_owned();
        let (by, reason) = (text(&now.by), text(&now.reason));
        match &now.record {
            PauseRecord::Resumed => info!(by, reason, "resumed: reconcilers may act"),
            PauseRecord::Paused => warn!(by, reason, "paused: nothing is changed"),
            PauseRecord::Missing => {
                warn!("paused: nothing is changed until `watch resume` says that it may be");
            }
            PauseRecord::Malformed(why) | PauseRecord::Unreadable(why) => {
                warn!(why = %escape_control(why), "paused: it is not certain that anything may be changed");
            }
        }
    }
}

/// Log of what is done in the background, which tells no reason twice.
#[derive(Default)]
struct ActingLog(ToldReasons);

impl ActingLog {
    fn tell(&mut self, news: &ActingNews<'_>) {
        match news {
            ActingNews::Would { work, changes } => {
                let lines: Vec<_> = changes
                    .iter()
                    .map(|it| (it.object.to_string(), it.proposal.effect.what.clone()))
                    .collect();
                if self.0.is_new(*work, &format!("{lines:?}")) {
                    for (object, effect) in &lines {
                        info!(
                            reconciler = %work.reconciler(),
                            object = %escape_control(object),
                            effect = %escape_control(effect),
                            "would change"
                        );
                    }
                }
            }
            ActingNews::BreakerOpen { work, breaker } => {
                if self.0.is_new(*work, &format!("breaker open: {breaker}")) {
                    error!(
                        reconciler = %work.reconciler(),
                        "breaker open: {breaker}; nothing is announced or reclaimed; {}",
                        breaker.help()
                    );
                }
            }
            ActingNews::NoRoom { work, waiting, made } => {
                if self.0.is_new(*work, "no room") {
                    warn!(
                        reconciler = %work.reconciler(), waiting, made,
                        "as many changes as the policy allows were made within the hour"
                    );
                }
            }
            ActingNews::UnknownRate { work, waiting, why } => {
                if self.0.is_new(*work, why) {
                    warn!(
                        reconciler = %work.reconciler(), waiting, why = %escape_control(why),
                        "it is not known how many changes were made within the hour"
                    );
                }
            }
            ActingNews::TooMany { work, count } => {
                if self.0.is_new(*work, "too many") {
                    warn!(reconciler = %work.reconciler(), count, "too many changes at once");
                }
            }
            ActingNews::Undone { work, object } => {
                let object = object.to_string();
                if self.0.is_new(*work, &format!("undone {object}")) {
                    error!(
                        reconciler = %work.reconciler(),
                        object = %escape_control(&object),
                        "left alone for an hour: another client keeps undoing its changes"
                    );
                }
            }
            ActingNews::TakenBack { work, object } => {
                let object = object.to_string();
                if self.0.is_new(*work, &format!("taken back {object}")) {
                    warn!(
                        reconciler = %work.reconciler(),
                        object = %escape_control(&object),
                        "left alone: its reclaim policy was set back after it was reclaimed; \
                         `gc --announced` reclaims it again"
                    );
                }
            }
            ActingNews::LeftAlone { work, left_alone: LeftAlone { count, object, reason } } => {
                let object = object.to_string();
                if self.0.is_new(*work, &format!("{count} {object} {reason}")) {
                    info!(
                        reconciler = %work.reconciler(),
                        volumes = count,
                        first = %escape_control(&object),
                        reason = %escape_control(reason),
                        "not announced, although they are old enough"
                    );
                }
            }
            ActingNews::Failed { work, message } => {
                if self.0.is_new(*work, message) {
                    error!(reconciler = %work.reconciler(), "{}", escape_control(message));
                }
            }
            ActingNews::Changed { work, receipt, shape } => {
                self.0.forget(*work);
                let journal = &*shape.metadata.journal;
                for done in &receipt.done {
                    let object = done.change.object.to_string();
                    let object = escape_control(&object);
                    let detail = escape_control(&done.detail);
                    let (reconciler, outcome) = (work.reconciler(), done.outcome.name());
                    let action = done.change.purpose.id();
                    match done.outcome {
                        Outcome::Done => {
                            info!(%reconciler, %object, action, outcome, %detail, journal, "changed");
                        }
                        _ => {
                            warn!(%reconciler, %object, action, outcome, %detail, journal, "not changed, or not known to be");
                        }
                    }
                }
                for note in &receipt.notes {
                    warn!(reconciler = %work.reconciler(), "{}", escape_control(note));
                }
            }
        }
    }
}
