//! `kubectl storage adopt`: gives a disk that a provider lists, and that no cluster needs, to a claim.

use clap::{Args, ValueEnum};

use super::{
    WriteArgs, perform,
    rebind::{NamedClaim, tell_done},
};
use crate::{
    cli::{
        Exit, Failure, Interrupt,
        args::{ConnectionArgs, namespace},
        clusters::{ClusterInput, beside},
        collect::{ClusterSource, Collected, collect},
        listed::{InventoryArgs, ReadListings},
        parallel::read_each,
        terminal,
    },
    facts::{DiskKeys, DisksOfCluster, Inventory},
    listings::{Disk, is_one_provider},
    model::{Beside, Settings, Text, escape_control},
    plan::{self, AdoptRequest},
    remedies::VolumeUse,
    rules::disks_of_cluster,
};

/// Arguments of `adopt`.
#[derive(Debug, Args)]
pub struct AdoptArgs {
    /// Adopt a disk of this CSI driver
    #[arg(long, value_name = "DRIVER")]
    driver: String,
    /// Adopt the disk with this volume handle
    #[arg(long, value_name = "HANDLE")]
    handle: String,
    /// Give it to this claim, which is created if it does not exist
    #[arg(long, value_name = "[NAMESPACE/]NAME")]
    to: String,
    /// Find the claim in this namespace [default: that of the context]
    #[arg(short, long, value_name = "NAMESPACE", value_parser = namespace)]
    namespace: Option<String>,
    /// Use the disk in this volume mode, where the claim is created
    #[arg(long, value_name = "MODE")]
    volume_mode: Option<VolumeMode>,
    /// Mount this filesystem [default: that of the driver]
    #[arg(long, value_name = "TYPE")]
    fs_type: Option<String>,
    /// Give the created claim this storage class [default: none]
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
    #[command(flatten)]
    listed: InventoryArgs,
    /// Refuse what these clusters name: contexts, patterns, NAME=DUMP
    #[arg(long, value_name = "CLUSTER", value_delimiter = ',')]
    beside: Vec<String>,
    #[command(flatten)]
    write: WriteArgs,
}

/// `--volume-mode`, as Kubernetes writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "PascalCase")]
enum VolumeMode {
    /// The disk holds a filesystem
    Filesystem,
    /// Pods see a device
    Block,
}

impl AdoptArgs {
    /// Returns the usage in lines that fit a terminal.
    pub(in crate::cli) fn usage(program: &str) -> String {
        format!(
            "{program} adopt [OPTIONS] --driver <DRIVER> --handle <HANDLE>\n           \
             --to <[NAMESPACE/]NAME> --inventory <FILE>"
        )
    }

    pub(in crate::cli) async fn run(
        self,
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        let format = self.write.format()?;
        self.write.rests_on("adopt", "a listing")?;
        if !self.listed.is_asked_for() {
            return Err(Failure::usage("adopt needs --inventory FILE, the provider's listing")
                .hint(Some("`explain inventory` prints the command that makes it")));
        }
        let claim = NamedClaim::parse(&self.to, self.namespace.as_deref())?;
        self.listed.files(&[])?;
        let mut settings = self.write.settings();
        settings.beside = Beside {
            clusters: self.beside.iter().map(|it| Text::from(&**it)).collect(),
            are_all: self.listed.are_all() && !self.beside.is_empty(),
        };
        let from = ClusterSource::Watched { connection, namespace: None };
        let mut collected = collect(from, &settings, None).await?;
        let clusters = self.clusters(&collected, connection, &settings).await?;
        let names: Vec<Text> = clusters.iter().filter_map(|it| it.name.clone()).collect();
        let mut inventory = Inventory::new(&clusters, &settings, self.listed.words(&names)?);
        let (disk, read) = self.find(&mut inventory)?;
        read.notes.iter().for_each(|it| terminal::note(&format!("note: {it}")));
        if let Some(unread) = read.unread.first() {
            return Err(Failure::error(anyhow::anyhow!("{unread}")));
        }
        let current = collected.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let request = AdoptRequest {
            judged: &|own| inventory.adoptable(&disk, own),
            disk: &disk,
            claim: claim.key(&current),
            how: VolumeUse {
                class: self.class.as_deref().map(Text::from),
                mode: self.volume_mode.map(|it| match it {
                    VolumeMode::Filesystem => "Filesystem",
                    VolumeMode::Block => "Block",
                }),
                filesystem: self.fs_type.as_deref().map(Text::from),
            },
        };
        let (plan, told) = collected.make(&settings, |cx| plan::adopt(cx, &request)).await?;
        tell_done(told.as_deref());
        Box::pin(perform::perform(collected, plan, &self.write, &format, interrupt)).await
    }

    /// Returns what this cluster names, and then the clusters beside it. Without others it has no name.
    async fn clusters(
        &self,
        collected: &Collected,
        connection: &ConnectionArgs,
        settings: &Settings,
    ) -> Result<Vec<DisksOfCluster>, Failure> {
        let context = collected.live.as_ref().and_then(|it| it.connection.context.clone());
        let name = Text::from(context.as_deref().unwrap_or("this"));
        let name = Some(&name).filter(|_| !self.beside.is_empty());
        let cluster = &collected.intake.cluster;
        let mut found = vec![disks_of_cluster(name, &collected.assessor, cluster, settings)];
        if name.is_some() {
            let inputs = beside(&settings.beside, connection, context.as_deref())?;
            let read = async |it: &ClusterInput| disks_beside(it, connection).await;
            for (input, disks) in read_each(&inputs, read).await? {
                found.push(disks.unwrap_or_else(|failure| {
                    DisksOfCluster::unread(input.name(), format!("{:#}", failure.error))
                }));
            }
        }
        Ok(found)
    }

    /// Reads the listings, and returns the disk.
    fn find(&self, inventory: &mut Inventory<'_>) -> Result<(Disk, ReadListings), Failure> {
        let key = |disk: &Disk| DiskKeys::of(disk).disk();
        let wanted = key(&Disk::new(&self.driver, &*self.handle));
        let (mut found, mut others) = (None, 0_usize);
        let read = self.listed.read(inventory, &mut |disk| {
            let is_of_driver = is_one_provider(&disk.backend.driver, &self.driver);
            others += usize::from(is_of_driver);
            if found.is_none() && is_of_driver && key(disk) == wanted {
                found = Some(disk.clone());
            }
        })?;
        let missing = || {
            let (driver, handle) = (escape_control(&self.driver), escape_control(&self.handle));
            let told = format!("no listing has disk {handle} of driver {driver}");
            let hint = match others {
                0 => format!("they have no disk of {driver}"),
                _ => {
                    "the handle is what the column OBJECT of `audit --inventory` shows after disk/"
                        .to_owned()
                }
            };
            Failure::error(anyhow::anyhow!("{told}")).hint(Some(hint))
        };
        let found = found.ok_or_else(missing)?;
        // With what other rows say of it, and under the name that the driver has here.
        let of_listing = inventory.left.get(&wanted);
        let mut disk = of_listing.map_or(found, |it| (**it).clone());
        disk.backend.driver = self.driver.as_str().into();
        Ok((disk, read))
    }
}

/// Reads a cluster once, and returns what it names.
async fn disks_beside(
    input: &ClusterInput,
    connection: &ConnectionArgs,
) -> Result<DisksOfCluster, Failure> {
    let (from, _) = input.source(connection, None)?;
    let settings = Settings::default();
    let collected = Box::pin(collect(from, &settings, None)).await?;
    let cluster = &collected.intake.cluster;
    let mut disks = disks_of_cluster(Some(input.name()), &collected.assessor, cluster, &settings);
    disks.is_saved = !input.is_live();
    Ok(disks)
}
