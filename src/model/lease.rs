//! Leases of elected controllers.

use super::{Metadata, Text, Time};

/// A `Lease`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Name.
    pub metadata: Metadata,
    /// Its namespace.
    pub namespace: Text,
    /// `spec.holderIdentity`; empty after the holder released the Lease.
    pub holder: Option<Box<str>>,
    /// `spec.renewTime`.
    pub renewed: Option<Time>,
    /// `spec.leaseDurationSeconds`.
    pub duration_seconds: Option<u32>,
}
