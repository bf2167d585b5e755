//! Persistent volumes.

use std::{fmt, sync::Arc};

use super::{
    Access, Attributes, BackendKey, Bytes, ClaimKey, ControllerRole, Managed, Metadata, ObjectRef,
    Text, Time, Uid, backend::migrated_driver,
};

/// A `PersistentVolume`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    /// Name, uid, finalizers, managers.
    pub metadata: Metadata,
    /// `status.phase`.
    pub phase: Phase,
    /// `status.message`.
    pub message: Option<Box<str>>,
    /// `status.reason`.
    pub reason: Option<Box<str>>,
    /// `status.lastPhaseTransitionTime`; null, absent and zero are all `None`.
    pub last_phase_transition: Option<Time>,
    /// `spec.persistentVolumeReclaimPolicy`.
    pub reclaim_policy: ReclaimPolicy,
    /// `spec.claimRef`.
    pub claim_ref: Option<ClaimRef>,
    /// The volume source.
    pub source: VolumeSource,
    /// The backend volume that the source references, with in-tree sources translated to their CSI
    /// driver. `None` for sources that are unique to their volume.
    pub backend: Option<BackendKey>,
    /// The `volumeAttributes` that decide what it names, where its handle alone does not.
    pub attributes: Attributes,
    /// `spec.accessModes` and `spec.volumeMode`.
    pub access: Access,
    /// Whether it is a file system that several nodes may mount at once: `spec.accessModes` has
    /// `ReadWriteMany` or `ReadOnlyMany`, and `spec.volumeMode` is not `Block`.
    pub is_shared: bool,
    /// `spec.storageClassName`.
    pub class: Option<Text>,
    /// `spec.volumeAttributesClassName`.
    pub attributes_class: Option<Text>,
    /// `spec.capacity.storage`.
    pub capacity: Option<Bytes>,
    /// `spec.nodeAffinity.required`.
    pub node_affinity: Option<Arc<NodeAffinity>>,
    /// Annotation `pv.kubernetes.io/provisioned-by`; may be empty, which still means dynamic.
    pub provisioned_by: Option<Text>,
    /// Annotation `pv.kubernetes.io/migrated-to`.
    pub migrated_to: Option<Text>,
    /// Annotation `pv.kubernetes.io/bound-by-controller` is present.
    pub bound_by_controller: bool,
    /// Annotations `volume.kubernetes.io/provisioner-deletion-secret-{name,namespace}`.
    pub deletion_secret: Option<Arc<DeletionSecret>>,
    /// Annotation `storage.kubectl.dev/backend-state`: the backend volume may be partly deleted.
    pub backend_state: Option<Box<str>>,
}

impl Volume {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    /// Whether it was dynamically provisioned (annotation `provisioned-by` present).
    pub fn is_dynamic(&self) -> bool {
        self.provisioned_by.is_some()
    }

    /// Every driver or provisioner that it references, each once: the CSI driver, the provisioner,
    /// and the driver that this was migrated to. Facts decide which of them reclaims it.
    pub fn drivers(&self) -> impl Iterator<Item = &str> {
        let migrated = self.provisioned_by.as_deref().and_then(migrated_driver);
        let names = [
            self.source.driver().map(|driver| &**driver),
            self.provisioned_by.as_deref(),
            self.migrated_to.as_deref(),
            migrated,
        ];
        let is_new = move |index: usize, name: &str| {
            !name.is_empty() && !names[..index].iter().flatten().any(|known| *known == name)
        };
        names
            .into_iter()
            .enumerate()
            .filter_map(move |(index, name)| name.filter(|name| is_new(index, name)))
    }

    /// Whether it tells as much of its drivers as it did before a change: facts about them are not
    /// derived again because of phases, labels or what others write.
    pub fn tells_the_same_of_drivers(&self, before: &Self) -> bool {
        self.metadata.uid == before.metadata.uid
            && self.source == before.source
            && self.backend == before.backend
            && self.is_shared == before.is_shared
            && self.provisioned_by == before.provisioned_by
            && self.migrated_to == before.migrated_to
            && self.deletion_secret == before.deletion_secret
            && self.writes_of_drivers().eq(before.writes_of_drivers())
    }

    /// The entries of `managedFields` that the controllers of its driver have written, each with who
    /// that was.
    pub fn writes_of_drivers(&self) -> impl Iterator<Item = (ControllerRole, Managed<'_>)> {
        self.metadata.managers.iter().flat_map(|it| {
            let is_by = move |role: &ControllerRole| it.manager.contains(role.field_manager());
            ControllerRole::OF_DRIVERS.into_iter().filter(is_by).map(move |role| (role, it))
        })
    }

    /// The reference that reports print.
    pub fn object(&self) -> ObjectRef {
        ObjectRef::of(self, self.metadata.uid.as_ref())
    }
}

/// `status.phase` of a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// Just created; also an empty phase.
    Pending,
    Available,
    Bound,
    Released,
    Failed,
    /// A phase that this version does not know.
    Other(Text),
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pending => "Pending",
            Self::Available => "Available",
            Self::Bound => "Bound",
            Self::Released => "Released",
            Self::Failed => "Failed",
            Self::Other(text) => text,
        })
    }
}

/// `spec.persistentVolumeReclaimPolicy`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReclaimPolicy {
    Retain,
    Delete,
    Recycle,
    /// A policy that this version does not know.
    Other(Text),
}

impl fmt::Display for ReclaimPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Retain => "Retain",
            Self::Delete => "Delete",
            Self::Recycle => "Recycle",
            Self::Other(text) => text,
        })
    }
}

/// `spec.claimRef`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRef {
    /// The claim's namespace and name.
    pub key: ClaimKey,
    /// The uid of the claim; `None` means reserved, not bound.
    pub uid: Option<Uid>,
}

/// The volume source, as far as it identifies the backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VolumeSource {
    /// `spec.csi`.
    Csi {
        /// `spec.csi.driver`.
        driver: Text,
        /// `spec.csi.volumeHandle`.
        handle: Text,
        /// `volumeAttributes` has `storage.kubernetes.io/csiProvisionerIdentity` of this driver, not
        /// younger than the volume: csi-provisioner always writes it, and a copy of another volume
        /// has one of another driver or of a later time.
        provisioner_identity: bool,
    },
    /// `spec.hostPath`.
    HostPath(Box<str>),
    /// `spec.local`.
    Local(Box<str>),
    /// Another in-tree source, by the name of its field, such as `awsElasticBlockStore` or `nfs`.
    InTree(Text),
    /// A source that this version does not know.
    Unknown,
}

impl VolumeSource {
    /// The CSI driver, if it is a CSI volume.
    pub fn driver(&self) -> Option<&Text> {
        match self {
            Self::Csi { driver, .. } => Some(driver),
            Self::HostPath(_) | Self::Local(_) | Self::InTree(_) | Self::Unknown => None,
        }
    }
}

/// The secret that csi-provisioner uses for `DeleteVolume`; both empty means that none is needed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DeletionSecret {
    /// The secret's namespace.
    pub namespace: Text,
    /// The secret's name.
    pub name: Text,
}

/// `spec.nodeAffinity.required`: the terms are alternatives.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NodeAffinity {
    /// `nodeSelectorTerms`.
    pub terms: Box<[NodeTerm]>,
}

/// One term; all its requirements must hold. A term without requirements matches no node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NodeTerm {
    /// `matchExpressions`, about labels.
    pub labels: Box<[NodeRequirement]>,
    /// `matchFields`, in practice `metadata.name`.
    pub fields: Box<[NodeRequirement]>,
}

/// One requirement of a term.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NodeRequirement {
    /// The label or field.
    pub key: Text,
    /// `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt` or `Lt`, as written.
    pub operator: Text,
    /// The values.
    pub values: Box<[Text]>,
}
