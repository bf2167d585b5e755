//! `watch status`: whether `watch` may act, who leads, and what was done last.

use std::{collections::BTreeSet, path::PathBuf};

use clap::Args;

use crate::{
    apply::{StoredLease, cluster_history, cluster_journal, journal_namespaces, leases},
    cli::{
        Exit, Failure,
        args::{ConnectionArgs, JOURNAL_NAMESPACE, WATCH_NAMESPACE, format, namespace},
        collect::connect,
        completion::{DOCUMENTS, formats},
        policy_refused, terminal,
    },
    client::{Connection, Reader},
    model::{escape_control, format_time},
    output::{
        format::Format,
        list,
        watch_status::{
            WatchJournal, WatchLeader, WatchLeaders, WatchPause, watch_status, watch_status_text,
        },
        writing,
    },
    watch::{
        pause::{self, Pause, PauseRecord},
        policy::{LeaseName, PolicyFile, PolicySource},
    },
};

/// Where `watch` has its records.
#[derive(Debug, Args)]
pub(super) struct WatchPlaceArgs {
    /// Look in this namespace: clusterJournal of the policy, or else that in which watch runs [default: kubectl-storage]
    #[arg(short, long, value_name = "NAMESPACE", value_parser = namespace)]
    namespace: Option<String>,
    /// Look where this policy has its records; then -n is the namespace in which watch runs [default: that of the context]
    #[arg(short, long = "filename", value_name = "POLICY", value_hint = clap::ValueHint::FilePath)]
    filename: Option<PathBuf>,
}

impl WatchPlaceArgs {
    /// Returns the namespace of the records. `context` is that of the connection.
    ///
    /// # Errors
    /// When the policy cannot be read.
    pub(super) fn records(&self, context: &str) -> Result<String, Failure> {
        let Some(path) = &self.filename else {
            return Ok(self.namespace.as_deref().unwrap_or(WATCH_NAMESPACE).to_owned());
        };
        let file =
            PolicyFile::open(PolicySource::parse(path)).map_err(|error| policy_refused(&error))?;
        let here = self.namespace.as_deref().unwrap_or(context);
        Ok(file.policy().places(here).records.to_string())
    }
}

/// Returns notes about leading processes that the record in one namespace does not pause, or that another one pauses
/// too.
async fn readers(connected: &Connection, namespace: &str) -> Vec<String> {
    let reader = Reader::new(connected);
    let mut notes = Vec::new();
    // Who may not list all Leases sees those beside the record.
    let listed = match leases(&reader, None).await {
        Ok(listed) => Ok(listed),
        Err(error) => {
            notes.push(format!(
                "note: unknown whether a process in another namespace acts, which this may not pause: {error}"
            ));
            leases(&reader, Some(namespace)).await
        }
    };
    let (found, now) = match listed {
        Ok(listed) => listed,
        Err(error) => {
            return vec![format!("note: unknown which processes read this: {error}")];
        }
    };
    let is_live = |it: &&StoredLease| {
        let leads = LeaseName::is_own(it.name()) && !it.holder().is_empty();
        // One that was just created has no time yet.
        leads && (it.renewed().is_none() || now.is_none_or(|now| !it.has_gap(now)))
    };
    for lease in found.iter().filter(is_live) {
        let who = format!("{} (lease {}/{})", lease.holder(), lease.namespace(), lease.name());
        let reads = lease.reads();
        let Some(first) = reads.first() else {
            notes.push(format!(
                "warning: unknown which record pauses {who}: it is of an earlier version of kubectl storage"
            ));
            continue;
        };
        if !reads.contains(&namespace) {
            notes.push(format!(
                "warning: {who} does not read this record: it is paused and resumed by -n {first}"
            ));
            continue;
        }
        for other in reads.iter().copied().filter(|it| *it != namespace) {
            let said = pause::read(connected, "kubectl-storage", other).await;
            let is_silent = other != *first && said.record == PauseRecord::Missing;
            if !said.may_act() && !is_silent {
                notes.push(format!(
                    "note: {who} also reads configmap {other}/{}, which is {}, so that it is paused; \
                     -n {other} changes that",
                    pause::PAUSE,
                    said.record.name()
                ));
            }
        }
    }
    notes
}

/// Tells notes about leading processes and the records that pause them.
pub(super) async fn tell_readers(connected: &Connection, namespace: &str) {
    for note in readers(connected, namespace).await {
        terminal::note(&escape_control(&note));
    }
}

/// Arguments of `watch status`.
#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    place: WatchPlaceArgs,
    /// Look at the journal in this namespace [default: that of watch, or kubectl-storage-journal, or the only one that holds one]
    #[arg(long, value_name = "NAMESPACE", default_missing_value = JOURNAL_NAMESPACE,
          num_args = 0..=1, require_equals = true, value_parser = namespace)]
    cluster_journal: Option<String>,
    /// Print in this format: table, json or yaml
    #[arg(short, long, value_name = "FORMAT", default_value = "table", add = formats(DOCUMENTS))]
    output: String,
}

impl StatusArgs {
    pub(super) async fn run(self, connection: &ConnectionArgs) -> Result<Exit, Failure> {
        let format = self.format()?;
        let connected = connect(connection, None).await?;
        let namespace = &*self.place.records(&connected.namespace)?;
        let reader = Reader::new(&connected);
        let (pause, leaders, journal) = futures::join!(
            pause::read(&connected, "kubectl-storage", namespace),
            leaders(&reader, namespace),
            self.journal(&reader, namespace)
        );
        let (journal, elsewhere) = journal;
        let pause = shown(pause);
        let unread =
            pause.record == "unreadable" || leaders.unread.is_some() || journal.unread.is_some();
        let shape = watch_status(namespace, pause, leaders, journal);
        terminal::print(|out| match format {
            Format::Json => list::json(out, &shape),
            Format::Yaml => list::yaml(out, &shape),
            _ => watch_status_text(out, &shape, terminal::width().map_or(80, usize::from)),
        })
        .map_err(Failure::error)?;
        tell_readers(&connected, namespace).await;
        for note in &shape.journal.notes {
            terminal::note(&escape_control(&format!("note: {}: {note}", shape.journal.place)));
        }
        for namespace in elsewhere {
            terminal::note(&format!(
                "hint: namespace {} holds another journal: --cluster-journal={0}",
                escape_control(&namespace)
            ));
        }
        if unread {
            terminal::note(&format!(
                "hint: `kubectl storage rbac watch-status --check -n {namespace}` lists the \
                 permissions that you lack"
            ));
        }
        Ok(if unread { Exit::Incomplete } else { Exit::Done })
    }

    /// Returns the journal, and the namespaces that hold others, as far as that is known.
    async fn journal(&self, reader: &Reader, namespace: &str) -> (WatchJournal, BTreeSet<String>) {
        // `watch` has it beside the record that pauses it.
        let likely = [namespace, JOURNAL_NAMESPACE];
        let mut found = journal_namespaces(reader, &likely).await;
        let chosen = match &self.cluster_journal {
            Some(namespace) => namespace.clone(),
            None => chosen(&found, &likely).to_owned(),
        };
        found.remove(&chosen);
        (journal(reader, &chosen).await, found)
    }

    fn format(&self) -> Result<Format, Failure> {
        format(&self.output, &[Format::Table, Format::Json, Format::Yaml], |it| {
            format!("unsupported format {it}; a status is printed as table, json or yaml")
        })
    }
}

fn shown(pause: Pause) -> WatchPause {
    WatchPause {
        paused: !pause.may_act(),
        record: pause.record.name().to_owned(),
        since: pause.since.as_ref().map(format_time),
        by: pause.by,
        reason: pause.reason,
        wrong: match pause.record {
            PauseRecord::Malformed(why) | PauseRecord::Unreadable(why) => Some(why),
            PauseRecord::Resumed | PauseRecord::Paused | PauseRecord::Missing => None,
        },
    }
}

/// Returns the leaders by the Leases in a namespace: each policy may have an election of its own.
async fn leaders(reader: &Reader, namespace: &str) -> WatchLeaders {
    match leases(reader, Some(namespace)).await {
        Err(error) => WatchLeaders { unread: Some(error.to_string()), leases: Vec::new() },
        Ok((found, _)) => {
            let own = found.iter().filter(|it| LeaseName::is_own(it.name()));
            WatchLeaders { leases: own.map(leader).collect(), unread: None }
        }
    }
}

fn leader(lease: &StoredLease) -> WatchLeader {
    WatchLeader {
        name: lease.name().to_owned(),
        holder: Some(lease.holder().to_owned()).filter(|it| !it.is_empty()),
        renewed: lease.renewed().as_ref().map(format_time),
        paused_by: lease.reads().into_iter().map(str::to_owned).collect(),
        counts_from: lease.restarted().as_ref().map(format_time),
        term: writing::LeaderTerm {
            lease: lease.uid().to_owned(),
            transitions: lease.transitions(),
        },
    }
}

/// Returns the first likely namespace that holds a journal, else the only one that does.
fn chosen<'a>(found: &'a BTreeSet<String>, likely: &[&'a str]) -> &'a str {
    let first = likely.iter().copied().find(|it| found.contains(*it));
    let mut all = found.iter().map(String::as_str);
    let only = all.next().filter(|_| all.next().is_none());
    first.or(only).unwrap_or(JOURNAL_NAMESPACE)
}

async fn journal(reader: &Reader, namespace: &str) -> WatchJournal {
    let read = cluster_history(reader, namespace).await;
    let (history, unread) = match read {
        Ok(history) => (history, None),
        Err(error) => (crate::journal::History::default(), Some(error.with_cause())),
    };
    let look =
        |_: &crate::journal::Entry| "`journal --cluster-journal` looks at its object".to_owned();
    let last = history.entries.last();
    WatchJournal {
        place: cluster_journal(namespace),
        entries: history.entries.len(),
        open: history.open().count(),
        last: last.map(|it| writing::journal_entry(it, &history, false, look)),
        notes: history.notes,
        unread,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_of_watch_comes_first_and_of_several_others_none_is_guessed() {
        let found = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
        let likely = ["kubectl-storage", JOURNAL_NAMESPACE];
        for (names, expected) in [
            (&[][..], JOURNAL_NAMESPACE),
            (&["other"], "other"),
            (&["other", "third"], JOURNAL_NAMESPACE),
            (&["other", JOURNAL_NAMESPACE], JOURNAL_NAMESPACE),
            (&["kubectl-storage", JOURNAL_NAMESPACE], "kubectl-storage"),
        ] {
            let found: BTreeSet<String> = found(names);
            assert_eq!(chosen(&found, &likely), expected, "{names:?}");
        }
    }
}
