//! Public shapes of what listings of providers show.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::listings::{Attached, Disk};
use crate::model::{counted, escape_control, format_bytes, format_time};

/// A disk at its provider.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedDisk {
    /// The CSI driver.
    pub driver: String,
    /// The handle, as a `PersistentVolume` writes it.
    pub handle: String,
    /// Its size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// When it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// When it was last detached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detached_at: Option<String>,
    /// The machines that have it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached_to: Vec<String>,
    /// Its tags, labels or metadata.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
}

/// What became of the disks that were listed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InventorySummary {
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
    /// Bytes of orphans that are reported.
    pub orphaned_bytes: u64,
    /// Bytes of unattributed disks that are reported.
    pub unattributed_bytes: u64,
    /// The identities by which clusters are known at their provider.
    pub identities: Vec<DiskIdentity>,
}

/// An identity that a driver writes on the disks of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiskIdentity {
    /// The cluster, in a report about several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The CSI driver.
    pub driver: String,
    /// The identity.
    pub value: String,
    /// How it is known: `argument` of the driver, `disk` of a volume, or `flag` `--cluster-tag`.
    pub source: String,
}

impl From<&Disk> for ListedDisk {
    fn from(disk: &Disk) -> Self {
        let attached_to = match &disk.attached {
            Attached::To(machines) => machines.iter().map(ToString::to_string).collect(),
            Attached::No | Attached::Unknown | Attached::Held(_) => Vec::new(),
        };
        Self {
            driver: disk.backend.driver.to_string(),
            handle: disk.backend.handle.to_string(),
            size: disk.size.map(format_bytes),
            created_at: disk.created.as_ref().map(format_time),
            detached_at: disk.detached.as_ref().map(format_time),
            attached_to,
            tags: disk.tags.iter().map(|it| (it.0.to_string(), it.1.to_string())).collect(),
        }
    }
}

impl InventorySummary {
    /// Says in a line what became of the disks.
    pub fn told(&self) -> String {
        let with = |count: usize, what: &str, bytes: u64| match bytes {
            0 => format!("{count} {what}"),
            bytes => format!("{count} {what} ({})", format_bytes(bytes)),
        };
        let orphans = with(self.orphans, "of no volume", self.orphaned_bytes);
        let unattributed =
            with(self.unattributed, "of an unknown cluster", self.unattributed_bytes);
        let counts = [
            (self.named, "named by volumes"),
            (self.may_be_named, "that may be named"),
            (self.attached, "attached"),
            (self.attachment_unknown, "with unknown attachment"),
            (self.not_kubernetes, "not made by Kubernetes"),
            (self.claimed, "with a living claim"),
            (self.of_other_clusters, "of other clusters"),
            (self.elsewhere, "where their cluster has nothing"),
            (self.too_young, "too young"),
            (self.not_judged, "not judged"),
        ];
        let counts =
            counts.iter().filter(|it| it.0 > 0).map(|(count, what)| format!("{count} {what}"));
        let shown = [(self.orphans, orphans), (self.unattributed, unattributed)];
        let shown = shown.into_iter().filter(|it| it.0 > 0).map(|it| it.1);
        let parts: Vec<String> = shown.chain(counts).collect();
        let told =
            format!("{} at the provider: {}", counted(self.listed, "disk"), parts.join(", "));
        escape_control(&told).into_owned()
    }
}
