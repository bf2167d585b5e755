//! Storage classes and volume attributes classes.

use super::{Metadata, ObjectRef, Text};

/// A `StorageClass`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageClass {
    /// Name, annotations.
    pub metadata: Metadata,
    /// `provisioner`.
    pub provisioner: Text,
    /// `reclaimPolicy`; the API server fills in `Delete`.
    pub reclaim_policy: Option<Text>,
    /// Annotation `storageclass.kubernetes.io/is-default-class`, or its beta twin, is `true`.
    pub is_default: bool,
    /// `volumeBindingMode` is `WaitForFirstConsumer`.
    pub waits_for_consumer: bool,
    /// The `parameters` that decide what deletion of its volumes does.
    pub parameters: Box<[(Text, Text)]>,
    /// `allowVolumeExpansion`.
    pub allows_expansion: bool,
}

impl StorageClass {
    /// The reference that reports print.
    pub fn object(&self) -> ObjectRef {
        ObjectRef::of(self, self.metadata.uid.as_ref())
    }
}

/// A `VolumeAttributesClass`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttributesClass {
    /// Name, finalizers, deletion.
    pub metadata: Metadata,
    /// `driverName`.
    pub driver: Text,
}

impl AttributesClass {
    /// The reference that reports print.
    pub fn object(&self) -> ObjectRef {
        ObjectRef::of(self, self.metadata.uid.as_ref())
    }
}
