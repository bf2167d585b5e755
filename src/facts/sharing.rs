//! Volumes that share storage: one disk under several names, or one directory in another.

use crate::cluster::{Cx, Placed, Seen};
use crate::drivers::{self, Extent, Overlap, Place, Reference, Relation};
use crate::facts::may_destroy;
use crate::model::{ReclaimPolicy, Severity, Volume, VolumeSource};

/// What it means that volumes share storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SharedStorage {
    /// The policy of a member lets its controller destroy the data of all, whatever the policies of
    /// the others are.
    Perishable,
    /// Nothing destroys the data; two claims can bind one device, and two nodes write to it.
    Device,
    /// Nothing destroys the data, in a file system that several nodes may mount: sharing it, also
    /// across namespaces, is normal.
    FileSystem,
    /// They may share storage: what would tell them apart is not known.
    Doubtful,
}

/// How many others with a policy that may destroy are judged: there may be thousands, and each of
/// them is judged for each.
const JUDGED: usize = 64;

impl SharedStorage {
    /// Judges a volume and those that share its storage. `None` where it is meant to be shared: a
    /// bucket, or a file system that every one of them mounts on several nodes, which nothing destroys.
    pub fn of(cx: &Cx, volume: &Volume, others: &[(&Volume, Overlap)]) -> Option<Self> {
        let may_keep = |it: &Volume| match it.reclaim_policy {
            ReclaimPolicy::Delete | ReclaimPolicy::Recycle => true,
            ReclaimPolicy::Retain | ReclaimPolicy::Other(_) => false,
        };
        let mut judged = others.iter().filter(|(other, _)| may_keep(other));
        let perishable = may_destroy(cx, volume)
            || judged.by_ref().take(JUDGED).any(|(other, _)| may_destroy(cx, other))
            || judged.next().is_some();
        let doubtful = !others.iter().any(|(_, overlap)| overlap.is_certain());
        if doubtful && (perishable || !Self::is_file_system(volume)) {
            return Some(Self::Doubtful);
        }
        if perishable {
            return Some(Self::Perishable);
        }
        if !Self::is_file_system(volume) {
            return Some(Self::Device);
        }
        let is_bucket = volume.places().iter().all(Place::is_bucket);
        let is_shared = volume.is_shared && others.iter().all(|(other, _)| other.is_shared);
        (!is_bucket && !is_shared).then_some(Self::FileSystem)
    }

    /// Whether a volume is in a file system that several nodes may mount, or in a bucket.
    fn is_file_system(volume: &Volume) -> bool {
        // Of a driver of which nothing is known, the access modes tell more than the place does.
        let unknown = volume.backend.as_ref().is_none_or(|backend| {
            drivers::is_unknown(Reference::of(backend, &volume.attributes).family)
        });
        let is_device =
            |place: &Place<'_>| matches!(place.extent, Extent::Device(_)) && !place.is_bucket();
        !volume.places().iter().all(is_device) || unknown && volume.is_shared
    }

    /// How severe it is.
    pub const fn severity(self) -> Severity {
        match self {
            Self::Perishable => Severity::Critical,
            Self::Device => Severity::High,
            Self::FileSystem => Severity::Info,
            Self::Doubtful => Severity::Medium,
        }
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
/// reason to refuse, and none to warn; so are LUNs of one number at different targets.
///
/// # Errors
/// When volumes were not read.
pub fn sharing<'a>(cx: &Cx<'a>, volume: &Volume) -> Seen<Vec<(&'a Volume, Overlap)>> {
    let is_device = |place: &Place<'_>| matches!(place.extent, Extent::Device(_));
    let of_devices = |it: &Volume| it.places().iter().all(is_device);
    let told = cx.others_at(volume)?.into_iter().filter(|(other, overlap)| {
        let told_apart = || of_devices(volume) && of_devices(other) && !is_numbered(volume);
        overlap.is_certain() || told_apart()
    });
    Ok(told.collect())
}

/// Whether only a number names the device of a volume, which every target and server has.
fn is_numbered(volume: &Volume) -> bool {
    volume.places().iter().all(|place| match &place.extent {
        Extent::Device(name) => name.bytes().all(|it| it.is_ascii_digit()),
        Extent::Directory(_) | Extent::Within(..) | Extent::Undecided(..) => false,
    })
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
