//! A whole plan: in lanes, with an end that can be asked for.

use std::cell::RefCell;
use std::collections::BTreeMap;

use futures::{StreamExt as _, stream};

use super::kept::Keeper;
use super::step::{Ended, Hand};
use super::{Done, Outcome, Receipt, View, Writer};
use crate::client::Connection;
use crate::journal::Log;
use crate::model::{Settings, Threshold, Uid};
use crate::plan::{Change, Plan};

/// A plan that somebody has confirmed; the only thing that can be carried out.
#[derive(Debug)]
pub struct Confirmed(Plan);

impl Confirmed {
    /// Says that the user has seen the plan, and answered for it.
    pub fn by_user(plan: Plan) -> Self {
        Self(plan)
    }

    /// The command that it was made for.
    pub fn command(&self) -> &'static str {
        self.0.command
    }

    /// How many changes there are.
    pub fn count(&self) -> usize {
        self.0.changes.len()
    }

    /// What it was judged under.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }
}

/// How far requests go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DryRun {
    /// They are carried out.
    None,
    /// The server looks at each and carries out none.
    Server,
}

/// How a plan is carried out.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Changes at the same time, also of one driver; `None` for one of each driver.
    pub parallel: Option<usize>,
    /// How far requests go.
    pub dry_run: DryRun,
    /// Whether Events are written.
    pub events: bool,
    /// Whether what follows is waited for.
    pub wait: bool,
}

/// What happens meanwhile.
#[derive(Debug, Clone, Copy)]
pub enum Progress<'a> {
    /// A change is begun.
    Begun(&'a Change),
    /// A change has ended.
    Ended(&'a Change, Outcome, &'a str),
}

/// Everything that carrying out a plan needs.
pub struct Run<'a> {
    /// What it sees.
    pub view: &'a View,
    /// The way to the cluster.
    pub connection: &'a Connection,
    /// The name under which the API server notes who changed what.
    pub field_manager: &'a str,
    /// Where it notes what it does.
    pub log: &'a Log,
    /// How.
    pub options: Options,
    /// Whether somebody has asked for the end: no other change is begun then.
    pub interrupted: &'a dyn Fn() -> bool,
    /// Who wants to know what happens.
    pub progress: &'a dyn Fn(Progress),
}

/// What all lanes know.
#[derive(Default)]
struct Batch {
    done: BTreeMap<usize, Done>,
    notes: Vec<String>,
    /// Why no other change is begun.
    over: Option<String>,
    interrupted: bool,
}

/// Carries out a plan, and tells what became of every change.
pub async fn run(confirmed: Confirmed, run: &Run<'_>) -> Receipt {
    let plan = confirmed.0;
    let id = run_id();
    let wait = plan.settings.thresholds.get(Threshold::DeleteWait);
    let writer = Writer::new(run.connection, run.field_manager);
    let recording = &plan.settings.recording;
    let keeper = Keeper::new(run.view, &writer, &recording.namespace);
    let hand = Hand {
        view: run.view,
        writer: &writer,
        log: run.log,
        keeper: Some(keeper).filter(|_| !recording.journal_only),
        command: plan.command,
        run: &id,
        dry_run: run.options.dry_run,
        events: run.options.events,
        patience: plan.settings.thresholds.get(Threshold::Resync),
        wait: Some(wait).filter(|_| run.options.wait),
        interrupted: run.interrupted,
    };
    let batch = RefCell::new(Batch::default());
    let lanes = lanes(&plan, run.options.parallel);
    let width = run.options.parallel.unwrap_or(lanes.len()).max(1);
    stream::iter(lanes)
        .map(|lane| {
            let (hand, batch, changes) = (&hand, &batch, &plan.changes);
            async move {
                for index in lane {
                    one(index, &changes[index], hand, run, batch).await;
                }
            }
        })
        .buffer_unordered(width)
        .collect::<()>()
        .await;
    let Batch { done, mut notes, over, interrupted } = batch.into_inner();
    let kept = |it: &Done| it.entry.is_some() && it.change.proposal.keeps_backend;
    if recording.journal_only && done.values().any(kept) {
        notes.push(format!(
            "--journal-only: {} on this machine is all that names the backend volumes that were kept",
            run.log.path().display()
        ));
    }
    if let Some(over) = over.filter(|_| !interrupted) {
        notes.push(format!("the batch ended early: {over}"));
    }
    Receipt {
        run: id,
        ended: run.view.clock(),
        done: done.into_values().collect(),
        refusals: plan.refusals,
        notes,
        interrupted,
    }
}

/// Which changes are made one after the other: those of one driver, unless the user wants more at
/// once. What one change writes makes another one that rests on it stale, and nothing else: each
/// tests what it rests on, and where a backend volume is destroyed, one that another volume names too
/// is refused.
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

/// Carries out one change, unless the batch is over.
async fn one(
    index: usize,
    change: &Change,
    hand: &Hand<'_>,
    run: &Run<'_>,
    batch: &RefCell<Batch>,
) {
    let over = {
        let mut batch = batch.borrow_mut();
        if batch.over.is_none() && (run.interrupted)() {
            batch.interrupted = true;
            batch.over = Some("somebody asked for the end".to_owned());
        }
        batch.over.clone()
    };
    let ended = if let Some(over) = over {
        not_begun(&over)
    } else {
        (run.progress)(Progress::Begun(change));
        hand.carry_out(change).await
    };
    let Ended { outcome, detail, entry, ends_batch, notes, partly, before: _ } = ended;
    (run.progress)(Progress::Ended(change, outcome, &detail));
    let mut batch = batch.borrow_mut();
    if let Some(why) = ends_batch {
        batch.over.get_or_insert(format!("{}: {why}", change.object));
    }
    batch.notes.extend(notes);
    batch.done.insert(index, Done { change: change.clone(), outcome, detail, entry, partly });
}

fn not_begun(over: &str) -> Ended {
    Ended {
        outcome: Outcome::Refused,
        detail: format!("not begun: {over}"),
        entry: None,
        ends_batch: None,
        notes: Vec::new(),
        partly: false,
        before: None,
    }
}

/// Names this run, so that its entries in the journal can be told from those of others.
fn run_id() -> String {
    use std::hash::{BuildHasher as _, RandomState};
    let half = || RandomState::new().hash_one(std::process::id()).to_be_bytes();
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&half());
    bytes[8..].copy_from_slice(&half());
    Uid::Uuid(uuid::Builder::from_random_bytes(bytes).into_uuid().into_bytes()).to_string()
}
