//! Identity of objects: kinds that the tool reads or asks about (API group, names, scope), keys (kind,
//! namespace, name), references with uid, and uids in sixteen bytes.

use std::fmt;

use super::{NamedRow, Text};

/// The namespace and name of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClaimKey {
    /// The claim's namespace.
    pub namespace: Text,
    /// The claim's name.
    pub name: Box<str>,
}

impl fmt::Display for ClaimKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// The kind, namespace and name of an object. A name can be used again, a uid cannot.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// The kind of the object.
    pub kind: Kind,
    /// The namespace of the object, `None` for cluster-wide kinds.
    pub namespace: Option<Text>,
    /// The name of the object.
    pub name: Box<str>,
}

impl ObjectKey {
    /// Makes the key of an object without a namespace.
    pub fn cluster_wide(kind: Kind, name: &str) -> Self {
        Self { kind, namespace: None, name: name.into() }
    }

    /// Makes the key of an object; the namespace is ignored for cluster-wide kinds.
    pub fn named(kind: Kind, namespace: &str, name: &str) -> Self {
        let namespace = kind.is_namespaced().then(|| namespace.into());
        Self { kind, namespace, name: name.into() }
    }

    /// Makes the key of a claim.
    pub fn claim(key: &ClaimKey) -> Self {
        Self {
            kind: Kind::PersistentVolumeClaim,
            namespace: Some(Text::clone(&key.namespace)),
            name: key.name.clone(),
        }
    }

    /// Returns the key as that of a claim, if it is one.
    pub fn as_claim(&self) -> Option<ClaimKey> {
        if self.kind != Kind::PersistentVolumeClaim {
            return None;
        }
        Some(ClaimKey { namespace: self.namespace.clone()?, name: self.name.clone() })
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/", self.kind.short())?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}

/// A reference to an object, as reports print it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectRef {
    /// Kind, namespace and name.
    pub key: ObjectKey,
    /// The uid of the object, if that is known.
    pub uid: Option<Uid>,
}

impl ObjectRef {
    /// Returns a reference to the object of a row.
    pub(super) fn of(row: &impl NamedRow, uid: Option<&Uid>) -> Self {
        Self { key: row.object_key(), uid: uid.cloned() }
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.key.fmt(f)
    }
}

/// Whether a namespace could have this name (RFC 1123, `IsDNS1123Label`).
pub(crate) fn is_namespace_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_bare = !text.starts_with('-') && !text.ends_with('-');
    !text.is_empty() && text.len() <= 63 && text.chars().all(plain) && is_bare
}

/// Whether the API server could have accepted a name of most kinds (RFC 1123, `IsDNS1123Subdomain`).
pub(crate) fn is_object_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    !name.is_empty() && name.len() <= 253 && name.chars().all(plain)
}

/// An API group, and the version in which it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiGroup {
    /// The group's name, empty for the core group.
    pub name: &'static str,
    /// The preferred version. Custom resources may be served under another: discovery decides.
    pub version: &'static str,
}

const CORE: ApiGroup = ApiGroup { name: "", version: "v1" };
const APPS: ApiGroup = ApiGroup { name: "apps", version: "v1" };
const BATCH: ApiGroup = ApiGroup { name: "batch", version: "v1" };
const AUTOSCALING: ApiGroup = ApiGroup { name: "autoscaling", version: "v2" };
const STORAGE: ApiGroup = ApiGroup { name: "storage.k8s.io", version: "v1" };
const COORDINATION: ApiGroup = ApiGroup { name: "coordination.k8s.io", version: "v1" };
const SNAPSHOT: ApiGroup = ApiGroup { name: "snapshot.storage.k8s.io", version: "v1" };
const GROUP_SNAPSHOT: ApiGroup =
    ApiGroup { name: "groupsnapshot.storage.k8s.io", version: "v1beta1" };
const META: ApiGroup = ApiGroup { name: "meta.k8s.io", version: "v1" };
const ADMISSION: ApiGroup = ApiGroup { name: "admissionregistration.k8s.io", version: "v1" };
const TOOL: ApiGroup = ApiGroup { name: "storage.kubectl.dev", version: "v1alpha1" };
const LONGHORN: ApiGroup = ApiGroup { name: "longhorn.io", version: "v1beta2" };
const OPENEBS_LVM: ApiGroup = ApiGroup { name: "local.openebs.io", version: "v1alpha1" };
const OPENEBS_ZFS: ApiGroup = ApiGroup { name: "zfs.openebs.io", version: "v1" };
const TOPOLVM: ApiGroup = ApiGroup { name: "topolvm.io", version: "v1" };
const LEGACY_TOPOLVM: ApiGroup = ApiGroup { name: "topolvm.cybozu.com", version: "v1" };
const DIRECTPV: ApiGroup = ApiGroup { name: "directpv.min.io", version: "v1beta1" };
const TRIDENT: ApiGroup = ApiGroup { name: "trident.netapp.io", version: "v1" };
const ARGO: ApiGroup = ApiGroup { name: "argoproj.io", version: "v1alpha1" };
const KRUISE: ApiGroup = ApiGroup { name: "apps.kruise.io", version: "v1alpha1" };
const AUTHORIZATION: ApiGroup = ApiGroup { name: "authorization.k8s.io", version: "v1" };

/// The names of a kind in the API.
struct KindNames {
    kind: &'static str,
    plural: &'static str,
    short: &'static str,
    group: ApiGroup,
    namespaced: bool,
}

/// Declares [`Kind`] from one line for each kind: its API kind, its resource, the short name that
/// kubectl users type, its group and its scope.
macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident: $kind:literal, $plural:literal, $short:literal, $group:ident, $scope:ident;)+) => {
        /// A kind of object.
        ///
        /// The variants are listed in the order in which reports name them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Kind {
            $($(#[$doc])* $name,)+
        }

        impl Kind {
            /// All kinds, in the order of reports.
            pub const ALL: [Self; [$($short),+].len()] = [$(Self::$name),+];

            const fn names(self) -> KindNames {
                match self {
                    $(Self::$name => KindNames {
                        kind: $kind,
                        plural: $plural,
                        short: $short,
                        group: $group,
                        namespaced: kinds!($scope),
                    },)+
                }
            }
        }
    };
    (namespaced) => { true };
    (cluster_wide) => { false };
}

kinds! {
    PersistentVolume: "PersistentVolume", "persistentvolumes", "pv", CORE, cluster_wide;
    PersistentVolumeClaim: "PersistentVolumeClaim", "persistentvolumeclaims", "pvc", CORE, namespaced;
    Pod: "Pod", "pods", "po", CORE, namespaced;
    Node: "Node", "nodes", "no", CORE, cluster_wide;
    Namespace: "Namespace", "namespaces", "ns", CORE, cluster_wide;
    StorageClass: "StorageClass", "storageclasses", "sc", STORAGE, cluster_wide;
    CsiDriver: "CSIDriver", "csidrivers", "csidriver", STORAGE, cluster_wide;
    CsiNode: "CSINode", "csinodes", "csinode", STORAGE, cluster_wide;
    VolumeAttachment: "VolumeAttachment", "volumeattachments", "volumeattachment", STORAGE, cluster_wide;
    StatefulSet: "StatefulSet", "statefulsets", "sts", APPS, namespaced;
    Deployment: "Deployment", "deployments", "deploy", APPS, namespaced;
    ReplicaSet: "ReplicaSet", "replicasets", "rs", APPS, namespaced;
    DaemonSet: "DaemonSet", "daemonsets", "ds", APPS, namespaced;
    ReplicationController: "ReplicationController", "replicationcontrollers", "rc", CORE, namespaced;
    Job: "Job", "jobs", "job", BATCH, namespaced;
    CronJob: "CronJob", "cronjobs", "cj", BATCH, namespaced;
    HorizontalPodAutoscaler: "HorizontalPodAutoscaler", "horizontalpodautoscalers", "hpa", AUTOSCALING, namespaced;
    Lease: "Lease", "leases", "lease", COORDINATION, namespaced;
    Event: "Event", "events", "ev", CORE, namespaced;
    VolumeSnapshot: "VolumeSnapshot", "volumesnapshots", "vs", SNAPSHOT, namespaced;
    VolumeSnapshotContent: "VolumeSnapshotContent", "volumesnapshotcontents", "vsc", SNAPSHOT, cluster_wide;
    VolumeSnapshotClass: "VolumeSnapshotClass", "volumesnapshotclasses", "vsclass", SNAPSHOT, cluster_wide;
    VolumeGroupSnapshotContent: "VolumeGroupSnapshotContent", "volumegroupsnapshotcontents", "vgsc", GROUP_SNAPSHOT, cluster_wide;
    VolumeAttributesClass: "VolumeAttributesClass", "volumeattributesclasses", "vac", STORAGE, cluster_wide;
    /// Kind of the guard's policies.
    ValidatingAdmissionPolicy: "ValidatingAdmissionPolicy", "validatingadmissionpolicies", "validatingadmissionpolicy", ADMISSION, cluster_wide;
    /// Kind of the guard's bindings.
    ValidatingAdmissionPolicyBinding: "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", "validatingadmissionpolicybinding", ADMISSION, cluster_wide;
    /// Kind that is never listed; asked about by name, and only for its metadata, never its contents.
    Secret: "Secret", "secrets", "secret", CORE, namespaced;
    /// Kind that is never listed with the others; in some of its objects this tool records what it announces.
    ConfigMap: "ConfigMap", "configmaps", "cm", CORE, namespaced;
    /// Kind that is never listed; requested for owners of any kind.
    PartialObjectMetadata: "PartialObjectMetadata", "partialobjectmetadata", "metadata", META, cluster_wide;
    /// Kind of a review, not of an object: what a `ServiceAccount` may do.
    SubjectAccessReview: "SubjectAccessReview", "subjectaccessreviews", "sar", AUTHORIZATION, cluster_wide;
    /// Kind of a disk at its provider, which no API server has: its name is the handle.
    BackendVolume: "BackendVolume", "backendvolumes", "disk", TOOL, cluster_wide;
    /// Kind of the disks of Longhorn. Its plural is a common word: it and the following have no short name but the whole.
    LonghornVolume: "Volume", "volumes", "volumes.longhorn.io", LONGHORN, namespaced;
    /// Kind of the disks of OpenEBS LVM.
    LvmVolume: "LVMVolume", "lvmvolumes", "lvmvolumes.local.openebs.io", OPENEBS_LVM, namespaced;
    /// Kind of the disks of OpenEBS ZFS.
    ZfsVolume: "ZFSVolume", "zfsvolumes", "zfsvolumes.zfs.openebs.io", OPENEBS_ZFS, namespaced;
    /// Kind of the disks of TopoLVM.
    TopoLvmVolume: "LogicalVolume", "logicalvolumes", "logicalvolumes.topolvm.io", TOPOLVM, cluster_wide;
    /// Kind of the disks of TopoLVM under its first name.
    LegacyTopoLvmVolume: "LogicalVolume", "logicalvolumes", "logicalvolumes.topolvm.cybozu.com", LEGACY_TOPOLVM, cluster_wide;
    /// Kind of the disks of DirectPV.
    DirectPvVolume: "DirectPVVolume", "directpvvolumes", "directpvvolumes.directpv.min.io", DIRECTPV, cluster_wide;
    /// Kind of the disks of Trident.
    TridentVolume: "TridentVolume", "tridentvolumes", "tridentvolumes.trident.netapp.io", TRIDENT, namespaced;
    /// Kind of the rollouts of Argo. Like the next one, it is listed with the other custom resources that use claims.
    Rollout: "Rollout", "rollouts", "rollout", ARGO, namespaced;
    /// Kind of the clone sets of `OpenKruise`.
    CloneSet: "CloneSet", "clonesets", "cloneset", KRUISE, namespaced;
}

impl Kind {
    /// Returns the kind with this API kind name in this group.
    pub fn parse(group: &str, kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| {
            let names = known.names();
            names.kind == kind && names.group.name == group
        })
    }

    /// Returns the kind of this plural, singular or short name, in any case, with or without its
    /// group.
    pub fn parse_resource(text: &str) -> Option<Self> {
        let text = text.to_ascii_lowercase();
        let (resource, group) =
            text.split_once('.').map_or((text.as_str(), None), |(r, g)| (r, Some(g)));
        Self::ALL.into_iter().find(|known| {
            let names = known.names();
            (names.plural == resource
                || names.kind.eq_ignore_ascii_case(resource)
                || names.short == resource)
                && group.map_or(!known.is_inventory(), |group| group == names.group.name)
        })
    }

    /// Returns the API kind, as in `kind: PersistentVolume`.
    pub const fn name(self) -> &'static str {
        self.names().kind
    }

    /// Returns the resource in request paths and RBAC rules.
    pub const fn plural(self) -> &'static str {
        self.names().plural
    }

    /// Returns the resource as messages and dumps name it: with its group where its plural alone may be another's.
    pub const fn resource(self) -> &'static str {
        if self.is_inventory() { self.short() } else { self.plural() }
    }

    /// Returns the name that kubectl users type.
    pub const fn short(self) -> &'static str {
        self.names().short
    }

    /// Returns the API group and version.
    pub const fn group(self) -> ApiGroup {
        self.names().group
    }

    /// Returns group and version in one text, such as `v1` or `apps/v1`.
    pub fn api_version(self) -> String {
        self.api_version_of(self.group().version)
    }

    /// Returns the group with another version in one text.
    pub fn api_version_of(self, version: &str) -> String {
        match self.group().name {
            "" => version.to_owned(),
            group => format!("{group}/{version}"),
        }
    }

    /// Whether objects of the kind live in namespaces.
    pub const fn is_namespaced(self) -> bool {
        self.names().namespaced
    }

    /// Whether a cluster may not serve the kind: custom resources, and kinds of recent versions.
    pub const fn is_optional(self) -> bool {
        matches!(
            self,
            Self::VolumeSnapshot
                | Self::VolumeSnapshotContent
                | Self::VolumeSnapshotClass
                | Self::VolumeGroupSnapshotContent
                | Self::VolumeAttributesClass
                | Self::ValidatingAdmissionPolicy
                | Self::ValidatingAdmissionPolicyBinding
        ) || self.is_inventory()
            || self.is_custom_workload()
    }

    /// Whether objects of the kind are the disks of a storage system that keeps its inventory in the cluster. Only an
    /// audit and a dump read them; who may not misses nothing else.
    pub const fn is_inventory(self) -> bool {
        matches!(
            self,
            Self::LonghornVolume
                | Self::LvmVolume
                | Self::ZfsVolume
                | Self::TopoLvmVolume
                | Self::LegacyTopoLvmVolume
                | Self::DirectPvVolume
                | Self::TridentVolume
        )
    }

    /// Returns the versions whose fields are known, of a kind that may be served in others.
    pub const fn versions(self) -> &'static [&'static str] {
        match self {
            Self::VolumeGroupSnapshotContent => &["v1", "v1beta2", "v1beta1"],
            Self::VolumeAttributesClass => &["v1", "v1beta1", "v1alpha1"],
            Self::VolumeSnapshot
            | Self::VolumeSnapshotContent
            | Self::VolumeSnapshotClass
            | Self::ValidatingAdmissionPolicy
            | Self::ValidatingAdmissionPolicyBinding => &["v1", "v1beta1"],
            Self::LonghornVolume => &["v1beta2", "v1beta1"],
            Self::LvmVolume | Self::Rollout | Self::CloneSet => &["v1alpha1"],
            Self::ZfsVolume => &["v1", "v1alpha1"],
            Self::TopoLvmVolume | Self::LegacyTopoLvmVolume | Self::TridentVolume => &["v1"],
            Self::DirectPvVolume => &["v1beta1"],
            _ => &[],
        }
    }

    /// Whether only rules about the guard look at objects of the kind: a user who may not list them misses nothing
    /// else, and is told of a gap only where one of these rules has to look.
    pub const fn is_of_guard(self) -> bool {
        matches!(
            self,
            Self::Namespace
                | Self::ValidatingAdmissionPolicy
                | Self::ValidatingAdmissionPolicyBinding
        )
    }

    /// The kinds with pod templates.
    pub const WORKLOADS: [Self; 7] = [
        Self::StatefulSet,
        Self::Deployment,
        Self::ReplicaSet,
        Self::DaemonSet,
        Self::ReplicationController,
        Self::Job,
        Self::CronJob,
    ];

    /// Whether the kind is a custom resource that has a number of replicas, as a workload has.
    pub const fn is_custom_workload(self) -> bool {
        matches!(self, Self::Rollout | Self::CloneSet)
    }

    /// Whether objects of the kind are listed, rather than asked about one by one.
    pub const fn is_listed(self) -> bool {
        !matches!(
            self,
            Self::Secret
                | Self::ConfigMap
                | Self::PartialObjectMetadata
                | Self::SubjectAccessReview
                | Self::BackendVolume
        ) && !self.is_custom_workload()
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Uid of an object: nearly always a UUID, but the API only promises a string.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Uid {
    /// A UUID in its canonical, lower-case, hyphenated form.
    Uuid([u8; 16]),
    /// Any other text, as received.
    Other(Box<str>),
}

impl Uid {
    /// Parses a uid; `None` when the text is empty, which means that there is none.
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        if let Ok(uuid) = uuid::Uuid::try_parse(text) {
            // Only the canonical form survives the way there and back.
            let mut canonical = [0; uuid::fmt::Hyphenated::LENGTH];
            if uuid.hyphenated().encode_lower(&mut canonical) == text {
                return Some(Self::Uuid(uuid.into_bytes()));
            }
        }
        Some(Self::Other(text.into()))
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uuid(bytes) => uuid::Uuid::from_bytes(*bytes).hyphenated().fmt(f),
            Self::Other(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_kind() {
        for kind in Kind::ALL {
            assert_eq!(Kind::parse(kind.group().name, kind.name()), Some(kind));
            let names = match kind.is_inventory() {
                true => [kind.resource(), kind.short(), kind.resource()],
                false => [kind.plural(), kind.short(), kind.name()],
            };
            for name in names {
                assert_eq!(Kind::parse_resource(name), Some(kind), "{name}");
            }
        }
        assert_eq!(Kind::parse_resource("csinodes.storage.k8s.io"), Some(Kind::CsiNode));
        assert_eq!(Kind::parse_resource("pods.apps"), None);
        assert_eq!(Kind::parse("apps", "Pod"), None);
    }

    #[test]
    fn every_uid_prints_as_it_was_read() {
        for text in [
            "0d9e5b6c-6d0b-4f0e-9d6c-0c6b6c1f9a11",
            "0D9E5B6C-6D0B-4F0E-9D6C-0C6B6C1F9A11",
            "0d9e5b6c6d0b4f0e9d6c0c6b6c1f9a11",
            "not-a-uuid",
        ] {
            assert_eq!(Uid::parse(text).map(|uid| uid.to_string()).as_deref(), Some(text));
        }
        assert_eq!(Uid::parse(""), None);
    }
}
