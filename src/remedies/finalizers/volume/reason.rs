//! The sentences for the reasons of the table.

use super::finalizer::VolumeFinalizer;
use super::table::{VolumeFinalizerKind, VolumePolicy, VolumeReason};
use crate::cluster::Cx;
use crate::facts::{EXTERNAL_PROVISIONER, IN_TREE};
use crate::model::{Threshold, format_duration};

/// Returns the sentence for a reason, without a full stop.
pub(super) fn reason(cx: &Cx, case: &VolumeFinalizer, why: VolumeReason) -> String {
    let (who, volume) = (&case.who, case.volume);
    let said: &str = match why {
        VolumeReason::ReclaimingControllerUnknown => {
            return format!("who should remove it is not known: {who}");
        }
        VolumeReason::ControllerAlive => {
            return format!("{who} is alive: it removes its finalizer itself");
        }
        VolumeReason::ControllerUnknown => {
            let because = case.state.as_ref().map_or("nothing tells", |it| &*it.because);
            return format!("whether {who} is gone is unknown: {because}");
        }
        VolumeReason::ControllerNameless => "whose attacher set it is not known",
        VolumeReason::ManagerHonors => {
            "kube-controller-manager removes it itself: look why it does not"
        }
        VolumeReason::ManagerUnversioned => {
            "whether kube-controller-manager removes it itself is not known: the server's version was not seen"
        }
        VolumeReason::NeedsRolledBack => {
            "needs --rolled-back, the admin's word that HonorPVReclaimPolicy is off in the controller manager"
        }
        VolumeReason::SlowDeletionLooksTheSame => {
            "a slow deletion looks the same: needs --rolled-back, the admin's word that HonorPVReclaimPolicy is off in the controller manager"
        }
        VolumeReason::DeletionMayGoOn => "its deletion may still be going on",
        VolumeReason::NeedsObjectName => "removed only where the volume is named",
        VolumeReason::NeedsFinalizerName => {
            return format!(
                "whoever set it should remove it, and may have something to finish first: skipping that needs --remove-finalizer {}",
                case.finalizer
            );
        }
        VolumeReason::TooSoon => {
            let stuck = format_duration(cx.settings().thresholds.get(Threshold::Stuck));
            return format!(
                "it has been terminating for less than {stuck}: whoever set it may still be at work"
            );
        }
        VolumeReason::AttacherWaitsForDeletion => {
            "it is not terminating: the attacher keeps its finalizer until then"
        }
        VolumeReason::NotTerminating => "it is not being deleted: the finalizer holds up nothing",
        VolumeReason::ReinstallDriver => {
            "its policy is Delete: reinstall the driver, which then deletes it"
        }
        VolumeReason::Bound => "it is bound: this finalizer is not what holds it",
        VolumeReason::BoundUnprotected => {
            "it is bound, and nothing else keeps the object: its claim would be lost"
        }
        VolumeReason::InUse => {
            return case.used.clone().unwrap_or_else(|| "it is in use".to_owned());
        }
        VolumeReason::LastDeletionProtection => {
            let needs = match case.inputs.policy {
                VolumePolicy::Delete => ": needs --accept-leak or --reclaim",
                VolumePolicy::Retain | VolumePolicy::Recycle | VolumePolicy::Other => "",
            };
            return format!(
                "it is the last guard of the backend volume: {EXTERNAL_PROVISIONER} is absent and the policy is {}{needs}",
                volume.reclaim_policy
            );
        }
        VolumeReason::NothingElseProtects => {
            return format!(
                "nothing else protects the backend volume: {IN_TREE} is absent and the policy is {}; `kubectl storage retain {}` keeps it first",
                volume.reclaim_policy,
                volume.object()
            );
        }
        VolumeReason::NeedsLeakChoice => match case.inputs.kind {
            VolumeFinalizerKind::External => {
                "the backend volume would be leaked: needs --accept-leak or --reclaim; or reinstall the driver, which then deletes it"
            }
            VolumeFinalizerKind::InTree => {
                "the backend volume may be leaked: needs --accept-leak or --reclaim"
            }
            VolumeFinalizerKind::Attacher | VolumeFinalizerKind::ThirdParty => {
                "the backend volume will not be deleted by anyone once this goes: needs --accept-leak or --reclaim"
            }
        },
        VolumeReason::NeedsAcceptLeak => {
            "its policy is Recycle, and whether its data was scrubbed is not known: needs --accept-leak"
        }
        VolumeReason::NeverReleased => {
            return format!(
                "its phase is {}: its policy never said to delete its data, so --reclaim does not; --accept-leak leaves the backend volume behind",
                volume.phase
            );
        }
        VolumeReason::PolicyUnknown => {
            return format!("what its policy {} means is not known", volume.reclaim_policy);
        }
    };
    said.to_owned()
}
