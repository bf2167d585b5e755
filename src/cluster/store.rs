//! The rows and the one way to change them.

mod indexes;
mod rows;

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Change, Coverage, Dirty, Gap, Reach, Seen, coverage::Coverages, index::Index, table::Table,
};
use crate::model::{
    Answer, Attachment, AttributesClass, Autoscaler, BackendKey, Claim, CsiDriver, CsiNode, Event,
    KeptBackend, Kind, Lease, Node, ObjectId, ObjectKey, PodUse, Question, Role, Row, Server,
    Sighting, SnapshotContent, StorageClass, Text, Time, Volume, VolumeSnapshot, Workload,
};

/// Our look at a cluster, and what was not seen of it.
#[derive(Debug, Default)]
pub struct Cluster {
    pub(super) volumes: Table<Volume>,
    pub(super) claims: Table<Claim>,
    pub(super) pods: Table<PodUse>,
    pub(super) workloads: Table<Workload>,
    pub(super) autoscalers: Table<Autoscaler>,
    pub(super) nodes: Table<Node>,
    pub(super) classes: Table<StorageClass>,
    pub(super) attributes_classes: Table<AttributesClass>,
    pub(super) csi_drivers: Table<CsiDriver>,
    pub(super) csi_nodes: Table<CsiNode>,
    pub(super) attachments: Table<Attachment>,
    pub(super) leases: Table<Lease>,
    pub(super) events: Table<Event>,
    pub(super) volume_snapshots: Table<VolumeSnapshot>,
    pub(super) snapshots: Table<SnapshotContent>,
    pub(super) indexes: Indexes,
    pub(super) answers: BTreeMap<Question, Answer>,
    pub(super) sightings: BTreeMap<(Role, Text), Time>,
    pub(super) kept: BTreeMap<BackendKey, KeptBackend>,
    pub(super) coverages: Coverages,
    pub(super) server: Option<Server>,
    clock: Option<Time>,
    /// How many changes were applied: their order.
    sequence: u64,
}

/// What leads from one row to others.
#[derive(Debug, Default)]
pub(super) struct Indexes {
    pub(super) volumes_by_backend: Index,
    pub(super) volumes_by_claim: Index,
    pub(super) volumes_by_driver: Index,
    pub(super) volumes_by_class: Index,
    pub(super) volumes_by_secret: Index,
    pub(super) volumes_by_attributes: Index,
    pub(super) claims_by_volume: Index,
    pub(super) claims_by_stem: Index,
    pub(super) claims_by_owner: Index,
    pub(super) claims_by_source: Index,
    pub(super) claims_by_class: Index,
    pub(super) claims_by_node: Index,
    pub(super) claims_by_attributes: Index,
    /// Pending claims that ask for no class and therefore wait for a default one.
    pub(super) classless_claims: BTreeSet<ObjectId>,
    pub(super) pods_by_claim: Index,
    pub(super) pods_by_set: Index,
    pub(super) pods_by_node: Index,
    pub(super) workloads_by_claim: Index,
    pub(super) sets_by_stem: Index,
    pub(super) sidecar_workloads: BTreeSet<ObjectId>,
    pub(super) autoscalers_by_target: Index,
    pub(super) volume_snapshots_by_claim: Index,
    pub(super) attachments_by_volume: Index,
    pub(super) attachments_by_node: Index,
    pub(super) attachments_by_backend: Index,
    pub(super) snapshots_by_backend: Index,
    pub(super) contents_by_snapshot: Index,
    pub(super) nodes_by_label: Index,
    pub(super) nodes_by_backend: Index,
    pub(super) csi_nodes_by_driver: Index,
    pub(super) leases_by_name: Index,
    pub(super) events_by_object: Index,
    pub(super) sidecar_pods: BTreeSet<ObjectId>,
}

#[derive(Debug, Clone, Copy)]
enum Op {
    Add,
    Remove,
}

impl Index {
    fn change(&mut self, op: Op, key: impl std::hash::Hash, id: ObjectId) {
        match op {
            Op::Add => self.insert(key, id),
            Op::Remove => self.remove(key, id),
        }
    }
}

/// Names a row that is touched, by its place where that matters.
macro_rules! touched {
    (Lease, $id:expr) => {
        TouchedRow::Lease
    };
    ($link:ident, $id:expr) => {
        TouchedRow::$link($id)
    };
}

/// Puts a row into its table and its indexes, and notes what it touches before and after.
macro_rules! put {
    ($self:ident, $dirty:ident, $table:ident, $link:ident, $row:expr) => {{
        let row = $row;
        let (kind, namespace, name) = super::table::Named::identity(&*row);
        let old = $self.$table.find(kind, namespace, name);
        if let Some(id) = old
            && let Some(known) = $self.$table.get(id)
        {
            if *known == *row {
                let _ = $self.$table.insert(row, $self.sequence);
                return;
            }
            $self.touch(touched!($link, id), $dirty);
            let known = $self.$table.get(id).expect("because it was just found");
            $self.indexes.$table(Op::Remove, id, known);
        }
        let id = $self.$table.insert(row, $self.sequence);
        let new = $self.$table.get(id).expect("because it was just put there");
        $self.indexes.$table(Op::Add, id, new);
        $self.touch(touched!($link, id), $dirty);
    }};
}

/// Takes a row out of its table and its indexes.
macro_rules! take {
    ($self:ident, $dirty:ident, $table:ident, $link:ident, $id:expr) => {{
        let id = $id;
        if $self.$table.get(id).is_some() {
            $self.touch(touched!($link, id), $dirty);
        }
        if let Some(row) = $self.$table.get(id) {
            $self.indexes.$table(Op::Remove, id, row);
            let _ = $self.$table.remove(id);
        }
    }};
}

/// Does something in the table of a kind, which is told the table and how its rows are touched.
macro_rules! in_table {
    ($kind:expr, $does:ident) => {
        match $kind {
            Kind::PersistentVolume => $does!(volumes, Volume),
            Kind::PersistentVolumeClaim => $does!(claims, Claim),
            Kind::Pod => $does!(pods, Pod),
            Kind::Node => $does!(nodes, Node),
            Kind::StorageClass => $does!(classes, Class),
            Kind::CsiDriver => $does!(csi_drivers, CsiDriver),
            Kind::CsiNode => $does!(csi_nodes, CsiNode),
            Kind::VolumeAttachment => $does!(attachments, Attachment),
            Kind::StatefulSet
            | Kind::Deployment
            | Kind::ReplicaSet
            | Kind::DaemonSet
            | Kind::ReplicationController
            | Kind::Job
            | Kind::CronJob => $does!(workloads, Workload),
            Kind::HorizontalPodAutoscaler => $does!(autoscalers, Autoscaler),
            Kind::VolumeAttributesClass => $does!(attributes_classes, AttributesClass),
            Kind::VolumeSnapshot => $does!(volume_snapshots, VolumeSnapshot),
            Kind::Lease => $does!(leases, Lease),
            Kind::Event => $does!(events, Event),
            Kind::VolumeSnapshotContent | Kind::VolumeGroupSnapshotContent => {
                $does!(snapshots, Snapshot);
            }
            // No rows of these are kept.
            Kind::Namespace
            | Kind::Secret
            | Kind::PartialObjectMetadata
            | Kind::SubjectAccessReview => {}
        }
    };
}

/// A row that was or will be changed, by its place in its table.
#[derive(Debug, Clone, Copy)]
pub(super) enum TouchedRow {
    Volume(ObjectId),
    Claim(ObjectId),
    Pod(ObjectId),
    Workload(ObjectId),
    Autoscaler(ObjectId),
    Node(ObjectId),
    Class(ObjectId),
    AttributesClass(ObjectId),
    CsiDriver(ObjectId),
    CsiNode(ObjectId),
    Attachment(ObjectId),
    /// Its name does not tell whose it is.
    Lease,
    Event(ObjectId),
    VolumeSnapshot(ObjectId),
    Snapshot(ObjectId),
}

impl Cluster {
    /// Takes in one change, and notes in `dirty` whose judgement may differ after it.
    pub fn apply(&mut self, change: Change, dirty: &mut Dirty) {
        self.sequence += 1;
        match change {
            Change::Seen(row) => self.put(row, dirty),
            Change::Gone(key) => {
                let namespace = key.namespace.as_deref().unwrap_or_default();
                self.take(key.kind, namespace, &key.name, dirty);
            }
            Change::Begin(reach) => {
                let coverage = Coverage::Listing { began: self.sequence };
                self.coverages.set(reach, coverage);
                dirty.everything = true;
            }
            Change::Complete(reach) => {
                let began = match self.coverages.get(&reach) {
                    Some(Coverage::Listing { began }) => *began,
                    _ => 0,
                };
                self.drop_unseen_since(began, &reach, dirty);
                let coverage = Coverage::Seen { began, ended: self.sequence };
                self.coverages.set(reach, coverage);
                dirty.everything = true;
            }
            Change::Whole(reach) => {
                // One moment for all kinds: every list began after every other one ended.
                self.coverages.set(reach, Coverage::Seen { began: u64::MAX, ended: 0 });
                dirty.everything = true;
            }
            Change::Covered(reach, coverage) => {
                self.coverages.set(reach, coverage);
                dirty.everything = true;
            }
            Change::NotServed(kind) => {
                self.coverages.set(Reach::all(kind), Coverage::NotServed);
                dirty.everything = true;
            }
            Change::Lost(gap) => {
                let reach = Reach { kind: gap.kind, namespace: gap.namespace.clone() };
                self.coverages.set(reach, Coverage::Gap(gap));
                dirty.everything = true;
            }
            // Time makes no subject dirty: judgements tell when they have to be made again.
            Change::Clock(time) => self.clock = Some(time),
            Change::Server(server) => {
                self.server = Some(server);
                dirty.everything = true;
            }
        }
    }

    /// The server's clock, as far as it was told.
    pub fn clock(&self) -> Option<Time> {
        self.clock
    }

    /// What the server says of itself, where it was asked.
    pub fn server(&self) -> Option<&Server> {
        self.server.as_ref()
    }

    /// Everything that was not seen.
    pub fn gaps(&self) -> impl Iterator<Item = &Gap> {
        self.coverages.gaps()
    }

    /// How far each kind was seen.
    pub fn coverages(&self) -> impl Iterator<Item = (&Reach, &Coverage)> {
        self.coverages.iter()
    }

    /// Whether everything of a kind was seen, in one namespace or in all.
    ///
    /// # Errors
    /// What was not seen.
    pub fn reach(&self, kind: Kind, namespace: Option<&Text>) -> Seen<()> {
        self.coverages.reach(kind, namespace).map(drop)
    }

    /// Everything that was answered.
    pub fn answers(&self) -> &BTreeMap<Question, Answer> {
        &self.answers
    }

    /// What earlier runs recorded about controllers that were not there.
    pub fn sightings(&self) -> impl Iterator<Item = Sighting> {
        self.sightings.iter().map(|((role, driver), since)| Sighting {
            role: *role,
            driver: Text::clone(driver),
            absent_since: *since,
        })
    }

    fn put(&mut self, row: Row, dirty: &mut Dirty) {
        match row {
            Row::Volume(row) => put!(self, dirty, volumes, Volume, row),
            Row::Claim(row) => put!(self, dirty, claims, Claim, row),
            Row::Pod(row) => put!(self, dirty, pods, Pod, row),
            Row::Workload(row) => put!(self, dirty, workloads, Workload, row),
            Row::Autoscaler(row) => put!(self, dirty, autoscalers, Autoscaler, row),
            Row::Node(row) => put!(self, dirty, nodes, Node, row),
            Row::Class(row) => put!(self, dirty, classes, Class, row),
            Row::AttributesClass(row) => {
                put!(self, dirty, attributes_classes, AttributesClass, row);
            }
            Row::CsiDriver(row) => put!(self, dirty, csi_drivers, CsiDriver, row),
            Row::CsiNode(row) => put!(self, dirty, csi_nodes, CsiNode, row),
            Row::Attachment(row) => put!(self, dirty, attachments, Attachment, row),
            Row::Lease(row) => put!(self, dirty, leases, Lease, row),
            Row::Event(row) => put!(self, dirty, events, Event, row),
            Row::VolumeSnapshot(row) => put!(self, dirty, volume_snapshots, VolumeSnapshot, row),
            Row::Snapshot(row) => put!(self, dirty, snapshots, Snapshot, row),
            Row::Answer(question, answer) => {
                if self.answers.get(&question) != Some(&answer) {
                    self.touch_question(&question, dirty);
                    self.answers.insert(question, answer);
                }
            }
            Row::Kept(row) => self.keep(*row, dirty),
            Row::Sighting(sighting) => {
                dirty.drivers.insert(Text::clone(&sighting.driver));
                self.sightings.insert((sighting.role, sighting.driver), sighting.absent_since);
            }
        }
    }

    fn take(&mut self, kind: Kind, namespace: &str, name: &str, dirty: &mut Dirty) {
        macro_rules! gone {
            ($table:ident, $link:ident) => {
                if let Some(id) = self.$table.find(kind, namespace, name) {
                    take!(self, dirty, $table, $link, id);
                }
            };
        }
        in_table!(kind, gone);
    }

    fn drop_unseen_since(&mut self, began: u64, reach: &Reach, dirty: &mut Dirty) {
        let namespace = reach.namespace.as_deref();
        macro_rules! drop_from {
            ($table:ident, $link:ident) => {
                for id in self.$table.unseen_since(began, reach.kind, namespace) {
                    take!(self, dirty, $table, $link, id);
                }
            };
        }
        in_table!(reach.kind, drop_from);
    }
}

/// How the index of events names an object.
pub(super) fn object_key(key: &ObjectKey) -> (Kind, &str, &str) {
    (key.kind, key.namespace.as_deref().unwrap_or_default(), &key.name)
}
