//! Finalizers (semantics#finalizers): who sets and removes each, which block the deletion of an object,
//! and whether the controller that should remove one is running.
//!
//! The deletion-protection finalizer of kube-controller-manager belongs on some volumes only, and is
//! no longer removed by it in some versions (R-2644-4, R-2644-5, R-2644-15).

use std::collections::BTreeSet;

use super::{
    FAILED_DELETE, Owner, SNAPSHOT_CONTROLLER, attacher, controller_manager, data_effect,
    driver_names::sanitize, is_absent, known_deletable, owner, provisioner, snapshotter,
};
use crate::cluster::{Cx, Seen, Unseen};
use crate::model::{
    Age, Attachment, Claim, ControllerRole, ControllerState, DELETION_PROTECTION, Event,
    FinalizerEdit, Liveness, ManagedField, Metadata, Phase, ReclaimPolicy, Text, Threshold, Volume,
    VolumeSource, migrated_driver, provisioning_driver,
};

/// Finalizer that csi-provisioner sets and removes on volumes whose backend volume it would delete.
pub const EXTERNAL_PROVISIONER: &str = DELETION_PROTECTION;
/// Finalizer that kube-controller-manager sets and removes on in-tree volumes whose backend volume it would delete.
pub const IN_TREE: &str = "kubernetes.io/pv-controller";
/// Finalizer that admission and kube-controller-manager set on every volume.
pub const PV_PROTECTION: &str = "kubernetes.io/pv-protection";
/// Finalizer that admission and kube-controller-manager set on every claim.
pub const PVC_PROTECTION: &str = "kubernetes.io/pvc-protection";
/// Finalizer that csi-provisioner sets on a claim that is being cloned.
pub const CLONE_SOURCE: &str = "provisioner.storage.kubernetes.io/cloning-protection";
/// Finalizer that snapshot-controller sets on a claim of which a snapshot is being taken.
pub const SNAPSHOT_SOURCE: &str = "snapshot.storage.kubernetes.io/pvc-as-source-protection";

/// Finalizer that kube-controller-manager sets and removes on every volume attributes class.
pub const VAC_PROTECTION: &str = "kubernetes.io/vac-protection";

const ATTACHER: &str = "external-attacher/";

/// The beginning of the notice that a patch to the policy Delete adds no deletion-protection finalizer. Whether it does
/// depends on what its reader may see, and on whether the provisioner is just being restarted.
pub const NO_FINALIZER: &str = "the patch adds no deletion-protection finalizer";

/// Returns the words of a plan about the finalizer in a patch to the policy Delete.
pub fn finalizer_in_words(edit: FinalizerEdit) -> String {
    match edit {
        FinalizerEdit::Added => format!(" and adds finalizer {EXTERNAL_PROVISIONER}"),
        FinalizerEdit::Untouched | FinalizerEdit::Removed => String::new(),
    }
}

/// The controller that removes a finalizer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FinalizerOwner {
    /// csi-provisioner, of the volume's driver.
    Provisioner,
    /// kube-controller-manager: the volume controller or a protection controller.
    ControllerManager,
    /// external-attacher, of the driver with this sanitised name.
    Attacher(Text),
    /// csi-provisioner: the claim is being cloned, or a snapshot is being restored.
    Cloning,
    /// snapshot-controller or csi-snapshotter.
    Snapshotter,
    /// The garbage collector: `orphan` and `foregroundDeletion`.
    GarbageCollector,
    /// A third-party controller.
    Unknown,
}

/// Returns the controller that removes a finalizer.
pub fn owner_of(finalizer: &str) -> FinalizerOwner {
    match finalizer {
        EXTERNAL_PROVISIONER => FinalizerOwner::Provisioner,
        IN_TREE | PV_PROTECTION | PVC_PROTECTION | VAC_PROTECTION => {
            FinalizerOwner::ControllerManager
        }
        CLONE_SOURCE | "provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection" => {
            FinalizerOwner::Cloning
        }
        SNAPSHOT_SOURCE
        | "snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection"
        | "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection"
        | "snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection" => {
            FinalizerOwner::Snapshotter
        }
        "orphan" | "foregroundDeletion" => FinalizerOwner::GarbageCollector,
        _ => match finalizer.strip_prefix(ATTACHER) {
            Some(driver) => FinalizerOwner::Attacher(driver.into()),
            None => FinalizerOwner::Unknown,
        },
    }
}

/// Returns the finalizer that the external-attacher of a driver sets (external-attacher
/// `pkg/controller/util.go`, `GetFinalizerName`).
pub fn attacher_finalizer(driver: &str) -> String {
    format!("{ATTACHER}{}", sanitize(driver))
}

/// Whether the finalizer of any external-attacher is present.
pub fn has_attacher_finalizer(metadata: &Metadata) -> bool {
    set_by_attacher(metadata).is_some()
}

/// Returns the finalizer of an external-attacher, if there is one.
pub fn set_by_attacher(metadata: &Metadata) -> Option<&Text> {
    metadata.finalizers.iter().find(|finalizer| finalizer.starts_with(ATTACHER))
}

/// Returns the driver whose external-attacher set its finalizer on a volume. The finalizer contains
/// a sanitised name that cannot be reversed: the driver is one that the volume references, or
/// unknown.
pub fn attacher_of(volume: &Volume) -> Option<Text> {
    attacher_with(volume, set_by_attacher(&volume.metadata)?)
}

/// Returns the driver whose external-attacher sets this finalizer, if the volume references that
/// driver.
pub fn attacher_with(volume: &Volume, finalizer: &str) -> Option<Text> {
    volume.drivers().find(|driver| attacher_finalizer(driver) == finalizer).map(Text::from)
}

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

/// The controller that should remove a finalizer.
#[derive(Debug, Clone)]
pub struct FinalizerController {
    /// The description of the controller, such as `csi-provisioner of disk.example.com`.
    pub who: String,
    /// The name of the controller for `--driver-absent`.
    pub name: Text,
    /// The state of the controller.
    pub state: ControllerState,
}

impl FinalizerController {
    /// Returns kube-controller-manager.
    pub fn controller_manager(cx: &Cx) -> Self {
        Self::single(ControllerRole::ControllerManager.name(), controller_manager(cx))
    }

    /// Returns the csi-provisioner of a driver.
    pub fn provisioner(cx: &Cx, driver: &Text) -> Self {
        Self::sidecar("csi-provisioner", driver, provisioner(cx, driver))
    }

    /// Returns the snapshot-controller.
    pub fn snapshot_controller(cx: &Cx) -> Self {
        Self::single(SNAPSHOT_CONTROLLER, snapshotter(cx))
    }

    /// Returns the external-attacher of a driver.
    pub fn attacher(cx: &Cx, driver: &Text) -> Self {
        Self::sidecar("external-attacher", driver, attacher(cx, driver))
    }

    fn sidecar(sidecar: &str, driver: &Text, state: ControllerState) -> Self {
        Self { who: format!("{sidecar} of {driver}"), name: Text::clone(driver), state }
    }

    fn single(name: &'static str, state: ControllerState) -> Self {
        Self { who: name.to_owned(), name: name.into(), state }
    }

    /// Whether the controller is running, absent or unknown.
    pub const fn liveness(&self) -> Liveness {
        self.state.liveness
    }

    /// Fails if the state of the controller is unknown because something was not read.
    ///
    /// # Errors
    /// What was not read.
    pub fn was_seen(&self) -> Seen<()> {
        match (self.state.liveness, &self.state.unseen) {
            (Liveness::Unknown, Some((kind, reason))) => {
                Err(Unseen { kind: *kind, namespace: None, reason: reason.clone() })
            }
            (Liveness::Unknown, None) | (Liveness::Alive | Liveness::Absent, _) => Ok(()),
        }
    }

    /// Whether the controller is absent, rather than running or unknown.
    ///
    /// # Errors
    /// When something that was not read decides it.
    pub fn is_absent(&self, cx: &Cx) -> Seen<bool> {
        is_absent(cx, &self.state, &self.name)
    }

    /// Whether the controller counts as absent because the user asserts it.
    pub fn is_absent_by_word(&self, cx: &Cx) -> bool {
        self.state.liveness == Liveness::Absent && cx.settings().absent_drivers.contains(&self.name)
    }

    /// Returns the description, state and evidence of the controller; without times, which change all the time.
    pub fn describe(&self) -> String {
        let Self { who, state, .. } = self;
        match state.liveness {
            Liveness::Alive => format!("{who} is running ({})", state.because),
            Liveness::Absent => format!("{who} is absent ({})", state.because),
            Liveness::Unknown => {
                let unseen = state.unseen.as_ref().map(|(_, reason)| reason.as_str());
                let because = unseen.unwrap_or(&state.because);
                format!("unknown whether {who} is running ({because})")
            }
        }
    }

    /// Returns the flag that asserts that the controller is absent.
    pub fn absent_flag(&self) -> String {
        format!("--driver-absent {}", self.name)
    }
}

/// Reason of events: the plugin postpones the deletion, because the volume is still in use.
const DELETE: &str = "VolumeDelete";

/// Whether kube-controller-manager keeps its finalizer on a volume, in any phase: it was
/// provisioned by an in-tree plugin that is not migrated, and its policy is Delete.
pub fn expects_in_tree_finalizer(volume: &Volume) -> bool {
    matches!(owner(volume), Owner::InTree(_)) && volume.reclaim_policy == ReclaimPolicy::Delete
}

/// Whether the in-tree finalizer does not belong on a volume: the volume is CSI, or was migrated to it.
pub fn in_tree_finalizer_is_stale(volume: &Volume) -> bool {
    let by_plugin = volume.provisioned_by.as_deref().and_then(migrated_driver).is_some();
    let migrated = volume.migrated_to.as_ref().is_some_and(|driver| !driver.is_empty());
    let csi = matches!(volume.source, VolumeSource::Csi { .. });
    volume.metadata.has_finalizer(IN_TREE) && (by_plugin || migrated || csi)
}

/// Whether kube-controller-manager always honours the reclaim policy, with no way to switch it off:
/// from 1.33 on. `None` when the version is not known. The version of kube-controller-manager may
/// differ from that of the API server.
pub fn always_honors_reclaim_policy(cx: &Cx) -> Option<bool> {
    cx.server().and_then(|server| server.at_least(1, 33))
}

/// Returns the server's version as evidence shows it.
pub fn server_version<'a>(cx: &Cx<'a>) -> &'a str {
    cx.server().and_then(|server| server.git_version.as_deref()).unwrap_or("<unknown>")
}

/// Whether the evidence about a Terminating in-tree volume fits a kube-controller-manager that was
/// rolled back to a version that removes no finalizers. A slow deletion without events has the same
/// evidence.
///
/// # Errors
/// When attachments or events were not read.
pub fn looks_rolled_back(cx: &Cx, volume: &Volume) -> Seen<bool> {
    let Owner::InTree(plugin) = owner(volume) else { return Ok(false) };
    let held = volume.metadata.has_finalizer(IN_TREE)
        && matches!(volume.phase, Phase::Released | Phase::Failed)
        && known_deletable(&plugin, cx.server()) == Some(true)
        && always_honors_reclaim_policy(cx) == Some(false)
        && cx.older_than(&Age::stamped(volume.metadata.deleting), Threshold::Finalizer);
    Ok(held
        && cx.attachments_of(volume.name())?.is_empty()
        && !events_since_deletion(cx, volume)?
            .iter()
            .any(|event| matches!(&*event.reason, FAILED_DELETE | DELETE)))
}

/// Returns the events about this volume, by uid, since its deletion was requested. Events without a
/// time count.
fn events_since_deletion<'a>(cx: &Cx<'a>, volume: &Volume) -> Seen<Vec<&'a Event>> {
    let mut events = cx.events_of(&volume.object().key)?;
    events.retain(|event| {
        let namesake = event.about_uid.is_some()
            && volume.metadata.uid.is_some()
            && event.about_uid != volume.metadata.uid;
        let earlier =
            event.last_seen.zip(volume.metadata.deleting).is_some_and(|(seen, from)| seen < from);
        !namesake && !earlier
    });
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_finalizer_has_its_owner() {
        for (finalizer, owner) in [
            (EXTERNAL_PROVISIONER, FinalizerOwner::Provisioner),
            (IN_TREE, FinalizerOwner::ControllerManager),
            (PV_PROTECTION, FinalizerOwner::ControllerManager),
            (PVC_PROTECTION, FinalizerOwner::ControllerManager),
            (
                "external-attacher/ebs-csi-aws-com",
                FinalizerOwner::Attacher("ebs-csi-aws-com".into()),
            ),
            ("provisioner.storage.kubernetes.io/cloning-protection", FinalizerOwner::Cloning),
            (
                "snapshot.storage.kubernetes.io/pvc-as-source-protection",
                FinalizerOwner::Snapshotter,
            ),
            ("foregroundDeletion", FinalizerOwner::GarbageCollector),
            ("example.com/backup", FinalizerOwner::Unknown),
            ("external-provisioner.volume.kubernetes.io/finalizer2", FinalizerOwner::Unknown),
        ] {
            assert_eq!(owner_of(finalizer), owner, "{finalizer}");
        }
        assert_eq!(attacher_finalizer("a.b/c."), "external-attacher/a-b-c-X");
    }
}
