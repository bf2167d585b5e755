//! What is read of each kind of object, and how it becomes a row.
//!
//! One slim type per kind decodes from protobuf, JSON and YAML, and encodes as a small object of
//! the same kind, which is what a dump holds. It has the fields that rows need and no others:
//! never environment variables, never the values of secrets. Decoding stores nothing else, and
//! [`AnyObject::fold`] turns it into a row. An object of which a time or a quantity does not parse
//! is not folded at all: its error names the field.

mod any;
mod attachment;
mod backend;
mod claim;
mod class;
mod driver;
mod entries;
mod event;
mod lease;
mod managed;
mod meta;
mod node;
mod node_affinity;
mod object_reference;
mod pod;
mod scalar;
mod slim;
mod snapshot;
mod statefulset;
mod volume;
mod volume_source;
mod workload;

#[cfg(test)]
mod tests;

use std::{hash::Hash, sync::Arc};

use hashbrown::HashSet;
use serde::{Serialize, de::DeserializeOwned};
use thiserror::Error;

pub use any::{AnyObject, Reduced, decoding, decoding_of};
pub use attachment::VolumeAttachment;
pub use claim::PersistentVolumeClaim;
pub use class::{StorageClass, VolumeAttributesClass};
pub use driver::{CsiDriver, CsiNode};
pub use event::{Event, FAILED_ATTACH, FAILED_MOUNT};
pub use lease::Lease;
pub use managed::{FieldsV1, ManagedFields, ManagedFieldsEntry};
pub use meta::{
    BriefMeta, ManagedMeta, ObjectMeta, OwnerReference, PartialObjectMetadata, PodMeta,
};
pub use node::{Namespace, Node};
pub use pod::Pod;
pub use scalar::{Quantity, Timestamp};
pub use snapshot::{VolumeGroupSnapshotContent, VolumeSnapshot, VolumeSnapshotContent};
pub use statefulset::StatefulSet;
pub use volume::PersistentVolume;
pub use workload::{
    CronJob, DaemonSet, Deployment, HorizontalPodAutoscaler, Job, ReplicaSet, ReplicationController,
};

use crate::model::{
    DeletionSecret, FieldManager, Interner, Kind, Labels, NodeAffinity, ObjectKey, Row, Text,
};

/// The kind of a slim type, and where its objects have their names.
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
    /// Reduces the object to a row; [`AnyObject::fold`] is what to call.
    ///
    /// # Errors
    /// When a time or quantity in it does not parse.
    fn row(&self, folder: &mut Folder) -> Result<Folded, FieldProblem>;

    /// Returns the object as a document of its own, with `apiVersion` and `kind`.
    fn document(&self) -> Document<'_, Self> {
        Document { api_version: Self::KIND.api_version(), kind: Self::KIND.name(), object: self }
    }
}

/// What names an object and its version. Any of it may be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectIdentity<'a> {
    /// `metadata.namespace`.
    pub namespace: &'a str,
    /// `metadata.name`.
    pub name: &'a str,
    /// `metadata.resourceVersion`.
    pub resource_version: &'a str,
}

/// What became of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Folded {
    /// What is kept of it.
    Row(Row),
    /// It says nothing about storage: it is counted, not kept.
    Counted,
}

/// Why an object could not be folded.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FoldError {
    /// It has no name.
    #[error("a {kind} without metadata.name")]
    NoName {
        /// Its kind.
        kind: Kind,
    },
    /// It has no namespace, and must have one.
    #[error("{object} has no metadata.namespace")]
    NoNamespace {
        /// The object, as far as it is named.
        object: ObjectKey,
    },
    /// One of its fields cannot be read.
    #[error("{object}: {problem}")]
    Field {
        /// The object.
        object: ObjectKey,
        /// The field and what is wrong with it.
        problem: FieldProblem,
    },
}

/// A field that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{field} is {value:?}, not {expected}")]
pub struct FieldProblem {
    /// The field.
    pub field: &'static str,
    /// What it holds.
    pub value: String,
    /// What it should hold.
    pub expected: &'static str,
}

/// An object as `kubectl get -o json` would print it, if it had only the fields that we read.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Document<'a, O> {
    api_version: String,
    kind: &'static str,
    #[serde(flatten)]
    object: &'a O,
}

/// Keeps one copy of what the rows share.
#[derive(Debug, Default)]
pub struct Folder {
    texts: Interner,
    affinities: HashSet<Arc<NodeAffinity>>,
    owners: HashSet<Arc<FieldManager>>,
    secrets: HashSet<Arc<DeletionSecret>>,
    lists: HashSet<Arc<[Text]>>,
    labels: HashSet<Labels>,
}

impl Folder {
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

    /// Texts that come together again and again, such as finalizers.
    fn list(&mut self, texts: &[String]) -> Arc<[Text]> {
        let texts: Vec<Text> = texts.iter().map(|text| self.text(text)).collect();
        shared_slice(&mut self.lists, &texts)
    }

    fn labels<'a>(&mut self, labels: impl Iterator<Item = (&'a str, &'a str)>) -> Labels {
        let labels: Vec<_> =
            labels.map(|(key, value)| (self.text(key), self.text(value))).collect();
        shared_slice(&mut self.labels, &labels)
    }
}

/// Returns the one copy of something.
fn shared<T: Eq + Hash>(known: &mut HashSet<Arc<T>>, new: T) -> Arc<T> {
    if let Some(known) = known.get(&new) {
        return Arc::clone(known);
    }
    let new = Arc::new(new);
    known.insert(Arc::clone(&new));
    new
}

fn shared_slice<T: Eq + Hash + Clone>(known: &mut HashSet<Arc<[T]>>, new: &[T]) -> Arc<[T]> {
    if let Some(known) = known.get(new) {
        return Arc::clone(known);
    }
    let new: Arc<[T]> = new.into();
    known.insert(Arc::clone(&new));
    new
}

/// Kept text that is not shared; `None` for the empty one.
fn unshared(text: &str) -> Option<Box<str>> {
    (!text.is_empty()).then(|| text.into())
}
