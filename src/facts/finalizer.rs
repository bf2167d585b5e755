//! Finalizers, and the controllers that set and remove them (semantics#finalizers).

use super::driver_names::sanitize;
use crate::model::{DELETION_PROTECTION, FinalizerEdit, Metadata, Text, Volume};

/// Set and removed by csi-provisioner on volumes whose backend volume it would delete.
pub const EXTERNAL_PROVISIONER: &str = DELETION_PROTECTION;
/// Set and removed by kube-controller-manager on in-tree volumes whose backend volume it would
/// delete.
pub const IN_TREE: &str = "kubernetes.io/pv-controller";
/// Set by admission and kube-controller-manager on every volume.
pub const PV_PROTECTION: &str = "kubernetes.io/pv-protection";
/// Set by admission and kube-controller-manager on every claim.
pub const PVC_PROTECTION: &str = "kubernetes.io/pvc-protection";
/// Set by csi-provisioner on a claim that is being cloned.
pub const CLONE_SOURCE: &str = "provisioner.storage.kubernetes.io/cloning-protection";
/// Set by snapshot-controller on a claim of which a snapshot is being taken.
pub const SNAPSHOT_SOURCE: &str = "snapshot.storage.kubernetes.io/pvc-as-source-protection";

/// Set and removed by kube-controller-manager on every volume attributes class.
pub const VAC_PROTECTION: &str = "kubernetes.io/vac-protection";

const ATTACHER: &str = "external-attacher/";

/// The begin of the notice that a patch to the policy Delete adds no deletion-protection finalizer. Whether
/// it does depends on what its reader may see, and on whether the provisioner is just being restarted.
pub const NO_FINALIZER: &str = "the patch adds no deletion-protection finalizer";

/// What a plan says of the finalizer in a patch to the policy Delete.
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
