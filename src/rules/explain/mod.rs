//! Explanations of one object: its state and the reasons, its last errors, its users, the effects of operations, and
//! the objects on which it depends.
//!
//! Nothing is decided here: the texts are built from the facts that rules and remedies use.

mod attachment;
mod claim;
mod class;
mod controller;
mod draft;
mod driver;
mod error;
mod namespace;
mod neighbours;
mod pod;
mod set;
mod snapshot;
mod volume;

pub(super) use set::describe_update;

use std::collections::BTreeSet;

use crate::cluster::{Cx, Subject, Unseen};
use crate::drivers;
use crate::model::{
    Bytes, ClusterArgument, Evidence, Kind, ObjectKey, ObjectRef, Text, Time, migrated_driver,
};

/// The kinds that can be explained, in the order in which they are listed to users.
pub const EXPLAINED: [Kind; 11] = [
    Kind::PersistentVolume,
    Kind::PersistentVolumeClaim,
    Kind::StatefulSet,
    Kind::Pod,
    Kind::VolumeAttachment,
    Kind::VolumeSnapshot,
    Kind::VolumeSnapshotContent,
    Kind::StorageClass,
    Kind::VolumeAttributesClass,
    Kind::CsiDriver,
    Kind::Namespace,
];

/// The explanation of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The object.
    pub object: ObjectRef,
    /// The subject of rules that the object is; `None` if no rule is about such objects.
    pub subject: Option<Subject>,
    /// The state and its duration, such as `Released, Terminating for 23h`.
    pub status: String,
    /// The few fields that matter to a reader, with short labels.
    pub fields: Vec<(&'static str, String)>,
    /// All fields that show the state.
    pub state: Vec<Evidence>,
    /// The reasons for the state, each a sentence without a full stop.
    pub because: Vec<String>,
    /// The reasons that no field shows.
    pub notes: Vec<String>,
    /// The last errors about the object and about objects on which it depends: its own first, then the newest.
    pub errors: Vec<LastError>,
    /// The controllers that have to act on the object now, each with its state.
    pub controllers: Vec<String>,
    /// The identities of the cluster that a driver writes on disks, each with the workload or pod that says so.
    pub identities: Vec<(ObjectRef, ClusterArgument)>,
    /// The users of the object.
    pub users: Vec<User>,
    /// The kinds of users that were checked; others may use the object too.
    pub looked_at: Vec<Kind>,
    /// The effects of operations.
    pub outcomes: Vec<ObjectEffect>,
    /// The lookups that failed, because something was not read.
    pub unseen: Vec<Unseen>,
    /// The questions that are therefore open, each in the form "whether it is attached".
    pub open: Vec<&'static str>,
    /// The objects on which the object depends.
    pub neighbours: BTreeSet<Subject>,
}

/// The last report of a component about an object: an error, or progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastError {
    /// The object that it is about.
    pub object: ObjectRef,
    /// The component that reported the error, or the field of the object that holds it.
    pub source: String,
    /// The reason of the event; empty for fields.
    pub reason: String,
    /// The message of the component.
    pub message: String,
    /// Whether the report is an error, rather than progress.
    pub is_error: bool,
    /// Number of reports, as far as the events show it.
    pub count: Option<u64>,
    /// Time of the first report, as far as the events show it.
    pub first: Option<Time>,
    /// Time of the last report.
    pub last: Option<Time>,
}

/// A user of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The object that uses it.
    pub object: ObjectRef,
    /// The kind of use, in a few words: `pod, Running on node n0`.
    pub how: String,
    /// Whether Kubernetes waits for the user before it deletes the object.
    pub holds: bool,
}

/// The effect of an operation on one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectEffect {
    /// The operation, in the form "it is deleted".
    pub when: String,
    /// The affected object, if that is not the explained object.
    pub object: Option<ObjectRef>,
    /// The effect, in a word that scripts can rely on: `kept`, `deleted`, `deleted-later`,
    /// `destroyed`, `unknown`…
    pub then: &'static str,
    /// The reason, as a sentence without a full stop.
    pub because: String,
    /// The capacity of the affected volume, where capacities are added up.
    pub capacity: Option<Bytes>,
}

/// Explains an object; `None` if it was not read, or cannot be explained because of its kind.
pub fn explain(cx: &Cx, key: &ObjectKey) -> Option<Explanation> {
    let cluster = cx.cluster();
    let subject = cluster.subject(key);
    let draft = match (&subject, key.kind, &key.namespace) {
        (Some(Subject::Volume(id)), ..) => volume::explain(cx, cluster.volume_at(*id)?),
        (Some(Subject::Claim(id)), ..) => claim::explain(cx, cluster.claim_at(*id)?),
        (Some(Subject::StatefulSet(id)), ..) => set::explain(cx, cluster.set_at(*id)?),
        (Some(Subject::Attachment(id)), ..) => attachment::explain(cx, cluster.attachment_at(*id)?),
        (Some(Subject::Pod(id)), ..) => pod::explain(cx, cluster.pod_at(*id)?),
        (Some(Subject::Class(id)), ..) => class::explain(cx, cluster.class_at(*id)?),
        (Some(Subject::AttributesClass(id)), ..) => {
            class::explain_attributes(cx, cluster.attributes_class_at(*id)?)
        }
        (Some(Subject::Snapshot(id)), ..) => snapshot::of_content(cx, cluster.snapshot_at(*id)?),
        (Some(Subject::Driver(name)), ..) => driver::explain(cx, name),
        (_, Kind::VolumeSnapshot, Some(namespace)) => {
            let found = cx.volume_snapshot(namespace, &key.name);
            snapshot::explain(cx, found.ok().flatten()?)
        }
        (_, Kind::Namespace, _) => namespace::explain(cx, &Text::from(&*key.name)),
        (
            None | Some(Subject::Namespace(_) | Subject::AdmissionObject(_) | Subject::Backend(_)),
            ..,
        ) => return None,
    };
    Some(draft.done(subject))
}

/// Explains the family of a driver without a cluster.
pub fn known_driver(name: &str) -> Explanation {
    driver::known(name, drivers::family(name)).done(None)
}

/// A driver of the cluster, as a line of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverLine {
    /// The name of the driver.
    pub name: Text,
    /// The title of the driver's family.
    pub title: &'static str,
    /// Number of volumes that reference the driver.
    pub volumes: usize,
    /// The state of the driver's provisioner.
    pub provisioner: &'static str,
}

/// Returns every driver and provisioner of the cluster.
pub fn drivers(cx: &Cx) -> Vec<DriverLine> {
    let line = |name: Text| DriverLine {
        title: driver::known_as(cx.family(&name)),
        volumes: cx.volumes_of_driver(&name).count(),
        provisioner: crate::facts::provisioner(cx, &name).liveness.name(),
        name,
    };
    // Volumes of migrated plugins are those of their CSI driver.
    let drivers = cx.cluster().drivers().into_iter();
    drivers.filter(|name| migrated_driver(name).is_none()).map(line).collect()
}
