//! Everything that a look at a cluster consists of.

use super::{
    Attachment, Claim, ClaimKey, CsiDriver, CsiNode, Event, Kind, Lease, Node, ObjectKey, PodUse,
    Sighting, SnapshotContent, StorageClass, Text, Volume, Workload,
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
    Node(Box<Node>),
    Class(Box<StorageClass>),
    CsiDriver(Box<CsiDriver>),
    CsiNode(Box<CsiNode>),
    Attachment(Box<Attachment>),
    Lease(Box<Lease>),
    Event(Box<Event>),
    Snapshot(Box<SnapshotContent>),
    /// The answer to a question about a single object.
    Answer(Question, Answer),
    /// What an earlier run recorded.
    Sighting(Sighting),
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
            Self::Node(row) => ObjectKey::cluster_wide(Kind::Node, &row.metadata.name),
            Self::Class(row) => ObjectKey::cluster_wide(Kind::StorageClass, &row.metadata.name),
            Self::CsiDriver(row) => ObjectKey::cluster_wide(Kind::CsiDriver, &row.metadata.name),
            Self::CsiNode(row) => ObjectKey::cluster_wide(Kind::CsiNode, &row.metadata.name),
            Self::Attachment(row) => {
                ObjectKey::cluster_wide(Kind::VolumeAttachment, &row.metadata.name)
            }
            Self::Lease(row) => namespaced(Kind::Lease, &row.namespace, &row.metadata.name),
            Self::Event(row) => namespaced(Kind::Event, &row.namespace, &row.name),
            Self::Snapshot(row) => ObjectKey::cluster_wide(row.kind, &row.metadata.name),
            Self::Answer(..) | Self::Sighting(_) => return None,
        })
    }
}

/// Something that is asked about a single object once the lists are in.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Question {
    /// Does this claim exist? Asked where two lists were not taken in the order that would prove
    /// its absence. A claim that does exist comes back as a row instead of an answer.
    ClaimExists(ClaimKey),
    /// Does this secret exist? Asked for its metadata only.
    SecretExists { namespace: Text, name: Text },
    /// May this `ServiceAccount` patch persistent volumes?
    MayPatchVolumes { namespace: Text, service_account: Text },
}

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Yes,
    No,
    /// It was asked, and not answered: why, in words.
    Unanswered(Box<str>),
    /// The user may not ask.
    Forbidden,
}
