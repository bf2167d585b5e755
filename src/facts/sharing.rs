//! Volumes that share storage: one disk under several names, or one directory in another.

use crate::cluster::{Cx, Placed, Seen};
use crate::drivers::{self, Extent, Overlap, Place, Relation};
use crate::model::{ReclaimPolicy, Severity, Volume, VolumeSource};

/// What it means that volumes share storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SharedStorage {
    /// The policy of a member lets its controller destroy the data of all, whatever the policies of
    /// the others are.
    Perishable,
    /// All policies keep the data; two claims can bind one device, and two nodes write to it.
    Device,
    /// All policies keep the data, in a file system that several nodes may mount: sharing it, also
    /// across namespaces, is normal.
    FileSystem,
}

impl SharedStorage {
    /// Judges a volume and those that share its storage.
    pub fn of(volume: &Volume, others: &[(&Volume, Overlap)]) -> Self {
        if may_destroy(volume) || others.iter().any(|(other, _)| may_destroy(other)) {
            return Self::Perishable;
        }
        // Of a driver of which nothing is known, the access modes tell more than the place does.
        let is_file_system = |it: &Volume| {
            let unknown = it
                .backend
                .as_ref()
                .is_none_or(|backend| drivers::is_unknown(drivers::family(&backend.driver)));
            unknown && it.is_shared
        };
        let is_device = |place: &Place<'_>| matches!(place.extent, Extent::Device(_));
        match volume.places().iter().all(is_device) && !is_file_system(volume) {
            true => Self::Device,
            false => Self::FileSystem,
        }
    }

    /// How severe it is.
    pub const fn severity(self) -> Severity {
        match self {
            Self::Perishable => Severity::Critical,
            Self::Device => Severity::High,
            Self::FileSystem => Severity::Info,
        }
    }
}

/// Whether the policy of a volume lets a controller destroy its data.
pub const fn may_destroy(volume: &Volume) -> bool {
    match volume.reclaim_policy {
        ReclaimPolicy::Delete | ReclaimPolicy::Recycle => true,
        ReclaimPolicy::Retain | ReclaimPolicy::Other(_) => false,
    }
}

/// Whether no pod can mount both volumes: the kubelet takes two volumes of one driver and one handle
/// for one, and waits for the second for ever (kubernetes#132921).
pub fn excludes_in_a_pod(one: &Volume, other: &Volume) -> bool {
    matches!(
        (&one.source, &other.source),
        (
            VolumeSource::Csi { driver, handle, .. },
            VolumeSource::Csi { driver: its_driver, handle: its_handle, .. },
        ) if driver == its_driver && handle == its_handle
    )
}

/// Returns the other volumes that name storage of a volume: certainly, or a device that differs
/// from its own in nothing that is known. Others that cannot be compared are left out: they are a
/// reason to refuse, and none to warn.
///
/// # Errors
/// When volumes were not read.
pub fn sharing<'a>(cx: &Cx<'a>, volume: &Volume) -> Seen<Vec<(&'a Volume, Overlap)>> {
    let is_device = |place: &Place<'_>| matches!(place.extent, Extent::Device(_));
    let of_devices = |it: &Volume| it.places().iter().all(is_device);
    let told = cx
        .others_at(volume)?
        .into_iter()
        .filter(|(other, overlap)| overlap.is_certain() || of_devices(volume) && of_devices(other));
    Ok(told.collect())
}

/// How another volume lies to one, in words that follow its name.
pub const fn lies(overlap: &Overlap) -> &'static str {
    match (overlap.is_certain(), overlap.relation) {
        (true, Relation::Equal) => "references the same backend volume",
        (true, Relation::Inside) => "lies inside it",
        (true, Relation::Around) => "contains it",
        (false, _) => "may reference the same backend volume",
    }
}
