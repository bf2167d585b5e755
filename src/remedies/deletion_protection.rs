//! The deletion-protection finalizer in a patch of the reclaim policy: added with the policy Delete,
//! so that nobody's deletion of the object comes before that of the backend volume (R-2644-29),
//! and removed again with the policy Retain.

use crate::cluster::Cx;
use crate::facts::{self, EXTERNAL_PROVISIONER, NO_FINALIZER};
use crate::model::{FinalizerEdit, Volume};

/// Returns what a patch to the policy Delete does about the finalizer. Where it would help, but not
/// every csi-provisioner is known to honor it, a notice gives the reason.
pub(super) fn with_delete(cx: &Cx, volume: &Volume, notices: &mut Vec<String>) -> FinalizerEdit {
    if volume.metadata.deleting.is_some() || has_it(volume) {
        return FinalizerEdit::Untouched;
    }
    let Some(driver) = facts::finalizer_driver(volume) else { return FinalizerEdit::Untouched };
    match facts::every_provisioner_honors_finalizer(cx, &driver) {
        Ok(()) => FinalizerEdit::Added,
        Err(reason) => {
            notices.push(format!(
                "{NO_FINALIZER} ({reason}): if the object is deleted before the driver has \
                 finished, the backend volume can leak"
            ));
            FinalizerEdit::Untouched
        }
    }
}

/// Adds the notice of [`with_delete`] to a plan that sets the policy to Retain first: then
/// csi-provisioner removes the finalizer that the volume has now.
pub(super) fn with_delete_later(cx: &Cx, volume: &Volume, notices: &mut Vec<String>) {
    let mut released = volume.clone();
    let finalizers = released.metadata.finalizers.iter();
    released.metadata.finalizers =
        finalizers.filter(|it| &***it != EXTERNAL_PROVISIONER).cloned().collect();
    with_delete(cx, &released, notices);
}

/// Returns what a patch to another policy than Delete does about the finalizer: one that this tool
/// has added is removed. On a Terminating volume it stays, and a notice names who removes it.
pub(super) fn without_delete(cx: &Cx, volume: &Volume, notices: &mut Vec<String>) -> FinalizerEdit {
    if !has_it(volume) || !cx.added_finalizer(volume, EXTERNAL_PROVISIONER) {
        return FinalizerEdit::Untouched;
    }
    if volume.metadata.deleting.is_some() {
        notices.push(format!(
            "finalizer {EXTERNAL_PROVISIONER}, which this tool added, blocks deletion until {} \
             removes it; if none runs, use `kubectl storage fix-finalizers {}`",
            facts::owner(volume).describe(),
            volume.object(),
        ));
        return FinalizerEdit::Untouched;
    }
    notices.push(format!(
        "the same patch removes finalizer {EXTERNAL_PROVISIONER}, which this tool added: no \
         controller might remove it"
    ));
    FinalizerEdit::Removed
}

fn has_it(volume: &Volume) -> bool {
    volume.metadata.finalizers.iter().any(|it| **it == *EXTERNAL_PROVISIONER)
}

#[cfg(test)]
mod tests;
