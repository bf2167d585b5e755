//! Facts about drivers that many volumes share.

use semver::Version;

use super::{ControllerRole, ControllerState, ObjectRef, Text};

/// Names a fact that is derived once and compared across changes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FactKey {
    /// Whether a controller is alive; the driver is empty for the controller manager.
    Controller(ControllerRole, Text),
    /// Whether any volume of a driver names a deletion secret.
    DeletionSecrets(Text),
    /// What runs as csi-provisioner of a driver.
    ProvisionerVersions(Text),
}

impl FactKey {
    /// The driver it is about.
    pub fn driver(&self) -> &Text {
        match self {
            Self::Controller(_, driver)
            | Self::DeletionSecrets(driver)
            | Self::ProvisionerVersions(driver) => driver,
        }
    }
}

/// A fact about a driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    Controller(ControllerState),
    DeletionSecrets(bool),
    ProvisionerVersions(Vec<ClaimedVersion>),
}

impl Fact {
    /// Whether it says the same, whatever the latest evidence is: a Lease that was merely renewed
    /// changes nothing.
    pub fn says_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Controller(one), Self::Controller(other)) => one.says_the_same(other),
            (one, other) => one == other,
        }
    }
}

/// A version that an image tag claims. Tags can lie, digests say nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedVersion {
    /// The pod or workload.
    pub object: ObjectRef,
    /// The image.
    pub image: Text,
    /// The version in its tag, if there is one.
    pub version: Option<Version>,
    /// Whether `--feature-gates` sets `HonorPVReclaimPolicy`, and to what.
    pub honor_flag: Option<bool>,
    /// The `ServiceAccount`, with its namespace.
    pub service_account: Option<(Text, Text)>,
}
