//! Log lines on stderr, as text or as JSON objects, and which of the loop's news they tell.

use std::sync::Arc;

use clap::ValueEnum;
use tracing::{error, info, level_filters::LevelFilter, warn};
use tracing_subscriber::{Layer as _, filter::Targets, fmt, layer::SubscriberExt as _};

use super::check;
use crate::{
    cli::{Failure, collect, policy_exit, terminal},
    cluster::Cluster,
    model::{FindingEvent, escape_control},
    watch::{
        Listener, Reconciler, Told,
        policy::{PolicyError, WatchPolicy},
    },
};

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// Time, level, message and fields
    Text,
    /// One object a line
    Json,
}

/// Begins to log what this program itself says: its libraries would log bodies of answers.
///
/// # Errors
/// When the thread that writes cannot be started.
pub(super) fn start(format: LogFormat) -> Result<(), Failure> {
    terminal::queue_notes(|lines| {
        warn!(lines, "lines of this log were lost: stderr was not read");
    })?;
    let lines = fmt::layer().with_writer(|| terminal::Notes).with_target(false).with_ansi(false);
    // That stderr is closed is no error.
    let lines = lines.log_internal_errors(false);
    let lines = match format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => {
            lines.json().flatten_event(true).with_current_span(false).with_span_list(false).boxed()
        }
    };
    let own = Targets::new().with_target(env!("CARGO_CRATE_NAME"), LevelFilter::INFO);
    let subscriber = tracing_subscriber::registry().with(lines.with_filter(own));
    // It is set once: this is the only command that logs.
    let _ = tracing::subscriber::set_global_default(subscriber);
    Ok(())
}

/// Logs the failure that ends the command.
pub(super) fn failed(failure: &Failure) {
    let message = terminal::message(failure);
    let message = escape_control(&message);
    // A field that is `None` is left out.
    let hint = failure.hint.as_deref().map(escape_control);
    error!(hint = hint.as_deref(), "{message}");
}

/// Logs all that is wrong with a policy but the last line, which it returns as the failure.
pub(super) fn refused(error: &PolicyError) -> Failure {
    let mut lines = error.lines();
    let last = lines.pop().unwrap_or_default();
    for line in lines {
        error!("{}", escape_control(&line));
    }
    Failure { exit: policy_exit(error), ..Failure::usage(last) }
}

/// Listener that logs what is not read, how many findings there are, and defects; not the findings themselves.
#[derive(Debug, Default)]
pub(super) struct LogLines {
    /// Policy with which the command began.
    begun: Option<Arc<WatchPolicy>>,
    /// Number of findings that full passes have changed.
    defects: usize,
}

impl Listener for LogLines {
    fn hear(&mut self, told: &Told, cluster: &Cluster, reconciler: &Reconciler) {
        if let Some(policy) = &told.policy {
            self.tell_policy(policy);
            for found in check::contradictions(cluster, reconciler.settings()) {
                warn!("policy: scope: {}", escape_control(&found.message));
            }
        }
        let kinds = collect::kinds();
        for line in collect::gap_lines(told.news.gaps.lost.iter(), &kinds) {
            warn!("not read: {}", escape_control(&line));
        }
        if told.news.gaps.lost.iter().any(|it| it.reason.starts_with("forbidden")) {
            warn!("`rbac watch --check` lists the permissions that are missing");
        }
        if !told.news.gaps.read_again.is_empty() {
            info!("read again: {}", collect::gap_names(&told.news.gaps.read_again, &kinds));
        }
        for note in &told.notes {
            warn!("{}", escape_control(note));
        }
        if told.defects > 0 {
            self.defects += told.defects;
            error!(
                defects = told.defects,
                defects_since_start = self.defects,
                "a full pass changed findings that the changes before it should have; please \
                 report this"
            );
        }
        if told.policy.is_some() || !told.news.findings.is_empty() {
            tell_findings(&told.news.findings, reconciler.count());
        }
    }
}

impl LogLines {
    fn tell_policy(&mut self, policy: &Arc<WatchPolicy>) {
        let reports_to = check::reported_to(&policy.report, None);
        let Some(begun) = &self.begun else {
            info!(%reports_to, "watching");
            self.begun = Some(Arc::clone(policy));
            return;
        };
        info!(%reports_to, "a new policy is in force");
        let served =
            |it: &WatchPolicy| it.report.metrics.as_ref().map(|it| (it.address, it.tls.clone()));
        for (key, differs) in [
            ("report.metrics.address and report.metrics.tls", served(begun) != served(policy)),
            ("report.probes", begun.report.probes != policy.report.probes),
            ("leaderElection", begun.leader_election != policy.leader_election),
            ("clusterJournal", begun.cluster_journal() != policy.cluster_journal()),
        ] {
            if differs {
                warn!(
                    "{key} cannot change while this runs: what it began with stays until it is \
                     restarted"
                );
            }
        }
    }
}

fn tell_findings(events: &[FindingEvent], findings: usize) {
    let (mut appeared, mut changed, mut cleared) = (0, 0, 0);
    for event in events {
        match event {
            FindingEvent::Appeared(_) => appeared += 1,
            FindingEvent::Changed(_) => changed += 1,
            FindingEvent::Cleared(_) => cleared += 1,
        }
    }
    info!(findings, appeared, changed, cleared, "judged");
}
