//! `kubectl storage destroy-orphan`: has a driver delete a backend volume that no volume references.

use clap::{ArgGroup, Args};

use super::{SecretArgs, WriteArgs, journal, perform};
use crate::{
    cli::{
        Exit, Failure, Interrupt,
        args::{BesideArgs, ConnectionArgs},
        collect::{ClusterSource, collect},
    },
    model::{AskedEntry, Text},
    plan::{self, OrphanSource},
};

/// Arguments of `destroy-orphan`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("which").required(true))]
#[expect(clippy::struct_excessive_bools, reason = "each is a danger of its own")]
pub struct OrphanArgs {
    /// Delete a backend volume of this CSI driver
    #[arg(long, value_name = "DRIVER", requires = "handle", group = "which")]
    driver: Option<String>,
    /// Delete the backend volume with this volume handle
    #[arg(long, value_name = "HANDLE", requires = "driver")]
    handle: Option<String>,
    /// Delete the backend volume that this entry of the journal kept
    #[arg(long, value_name = "ENTRY", group = "which")]
    from_journal: Option<AskedEntry>,
    /// Assert that no other cluster uses the storage of this driver
    #[arg(long)]
    backend_exclusive: bool,
    /// Assert that snapshots destroyed with a volume are not needed
    #[arg(long)]
    destroy_snapshots: bool,
    /// Assert that what references the former claim does not need its data
    #[arg(long)]
    include_wanted: bool,
    /// Assert that no custom resource uses the claim: some could not be listed, or name it elsewhere
    #[arg(long)]
    no_other_users: bool,
    #[command(flatten)]
    beside: BesideArgs,
    #[command(flatten)]
    secret: SecretArgs,
    #[command(flatten)]
    write: WriteArgs,
}

impl OrphanArgs {
    /// Returns the usage, with a line for each way to name the backend volume: clap would print one line that is wider
    /// than a terminal.
    pub(in crate::cli) fn usage(program: &str) -> String {
        format!(
            "{program} destroy-orphan [OPTIONS] --from-journal <ENTRY>\n       \
             {program} destroy-orphan [OPTIONS] --driver <DRIVER>\n           --handle <HANDLE>"
        )
    }

    pub(in crate::cli) async fn run(
        self,
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        let format = self.write.format()?;
        self.write.rests_on_the_journal("destroy-orphan")?;
        let asked = self.write.journal.entry(self.from_journal)?;
        let (which, secret) = (self.which(asked)?, self.secret.word()?);
        let mut settings = self.write.settings();
        settings.destroy_snapshots = self.destroy_snapshots;
        settings.include_wanted = self.include_wanted;
        settings.no_other_users = self.no_other_users;
        self.beside.take_into(&mut settings);
        if self.backend_exclusive {
            settings.backend_exclusive.extend(self.driver.as_deref().map(Text::from));
        }
        let from = ClusterSource::Watched { connection, namespace: None };
        let mut collected = collect(from, &settings, None).await?;
        let history = journal::recall(&collected).await?;
        if let OrphanSource::Entry { sequence: wanted, exclusive: true } = which
            && let Some(entry) = history.entry(wanted)
        {
            let name = &entry.intent.object.key.name;
            settings.backend_exclusive.insert(format!("pv/{name}").into());
        }
        if let OrphanSource::Entry { sequence: wanted, .. } = which
            && history.entry(wanted).is_none()
        {
            return Err(journal::no_entry(&history, wanted));
        }
        let orphan = |cx: &crate::cluster::Cx| plan::orphan(cx, &history, &which, &secret);
        let plan = collected.make(&settings, orphan).await?;
        Box::pin(perform::perform(collected, plan, &self.write, &format, interrupt)).await
    }

    fn which(&self, asked: Option<u64>) -> Result<OrphanSource, Failure> {
        match (asked, &self.driver, &self.handle) {
            (Some(sequence), _, _) => {
                Ok(OrphanSource::Entry { sequence, exclusive: self.backend_exclusive })
            }
            (None, Some(driver), Some(handle)) if !driver.is_empty() && !handle.is_empty() => {
                Ok(OrphanSource::Named {
                    driver: driver.as_str().into(),
                    handle: handle.as_str().into(),
                    exclusive: self.backend_exclusive,
                })
            }
            _ => Err(Failure::usage("--driver and --handle must not be empty")),
        }
    }
}
