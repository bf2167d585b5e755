//! Volumes that share storage: one disk under several names, or one directory in another.

use crate::cluster::{Cx, Placed, Seen};
use crate::drivers::{Extent, Overlap, Place, Relation};
use crate::model::Volume;

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
