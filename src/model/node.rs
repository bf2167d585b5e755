//! Nodes.

use super::Metadata;

/// A `Node`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Name and labels.
    pub metadata: Metadata,
    /// Whether the condition `Ready` is `True`.
    pub ready: bool,
    /// `status.volumesInUse` and the names in `status.volumesAttached`,
    /// such as `kubernetes.io/csi/ebs.csi.aws.com^vol-1`.
    pub volumes: Box<[Box<str>]>,
}
