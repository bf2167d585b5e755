//! Nodes and components of a cluster: `Node`, `Namespace`, `CSIDriver`, `CSINode`, `Lease` and `Event`.

use super::meta::ObjectReference;
use super::slim::{Timestamp, slim};
use super::{BriefMeta, Folded, Folder, ObjectMeta, SlimObject, unshared};
use crate::model;
use crate::model::{Kind, ObjectKey, Row, Uid, beginning};

/// The taint by which a cluster administrator asserts that a node is shut down and its volumes may
/// be detached.
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

slim! {
    /// A `Node`.
    pub struct Node {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ObjectMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: NodeSpec,
        /// The observed state.
        #[prost(message, required, tag = "3")]
        pub status: NodeStatus,
    }

    /// `spec` of a node.
    pub struct NodeSpec {
        /// The node's machine, as its provider names it.
        #[prost(string, tag = "3")]
        #[serde(rename = "providerID")]
        pub provider_id: String,
        /// Whether the node is cordoned.
        #[prost(bool, tag = "4")]
        pub unschedulable: bool,
        /// Taints.
        #[prost(message, repeated, tag = "5")]
        pub taints: Vec<Taint>,
    }

    /// A taint of a node.
    pub struct Taint {
        /// Key.
        #[prost(string, tag = "1")]
        pub key: String,
    }

    /// `status` of a node.
    pub struct NodeStatus {
        /// Conditions.
        #[prost(message, repeated, tag = "4")]
        pub conditions: Vec<Condition>,
        /// The volumes that the node's kubelet uses.
        #[prost(string, repeated, tag = "9")]
        pub volumes_in_use: Vec<String>,
        /// The volumes that are attached to the node.
        #[prost(message, repeated, tag = "10")]
        pub volumes_attached: Vec<AttachedVolume>,
    }

    /// A volume that is attached to a node.
    pub struct AttachedVolume {
        /// Name of the volume, such as `kubernetes.io/csi/ebs.csi.aws.com^vol-1`.
        #[prost(string, tag = "1")]
        pub name: String,
    }

    /// A condition of a node or pod.
    pub struct Condition {
        /// Type.
        #[prost(string, tag = "1")]
        pub r#type: String,
        /// `True`, `False` or `Unknown`.
        #[prost(string, tag = "2")]
        pub status: String,
    }

    /// A `Namespace`.
    pub struct Namespace {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ObjectMeta,
    }
}

/// Whether the condition `Ready` is `True`.
pub(super) fn is_ready(conditions: &[Condition]) -> bool {
    conditions.iter().any(|condition| condition.r#type == "Ready" && condition.status == "True")
}

impl SlimObject for Node {
    fn row(&self, folder: &mut Folder) -> Folded {
        let Self { metadata, spec, status } = self;
        let attached = status.volumes_attached.iter().map(|volume| &volume.name);
        let mut volumes: Vec<Box<str>> =
            status.volumes_in_use.iter().chain(attached).map(|name| name.as_str().into()).collect();
        volumes.sort_unstable();
        volumes.dedup();
        let row = model::Node {
            metadata: metadata.fold(folder),
            ready: is_ready(&status.conditions),
            unschedulable: spec.unschedulable,
            provider_id: unshared(&spec.provider_id),
            out_of_service: spec.taints.iter().any(|taint| taint.key == OUT_OF_SERVICE),
            volumes: volumes.into(),
        };
        Folded::Row(Row::Node(Box::new(row)))
    }
}

impl SlimObject for Namespace {
    fn row(&self, folder: &mut Folder) -> Folded {
        let row = model::Namespace { metadata: self.metadata.fold(folder) };
        Folded::Row(Row::Namespace(Box::new(row)))
    }
}

slim! {
    /// A `CSIDriver`.
    pub struct CsiDriver {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ObjectMeta,
        /// The properties of the driver.
        #[prost(message, required, tag = "2")]
        pub spec: CsiDriverSpec,
    }

    /// `spec` of a driver.
    pub struct CsiDriverSpec {
        /// Whether volumes have to be attached to nodes; the API server sets `true` by default.
        #[prost(bool, optional, tag = "1")]
        pub attach_required: Option<bool>,
    }

    /// A `CSINode`.
    pub struct CsiNode {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ObjectMeta,
        /// The drivers of the node.
        #[prost(message, required, tag = "2")]
        pub spec: CsiNodeSpec,
    }

    /// `spec` of a `CSINode`.
    pub struct CsiNodeSpec {
        /// The drivers that the node's kubelet has registered.
        #[prost(message, repeated, tag = "1")]
        pub drivers: Vec<CsiNodeDriver>,
    }

    /// A driver that a kubelet has registered.
    pub struct CsiNodeDriver {
        /// Name.
        #[prost(string, tag = "1")]
        pub name: String,
        /// The node, as the driver names it.
        #[prost(string, tag = "2")]
        #[serde(rename = "nodeID")]
        pub node_id: String,
    }
}

impl SlimObject for CsiDriver {
    fn row(&self, folder: &mut Folder) -> Folded {
        let row = model::CsiDriver {
            metadata: self.metadata.fold(folder),
            attach_required: self.spec.attach_required != Some(false),
        };
        Folded::Row(Row::CsiDriver(Box::new(row)))
    }
}

impl SlimObject for CsiNode {
    fn row(&self, folder: &mut Folder) -> Folded {
        let row = model::CsiNode {
            metadata: self.metadata.fold(folder),
            drivers: folder.texts(self.spec.drivers.iter().map(|driver| &driver.name)),
        };
        Folded::Row(Row::CsiNode(Box::new(row)))
    }
}

slim! {
    /// A `Lease`.
    pub struct Lease {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: ObjectMeta,
        /// The desired state.
        #[prost(message, required, tag = "2")]
        pub spec: LeaseSpec,
    }

    /// `spec` of a lease.
    pub struct LeaseSpec {
        /// The identity of the holder.
        #[prost(string, optional, tag = "1")]
        pub holder_identity: Option<String>,
        /// Number of seconds for which the lease is valid unless it is renewed.
        #[prost(int32, optional, tag = "2")]
        pub lease_duration_seconds: Option<i32>,
        /// Time of the last renewal.
        #[prost(message, required, tag = "4")]
        pub renew_time: Timestamp,
    }
}

/// The namespace of the kubelets' leases, which are renewed every few seconds and have no rows.
const NODE_LEASES: &str = "kube-node-lease";

impl SlimObject for Lease {
    fn row(&self, folder: &mut Folder) -> Folded {
        let Self { metadata, spec } = self;
        if metadata.namespace == NODE_LEASES {
            return Folded::Counted;
        }
        let row = model::Lease {
            metadata: metadata.fold(folder),
            namespace: folder.text(&metadata.namespace),
            // A holder that releases the lease leaves an empty identity.
            holder: spec.holder_identity.as_deref().and_then(unshared),
            renewed: spec.renew_time.fold_present("spec.renewTime", folder),
            // The API server accepts only positive durations.
            duration_seconds: spec
                .lease_duration_seconds
                .and_then(|seconds| u32::try_from(seconds).ok()),
            read: model::LeaseMoment::default(),
        };
        Folded::Row(Row::Lease(Box::new(row)))
    }
}

/// The reason of events about a volume that could not be attached. The message contains
/// `Multi-Attach` if it is attached to another node.
pub(super) const FAILED_ATTACH: &str = "FailedAttachVolume";
/// The reason of events about a volume that the kubelet could not mount.
pub(super) const FAILED_MOUNT: &str = "FailedMount";
/// The reason of events about a pod that fits on no node.
const FAILED_SCHEDULING: &str = "FailedScheduling";
/// The component of the events that this tool creates.
pub const OWN_COMPONENT: &str = "kubectl-storage";
/// Largest number of bytes of a message that are kept. The API for events bounds a note to 1 kB; only the older form
/// has no bound.
const LONGEST: usize = 4096;

slim! {
    /// An `Event` of the core group; in JSON also one of `events.k8s.io`, which has other names for
    /// some of the fields.
    pub struct Event {
        /// Metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: BriefMeta,
        /// The object that the event is about.
        #[prost(message, required, tag = "2")]
        #[serde(alias = "regarding")]
        pub involved_object: ObjectReference,
        /// The reason.
        #[prost(string, tag = "3")]
        pub reason: String,
        /// The message.
        #[prost(string, tag = "4")]
        #[serde(alias = "note")]
        pub message: String,
        /// The component that reports the event, in the older form.
        #[prost(message, required, tag = "5")]
        #[serde(alias = "deprecatedSource")]
        pub source: EventSource,
        /// Time of the first occurrence.
        #[prost(message, required, tag = "6")]
        #[serde(alias = "deprecatedFirstTimestamp")]
        pub first_timestamp: Timestamp,
        /// Time of the last occurrence.
        #[prost(message, required, tag = "7")]
        #[serde(alias = "deprecatedLastTimestamp")]
        pub last_timestamp: Timestamp,
        /// Number of occurrences, in the older form.
        #[prost(int32, tag = "8")]
        #[serde(alias = "deprecatedCount")]
        pub count: i32,
        /// `Normal` or `Warning`.
        #[prost(string, tag = "9")]
        pub r#type: String,
        /// Time of the first occurrence, in the newer form.
        #[prost(message, required, tag = "10")]
        pub event_time: Timestamp,
        /// The series of equal events, in the newer form.
        #[prost(message, required, tag = "11")]
        pub series: EventSeries,
        /// The component that reports the event, in the newer form.
        #[prost(string, tag = "14")]
        #[serde(alias = "reportingController")]
        pub reporting_component: String,
    }

    /// The component that reports an event.
    pub struct EventSource {
        /// The component.
        #[prost(string, tag = "1")]
        pub component: String,
    }

    /// A series of equal events.
    pub struct EventSeries {
        /// Number of occurrences.
        #[prost(int32, tag = "1")]
        pub count: i32,
        /// Time of the last occurrence.
        #[prost(message, required, tag = "2")]
        pub last_observed_time: Timestamp,
    }
}

impl SlimObject for Event {
    fn row(&self, folder: &mut Folder) -> Folded {
        let component = match self.reporting_component.as_str() {
            "" => &self.source.component,
            component => component,
        };
        // What this tool says about an object is no evidence about it.
        if component == OWN_COMPONENT {
            return Folded::Counted;
        }
        let about = &self.involved_object;
        let kind = match about.kind.as_str() {
            "PersistentVolume" => Kind::PersistentVolume,
            "PersistentVolumeClaim" => Kind::PersistentVolumeClaim,
            "StatefulSet" => Kind::StatefulSet,
            // Most of the many events about pods have nothing to do with storage.
            "Pod" if self.is_about_storage_of_a_pod() => Kind::Pod,
            _ => return Folded::Counted,
        };
        let times = [
            self.series.last_observed_time.fold("series.lastObservedTime", folder),
            self.last_timestamp.fold("lastTimestamp", folder),
            self.event_time.fold("eventTime", folder),
            self.first_timestamp.fold("firstTimestamp", folder),
        ];
        let namespace =
            if kind.is_namespaced() { Some(folder.text(&about.namespace)) } else { None };
        let row = model::Event {
            namespace: folder.text(&self.metadata.namespace),
            name: self.metadata.name.as_str().into(),
            about: ObjectKey { kind, namespace, name: about.name.as_str().into() },
            about_uid: Uid::parse(&about.uid),
            reason: folder.text(&self.reason),
            message: bounded(&self.message),
            warning: self.r#type == "Warning",
            component: folder.text(component),
            count: u32::try_from(self.count.max(self.series.count)).unwrap_or(0),
            first_seen: times.into_iter().flatten().min(),
            last_seen: times.into_iter().flatten().max(),
        };
        Folded::Row(Row::Event(Box::new(row)))
    }
}

impl Event {
    /// Whether an event about a pod shows why its volumes are not there. The scheduler writes `FailedScheduling` for
    /// many reasons; those that concern storage mention a volume.
    fn is_about_storage_of_a_pod(&self) -> bool {
        match self.reason.as_str() {
            FAILED_ATTACH | FAILED_MOUNT => true,
            FAILED_SCHEDULING => self.message.to_ascii_lowercase().contains("volume"),
            _ => false,
        }
    }
}

/// Returns a message, or the beginning of a very long one: there may be thousands.
fn bounded(message: &str) -> Box<str> {
    if message.len() <= LONGEST {
        return message.into();
    }
    format!("{}… ({} bytes)", beginning(message, LONGEST), message.len()).into()
}
