//! `AnyObject`: an object of any kind, how it is decoded, and its reduction to what an intake needs.

use serde_json::value::{RawValue, to_raw_value};

use super::{
    CronJob, CsiDriver, CsiNode, DaemonSet, Deployment, DirectPvVolume, Event, FoldError, Folded,
    Folder, HorizontalPodAutoscaler, Job, Lease, LegacyTopoLvmVolume, LonghornVolume, LvmVolume,
    Namespace, Node, ObjectIdentity, ObjectKind, PersistentVolume, PersistentVolumeClaim, Pod,
    ReplicaSet, ReplicationController, SlimObject, StatefulSet, StorageClass, TopoLvmVolume,
    TridentVolume, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding, VolumeAttachment,
    VolumeAttributesClass, VolumeGroupSnapshotContent, VolumeSnapshot, VolumeSnapshotClass,
    VolumeSnapshotContent, ZfsVolume, odd::OddlyRead,
};
use crate::client::Decoding;
use crate::cluster::{Change, Doubt, OddObject};
use crate::model::{Kind, ObjectKey, Row};

/// A decoded object of any kind.
pub trait AnyObject: Send {
    /// [`ObjectKind::KIND`]
    fn kind(&self) -> Kind;

    /// [`ObjectKind::identity`]
    fn identity(&self) -> ObjectIdentity<'_>;

    /// [`SlimObject::row`]
    fn row(&self, folder: &mut Folder) -> Folded;

    /// Returns damage that was met while decoding: how far it reaches, and its description.
    fn odd(&self) -> Option<(Doubt, String)>;

    /// Returns [`SlimObject::document`] of a version in JSON.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    fn to_json(&self, version: &str) -> Result<Box<RawValue>, serde_json::Error>;

    /// Returns the key of the object, whether or not it has a row.
    ///
    /// # Errors
    /// When it has no name, or no namespace although its kind is namespaced.
    fn key(&self, folder: &mut Folder) -> Result<ObjectKey, FoldError> {
        let kind = self.kind();
        let ObjectIdentity { namespace, name, .. } = self.identity();
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
    /// When a name is missing. Nothing is then known of the object: it is a gap.
    fn fold(&self, folder: &mut Folder) -> Result<Folded, FoldError> {
        let ObjectIdentity { namespace, name, .. } = self.identity();
        if name.is_empty() || (namespace.is_empty() && self.kind().is_namespaced()) {
            self.key(folder)?;
        }
        Ok(self.row(folder))
    }
}

impl<T: SlimObject> AnyObject for T {
    fn kind(&self) -> Kind {
        T::KIND
    }

    fn identity(&self) -> ObjectIdentity<'_> {
        ObjectKind::identity(self)
    }

    fn row(&self, folder: &mut Folder) -> Folded {
        SlimObject::row(self, folder)
    }

    fn odd(&self) -> Option<(Doubt, String)> {
        let cut = |field| (Doubt::Kind, format!("it has no {field}, as if it had been cut"));
        let impossible = || Some((Doubt::Object, self.impossible()?));
        self.lacks().map(cut).or_else(impossible)
    }

    fn to_json(&self, version: &str) -> Result<Box<RawValue>, serde_json::Error> {
        to_raw_value(&self.document(version))
    }
}

/// Reduction of an object to what an intake needs, so that the object itself can be dropped.
#[derive(Debug)]
pub struct Reduced {
    /// The change by the object; `None` for an object that is only counted.
    pub change: Result<Option<Change>, FoldError>,
    /// Damage that was met while decoding.
    pub odd: Option<Box<OddObject>>,
    /// The object as a document, if it is to be saved.
    pub document: Option<Result<Box<RawValue>, serde_json::Error>>,
    /// Whether a watch sent it, and not a list, a dump or an answer.
    pub watched: bool,
}

impl Reduced {
    /// Reduces an object of a list, of a dump or of an answer; `saving` is the version that it is
    /// saved in.
    pub fn of(object: &dyn AnyObject, folder: &mut Folder, saving: Option<&str>) -> Self {
        let (done, odd) = fold_odd(object, folder);
        let change = done.map(|done| match done {
            Folded::Row(row) => Some(Change::Seen(row)),
            Folded::Counted => None,
        });
        Self {
            change,
            odd,
            document: saving.map(|version| object.to_json(version)),
            watched: false,
        }
    }

    /// Reduces an object that a watch reports as added or changed. One without a row may have had
    /// one before: it is taken out. It is not saved, since a dump holds what the lists showed.
    pub fn of_watch(object: &dyn AnyObject, folder: &mut Folder) -> Self {
        let (done, odd) = fold_odd(object, folder);
        let change = done.and_then(|done| match done {
            Folded::Row(row) => Ok(Some(Change::Seen(row))),
            Folded::Counted => object.key(folder).map(|key| Some(Change::Gone(key))),
        });
        Self { change, odd, document: None, watched: true }
    }
}

/// Folds an object, and returns what could not be read of it.
fn fold_odd(
    object: &dyn AnyObject,
    folder: &mut Folder,
) -> (Result<Folded, FoldError>, Option<Box<OddObject>>) {
    folder.odd = None;
    let outcome = object.fold(folder);
    let Ok(done) = &outcome else { return (outcome, None) };
    let of_field = folder.odd.take().map(|problem| (Doubt::Field, problem.to_string()));
    let Some((mut doubt, reason)) = object.odd().or(of_field) else { return (outcome, None) };
    // Facts about drivers look at all pods and templates that may belong to one.
    let is_of_driver = match done {
        Folded::Row(Row::Pod(row)) => row.sidecars.is_some(),
        Folded::Row(Row::Workload(row)) => row.sidecars.is_some(),
        _ => false,
    };
    if is_of_driver && doubt == Doubt::Object {
        doubt = Doubt::Kind;
    }
    let odd = object.key(folder).ok().map(|key| {
        let reason = format!("{key}: {reason}");
        Box::new(OddObject { key, doubt, reason })
    });
    (outcome, odd)
}

/// Calls a macro with the types of all kinds that have rows. A new kind needs a name in this list,
/// a file with its type, and the two lines of that file in `mod.rs`.
macro_rules! every_kind {
    ($callback:ident) => {
        $callback! {
            PersistentVolume PersistentVolumeClaim Pod Node StorageClass CsiDriver CsiNode
            VolumeAttachment StatefulSet Deployment ReplicaSet DaemonSet ReplicationController Job
            CronJob HorizontalPodAutoscaler Lease Event VolumeAttributesClass VolumeSnapshot
            VolumeSnapshotContent VolumeSnapshotClass VolumeGroupSnapshotContent Namespace
            ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding LonghornVolume LvmVolume
            ZfsVolume TopoLvmVolume LegacyTopoLvmVolume DirectPvVolume TridentVolume
        }
    };
}
#[cfg(test)]
pub(super) use every_kind;

macro_rules! implement_kinds {
    ($($kind:ident)*) => {
        $(impl ObjectKind for $kind {
            const KIND: Kind = Kind::$kind;

            fn identity(&self) -> ObjectIdentity<'_> {
                self.metadata.identity()
            }
        })*

        /// Returns the decoding of objects of a kind; `None` for kinds without rows.
        pub fn decoding(kind: Kind) -> Option<Decoding<Box<dyn AnyObject>>> {
            match kind {
                $(Kind::$kind => Some(decoding_of::<$kind>()),)*
                Kind::Secret
                | Kind::ConfigMap
                | Kind::PartialObjectMetadata
                | Kind::SubjectAccessReview
                | Kind::BackendVolume
                | Kind::Rollout
                | Kind::CloneSet => None,
            }
        }
    };
}
every_kind!(implement_kinds);

/// Whether the managers of fields are stored for a kind. They can be left out of the text of the
/// other kinds before it is decoded.
pub fn keeps_managed_fields(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::PersistentVolume
            | Kind::PersistentVolumeClaim
            | Kind::VolumeAttachment
            | Kind::StatefulSet
    )
}

/// Returns the decoding of objects of a type.
pub fn decoding_of<T: SlimObject>() -> Decoding<Box<dyn AnyObject>> {
    Decoding {
        protobuf: |bytes| T::decode(bytes).map(boxed),
        json: |text| match serde_json::from_str::<T>(text) {
            Err(error) if error.is_data() => match OddlyRead::<T>::read(text, &error) {
                Some(object) => Ok(Box::new(object)),
                None => Err(error),
            },
            read => read.map(boxed),
        },
    }
}

fn boxed<T: SlimObject>(mut object: T) -> Box<dyn AnyObject> {
    object.trim();
    Box::new(object)
}
