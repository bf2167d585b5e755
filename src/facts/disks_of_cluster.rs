//! What a cluster names of the disks of providers, and what it knows of those that it may have made.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use hashbrown::{HashMap, HashSet};

use super::inventory_counts::OwnDisks;
use super::{cluster_identity, is_bereft, kept_record_read, quoted, storage_references};
use crate::cluster::{Cluster, Cx, Placed as _, ReferencingVolume, StorageReference};
use crate::drivers::{self, Reach};
use crate::listings::{Disk, provider, uid_of_name};
use crate::model::{
    Attributes, BackendKey, Claim, ClaimKey, InventoryDisk, InventorySystem, Kind, NodeAffinity,
    ObjectId, Phase, Text, Time, Uid, migrated_driver,
};

/// The kinds on which it rests that a disk is named by nothing.
pub const NAMING: [Kind; 5] = [
    Kind::PersistentVolume,
    Kind::PersistentVolumeClaim,
    Kind::Pod,
    Kind::VolumeAttachment,
    Kind::VolumeSnapshotContent,
];

/// What a cluster names of the disks of providers.
#[derive(Debug, Default)]
pub struct DisksOfCluster {
    /// What the report calls the cluster; `None` where there is one.
    pub name: Option<Text>,
    /// Whether it is known from a dump, where only live views permit something.
    pub is_saved: bool,
    /// The keys of everything that it names, each with the number of its volume, if it is one.
    named: HashMap<u64, Option<u32>>,
    /// The keys of spaces and families in which something is its own, and unknown what.
    undecided: HashSet<u64>,
    /// Its volumes.
    pub volumes: Vec<NamedDisk>,
    /// The uids of its claims, sorted.
    claims: Vec<u128>,
    /// The names of volumes that are gone, of which claims or attachments tell.
    gone: HashSet<Text>,
    /// The uids in these names, sorted.
    gone_uids: Vec<u128>,
    /// The claims that have lost such a volume.
    lost_by: HashSet<ClaimKey>,
    /// The drivers of such volumes, where the name does not tell which disk it was.
    lost: HashSet<Text>,
    /// Whether there is such a volume of an unknown driver.
    pub has_lost_unknown: bool,
    /// The nodes on which a pod may have a volume whose object is gone.
    pub bereft: HashSet<Text>,
    /// The names of the disks that lie in the cluster which stand in a path, a dataset or a target that something names.
    pub in_places: HashSet<String>,
    /// The machines of its nodes, in lower case; `None` where one of them is unknown.
    pub machines: Option<HashSet<String>>,
    /// The drivers that it has, by any sign; `None` where that is unknown.
    drivers: Option<BTreeSet<Text>>,
    /// The identities that its controllers write, by their drivers.
    pub identities: BTreeMap<Text, BTreeSet<Text>>,
    /// The zones and regions of its nodes, each with the id of a machine.
    nodes: Vec<(Box<str>, Vec<Text>)>,
    /// Why it is unknown whether that is all that it names.
    pub unread: Option<(Kind, String)>,
    /// The time of the view.
    pub clock: Option<Time>,
    /// The drivers whose controllers were seen.
    controlled: BTreeSet<Text>,
    /// The drivers whose controllers were seen, and which write no cluster on their disks although they could.
    pub unmarked: Vec<Text>,
    /// The disks that lie in the cluster itself.
    pub own: OwnDisks,
}

/// The commands that list the disks of a driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListingCommand {
    /// The driver.
    pub driver: Text,
    /// Number of its volumes.
    pub volumes: usize,
    /// The commands, for each region or project one; none where no command is known.
    pub commands: Vec<String>,
    /// What their answers tell, and what not.
    pub tells: &'static str,
    /// The system whose inventory lies in the cluster, so that it is read without a file.
    pub own: Option<&'static InventorySystem>,
}

/// A `PersistentVolume`, as listings are compared with it.
#[derive(Debug)]
pub struct NamedDisk {
    /// What it names.
    pub reference: StorageReference,
    /// The uid of its claim.
    pub claim_uid: Option<u128>,
    /// Whether its phase is Bound.
    pub is_bound: bool,
    /// Whether it is attached to a node that is Ready; `None` where no `VolumeAttachment` is for it.
    pub attachment: Option<bool>,
    /// The place in which a listing would have it; `None` where that is unknown.
    pub place: Option<Text>,
    /// The time at which its object was made.
    pub created: Option<Time>,
    /// Whether its driver made it.
    pub is_dynamic: bool,
}

/// The keys by which a disk is looked up.
#[derive(Debug)]
pub struct DiskKeys {
    named: Vec<u64>,
    undecided: Vec<u64>,
    disk: u64,
}

impl DiskKeys {
    /// Returns the keys of a disk.
    pub fn of(disk: &Disk) -> Self {
        let reference = drivers::Reference::of(&disk.backend, &disk.attributes);
        let places = drivers::used(&reference);
        let undecided =
            places.iter().map(drivers::Place::space_key).chain([reference.family_key()]);
        let named = reference.listed_keys(&places);
        // A handle may be written in several ways; a directory may have several.
        let is_device = matches!(&places[..], [it] if it.is_device());
        let disk = if is_device { named.first() } else { named.last() };
        Self { disk: disk.copied().unwrap_or_default(), named, undecided: undecided.collect() }
    }

    /// Returns the key that all rows about the disk have in common, however each writes its handle.
    pub fn disk(&self) -> u64 {
        self.disk
    }

    /// Whether a cluster that has one of these keys may name the disk.
    pub fn are_among(&self, known: &HashSet<u64>) -> bool {
        self.named.iter().chain(&self.undecided).any(|key| known.contains(key))
    }
}

/// What a cluster says of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskNaming {
    /// Nothing names it.
    Not,
    /// Something names it: this volume, or something else.
    Named(Option<u32>),
    /// Something may name it.
    Maybe,
}

impl DiskNaming {
    /// Returns what two clusters, or two names of one disk, say together: a volume before anything else.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Named(one), Self::Named(other)) => Self::Named(one.or(other)),
            (named @ Self::Named(_), _) | (_, named @ Self::Named(_)) => named,
            (Self::Maybe, _) | (_, Self::Maybe) => Self::Maybe,
            (Self::Not, Self::Not) => Self::Not,
        }
    }
}

impl DisksOfCluster {
    /// Collects what a cluster names, under the name that the report gives it.
    pub fn of(name: Option<&Text>, cx: &Cx, is_left_out: impl Fn(ObjectId) -> bool) -> Self {
        let cluster = cx.cluster();
        let mut found = Self {
            name: name.cloned(),
            claims: claims(cluster),
            bereft: bereft(cluster),
            machines: machines(cx),
            drivers: drivers_of(cx),
            nodes: nodes(cluster),
            unread: unread(cx),
            clock: cluster.clock(),
            ..Self::default()
        };
        for driver in found.drivers.iter().flatten() {
            let identity = cluster_identity(cx, driver);
            if identity.unseen.is_none() {
                found.controlled.insert(Text::clone(driver));
            }
            let told = identity.arguments.iter().filter_map(|it| it.1.identity());
            let told: BTreeSet<Text> = told.flat_map(identities_of_argument).collect();
            if !told.is_empty() {
                found.identities.insert(Text::clone(driver), told);
            } else if identity.unseen.is_none() && !provider(driver).identity_flag.is_empty() {
                found.unmarked.push(Text::clone(driver));
            }
        }
        let ready: HashSet<&str> =
            cluster.nodes().filter(|it| it.1.ready).map(|it| &*it.1.metadata.name).collect();
        let mut attached: HashMap<&str, bool> = HashMap::new();
        for (_, attachment) in cluster.attachments() {
            if let Some(volume) = attachment.source.volume() {
                let is_ready = attachment.attached && ready.contains(&*attachment.node);
                *attached.entry(volume).or_default() |= is_ready;
            }
        }
        found.note_gone(cluster);
        let reported = |id, volume| ReferencingVolume { is_left_out: is_left_out(id), ..volume };
        let own: HashSet<String> = cluster.inventory_disks().flat_map(names_in_places).collect();
        for reference in storage_references(cx, |_| true, reported) {
            found.note_places(&reference.backend.handle, &own);
            let volume = reference.volume.as_ref();
            let volume = volume.and_then(|_| cluster.volume_named(&reference.object.name));
            let number = volume.map(|_| found.volumes.len());
            let number = number.map(|it| u32::try_from(it).expect("because memory holds fewer"));
            found.file(&reference, number);
            let Some(volume) = volume else { continue };
            let affinity = volume.node_affinity.as_deref();
            let zones: Vec<&str> = affinity.map(zones).unwrap_or_default();
            let provider = provider(&reference.backend.driver);
            found.volumes.push(NamedDisk {
                place: (provider.place_of)(&reference.backend.handle, &zones).map(Text::from),
                claim_uid: volume.claim_ref.as_ref().and_then(|it| number_of(it.uid.as_ref()?)),
                is_bound: volume.phase == Phase::Bound,
                attachment: attached.get(volume.name()).copied(),
                created: volume.metadata.created,
                is_dynamic: volume.is_dynamic(),
                reference,
            });
        }
        found.file_on_nodes(cluster);
        found
    }

    /// Notes the volumes that are gone, of which claims or attachments tell.
    fn note_gone(&mut self, cluster: &Cluster) {
        let of_attachments = cluster
            .attachments()
            .filter_map(|(_, it)| Some((it.source.volume()?, Some(&*it.attacher), None)));
        let of_claims = cluster
            .claims()
            .filter_map(|(_, it)| Some((it.volume_name.as_deref()?, it.driver(), Some(it))));
        for (name, driver, claim) in of_attachments.chain(of_claims) {
            if cluster.volume_named(name).is_some() {
                continue;
            }
            self.gone.insert(name.into());
            let uids = uid_of_name(name).and_then(|it| uids_beginning(&it));
            self.gone_uids.extend(uids.as_ref().map(|it| *it.start()));
            if claim.is_none_or(Claim::was_bound) {
                self.lost_by.extend(claim.map(Claim::key));
                match driver {
                    _ if uids.is_some() => {}
                    Some(driver) => drop(self.lost.insert(driver.into())),
                    None => self.has_lost_unknown = true,
                }
            }
        }
        self.gone_uids.sort_unstable();
    }

    /// Notes which of these disks stand in a handle: in a path to a device, a dataset, a target.
    fn note_places(&mut self, handle: &str, disks: &HashSet<String>) {
        if disks.is_empty() {
            return;
        }
        for part in handle.split(['/', ':', ',', '@']).map(undoubled) {
            // The device mapper writes the volume group before it.
            let ends = part.match_indices('-').map(|it| it.0 + 1);
            let ends = [0].into_iter().chain(ends).map(|at| &part[at..]);
            self.in_places.extend(ends.filter(|it| disks.contains(*it)).map(str::to_owned));
        }
    }

    /// Files the disks that nodes report to have, although no volume names them.
    fn file_on_nodes(&mut self, cluster: &Cluster) {
        let attributes = Attributes::default();
        for (driver, handle) in
            cluster.nodes().flat_map(|(_, node)| &node.volumes).filter_map(|it| reported_disk(it))
        {
            let backend = BackendKey { driver: driver.into(), handle: handle.into() };
            let reference = drivers::Reference::of(&backend, &attributes);
            for key in reference.listed_keys(&drivers::used(&reference)) {
                self.named.entry(key).or_insert(None);
            }
        }
    }

    /// Returns what is known of a cluster that could not be read.
    pub fn unread(name: &Text, why: String) -> Self {
        Self {
            name: Some(Text::clone(name)),
            unread: Some((Kind::PersistentVolume, why)),
            ..Self::default()
        }
    }

    /// Returns the time of the view.
    pub fn clock(&self) -> Option<Time> {
        self.clock
    }

    /// Returns the commands that list the disks of its drivers.
    pub fn listings(&self) -> Vec<ListingCommand> {
        let mut volumes: BTreeMap<&Text, usize> = BTreeMap::new();
        for it in &self.volumes {
            *volumes.entry(&it.reference.backend.driver).or_default() += 1;
        }
        let drivers: BTreeSet<&Text> =
            self.drivers.iter().flatten().chain(volumes.keys().copied()).collect();
        let command = |driver: &Text| {
            let lists = provider(driver).lists;
            let places = self.places(driver);
            let coarse = places.iter().filter_map(|it| it.split('/').next());
            let places: BTreeSet<&str> = coarse.filter(|it| !it.is_empty()).collect();
            let of = |place: &str| lists.command.replace("PLACE", &quoted(place));
            let commands = match lists.command.contains("PLACE") && !places.is_empty() {
                true => places.iter().map(|it| of(it)).collect(),
                false => vec![lists.command.to_owned()],
            };
            ListingCommand {
                driver: Text::clone(driver),
                volumes: volumes.get(driver).copied().unwrap_or_default(),
                commands: commands.into_iter().filter(|it| !it.is_empty()).collect(),
                tells: lists.tells,
                own: InventorySystem::of_driver(driver),
            }
        };
        let is_listed = |it: &&Text| {
            !drivers::family(it).is_of_cluster() || InventorySystem::of_driver(it).is_some()
        };
        drivers.into_iter().filter(is_listed).map(command).collect()
    }

    /// Files a reference under its keys. A volume comes before what else names the same.
    fn file(&mut self, reference: &StorageReference, number: Option<u32>) {
        let named = reference.reference();
        if reference.is_somewhere {
            self.undecided.insert(named.family_key());
            return;
        }
        let places = reference.places();
        // A claim of another cluster stands between it and the provider: that of a guest cluster in its Supervisor.
        let is_guest = named.family.reach == Reach::Provider && named.reach() == Reach::Network;
        for place in places.iter().filter(|it| is_guest || it.doubt().is_some()) {
            self.undecided.insert(place.space_key());
        }
        for key in named.listed_keys(&places) {
            let entry = self.named.entry(key).or_insert(number);
            *entry = entry.or(number);
        }
    }

    /// Returns the keys of everything that the cluster names, or may name.
    pub fn keys(&self) -> impl Iterator<Item = u64> {
        self.named.keys().chain(&self.undecided).copied()
    }

    /// Says whether the cluster names a disk, which has these keys.
    pub fn naming(&self, keys: &DiskKeys, disk: &Disk) -> DiskNaming {
        let named = keys.named.iter().filter_map(|key| self.named.get(key));
        match named.copied().reduce(Option::or) {
            Some(volume) => DiskNaming::Named(volume),
            None if keys.undecided.iter().any(|key| self.undecided.contains(key)) => {
                DiskNaming::Maybe
            }
            None => self.missing(disk),
        }
    }

    /// Says whether the cluster may name a disk of which it has no key.
    pub fn missing(&self, disk: &Disk) -> DiskNaming {
        if self.may_miss(disk) { DiskNaming::Maybe } else { DiskNaming::Not }
    }

    /// Whether a claim or an attachment names the volume for which a disk was made, although it is gone; whether its claim
    /// has lost a volume; or whether pods have lost one, where no listing tells who has one.
    fn may_miss(&self, disk: &Disk) -> bool {
        if !self.bereft.is_empty() && !provider(&disk.backend.driver).tells_machines {
            return true;
        }
        let Some(made) = disk.made.as_ref().filter(|_| !self.gone.is_empty()) else { return false };
        let uids = made.uid.as_deref().and_then(uids_beginning);
        made.volume.as_ref().is_some_and(|it| self.gone.contains(it))
            || made.claim.as_ref().is_some_and(|it| self.lost_by.contains(it))
            || uids.is_some_and(|it| is_any_in(&self.gone_uids, &it))
    }

    /// Whether the cluster has a claim with one of these uids.
    pub fn has_claim(&self, uids: &RangeInclusive<u128>) -> bool {
        is_any_in(&self.claims, uids)
    }

    /// Whether a claim or an attachment has lost a volume of a driver, and its name does not tell which disk it was.
    pub fn may_have_lost(&self, driver: &str) -> bool {
        self.lost.contains(driver)
    }

    /// Whether the cluster may have made disks of a driver.
    pub fn may_make(&self, driver: &str) -> bool {
        self.drivers.as_ref().is_none_or(|known| known.contains(driver))
    }

    /// Whether a controller of the driver was seen.
    pub fn runs(&self, driver: &str) -> bool {
        self.controlled.contains(driver)
    }

    /// Returns the places in which the cluster has volumes or nodes, as disks of a driver name them.
    pub fn places(&self, driver: &str) -> BTreeSet<String> {
        let volumes = self.volumes.iter().filter(|it| *it.reference.backend.driver == *driver);
        let volumes = volumes.filter_map(|it| it.place.as_deref().map(str::to_owned));
        let place = provider(driver).place_of_node;
        let of_node = |(id, zones): &(Box<str>, Vec<Text>)| -> Vec<String> {
            let zones = zones.iter().map(|it| &**it).chain(zones.is_empty().then_some(""));
            zones.filter_map(|zone| place(id, zone)).collect()
        };
        volumes.chain(self.nodes.iter().flat_map(of_node)).collect()
    }
}

/// Returns all uids that begin with these hexadecimal digits; `None` if there is none, or if they are no digits.
pub fn uids_beginning(digits: &str) -> Option<RangeInclusive<u128>> {
    let first = u128::from_str_radix(digits, 16).ok()?;
    let rest = 128_u32.checked_sub(u32::try_from(digits.len()).ok()? * 4)?;
    let first = first.checked_shl(rest)?;
    Some(first..=first | ((1 << rest) - 1))
}

/// Whether one of these sorted uids is in a range.
fn is_any_in(sorted: &[u128], uids: &RangeInclusive<u128>) -> bool {
    let first = sorted.partition_point(|it| it < uids.start());
    sorted.get(first).is_some_and(|it| it <= uids.end())
}

/// Returns what stands for a disk in a path: its name, or its handle.
pub fn names_in_places(object: &InventoryDisk) -> [String; 2] {
    [&*object.name, object.handle()].map(undoubled)
}

/// Returns a name as it is without the device mapper, which doubles each hyphen in it.
fn undoubled(name: &str) -> String {
    name.replace("--", "-")
}

fn bereft(cluster: &Cluster) -> HashSet<Text> {
    let pods = cluster.pods().filter(|(_, pod)| is_bereft(cluster, pod));
    pods.filter_map(|(_, pod)| pod.node.clone()).collect()
}

/// Returns driver and handle of a volume that a node reports: `kubernetes.io/csi/DRIVER^HANDLE`.
fn reported_disk(volume: &str) -> Option<(&str, &str)> {
    volume.strip_prefix("kubernetes.io/csi/")?.split_once('^')
}

/// Returns a uid as a number, if it is a UUID.
fn number_of(uid: &Uid) -> Option<u128> {
    match uid {
        Uid::Uuid(uid) => Some(u128::from_be_bytes(*uid)),
        Uid::Other(_) => None,
    }
}

/// The identities that disks have because of an argument: its value, or what OpenShift writes among extra labels; other
/// labels are the user's.
fn identities_of_argument(value: &Text) -> Vec<Text> {
    if !value.contains('=') {
        // DOKS writes k8s:ID.
        return vec![value.strip_prefix("k8s:").unwrap_or(value).into()];
    }
    let pairs = value.split(',').filter_map(|it| it.split_once('='));
    let keys = pairs.filter_map(|it| it.0.strip_prefix("kubernetes-io-cluster-"));
    keys.map(Text::from).collect()
}

fn claims(cluster: &Cluster) -> Vec<u128> {
    let uids = cluster.claims().filter_map(|(_, it)| number_of(it.metadata.uid.as_ref()?));
    let mut uids: Vec<_> = uids.collect();
    uids.sort_unstable();
    uids
}

/// The names of machines: of the node, and the last part of what its provider calls it.
fn machines(cx: &Cx) -> Option<HashSet<String>> {
    cx.all_of(Kind::Node).ok().filter(|()| cx.cluster().has_identity())?;
    let mut found = HashSet::new();
    for (_, node) in cx.cluster().nodes() {
        let id = node.provider_id.as_deref()?;
        found.insert(node.metadata.name.to_ascii_lowercase());
        found.insert(last_part(id));
    }
    Some(found)
}

/// Returns the last part of the id or of the address of a machine, in lower case.
pub fn last_part(id: &str) -> String {
    id.rsplit('/').next().unwrap_or_default().to_ascii_lowercase()
}

/// Every driver of which the cluster has a sign; `None` where a kind that could show one was not read.
fn drivers_of(cx: &Cx) -> Option<BTreeSet<Text>> {
    let kinds = [Kind::PersistentVolume, Kind::StorageClass, Kind::CsiDriver, Kind::CsiNode];
    kinds.into_iter().try_for_each(|kind| cx.all_of(kind)).ok()?;
    let cluster = cx.cluster();
    let mut found: BTreeSet<Text> = BTreeSet::new();
    let mut add = |name: &str| {
        found.insert(name.into());
        found.extend(migrated_driver(name).map(Text::from));
    };
    cluster.volumes().for_each(|(_, it)| it.drivers().for_each(&mut add));
    cluster.classes().for_each(|(_, it)| add(&it.provisioner));
    cluster.csi_drivers().for_each(|(_, it)| add(&it.metadata.name));
    cluster.csi_nodes().for_each(|(_, it)| it.drivers.iter().for_each(|it| add(it)));
    Some(found)
}

const ZONE_LABELS: [&str; 4] = [
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
];

fn nodes(cluster: &Cluster) -> Vec<(Box<str>, Vec<Text>)> {
    let of = |node: &crate::model::Node| {
        let zones = ZONE_LABELS.iter().filter_map(|it| node.metadata.label(it)).map(Text::from);
        (node.provider_id.clone().unwrap_or_default(), zones.collect())
    };
    cluster.nodes().map(|(_, node)| of(node)).collect()
}

/// Returns the values of an affinity that are zones or regions.
pub fn zones(affinity: &NodeAffinity) -> Vec<&str> {
    let labels = affinity.terms.iter().flat_map(|it| &it.labels);
    let is_zone = |key: &str| key.ends_with("zone") || key.ends_with("region");
    labels.filter(|it| is_zone(&it.key)).flat_map(|it| it.values.iter().map(|it| &**it)).collect()
}

/// Returns why it is unknown whether the cluster names something, if so.
fn unread(cx: &Cx) -> Option<(Kind, String)> {
    let kind = NAMING.iter().find_map(|kind| cx.all_of(*kind).err().map(|it| (*kind, it.reason)));
    kind.or_else(|| {
        let record = kept_record_read(cx).err()?;
        Some((record.kind, record.reason))
    })
}
