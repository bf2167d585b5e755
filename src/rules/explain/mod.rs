//! Explanations of one object: its state and the reasons, its last errors, its users, the effects of
//! operations, and the objects that it hangs on.
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
use crate::model::{Bytes, Evidence, Kind, ObjectKey, ObjectRef, Text, Time, migrated_driver};

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
    /// What rules judge it as; `None` if no rule is about such objects.
    pub subject: Option<Subject>,
    /// Its state and since when, such as `Released, Terminating for 23h`.
    pub status: String,
    /// The few fields that matter to a reader, with short labels.
    pub fields: Vec<(&'static str, String)>,
    /// All fields that show its state.
    pub state: Vec<Evidence>,
    /// Why it is in this state, each a sentence without a full stop.
    pub because: Vec<String>,
    /// Those of them that no field shows.
    pub notes: Vec<String>,
    /// The last errors about it and about objects that it hangs on: its own first, newest first.
    pub errors: Vec<LastError>,
    /// The controllers that have to act on it now, each with its state.
    pub controllers: Vec<String>,
    /// Its users.
    pub users: Vec<User>,
    /// The kinds of users that were checked; others may use it too.
    pub looked_at: Vec<Kind>,
    /// The effects of operations.
    pub outcomes: Vec<ObjectEffect>,
    /// What is missing, because it was not read.
    pub unseen: Vec<Unseen>,
    /// The questions that are open therefore, each in the form "whether it is attached".
    pub open: Vec<&'static str>,
    /// The objects that it hangs on.
    pub neighbours: BTreeSet<Subject>,
}

/// What a controller reported last about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastError {
    /// The object that it is about.
    pub object: ObjectRef,
    /// The component that reported it, or the field of the object that holds it.
    pub source: String,
    /// The reason of its event; empty for fields.
    pub reason: String,
    /// Its own words.
    pub message: String,
    /// Whether it is an error, rather than progress.
    pub is_error: bool,
    /// How often it was reported, as far as the events tell.
    pub count: Option<u64>,
    /// When it was reported first, as far as the events tell.
    pub first: Option<Time>,
    /// When it was reported last.
    pub last: Option<Time>,
}

/// A user of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The user.
    pub object: ObjectRef,
    /// How, in a few words: `pod, Running on node n0`.
    pub how: String,
    /// Whether Kubernetes waits for it before it deletes the object.
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
    /// Why, as a sentence without a full stop.
    pub because: String,
    /// The capacity of the volume that it is about, where volumes are added up.
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

/// Explains what is known of a driver without a cluster.
pub fn known_driver(name: &str) -> Explanation {
    driver::known(name, drivers::family(name)).done(None)
}

/// A driver of the cluster, in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverLine {
    /// Its name.
    pub name: Text,
    /// The title of its family.
    pub title: &'static str,
    /// How many volumes reference it.
    pub volumes: usize,
    /// The state of its provisioner.
    pub provisioner: &'static str,
}

/// Returns every driver and provisioner that the cluster has.
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
