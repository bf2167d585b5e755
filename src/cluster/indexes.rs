//! All indexes: which rows reference a volume, a claim, a class, a node, a driver…

use std::{collections::BTreeSet, hash::Hash};

use super::index::Index;
use crate::model::ObjectId;

/// The rows that hold a reference, by what the reference names.
#[derive(Debug, Default)]
pub(super) struct Indexes {
    pub(super) volumes_by_place: Index,
    pub(super) volumes_by_token: Index,
    pub(super) volumes_by_claim: Index,
    pub(super) volumes_by_driver: Index,
    pub(super) volumes_by_class: Index,
    pub(super) volumes_by_secret: Index,
    pub(super) volumes_by_attributes: Index,
    pub(super) claims_by_volume: Index,
    pub(super) claims_by_stem: Index,
    pub(super) claims_by_owner: Index,
    pub(super) claims_by_source: Index,
    pub(super) claims_by_class: Index,
    pub(super) claims_by_node: Index,
    pub(super) claims_by_attributes: Index,
    /// Pending claims without a class, which wait for a default class.
    pub(super) classless_claims: BTreeSet<ObjectId>,
    pub(super) pods_by_claim: Index,
    pub(super) pods_by_set: Index,
    pub(super) pods_by_place: Index,
    pub(super) pods_by_token: Index,
    pub(super) workloads_by_place: Index,
    pub(super) workloads_by_token: Index,
    pub(super) pods_by_node: Index,
    pub(super) workloads_by_claim: Index,
    pub(super) sets_by_stem: Index,
    pub(super) sidecar_workloads: BTreeSet<ObjectId>,
    pub(super) autoscalers_by_target: Index,
    pub(super) volume_snapshots_by_claim: Index,
    pub(super) attachments_by_volume: Index,
    pub(super) attachments_by_node: Index,
    pub(super) attachments_by_place: Index,
    pub(super) attachments_by_token: Index,
    pub(super) snapshots_by_place: Index,
    pub(super) contents_by_snapshot: Index,
    pub(super) nodes_by_label: Index,
    pub(super) nodes_by_place: Index,
    pub(super) csi_nodes_by_driver: Index,
    pub(super) leases_by_name: Index,
    pub(super) events_by_object: Index,
    pub(super) sidecar_pods: BTreeSet<ObjectId>,
}

/// What happens to the entries of a row.
#[derive(Debug, Clone, Copy)]
pub(super) enum EntryChange {
    Add,
    Remove,
}

impl EntryChange {
    /// Adds or removes the entry of a row in an index.
    pub(super) fn apply(self, index: &mut Index, key: impl Hash, id: ObjectId) {
        match self {
            Self::Add => index.insert(key, id),
            Self::Remove => index.remove(key, id),
        }
    }

    /// Adds a row to a set, or removes it.
    pub(super) fn mark(self, ids: &mut BTreeSet<ObjectId>, id: ObjectId) {
        match self {
            Self::Add => ids.insert(id),
            Self::Remove => ids.remove(&id),
        };
    }
}
