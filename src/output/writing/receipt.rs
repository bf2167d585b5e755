//! Documents `kind: Receipt` and `kind: Journal`: the outcome of every change of a plan, and its records.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plan::{BackendVolume, RefusedChange, backend, refusal, undo};
use crate::{
    apply as inner,
    apply::Outcome,
    cluster::Cluster,
    journal::{self, Entry, History, Term},
    model::{Bytes, escape_control, format_bytes, format_time},
    output::{
        lines::{cell, column_width},
        publish::{cluster_identity, gap, reference, tool, volume},
        repeated::RepeatedFlags,
        report::{short_name, wrap},
        wire::{API_VERSION, ClusterIdentity, Gap, ObjectReference, Tool, Volume, is_zero},
    },
    rules::UnreadGap,
};

/// What became of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
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

/// Context of a receipt, besides the outcomes of the changes.
#[derive(Debug, Clone)]
pub struct ReceiptContext<'a> {
    /// The command.
    pub command: &'a str,
    /// The file that holds the journal.
    pub journal: String,
    /// Whether nothing was really written.
    pub dry_run: bool,
    /// The resources that were not read.
    pub blind: &'a [UnreadGap],
}

impl Receipt {
    /// Returns the receipt with these flags in all of its commands.
    #[must_use]
    pub fn repeating(mut self, flags: &RepeatedFlags) -> Self {
        for change in &mut self.changes {
            flags.repeat(&mut change.detail);
            change.undo.iter_mut().for_each(|it| flags.repeat(it));
        }
        self.refusals.iter_mut().for_each(|it| flags.repeat(&mut it.reason));
        self.notes.iter_mut().for_each(|it| flags.repeat(it));
        self
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
        outcome: done.outcome.name().to_owned(),
        detail: done.detail.clone(),
        entry: done.entry,
        undo: wrote.then(|| undo(done.change.proposal.undo)),
    }
}

/// What was done, by one or more clusters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Journal {
    /// `storage.kubectl.dev/v1alpha1`.
    pub api_version: String,
    /// `Journal`.
    pub kind: String,
    /// What printed it.
    pub metadata: JournalMetadata,
    /// One for each cluster that was looked for.
    pub journals: Vec<ClusterJournal>,
}

/// What printed a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct JournalMetadata {
    /// The tool.
    pub tool: Tool,
}

/// What was done to one cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ClusterJournal {
    /// The file that holds it, whose folder is named after the uid of the cluster's namespace
    /// `kube-system`; or the `ConfigMap`s that do.
    pub file: String,
    /// The newest last.
    pub entries: Vec<JournalEntry>,
    /// What is wrong with the file.
    pub notes: Vec<String>,
}

/// What was about to be sent, and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JournalEntry {
    /// Its number in its journal.
    pub entry: u64,
    /// What `undo` and `journal` know it by: `12` in the file of a machine, `c12` in the cluster.
    #[serde(default)]
    pub name: String,
    /// When, by the server's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Which run.
    pub run: String,
    /// The epoch of the leader that recorded it; absent where a person's command did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub term: Option<LeaderTerm>,
    /// The command that asked for it.
    pub command: String,
    /// What was written.
    pub object: ObjectReference,
    /// The kind of write.
    pub action: String,
    /// The remedy.
    pub because: String,
    /// What the volume names at the storage backend.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<BackendVolume>,
    /// The capacity of the volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<String>,
    /// Whether the backend volume was left behind on purpose.
    pub keeps_backend: bool,
    /// The finalizer that was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adds_finalizer: Option<String>,
    /// The finalizer that was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removes_finalizer: Option<String>,
    /// The entry that this one reverses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,
    /// Whether a later one reversed it.
    pub undone: bool,
    /// What is known last: `open` where the run died before it could tell, else `sent`, `done`,
    /// `refused`, `stale`, `failed`, `unanswered` or `pending`.
    pub outcome: String,
    /// Whether it is not known what became of it.
    pub open: bool,
    /// How its end is known, or why not.
    pub detail: String,
    /// What there is to look at, where it is not known what became of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub look: Option<String>,
    /// Everything that was recorded of what became of it.
    pub outcomes: Vec<JournalOutcome>,
    /// What was sent, where a single entry was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<JournalRequest>,
    /// The object as it was before, where a single entry was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pre_image: Option<Value>,
}

/// The epoch of a leader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LeaderTerm {
    /// The uid of the Lease.
    pub lease: String,
    /// How often its holder had changed.
    pub transitions: u64,
}

/// What became of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct JournalOutcome {
    /// When, by the server's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// What.
    pub outcome: String,
    /// The server's words, or what was seen.
    pub detail: String,
}

/// What was sent, to the letter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JournalRequest {
    /// `PATCH`, `POST` or `DELETE`.
    pub method: String,
    /// The path and the query.
    pub path: String,
    /// What the body is.
    pub content_type: String,
    /// The body.
    pub body: Value,
}

/// Puts journals into their public shape.
pub fn journal(journals: Vec<ClusterJournal>) -> Journal {
    Journal {
        api_version: API_VERSION.to_owned(),
        kind: "Journal".to_owned(),
        metadata: JournalMetadata { tool: tool() },
        journals,
    }
}

/// Puts an entry into its public shape; `whole` with its request and its object before it. `look` says what there is to
/// look at where it is open.
pub fn journal_entry(
    entry: &Entry,
    history: &History,
    whole: bool,
    look: impl FnOnce(&Entry) -> String,
) -> JournalEntry {
    let intent = &entry.intent;
    let last = entry.outcomes.last();
    JournalEntry {
        entry: entry.sequence,
        name: history.numbered(entry.sequence).to_string(),
        at: entry.at.as_ref().map(format_time),
        run: entry.run.clone(),
        term: entry.term.as_ref().map(leader_term),
        command: intent.command.clone(),
        object: reference(&intent.object),
        action: intent.action.clone(),
        because: intent.because.clone(),
        backend: intent
            .backend
            .as_ref()
            .map(|it| BackendVolume { driver: it.driver.clone(), handle: it.handle.clone() }),
        capacity: intent.capacity.clone(),
        keeps_backend: intent.keeps,
        adds_finalizer: intent.adds_finalizer.clone(),
        removes_finalizer: intent.removes_finalizer.clone(),
        undoes: intent.undoes,
        undone: history.undone().contains(&entry.sequence),
        outcome: entry.last().map_or("open", journal::Outcome::name).to_owned(),
        open: entry.is_open(),
        detail: last.map(|it| it.detail.clone()).unwrap_or_default(),
        look: entry.is_open().then(|| look(entry)),
        outcomes: entry
            .outcomes
            .iter()
            .map(|it| JournalOutcome {
                at: it.at.as_ref().map(format_time),
                outcome: it.outcome.name().to_owned(),
                detail: it.detail.clone(),
            })
            .collect(),
        request: whole.then(|| JournalRequest {
            method: intent.request.method.clone(),
            path: intent.request.path.clone(),
            content_type: intent.request.content_type.clone(),
            body: intent.request.body.clone(),
        }),
        pre_image: intent.pre_image.clone().filter(|_| whole),
    }
}

/// Puts the epoch of a leader into its public shape.
pub fn leader_term(term: &Term) -> LeaderTerm {
    LeaderTerm { lease: term.lease.clone(), transitions: term.transitions }
}

/// Prints the entries of a journal, the newest last.
///
/// # Errors
/// When writing fails.
pub fn journal_table(out: &mut dyn Write, journal: &Journal, width: usize) -> io::Result<()> {
    let several = journal.journals.len() > 1;
    for of in &journal.journals {
        if several {
            writeln!(out, "{}", escape_control(&of.file))?;
        }
        let when = |entry: &JournalEntry| entry.at.clone().unwrap_or_else(|| "?".to_owned());
        let times: Vec<String> = of.entries.iter().map(when).collect();
        let columns = [
            column_width(7, of.entries.iter().map(|it| &*it.name)),
            column_width(22, times.iter().map(|it| &**it)),
            column_width(12, of.entries.iter().map(|it| &*it.outcome)),
        ];
        let row = |cells: [&str; 3]| {
            cells.iter().zip(columns).map(|(it, width)| cell(it, width)).collect::<String>()
        };
        if !of.entries.is_empty() {
            writeln!(out, "{}OBJECT", row(["ENTRY", "WHEN", "OUTCOME"]))?;
        }
        for (entry, when) in of.entries.iter().zip(&times) {
            let object = short_name(&entry.object);
            let object = escape_control(&object);
            writeln!(out, "{}{object}", row([&entry.name, when, &entry.outcome]))?;
            for fact in facts(entry) {
                for line in wrap(&escape_control(&fact), width.max(40) - 4) {
                    writeln!(out, "    {line}")?;
                }
            }
        }
    }
    Ok(())
}

fn facts(entry: &JournalEntry) -> Vec<String> {
    let mut facts = Vec::new();
    // What it undoes is in the same journal.
    let place = entry.name.trim_end_matches(|it: char| it.is_ascii_digit());
    let undoes = entry.undoes.map(|it| format!(", undoes entry {place}{it}")).unwrap_or_default();
    let undone = if entry.undone { ", was undone" } else { "" };
    let detail = match entry.detail.as_str() {
        "" => String::new(),
        detail => format!(": {detail}"),
    };
    facts.push(format!("{}, {}{undoes}{undone}{detail}", entry.command, entry.action));
    facts.extend(entry.adds_finalizer.iter().map(|it| format!("adds finalizer {it}")));
    facts.extend(entry.removes_finalizer.iter().map(|it| format!("removes finalizer {it}")));
    if let Some(backend) = entry.backend.as_ref().filter(|_| entry.keeps_backend && !entry.undone) {
        let capacity = entry.capacity.as_deref().unwrap_or("?");
        facts.push(format!("keeps {} {}, {capacity}", backend.driver, backend.handle));
    }
    facts.extend(entry.look.clone());
    if let Some(request) = &entry.request {
        facts.push(format!("{} {}", request.method, request.path));
        facts.push(request.body.to_string());
    }
    facts
}
