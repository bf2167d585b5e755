//! The sentences for the reasons of the table.

use super::finalizer::{self, VolumeFinalizer};
use super::table::{VolumeFinalizerKind, VolumePhase, VolumePolicy, VolumeReason};
use crate::cluster::Cx;
use crate::facts::{EXTERNAL_PROVISIONER, IN_TREE};
use crate::model::{Age, Threshold, format_duration, format_time};

/// Returns the sentence for a reason, without a full stop.
pub(super) fn reason(cx: &Cx, case: &VolumeFinalizer, why: VolumeReason) -> String {
    let (who, volume) = (&case.who, case.volume);
    let said: &str = match why {
        VolumeReason::ReclaimingControllerUnknown => {
            return format!("unknown which controller should remove it: {who}");
        }
        VolumeReason::ControllerAlive => {
            return running(cx, case);
        }
        VolumeReason::ControllerUnknown => {
            let because = case.state.as_ref().map_or("not found out", |it| &*it.because);
            return format!("unknown whether {who} is absent: {because}");
        }
        VolumeReason::ControllerNameless => "unknown which driver's external-attacher set it",
        VolumeReason::ManagerHonors => {
            "kube-controller-manager removes it; if it does not, read its log and restart it"
        }
        VolumeReason::ManagerUnversioned => {
            "unknown whether kube-controller-manager removes it: server version not read"
        }
        VolumeReason::NeedsRolledBack => {
            "requires --rolled-back, which asserts that HonorPVReclaimPolicy is off in kube-controller-manager"
        }
        VolumeReason::SlowDeletionLooksTheSame => {
            "a slow deletion looks the same; requires --rolled-back, which asserts that HonorPVReclaimPolicy is off in kube-controller-manager"
        }
        VolumeReason::DeletionMayGoOn => {
            "its deletion may still be in progress; wait, or read the log of kube-controller-manager"
        }
        VolumeReason::NeedsObjectName => "removed only if the volume is named on the command line",
        VolumeReason::NeedsFinalizerName => {
            return format!(
                "the controller that set it should remove it, and may have to finish something first; skipping that requires --remove-finalizer {}",
                case.finalizer
            );
        }
        VolumeReason::TooSoon => {
            let stuck = format_duration(cx.settings().thresholds.get(Threshold::Stuck));
            return format!(
                "Terminating for less than {stuck}: the controller that set it may still be working; wait"
            );
        }
        VolumeReason::AttacherWaitsForDeletion => {
            "not Terminating: external-attacher keeps its finalizer until the volume is deleted"
        }
        VolumeReason::NotTerminating => "not Terminating: the finalizer blocks nothing now",
        VolumeReason::ReinstallDriver => {
            "policy Delete: reinstall the driver, which then deletes the backend volume"
        }
        VolumeReason::Bound => "Bound: not this finalizer blocks the deletion, but its claim",
        VolumeReason::BoundUnprotected => {
            "Bound, and no other finalizer blocks the deletion: its claim would become Lost"
        }
        VolumeReason::InUse => {
            return case.used.clone().unwrap_or_else(|| "it is in use".to_owned());
        }
        VolumeReason::LastDeletionProtection => {
            let needs = match case.inputs.policy {
                VolumePolicy::Delete => "; requires --accept-leak or --reclaim",
                VolumePolicy::Retain | VolumePolicy::Recycle | VolumePolicy::Other => "",
            };
            return format!(
                "it is the last finalizer that blocks the deletion, {EXTERNAL_PROVISIONER} is missing, and the policy is {}{needs}",
                volume.reclaim_policy
            );
        }
        VolumeReason::NothingElseProtects => {
            return format!(
                "no other finalizer protects the backend volume: {IN_TREE} is missing and the policy is {}; run `kubectl storage retain {}` first",
                volume.reclaim_policy,
                volume.object()
            );
        }
        VolumeReason::NeedsLeakChoice => match case.inputs.kind {
            VolumeFinalizerKind::External => {
                "removal would leak the backend volume; reinstall the driver, which then deletes it, or pass --accept-leak or --reclaim"
            }
            VolumeFinalizerKind::InTree => {
                "removal may leak the backend volume; requires --accept-leak or --reclaim"
            }
            VolumeFinalizerKind::Attacher | VolumeFinalizerKind::ThirdParty => {
                "if the backend volume still exists, no controller deletes it after this finalizer is removed (leak); requires --accept-leak or --reclaim"
            }
        },
        VolumeReason::NeedsAcceptLeak => {
            "policy Recycle, and unknown whether the data was scrubbed; requires --accept-leak"
        }
        VolumeReason::NeverReleased => {
            return format!(
                "phase {}: it was never Released, so --reclaim does not apply; --accept-leak keeps the backend volume without a PersistentVolume",
                volume.phase
            );
        }
        VolumeReason::PolicyUnknown => {
            return format!(
                "its policy {} is unknown; `kubectl storage retain {}` sets one that is known",
                volume.reclaim_policy,
                volume.object()
            );
        }
    };
    said.to_owned()
}

/// Whether a csi-provisioner rightly leaves its finalizer: it deletes no backend volume before the
/// claim is deleted (R-2644-8).
pub(super) fn waits_for_claim(case: &VolumeFinalizer) -> bool {
    let it = &case.inputs;
    it.kind == VolumeFinalizerKind::External
        && it.phase == VolumePhase::Bound
        && it.policy == VolumePolicy::Delete
}

/// What is said of a controller that is running and has not removed its finalizer: that it will, as
/// long as it has had no time for that; then that it is stuck.
fn running(cx: &Cx, case: &VolumeFinalizer) -> String {
    let who = &case.who;
    if waits_for_claim(case) {
        return format!(
            "{who} is running, and removes it after the claim and the backend volume are deleted"
        );
    }
    let threshold = match case.inputs.kind {
        VolumeFinalizerKind::Attacher => Threshold::Detach,
        VolumeFinalizerKind::External
        | VolumeFinalizerKind::InTree
        | VolumeFinalizerKind::ThirdParty => Threshold::Stuck,
    };
    let leak = match case.inputs.kind {
        VolumeFinalizerKind::Attacher if finalizer::is_leaked_without(case) => {
            "; if the backend volume still exists, no controller deletes it after this finalizer is removed (leak)"
        }
        _ => "",
    };
    match case.volume.metadata.deleting {
        Some(since) if cx.older_than(&Age::stamped(Some(since)), threshold) => format!(
            "{who} is running, but has not removed its finalizer since the deletion was requested at {}; read its log, fix what it reports, then restart it, or upgrade it{leak}",
            format_time(&since)
        ),
        Some(_) => format!("{who} is running and should remove its finalizer soon; wait{leak}"),
        None => format!(
            "{who} is running and should remove its finalizer; if it does not, read its log and restart it"
        ),
    }
}
