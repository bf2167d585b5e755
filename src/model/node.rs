//! Nodes.

use super::Metadata;

/// A `Node`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Name and labels.
    pub metadata: Metadata,
    /// Whether the condition `Ready` is `True`.
    pub ready: bool,
    /// `spec.unschedulable`: it is cordoned.
    pub unschedulable: bool,
    /// Taint `node.kubernetes.io/out-of-service` is present.
    pub out_of_service: bool,
    /// `status.volumesInUse` and the names in `status.volumesAttached`,
    /// such as `kubernetes.io/csi/ebs.csi.aws.com^vol-1`.
    pub volumes: Box<[Box<str>]>,
}
