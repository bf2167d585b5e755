//! `kubectl storage gc`.

use clap::Args;

use super::{Interrupt, SavedArgs, WriteArgs, perform};
use crate::cli::{
    Exit, Failure,
    args::{
        ConnectionArgs, MinimumAge, RecordArgs, StorageArgs, ThresholdSetting, object_name, scope,
        threshold_candidates,
    },
    collect::collect,
};
use crate::model::{Kind, Settings, Text, Threshold};
use crate::plan::{self, GcSelection};

/// Arguments of `gc`.
#[expect(clippy::struct_excessive_bools, reason = "each is a danger of its own")]
#[derive(Debug, Args)]
pub struct GcArgs {
    /// Reclaim only these volumes: NAME or pv/NAME
    #[arg(value_name = "VOLUME")]
    volumes: Vec<String>,
    /// Reclaim volumes that have been Released for at least this long, such as 7d
    #[arg(long, value_name = "DURATION", required = true, allow_hyphen_values = true)]
    older_than: MinimumAge,
    /// Reclaim only volumes whose claim was in this namespace
    #[arg(short, long, value_name = "NAMESPACE", conflicts_with_all = ["all_namespaces", "volumes"])]
    namespace: Option<String>,
    /// Reclaim volumes of the whole cluster, which is the default
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Reclaim only volumes with these labels
    #[arg(short = 'l', long, value_name = "SELECTOR", conflicts_with = "volumes")]
    selector: Option<String>,
    /// Reclaim only volumes of this StorageClass
    #[arg(long, value_name = "CLASS", conflicts_with = "volumes")]
    storage_class: Option<String>,
    /// Reclaim only volumes of this driver
    #[arg(long, value_name = "DRIVER", conflicts_with = "volumes")]
    driver: Option<String>,
    /// Delete only the PersistentVolume; keep the backend volume and record it
    #[arg(long, conflicts_with = "destroy_data")]
    keep_backend: bool,
    #[command(flatten)]
    record: RecordArgs,
    /// Record kept backend volumes only in the journal of this machine
    #[arg(long, requires = "keep_backend")]
    journal_only: bool,
    /// Also reclaim volumes without a trustworthy time of release
    #[arg(long)]
    include_unknown_age: bool,
    /// Also reclaim volumes whose claim was deleted and recreated
    #[arg(long)]
    include_recreated: bool,
    /// Assert that the backend volume is intact although its deletion was stopped
    #[arg(long)]
    backend_verified: bool,
    /// Assert that the provisioner of a driver is running although nothing shows it; can be repeated
    #[arg(long, value_name = "DRIVER", conflicts_with = "keep_backend")]
    provisioner_alive: Vec<String>,
    /// Also reclaim volumes whose claim does not exist but is referenced by a workload
    #[arg(long)]
    include_wanted: bool,
    #[command(flatten)]
    storage: StorageArgs,
    /// Destroy the data of a named volume that is Available but was used before
    #[arg(long, requires = "volumes")]
    destroy_data: bool,
    /// Change a threshold, such as delete-wait=10m; can be repeated
    #[arg(long, value_name = "NAME=DURATION", add = threshold_candidates())]
    threshold: Vec<ThresholdSetting>,
    #[command(flatten)]
    saved: SavedArgs,
    #[command(flatten)]
    write: WriteArgs,
}

impl GcArgs {
    pub(in crate::cli) async fn run(
        self,
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        let settings = self.settings()?;
        let selection = self.selection()?;
        let format = self.write.format()?;
        let from = self.saved.or_watched(connection, self.namespace.as_deref())?;
        let mut collected = collect(from, &settings, None).await?;
        let plan = collected.make(&settings, |cx| plan::gc(cx, &selection)).await?;
        Box::pin(perform::perform(collected, plan, &self.write, &format, interrupt)).await
    }

    fn settings(&self) -> Result<Settings, Failure> {
        let mut settings = Settings::default();
        ThresholdSetting::take_all(&self.threshold, &mut settings);
        settings.thresholds.set(Threshold::OlderThan, self.older_than.0);
        self.write.take_into(&mut settings);
        settings.scope = scope(self.namespace.as_deref(), self.selector.as_deref())?;
        settings.include_unknown_age = self.include_unknown_age;
        settings.include_recreated = self.include_recreated;
        settings.backend_verified = self.backend_verified;
        settings.destroy_data = self.destroy_data;
        settings.alive_provisioners =
            self.provisioner_alive.iter().map(|it| Text::from(&**it)).collect();
        settings.include_wanted = self.include_wanted;
        self.storage.take_into(&mut settings);
        self.record.take_into(&mut settings);
        settings.recording.journal_only = self.journal_only;
        Ok(settings)
    }

    fn selection(&self) -> Result<GcSelection, Failure> {
        let mut names: Vec<Text> = Vec::new();
        for name in &self.volumes {
            let name = object_name(name, Kind::PersistentVolume)?;
            if names.iter().any(|known| **known == *name) {
                return Err(Failure::usage(format!("pv/{name} is given twice")));
            }
            names.push(name.into());
        }
        Ok(GcSelection {
            names,
            class: self.storage_class.as_deref().map(Text::from),
            driver: self.driver.as_deref().map(Text::from),
            keep_backend: self.keep_backend,
        })
    }
}
