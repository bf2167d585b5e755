//! `kubectl storage undo`: reverses what an entry of the journal changed.

use clap::Args;

use super::{WriteArgs, journal, perform};
use crate::{
    cli::{
        Exit, Failure, Interrupt,
        args::ConnectionArgs,
        collect::{ClusterSource, collect},
        terminal,
    },
    journal::History,
    model::{AskedEntry, JournalPlace, escape_control},
    plan,
};

/// Arguments of `undo`.
#[derive(Debug, Args)]
pub struct UndoArgs {
    /// Revert this entry of the journal [default: the last that can be undone]
    #[arg(value_name = "ENTRY")]
    entry: Option<AskedEntry>,
    #[command(flatten)]
    write: WriteArgs,
}

/// Number of later entries, which cannot be undone, that are named.
const NAMED: usize = 5;

impl UndoArgs {
    pub(in crate::cli) async fn run(
        self,
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        let format = self.write.format()?;
        self.write.rests_on_the_journal("undo")?;
        let asked = self.write.journal.entry(self.entry)?;
        let settings = self.write.settings();
        let from = ClusterSource::Watched { connection, namespace: None };
        let mut collected = collect(from, &settings, None).await?;
        let history = journal::recall(&collected).await?;
        let Some(wanted) = asked.or_else(|| last_undoable(&history)) else {
            terminal::note("no entry of the journal can be undone");
            tell_of_others(&history);
            return Ok(Exit::Done);
        };
        let Some(entry) = history.entry(wanted) else {
            return Err(journal::no_entry(&history, wanted));
        };
        let undo = |cx: &crate::cluster::Cx| plan::undo(cx, &history, entry);
        let plan = collected.make(&settings, undo).await?;
        Box::pin(perform::perform(collected, plan, &self.write, &format, interrupt)).await
    }
}

/// Returns the last entry that can be undone, and tells why later ones cannot.
fn last_undoable(history: &History) -> Option<u64> {
    let undoable = plan::undoable(history);
    for (entry, reason) in undoable.passed.iter().take(NAMED) {
        let entry = history.numbered(*entry);
        let told = format!("note: entry {entry} cannot be undone: {reason}");
        terminal::note(&escape_control(&told));
    }
    undoable.entry
}

/// Tells where else there is something to undo: without a named journal, another one may be meant.
fn tell_of_others(history: &History) {
    for other in &history.others {
        if let Some(entry) = plan::undoable(other).entry.filter(|_| other.distrusted.is_none()) {
            let instead = match other.place {
                JournalPlace::Machine => " without --cluster-journal",
                JournalPlace::Cluster(_) => "",
            };
            terminal::note(&format!(
                "hint: `undo {}`{instead} reverts the last one of the journal {}",
                other.numbered(entry).arguments(),
                other.place
            ));
        }
    }
}

impl WriteArgs {
    /// Refuses to save a plan that is made from the journal of this machine: no other could carry it out.
    pub(super) fn rests_on_the_journal(&self, command: &str) -> Result<(), Failure> {
        self.rests_on(command, "the journal")
    }

    /// Refuses to save a plan that is made from what only this machine has: no other could carry it out.
    pub(super) fn rests_on(&self, command: &str, what: &str) -> Result<(), Failure> {
        match self.plan_out {
            None => Ok(()),
            Some(_) => Err(Failure::usage(format!("a plan of {command} cannot be saved"))
                .hint(Some(format!("it depends on {what}; --dry-run=client shows it")))),
        }
    }
}
