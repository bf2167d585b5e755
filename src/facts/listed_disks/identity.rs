//! By what a cluster is known on the disks of a provider (semantics K.1).

use crate::model::Text;

/// What the user says of listings.
#[derive(Debug, Clone, Default)]
pub struct InventoryWords {
    /// Whether every cluster that uses the accounts is given.
    pub are_all: bool,
    /// Identities of clusters: each with the number of its cluster.
    pub identities: Vec<(usize, Text)>,
}

/// How an identity is known (semantics K.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum IdentitySource {
    /// The user said it.
    Flag,
    /// The controller of the driver has it as an argument.
    Argument,
    /// A disk has it that a volume of the cluster names, and that was made for the claim of this volume.
    Disk,
}

impl IdentitySource {
    /// Returns the name of the source in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Argument => "argument",
            Self::Disk => "disk",
        }
    }
}

/// An identity that a driver writes on the disks of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownIdentity {
    /// The number of the cluster.
    pub cluster: usize,
    /// The driver; empty if it is any.
    pub driver: Text,
    /// The identity.
    pub value: Text,
    /// How it is known.
    pub source: IdentitySource,
}
