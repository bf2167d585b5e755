//! Document `kind: WatchStatus`: whether `watch` may act, who leads, and what was done last.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::publish::tool;
use super::report::{short_name, wrap};
use super::wire::{API_VERSION, Tool};
use super::writing::{JournalEntry, LeaderTerm};
use crate::model::escape_control;

/// What there is of `watch` in a namespace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WatchStatus {
    /// `storage.kubectl.dev/v1alpha1`.
    pub api_version: String,
    /// `WatchStatus`.
    pub kind: String,
    /// Where, and by which version.
    pub metadata: WatchStatusMetadata,
    /// Whether it may act.
    pub pause: WatchPause,
    /// Who leads.
    pub leaders: WatchLeaders,
    /// What was done.
    pub journal: WatchJournal,
}

/// Where, and by which version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WatchStatusMetadata {
    /// The namespace.
    pub namespace: String,
    /// The tool.
    pub tool: Tool,
}

/// Whether `watch` may act.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WatchPause {
    /// Whether it changes nothing. Only a ConfigMap that says so lets it act.
    pub paused: bool,
    /// What the ConfigMap is: `paused`, `resumed`, `missing`, `malformed` or `unreadable`.
    pub record: String,
    /// Since when, by the server's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Who paused or resumed it, as the ConfigMap has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What is wrong with the ConfigMap, or why it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrong: Option<String>,
}

/// Who leads.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WatchLeaders {
    /// The Leases of all elections in the namespace: policies may have one of their own.
    pub leases: Vec<WatchLeader>,
    /// Why the Leases could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
}

/// Who leads by a Lease.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WatchLeader {
    /// The name of the Lease.
    pub name: String,
    /// Its holder; absent where it was given back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// When the holder renewed it last, by its own clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renewed: Option<String>,
    /// The namespaces whose records pause the holder: the first has to say that it may act, and none of the others
    /// anything else. Empty for an earlier version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paused_by: Vec<String>,
    /// Since when announcements count, where the Lease had a gap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts_from: Option<String>,
    /// The epoch, which each of its journal entries has.
    pub term: LeaderTerm,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WatchJournal {
    /// The `ConfigMap`s that hold the journal.
    pub place: String,
    /// How many entries there are.
    pub entries: usize,
    /// How many of them have an unknown outcome.
    pub open: usize,
    /// The last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<JournalEntry>,
    /// What is wrong with the journal.
    pub notes: Vec<String>,
    /// Why it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
}

/// Puts a status into its public shape.
pub fn watch_status(
    namespace: &str,
    pause: WatchPause,
    leaders: WatchLeaders,
    journal: WatchJournal,
) -> WatchStatus {
    WatchStatus {
        api_version: API_VERSION.to_owned(),
        kind: "WatchStatus".to_owned(),
        metadata: WatchStatusMetadata { namespace: namespace.to_owned(), tool: tool() },
        pause,
        leaders,
        journal,
    }
}

/// Prints a status as text, with a paragraph for each part. What others wrote is escaped.
///
/// # Errors
/// When writing fails.
pub fn watch_status_text(
    out: &mut dyn Write,
    status: &WatchStatus,
    width: usize,
) -> io::Result<()> {
    const INDENT: usize = 9;
    let acting = ("acting", pause_line(&status.pause));
    let leaders = leader_lines(&status.leaders).into_iter().map(|it| ("leader", it));
    let journal = ("journal", journal_line(&status.journal));
    for (name, text) in std::iter::once(acting).chain(leaders).chain([journal]) {
        let lines = wrap(&escape_control(&text), width.max(40) - INDENT);
        for (index, line) in lines.iter().enumerate() {
            let name = if index == 0 { name } else { "" };
            writeln!(out, "{name:<INDENT$}{line}")?;
        }
    }
    Ok(())
}

fn pause_line(pause: &WatchPause) -> String {
    let state = match (&*pause.record, &pause.wrong) {
        ("missing", _) => "paused: no ConfigMap says that it may act".to_owned(),
        (_, Some(wrong)) => format!("paused: the ConfigMap is {}: {wrong}", pause.record),
        (_, None) if pause.paused => "paused".to_owned(),
        (_, None) => "not paused".to_owned(),
    };
    let since = pause.since.as_ref().map(|it| format!(" since {it}")).unwrap_or_default();
    let by = pause.by.as_ref().map(|it| format!(" by {it}")).unwrap_or_default();
    let reason = pause.reason.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
    format!("{state}{since}{by}{reason}")
}

fn leader_lines(leaders: &WatchLeaders) -> Vec<String> {
    match (&leaders.unread, &*leaders.leases) {
        (Some(why), _) => vec![format!("unknown: {why}")],
        (None, []) => vec!["none: there is no Lease".to_owned()],
        (None, leases) => leases.iter().map(leader_line).collect(),
    }
}

fn leader_line(leader: &WatchLeader) -> String {
    let WatchLeader { name, holder, renewed, paused_by, counts_from, term } = leader;
    let holder = match (holder, renewed) {
        (None, _) => "none: the Lease was given back".to_owned(),
        (Some(holder), None) => holder.clone(),
        (Some(holder), Some(renewed)) => format!("{holder}, renewed {renewed}"),
    };
    let reads = match &**paused_by {
        [] => String::new(),
        reads => format!("; paused by the record in {}", reads.join(" or in ")),
    };
    let counts = counts_from.as_ref().map(|it| format!("; announcements count from {it}"));
    let counts = counts.unwrap_or_default();
    format!("{holder}; term {} of lease/{name}{reads}{counts}", term.transitions)
}

fn journal_line(journal: &WatchJournal) -> String {
    if let Some(why) = &journal.unread {
        return format!("unknown: {why}");
    }
    let Some(last) = &journal.last else { return format!("no entry in {}", journal.place) };
    let at = last.at.as_deref().unwrap_or("?");
    let open = match journal.open {
        0 => String::new(),
        count => format!("; {count} open"),
    };
    let object = short_name(&last.object);
    format!(
        "entry {} at {at}: {}, {} {object}: {}{open}",
        last.name, last.command, last.action, last.outcome
    )
}
