//! The kinds of objects that an audit reads or asks about.

use std::fmt;

/// A kind of object.
///
/// The variants are listed in the order in which reports name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    Node,
    Namespace,
    StorageClass,
    CsiDriver,
    CsiNode,
    VolumeAttachment,
    StatefulSet,
    Deployment,
    ReplicaSet,
    DaemonSet,
    ReplicationController,
    Job,
    CronJob,
    HorizontalPodAutoscaler,
    Lease,
    Event,
    VolumeSnapshot,
    VolumeSnapshotContent,
    VolumeGroupSnapshotContent,
    VolumeAttributesClass,
    /// Never listed; only asked about by name, as metadata, never its contents.
    Secret,
    /// Never listed; what an owner reference names is asked about, whatever its kind.
    PartialObjectMetadata,
    /// A review, not an object: what a `ServiceAccount` may do.
    SubjectAccessReview,
}

/// An API group with the version that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// The group's name, empty for the core group.
    pub name: &'static str,
    /// The preferred version. Custom resources may be served under another: discovery decides.
    pub version: &'static str,
}

struct Names {
    kind: &'static str,
    plural: &'static str,
    short: &'static str,
    group: Group,
    namespaced: bool,
}

impl Kind {
    /// All kinds, in the order of reports.
    pub const ALL: [Self; 26] = [
        Self::PersistentVolume,
        Self::PersistentVolumeClaim,
        Self::Pod,
        Self::Node,
        Self::Namespace,
        Self::StorageClass,
        Self::CsiDriver,
        Self::CsiNode,
        Self::VolumeAttachment,
        Self::StatefulSet,
        Self::Deployment,
        Self::ReplicaSet,
        Self::DaemonSet,
        Self::ReplicationController,
        Self::Job,
        Self::CronJob,
        Self::HorizontalPodAutoscaler,
        Self::Lease,
        Self::Event,
        Self::VolumeSnapshot,
        Self::VolumeSnapshotContent,
        Self::VolumeGroupSnapshotContent,
        Self::VolumeAttributesClass,
        Self::Secret,
        Self::PartialObjectMetadata,
        Self::SubjectAccessReview,
    ];

    /// Returns the kind with this API kind name in this group.
    pub fn parse(group: &str, kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| {
            let names = known.names();
            names.kind == kind && names.group.name == group
        })
    }

    /// Returns the kind which a user means: plural, singular or short name, in any case,
    /// with or without its group.
    pub fn parse_resource(text: &str) -> Option<Self> {
        let text = text.to_ascii_lowercase();
        let (resource, group) =
            text.split_once('.').map_or((text.as_str(), None), |(r, g)| (r, Some(g)));
        Self::ALL.into_iter().find(|known| {
            let names = known.names();
            (names.plural == resource
                || names.kind.eq_ignore_ascii_case(resource)
                || names.short == resource)
                && group.is_none_or(|group| group == names.group.name)
        })
    }

    /// The API kind, as in `kind: PersistentVolume`.
    pub const fn name(self) -> &'static str {
        self.names().kind
    }

    /// The resource in request paths and RBAC rules.
    pub const fn plural(self) -> &'static str {
        self.names().plural
    }

    /// The name that kubectl users type.
    pub const fn short(self) -> &'static str {
        self.names().short
    }

    /// The API group and version.
    pub const fn group(self) -> Group {
        self.names().group
    }

    /// `v1`, `apps/v1`…
    pub fn api_version(self) -> String {
        let Group { name, version } = self.group();
        if name.is_empty() { version.to_owned() } else { format!("{name}/{version}") }
    }

    /// Whether its objects live in namespaces.
    pub const fn is_namespaced(self) -> bool {
        self.names().namespaced
    }

    /// Whether a cluster may well not serve it: custom resources, and what came late.
    pub const fn is_optional(self) -> bool {
        matches!(
            self,
            Self::VolumeSnapshot
                | Self::VolumeSnapshotContent
                | Self::VolumeGroupSnapshotContent
                | Self::VolumeAttributesClass
        )
    }

    /// The kinds whose templates make pods, but for `Pod` itself.
    pub const WORKLOADS: [Self; 7] = [
        Self::StatefulSet,
        Self::Deployment,
        Self::ReplicaSet,
        Self::DaemonSet,
        Self::ReplicationController,
        Self::Job,
        Self::CronJob,
    ];

    /// Whether its objects are listed, rather than asked about one by one.
    pub const fn is_listed(self) -> bool {
        !matches!(self, Self::Secret | Self::PartialObjectMetadata | Self::SubjectAccessReview)
    }

    const fn names(self) -> Names {
        const CORE: Group = Group { name: "", version: "v1" };
        const APPS: Group = Group { name: "apps", version: "v1" };
        const BATCH: Group = Group { name: "batch", version: "v1" };
        const AUTOSCALING: Group = Group { name: "autoscaling", version: "v2" };
        const STORAGE: Group = Group { name: "storage.k8s.io", version: "v1" };
        const COORDINATION: Group = Group { name: "coordination.k8s.io", version: "v1" };
        const SNAPSHOT: Group = Group { name: "snapshot.storage.k8s.io", version: "v1" };
        const GROUP_SNAPSHOT: Group =
            Group { name: "groupsnapshot.storage.k8s.io", version: "v1beta1" };
        const META: Group = Group { name: "meta.k8s.io", version: "v1" };
        const AUTHORIZATION: Group = Group { name: "authorization.k8s.io", version: "v1" };
        const fn row(
            kind: &'static str,
            plural: &'static str,
            short: &'static str,
            group: Group,
            namespaced: bool,
        ) -> Names {
            Names { kind, plural, short, group, namespaced }
        }
        match self {
            Self::PersistentVolume => {
                row("PersistentVolume", "persistentvolumes", "pv", CORE, false)
            }
            Self::PersistentVolumeClaim => {
                row("PersistentVolumeClaim", "persistentvolumeclaims", "pvc", CORE, true)
            }
            Self::Pod => row("Pod", "pods", "po", CORE, true),
            Self::Node => row("Node", "nodes", "no", CORE, false),
            Self::Namespace => row("Namespace", "namespaces", "ns", CORE, false),
            Self::StorageClass => row("StorageClass", "storageclasses", "sc", STORAGE, false),
            Self::CsiDriver => row("CSIDriver", "csidrivers", "csidriver", STORAGE, false),
            Self::CsiNode => row("CSINode", "csinodes", "csinode", STORAGE, false),
            Self::VolumeAttachment => {
                row("VolumeAttachment", "volumeattachments", "volumeattachment", STORAGE, false)
            }
            Self::StatefulSet => row("StatefulSet", "statefulsets", "sts", APPS, true),
            Self::Deployment => row("Deployment", "deployments", "deploy", APPS, true),
            Self::ReplicaSet => row("ReplicaSet", "replicasets", "rs", APPS, true),
            Self::DaemonSet => row("DaemonSet", "daemonsets", "ds", APPS, true),
            Self::ReplicationController => {
                row("ReplicationController", "replicationcontrollers", "rc", CORE, true)
            }
            Self::Job => row("Job", "jobs", "job", BATCH, true),
            Self::CronJob => row("CronJob", "cronjobs", "cj", BATCH, true),
            Self::HorizontalPodAutoscaler => {
                row("HorizontalPodAutoscaler", "horizontalpodautoscalers", "hpa", AUTOSCALING, true)
            }
            Self::Lease => row("Lease", "leases", "lease", COORDINATION, true),
            Self::Event => row("Event", "events", "ev", CORE, true),
            Self::VolumeSnapshot => row("VolumeSnapshot", "volumesnapshots", "vs", SNAPSHOT, true),
            Self::VolumeSnapshotContent => {
                row("VolumeSnapshotContent", "volumesnapshotcontents", "vsc", SNAPSHOT, false)
            }
            Self::VolumeGroupSnapshotContent => row(
                "VolumeGroupSnapshotContent",
                "volumegroupsnapshotcontents",
                "vgsc",
                GROUP_SNAPSHOT,
                false,
            ),
            Self::VolumeAttributesClass => {
                row("VolumeAttributesClass", "volumeattributesclasses", "vac", STORAGE, false)
            }
            Self::Secret => row("Secret", "secrets", "secret", CORE, true),
            Self::PartialObjectMetadata => {
                row("PartialObjectMetadata", "partialobjectmetadata", "metadata", META, false)
            }
            Self::SubjectAccessReview => {
                row("SubjectAccessReview", "subjectaccessreviews", "sar", AUTHORIZATION, false)
            }
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_kind() {
        for kind in Kind::ALL {
            assert_eq!(Kind::parse(kind.group().name, kind.name()), Some(kind));
            for name in [kind.plural(), kind.short(), kind.name()] {
                assert_eq!(Kind::parse_resource(name), Some(kind), "{name}");
            }
        }
        assert_eq!(Kind::parse_resource("csinodes.storage.k8s.io"), Some(Kind::CsiNode));
        assert_eq!(Kind::parse_resource("pods.apps"), None);
        assert_eq!(Kind::parse("apps", "Pod"), None);
    }
}
