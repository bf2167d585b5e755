//! Why a finalizer is left, in words: every refusal of the table in one place.

use super::situation::Case;
use super::table::{Policy, Which, Why};
use crate::cluster::Cx;
use crate::facts::{EXTERNAL_PROVISIONER, IN_TREE};
use crate::model::{Threshold, format_duration};

/// The words of a refusal, as a sentence without a full stop.
pub(super) fn reason(cx: &Cx, case: &Case, why: Why) -> String {
    let (who, volume) = (&case.who, case.volume);
    let said: &str = match why {
        Why::ReclaimerUnknown => return format!("who should remove it is not known: {who}"),
        Why::RemoverAlive => return format!("{who} is alive: it removes its finalizer itself"),
        Why::RemoverUnknown => {
            let because = case.state.as_ref().map_or("nothing tells", |it| &*it.because);
            return format!("whether {who} is gone is unknown: {because}");
        }
        Why::RemoverNameless => "whose attacher set it is not known",
        Why::ManagerHonors => "kube-controller-manager removes it itself: look why it does not",
        Why::ManagerUnversioned => {
            "whether kube-controller-manager removes it itself is not known: the server's version was not seen"
        }
        Why::NeedsRolledBack => {
            "needs --rolled-back, the admin's word that HonorPVReclaimPolicy is off in the controller manager"
        }
        Why::SlowDeletionLooksTheSame => {
            "a slow deletion looks the same: needs --rolled-back, the admin's word that HonorPVReclaimPolicy is off in the controller manager"
        }
        Why::DeletionMayGoOn => "its deletion may still be going on",
        Why::OnlyWhenNamed => "removed only where the volume is named",
        Why::NotByName => {
            return format!(
                "whoever set it should remove it, and may have something to finish first: skipping that needs --remove-finalizer {}",
                case.finalizer
            );
        }
        Why::TooSoon => {
            let stuck = format_duration(cx.settings().thresholds.get(Threshold::Stuck));
            return format!(
                "it has been terminating for less than {stuck}: whoever set it may still be at work"
            );
        }
        Why::AttacherKeepsItWhileLive => {
            "it is not terminating: the attacher keeps its finalizer until then"
        }
        Why::HoldsUpNothing => "it is not being deleted: the finalizer holds up nothing",
        Why::ReinstallDriver => "its policy is Delete: reinstall the driver, which then deletes it",
        Why::Bound => "it is bound: this finalizer is not what holds it",
        Why::BoundUnprotected => {
            "it is bound, and nothing else keeps the object: its claim would be lost"
        }
        Why::Used => return case.used.clone().unwrap_or_else(|| "it is in use".to_owned()),
        Why::LastGuard => {
            let needs = match case.situation.policy {
                Policy::Delete => ": needs --accept-leak or --reclaim",
                Policy::Retain | Policy::Recycle | Policy::Other => "",
            };
            return format!(
                "it is the last guard of the backend volume: {EXTERNAL_PROVISIONER} is absent and the policy is {}{needs}",
                volume.reclaim_policy
            );
        }
        Why::NothingElseProtects => {
            return format!(
                "nothing else protects the backend volume: {IN_TREE} is absent and the policy is {}; `kubectl storage retain {}` keeps it first",
                volume.reclaim_policy,
                volume.object()
            );
        }
        Why::NeedsWord => match case.situation.which {
            Which::External => {
                "the backend volume would be leaked: needs --accept-leak or --reclaim; or reinstall the driver, which then deletes it"
            }
            Which::InTree => "the backend volume may be leaked: needs --accept-leak or --reclaim",
            Which::Attacher | Which::Foreign => {
                "the backend volume will not be deleted by anyone once this goes: needs --accept-leak or --reclaim"
            }
        },
        Why::NeedsAcceptLeak => {
            "its policy is Recycle, and whether its data was scrubbed is not known: needs --accept-leak"
        }
        Why::NeverReleased => {
            return format!(
                "its phase is {}: its policy never said to delete its data, so --reclaim does not; --accept-leak leaves the backend volume behind",
                volume.phase
            );
        }
        Why::PolicyUnknown => {
            return format!("what its policy {} means is not known", volume.reclaim_policy);
        }
    };
    said.to_owned()
}
