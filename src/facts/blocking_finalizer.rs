//! Finalizers that block the deletion of an object, with the controllers that should remove them.

use std::collections::BTreeSet;

use super::{
    FinalizerController, FinalizerOwner, IN_TREE, attacher_with, data_effect, owner, owner_of,
};
use crate::cluster::Cx;
use crate::model::{
    Attachment, Claim, ControllerState, Liveness, ManagedField, Metadata, Text, Volume,
    migrated_driver, provisioning_driver,
};

/// A finalizer, the controller that should remove it, and the state of that controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockingFinalizer {
    /// The finalizer.
    pub finalizer: Text,
    /// The controller that should remove it.
    pub by: String,
    /// The state of that controller; `None` if it cannot be known.
    pub state: Option<ControllerState>,
    /// The managers that set it, by `managedFields`.
    pub managers: Vec<String>,
}

/// Returns the finalizers of a volume.
pub fn finalizers_of_volume(cx: &Cx, volume: &Volume) -> Vec<BlockingFinalizer> {
    let owner = owner(volume);
    let attacher = |finalizer: &str| attacher_with(volume, finalizer);
    let mut holders = holders(cx, &volume.metadata, owner.csi(), attacher);
    // kube-controller-manager does not remove it from a volume that never was in-tree
    // (`modifyDeletionFinalizers`).
    let provisioner = volume.provisioned_by.as_deref();
    if owner.csi().is_some() && provisioner.and_then(migrated_driver).is_none() {
        for holder in holders.iter_mut().filter(|it| &*it.finalizer == IN_TREE) {
            "no controller, since the volume never was in-tree".clone_into(&mut holder.by);
            holder.state = None;
        }
    }
    holders
}

/// Returns the finalizers of a claim.
pub fn finalizers_of_claim(cx: &Cx, claim: &Claim) -> Vec<BlockingFinalizer> {
    holders(cx, &claim.metadata, copier_of(cx, claim).as_ref(), |_| None)
}

/// Returns the finalizers of an attachment.
pub fn finalizers_of_attachment(cx: &Cx, attachment: &Attachment) -> Vec<BlockingFinalizer> {
    let attacher = |_: &str| Some(Text::clone(&attachment.attacher));
    holders(cx, &attachment.metadata, None, attacher)
}

/// Returns the driver whose csi-provisioner cloned a claim: that of its volume, which clones share;
/// else the one that its provisioner was migrated to.
pub fn copier_of(cx: &Cx, claim: &Claim) -> Option<Text> {
    if let Some(owner) = data_effect(cx, claim).volume().map(owner) {
        return owner.csi().cloned();
    }
    let named = claim.provisioner.as_ref()?;
    Some(provisioning_driver(named))
}

/// Returns the managers that set a finalizer, by `managedFields`, each once.
pub fn managers_of(metadata: &Metadata, finalizer: &str) -> Vec<String> {
    let field = ManagedField::Finalizer(finalizer.into());
    let all: BTreeSet<_> = metadata.managers_of(&field).map(|it| it.manager).collect();
    all.into_iter().map(str::to_owned).collect()
}

/// Returns the finalizers of an object whose csi-provisioner and external-attachers belong to these
/// drivers.
fn holders(
    cx: &Cx,
    metadata: &Metadata,
    provisioned_by: Option<&Text>,
    attached_by: impl Fn(&str) -> Option<Text>,
) -> Vec<BlockingFinalizer> {
    let known = |remover: FinalizerController| (remover.who, Some(remover.state));
    let driverless = |who: &str| (format!("{who} of an unknown driver"), None);
    let holder = |finalizer: &Text| {
        let (by, state) = match owner_of(finalizer) {
            FinalizerOwner::Provisioner | FinalizerOwner::Cloning => match provisioned_by {
                Some(driver) => known(FinalizerController::provisioner(cx, driver)),
                None => driverless("csi-provisioner"),
            },
            FinalizerOwner::Attacher(_) => match attached_by(finalizer) {
                Some(driver) => known(FinalizerController::attacher(cx, &driver)),
                None => driverless("external-attacher"),
            },
            FinalizerOwner::ControllerManager => known(FinalizerController::controller_manager(cx)),
            FinalizerOwner::Snapshotter => known(FinalizerController::snapshot_controller(cx)),
            FinalizerOwner::GarbageCollector => {
                let FinalizerController { state, .. } = FinalizerController::controller_manager(cx);
                ("the garbage collector".to_owned(), Some(state))
            }
            FinalizerOwner::Unknown => ("the controller that set it".to_owned(), None),
        };
        let managers = managers_of(metadata, finalizer);
        BlockingFinalizer { finalizer: Text::clone(finalizer), by, state, managers }
    };
    metadata.finalizers.iter().map(holder).collect()
}

impl BlockingFinalizer {
    /// Whether the controller is running, as far as that can be known.
    pub fn liveness(&self) -> Liveness {
        self.state.as_ref().map_or(Liveness::Unknown, |it| it.liveness)
    }
}
