//! `kubectl storage retention reconcile`.

use clap::{ArgGroup, Args};

use super::{SavedArgs, WriteArgs, perform};
use crate::{
    cli::{
        Exit, Failure, Interrupt,
        args::{
            ConnectionArgs, MinimumAge, StorageArgs, ThresholdSetting, namespace,
            threshold_candidates,
        },
        collect::collect,
        retention::named::NamedSets,
    },
    model::{Settings, Text, Threshold},
    plan,
    watch::acting::{Work, WorkTerms},
};

/// Arguments of `retention reconcile`.
#[expect(clippy::struct_excessive_bools, reason = "each is a danger of its own")]
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("data"))]
pub struct RetentionReconcileArgs {
    /// Reconcile the claims of these StatefulSets, as NAME or sts/NAME; of all without names
    #[arg(value_name = "NAME|sts/NAME")]
    names: Vec<String>,
    /// Reconcile StatefulSets of this namespace [default: that of the context; all of a dump]
    #[arg(short, long, value_name = "NAMESPACE", value_parser = namespace, conflicts_with = "all_namespaces")]
    namespace: Option<String>,
    /// Reconcile StatefulSets of all namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Reconcile only StatefulSets with these labels
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    selector: Option<String>,
    /// Also add the owner references that whenDeleted Delete requires to claims without a pod, which are then deleted with their StatefulSet
    #[arg(long)]
    add_owners: bool,
    /// Also delete claims that scale-downs left, where whenScaled is Delete
    #[arg(long, requires = "older_than")]
    delete_leftovers: bool,
    /// Delete claims that have been out of range for at least this long, such as 7d
    #[arg(
        long,
        value_name = "DURATION",
        requires = "delete_leftovers",
        allow_hyphen_values = true
    )]
    older_than: Option<MinimumAge>,
    /// Assert that claims out of range since an unknown time are old enough
    #[arg(long, requires = "delete_leftovers")]
    include_unknown_age: bool,
    /// Assert that StatefulSets with 0 replicas, or scaled automatically, do not need these claims
    #[arg(long, requires = "delete_leftovers")]
    replicas_zero: bool,
    /// Set the volume of a claim to Retain first: it becomes Released with its data
    #[arg(long, group = "data", requires = "delete_leftovers")]
    keep_data: bool,
    /// Assert that the data is not needed: the controller of the volume destroys it
    #[arg(long, group = "data", requires = "delete_leftovers")]
    destroy_data: bool,
    /// Assert that nothing else uses the claims: no custom resource that cannot be listed, no software whose labels they have
    #[arg(long, requires = "delete_leftovers")]
    no_other_users: bool,
    /// Assert that a provisioner, or kube-controller-manager, runs although nothing shows it; can be repeated
    #[arg(long, value_name = "DRIVER", requires = "delete_leftovers")]
    provisioner_alive: Vec<String>,
    #[command(flatten)]
    storage: StorageArgs,
    /// Change a threshold, such as delete-wait=10m; can be repeated
    #[arg(long, value_name = "NAME=DURATION", add = threshold_candidates())]
    threshold: Vec<ThresholdSetting>,
    #[command(flatten)]
    saved: SavedArgs,
    /// Go on: remove owner references as soon as they contradict a policy
    #[arg(long, requires = "yes", conflicts_with_all = [
        "names", "selector", "add_owners", "delete_leftovers", "backend_exclusive", "beside", "all_clusters", "destroy_snapshots", "filename", "complete", "taken_at",
        "dry_run", "plan_out", "max_percent", "allow_gaps",
    ])]
    watch: bool,
    #[command(flatten)]
    write: WriteArgs,
}

impl RetentionReconcileArgs {
    pub(in crate::cli) async fn run(
        self,
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        let mut sets = NamedSets::parse(
            &self.names,
            self.namespace.as_deref(),
            self.all_namespaces,
            self.selector.as_deref(),
        )?;
        let format = self.write.format()?;
        let mut settings = self.settings()?;
        if self.watch {
            settings.scope = sets.scope_of(connection).await?;
            let (works, terms) = (&[Work::Retention], WorkTerms::default());
            return self.write.follow(connection, works, terms, settings, interrupt).await;
        }
        let from = self.saved.or_watched(connection, self.namespace.as_deref())?;
        let mut collected = collect(from, &settings, None).await?;
        collected.expect_namespaces(self.namespace.as_deref()).await?;
        // The namespace is that of the context unless it is given, which only the connection knows.
        sets.settle(&collected);
        settings.scope = sets.scope;
        let names: Vec<_> = sets.names.iter().map(|it| Text::from(&**it)).collect();
        let plan = collected.make(&settings, |cx| plan::retention_reconcile(cx, &names)).await?;
        Box::pin(perform::perform(collected, plan, &self.write, &format, interrupt)).await
    }

    fn settings(&self) -> Result<Settings, Failure> {
        if self.destroy_data {
            self.write.must_wait("--destroy-data", "the claim is deleted")?;
        }
        if self.add_owners {
            self.write.must_wait("--add-owners", "the StatefulSet was read again")?;
        }
        let mut settings = Settings::default();
        ThresholdSetting::take_all(&self.threshold, &mut settings);
        if let Some(MinimumAge(age)) = self.older_than {
            settings.thresholds.set(Threshold::OlderThan, age);
        }
        self.write.take_into(&mut settings);
        settings.add_owners = self.add_owners;
        settings.delete_leftovers = self.delete_leftovers;
        settings.include_unknown_age = self.include_unknown_age;
        settings.replicas_zero = self.replicas_zero;
        settings.keep_data = self.keep_data;
        settings.destroy_data = self.destroy_data;
        settings.no_other_users = self.no_other_users;
        settings.alive_provisioners =
            self.provisioner_alive.iter().map(|it| Text::from(&**it)).collect();
        self.storage.take_into(&mut settings);
        Ok(settings)
    }
}
