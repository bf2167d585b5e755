//! Carries out a confirmed plan: the changes of each driver in order, drivers side by side.

use std::cell::RefCell;
use std::collections::BTreeMap;

use futures::{StreamExt as _, stream};

use super::change_end::ChangeEnd;
use super::current_cluster::CurrentCluster;
use super::kept_record::KeptBackendRecorder;
use super::options::RunOptions;
use super::receipt::{ChangeReceipt, Outcome, Receipt};
use super::step::ChangeExecutor;
use super::writer::Writer;
use crate::client::Connection;
use crate::journal::Log;
use crate::model::{Settings, Threshold, Uid};
use crate::plan::{Plan, ProposedChange};

/// A plan that the user has confirmed; only such a plan can be carried out.
#[derive(Debug)]
pub struct Confirmed(Plan);

impl Confirmed {
    /// Marks a plan as confirmed by the user.
    pub fn by_user(plan: Plan) -> Self {
        Self(plan)
    }

    /// Returns the command for which it was made.
    pub fn command(&self) -> &'static str {
        self.0.command
    }

    /// Returns the number of changes.
    pub fn count(&self) -> usize {
        self.0.changes.len()
    }

    /// Returns the settings with which it was made.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }
}

/// Progress of a run.
#[derive(Debug, Clone, Copy)]
pub enum RunProgress<'a> {
    /// A change begins.
    Begun(&'a ProposedChange),
    /// A change has ended.
    Ended,
}

/// The cluster, the journal and the options with which a plan is carried out.
pub struct PlanExecution<'a> {
    /// The cluster as it is read.
    pub cluster: &'a CurrentCluster,
    /// The connection to the API server.
    pub connection: &'a Connection,
    /// The field manager of all writes.
    pub field_manager: &'a str,
    /// The journal of writes.
    pub log: &'a Log,
    /// The options of the run.
    pub options: RunOptions,
    /// Whether the user has interrupted the run: then no other change begins.
    pub interrupted: &'a dyn Fn() -> bool,
    /// Called with every progress.
    pub progress: &'a dyn Fn(RunProgress),
}

/// The state that all lanes of changes share.
#[derive(Default)]
struct ExecutionState {
    done: BTreeMap<usize, ChangeReceipt>,
    notes: Vec<String>,
    /// Why no other change begins.
    over: Option<String>,
    interrupted: bool,
}

/// Carries out a plan and returns the outcome of every change.
pub async fn run(confirmed: Confirmed, run: &PlanExecution<'_>) -> Receipt {
    let plan = confirmed.0;
    let id = run_id();
    let wait = plan.settings.thresholds.get(Threshold::DeleteWait);
    let writer = Writer::new(run.connection, run.field_manager);
    let recording = &plan.settings.recording;
    let recorder = KeptBackendRecorder::new(run.cluster, &writer, &recording.namespace);
    let executor = ChangeExecutor {
        cluster: run.cluster,
        writer: &writer,
        log: run.log,
        recorder: Some(recorder).filter(|_| !recording.journal_only),
        command: plan.command,
        run: &id,
        dry_run: run.options.dry_run,
        events: run.options.events,
        patience: plan.settings.thresholds.get(Threshold::Resync),
        wait: Some(wait).filter(|_| run.options.wait),
        interrupted: run.interrupted,
    };
    let batch = RefCell::new(ExecutionState::default());
    let lanes = lanes(&plan, run.options.parallel);
    let width = run.options.parallel.unwrap_or(lanes.len()).max(1);
    stream::iter(lanes)
        .map(|lane| {
            let (executor, batch, changes) = (&executor, &batch, &plan.changes);
            async move {
                for index in lane {
                    one(index, &changes[index], executor, run, batch).await;
                }
            }
        })
        .buffer_unordered(width)
        .collect::<()>()
        .await;
    let ExecutionState { done, mut notes, over, interrupted } = batch.into_inner();
    let kept = |it: &ChangeReceipt| it.entry.is_some() && it.change.proposal.keeps_backend;
    if recording.journal_only && done.values().any(kept) {
        notes.push(format!(
            "--journal-only: only {} on this machine references the kept backend volumes",
            run.log.path().display()
        ));
    }
    if let Some(over) = over.filter(|_| !interrupted) {
        notes.push(format!("the run ended early: {over}"));
    }
    Receipt {
        run: id,
        ended: run.cluster.clock(),
        done: done.into_values().collect(),
        refusals: plan.refusals,
        notes,
        interrupted,
    }
}

/// Groups the changes that are made one after the other: those of one driver, unless the user asked
/// for more at the same time. A change that rests on what another one writes becomes stale, and
/// nothing worse: each tests the fields on which it rests, and destroying a backend volume that
/// another volume references is refused.
fn lanes(plan: &Plan, parallel: Option<usize>) -> Vec<Vec<usize>> {
    if parallel.is_some() {
        return (0..plan.changes.len()).map(|index| vec![index]).collect();
    }
    let mut lanes: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (index, change) in plan.changes.iter().enumerate() {
        lanes.entry(change.about.driver()).or_default().push(index);
    }
    lanes.into_values().collect()
}

/// Carries out one change, unless the batch has ended.
async fn one(
    index: usize,
    change: &ProposedChange,
    executor: &ChangeExecutor<'_>,
    run: &PlanExecution<'_>,
    batch: &RefCell<ExecutionState>,
) {
    let over = {
        let mut batch = batch.borrow_mut();
        if batch.over.is_none() && (run.interrupted)() {
            batch.interrupted = true;
            batch.over = Some("interrupted".to_owned());
        }
        batch.over.clone()
    };
    let ended = if let Some(over) = over {
        ChangeEnd::new(Outcome::Refused, format!("not started: {over}"))
    } else {
        (run.progress)(RunProgress::Begun(change));
        executor.carry_out(change).await
    };
    let ChangeEnd { outcome, detail, entry, ends_batch, notes, partly, before: _ } = ended;
    (run.progress)(RunProgress::Ended);
    let mut batch = batch.borrow_mut();
    if let Some(why) = ends_batch {
        batch.over.get_or_insert(format!("{}: {why}", change.object));
    }
    batch.notes.extend(notes);
    batch
        .done
        .insert(index, ChangeReceipt { change: change.clone(), outcome, detail, entry, partly });
}

/// Returns a random id for this run, which its journal entries carry.
pub(super) fn run_id() -> String {
    use std::hash::{BuildHasher as _, RandomState};
    let half = || RandomState::new().hash_one(std::process::id()).to_be_bytes();
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&half());
    bytes[8..].copy_from_slice(&half());
    Uid::Uuid(uuid::Builder::from_random_bytes(bytes).into_uuid().into_bytes()).to_string()
}
