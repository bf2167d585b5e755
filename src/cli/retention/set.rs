//! `kubectl storage retention set`.

use clap::Args;

use super::{
    manifest::parse_retention,
    named::{NamedSets, only_namespace},
};
use crate::{
    cli::{
        Exit, Failure,
        args::ConnectionArgs,
        collect::collect,
        writing::{Interrupt, SavedArgs, WriteArgs, perform::perform},
    },
    model::{Kind, ObjectKey, Retention},
    plan,
    remedies::RetentionRequest,
};

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
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Set whenScaled to Delete although a scale-down in progress, or an autoscaler, deletes claims with their data then
    #[arg(long)]
    destroy_data: bool,
    #[command(flatten)]
    saved: SavedArgs,
    #[command(flatten)]
    write: WriteArgs,
}

impl SetArgs {
    pub(super) async fn run(
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
