//! Numbers of disks, and the disks that lie in a cluster itself.

use serde::{Deserialize, Serialize};

use crate::listings::Disk;

/// Numbers of disks, by what came of them, as reports have them.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct InventoryCounts {
    /// Disks in all listings.
    pub listed: usize,
    /// Those that a cluster names.
    pub named: usize,
    /// Those that a cluster may name: something of it has an unknown disk of that provider.
    pub may_be_named: usize,
    /// Those that a machine has, or may have again.
    pub attached: usize,
    /// Those of which the listing does not tell whether a machine has them.
    pub attachment_unknown: usize,
    /// Those that nothing shows to be made by Kubernetes.
    pub not_kubernetes: usize,
    /// Those whose claim exists.
    pub claimed: usize,
    /// Those of clusters that are not given.
    pub of_other_clusters: usize,
    /// Those of a given cluster in a region or project where it has neither nodes nor volumes.
    pub elsewhere: usize,
    /// Those that were made after the view of a cluster, or shortly before it.
    pub too_young: usize,
    /// Those that a gap keeps from being judged.
    pub not_judged: usize,
    /// Disks that no cluster needs.
    pub orphans: usize,
    /// Disks of which no cluster is known.
    pub unattributed: usize,
}

/// The disks that lie in a cluster itself, as far as that tells what becomes of them.
#[derive(Debug, Default)]
pub struct OwnDisks {
    /// Numbers of those that are no orphans.
    pub counts: InventoryCounts,
    /// Those that nothing of the cluster names.
    pub left: Vec<Disk>,
}

impl InventoryCounts {
    /// Adds the numbers of disks that lie in a cluster.
    pub fn add_own(&mut self, own: &Self) {
        let Self {
            listed, named, may_be_named, attached, not_kubernetes, claimed, not_judged, ..
        } = own;
        self.listed += listed;
        self.named += named;
        self.may_be_named += may_be_named;
        self.attached += attached;
        self.not_kubernetes += not_kubernetes;
        self.claimed += claimed;
        self.not_judged += not_judged;
    }
}
