//! `kubectl storage delete`.

mod with_claims;

use clap::{ArgGroup, Args};

use self::with_claims::CascadeFlag;
use super::snapshot_first::{self, SnapshotFirstArgs};
use super::{Interrupt, SavedArgs, WriteArgs, perform};
use crate::cli::{
    Exit, Failure,
    args::{
        ConnectionArgs, StorageArgs, ThresholdSetting, object_name, scope, threshold_candidates,
        typed_object,
    },
    collect::collect,
};
use crate::model::{Kind, Settings, Text, escape_control};
use crate::plan::{self, ClaimSelection};

/// Arguments of `delete`.
#[expect(clippy::struct_excessive_bools, reason = "each is a danger of its own")]
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("data"))]
pub struct DeleteArgs {
    /// Delete these claims, StatefulSets or namespaces: pvc NAME…, pvc/NAME…, sts NAME…, ns NAME…
    #[arg(value_name = "KIND NAME|KIND/NAME", required = true)]
    objects: Vec<String>,
    /// Delete claims or StatefulSets of this namespace [default: that of the context]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Delete only claims with these labels
    #[arg(short = 'l', long, value_name = "SELECTOR", conflicts_with = "all")]
    selector: Option<String>,
    /// Delete all claims of the namespace that nothing uses
    #[arg(long)]
    all: bool,
    /// Set the volume of a claim to Retain first: it becomes Released with its data
    #[arg(long, group = "data")]
    keep_data: bool,
    /// Have the controller of the volume destroy the data, as the policy Delete says
    #[arg(long, group = "data")]
    destroy_data: bool,
    /// Delete the dependents of a StatefulSet in this way, as kubectl does
    #[arg(long, value_name = "HOW")]
    cascade: Option<CascadeFlag>,
    /// Also delete a named claim that its StatefulSet retains beyond its replicas
    #[arg(long, conflicts_with_all = ["selector", "all"])]
    delete_leftovers: bool,
    /// Assert that nothing else uses the claims: neither custom resources that cannot be listed, nor software whose labels they have
    #[arg(long)]
    no_other_users: bool,
    /// Assert that a provisioner, or kube-controller-manager, is running although nothing shows it; can be repeated
    #[arg(long, value_name = "DRIVER")]
    provisioner_alive: Vec<String>,
    #[command(flatten)]
    snapshot: SnapshotFirstArgs,
    #[command(flatten)]
    storage: StorageArgs,
    /// Change a threshold, such as delete-wait=10m; can be repeated
    #[arg(long, value_name = "NAME=DURATION", add = threshold_candidates())]
    threshold: Vec<ThresholdSetting>,
    #[command(flatten)]
    saved: SavedArgs,
    #[command(flatten)]
    write: WriteArgs,
}

impl DeleteArgs {
    pub(in crate::cli) async fn run(
        self,
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        if let Some((kind, names)) = with_claims::named(&self.objects)? {
            return Box::pin(self.with_claims(kind, &names, connection, interrupt)).await;
        }
        if self.cascade.is_some() {
            return Err(Failure::usage("--cascade applies to StatefulSets"));
        }
        let names = self.names()?;
        let mut settings = self.settings()?;
        let format = self.write.format()?;
        let from = self.saved.or_watched(connection, self.namespace.as_deref())?;
        let mut collected = collect(from, &settings, None).await?;
        snapshot_first::fix_names(&mut settings, collected.intake.cluster.clock());
        // A dump has no context that could name a namespace.
        let given = self.namespace.clone().or_else(|| collected.namespace.clone());
        let namespace = given.unwrap_or_else(|| "default".to_owned());
        let selection = ClaimSelection { namespace: namespace.as_str().into(), names };
        let plan = collected.make(&settings, |cx| plan::delete(cx, &selection)).await?;
        Box::pin(perform::perform(collected, plan, &self.write, &format, interrupt)).await
    }

    /// The names, as kubectl takes them: the kind once, or before each name.
    fn names(&self) -> Result<Vec<Text>, Failure> {
        const EXPECTED: &str = "expected pvc NAME…, pvc/NAME…, sts NAME… or ns NAME…";
        const KIND: Kind = Kind::PersistentVolumeClaim;
        let (kind, rest) = match self.objects.split_first() {
            Some((kind, rest)) if !kind.contains('/') => (Some(kind), rest),
            _ => (None, &*self.objects),
        };
        if let Some(kind) = kind.filter(|it| Kind::parse_resource(it) != Some(KIND)) {
            let told = format!("\"{}\" is not a kind that delete supports", escape_control(kind));
            return Err(Failure::usage(told).hint(Some(EXPECTED)));
        }
        let mut names: Vec<Text> = Vec::new();
        for name in rest {
            let name = match kind {
                Some(_) if name.contains('/') => {
                    let told = format!("\"{}\" repeats the kind", escape_control(name));
                    return Err(Failure::usage(told).hint(Some(EXPECTED)));
                }
                Some(_) => object_name(name, KIND)?,
                None => typed_object(name, &[KIND])?.1,
            };
            if names.iter().any(|known| **known == *name) {
                return Err(Failure::usage(format!("pvc/{name} is given twice")));
            }
            names.push(name.into());
        }
        self.selects(&names)?;
        Ok(names)
    }

    /// What clap cannot tell about the flags: claims are named, or selected.
    fn selects(&self, names: &[Text]) -> Result<(), Failure> {
        let by_filter = self.all || self.selector.is_some();
        if names.is_empty() && !by_filter {
            return Err(Failure::usage("no claim is named")
                .hint(Some("name claims, or select them with -l SELECTOR or --all")));
        }
        if !names.is_empty() && by_filter {
            return Err(Failure::usage("-l and --all cannot be used with names of claims"));
        }
        if self.selector.as_deref().is_some_and(|it| it.trim().is_empty()) {
            return Err(Failure::usage("the selector is empty")
                .hint(Some("--all selects all claims of the namespace")));
        }
        if self.destroy_data {
            self.write.must_wait("--destroy-data", "the claim is deleted")?;
        }
        if self.delete_leftovers && names.is_empty() {
            return Err(Failure::usage("--delete-leftovers requires that the claims are named"));
        }
        Ok(())
    }

    fn settings(&self) -> Result<Settings, Failure> {
        let mut settings = Settings::default();
        ThresholdSetting::take_all(&self.threshold, &mut settings);
        self.write.take_into(&mut settings);
        // The namespace is that of the context unless it is given, which only the connection knows.
        settings.scope = scope(None, self.selector.as_deref())?;
        settings.keep_data = self.keep_data;
        settings.destroy_data = self.destroy_data;
        settings.delete_leftovers = self.delete_leftovers;
        settings.no_other_users = self.no_other_users;
        settings.alive_provisioners =
            self.provisioner_alive.iter().map(|it| Text::from(&**it)).collect();
        self.snapshot.take_into(&mut settings, self.write.wait)?;
        self.storage.take_into(&mut settings);
        Ok(settings)
    }
}
