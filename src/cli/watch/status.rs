//! `watch status`: whether `watch` may act, who leads, and what was done last.

use std::time::Duration;

use clap::Args;

use crate::{
    apply::{LeaseWriter, RecordWriter, cluster_history, cluster_journal},
    cli::{
        Exit, Failure,
        args::{ConnectionArgs, WATCH_NAMESPACE, namespace},
        connecting::connect,
        terminal,
    },
    client::{Connection, Reader},
    model::{escape_control, format_time},
    output::{
        format::Format,
        list,
        watch_status::{WatchJournal, WatchLeader, WatchPause, watch_status, watch_status_lines},
        writing,
    },
    watch::{
        pause::{PAUSE, Pause, PauseRecord},
        policy::LeaseName,
    },
};

/// How long an answer about the Lease may take.
const PATIENCE: Duration = Duration::from_secs(10);

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
    /// Print in this format: table, json or yaml
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: String,
}

impl StatusArgs {
    pub(super) async fn run(self, connection: &ConnectionArgs) -> Result<Exit, Failure> {
        let format = self.format()?;
        let connected = connect(connection, None).await?;
        let namespace = self.place.namespace();
        let (pause, leader, journal) = futures::join!(
            pause(&connected, namespace),
            leader(&connected, namespace),
            journal(&connected, namespace)
        );
        let unread =
            pause.record == "unreadable" || leader.unread.is_some() || journal.unread.is_some();
        let shape = watch_status(namespace, pause, leader, journal);
        terminal::print(|out| match format {
            Format::Json => list::json(out, &shape),
            Format::Yaml => list::yaml(out, &shape),
            _ => {
                let mut lines = watch_status_lines(&shape).into_iter();
                lines.try_for_each(|line| writeln!(out, "{}", escape_control(&line)))
            }
        })
        .map_err(Failure::error)?;
        for note in &shape.journal.notes {
            terminal::note(&escape_control(&format!("note: {}: {note}", shape.journal.place)));
        }
        Ok(if unread { Exit::Incomplete } else { Exit::Done })
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

async fn pause(connection: &Connection, namespace: &str) -> WatchPause {
    let writer = RecordWriter::new(connection, "kubectl-storage", (namespace, PAUSE));
    let read = writer.read().await;
    let pause = Pause::of(match &read {
        Ok(stored) => Ok(stored.as_ref()),
        Err(error) => Err(error.to_string()),
    });
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

async fn leader(connection: &Connection, namespace: &str) -> WatchLeader {
    let lease = LeaseWriter::new(connection, (namespace, LeaseName::DEFAULT), PATIENCE);
    match lease.read().await {
        Err(why) => WatchLeader { unread: Some(why), ..WatchLeader::default() },
        Ok((None, _)) => WatchLeader::default(),
        Ok((Some(lease), _)) => WatchLeader {
            holder: Some(lease.holder().to_owned()).filter(|it| !it.is_empty()),
            renewed: lease.renewed().as_ref().map(format_time),
            term: Some(writing::LeaderTerm {
                lease: lease.uid().to_owned(),
                transitions: lease.transitions(),
            }),
            unread: None,
        },
    }
}

async fn journal(connection: &Connection, namespace: &str) -> WatchJournal {
    let read = cluster_history(&Reader::new(connection), namespace).await;
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
