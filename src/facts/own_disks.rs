//! The disks of storage systems whose inventory lies in the cluster (semantics K.3): which of them it names or needs.
//!
//! A doubt counts as a use: what is left can be destroyed by a command that the report prints.

use hashbrown::{HashMap, HashSet};

use super::disks_of_cluster::{DiskKeys, DiskNaming, DisksOfCluster};
use super::inventory_counts::OwnDisks;
use super::listed_disks::Inventory;
use super::standing::Standing;
use crate::cluster::{Cluster, Cx};
use crate::listings::{Attached, Disk};
use crate::model::{
    AttachmentSource, Bytes, ClaimKey, InventoryDisk, InventorySystem, Kind, PodUse, Text,
};

/// Judges the disks that lie in a cluster by all that it names.
pub fn own_disks(cx: &Cx, named: &DisksOfCluster) -> OwnDisks {
    let cluster = cx.cluster();
    let mut found = OwnDisks::default();
    if !cluster.has_inventory_disks() {
        return found;
    }
    let traces = Traces::of(cluster);
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
        let mut disk = Disk::in_cluster(object, system.driver);
        if disk.attached == Attached::No && traces.has_on_node(object, system) {
            disk.attached = Attached::Held("in use".into());
        }
        let formerly = system.formerly.iter().map(|driver| Disk::in_cluster(object, driver));
        let formerly: Vec<DiskKeys> = formerly.map(|it| DiskKeys::of(&it)).collect();
        let keys = [DiskKeys::of(&disk)].into_iter().chain(formerly);
        let naming = keys.map(|it| named.naming(&it)).fold(DiskNaming::Not, DiskNaming::or);
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
                let namings = others().map(|it| it.naming(&keys));
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

/// What a cluster shows of volumes whose objects are gone.
struct Traces<'a> {
    /// Every `PersistentVolume`, and each that a claim or an attachment names although it is gone.
    volumes: HashSet<&'a str>,
    /// The disks of which others were made: each with its kind.
    sources: HashSet<(Kind, &'a str)>,
    /// What nodes report to have: drivers and handles.
    on_nodes: HashSet<(&'a str, &'a str)>,
    /// The nodes, and those with a pod whose claim or volume is gone: it may still write.
    nodes: HashMap<&'a str, bool>,
    /// Whether any node has such a pod.
    has_bereft: bool,
    /// The sizes of claims whose volume is gone, and does not tell its disk.
    lost: HashSet<Option<Bytes>>,
}

impl<'a> Traces<'a> {
    fn of(cluster: &'a Cluster) -> Self {
        let of_attachments = cluster.attachments().filter_map(|(_, it)| match &it.source {
            AttachmentSource::Volume(volume) => Some(&**volume),
            AttachmentSource::Inline { .. } | AttachmentSource::None => None,
        });
        let of_claims = cluster.claims().filter_map(|(_, it)| it.volume_name.as_deref());
        let volumes = cluster.volumes().map(|(_, it)| it.name());
        let sources = cluster.inventory_disks();
        let reported = cluster.nodes().flat_map(|(_, node)| node.volumes.iter());
        let mut nodes: HashMap<&str, bool> =
            cluster.nodes().map(|(_, node)| (&*node.metadata.name, false)).collect();
        for (_, pod) in cluster.pods().filter(|(_, pod)| is_bereft(cluster, pod)) {
            if let Some(node) = pod.node.as_deref() {
                nodes.insert(node, true);
            }
        }
        let own: HashSet<&str> = cluster.inventory_disks().map(|it| &*it.name).collect();
        let lost = cluster.claims().filter_map(|(_, claim)| {
            let volume = claim.volume_name.as_deref()?;
            let is_told = own.contains(volume) || cluster.volume_named(volume).is_some();
            (!is_told).then_some(claim.capacity.or(claim.requested))
        });
        Self {
            volumes: volumes.chain(of_attachments).chain(of_claims).collect(),
            sources: sources.filter_map(|it| Some((it.kind, it.source.as_deref()?))).collect(),
            on_nodes: reported.filter_map(|it| reported_disk(it)).collect(),
            has_bereft: nodes.values().any(|it| *it),
            nodes,
            lost: lost.collect(),
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
        let may_have_lost = match object.size {
            Some(_) => self.lost.contains(&None) || self.lost.contains(&object.size),
            None => !self.lost.is_empty(),
        };
        // A node that is not known may have any name.
        let on_node = || match object.node.as_deref().and_then(|it| self.nodes.get(it)) {
            Some(has_bereft) => *has_bereft,
            None => self.has_bereft,
        };
        object.volume.is_some() || may_have_lost || (!system.tells_use && on_node())
    }

    /// Whether a node reports to have the disk.
    fn has_on_node(&self, object: &InventoryDisk, system: &InventorySystem) -> bool {
        self.on_nodes.contains(&(system.driver, object.handle()))
    }
}

/// Returns driver and handle of a volume that a node reports: `kubernetes.io/csi/DRIVER^HANDLE`.
fn reported_disk(volume: &str) -> Option<(&str, &str)> {
    volume.strip_prefix("kubernetes.io/csi/")?.split_once('^')
}

/// Whether a pod may have a volume whose object is gone: that of a claim that is gone, was created again, or has lost it.
fn is_bereft(cluster: &Cluster, pod: &PodUse) -> bool {
    let has_lost = |name: &str| {
        let key = ClaimKey { namespace: Text::clone(&pod.namespace), name: name.into() };
        let Some(claim) = cluster.claim_named(&key) else { return true };
        let is_newer = claim.metadata.created.zip(pod.created).is_some_and(|(new, old)| new > old);
        let volume = claim.volume_name.as_deref();
        is_newer || volume.is_some_and(|it| cluster.volume_named(it).is_none())
    };
    !pod.is_finished() && pod.node.is_some() && pod.claims.iter().any(|it| has_lost(&it.claim))
}
