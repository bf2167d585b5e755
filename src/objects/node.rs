//! `Node` and `Namespace`.

use super::{Folded, Folder, ObjectMeta, SlimObject, slim::slim};
use crate::model::{self, Row};

/// The taint by which a cluster administrator asserts that a node is shut down and its volumes may
/// be detached.
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

slim! {
    /// A `Node`.
    pub struct Node {
        /// Its metadata.
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
        /// Whether it is cordoned.
        #[prost(bool, tag = "4")]
        pub unschedulable: bool,
        /// Its taints.
        #[prost(message, repeated, tag = "5")]
        pub taints: Vec<Taint>,
    }

    /// A taint of a node.
    pub struct Taint {
        /// Its key.
        #[prost(string, tag = "1")]
        pub key: String,
    }

    /// `status` of a node.
    pub struct NodeStatus {
        /// Its conditions.
        #[prost(message, repeated, tag = "4")]
        pub conditions: Vec<Condition>,
        /// The volumes that its kubelet uses.
        #[prost(string, repeated, tag = "9")]
        pub volumes_in_use: Vec<String>,
        /// The volumes that are attached to it.
        #[prost(message, repeated, tag = "10")]
        pub volumes_attached: Vec<AttachedVolume>,
    }

    /// A volume that is attached to a node.
    pub struct AttachedVolume {
        /// Such as `kubernetes.io/csi/ebs.csi.aws.com^vol-1`.
        #[prost(string, tag = "1")]
        pub name: String,
    }

    /// A condition of a node or pod.
    pub struct Condition {
        /// Its type.
        #[prost(string, tag = "1")]
        pub r#type: String,
        /// `True`, `False` or `Unknown`.
        #[prost(string, tag = "2")]
        pub status: String,
    }

    /// A `Namespace`.
    pub struct Namespace {
        /// Its metadata.
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
