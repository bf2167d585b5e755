//! Carries out a confirmed plan: the changes of each driver in order, drivers side by side.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{StreamExt as _, future, stream};
use tokio::sync::Semaphore;

use super::current_cluster::CurrentCluster;
use super::journal::OpenJournal;
use super::kept_record::KeptBackendRecorder;
use super::receipt::ChangeEnd;
use super::receipt::{ChangeReceipt, Outcome, Receipt};
use super::receipt::{DryRun, RunOptions};
use super::step::ChangeExecutor;
use super::turn::JournalQueue;
use super::turn::{LaneTurns, Turn};
use super::writer::{SendPermit, Writer};
use crate::client::Connection;
use crate::model::{Action, Settings, Threshold, Uid, format_duration};
use crate::plan::{Plan, ProposedChange};

/// Number of changes of a lane that settle at the same time: each is a request within the next seconds.
const SETTLING: usize = 512;
/// Number of changes that settle apart and have a turn at the same time.
const TURNS: usize = 8;
/// Pause between two looks for the change that takes longest.
const PACE: Duration = Duration::from_secs(2);
/// Number of Events that are written at the same time.
const EVENTS: usize = 4;

/// A plan that the user has confirmed; only such a plan can be carried out.
#[derive(Debug)]
pub struct Confirmed(Plan);

impl Confirmed {
    /// Marks a plan as confirmed by the user.
    pub fn by_user(plan: Plan) -> Self {
        Self(plan)
    }

    /// Marks a plan as allowed by a policy: its changes remained the same, within the bounds of the policy.
    pub fn by_policy(plan: Plan) -> Self {
        Self(plan)
    }

    /// Returns the command of the plan.
    pub fn command(&self) -> &'static str {
        self.0.command
    }

    /// Returns the number of changes in the plan.
    pub fn count(&self) -> usize {
        self.0.changes.len()
    }

    /// Returns the settings of the plan.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }
}

/// Progress of a run.
#[derive(Debug, Clone, Copy)]
pub enum RunProgress<'a> {
    /// A change begins.
    Begun(&'a ProposedChange),
    /// A change has ended, in this way.
    Ended(&'a ChangeReceipt),
    /// Of the changes under way, this one has taken longest.
    Slowest(&'a SlowestChange<'a>),
}

/// The change under way that has taken longest.
#[derive(Debug)]
pub struct SlowestChange<'a> {
    /// The change.
    pub change: &'a ProposedChange,
    /// Time since it began.
    pub since: Duration,
    /// The last error that a controller has reported about its volume.
    pub error: Option<String>,
}

impl fmt::Display for SlowestChange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "slowest: {} for {}", self.change.object, format_duration(self.since))?;
        self.error.iter().try_for_each(|it| write!(f, ", last error: {it}"))
    }
}

/// The cluster, the journal and the options with which a plan is carried out.
pub struct PlanExecution<'a> {
    /// The cluster, kept current during the run.
    pub cluster: &'a CurrentCluster,
    /// The connection to the API server.
    pub connection: &'a Connection,
    /// The field manager of all writes.
    pub field_manager: &'a str,
    /// The journal of writes.
    pub(crate) journal: &'a OpenJournal,
    /// The options of the run.
    pub options: RunOptions,
    /// Whether the user has interrupted the run: then no other change begins.
    pub interrupted: &'a dyn Fn() -> bool,
    /// The permit of a background process, which is asked right before each write.
    pub permit: Option<Arc<dyn SendPermit>>,
    /// Callback for every progress.
    pub progress: &'a dyn Fn(RunProgress),
}

/// The state that all lanes of changes share.
#[derive(Default)]
struct ExecutionState {
    /// When each change under way began.
    under_way: BTreeMap<usize, Instant>,
    done: BTreeMap<usize, ChangeReceipt>,
    notes: Vec<String>,
    /// Reason why no other change begins.
    over: Option<String>,
    interrupted: bool,
}

/// Carries out a plan and returns the outcome of every change.
pub async fn run(confirmed: Confirmed, run: &PlanExecution<'_>) -> Receipt {
    let plan = confirmed.0;
    let id = run_id();
    let wait = plan.settings.thresholds.get(Threshold::DeleteWait);
    let writer = Writer::new(run.connection, run.field_manager).permitted_by(run.permit.clone());
    let recording = &plan.settings.recording;
    let recorder = KeptBackendRecorder::new(run.cluster, &writer, &recording.namespace);
    let executor = ChangeExecutor {
        cluster: run.cluster,
        writer: &writer,
        log: &JournalQueue::new(run.journal),
        recorder: Some(recorder).filter(|_| !recording.journal_only),
        command: plan.command,
        unread: &plan.unread,
        run: &id,
        dry_run: run.options.dry_run,
        events: run.options.events.then(|| Semaphore::new(EVENTS)),
        patience: plan.settings.thresholds.get(Threshold::Resync),
        wait: Some(wait).filter(|_| run.options.wait),
        interrupted: run.interrupted,
        accepted: RefCell::default(),
        announcements: RefCell::default(),
        vetoing: tokio::sync::Mutex::default(),
    };
    executor.announce_all(&plan.changes).await;
    let batch = RefCell::new(ExecutionState::default());
    let is_rehearsal = plan.settings.teardown.as_ref().is_some_and(|it| it.is_rehearsal);
    if is_rehearsal && run.options.dry_run != DryRun::Server {
        let why = "it was judged as if all workloads were stopped";
        batch.borrow_mut().over = Some(why.to_owned());
    }
    let RunOptions { parallel, per_driver, .. } = run.options;
    let lanes = lanes(&plan.changes, parallel, per_driver);
    let width = lanes.len().max(1);
    let lanes = stream::iter(lanes)
        .map(|lane| {
            let (executor, batch, changes) = (&executor, &batch, &plan.changes);
            async move {
                let turns = &LaneTurns::new(lane.turns, lane.changes.len());
                stream::iter(lane.changes)
                    .map(|index| one(index, &changes[index], turns, executor, run, batch))
                    .buffer_unordered(lane.under_way)
                    .collect::<()>()
                    .await;
            }
        })
        .buffer_unordered(width)
        .collect::<()>();
    future::select(pin!(lanes), pin!(tell_slowest(run, &plan.changes, &batch))).await;
    run.journal.settle().await;
    let ExecutionState { done, mut notes, over, interrupted, under_way: _ } = batch.into_inner();
    let kept = |it: &ChangeReceipt| it.entry.is_some() && it.change.proposal.keeps_backend;
    if recording.journal_only && done.values().any(kept) {
        notes.push(format!(
            "--journal-only: only {}{} references the kept backend volumes",
            run.journal.shown(),
            if run.journal.is_local() { " on this machine" } else { "" }
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

/// Changes that begin one after the other.
#[derive(Debug, PartialEq, Eq)]
struct Lane {
    /// The positions of the changes in the plan.
    changes: Vec<usize>,
    /// Number of changes that read, judge and send at the same time.
    turns: usize,
    /// Number of changes under way at the same time, with those whose effect settles.
    under_way: usize,
}

/// Groups changes into lanes: one for each driver, or one for all if the user asked for more at the same time. Those
/// that settle apart have a lane of their own. A change that rests on what another one writes becomes stale, and
/// nothing worse: each tests the fields on which it rests, and destroying a backend volume that another volume
/// references is refused.
fn lanes(changes: &[ProposedChange], parallel: Option<usize>, per_driver: usize) -> Vec<Lane> {
    let mut lanes: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (index, change) in changes.iter().enumerate() {
        let lane = match parallel {
            Some(_) => None,
            // No driver acts on it.
            None if change.settles_apart() => None,
            None => Some(change.about.driver()),
        };
        lanes.entry(lane).or_default().push(index);
    }
    let lane = |of: Vec<usize>| {
        let settle = of.iter().any(|index| changes[*index].settles_apart());
        let turns = parallel.unwrap_or(if settle { TURNS } else { per_driver }).max(1);
        let under_way = if settle { turns + SETTLING } else { turns };
        Lane { changes: of, turns, under_way }
    };
    lanes.into_values().map(lane).collect()
}

/// Carries out one change in its turn, unless the batch has ended.
async fn one(
    index: usize,
    change: &ProposedChange,
    turns: &LaneTurns,
    executor: &ChangeExecutor<'_>,
    run: &PlanExecution<'_>,
    batch: &RefCell<ExecutionState>,
) {
    // Ends with this function: then the next change knows how this one has ended.
    let turn = Turn::wait(turns).await;
    let announced = executor.announced_end(change);
    let over = if announced.is_some() {
        None
    } else {
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
        batch.borrow_mut().under_way.insert(index, Instant::now());
        match announced {
            Some(ended) => ended,
            None => executor.carry_out(change, &turn).await,
        }
    };
    let ChangeEnd { outcome, detail, entry, ends_batch, notes, partly, before: _ } = ended;
    let receipt = ChangeReceipt { change: change.clone(), outcome, detail, entry, partly };
    (run.progress)(RunProgress::Ended(&receipt));
    let mut batch = batch.borrow_mut();
    if let Some(why) = ends_batch {
        batch.over.get_or_insert(format!("{}: {why}", change.object));
    }
    batch.notes.extend(notes);
    batch.under_way.remove(&index);
    batch.done.insert(index, receipt);
}

/// Tells again and again which change takes longest, until it is dropped.
async fn tell_slowest(
    run: &PlanExecution<'_>,
    changes: &[ProposedChange],
    batch: &RefCell<ExecutionState>,
) {
    loop {
        tokio::time::sleep(PACE).await;
        let slowest = {
            let batch = batch.borrow();
            let first = batch.under_way.iter().min_by_key(|(_, began)| **began);
            first.map(|(index, began)| (*index, began.elapsed()))
        };
        let Some((index, since)) = slowest else { continue };
        let change = &changes[index];
        let volumes = change.proposal.steps.iter().filter_map(|it| match it {
            Action::DeleteClaim { released, .. } => released.as_ref(),
            it => Some(it.object()),
        });
        let error = volumes.filter_map(|it| run.cluster.last_error(&it.key)).next_back();
        (run.progress)(RunProgress::Slowest(&SlowestChange { change, since, error }));
    }
}

/// Returns a random id for this run, which its journal entries carry.
pub(crate) fn run_id() -> String {
    use std::hash::{BuildHasher as _, RandomState};
    let half = || RandomState::new().hash_one(std::process::id()).to_be_bytes();
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&half());
    bytes[8..].copy_from_slice(&half());
    Uid::Uuid(uuid::Builder::from_random_bytes(bytes).into_uuid().into_bytes()).to_string()
}

#[cfg(test)]
mod tests {
    use super::{Lane, SETTLING, TURNS, lanes};
    use crate::model::{
        Action, Effect, Kind, Loss, ObjectKey, ObjectRef, OwnerReference, Proposal, Undo,
        VolumeColumns,
    };
    use crate::plan::{ObjectDetails, ProposedChange, Purpose};

    fn change(name: &str, driver: Option<&str>, steps: Vec<Action>) -> ProposedChange {
        let volume = driver.map(|driver| VolumeColumns {
            capacity: None,
            claim: None,
            class: None,
            driver: Some(driver.into()),
            reclaim_policy: String::new(),
            phase: String::new(),
        });
        ProposedChange {
            purpose: Purpose::Disown,
            object: ObjectRef {
                key: ObjectKey::cluster_wide(Kind::PersistentVolume, name),
                uid: None,
            },
            about: ObjectDetails { volume, ..ObjectDetails::default() },
            proposal: Proposal {
                steps,
                effect: Effect { what: String::new(), risk: String::new() },
                undo: Undo::Never(""),
                notices: Vec::new(),
                relies_on: Vec::new(),
                keeps_backend: false,
                loses: Loss::default(),
            },
        }
    }

    fn disowned(name: &str, driver: &str) -> ProposedChange {
        let claim = ObjectRef {
            key: ObjectKey {
                kind: Kind::PersistentVolumeClaim,
                namespace: Some("shop".into()),
                name: name.into(),
            },
            uid: None,
        };
        let owner = OwnerReference {
            api_version: "apps/v1".into(),
            kind: "StatefulSet".into(),
            name: "web".into(),
            uid: None,
            controller: true,
            blocks_deletion: true,
        };
        let owners = vec![owner];
        change(name, Some(driver), vec![Action::RemoveOwnerReferences { claim, owners }])
    }

    fn lane(changes: &[usize], turns: usize, settling: usize) -> Lane {
        Lane { changes: changes.to_vec(), turns, under_way: turns + settling }
    }

    #[test]
    fn changes_of_one_driver_wait_for_each_other_and_owner_references_only_for_their_turn() {
        let changes = [
            change("a", Some("disk"), Vec::new()),
            disowned("b", "disk"),
            change("c", Some("file"), Vec::new()),
            change("d", Some("disk"), Vec::new()),
            disowned("e", "file"),
            change("f", None, Vec::new()),
        ];
        let alone = lanes(&changes, None, 1);
        let expected = [
            lane(&[1, 4], TURNS, SETTLING),
            lane(&[5], 1, 0),
            lane(&[0, 3], 1, 0),
            lane(&[2], 1, 0),
        ];
        assert_eq!(alone, expected);
        assert_eq!(lanes(&changes, Some(3), 1), [lane(&[0, 1, 2, 3, 4, 5], 3, SETTLING)]);
        assert_eq!(lanes(&changes[2..4], Some(2), 1), [lane(&[0, 1], 2, 0)]);
        assert_eq!(lanes(&[], None, 1), []);
        assert_eq!(lanes(&changes[2..4], None, 4), [lane(&[1], 4, 0), lane(&[0], 4, 0)]);
    }

    #[test]
    fn only_changes_of_owner_references_settle_apart() {
        let removal = disowned("a", "disk");
        assert!(removal.settles_apart() && removal.only_removes_owners());
        let Some(Action::RemoveOwnerReferences { claim, owners }) =
            removal.proposal.steps.first().cloned()
        else {
            panic!("{removal:?}");
        };
        let guard = owners.first().cloned();
        let owner = owners[0].clone();
        let add = Action::AddOwnerReference { claim, owner, replaces: Vec::new(), guard };
        let mut addition = removal.clone();
        addition.proposal.steps.insert(0, add);
        assert!(addition.settles_apart() && !addition.only_removes_owners());
        let mut with_another = addition.clone();
        let ObjectRef { key, uid } = removal.object.clone();
        let object = ObjectRef { key, uid };
        with_another.proposal.steps.push(Action::DeleteClaim { claim: object, released: None });
        assert!(!with_another.settles_apart());
        let nothing = change("a", None, Vec::new());
        assert!(!nothing.settles_apart() && !nothing.only_removes_owners());
    }
}
