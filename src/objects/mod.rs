//! Slim types: one for each kind of object, with the fields that its row needs.
//!
//! A slim type decodes from protobuf, JSON and YAML, and encodes as a small object of the same
//! kind, which is what a dump holds. It never stores other fields, such as the values of secrets. Of
//! environment variables it stores the literal values of a few names that say which provisioner a
//! container is, what it serves and for which cluster (`environment`), and never one that comes from elsewhere. [`AnyObject::fold`] turns it
//! into a row. A time or a
//! quantity that does not parse is unknown, and the folder notes the field.
//!
//! - `any`: the list of all kinds, and objects of any kind.
//! - `slim`: how slim types are declared, with times, quantities and maps.
//! - `command_line`, `environment`: what is read of the containers of drivers.
//! - `odd`: objects of which something is not of the type that Kubernetes gives it.
//! - `meta`, `managed`, `volume_source`, `backend`: parts that kinds share.
//! - `custom_object`: a custom resource of any kind, of which only the claims are kept that it names.
//! - `inventory_disk`: the disks of storage systems that keep their inventory in the cluster.
//! - `admission`: the objects of the guard, with every field that decides what they do.
//! - One file for kinds that are read together.

mod admission;
mod any;
mod backend;
mod claim;
mod command_line;
mod custom_object;
mod environment;
mod inventory_disk;
mod managed;
mod meta;
mod node;
mod odd;
mod pod;
mod slim;
mod snapshot;
mod volume;
mod volume_source;
mod workload;

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod whole_cluster;

use std::{hash::Hash, sync::Arc};

use hashbrown::HashSet;
use serde::{Serialize, de::DeserializeOwned};
use thiserror::Error;

pub(crate) use admission::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding};
pub(crate) use any::{AnyObject, Reduced, decoding, decoding_of, keeps_managed_fields};
pub(crate) use claim::{PersistentVolumeClaim, StorageClass, VolumeAttributesClass};
pub(crate) use custom_object::CustomObject;
pub(crate) use inventory_disk::{
    DirectPvVolume, LegacyTopoLvmVolume, LonghornVolume, LvmVolume, TopoLvmVolume, TridentVolume,
    ZfsVolume,
};
pub(crate) use meta::{BriefMeta, ManagedMeta, ObjectMeta, PartialObjectMetadata, PodMeta};
pub(crate) use node::{CsiDriver, CsiNode, Event, Lease, Namespace, Node, OWN_COMPONENT};
pub(crate) use pod::Pod;
pub(crate) use snapshot::{
    VolumeGroupSnapshotContent, VolumeSnapshot, VolumeSnapshotClass, VolumeSnapshotContent,
};
pub(crate) use volume::{PersistentVolume, VolumeAttachment};
pub(crate) use workload::{
    CronJob, DaemonSet, Deployment, HorizontalPodAutoscaler, Job, ReplicaSet,
    ReplicationController, StatefulSet,
};

use crate::model::{
    DeletionSecret, FieldManager, InlineVolumes, Interner, Kind, Labels, NodeAffinity, ObjectKey,
    Row, Text, beginning,
};

/// The kind of a slim type, and the names of its objects.
pub trait ObjectKind {
    /// The kind.
    const KIND: Kind;

    /// Returns the names of this object, and its version.
    fn identity(&self) -> ObjectIdentity<'_>;
}

/// A slim type: decodes from protobuf and JSON, encodes as a dump holds it, folds into a row.
pub trait SlimObject:
    ObjectKind + prost::Message + Default + DeserializeOwned + Serialize + 'static
{
    /// Returns the row of the object. Call [`AnyObject::fold`] instead, which also checks its
    /// names.
    fn row(&self, folder: &mut Folder) -> Folded;

    /// Removes what must not be kept: command lines.
    fn trim(&mut self) {}

    /// Returns a field that the object lacks, although the API server demands it of every object of the kind: the
    /// object was cut. Only a field without which others would be missed.
    fn lacks(&self) -> Option<&'static str> {
        None
    }

    /// Returns a value that the API server accepts in no object of the kind: what rests on it is unknown of this
    /// object, and of no other.
    fn impossible(&self) -> Option<String> {
        None
    }

    /// Returns the object as a document with `kind` and with `apiVersion` of the version that it was
    /// read in.
    fn document(&self, version: &str) -> Document<'_, Self> {
        let api_version = Self::KIND.api_version_of(version);
        Document { api_version, kind: Self::KIND.name(), object: self }
    }
}

/// The names of an object, and its version. Any of them may be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectIdentity<'a> {
    /// `metadata.namespace`.
    pub namespace: &'a str,
    /// `metadata.name`.
    pub name: &'a str,
    /// `metadata.resourceVersion`.
    pub resource_version: &'a str,
}

/// Result of folding an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Folded {
    /// Row of the object.
    Row(Row),
    /// No row, since the object has nothing to do with storage: it is only counted.
    Counted,
}

/// Reason for which an object could not be folded.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FoldError {
    /// The object has no name.
    #[error("a {kind} without metadata.name")]
    NoName {
        /// Kind.
        kind: Kind,
    },
    /// The object has no namespace, although its kind is namespaced.
    #[error("{object} has no metadata.namespace")]
    NoNamespace {
        /// The object, without its namespace.
        object: ObjectKey,
    },
}

/// A field whose value does not parse.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{field} is {value:?}, not {expected}")]
struct FieldProblem {
    field: &'static str,
    /// The beginning of the field's value.
    value: String,
    /// The expected kind of value.
    expected: &'static str,
}

/// Largest number of bytes of a value that does not parse which are quoted.
const LONGEST_QUOTE: usize = 60;

/// A slim type as `kubectl get -o json` would print it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Document<'a, O> {
    api_version: String,
    kind: &'static str,
    #[serde(flatten)]
    object: &'a O,
}

/// Folds objects into rows, and keeps one copy of the values that rows share.
#[derive(Debug, Default)]
pub struct Folder {
    texts: Interner,
    affinities: HashSet<Arc<NodeAffinity>>,
    owners: HashSet<Arc<FieldManager>>,
    secrets: HashSet<Arc<DeletionSecret>>,
    lists: HashSet<Arc<[Text]>>,
    labels: HashSet<Labels>,
    inline: HashSet<InlineVolumes>,
    /// The first field of the object at hand that does not parse.
    odd: Option<FieldProblem>,
}

impl Folder {
    /// Notes a field that does not parse.
    fn note_odd(&mut self, field: &'static str, value: &str, expected: &'static str) {
        let value = || beginning(value, LONGEST_QUOTE).to_owned();
        self.odd.get_or_insert_with(|| FieldProblem { field, value: value(), expected });
    }

    /// Returns the shared copy of a text.
    pub fn text(&mut self, text: &str) -> Text {
        self.texts.text(text)
    }

    /// Returns the shared copy of a text, `None` for the empty one.
    pub fn non_empty(&mut self, text: &str) -> Option<Text> {
        self.texts.non_empty(text)
    }

    fn texts<'a>(&mut self, texts: impl IntoIterator<Item = &'a String>) -> Box<[Text]> {
        texts.into_iter().map(|text| self.text(text)).collect()
    }

    fn affinity(&mut self, affinity: NodeAffinity) -> Arc<NodeAffinity> {
        shared(&mut self.affinities, affinity)
    }

    fn owner(&mut self, owner: FieldManager) -> Arc<FieldManager> {
        shared(&mut self.owners, owner)
    }

    fn secret(&mut self, secret: DeletionSecret) -> Arc<DeletionSecret> {
        shared(&mut self.secrets, secret)
    }

    /// Returns the shared copy of texts that often occur together, such as finalizers.
    fn list(&mut self, texts: &[String]) -> Arc<[Text]> {
        let texts: Vec<Text> = texts.iter().map(|text| self.text(text)).collect();
        shared_slice(&mut self.lists, &texts)
    }

    /// Returns the shared copy of the volumes that the pods of a workload describe alike.
    fn inline(&mut self, volumes: InlineVolumes) -> InlineVolumes {
        if volumes.is_empty() {
            return volumes;
        }
        self.inline.get_or_insert(volumes).clone()
    }

    fn labels<'a>(&mut self, labels: impl Iterator<Item = (&'a str, &'a str)>) -> Labels {
        let labels: Vec<_> =
            labels.map(|(key, value)| (self.text(key), self.text(value))).collect();
        shared_slice(&mut self.labels, &labels)
    }
}

/// Returns the shared copy of a value.
fn shared<T: Eq + Hash>(known: &mut HashSet<Arc<T>>, new: T) -> Arc<T> {
    if let Some(known) = known.get(&new) {
        return Arc::clone(known);
    }
    let new = Arc::new(new);
    known.insert(Arc::clone(&new));
    new
}

/// Returns the shared copy of a slice.
fn shared_slice<T: Eq + Hash + Clone>(known: &mut HashSet<Arc<[T]>>, new: &[T]) -> Arc<[T]> {
    if let Some(known) = known.get(new) {
        return Arc::clone(known);
    }
    let new: Arc<[T]> = new.into();
    known.insert(Arc::clone(&new));
    new
}

/// Returns a text that is not shared; `None` for the empty one.
fn unshared(text: &str) -> Option<Box<str>> {
    (!text.is_empty()).then(|| text.into())
}
