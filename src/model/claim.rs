//! Persistent volume claims.

use std::fmt;

use super::{Access, Bytes, ClaimKey, Metadata, ObjectRef, Selector, Text, Time};

/// A `PersistentVolumeClaim`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Name, uid, finalizers, owners.
    pub metadata: Metadata,
    /// Its namespace.
    pub namespace: Text,
    /// `status.phase`.
    pub phase: ClaimPhase,
    /// `spec.volumeName`, when set.
    pub volume_name: Option<Box<str>>,
    /// `spec.storageClassName`; `None` when absent, empty when it asks for no class.
    pub class: Option<Text>,
    /// `spec.accessModes` and `spec.volumeMode`.
    pub access: Access,
    /// `spec.selector`: the labels of the volumes that it asks for.
    pub selector: Option<Box<Selector>>,
    /// Annotation `pv.kubernetes.io/bind-completed` is present.
    pub bind_completed: bool,
    /// `spec.resources.requests.storage`.
    pub requested: Option<Bytes>,
    /// `status.capacity.storage`.
    pub capacity: Option<Bytes>,
    /// Annotation `volume.kubernetes.io/selected-node`.
    pub selected_node: Option<Text>,
    /// Annotation `volume.kubernetes.io/storage-provisioner`, or its beta twin.
    pub provisioner: Option<Text>,
    /// `spec.dataSourceRef`, else `spec.dataSource`.
    pub source: Option<Box<DataSource>>,
    /// `spec.volumeAttributesClassName`.
    pub attributes_class: Option<Text>,
    /// `status.allocatedResourceStatuses.storage`: how far a resize is.
    pub resize_status: Option<Text>,
    /// `status.conditions`.
    pub conditions: Box<[ClaimCondition]>,
}

/// What a claim is to be filled with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataSource {
    /// `apiGroup`, empty for the core group.
    pub group: Text,
    /// `kind`, any kind at all.
    pub kind: Text,
    /// `namespace`, where it is not that of the claim.
    pub namespace: Option<Text>,
    /// `name`.
    pub name: Box<str>,
}

/// One of `status.conditions` of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimCondition {
    /// `type`: `Resizing`, `FileSystemResizePending`, `Unused`…
    pub kind: Text,
    /// Whether `status` is `True`.
    pub holds: bool,
    /// `lastTransitionTime`.
    pub since: Option<Time>,
    /// `reason`.
    pub reason: Text,
    /// `message`.
    pub message: Box<str>,
}

impl Claim {
    /// Returns a condition that holds.
    pub fn condition(&self, kind: &str) -> Option<&ClaimCondition> {
        self.conditions.iter().find(|it| it.holds && &*it.kind == kind)
    }

    /// Its namespace and name.
    pub fn key(&self) -> ClaimKey {
        ClaimKey { namespace: Text::clone(&self.namespace), name: self.metadata.name.clone() }
    }

    /// The reference that reports print.
    pub fn object(&self) -> ObjectRef {
        ObjectRef::of(self, self.metadata.uid.as_ref())
    }
}

/// `status.phase` of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimPhase {
    Pending,
    Bound,
    Lost,
    /// A phase that this version does not know.
    Other(Text),
}

impl fmt::Display for ClaimPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pending => "Pending",
            Self::Bound => "Bound",
            Self::Lost => "Lost",
            Self::Other(text) => text,
        })
    }
}
