//! Facts about drivers, derived once for all volumes of a driver, and questions about single objects that
//! come up while judging, with their answers.

use std::{collections::BTreeSet, sync::Arc};

use semver::Version;

use super::{
    Announcements, BackendKey, ControllerRole, ControllerState, CustomUsers, Kind, ObjectKey,
    ObjectRef, OwnerReference, Text, Time, Uid,
};

/// The key of a fact, which is derived once and compared across changes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FactKey {
    /// Facts that follow from the volumes of a driver. The first, since others rest on it.
    Volumes(Text),
    /// Whether a controller is running; the driver is empty for the controller manager.
    Controller(ControllerRole, Text),
    /// Versions that run as csi-provisioner of a driver.
    ProvisionerVersions(Text),
    /// Whether every csi-provisioner that may serve a driver honors the deletion-protection
    /// finalizer.
    FinalizerSupport(Text),
    /// Arguments and images of the controller of a driver.
    ControllerSettings(Text),
    /// Whether the handles of a driver of which nothing is known identify its volumes.
    Identity(Text),
}

impl FactKey {
    /// Returns the driver that the fact is about.
    pub fn driver(&self) -> &Text {
        match self {
            Self::Controller(_, driver)
            | Self::Volumes(driver)
            | Self::ProvisionerVersions(driver)
            | Self::ControllerSettings(driver)
            | Self::Identity(driver)
            | Self::FinalizerSupport(driver) => driver,
        }
    }
}

/// A fact about a driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    Volumes(Box<DriverVolumes>),
    Controller(Box<ControllerState>),
    ProvisionerVersions(Vec<ClaimedVersion>),
    FinalizerSupport(FinalizerSupport),
    /// Settings of the controller; `None` where no pod and no workload of it was found.
    ControllerSettings(Option<ControllerSettings>),
    /// Reason for which the handles do not identify volumes; `None` if they do.
    Identity(Option<UndecidedIdentity>),
}

/// Facts about a driver that follow from its volumes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DriverVolumes {
    /// Whether some volume is a CSI volume of the driver.
    pub is_csi: bool,
    /// Whether the driver made a volume that is not a CSI volume.
    pub is_external: bool,
    /// Whether some volume references a deletion Secret.
    pub names_secret: bool,
    /// The last write of each of the driver's controllers to one of its volumes.
    pub last_writes: Vec<LastWrite>,
}

/// The last write of a controller to a volume, by `managedFields`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastWrite {
    /// The role of the controller.
    pub role: ControllerRole,
    /// The time of the write.
    pub time: Time,
    /// The name under which the controller wrote.
    pub manager: Text,
    /// The volume.
    pub volume: ObjectRef,
}

/// Doubt about the handles of a driver, which do not tell its volumes apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndecidedIdentity {
    /// The reason for the doubt.
    pub why: String,
    /// Some objects that reference volumes of the driver, by name: enough to find another one for any of them.
    pub first: Vec<NamedBackend>,
}

/// Object that references a backend volume of a driver.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedBackend {
    /// The name of the volume, which may not exist any more.
    pub volume: Box<str>,
    /// The object as reports name it.
    pub who: String,
    /// The backend volume, if this is the record of a kept one.
    pub kept: Option<BackendKey>,
}

/// Settings of the controller of a driver: those of all its pods and workloads together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ControllerSettings {
    /// Arguments of all containers.
    pub arguments: Vec<Text>,
    /// Images of all containers.
    pub images: Vec<Text>,
}

/// The service accounts, each with its namespace, of every csi-provisioner that may serve a driver:
/// those honor the deletion-protection finalizer if they may patch volumes. `Err` is the reason why
/// that is not certain.
pub type FinalizerSupport = Result<BTreeSet<(Text, Text)>, String>;

impl Fact {
    /// Whether both facts agree, apart from the latest evidence: a renewed Lease alone changes
    /// nothing.
    pub fn agrees_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Controller(one), Self::Controller(other)) => one.agrees_with(other),
            (Self::Volumes(one), Self::Volumes(other)) => one.agrees_with(other),
            (one, other) => one == other,
        }
    }
}

impl DriverVolumes {
    /// Whether both agree, apart from the last writes: what these show is the state of a controller.
    fn agrees_with(&self, other: &Self) -> bool {
        let Self { is_csi, is_external, names_secret, last_writes: _ } = self;
        (*is_csi, *is_external, *names_secret)
            == (other.is_csi, other.is_external, other.names_secret)
    }
}

/// Version of a csi-provisioner according to an image tag. Tags can be wrong, and digests contain no version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedVersion {
    /// The pod or workload.
    pub object: ObjectRef,
    /// The image.
    pub image: Text,
    /// The version in the image tag, if there is one.
    pub version: Option<Version>,
    /// Whether `--feature-gates` sets `HonorPVReclaimPolicy`, and to what.
    pub honor_flag: Option<bool>,
    /// The `ServiceAccount`, with its namespace.
    pub service_account: Option<(Text, Text)>,
}

/// A question about a single object, asked after the lists were read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Question {
    /// Does this object exist, of a kind that is listed? Asked if the lists were not read in the
    /// order that proves its absence. An object that exists is returned as a row as well.
    Exists(ObjectKey),
    /// Does this owner of another object exist, whatever its kind, and with which uid?
    OwnerExists(OwnerKey),
    /// Who owns this owner of another object, whatever its kind? Asked only where the owner may be
    /// deleted with its own owners.
    OwnersOf(OwnerKey),
    /// Does this Secret exist? Only its metadata is requested.
    SecretExists { namespace: Text, name: Text },
    /// May this `ServiceAccount` patch persistent volumes?
    MayPatchVolumes { namespace: Text, service_account: Text },
    /// Does a record of kept backend volumes exist? Its entries are returned as rows.
    KeptBackends { namespace: Text },
    /// Which volumes are announced, and which vetoed, by the records of this namespace?
    Announcements { namespace: Text },
    /// Which custom resources of this namespace use claims? Asked only about claims that are to be
    /// deleted: each kind that is served is listed.
    CustomUsers { namespace: Text },
}

/// The owner in an owner reference.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OwnerKey {
    /// `apiVersion`.
    pub api_version: Text,
    /// `kind`.
    pub kind: Text,
    /// The namespace of the dependent: an owner is in the same namespace, or cluster-wide.
    pub namespace: Text,
    /// `name`.
    pub name: Box<str>,
}

impl Question {
    /// The kind to which gaps and declared needs assign the question.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Exists(key) => key.kind,
            Self::OwnerExists(_)
            | Self::OwnersOf(_)
            | Self::KeptBackends { .. }
            | Self::CustomUsers { .. } => Kind::PartialObjectMetadata,
            Self::SecretExists { .. } => Kind::Secret,
            Self::Announcements { .. } => Kind::ConfigMap,
            Self::MayPatchVolumes { .. } => Kind::SubjectAccessReview,
        }
    }

    /// Returns the namespace of the question's object; `None` for cluster-wide kinds.
    pub const fn namespace(&self) -> Option<&Text> {
        match self {
            Self::Exists(key) => key.namespace.as_ref(),
            Self::OwnerExists(key) | Self::OwnersOf(key) => Some(&key.namespace),
            Self::SecretExists { namespace, .. }
            | Self::MayPatchVolumes { namespace, .. }
            | Self::KeptBackends { namespace }
            | Self::Announcements { namespace }
            | Self::CustomUsers { namespace } => Some(namespace),
        }
    }
}

/// An owner of other objects, reduced to what its deletion depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerObject {
    /// The owner's uid.
    pub uid: Uid,
    /// Whether the owner is Terminating.
    pub terminating: bool,
    /// Whether the owner is in no namespace.
    pub cluster_wide: bool,
    /// `metadata.ownerReferences`.
    pub owners: Box<[OwnerReference]>,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Yes,
    /// The object exists, and has this uid.
    Is(Uid),
    /// The owner exists, with this metadata.
    Owner(Arc<OwnerObject>),
    /// These custom resources use claims.
    Users(Arc<CustomUsers>),
    /// These announcements and vetoes are recorded.
    Announcements(Arc<Announcements>),
    No,
    /// No answer was received, for this reason.
    Unanswered(Box<str>),
    /// The user lacks the permission to ask.
    Forbidden,
    /// The server does not serve the kind in this API version, by complete discovery of its group.
    NotServed {
        /// The API version of the same group in which the kind is served, if there is one.
        elsewhere: Option<Text>,
    },
}
