//! The order in which a disk of a listing is judged (semantics K.3), one disk after the other.

mod adoptable;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use hashbrown::{HashMap, HashSet};

use super::disks_of_cluster::{
    DiskKeys, DiskNaming, DisksOfCluster, NamedDisk, last_part, uids_beginning,
};
use super::driver::{IdentitySource, KnownIdentity};
use super::inventory_counts::InventoryCounts;
use super::standing::Standing;
use crate::listings::{Attached, Disk, Listing, Made, provider};
use crate::model::{Bytes, Interner, Kind, Settings, Text, Threshold, Time};

pub use adoptable::Needed;

/// What the user says of listings.
#[derive(Debug, Clone, Default)]
pub struct InventoryWords {
    /// Whether every cluster that uses the accounts is given.
    pub are_all: bool,
    /// Identities of clusters: each with the number of its cluster.
    pub identities: Vec<(usize, Text)>,
}

/// A listing while it is read: nothing of it counts before it ends well.
#[derive(Debug)]
pub struct ReadingListing {
    named: Vec<NamedThere>,
    left: HashMap<u64, Box<Disk>>,
    /// The texts of the disks that are left, many of which have the same.
    texts: Interner,
    /// Disks that are no orphans by one of their rows: eight bytes for each row is all that is kept of those.
    taken: Vec<u64>,
    /// The identities of disks of which the row does not tell whether a machine has them: another one may.
    told: HashMap<u64, Made>,
    /// Drivers of disks without any mark: their listing is not filtered by one.
    unmarked: BTreeSet<Text>,
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
    /// The keys of everything that any cluster names, or may name: few disks have one of them.
    known: HashSet<u64>,
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
    /// The clusters that have an identity, with its driver.
    identified: BTreeSet<(usize, Text)>,
    /// The disks that the further steps decide, by the [key](DiskKeys::disk) of each.
    pub left: HashMap<u64, Box<Disk>>,
    /// The disks that lie in a cluster and that nothing names, each with the number of that cluster.
    pub own: Vec<(usize, &'a Disk)>,
    /// Disks that are no orphans by one of their rows, sorted.
    taken: Vec<u64>,
    /// The identities of disks of which the row does not tell whether a machine has them: another one may.
    told: HashMap<u64, Made>,
    /// Drivers of disks without any mark: their listing is not filtered by one.
    unmarked: BTreeSet<Text>,
    /// Whether a listing could not be read: it may be that of any driver.
    has_failed: bool,
    pub counts: InventoryCounts,
    newest: Option<Time>,
    /// The time of the newest view.
    now: Option<Time>,
    /// The regions, projects or subscriptions in which a cluster has nodes or volumes, by each driver that was listed.
    reach: BTreeMap<(usize, Text), BTreeSet<String>>,
}

/// The doubt about disks of a driver of which a cluster has lost a volume, unknown which.
const LOST: &str =
    "a claim or an attachment has lost a volume of its driver, which may have been this one";

/// Adds a driver, which mostly is there.
fn add(drivers: &mut BTreeSet<Text>, driver: &Text) {
    if !drivers.contains(driver) {
        drivers.insert(Text::clone(driver));
    }
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
        let mut identified = BTreeSet::new();
        for (number, cluster) in clusters.iter().enumerate() {
            for (driver, told) in &cluster.identities {
                identified.insert((number, Text::clone(driver)));
                for it in told {
                    let key = (Text::clone(driver), Text::clone(it));
                    identities.entry(key).or_default().insert(number, IdentitySource::Argument);
                }
            }
        }
        Self {
            clusters,
            known: clusters.iter().flat_map(DisksOfCluster::keys).collect(),
            settings,
            words,
            listed: clusters.iter().map(|it| vec![None; it.volumes.len()]).collect(),
            machines: BTreeMap::new(),
            covered: BTreeMap::new(),
            identities,
            identified,
            left: HashMap::new(),
            own: Vec::new(),
            taken: Vec::new(),
            told: HashMap::new(),
            unmarked: BTreeSet::new(),
            has_failed: false,
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
            texts: Interner::default(),
            taken: Vec::new(),
            told: HashMap::new(),
            unmarked: BTreeSet::new(),
            counts: self.counts,
            drivers: BTreeSet::new(),
        }
    }

    /// Takes a disk of a listing that is being read.
    ///
    /// # Errors
    /// When another row says something else of the same disk.
    pub fn take(&self, mut disk: Disk, reading: &mut ReadingListing) -> Result<(), String> {
        let counts = &mut reading.counts;
        counts.listed += 1;
        add(&mut reading.drivers, &disk.backend.driver);
        if disk.made.is_none() {
            add(&mut reading.unmarked, &disk.backend.driver);
        }
        let keys = DiskKeys::of(&disk);
        let is_known = keys.are_among(&self.known);
        let namings = self.clusters.iter().map(|it| match is_known {
            true => it.naming(&keys, &disk),
            false => it.missing(&disk),
        });
        let namings: Vec<DiskNaming> = namings.collect();
        let naming = namings.iter().copied().fold(DiskNaming::Not, DiskNaming::or);
        let standing = Standing::of(&disk, naming, |uids| self.has_claim(uids));
        let is_left = counts.count(standing);
        match (standing, &disk.made) {
            (Standing::Named, _) => {
                for (cluster, naming) in namings.into_iter().enumerate() {
                    let DiskNaming::Named(Some(volume)) = naming else { continue };
                    reading.named.push(self.named_there(&disk, cluster, volume as usize)?);
                }
            }
            (Standing::AttachmentUnknown, Some(made)) if !made.clusters.is_empty() => {
                reading.told.insert(keys.disk(), made.clone());
            }
            (Standing::AttachmentUnknown | Standing::NotKubernetes, _) => {}
            (_, Some(made)) if is_left => {
                if let Some(earlier) = reading.left.get_mut(&keys.disk()) {
                    is_one_size(&disk, earlier.size)?;
                    unite(earlier, made);
                    counts.listed -= 1;
                } else {
                    disk.share(&mut reading.texts);
                    reading.left.insert(keys.disk(), Box::new(disk));
                }
            }
            _ => reading.taken.push(keys.disk()),
        }
        Ok(())
    }

    /// Whether a cluster has a claim with one of these uids.
    fn has_claim(&self, uids: &RangeInclusive<u128>) -> bool {
        self.clusters.iter().any(|it| it.has_claim(uids))
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
        let ReadingListing { named, left, mut taken, told, unmarked, counts, drivers, .. } =
            reading;
        for (key, disk) in &left {
            if let Some(earlier) = self.left.get(key) {
                is_one_size(disk, earlier.size)?;
            }
        }
        self.counts = counts;
        for (key, disk) in left {
            match (self.left.get_mut(&key), &disk.made) {
                (Some(earlier), Some(made)) => {
                    unite(earlier, made);
                    self.counts.listed -= 1;
                }
                _ => drop(self.left.insert(key, disk)),
            }
        }
        taken.append(&mut self.taken);
        taken.sort_unstable();
        self.taken = taken;
        self.told.extend(told);
        for (key, disk) in &mut self.left {
            if let Some(made) = self.told.remove(key) {
                unite(disk, &made);
                self.counts.attachment_unknown -= 1;
                self.counts.listed -= 1;
            }
        }
        self.unmarked.extend(unmarked);
        self.newest = self.newest.max(listing.newest);
        for driver in drivers {
            for (number, cluster) in self.clusters.iter().enumerate() {
                let key = (number, Text::clone(&driver));
                self.reach.entry(key).or_insert_with(|| reach_of(cluster, &driver));
            }
        }
        for it in named {
            let view = &self.clusters[it.cluster];
            let volume = &view.volumes[it.volume];
            let driver = &volume.reference.backend.driver;
            let reach = self.reach.entry((it.cluster, Text::clone(driver)));
            let here = region_of(driver, &it.place);
            reach.or_insert_with(|| reach_of(view, driver)).insert(here);
            let place = (it.cluster, Text::clone(driver), it.place);
            *self.covered.entry(place).or_insert(true) &= !listing.is_truncated;
            // What the driver is told wins over what is learned.
            let is_told = view.identities.contains_key(driver);
            for identity in it.identities.into_iter().filter(|_| !is_told) {
                let key = (Text::clone(driver), identity);
                let known = self.identities.entry(key).or_default();
                known.entry(it.cluster).or_insert(IdentitySource::Disk);
                self.identified.insert((it.cluster, Text::clone(driver)));
            }
            self.listed[it.cluster][it.volume] = Some(ListedSize(it.size));
            if !it.machines.is_empty() {
                self.machines.insert((it.cluster, it.volume), it.machines);
            }
        }
        Ok(())
    }

    /// Notes that a listing could not be read.
    pub fn fail(&mut self) {
        self.has_failed = true;
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
        self.words.identities.iter().any(|it| it.0 == cluster)
            || self.identified.contains(&(cluster, Text::clone(driver)))
            || self.clusters[cluster].unmarked.contains(driver)
    }

    /// Judges a disk that is left.
    pub fn fate(&self, disk: &Disk) -> DiskFate {
        let made = disk.made.as_ref().expect("because only such disks are left");
        let driver = &disk.backend.driver;
        let all = 0..self.clusters.len();
        let makers = all.clone().filter(|it| self.clusters[*it].may_make(driver));
        let makers: Vec<usize> = makers.collect();
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
        if let Some(fate) = may_own.iter().find_map(|it| self.held_back(*it, disk)) {
            return fate;
        }
        if owner.is_none() && !self.words.are_all {
            return DiskFate::Unattributed;
        }
        let is_older = |it: &usize| self.clusters[*it].clock < self.newest;
        let doubt = if disk.created.is_none() {
            Some("unknown when it was made".to_owned())
        } else if may_own.iter().any(|it| self.clusters[*it].may_have_lost(driver)) {
            Some(LOST.to_owned())
        } else if may_own.iter().any(is_older) {
            Some("the view of the cluster is older than the listing".to_owned())
        } else if owner.is_some_and(|it| !self.is_same_account(it, disk)) {
            Some(
                "none of its listed disks is a volume's: it may be that of another account"
                    .to_owned(),
            )
        } else {
            None
        };
        DiskFate::Orphan { of: owner, doubt }
    }

    /// Judges a disk that is left and lies in a cluster, which is its identity.
    pub fn fate_of_own(&self, cluster: usize, disk: &Disk) -> DiskFate {
        if let Some(fate) = self.held_back(cluster, disk) {
            return fate;
        }
        let is_shared = disk.lies_in().is_some_and(|(system, _)| system.is_shared);
        let doubt = if disk.created.is_none() {
            Some("unknown when it was made".to_owned())
        } else if is_shared && !self.words.are_all {
            Some("another cluster may have imported what is behind it".to_owned())
        } else {
            None
        };
        DiskFate::Orphan { of: Some(cluster), doubt }
    }

    /// Returns why a disk cannot be judged by the view of a cluster that may have made it.
    fn held_back(&self, number: usize, disk: &Disk) -> Option<DiskFate> {
        let cluster = &self.clusters[number];
        let gap = |kind, reason: &str| {
            let reason = reason.to_owned();
            Some(DiskFate::Gap(NotJudged { cluster: number, kind, reason }))
        };
        let before =
            cluster.clock.map(|it| it - self.settings.thresholds.get(Threshold::BackendGap));
        if disk.created.zip(before).is_some_and(|(created, before)| created > before) {
            return Some(DiskFate::TooYoung);
        }
        if let Some((kind, reason)) = &cluster.unread {
            return gap(*kind, reason);
        }
        match before {
            Some(_) => None,
            None => gap(Kind::PersistentVolume, "the time of the view is unknown"),
        }
    }

    /// Whether the disk exists, or is out of use, for less than `older-than`, by the newest view.
    pub fn is_young(&self, disk: &Disk) -> bool {
        let least = self.settings.thresholds.get(Threshold::OlderThan);
        let used_until = disk.lies_in().and_then(|it| it.1.used_until);
        let since = disk.created.map(|created| used_until.map_or(created, |it| it.max(created)));
        since
            .zip(self.now)
            .is_none_or(|(since, now)| (now - since).to_std().is_ok_and(|it| it < least))
    }

    /// Says whose a disk is; `makers` are the clusters that may have made it. A text that two clusters have identifies
    /// neither.
    fn owner(&self, driver: &Text, made: &Made, makers: &[usize]) -> Owner {
        let none = BTreeMap::new();
        let owners = made.clusters.iter().map(|told| -> BTreeSet<usize> {
            let key = (Text::clone(driver), Text::clone(told));
            let said = self.words.identities.iter().filter(|it| it.1 == *told).map(|it| it.0);
            self.identities.get(&key).unwrap_or(&none).keys().copied().chain(said).collect()
        });
        let owners: Vec<_> = owners.collect();
        let Some((first, others)) = owners.split_first() else { return Owner::Unclear };
        if others.iter().any(|it| it != first) {
            return Owner::Unclear;
        }
        match (first.len(), first.first()) {
            (1, Some(cluster)) => Owner::Of(*cluster),
            // Who writes no identity that is known may have written this.
            (0, _) if makers.iter().all(|it| self.has_identity(*it, driver)) => Owner::Another,
            _ => Owner::Unclear,
        }
    }

    /// Whether an identity is one of the account in which a disk is: a place names it, or the listing has a disk there that
    /// a volume of the cluster names.
    fn is_same_account(&self, cluster: usize, disk: &Disk) -> bool {
        let driver = &disk.backend.driver;
        let is_here = |it: &(usize, Text, Text)| {
            it.0 == cluster
                && it.1 == *driver
                && region_of(driver, &it.2) == region_of(driver, &disk.place)
        };
        provider(driver).names_account || self.covered.keys().any(is_here)
    }

    /// Whether a cluster has a node or a volume in the region, project or subscription of a disk.
    fn is_in_reach(&self, cluster: usize, disk: &Disk) -> bool {
        let key = (cluster, Text::clone(&disk.backend.driver));
        let region = region_of(&disk.backend.driver, &disk.place);
        self.reach.get(&key).is_some_and(|it| it.contains(&region))
    }

    /// Whether one of the rows of a disk that is left says that it is no orphan.
    pub fn is_taken(&self, disk: &Disk) -> bool {
        self.taken.binary_search(&DiskKeys::of(disk).disk()).is_ok()
    }

    /// Whether disks of a driver were listed.
    pub fn has_listed(&self, driver: &Text) -> bool {
        self.reach.contains_key(&(0, Text::clone(driver)))
    }

    /// The machines that have a bound volume, although its cluster has it nowhere, and that are no nodes of any cluster.
    pub fn strangers(&self, cluster: usize, volume: usize) -> Option<Vec<&Text>> {
        let named = &self.clusters[cluster].volumes[volume];
        let of_cluster = self.clusters[cluster].unread.is_none();
        if !named.is_bound || named.attachment.is_some() || !of_cluster {
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
        let driver = &named.reference.backend.driver;
        let covered = self.covered.get(&(cluster, Text::clone(driver), place)).copied()?;
        // Where every disk has a mark of Kubernetes, others may have been left out.
        let is_wanted = named.is_dynamic || self.unmarked.contains(driver);
        (is_wanted && self.was_there(named)).then_some(covered && !self.has_failed)
    }

    /// Whether a volume was there when the disks were listed: some disk was made or detached later, or, where the listing
    /// has no times, it is there for longer than `older-than`.
    fn was_there(&self, named: &NamedDisk) -> bool {
        let Some(created) = named.created else { return false };
        let least = self.settings.thresholds.get(Threshold::OlderThan);
        let is_old = |now: Time| (now - created).to_std().is_ok_and(|it| it >= least);
        match self.newest {
            Some(newest) => created <= newest,
            None => self.now.is_some_and(is_old),
        }
    }
}

/// Returns the account and region in which a cluster has what is at a place.
fn region_of(driver: &str, place: &str) -> String {
    (provider(driver).region_of)(place).to_owned()
}

fn reach_of(cluster: &DisksOfCluster, driver: &str) -> BTreeSet<String> {
    cluster.places(driver).iter().map(|it| region_of(driver, it)).collect()
}

/// Adds the identities of another row about a disk.
fn unite(disk: &mut Disk, other: &Made) {
    if let Some(made) = &mut disk.made {
        let new = other.clusters.iter().filter(|it| !made.clusters.contains(it)).cloned();
        let new: Vec<_> = new.collect();
        made.clusters.extend(new);
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
