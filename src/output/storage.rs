//! Public shapes of capacity, by where it is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::Bytes;

/// Capacity in one place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StorageShare {
    /// The cluster, in a report about several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The namespace of its claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The storage class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_class: Option<String>,
    /// The CSI driver or in-tree plugin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// For how many days at least its volumes are Released: 0, 7, 30, 90 or 365; absent where they are not, or since when
    /// is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released_days: Option<u32>,
    /// How much that is.
    #[serde(flatten)]
    pub amounts: StorageAmounts,
}

/// Bytes of backend volumes, each once: as leaking, else as Released, else as unused; and beside that at risk.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct StorageAmounts {
    /// Billed without an object that names it, now or soon.
    pub leaking_bytes: Bytes,
    /// Of Released volumes.
    pub released_bytes: Bytes,
    /// Of volumes whose claims nothing uses.
    pub unused_bytes: Bytes,
    /// How many backend volumes these are.
    pub volumes: usize,
    /// Of volumes whose data can be destroyed, or read by others.
    pub at_risk_bytes: Bytes,
    /// How many backend volumes these are.
    pub volumes_at_risk: usize,
}

impl StorageAmounts {
    /// Returns the bytes that cost more than they are worth: leaking, released and unused.
    pub fn wasted(&self) -> Bytes {
        let Self { leaking_bytes, released_bytes, unused_bytes, .. } = self;
        leaking_bytes.saturating_add(*released_bytes).saturating_add(*unused_bytes)
    }

    /// Returns the sums of both amounts.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            leaking_bytes: self.leaking_bytes.saturating_add(other.leaking_bytes),
            released_bytes: self.released_bytes.saturating_add(other.released_bytes),
            unused_bytes: self.unused_bytes.saturating_add(other.unused_bytes),
            volumes: self.volumes + other.volumes,
            at_risk_bytes: self.at_risk_bytes.saturating_add(other.at_risk_bytes),
            volumes_at_risk: self.volumes_at_risk + other.volumes_at_risk,
        }
    }

    /// Returns the sums of shares with one name; the largest first.
    pub fn by<'s, N: Ord>(
        shares: impl IntoIterator<Item = &'s StorageShare>,
        name: impl Fn(&'s StorageShare) -> N,
    ) -> Vec<(N, Self)> {
        let mut sums: BTreeMap<N, Self> = BTreeMap::new();
        for share in shares {
            let sum = sums.entry(name(share)).or_default();
            *sum = sum.plus(share.amounts);
        }
        let mut sums: Vec<_> = sums.into_iter().filter(|(_, it)| *it != Self::default()).collect();
        sums.sort_by_key(|(_, it)| std::cmp::Reverse((it.wasted(), it.at_risk_bytes)));
        sums
    }
}
