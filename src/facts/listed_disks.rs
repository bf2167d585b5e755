//! The order in which a disk of a listing is judged (semantics K.3), one disk after the other.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::disks_of_cluster::{
    DiskKeys, DiskNaming, DisksOfCluster, coarse, last_part, uids_beginning,
};
use crate::listings::{Attached, Disk, Listing, Made};
use crate::model::{BackendKey, Bytes, Kind, Settings, Text, Threshold, Time};

/// What the user says of listings.
#[derive(Debug, Clone, Default)]
pub struct InventoryWords {
    /// Whether every cluster that uses the accounts is given.
    pub are_all: bool,
    /// Identities of clusters: each with the number of its cluster.
    pub identities: Vec<(usize, Text)>,
}

/// How an identity is known (semantics K.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum IdentitySource {
    /// The user said it.
    Flag,
    /// The controller of the driver has it as an argument.
    Argument,
    /// A disk has it that a volume of the cluster names, and that was made for the claim of this volume.
    Disk,
}

impl IdentitySource {
    /// Returns the name of the source in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Argument => "argument",
            Self::Disk => "disk",
        }
    }
}

/// An identity that a driver writes on the disks of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownIdentity {
    /// The number of the cluster.
    pub cluster: usize,
    /// The driver; empty if it is any.
    pub driver: Text,
    /// The identity.
    pub value: Text,
    /// How it is known.
    pub source: IdentitySource,
}

/// Numbers of disks, by what came of them, as reports have them.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct InventoryCounts {
    /// Disks in all listings.
    pub listed: usize,
    /// Those that a cluster names.
    pub named: usize,
    /// Those that a cluster may name: something of it has an unknown disk of that provider.
    pub may_be_named: usize,
    /// Those that a machine has, or may have again.
    pub attached: usize,
    /// Those of which the listing does not tell whether a machine has them.
    pub attachment_unknown: usize,
    /// Those that nothing shows to be made by Kubernetes.
    pub not_kubernetes: usize,
    /// Those whose claim exists.
    pub claimed: usize,
    /// Those of clusters that are not given.
    pub of_other_clusters: usize,
    /// Those of a given cluster in a region or project where it has neither nodes nor volumes.
    pub elsewhere: usize,
    /// Those that were made after the view of a cluster, or shortly before it.
    pub too_young: usize,
    /// Those that a gap keeps from being judged.
    pub not_judged: usize,
    /// Disks that no cluster needs.
    pub orphans: usize,
    /// Disks of which no cluster is known.
    pub unattributed: usize,
}

/// A listing while it is read: nothing of it counts before it ends well.
#[derive(Debug)]
pub struct ReadingListing {
    named: Vec<NamedThere>,
    left: HashMap<BackendKey, Disk>,
    /// The counts of all listings, with this one.
    counts: InventoryCounts,
    drivers: BTreeSet<Text>,
}

/// A disk that a volume of a cluster names.
#[derive(Debug)]
struct NamedThere {
    cluster: usize,
    volume: usize,
    size: Option<Bytes>,
    place: Text,
    machines: Box<[Text]>,
    identities: Vec<Text>,
}

/// Why a disk cannot be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotJudged {
    pub cluster: usize,
    pub kind: Kind,
    pub reason: String,
}

/// What comes of a disk that nothing names, and that no machine has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiskFate {
    /// No cluster needs it: the cluster that made it, and why that is not certain.
    Orphan {
        of: Option<usize>,
        doubt: Option<String>,
    },
    /// No cluster is known that made it.
    Unattributed,
    OfAnother,
    Elsewhere,
    TooYoung,
    Gap(NotJudged),
}

/// Whose a disk is, by what its driver wrote on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// That of this cluster.
    Of(usize),
    /// That of a cluster that was not given.
    Another,
    /// It does not tell, or tells several.
    Unclear,
}

/// The size with which a disk is listed; `None` where the listing does not tell.
#[derive(Debug, Clone, Copy)]
pub struct ListedSize(Option<Bytes>);

/// Clusters and listings, as they are compared.
#[derive(Debug)]
pub struct Inventory<'a> {
    pub clusters: &'a [DisksOfCluster],
    settings: &'a Settings,
    words: InventoryWords,
    /// The size of each volume that was listed, by cluster and volume.
    pub listed: Vec<Vec<Option<ListedSize>>>,
    /// The machines that have a volume, by cluster and volume.
    pub machines: BTreeMap<(usize, usize), Box<[Text]>>,
    /// The places that the listings cover, by cluster and driver; whether they have all of it.
    pub covered: BTreeMap<(usize, Text, Text), bool>,
    /// Identities with the clusters whose disks have them, by driver.
    identities: BTreeMap<(Text, Text), BTreeMap<usize, IdentitySource>>,
    pub left: HashMap<BackendKey, Disk>,
    pub counts: InventoryCounts,
    newest: Option<Time>,
    /// The time of the newest view.
    now: Option<Time>,
    /// The regions, projects or subscriptions in which a cluster has nodes or volumes, by each driver that was listed.
    reach: BTreeMap<(usize, Text), BTreeSet<String>>,
}

impl<'a> Inventory<'a> {
    /// Begins a comparison.
    pub fn new(
        clusters: &'a [DisksOfCluster],
        settings: &'a Settings,
        words: InventoryWords,
    ) -> Self {
        let mut identities: BTreeMap<(Text, Text), BTreeMap<usize, IdentitySource>> =
            BTreeMap::new();
        for (number, cluster) in clusters.iter().enumerate() {
            for (driver, told) in &cluster.identities {
                for it in told {
                    let key = (Text::clone(driver), Text::clone(it));
                    identities.entry(key).or_default().insert(number, IdentitySource::Argument);
                }
            }
        }
        Self {
            clusters,
            settings,
            words,
            listed: clusters.iter().map(|it| vec![None; it.volumes.len()]).collect(),
            machines: BTreeMap::new(),
            covered: BTreeMap::new(),
            identities,
            left: HashMap::new(),
            counts: InventoryCounts::default(),
            newest: None,
            now: clusters.iter().filter_map(|it| it.clock).max(),
            reach: BTreeMap::new(),
        }
    }

    /// Begins to read a listing.
    pub fn begin(&self) -> ReadingListing {
        ReadingListing {
            named: Vec::new(),
            left: HashMap::new(),
            counts: self.counts,
            drivers: BTreeSet::new(),
        }
    }

    /// Takes a disk of a listing that is being read.
    ///
    /// # Errors
    /// When another row says something else of the same disk.
    pub fn take(&self, disk: Disk, reading: &mut ReadingListing) -> Result<(), String> {
        let counts = &mut reading.counts;
        counts.listed += 1;
        if !reading.drivers.contains(&disk.backend.driver) {
            reading.drivers.insert(Text::clone(&disk.backend.driver));
        }
        let keys = DiskKeys::of(&disk);
        let namings: Vec<DiskNaming> = self.clusters.iter().map(|it| it.naming(&keys)).collect();
        if namings.iter().any(|it| matches!(it, DiskNaming::Named(_))) {
            counts.named += 1;
            for (cluster, naming) in namings.into_iter().enumerate() {
                let DiskNaming::Named(Some(volume)) = naming else { continue };
                reading.named.push(self.named_there(&disk, cluster, volume as usize)?);
            }
            return Ok(());
        }
        if namings.contains(&DiskNaming::Maybe) {
            counts.may_be_named += 1;
            return Ok(());
        }
        match disk.attached {
            Attached::No => {}
            Attached::Unknown => {
                counts.attachment_unknown += 1;
                return Ok(());
            }
            Attached::To(_) | Attached::Held(_) => {
                counts.attached += 1;
                return Ok(());
            }
        }
        let Some(made) = &disk.made else {
            counts.not_kubernetes += 1;
            return Ok(());
        };
        let uids = made.uid.as_deref().and_then(uids_beginning);
        if uids.is_some_and(|uids| self.clusters.iter().any(|it| it.has_claim(&uids))) {
            counts.claimed += 1;
            return Ok(());
        }
        if let Some(earlier) = reading.left.get(&disk.backend) {
            is_one_size(&disk, earlier.size)?;
        }
        reading.left.insert(disk.backend.clone(), disk);
        Ok(())
    }

    fn named_there(
        &self,
        disk: &Disk,
        cluster: usize,
        volume: usize,
    ) -> Result<NamedThere, String> {
        let named = &self.clusters[cluster].volumes[volume];
        if let Some(ListedSize(earlier)) = self.listed[cluster][volume] {
            is_one_size(disk, earlier)?;
        }
        // A restored volume names a disk that another cluster has made.
        let is_own = |made: &&Made| {
            let uids = made.uid.as_deref().and_then(uids_beginning);
            uids.zip(named.claim_uid).is_some_and(|(uids, own)| uids == (own..=own))
        };
        let identities = disk.made.as_ref().filter(is_own).map(|it| it.clusters.clone());
        Ok(NamedThere {
            cluster,
            volume,
            size: disk.size,
            place: Text::clone(&disk.place),
            machines: match &disk.attached {
                Attached::To(machines) => machines.clone(),
                Attached::No | Attached::Unknown | Attached::Held(_) => Box::default(),
            },
            identities: identities.unwrap_or_default(),
        })
    }

    /// Adds a listing that was read to its end.
    ///
    /// # Errors
    /// When another listing says something else of the same disk.
    pub fn add(&mut self, listing: &Listing, reading: ReadingListing) -> Result<(), String> {
        let ReadingListing { named, left, counts, drivers } = reading;
        for disk in left.values() {
            if let Some(earlier) = self.left.get(&disk.backend) {
                is_one_size(disk, earlier.size)?;
            }
        }
        self.newest = self.newest.max(listing.newest);
        for driver in drivers {
            for (number, cluster) in self.clusters.iter().enumerate() {
                let key = (number, Text::clone(&driver));
                self.reach.entry(key).or_insert_with(|| cluster.places(&driver));
            }
        }
        for it in named {
            let view = &self.clusters[it.cluster];
            let volume = &view.volumes[it.volume];
            let driver = &volume.reference.backend.driver;
            let reach = self.reach.entry((it.cluster, Text::clone(driver)));
            reach.or_insert_with(|| view.places(driver)).insert(coarse(&it.place).to_owned());
            let place = (it.cluster, Text::clone(driver), it.place);
            *self.covered.entry(place).or_insert(true) &= !listing.is_truncated;
            // What the driver is told wins over what is learned.
            let is_told = view.identities.contains_key(driver);
            for identity in it.identities.into_iter().filter(|_| !is_told) {
                let key = (Text::clone(driver), identity);
                let known = self.identities.entry(key).or_default();
                known.entry(it.cluster).or_insert(IdentitySource::Disk);
            }
            self.listed[it.cluster][it.volume] = Some(ListedSize(it.size));
            if !it.machines.is_empty() {
                self.machines.insert((it.cluster, it.volume), it.machines);
            }
        }
        self.left.extend(left);
        self.counts = counts;
        Ok(())
    }

    /// The identities that are known.
    pub fn known_identities(&self) -> Vec<KnownIdentity> {
        let said = self.words.identities.iter().map(|(cluster, value)| KnownIdentity {
            cluster: *cluster,
            driver: Text::default(),
            value: Text::clone(value),
            source: IdentitySource::Flag,
        });
        let learned = self.identities.iter().flat_map(|((driver, value), clusters)| {
            clusters.iter().map(move |(cluster, source)| KnownIdentity {
                cluster: *cluster,
                driver: Text::clone(driver),
                value: Text::clone(value),
                source: *source,
            })
        });
        said.chain(learned).collect()
    }

    /// Whether it is known what a driver writes on the disks of a cluster.
    fn has_identity(&self, cluster: usize, driver: &Text) -> bool {
        let mut learned = self.identities.iter();
        self.words.identities.iter().any(|it| it.0 == cluster)
            || learned.any(|((of, _), known)| of == driver && known.contains_key(&cluster))
    }

    /// Judges a disk that is left.
    pub fn fate(&self, disk: &Disk) -> DiskFate {
        let made = disk.made.as_ref().expect("because only such disks are left");
        let driver = &disk.backend.driver;
        let all = 0..self.clusters.len();
        let makers = all.clone().filter(|it| self.clusters[*it].may_make(driver)).collect();
        let owner = match self.owner(driver, made, &makers) {
            Owner::Another => return DiskFate::OfAnother,
            Owner::Of(cluster) if !self.is_in_reach(cluster, disk) => return DiskFate::Elsewhere,
            Owner::Of(cluster) => Some(cluster),
            Owner::Unclear => None,
        };
        let may_own = match owner {
            Some(cluster) => vec![cluster],
            // With no sign of its driver anywhere, that is every cluster.
            None if makers.is_empty() => all.collect(),
            None => makers,
        };
        for number in &may_own {
            let cluster = &self.clusters[*number];
            let gap = |kind, reason: &str| {
                let reason = reason.to_owned();
                DiskFate::Gap(NotJudged { cluster: *number, kind, reason })
            };
            let before =
                cluster.clock.map(|it| it - self.settings.thresholds.get(Threshold::BackendGap));
            if disk.created.zip(before).is_some_and(|(created, before)| created > before) {
                return DiskFate::TooYoung;
            }
            if let Some((kind, reason)) = &cluster.unread {
                return gap(*kind, reason);
            }
            if before.is_none() {
                return gap(Kind::PersistentVolume, "the time of the view is unknown");
            }
        }
        if owner.is_none() && !self.words.are_all {
            return DiskFate::Unattributed;
        }
        let is_older = |it: &usize| self.clusters[*it].clock < self.newest;
        let doubt = if disk.created.is_none() {
            Some("unknown when it was made".to_owned())
        } else if may_own.iter().any(is_older) {
            Some("the view of the cluster is older than the listing".to_owned())
        } else if made.is_cut && owner.is_some() {
            Some("the provider may have cut the label with its cluster".to_owned())
        } else {
            None
        };
        DiskFate::Orphan { of: owner, doubt }
    }

    /// Whether the disk exists for less than `older-than`, by the newest view.
    pub fn is_young(&self, disk: &Disk) -> bool {
        let least = self.settings.thresholds.get(Threshold::OlderThan);
        disk.created
            .zip(self.now)
            .is_none_or(|(created, now)| (now - created).to_std().is_ok_and(|it| it < least))
    }

    /// Says whose a disk is; `makers` are the clusters that may have made it. A text that two clusters have identifies
    /// neither.
    fn owner(&self, driver: &Text, made: &Made, makers: &[usize]) -> Owner {
        let mut owners = BTreeSet::new();
        let mut is_known = false;
        for told in &made.clusters {
            let is_it = |known: &Text| match made.is_cut {
                false => known == told,
                true => known.ends_with(&**told),
            };
            let learned = self.identities.iter().filter(|((of, it), _)| of == driver && is_it(it));
            let said = self.words.identities.iter().filter(|(_, it)| is_it(it)).map(|it| it.0);
            let of: BTreeSet<usize> =
                learned.flat_map(|it| it.1.keys().copied()).chain(said).collect();
            is_known |= !of.is_empty();
            if of.len() == 1 {
                owners.extend(of);
            }
        }
        match (owners.len(), owners.first()) {
            (1, Some(one)) => Owner::Of(*one),
            // Who writes no identity, or an unknown one, may have written this.
            _ if is_known || made.clusters.is_empty() => Owner::Unclear,
            _ if makers.iter().all(|it| self.has_identity(*it, driver)) => Owner::Another,
            _ => Owner::Unclear,
        }
    }

    /// Whether a cluster has a node or a volume in the region, project or subscription of a disk.
    fn is_in_reach(&self, cluster: usize, disk: &Disk) -> bool {
        let key = (cluster, Text::clone(&disk.backend.driver));
        self.reach.get(&key).is_some_and(|it| it.contains(coarse(&disk.place)))
    }

    /// Whether disks of a driver were listed.
    pub fn has_listed(&self, driver: &Text) -> bool {
        self.reach.contains_key(&(0, Text::clone(driver)))
    }

    /// The machines that have a bound volume, although its cluster has it nowhere, and that are no nodes of any cluster.
    pub fn strangers(&self, cluster: usize, volume: usize) -> Option<Vec<&Text>> {
        let named = &self.clusters[cluster].volumes[volume];
        let of_cluster = self.clusters[cluster].unread.is_none();
        if !named.is_bound || named.may_be_attached || !of_cluster {
            return None;
        }
        let machines = self.machines.get(&(cluster, volume))?;
        let known: Option<Vec<_>> = self.clusters.iter().map(|it| it.machines.as_ref()).collect();
        let known = known?;
        let is_known = |it: &&Text| known.iter().any(|nodes| nodes.contains(&last_part(it)));
        let strange: Vec<_> = machines.iter().filter(|it| !is_known(it)).collect();
        (!strange.is_empty()).then_some(strange)
    }

    /// Whether a listing covers the place of a volume, so that it would have had it; and whether it has all of that place.
    pub fn covers(&self, cluster: usize, volume: usize) -> Option<bool> {
        let named = &self.clusters[cluster].volumes[volume];
        let place = named.place.clone()?;
        let driver = Text::clone(&named.reference.backend.driver);
        self.covered.get(&(cluster, driver, place)).copied()
    }
}

/// Holds that two rows about one disk say the same of its size.
fn is_one_size(disk: &Disk, earlier: Option<Bytes>) -> Result<(), String> {
    match disk.size.zip(earlier) {
        Some((one, other)) if one != other => {
            let handle = &disk.backend.handle;
            Err(format!("{handle} is listed twice, with {other} and with {one} bytes"))
        }
        _ => Ok(()),
    }
}
