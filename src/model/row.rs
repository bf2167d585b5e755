//! Everything that a look at a cluster consists of.

use super::{
    Attachment, AttributesClass, Autoscaler, Claim, CsiDriver, CsiNode, Event, KeptBackend, Kind,
    Lease, Node, ObjectKey, PodUse, Sighting, SnapshotContent, StorageClass, Text, Uid, Volume,
    VolumeSnapshot, Workload,
};

/// How the tables of a cluster name an object.
pub type ObjectId = u32;

/// One object, reduced to what judgements rest on, or one answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row {
    Volume(Box<Volume>),
    Claim(Box<Claim>),
    Pod(Box<PodUse>),
    Workload(Box<Workload>),
    Autoscaler(Box<Autoscaler>),
    Node(Box<Node>),
    Class(Box<StorageClass>),
    AttributesClass(Box<AttributesClass>),
    CsiDriver(Box<CsiDriver>),
    CsiNode(Box<CsiNode>),
    Attachment(Box<Attachment>),
    Lease(Box<Lease>),
    Event(Box<Event>),
    VolumeSnapshot(Box<VolumeSnapshot>),
    Snapshot(Box<SnapshotContent>),
    /// The answer to a question about a single object.
    Answer(Question, Answer),
    /// What an earlier run recorded.
    Sighting(Sighting),
    /// A backend volume that was left behind on purpose, by one of the records of it.
    Kept(Box<KeptBackend>),
}

impl Row {
    /// Which object it is; `None` for answers and records.
    pub fn key(&self) -> Option<ObjectKey> {
        let namespaced = |kind, namespace: &Text, name: &str| ObjectKey {
            kind,
            namespace: Some(Text::clone(namespace)),
            name: name.into(),
        };
        Some(match self {
            Self::Volume(row) => {
                ObjectKey::cluster_wide(Kind::PersistentVolume, &row.metadata.name)
            }
            Self::Claim(row) => row.object().key,
            Self::Pod(row) => namespaced(Kind::Pod, &row.namespace, &row.name),
            Self::Workload(row) => namespaced(row.kind, &row.namespace, &row.name),
            Self::Autoscaler(row) => {
                namespaced(Kind::HorizontalPodAutoscaler, &row.namespace, &row.name)
            }
            Self::Node(row) => ObjectKey::cluster_wide(Kind::Node, &row.metadata.name),
            Self::Class(row) => ObjectKey::cluster_wide(Kind::StorageClass, &row.metadata.name),
            Self::AttributesClass(row) => row.object().key,
            Self::CsiDriver(row) => ObjectKey::cluster_wide(Kind::CsiDriver, &row.metadata.name),
            Self::CsiNode(row) => ObjectKey::cluster_wide(Kind::CsiNode, &row.metadata.name),
            Self::Attachment(row) => row.object().key,
            Self::Lease(row) => namespaced(Kind::Lease, &row.namespace, &row.metadata.name),
            Self::Event(row) => namespaced(Kind::Event, &row.namespace, &row.name),
            Self::VolumeSnapshot(row) => row.object().key,
            Self::Snapshot(row) => ObjectKey::cluster_wide(row.kind, &row.metadata.name),
            Self::Answer(..) | Self::Sighting(_) | Self::Kept(_) => return None,
        })
    }
}

/// Something that is asked about a single object once the lists are in.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Question {
    /// Does this object exist, of a kind that is listed? Asked where two lists were not taken in the
    /// order that would prove its absence. One that does exist comes back as a row as well.
    Exists(ObjectKey),
    /// Does this owner of another object exist, of any kind at all, and with which uid?
    OwnerExists(OwnerKey),
    /// Does this secret exist? Asked for its metadata only.
    SecretExists { namespace: Text, name: Text },
    /// May this `ServiceAccount` patch persistent volumes?
    MayPatchVolumes { namespace: Text, service_account: Text },
    /// Is there a record of kept backends? What it says comes back as rows.
    KeptBackends { namespace: Text },
}

/// What an owner reference names.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OwnerKey {
    /// `apiVersion`.
    pub api_version: Text,
    /// `kind`.
    pub kind: Text,
    /// The namespace of what is owned: an owner is there, or cluster-wide.
    pub namespace: Text,
    /// `name`.
    pub name: Box<str>,
}

impl Question {
    /// The kind that it is about, as gaps and declarations name it.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Exists(key) => key.kind,
            Self::OwnerExists(_) | Self::KeptBackends { .. } => Kind::PartialObjectMetadata,
            Self::SecretExists { .. } => Kind::Secret,
            Self::MayPatchVolumes { .. } => Kind::SubjectAccessReview,
        }
    }

    /// The namespace that it is about; `None` for cluster-wide kinds.
    pub const fn namespace(&self) -> Option<&Text> {
        match self {
            Self::Exists(key) => key.namespace.as_ref(),
            Self::OwnerExists(key) => Some(&key.namespace),
            Self::SecretExists { namespace, .. }
            | Self::MayPatchVolumes { namespace, .. }
            | Self::KeptBackends { namespace } => Some(namespace),
        }
    }
}

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Yes,
    /// It exists, and this is its uid.
    Is(Uid),
    No,
    /// It was asked, and not answered: why, in words.
    Unanswered(Box<str>),
    /// The user may not ask.
    Forbidden,
}
