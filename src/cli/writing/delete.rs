//! `kubectl storage delete`: claims, or a StatefulSet or namespace with its claims.

use clap::{ArgGroup, Args, ValueEnum};
use serde_json::Value;

use super::{SavedArgs, WriteArgs, perform};
use crate::{
    cli::{
        Exit, Failure, Interrupt,
        args::{
            ConnectionArgs, StorageArgs, ThresholdSetting, namespace, object_name, scope,
            threshold_candidates, typed_object,
        },
        collect::{Collected, collect},
        explain, retention,
    },
    client::{ObjectRequest, ReadError},
    model::{
        Cascade, Kind, ObjectKey, ObjectRef, Settings, SnapshotFirst, Text, Time, Uid,
        escape_control,
    },
    plan::{self, ClaimSelection},
    remedies::snapshot_first,
};

/// Arguments of `delete`.
#[expect(clippy::struct_excessive_bools, reason = "each is a danger of its own")]
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("data"))]
pub struct DeleteArgs {
    /// Delete these claims, StatefulSets or namespaces: pvc NAME…, pvc/NAME…, sts NAME…, ns NAME…
    #[arg(value_name = "KIND NAME|KIND/NAME", required = true)]
    objects: Vec<String>,
    /// Delete claims or StatefulSets of this namespace [default: that of the context]
    #[arg(short, long, value_name = "NAMESPACE", value_parser = namespace)]
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
    /// Assert that the data is not needed: the controller of the volume destroys it
    #[arg(long, group = "data")]
    destroy_data: bool,
    /// Delete the dependents of a StatefulSet in this way, as kubectl does
    #[arg(long, value_name = "HOW")]
    cascade: Option<CascadeFlag>,
    /// Assert that a named claim which its StatefulSet retains beyond its replicas is not needed
    #[arg(long, conflicts_with_all = ["selector", "all"])]
    delete_leftovers: bool,
    /// Assert that nothing else uses the claims: no custom resource that cannot be listed, no software whose labels they have
    #[arg(long)]
    no_other_users: bool,
    /// Assert that a provisioner, or kube-controller-manager, runs although nothing shows it; can be repeated
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
        if let Some((kind, names)) = named_sets_or_namespaces(&self.objects)? {
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
        collected.expect_namespaces(self.namespace.as_deref()).await?;
        fix_names(&mut settings, collected.intake.cluster.clock());
        // A dump has no context that could name a namespace.
        let given = self.namespace.clone().or_else(|| collected.namespace.clone());
        let namespace = given.unwrap_or_else(|| "default".to_owned());
        let selection = ClaimSelection { namespace: namespace.as_str().into(), names };
        let plan = collected.make(&settings, |cx| plan::delete(cx, &selection)).await?;
        Box::pin(perform::perform(collected, plan, &self.write, &format, interrupt)).await
    }

    /// Returns the names of claims, as kubectl takes them: with the kind once, or before each name.
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
                None => match typed_object(name, &[KIND, Kind::StatefulSet, Kind::Namespace])? {
                    (KIND, name) => name,
                    (kind, _) => {
                        let told = format!("claims and a {kind} cannot be deleted in one call");
                        return Err(Failure::usage(told));
                    }
                },
            };
            if names.iter().any(|known| **known == *name) {
                return Err(Failure::usage(format!("pvc/{name} is given twice")));
            }
            names.push(name.into());
        }
        self.selects(&names)?;
        Ok(names)
    }

    /// Refuses flags that clap accepts: claims are either named or selected.
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

/// Whether a snapshot is taken first, and with which class.
#[derive(Debug, Args)]
pub(super) struct SnapshotFirstArgs {
    #[arg(
        long,
        help = "Take a VolumeSnapshot of each claim first, and go on only once it is ready to use"
    )]
    snapshot_first: bool,
    #[arg(
        long,
        value_name = "NAME",
        requires = "snapshot_first",
        help = "Take it with this VolumeSnapshotClass [default: the default class of the driver]"
    )]
    snapshot_class: Option<String>,
}

impl SnapshotFirstArgs {
    /// Whether a snapshot is taken first.
    pub(super) const fn is_given(&self) -> bool {
        self.snapshot_first
    }

    /// Puts the flags into the settings. `waits` is `--wait`.
    pub(super) fn take_into(&self, settings: &mut Settings, waits: bool) -> Result<(), Failure> {
        if self.snapshot_first && !waits {
            let told = "--snapshot-first waits until the snapshot is ready to use, which \
                        --wait=false rules out";
            return Err(Failure::usage(told));
        }
        settings.snapshot_first = self.snapshot_first.then(|| SnapshotFirst {
            class: self.snapshot_class.as_deref().map(Text::from),
            stamp: Text::from(""),
        });
        Ok(())
    }
}

/// Fixes the names of the snapshots, once the API server's clock is known.
pub(super) fn fix_names(settings: &mut Settings, now: Option<Time>) {
    if let (Some(first), Some(now)) = (&mut settings.snapshot_first, now) {
        first.stamp = snapshot_first::stamp(now);
    }
}

/// The propagation of a deletion, as kubectl names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CascadeFlag {
    /// Pods and claims are deleted after the StatefulSet
    Background,
    /// The StatefulSet is deleted after its pods and claims
    Foreground,
    /// Pods and claims are not deleted
    Orphan,
}

impl CascadeFlag {
    const fn cascade(self) -> Cascade {
        match self {
            Self::Background => Cascade::Background,
            Self::Foreground => Cascade::Foreground,
            Self::Orphan => Cascade::Orphan,
        }
    }
}

const KINDS: [Kind; 2] = [Kind::StatefulSet, Kind::Namespace];

/// Returns the kind and the names of `StatefulSets` or namespaces that the user names; `None` where
/// claims are meant.
fn named_sets_or_namespaces(objects: &[String]) -> Result<Option<(Kind, Vec<String>)>, Failure> {
    let kind_of = |text: &String| {
        let kind = text.split('/').next().unwrap_or_default();
        Kind::parse_resource(kind).filter(|kind| KINDS.contains(kind))
    };
    let Some(kind) = objects.first().and_then(kind_of) else { return Ok(None) };
    let once = !objects[0].contains('/');
    let rest = if once { &objects[1..] } else { objects };
    let mut names = Vec::new();
    for text in rest {
        let name = match once {
            true => object_name(text, kind)?,
            false => typed_object(text, &[kind])?.1,
        };
        if names.contains(&name) {
            return Err(Failure::usage(format!("{}/{name} is given twice", kind.short())));
        }
        names.push(name);
    }
    match names.is_empty() {
        true => Err(Failure::usage(format!("no {kind} is named"))
            .hint(Some(format!("expected {} NAME", kind.short())))),
        false => Ok(Some((kind, names))),
    }
}

impl DeleteArgs {
    async fn with_claims(
        self,
        kind: Kind,
        names: &[String],
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        self.only_for_claims(kind)?;
        let settings = self.settings()?;
        let format = self.write.format()?;
        let cascade = self.cascade.map(CascadeFlag::cascade).unwrap_or_default();
        let from = self.saved.or_watched(connection, self.namespace.as_deref())?;
        let mut collected = collect(from, &settings, None).await?;
        collected.expect_namespaces(self.namespace.as_deref()).await?;
        let namespace = self.namespace.clone().or_else(|| collected.namespace.clone());
        let namespace = namespace.unwrap_or_else(|| "default".to_owned());
        let mut objects = Vec::new();
        for name in names {
            let key = ObjectKey::named(kind, &namespace, name);
            let uid = uid(&collected, &key).await?;
            let object = ObjectRef { key, uid };
            match kind {
                Kind::StatefulSet => {
                    retention::show_deletion(&mut collected, &settings, &object, cascade).await?;
                }
                _ => explain::show(&mut collected, &settings, &object.key).await?,
            }
            objects.push(object);
        }
        let make = |cx: &crate::cluster::Cx| plan::delete_with_claims(cx, &objects, cascade);
        let plan = collected.make(&settings, make).await?;
        Box::pin(perform::perform(collected, plan, &self.write, &format, interrupt)).await
    }

    /// Refuses the flags that decide about single claims.
    fn only_for_claims(&self, kind: Kind) -> Result<(), Failure> {
        let flags = [
            (self.all, "--all"),
            (self.selector.is_some(), "-l"),
            (self.keep_data, "--keep-data"),
            (self.delete_leftovers, "--delete-leftovers"),
            (self.snapshot.is_given(), "--snapshot-first"),
            (kind == Kind::Namespace && self.cascade.is_some(), "--cascade"),
            (kind == Kind::Namespace && self.namespace.is_some(), "-n"),
        ];
        match flags.iter().find(|(given, _)| *given) {
            Some((_, flag)) => Err(Failure::usage(format!("{flag} does not apply to a {kind}"))
                .hint(Some("`kubectl storage retain pvc/NAME` keeps the data of a claim"))),
            None => Ok(()),
        }
    }
}

/// Reads the uid of an object; `None` where there is a dump instead of a cluster.
async fn uid(collected: &Collected, key: &ObjectKey) -> Result<Option<Uid>, Failure> {
    let Some(live) = &collected.live else { return Ok(None) };
    let object = ObjectRequest::of(key, key.kind.group().version);
    let read: Result<_, ReadError> = live.reader.get_object::<Value>(&object).await;
    match read {
        Ok(answer) => Ok(answer.value["metadata"]["uid"].as_str().and_then(Uid::parse)),
        Err(error) if error.is_absence_of(&key.name) => Err(Failure {
            exit: Exit::Refused,
            ..Failure::error(anyhow::anyhow!("there is no {key}"))
        }),
        Err(error) => {
            let hint = error.hint();
            Err(Failure { exit: Exit::Refused, ..Failure::error(error) }.hint(hint))
        }
    }
}
