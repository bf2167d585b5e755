//! The disks of storage systems whose inventory lies in the cluster (semantics K.3): which of them it names or needs.
//!
//! A doubt counts as a use: what is left can be destroyed by a command that the report prints.

use hashbrown::{HashMap, HashSet};

use super::disks_of_cluster::{DiskKeys, DiskNaming, DisksOfCluster, names_in_places};
use super::inventory_counts::OwnDisks;
use super::listed_disks::Inventory;
use super::standing::Standing;
use crate::cluster::{Cluster, Cx};
use crate::listings::Disk;
use crate::model::{InventoryDisk, InventorySystem, Kind, Text};

/// Judges the disks that lie in a cluster by all that it names.
pub fn own_disks(cx: &Cx, named: &DisksOfCluster) -> OwnDisks {
    let cluster = cx.cluster();
    let mut found = OwnDisks::default();
    if !cluster.has_inventory_disks() {
        return found;
    }
    let traces = Traces::of(cluster, named);
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
        let naming = naming.or(traces.naming(named, object, system));
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

/// The labels by which OpenEBS names nodes.
const NODE_LABELS: [&str; 2] = ["openebs.io/nodeid", "openebs.io/nodename"];

/// What a cluster shows of the disks that lie in it, besides what it names of others.
struct Traces<'a> {
    /// Every `PersistentVolume`, and each that a claim or an attachment names although it is gone.
    volumes: HashSet<&'a str>,
    /// The disks of which others were made: each with its kind.
    sources: HashSet<(Kind, &'a str)>,
    /// The nodes, by each of their names, and whether a pod there may still write: its claim or volume is gone, or the node
    /// does not answer.
    nodes: HashMap<&'a str, bool>,
}

impl<'a> Traces<'a> {
    fn of(cluster: &'a Cluster, named: &DisksOfCluster) -> Self {
        let of_attachments = cluster.attachments().filter_map(|(_, it)| it.source.volume());
        let of_claims = cluster.claims().filter_map(|(_, it)| it.volume_name.as_deref());
        let mut nodes = HashMap::new();
        for (_, node) in cluster.nodes() {
            let name = &*node.metadata.name;
            let may_write = !node.ready || named.bereft.contains(name);
            let labels = NODE_LABELS.iter().filter_map(|it| node.metadata.label(it));
            nodes.extend(labels.chain([name]).map(|it| (it, may_write)));
        }
        let volumes = cluster.volumes().map(|(_, it)| it.name());
        let sources = cluster.inventory_disks();
        Self {
            volumes: volumes.chain(of_attachments).chain(of_claims).collect(),
            sources: sources.filter_map(|it| Some((it.kind, it.source.as_deref()?))).collect(),
            nodes,
        }
    }

    /// Says whether an object has the name of the disk, which is that of its `PersistentVolume`, or was made of it; or may
    /// use it.
    fn naming(
        &self,
        named: &DisksOfCluster,
        object: &InventoryDisk,
        system: &InventorySystem,
    ) -> DiskNaming {
        let is_named = |it| self.volumes.contains(it) || self.sources.contains(&(object.kind, it));
        if [&*object.name, object.handle()].into_iter().any(is_named) {
            return DiskNaming::Named(None);
        }
        if self.may_name(named, object, system) { DiskNaming::Maybe } else { DiskNaming::Not }
    }

    /// Whether something may use the disk that does not tell which one it uses.
    fn may_name(
        &self,
        named: &DisksOfCluster,
        object: &InventoryDisk,
        system: &InventorySystem,
    ) -> bool {
        let mut drivers = std::iter::once(&system.driver).chain(system.formerly);
        let has_lost = named.has_lost_unknown || drivers.any(|it| named.may_have_lost(it));
        // A node that is not known has not answered.
        let node = || object.node.as_deref().and_then(|it| self.nodes.get(it)).copied();
        object.volume.is_some()
            || has_lost
            || names_in_places(object).iter().any(|it| named.in_places.contains(it))
            || (!system.tells_use && node().unwrap_or(true))
    }
}
