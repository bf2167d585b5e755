//! Persistent volumes, how they are mounted (access modes and volume mode), and backend volumes as
//! objects reference them: driver, handle and attributes, with in-tree sources translated to their CSI
//! driver.

use std::{fmt, sync::Arc};

use super::{Bytes, ClaimKey, ControllerRole, Managed, Metadata, ObjectRef, Text, Time, Uid};

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
    /// The `volumeAttributes` that decide what the volume references, where its handle alone does not.
    pub attributes: Attributes,
    /// `spec.accessModes` and `spec.volumeMode`.
    pub access: Access,
    /// Whether the volume is a file system that several nodes may mount at once: `spec.accessModes` has `ReadWriteMany`
    /// or `ReadOnlyMany`, and `spec.volumeMode` is not `Block`.
    pub is_shared: bool,
    /// Whether `spec.csi.fsType` is `xfs`.
    pub is_xfs: bool,
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
    /// Returns the name of the volume.
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    /// Whether the volume was dynamically provisioned (annotation `provisioned-by` present).
    pub fn is_dynamic(&self) -> bool {
        self.provisioned_by.is_some()
    }

    /// Returns every driver or provisioner that the volume references, each once: the CSI driver, the provisioner, and
    /// the driver that this was migrated to. Facts decide which of them reclaims it.
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

    /// Whether the volume shows the same of its drivers as before a change: facts about them are not derived again
    /// because of phases, labels or what others write.
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

    /// Returns the entries of `managedFields` that the controllers of the volume's driver have written, each with its
    /// role.
    pub fn writes_of_drivers(&self) -> impl Iterator<Item = (ControllerRole, Managed<'_>)> {
        self.metadata.managers.iter().flat_map(|it| {
            let is_by = move |role: &ControllerRole| it.manager.contains(role.field_manager());
            ControllerRole::OF_DRIVERS.into_iter().filter(is_by).map(move |role| (role, it))
        })
    }

    /// Returns the reference that reports print.
    pub fn object(&self) -> ObjectRef {
        ObjectRef::of(self, self.metadata.uid.as_ref())
    }
}

/// `status.phase` of a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// The volume was just created; also an empty phase.
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
    /// Returns the CSI driver, if the source is a CSI volume.
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

/// `spec.accessModes` and `spec.volumeMode` of a volume or a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Access {
    /// `spec.accessModes`.
    pub modes: AccessModes,
    /// Whether `spec.volumeMode` is `Block`.
    pub is_block: bool,
}

impl Access {
    /// Returns `spec.volumeMode`.
    pub const fn volume_mode(self) -> &'static str {
        if self.is_block { "Block" } else { "Filesystem" }
    }
}

/// Access modes, in a byte: there may be very many rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AccessModes(u8);

/// The modes that this version knows, in the order in which kubectl shows them.
const MODES: [&str; 4] = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"];
/// A mode that this version does not know.
const UNKNOWN: u8 = 1 << 7;

impl AccessModes {
    /// Reads the modes in a list.
    pub fn of<T: AsRef<str>>(modes: &[T]) -> Self {
        let bit = |mode: &T| {
            let known = MODES.iter().position(|it| *it == mode.as_ref());
            known.map_or(UNKNOWN, |index| 1 << index)
        };
        Self(modes.iter().map(bit).fold(0, |all, one| all | one))
    }

    /// Returns the names of the modes that this version knows.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        MODES
            .into_iter()
            .enumerate()
            .filter(move |(index, _)| self.0 & 1 << index != 0)
            .map(|it| it.1)
    }

    /// Whether these modes contain all of others. Of modes that this version does not know that is unknown, and no.
    pub const fn contain(self, others: Self) -> bool {
        others.0 & !self.0 == 0 && others.0 & UNKNOWN == 0
    }

    /// Whether some mode is one that this version does not know.
    pub const fn has_unknown(self) -> bool {
        self.0 & UNKNOWN != 0
    }
}

impl fmt::Display for AccessModes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unknown = self.has_unknown().then_some("an unknown mode");
        let all: Vec<_> = self.names().chain(unknown).collect();
        f.write_str(if all.is_empty() { "none" } else { "" })?;
        f.write_str(&all.join(", "))
    }
}

/// Key of a backend volume, as its driver is told of it: what `DeleteVolume` gets.
///
/// In-tree sources are translated to the driver they migrate to, as csi-translation-lib does
/// (semantics#backend-volume). Sources other than CSI carry the kind of their source as driver, and
/// everything that makes the path unique, such as the node, in the handle.
///
/// It identifies no storage: two keys may name one disk, and one key a part of what another names.
/// What it names is a [`Place`](crate::drivers::Place).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BackendKey {
    /// The CSI driver, or the kind of source.
    pub driver: Text,
    /// The volume handle.
    pub handle: Text,
}

impl fmt::Display for BackendKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.driver, self.handle)
    }
}

/// The wanted entries of `volumeAttributes`, and the family as which the driver was recognised where
/// its name does not tell: few volumes have any.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Attributes(Option<Box<AttributePairs>>);

/// Attributes and family, boxed twice, so that a row without any holds one word.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct AttributePairs(Box<[(Text, Text)]>, Option<&'static str>);

impl Attributes {
    /// Returns the value of a key, whatever its case: some drivers ignore it.
    pub fn get(&self, key: &str) -> Option<&str> {
        let mut pairs = self.iter();
        pairs.find(|(known, _)| known.eq_ignore_ascii_case(key)).map(|(_, value)| value)
    }

    /// Returns all attributes.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.0.as_ref().map_or(&[][..], |pairs| &pairs.0);
        pairs.iter().map(|(key, value)| (&**key, &**value))
    }

    /// Whether there are no attributes.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the attributes with the wanted keys.
    #[must_use]
    pub fn filtered(self, wanted: impl Fn(&str) -> bool) -> Self {
        let family = self.family();
        let pairs = self.0.into_iter().flat_map(|pairs| pairs.0);
        pairs.filter(|(key, _)| wanted(key)).collect::<Self>().with_family(family)
    }

    /// Returns the id of the family as which the driver was recognised by what runs it.
    pub fn family(&self) -> Option<&'static str> {
        self.0.as_ref()?.1
    }

    /// Returns the attributes for a driver that was recognised as this family.
    #[must_use]
    pub fn with_family(self, family: Option<&'static str>) -> Self {
        let pairs = self.0.map(|pairs| pairs.0).unwrap_or_default();
        let some = !pairs.is_empty() || family.is_some();
        Self(some.then(|| Box::new(AttributePairs(pairs, family))))
    }
}

impl FromIterator<(Text, Text)> for Attributes {
    fn from_iter<I: IntoIterator<Item = (Text, Text)>>(pairs: I) -> Self {
        let pairs: Box<[_]> = pairs.into_iter().collect();
        Self((!pairs.is_empty()).then(|| Box::new(AttributePairs(pairs, None))))
    }
}

/// Returns the CSI driver that an in-tree provisioner was migrated to
/// (csi-translation-lib 0.36).
pub fn migrated_driver(in_tree: &str) -> Option<&'static str> {
    Some(match in_tree {
        "kubernetes.io/gce-pd" => "pd.csi.storage.gke.io",
        "kubernetes.io/aws-ebs" => "ebs.csi.aws.com",
        "kubernetes.io/cinder" => "cinder.csi.openstack.org",
        "kubernetes.io/azure-disk" => "disk.csi.azure.com",
        "kubernetes.io/azure-file" => "file.csi.azure.com",
        "kubernetes.io/vsphere-volume" => "csi.vsphere.vmware.com",
        "kubernetes.io/portworx-volume" => "pxd.portworx.com",
        _ => return None,
    })
}

/// Returns the driver that provisions under a name: the name itself, or the CSI driver to which the
/// in-tree plugin of that name was migrated.
pub fn provisioning_driver(named: &Text) -> Text {
    migrated_driver(named).map_or_else(|| Text::clone(named), Text::from)
}

#[cfg(test)]
impl Volume {
    /// Returns a volume that is Bound, with nothing else to be said of it.
    pub(crate) fn sample() -> Self {
        Self {
            metadata: Metadata::default(),
            phase: Phase::Bound,
            message: None,
            reason: None,
            last_phase_transition: None,
            reclaim_policy: ReclaimPolicy::Retain,
            claim_ref: None,
            source: VolumeSource::Unknown,
            backend: None,
            attributes: Attributes::default(),
            access: Access::default(),
            is_shared: false,
            is_xfs: false,
            class: None,
            attributes_class: None,
            capacity: None,
            node_affinity: None,
            provisioned_by: None,
            migrated_to: None,
            bound_by_controller: true,
            deletion_secret: None,
            backend_state: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_compared_as_sets() {
        let once = AccessModes::of(&["ReadWriteOnce"]);
        let both = AccessModes::of(&["ReadWriteMany", "ReadWriteOnce"]);
        let odd = AccessModes::of(&["ReadWriteOnce", "ReadWriteTwice"]);
        assert!(both.contain(once) && once.contain(once) && !once.contain(both));
        assert!(!odd.contain(odd) && odd.contain(once) && !both.contain(odd));
        assert_eq!(both.to_string(), "ReadWriteOnce, ReadWriteMany");
        assert_eq!(odd.to_string(), "ReadWriteOnce, an unknown mode");
        assert_eq!(AccessModes::default().to_string(), "none");
    }
}
