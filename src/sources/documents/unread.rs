//! Tables of the large members that no row needs, by kind.

use crate::model::Kind;

/// What becomes of a member of an object.
#[derive(Debug, Clone, Copy)]
pub(super) enum MemberUse {
    /// It is not read.
    Unread,
    /// It is an object, of which some members are not read.
    Object(MemberUses),
    /// It is a list of such objects.
    Each(MemberUses),
    /// It is read.
    Read,
}

/// The members of an object that are not read, or not in full.
pub(super) type MemberUses = &'static [(&'static str, MemberUse)];

use MemberUse::{Each, Object, Unread};

impl MemberUse {
    /// Returns what becomes of a member.
    pub(super) fn of(key: &[u8], parts: MemberUses) -> Self {
        let known = parts.iter().find(|(name, _)| name.as_bytes() == key);
        known.map_or(Self::Read, |(_, part)| *part)
    }

    pub(super) fn is_unread(self) -> bool {
        matches!(self, Self::Unread)
    }

    /// Returns the members of an object of a kind; none for one that is read as it is.
    pub(super) fn of_kind(kind: Kind) -> MemberUses {
        match kind {
            Kind::Pod => POD,
            Kind::Node => NODE,
            Kind::Deployment | Kind::ReplicaSet | Kind::DaemonSet | Kind::ReplicationController => {
                REPLICATED
            }
            Kind::StatefulSet => STATEFUL_SET,
            Kind::Job => JOB,
            Kind::CronJob => CRON_JOB,
            Kind::HorizontalPodAutoscaler => &[("metadata", Object(BRIEF_META))],
            Kind::Lease => &[("metadata", Object(&[("managedFields", Unread)]))],
            Kind::PersistentVolume => VOLUME,
            Kind::PersistentVolumeClaim => CLAIM,
            Kind::VolumeAttachment
            | Kind::StorageClass
            | Kind::CsiDriver
            | Kind::CsiNode
            | Kind::Event
            | Kind::VolumeAttributesClass
            | Kind::VolumeSnapshot
            | Kind::VolumeSnapshotContent
            | Kind::VolumeGroupSnapshotContent
            | Kind::Namespace
            | Kind::Secret
            | Kind::PartialObjectMetadata
            | Kind::SubjectAccessReview => &[],
        }
    }
}

const POD: MemberUses = &[
    ("metadata", Object(&[("annotations", Unread), ("managedFields", Unread)])),
    ("spec", Object(POD_SPEC)),
    (
        "status",
        Object(&[
            ("containerStatuses", Unread),
            ("initContainerStatuses", Unread),
            ("ephemeralContainerStatuses", Unread),
            ("hostIPs", Unread),
            ("podIPs", Unread),
        ]),
    ),
];

const POD_SPEC: MemberUses = &[
    ("affinity", Unread),
    ("containers", Each(CONTAINER)),
    ("ephemeralContainers", Unread),
    ("imagePullSecrets", Unread),
    ("initContainers", Each(CONTAINER)),
    ("nodeSelector", Unread),
    ("securityContext", Unread),
    ("tolerations", Unread),
    ("topologySpreadConstraints", Unread),
    (
        "volumes",
        Each(&[
            ("configMap", Unread),
            ("downwardAPI", Unread),
            ("emptyDir", Unread),
            ("projected", Unread),
            ("secret", Unread),
        ]),
    ),
];

const CONTAINER: MemberUses = &[
    ("env", Unread),
    ("envFrom", Unread),
    ("lifecycle", Unread),
    ("livenessProbe", Unread),
    ("ports", Unread),
    ("readinessProbe", Unread),
    ("resources", Unread),
    ("securityContext", Unread),
    ("startupProbe", Unread),
    ("volumeMounts", Unread),
];

/// Of workloads other than sets.
const BRIEF_META: MemberUses =
    &[("annotations", Unread), ("labels", Unread), ("managedFields", Unread)];

const TEMPLATE: MemberUse = Object(&[("metadata", Unread), ("spec", Object(POD_SPEC))]);

const REPLICATED: MemberUses = &[
    ("metadata", Object(BRIEF_META)),
    ("spec", Object(&[("selector", Unread), ("strategy", Unread), ("template", TEMPLATE)])),
    ("status", Unread),
];

const STATEFUL_SET: MemberUses = &[("spec", Object(&[("template", TEMPLATE)]))];

const JOB_SPEC: MemberUse = Object(&[("selector", Unread), ("template", TEMPLATE)]);

const JOB: MemberUses = &[("metadata", Object(BRIEF_META)), ("spec", JOB_SPEC)];

const CRON_JOB: MemberUses = &[
    ("metadata", Object(BRIEF_META)),
    ("spec", Object(&[("jobTemplate", Object(&[("metadata", Unread), ("spec", JOB_SPEC)]))])),
];

const NODE: MemberUses = &[
    ("metadata", Object(&[("managedFields", Unread)])),
    (
        "status",
        Object(&[
            ("addresses", Unread),
            ("allocatable", Unread),
            ("capacity", Unread),
            ("images", Unread),
            ("nodeInfo", Unread),
        ]),
    ),
];

/// Of managed fields it matters who manages some: not the labels, annotations and other members
/// beside them.
const VOLUME: MemberUses = &[(
    "metadata",
    Object(&[(
        "managedFields",
        Each(&[(
            "fieldsV1",
            Object(&[
                ("f:metadata", Object(&[("f:annotations", Unread), ("f:labels", Unread)])),
                (
                    "f:spec",
                    Object(&[
                        ("f:capacity", Unread),
                        ("f:claimRef", Unread),
                        ("f:csi", Unread),
                        ("f:nodeAffinity", Unread),
                    ]),
                ),
            ]),
        )]),
    )]),
)];

const CLAIM: MemberUses = &[(
    "metadata",
    Object(&[(
        "managedFields",
        Each(&[(
            "fieldsV1",
            Object(&[
                ("f:metadata", Object(&[("f:annotations", Unread), ("f:labels", Unread)])),
                ("f:spec", Object(&[("f:resources", Unread)])),
                ("f:status", Object(&[("f:capacity", Unread)])),
            ]),
        )]),
    )]),
)];
