//! `kubectl storage fix-finalizers`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::{SavedArgs, SecretArgs, WriteArgs, journal, perform, saved_manifest, unread_manifest};
use crate::{
    cli::{
        Exit, Failure, Interrupt,
        args::{
            ConnectionArgs, RecordArgs, StorageArgs, ThresholdSetting, namespace, narrowed_scope,
            threshold_candidates, typed_objects,
        },
        collect::{Collected, collect},
    },
    journal::History,
    model::{Kind, ObjectKey, Settings, Text, escape_control},
    plan::{self, FinalizerSelection},
    remedies::Recreation,
    watch::acting::{Work, WorkTerms},
};

/// Kinds of objects that the command repairs.
const KINDS: [Kind; 3] =
    [Kind::PersistentVolume, Kind::PersistentVolumeClaim, Kind::VolumeAttachment];

/// Arguments of `fix-finalizers`.
#[expect(clippy::struct_excessive_bools, reason = "each is a danger of its own")]
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("leak"), group = ArgGroup::new("data"))]
pub struct FixFinalizersArgs {
    /// Repair only these: pv/NAME, pvc/NAME or volumeattachment/NAME
    #[arg(value_name = "KIND/NAME")]
    objects: Vec<String>,
    /// Repair only claims of this namespace, and their volumes [default: all]
    #[arg(short, long, value_name = "NAMESPACE", value_parser = namespace, conflicts_with = "all_namespaces")]
    namespace: Option<String>,
    /// Repair objects of the whole cluster, which is the default
    #[arg(short = 'A', long, hide = true, conflicts_with = "objects")]
    all_namespaces: bool,
    /// Repair only objects with these labels
    #[arg(short = 'l', long, value_name = "SELECTOR", conflicts_with = "objects")]
    selector: Option<String>,
    /// Assert that a driver, or kube-controller-manager, is permanently removed; ignored if a Lease, pod, workload or action of it contradicts; can be repeated
    #[arg(long, value_name = "DRIVER")]
    driver_absent: Vec<String>,
    /// Assert that `HonorPVReclaimPolicy` is off in kube-controller-manager
    #[arg(long)]
    rolled_back: bool,
    /// Assert that backend volumes may leak (orphaned disks), as recorded
    #[arg(long, group = "leak")]
    accept_leak: bool,
    /// Where a removal would leak the backend volume, have it deleted after
    #[arg(long, group = "leak")]
    reclaim: bool,
    #[command(flatten)]
    storage: StorageArgs,
    /// Assert that the work of this third-party finalizer is done: remove it
    #[arg(long, value_name = "FINALIZER", requires = "objects")]
    remove_finalizer: Option<String>,
    /// Before removing a claim's last finalizer, set its volume to Retain
    #[arg(long, group = "data")]
    keep_data: bool,
    /// Assert that the data of a claim, which is destroyed, is not needed
    #[arg(long, group = "data")]
    destroy_data: bool,
    /// Recreate the volume of a named VolumeAttachment from this manifest
    #[arg(long, value_name = "FILE", requires = "objects", value_hint = clap::ValueHint::FilePath)]
    from: Option<PathBuf>,
    #[command(flatten)]
    secret: SecretArgs,
    #[command(flatten)]
    record: RecordArgs,
    /// Record kept backend volumes only in this machine's journal
    #[arg(long)]
    journal_only: bool,
    /// Change a threshold, such as finalizer=1h; can be repeated
    #[arg(long, value_name = "NAME=DURATION", add = threshold_candidates())]
    threshold: Vec<ThresholdSetting>,
    #[command(flatten)]
    saved: SavedArgs,
    /// Go on: repair at once what needs no flag and destroys no data
    #[arg(long, requires = "yes", conflicts_with_all = [
        "objects", "driver_absent", "rolled_back", "accept_leak", "reclaim", "backend_exclusive", "beside", "all_clusters", "destroy_snapshots",
        "keep_data", "destroy_data", "remove_finalizer", "from", "secret", "no_secret", "journal_only", "filename",
        "complete", "taken_at",
        "dry_run", "plan_out", "max_percent", "allow_gaps",
    ])]
    watch: bool,
    #[command(flatten)]
    write: WriteArgs,
}

impl FixFinalizersArgs {
    pub(in crate::cli) async fn run(
        self,
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        let named = typed_objects(&self.objects, &KINDS)?;
        self.fits(&named)?;
        let settings = self.settings(&named)?;
        if self.watch {
            let (works, terms) = (&[Work::Finalizers], WorkTerms::default());
            return self.write.follow(connection, works, terms, settings, interrupt).await;
        }
        let format = self.write.format()?;
        let from_file = self.recreation()?;
        let from = self.saved.or_watched(connection, self.namespace.as_deref())?;
        let mut collected = collect(from, &settings, None).await?;
        collected.expect_namespaces(self.namespace.as_deref()).await?;
        let history = self.history(&collected).await?;
        let given = self.namespace.clone().or_else(|| collected.namespace.clone());
        let namespace = given.unwrap_or_else(|| "default".to_owned());
        let key = |(kind, name): &(Kind, String)| ObjectKey::named(*kind, &namespace, name);
        let hanging = FinalizerSelection {
            names: named.iter().map(key).collect(),
            from: from_file,
            history: history.as_ref(),
        };
        let make = |cx: &crate::cluster::Cx| plan::fix_finalizers(cx, &hanging);
        let plan = collected.make(&settings, make).await?;
        Box::pin(perform::perform(collected, plan, &self.write, &format, interrupt)).await
    }

    /// Refuses flags that clap accepts, and that do not fit together.
    fn fits(&self, named: &[(Kind, String)]) -> Result<(), Failure> {
        if let Some(finalizer) = &self.remove_finalizer {
            if named.len() != 1 {
                return Err(Failure::usage("--remove-finalizer requires exactly one named object")
                    .hint(Some("name the object that has this finalizer")));
            }
            if !is_qualified(finalizer) {
                let shown = escape_control(finalizer);
                return Err(Failure::usage(format!("{shown:?} is not a valid finalizer")));
            }
        }
        if self.from.is_some() {
            if named.iter().any(|(kind, _)| *kind != Kind::VolumeAttachment) {
                return Err(Failure::usage("--from requires that you name VolumeAttachments only"));
            }
            self.write.rests_on("fix-finalizers --from", "a file of this machine")?;
        }
        if self.reclaim {
            self.write.must_wait("--reclaim", "the object is deleted")?;
        }
        Ok(())
    }

    fn settings(&self, named: &[(Kind, String)]) -> Result<Settings, Failure> {
        let mut settings = Settings::default();
        ThresholdSetting::take_all(&self.threshold, &mut settings);
        self.write.take_into(&mut settings);
        let namespace = self.namespace.as_deref().filter(|_| named.is_empty());
        settings.scope = narrowed_scope(namespace, self.selector.as_deref())?;
        settings.absent_drivers = self.driver_absent.iter().map(|it| Text::from(&**it)).collect();
        settings.rolled_back = self.rolled_back;
        settings.accept_leak = self.accept_leak;
        settings.reclaim = self.reclaim;
        self.storage.take_into(&mut settings);
        settings.keep_data = self.keep_data;
        settings.destroy_data = self.destroy_data;
        settings.remove_finalizer = self.remove_finalizer.as_deref().map(Text::from);
        settings.secret = self.secret.word()?;
        self.record.take_into(&mut settings);
        settings.recording.journal_only = self.journal_only;
        Ok(settings)
    }

    /// Reads the journal; returns `None` for a dump, of which nothing is known to have been done.
    async fn history(&self, collected: &Collected) -> Result<Option<History>, Failure> {
        match self.saved.is_given() {
            true => Ok(None),
            false => journal::recall(collected).await.map(Some),
        }
    }

    fn recreation(&self) -> Result<Option<Recreation>, Failure> {
        let Some(path) = &self.from else { return Ok(None) };
        let recreation = Recreation::of(&saved_manifest(path)?, None);
        recreation.map(Some).map_err(|reason| unread_manifest(path, anyhow::anyhow!(reason)))
    }
}

/// Whether a finalizer is valid (`ValidateFinalizerName`): a name, with or without a prefix.
fn is_qualified(finalizer: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    !finalizer.is_empty() && finalizer.len() <= 317 && finalizer.chars().all(plain)
}
