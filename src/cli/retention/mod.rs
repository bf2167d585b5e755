//! `kubectl storage retention`.

mod deletion;
mod manifest;
pub(super) mod named;
mod set;
mod show;
mod simulate;

use clap::{Args, Subcommand};

use std::collections::BTreeSet;

pub(super) use deletion::show_deletion;

use self::{set::SetArgs, show::ShowArgs, simulate::SimulateArgs};
use super::{
    Exit, Failure,
    args::ConnectionArgs,
    collect::tell_permissions,
    terminal,
    writing::{Interrupt, retention_apply::RetentionApplyArgs},
};
use crate::{
    cluster::Unseen,
    model::{RuleId, escape_control},
    output::{report::wrap, wire::Gap},
};

/// Arguments of `retention`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct RetentionArgs {
    #[command(subcommand)]
    command: Option<RetentionCommand>,
    #[command(flatten)]
    show: ShowArgs,
}

/// The subcommands.
const SUBCOMMANDS: [&str; 4] = ["show", "simulate", "set", "apply"];

/// What to do.
#[derive(Debug, Subcommand)]
enum RetentionCommand {
    /// Show the claims of StatefulSets: who owns them, who should, and what would delete them; the default
    Show(Box<ShowArgs>),
    /// Foretell what a change of a StatefulSet, or its deletion, does to each of its claims
    Simulate(Box<SimulateArgs>),
    /// Change the retention policy of StatefulSets, so that their claims are what it says
    Set(Box<SetArgs>),
    /// Have claims follow the retention policies of their StatefulSets: remove owner references that contradict these
    Apply(Box<RetentionApplyArgs>),
}

impl RetentionArgs {
    pub(super) async fn run(
        self,
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        match self.command {
            Some(RetentionCommand::Show(args)) => args.run(connection).await,
            Some(RetentionCommand::Simulate(args)) => args.run(connection).await,
            Some(RetentionCommand::Set(args)) => Box::pin(args.run(connection, interrupt)).await,
            Some(RetentionCommand::Apply(args)) => Box::pin(args.run(connection, interrupt)).await,
            None => self.show.run(connection).await,
        }
    }
}

/// One gap for all that was not read for the same reason, with the rules that could not judge.
fn unread(unseen: BTreeSet<Unseen>, unjudged: &BTreeSet<(Unseen, RuleId)>) -> Vec<Gap> {
    let mut all = unseen;
    all.extend(unjudged.iter().map(|(unseen, _)| unseen.clone()));
    let gap = |unseen: Unseen| Gap {
        ids: unjudged
            .iter()
            .filter(|(of, _)| *of == unseen)
            .map(|(_, rule)| (*rule).to_owned())
            .collect(),
        resource: unseen.kind.plural().to_owned(),
        namespace: unseen.namespace.as_ref().map(ToString::to_string),
        reason: unseen.reason,
    };
    all.into_iter().map(gap).collect()
}

/// Tells what a command could not show because it was not read, on stderr.
fn tell_unread(unread: &[Gap]) {
    for gap in unread {
        let place = gap.namespace.as_ref().map(|it| format!(" of namespace {it}"));
        let line = format!("{}{}: {}", gap.resource, place.unwrap_or_default(), gap.reason);
        let line = format!("not read: {}", escape_control(&line));
        let width = terminal::width().map_or(usize::MAX, usize::from);
        for line in wrap(&line, width) {
            terminal::note(&line);
        }
    }
    if unread.iter().any(|it| it.reason.starts_with("forbidden")) {
        tell_permissions("retention");
    }
}
