//! Namespaces, and the admission objects that the guard consists of.

use serde_json::Value;

use super::{Kind, Metadata, ObjectRef};

/// The names of the guard's policies and bindings begin so, and go on with the plural of a kind.
pub const GUARD_NAME: &str = "kubectl-storage-guard";

/// A `Namespace`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespace {
    /// Name, labels.
    pub metadata: Metadata,
}

impl Namespace {
    /// The reference that reports print.
    pub fn object(&self) -> ObjectRef {
        ObjectRef::of(self, self.metadata.uid.as_ref())
    }
}

/// A `ValidatingAdmissionPolicy` or its binding, of those that have a name of the guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmissionObject {
    /// Whether it is a policy or a binding.
    pub kind: Kind,
    /// Name, labels.
    pub metadata: Metadata,
    /// The object with the fields that the guard decides about, and a policy's status.
    pub document: Value,
}

impl AdmissionObject {
    /// The reference that reports print.
    pub fn object(&self) -> ObjectRef {
        ObjectRef::of(self, self.metadata.uid.as_ref())
    }
}
