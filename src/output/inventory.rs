//! Public shapes of what listings of providers show.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::facts::InventoryCounts;
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
    /// Numbers of disks, by what came of them.
    #[serde(flatten)]
    pub counts: InventoryCounts,
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
        let of = &self.counts;
        let orphans = with(of.orphans, "of no volume", self.orphaned_bytes);
        let unattributed = with(of.unattributed, "of an unknown cluster", self.unattributed_bytes);
        let counts = [
            (of.named, "named by volumes"),
            (of.may_be_named, "that may be named"),
            (of.attached, "attached"),
            (of.attachment_unknown, "with unknown attachment"),
            (of.not_kubernetes, "not made by Kubernetes"),
            (of.claimed, "with a living claim"),
            (of.of_other_clusters, "of other clusters"),
            (of.elsewhere, "where their cluster has nothing"),
            (of.too_young, "too young"),
            (of.not_judged, "not judged"),
        ];
        let counts =
            counts.iter().filter(|it| it.0 > 0).map(|(count, what)| format!("{count} {what}"));
        let shown = [(of.orphans, orphans), (of.unattributed, unattributed)];
        let shown = shown.into_iter().filter(|it| it.0 > 0).map(|it| it.1);
        let parts: Vec<String> = shown.chain(counts).collect();
        let told = format!("{} at the provider: {}", counted(of.listed, "disk"), parts.join(", "));
        escape_control(&told).into_owned()
    }
}
