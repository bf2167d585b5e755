//! `kind: Receipt`: the outcome of every change of a plan.

use serde::{Deserialize, Serialize};

use super::super::publish::{cluster_identity, gap, reference, tool, volume};
use super::super::wire::{
    API_VERSION, ClusterIdentity, Gap, ObjectReference, Tool, Volume, is_zero,
};
use super::plan::{BackendVolume, RefusedChange, backend, refusal, undo};
use crate::apply::{self as inner, Outcome};
use crate::cluster::Cluster;
use crate::model::{Bytes, format_bytes, format_time};
use crate::rules::UnreadGap;

/// What became of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// `storage.kubectl.dev/v1alpha1`.
    pub api_version: String,
    /// `Receipt`.
    pub kind: String,
    /// Of which command, when, on which cluster.
    pub metadata: ReceiptMetadata,
    /// The outcomes added up.
    pub summary: ReceiptSummary,
    /// What became of every change, in the order of the plan.
    pub changes: Vec<DoneChange>,
    /// What the plan refused.
    pub refusals: Vec<RefusedChange>,
    /// What went wrong besides.
    pub notes: Vec<String>,
    /// What was not seen.
    pub gaps: Vec<Gap>,
}

/// Of which command, when, on which cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReceiptMetadata {
    /// The command.
    pub command: String,
    /// The run, as the journal has it.
    pub run: String,
    /// When it ended, by the server's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// The cluster.
    pub cluster: ClusterIdentity,
    /// The tool.
    pub tool: Tool,
    /// The file that holds the journal.
    pub journal: String,
    /// `server` when nothing was really written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<String>,
}

/// The outcomes added up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReceiptSummary {
    /// Verified.
    pub done: usize,
    /// How many vetoes were recorded, of volumes that stay as they are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub vetoes: usize,
    /// A check, admission or RBAC said no.
    pub refused: usize,
    /// Something else changed the object first.
    pub stale: usize,
    /// The server answered with an error, and nothing was written.
    pub failed: usize,
    /// Whether it was written is not known.
    pub unanswered: usize,
    /// Written, and the controllers were not done within the deadline.
    pub pending: usize,
    /// The capacity of all volumes whose change is done.
    pub capacity: String,
}

/// What became of one change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DoneChange {
    /// The object.
    pub object: ObjectReference,
    /// The remedy.
    pub because: String,
    /// What tells it apart from other volumes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<Volume>,
    /// What it names at the storage backend.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<BackendVolume>,
    /// `done`, `refused`, `stale`, `failed`, `unanswered` or `pending`.
    pub outcome: String,
    /// How that is known, or why not.
    pub detail: String,
    /// Its entry in the journal, if it got so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<u64>,
    /// How it is undone, or why it cannot be; absent when nothing was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undo: Option<String>,
}

/// What a receipt says besides what became of the changes.
#[derive(Debug, Clone)]
pub struct ReceiptContext<'a> {
    /// The command.
    pub command: &'a str,
    /// The file that holds the journal.
    pub journal: String,
    /// Whether nothing was really written.
    pub dry_run: bool,
    /// What was not seen.
    pub blind: &'a [UnreadGap],
}

/// The name of an outcome.
pub const fn name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Sent => "sent",
        Outcome::Done => "done",
        Outcome::Refused => "refused",
        Outcome::Stale => "stale",
        Outcome::Failed => "failed",
        Outcome::Unanswered => "unanswered",
        Outcome::Pending => "pending",
    }
}

/// Puts a receipt into its public shape.
pub fn receipt(receipt: &inner::Receipt, cluster: &Cluster, besides: &ReceiptContext) -> Receipt {
    let capacity = |done: &inner::ChangeReceipt| done.change.capacity();
    let done = receipt.done.iter().filter(|it| it.outcome == Outcome::Done);
    let vetoes = done.clone().filter(|it| it.change.only_records()).count();
    Receipt {
        api_version: API_VERSION.to_owned(),
        kind: "Receipt".to_owned(),
        metadata: ReceiptMetadata {
            command: besides.command.to_owned(),
            run: receipt.run.clone(),
            ended_at: receipt.ended.as_ref().map(format_time),
            cluster: cluster_identity(cluster),
            tool: tool(),
            journal: besides.journal.clone(),
            dry_run: besides.dry_run.then(|| "server".to_owned()),
        },
        summary: ReceiptSummary {
            done: receipt.count(Outcome::Done) - vetoes,
            vetoes,
            refused: receipt.count(Outcome::Refused),
            stale: receipt.count(Outcome::Stale),
            failed: receipt.count(Outcome::Failed),
            unanswered: receipt.count(Outcome::Unanswered),
            pending: receipt.count(Outcome::Pending),
            capacity: format_bytes(done.filter_map(capacity).fold(0, Bytes::saturating_add)),
        },
        changes: receipt.done.iter().map(|it| change(it, besides.dry_run)).collect(),
        refusals: receipt.refusals.iter().map(refusal).collect(),
        notes: receipt.notes.clone(),
        gaps: besides.blind.iter().map(gap).collect(),
    }
}

fn change(done: &inner::ChangeReceipt, dry_run: bool) -> DoneChange {
    let unwritten = [Outcome::Refused, Outcome::Stale, Outcome::Failed];
    let wrote = !dry_run && !unwritten.contains(&done.outcome);
    DoneChange {
        object: reference(&done.change.object),
        because: done.change.purpose.id().to_owned(),
        volume: done.change.about.volume.clone().map(volume),
        backend: backend(&done.change.about),
        outcome: name(done.outcome).to_owned(),
        detail: done.detail.clone(),
        entry: done.entry,
        undo: wrote.then(|| undo(done.change.proposal.undo)),
    }
}
