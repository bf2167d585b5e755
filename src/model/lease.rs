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
    /// As of when it was read.
    pub read: LeaseMoment,
}

/// As of when a Lease was read, which tells whether it was renewed in time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LeaseMoment {
    /// The cluster's clock.
    #[default]
    Clock,
    /// In a list of somebody else's dump, whose other Leases were renewed until then.
    Beside(Time),
    /// In such a dump, and nothing beside it tells.
    Alone,
}
