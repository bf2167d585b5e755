//! Storage classes.

use super::{Metadata, Text};

/// A `StorageClass`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageClass {
    /// Name, annotations.
    pub metadata: Metadata,
    /// `provisioner`.
    pub provisioner: Text,
    /// `reclaimPolicy`; the API server fills in `Delete`.
    pub reclaim_policy: Option<Text>,
}
