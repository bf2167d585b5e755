//! `kubectl storage retention` and its subcommands, of which `set` is here.

mod manifest;
pub(super) mod named;
mod show;
mod simulate;

use clap::{Args, Subcommand};
use manifest::parse_retention;
pub(super) use named::show_deletion;
use named::{NamedSets, only_namespace};
use show::ShowArgs;
use simulate::SimulateArgs;

use super::{
    Exit, Failure, Interrupt,
    args::{ConnectionArgs, namespace},
    collect::collect,
    writing::{
        SavedArgs, WriteArgs, perform::perform, retention_reconcile::RetentionReconcileArgs,
    },
};
use crate::{
    model::{Kind, ObjectKey, Retention},
    plan,
    remedies::RetentionRequest,
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

/// Names of the subcommands.
const SUBCOMMANDS: [&str; 4] = ["show", "simulate", "set", "reconcile"];

/// What to do.
#[derive(Debug, Subcommand)]
enum RetentionCommand {
    /// Show the claims of StatefulSets: who owns them, who should, and what would delete them; the default
    Show(Box<ShowArgs>),
    /// Preview a StatefulSet change, or its deletion: what becomes of each claim
    Simulate(Box<SimulateArgs>),
    /// Set whenDeleted or whenScaled of StatefulSets
    Set(Box<SetArgs>),
    /// Make owner references of claims match the retention policies of their StatefulSets
    Reconcile(Box<RetentionReconcileArgs>),
}

impl RetentionArgs {
    pub(super) async fn run(
        self,
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        match self.command {
            Some(RetentionCommand::Show(args)) => Box::pin(args.run(connection)).await,
            Some(RetentionCommand::Simulate(args)) => Box::pin(args.run(connection)).await,
            Some(RetentionCommand::Set(args)) => Box::pin(args.run(connection, interrupt)).await,
            Some(RetentionCommand::Reconcile(args)) => {
                Box::pin(args.run(connection, interrupt)).await
            }
            None => Box::pin(self.show.run(connection)).await,
        }
    }
}

/// Arguments of `retention set`.
#[derive(Debug, Args)]
pub struct SetArgs {
    /// Change the policy of these StatefulSets, as NAME or sts/NAME
    #[arg(value_name = "NAME|sts/NAME", required = true)]
    names: Vec<String>,
    /// Set whenDeleted to Retain or Delete
    #[arg(long, value_name = "POLICY", value_parser = parse_retention)]
    when_deleted: Option<Retention>,
    /// Set whenScaled to Retain or Delete
    #[arg(long, value_name = "POLICY", value_parser = parse_retention)]
    when_scaled: Option<Retention>,
    /// Find the StatefulSets in this namespace [default: that of the context]
    #[arg(short, long, value_name = "NAMESPACE", value_parser = namespace)]
    namespace: Option<String>,
    /// Assert that the data which a scale-down in progress, or an autoscaler, then destroys is not needed
    #[arg(long)]
    destroy_data: bool,
    #[command(flatten)]
    saved: SavedArgs,
    #[command(flatten)]
    write: WriteArgs,
}

impl SetArgs {
    async fn run(
        self,
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        let format = self.write.format()?;
        if self.when_deleted.is_none() && self.when_scaled.is_none() {
            return Err(Failure::usage("no policy is given")
                .hint(Some("pass --when-deleted, --when-scaled or both")));
        }
        let named = NamedSets::parse(&self.names, self.namespace.as_deref(), false, None)?;
        let mut settings = self.write.settings();
        settings.destroy_data = self.destroy_data;
        let from = self.saved.or_watched(connection, self.namespace.as_deref())?;
        let mut collected = collect(from, &settings, None).await?;
        collected.expect_namespaces(self.namespace.as_deref()).await?;
        let given = self.namespace.clone().or_else(|| collected.namespace.clone());
        let cluster = &collected.intake.cluster;
        let key = |name: &String| {
            let namespace = match &given {
                Some(namespace) => namespace.clone(),
                // A dump has no context that could name a namespace.
                None => only_namespace(cluster, name)?,
            };
            Ok(ObjectKey::named(Kind::StatefulSet, &namespace, name))
        };
        let sets = named.names.iter().map(key).collect::<Result<Vec<_>, Failure>>()?;
        let request = RetentionRequest {
            when_deleted: self.when_deleted,
            when_scaled: self.when_scaled,
            undoes: None,
        };
        let plan = collected.make(&settings, |cx| plan::set_retention(cx, &sets, &request)).await?;
        Box::pin(perform(collected, plan, &self.write, &format, interrupt)).await
    }
}
