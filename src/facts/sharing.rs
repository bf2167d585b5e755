//! Volumes that share storage: one disk under several names, or one directory in another.

use crate::cluster::{Cx, Others, Placed};
use crate::drivers::{self, Overlap, Place, Reference, Relation};
use crate::facts::may_destroy;
use crate::model::{Severity, Volume};

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

impl SharedStorage {
    /// Judges a volume and those that share its storage. `None` where it is meant to be shared: a
    /// bucket, or a file system that every one of them mounts on several nodes, which nothing destroys.
    pub fn of(cx: &Cx, volume: &Volume, others: &Others<'_>) -> Option<Self> {
        let perishable = may_destroy(cx, volume) || first_destroyer(cx, others).is_some();
        let doubtful = others.certain() == 0;
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
        let is_shared = volume.is_shared && others.are_shared();
        (!is_bucket && !is_shared).then_some(Self::FileSystem)
    }

    /// Whether a volume is in a file system that several nodes may mount, or in a bucket.
    fn is_file_system(volume: &Volume) -> bool {
        // Of a driver of which nothing is known, the access modes tell more than the place does.
        let unknown = volume.backend.as_ref().is_none_or(|backend| {
            drivers::is_unknown(Reference::of(backend, &volume.attributes).family)
        });
        let is_device = |place: &Place<'_>| place.is_device() && !place.is_bucket();
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

/// The first of others whose policy may destroy the storage that they share.
pub fn first_destroyer<'a>(cx: &Cx, others: &Others<'a>) -> Option<&'a Volume> {
    others.destroyers(|other| may_destroy(cx, other)).1.next().map(|(other, _)| *other)
}

/// Whether no pod can mount a volume together with one of the others: the kubelet takes two volumes
/// of one driver and one handle for one, and waits for the second for ever (kubernetes#132921).
pub fn excludes_in_a_pod(volume: &Volume, others: &Others<'_>) -> bool {
    others.have_handle_of(volume)
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
