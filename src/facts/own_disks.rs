//! The disks of storage systems whose inventory lies in the cluster (semantics K.3): which of them it names or needs.
//!
//! A doubt counts as a use: what is left can be destroyed by a command that the report prints.

use hashbrown::{HashMap, HashSet};

use super::disks_of_cluster::{DiskKeys, DiskNaming, DisksOfCluster};
use super::inventory_counts::OwnDisks;
use super::listed_disks::Inventory;
use super::standing::Standing;
use super::{is_bereft, storage_references};
use crate::cluster::Cx;
use crate::listings::Disk;
use crate::model::{AttachmentSource, InventoryDisk, InventorySystem, Kind, Text, migrated_driver};

/// Judges the disks that lie in a cluster by all that it names.
pub fn own_disks(cx: &Cx, named: &DisksOfCluster) -> OwnDisks {
    let cluster = cx.cluster();
    let mut found = OwnDisks::default();
    if !cluster.has_inventory_disks() {
        return found;
    }
    let traces = Traces::of(cx);
    let gapped: HashSet<Kind> = cluster.gaps().map(|it| it.kind).collect();
    let mut read: HashMap<(Kind, Option<&Text>), bool> = HashMap::new();
    for object in cluster.inventory_disks() {
        let Some(system) = InventorySystem::of_kind(object.kind) else { continue };
        let place = (object.kind, object.namespace.as_ref());
        let is_read = read.entry(place).or_insert_with(|| cluster.reach(place.0, place.1).is_ok());
        // Who did not read all of them is told so where that is a gap.
        if !*is_read && !gapped.contains(&object.kind) {
            continue;
        }
        found.counts.listed += 1;
        if !*is_read {
            found.counts.not_judged += 1;
            continue;
        }
        let disk = Disk::in_cluster(object, system.driver);
        let formerly = system.formerly.iter().map(|driver| Disk::in_cluster(object, driver));
        let formerly: Vec<DiskKeys> = formerly.map(|it| DiskKeys::of(&it)).collect();
        let keys = [DiskKeys::of(&disk)].into_iter().chain(formerly);
        let naming = keys.map(|it| named.naming(&it, &disk)).fold(DiskNaming::Not, DiskNaming::or);
        let naming = naming.or(traces.naming(object, system));
        let standing = Standing::of(&disk, naming, |uids| named.has_claim(uids));
        if found.counts.count(standing) {
            found.left.push(disk);
        }
    }
    found
}

impl Inventory<'_> {
    /// Adds the disks that lie in the clusters themselves, once every listing was added.
    pub fn add_own(&mut self) {
        let clusters = self.clusters;
        for (number, cluster) in clusters.iter().enumerate() {
            self.counts.add_own(&cluster.own.counts);
            let others = || clusters.iter().enumerate().filter(|it| it.0 != number).map(|it| it.1);
            for disk in &cluster.own.left {
                // What a listing has, too, is one disk.
                let keys = DiskKeys::of(disk);
                if self.left.remove(&keys.disk()).is_some() {
                    self.counts.listed -= 1;
                }
                // What another cluster may name is no doubt here: the disk lies in this one.
                let namings = others().map(|it| it.naming(&keys, disk));
                let named = namings.filter(|it| *it != DiskNaming::Maybe);
                let naming = named.fold(DiskNaming::Not, DiskNaming::or);
                let has_claim = |uids: &_| others().any(|it| it.has_claim(uids));
                if self.counts.count(Standing::of(disk, naming, has_claim)) {
                    self.own.push((number, disk));
                }
            }
        }
    }
}

/// What a cluster shows of volumes whose objects are gone, and of what names a disk otherwise than by its driver.
struct Traces<'a> {
    /// Every `PersistentVolume`, and each that a claim or an attachment names although it is gone.
    volumes: HashSet<&'a str>,
    /// The disks of which others were made: each with its kind.
    sources: HashSet<(Kind, &'a str)>,
    /// The names of disks that stand in a path, a dataset or a target that something else names.
    in_places: HashSet<String>,
    /// The nodes, and those with a pod that may still write: its claim or volume is gone, or the node does not answer.
    nodes: HashMap<&'a str, bool>,
    /// Whether any node has such a pod.
    has_bereft: bool,
    /// The drivers of volumes that are gone, of which a claim or an attachment tells, but not which disk it was; `None` of
    /// any driver.
    lost: HashSet<Option<&'a str>>,
}

impl<'a> Traces<'a> {
    fn of(cx: &Cx<'a>) -> Self {
        let cluster = cx.cluster();
        let of_attachments = cluster.attachments().filter_map(|(_, it)| match &it.source {
            AttachmentSource::Volume(volume) => Some((&**volume, Some(&*it.attacher))),
            AttachmentSource::Inline { .. } | AttachmentSource::None => None,
        });
        let of_claims = cluster.claims().filter_map(|(_, it)| {
            let provisioner = it.provisioner.as_deref();
            let driver = provisioner.map(|it| migrated_driver(it).unwrap_or(it));
            Some((it.volume_name.as_deref()?, driver))
        });
        let told: Vec<(&str, Option<&str>)> = of_attachments.chain(of_claims).collect();
        let own: HashSet<&str> = cluster.inventory_disks().map(|it| &*it.name).collect();
        let is_lost = |it: &&(&str, Option<&str>)| {
            !own.contains(it.0) && cluster.volume_named(it.0).is_none()
        };
        let lost = told.iter().filter(is_lost).map(|it| it.1).collect();
        let mut nodes: HashMap<&str, bool> =
            cluster.nodes().map(|(_, node)| (&*node.metadata.name, !node.ready)).collect();
        let mut has_bereft = false;
        for (_, pod) in cluster.pods().filter(|(_, pod)| is_bereft(cluster, pod)) {
            if let Some(node) = pod.node.as_deref() {
                nodes.insert(node, true);
                has_bereft = true;
            }
        }
        let volumes = cluster.volumes().map(|(_, it)| it.name());
        let sources = cluster.inventory_disks();
        Self {
            volumes: volumes.chain(told.iter().map(|it| it.0)).collect(),
            sources: sources.filter_map(|it| Some((it.kind, it.source.as_deref()?))).collect(),
            in_places: in_places(cx),
            has_bereft,
            nodes,
            lost,
        }
    }

    /// Says whether an object has the name of the disk, which is that of its `PersistentVolume`, or was made of it; or may
    /// use it.
    fn naming(&self, object: &InventoryDisk, system: &InventorySystem) -> DiskNaming {
        let names = [&*object.name, object.handle()];
        let is_named = |it| self.volumes.contains(it) || self.sources.contains(&(object.kind, it));
        if names.into_iter().any(is_named) {
            return DiskNaming::Named(None);
        }
        if self.may_name(object, system) { DiskNaming::Maybe } else { DiskNaming::Not }
    }

    /// Whether something may use the disk that does not tell which one it uses.
    fn may_name(&self, object: &InventoryDisk, system: &InventorySystem) -> bool {
        let mut drivers = std::iter::once(&system.driver).chain(system.formerly);
        let has_lost =
            self.lost.contains(&None) || drivers.any(|it| self.lost.contains(&Some(*it)));
        // A node that is not known may have any name.
        let on_node = || match object.node.as_deref().and_then(|it| self.nodes.get(it)) {
            Some(has_bereft) => *has_bereft,
            None => self.has_bereft,
        };
        object.volume.is_some()
            || has_lost
            || names_in_places(object).any(|it| self.in_places.contains(&it))
            || (!system.tells_use && on_node())
    }
}

/// Returns the names of disks that stand in what volumes and pods name: a path to its device, a dataset, a target.
fn in_places(cx: &Cx) -> HashSet<String> {
    let wanted: HashSet<String> =
        cx.cluster().inventory_disks().flat_map(names_in_places).collect();
    let references = storage_references(cx, |_| true, |_, volume| volume);
    let parts = references.iter().flat_map(|it| {
        it.backend
            .handle
            .split(['/', ':', ',', '@'])
            .map(undoubled)
            .filter(|it| wanted.contains(it))
    });
    parts.collect()
}

/// Returns what stands for a disk in a path: its name, its handle, or either behind its volume group.
fn names_in_places(object: &InventoryDisk) -> impl Iterator<Item = String> {
    let names = [&*object.name, object.handle()].map(undoubled);
    let pool = object.pool.as_deref().map(undoubled);
    names.into_iter().flat_map(move |name| {
        let mapped = pool.as_ref().map(|pool| format!("{pool}-{name}"));
        mapped.into_iter().chain([name])
    })
}

/// Returns a name as it is without the device mapper, which doubles each hyphen in it.
fn undoubled(name: &str) -> String {
    name.replace("--", "-")
}
