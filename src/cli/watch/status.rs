//! `watch status`: whether `watch` may act, who leads, and what was done last.

use std::collections::BTreeSet;

use clap::Args;

use crate::{
    apply::{StoredLease, cluster_history, cluster_journal, journal_namespaces, leases},
    cli::{
        Exit, Failure,
        args::{ConnectionArgs, JOURNAL_NAMESPACE, WATCH_NAMESPACE, namespace},
        connecting::connect,
        terminal,
    },
    client::Reader,
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
        policy::LeaseName,
    },
};

/// Where `watch` runs.
#[derive(Debug, Args)]
pub(super) struct WatchPlaceArgs {
    /// Look in the namespace in which watch runs
    #[arg(short, long, value_name = "NAMESPACE", default_value = WATCH_NAMESPACE, value_parser = namespace)]
    namespace: String,
}

impl WatchPlaceArgs {
    /// The namespace.
    pub(super) fn namespace(&self) -> &str {
        &self.namespace
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
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: String,
}

impl StatusArgs {
    pub(super) async fn run(self, connection: &ConnectionArgs) -> Result<Exit, Failure> {
        let format = self.format()?;
        let connected = connect(connection, None).await?;
        let namespace = self.place.namespace();
        let reader = Reader::new(&connected);
        let (pause, leaders, journal) = futures::join!(
            pause::read(&connected, "kubectl-storage", namespace),
            leaders(&reader, namespace),
            self.journal(&reader)
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

    /// The journal, and the namespaces that hold others, as far as that is known.
    async fn journal(&self, reader: &Reader) -> (WatchJournal, BTreeSet<String>) {
        // `watch` has it in its own namespace, unless its policy names another one.
        let likely = [self.place.namespace(), JOURNAL_NAMESPACE];
        let mut found = journal_namespaces(reader, &likely).await;
        let chosen = match &self.cluster_journal {
            Some(namespace) => namespace.clone(),
            None => chosen(&found, &likely).to_owned(),
        };
        found.remove(&chosen);
        (journal(reader, &chosen).await, found)
    }

    fn format(&self) -> Result<Format, Failure> {
        let parsed = self.output.parse::<Format>();
        match parsed.map_err(|error| Failure::usage(error.to_string()))? {
            format @ (Format::Table | Format::Json | Format::Yaml) => Ok(format),
            _ => Err(Failure::usage(format!(
                "unsupported format {:?}; a status is printed as table, json or yaml",
                self.output
            ))),
        }
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

/// Who leads, by the Leases of all elections: each policy may have one of its own.
async fn leaders(reader: &Reader, namespace: &str) -> WatchLeaders {
    match leases(reader, namespace).await {
        Err(error) => WatchLeaders { unread: Some(error.to_string()), leases: Vec::new() },
        Ok(found) => {
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
        term: writing::LeaderTerm {
            lease: lease.uid().to_owned(),
            transitions: lease.transitions(),
        },
    }
}

/// The first that is likely to hold the journal and does, or else the only one that does.
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
