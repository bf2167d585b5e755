//! Objects of any kind: what takes them from a list, a watch, a dump or an answer to an intake need not know which.

use serde_json::value::{RawValue, to_raw_value};

use super::{
    CronJob, CsiDriver, CsiNode, DaemonSet, Deployment, Event, FoldError, Folded, Folder,
    HorizontalPodAutoscaler, Identity, Job, Lease, Node, Object, PersistentVolume,
    PersistentVolumeClaim, Pod, Problem, ReplicaSet, ReplicationController, StatefulSet,
    StorageClass, VolumeAttachment, VolumeAttributesClass, VolumeGroupSnapshotContent,
    VolumeSnapshot, VolumeSnapshotContent,
};
use crate::client::Decoding;
use crate::model::{Kind, ObjectKey};

/// An object, decoded.
pub trait AnyObject: Send {
    /// [`Object::KIND`]
    fn kind(&self) -> Kind;

    /// [`Object::identity`]
    fn identity(&self) -> Identity<'_>;

    /// [`Object::row`]
    ///
    /// # Errors
    /// When a time or quantity in it does not parse.
    fn row(&self, folder: &mut Folder) -> Result<Folded, Problem>;

    /// Returns [`Object::document`] in JSON.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    fn to_json(&self) -> Result<Box<RawValue>, serde_json::Error>;

    /// Returns the key of the object, whether or not it is one that is kept.
    ///
    /// # Errors
    /// When it has no name, or no namespace although its kind has.
    fn key(&self, folder: &mut Folder) -> Result<ObjectKey, FoldError> {
        let kind = self.kind();
        let Identity { namespace, name, .. } = self.identity();
        if name.is_empty() {
            return Err(FoldError::NoName { kind });
        }
        let key = ObjectKey { kind, namespace: None, name: name.into() };
        if !kind.is_namespaced() {
            return Ok(key);
        }
        match folder.non_empty(namespace) {
            Some(namespace) => Ok(ObjectKey { namespace: Some(namespace), ..key }),
            None => Err(FoldError::NoNamespace { object: key }),
        }
    }

    /// Reduces the object to a row.
    ///
    /// # Errors
    /// When it does not say what it is, or a time or quantity in it does not parse. Nothing is
    /// then known of the object: it is a gap.
    fn fold(&self, folder: &mut Folder) -> Result<Folded, FoldError> {
        let Identity { namespace, name, .. } = self.identity();
        if name.is_empty() || (namespace.is_empty() && self.kind().is_namespaced()) {
            self.key(folder)?;
        }
        self.row(folder).or_else(|problem| {
            let object = self.key(folder)?;
            Err(FoldError::Field { object, problem })
        })
    }
}

impl<T: Object> AnyObject for T {
    fn kind(&self) -> Kind {
        T::KIND
    }

    fn identity(&self) -> Identity<'_> {
        Object::identity(self)
    }

    fn row(&self, folder: &mut Folder) -> Result<Folded, Problem> {
        Object::row(self, folder)
    }

    fn to_json(&self) -> Result<Box<RawValue>, serde_json::Error> {
        to_raw_value(&self.document())
    }
}

/// What an intake needs of an object.
#[derive(Debug)]
pub struct Reduced {
    /// What became of it.
    pub folded: Result<Folded, FoldError>,
    /// The object itself, if it is to be saved.
    pub document: Option<Result<Box<RawValue>, serde_json::Error>>,
}

impl Reduced {
    /// Reduces an object, which may then be forgotten.
    pub fn of(object: &dyn AnyObject, folder: &mut Folder, saving: bool) -> Self {
        Self { folded: object.fold(folder), document: saving.then(|| object.to_json()) }
    }
}

/// How objects of a kind are decoded; `None` for kinds of which nothing is kept.
pub fn decoding(kind: Kind) -> Option<Decoding<Box<dyn AnyObject>>> {
    Some(match kind {
        Kind::PersistentVolume => decoding_of::<PersistentVolume>(),
        Kind::PersistentVolumeClaim => decoding_of::<PersistentVolumeClaim>(),
        Kind::Pod => decoding_of::<Pod>(),
        Kind::Node => decoding_of::<Node>(),
        Kind::StorageClass => decoding_of::<StorageClass>(),
        Kind::CsiDriver => decoding_of::<CsiDriver>(),
        Kind::CsiNode => decoding_of::<CsiNode>(),
        Kind::VolumeAttachment => decoding_of::<VolumeAttachment>(),
        Kind::StatefulSet => decoding_of::<StatefulSet>(),
        Kind::Deployment => decoding_of::<Deployment>(),
        Kind::ReplicaSet => decoding_of::<ReplicaSet>(),
        Kind::DaemonSet => decoding_of::<DaemonSet>(),
        Kind::ReplicationController => decoding_of::<ReplicationController>(),
        Kind::Job => decoding_of::<Job>(),
        Kind::CronJob => decoding_of::<CronJob>(),
        Kind::HorizontalPodAutoscaler => decoding_of::<HorizontalPodAutoscaler>(),
        Kind::Lease => decoding_of::<Lease>(),
        Kind::Event => decoding_of::<Event>(),
        Kind::VolumeAttributesClass => decoding_of::<VolumeAttributesClass>(),
        Kind::VolumeSnapshot => decoding_of::<VolumeSnapshot>(),
        Kind::VolumeSnapshotContent => decoding_of::<VolumeSnapshotContent>(),
        Kind::VolumeGroupSnapshotContent => decoding_of::<VolumeGroupSnapshotContent>(),
        Kind::Namespace
        | Kind::Secret
        | Kind::PartialObjectMetadata
        | Kind::SubjectAccessReview => return None,
    })
}

/// How objects of a type are decoded.
pub fn decoding_of<T: Object>() -> Decoding<Box<dyn AnyObject>> {
    Decoding {
        protobuf: |bytes| T::decode(bytes).map(boxed),
        json: |text| serde_json::from_str::<T>(text).map(boxed),
    }
}

fn boxed<T: Object>(object: T) -> Box<dyn AnyObject> {
    Box::new(object)
}
