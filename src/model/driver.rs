//! `CSIDriver` and `CSINode`: the registration of CSI drivers.

use super::{Metadata, Text};

/// A `CSIDriver`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsiDriver {
    /// Name: the driver's.
    pub metadata: Metadata,
    /// `spec.attachRequired`; the API server fills in `true`.
    pub attach_required: bool,
}

/// A `CSINode`: which drivers the kubelet of a node has registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsiNode {
    /// Name: the node's.
    pub metadata: Metadata,
    /// Names of `spec.drivers`.
    pub drivers: Box<[Text]>,
}
