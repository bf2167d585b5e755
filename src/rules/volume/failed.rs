//! F12: reclaiming a volume failed.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, FAILED_DELETE, FAILED_RECYCLE, Owner, UNKNOWN_POLICY};
use crate::model::{Finding, Kind, Phase, ReclaimPolicy, Severity, Volume};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule, finding::shown_event};

pub(super) static RULE: Rule = Rule {
    id: "pv-failed",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume, Kind::Event],
    remedies: &[&remedies::RETAIN],
    title: "A volume is Failed: its controller could not reclaim it",
    danger: "The disk stays and is billed. For in-tree volumes kube-controller-manager tries again whenever it \
             looks at them, so the data goes the moment the cause is fixed; some causes, such as a hostPath \
             outside /tmp, can never be fixed. External provisioners never look at a Failed volume again.",
    remedy: "Setting the policy to Retain ends the attempts and keeps the disk. Status is never patched: \
             a phase that somebody wrote proves nothing to the controllers.",
    source: "pv_controller.go, syncVolume and deleteVolumeOperation; external-provisioner shouldDelete",
    judge: &[Judge::Volume(judge)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    if volume.phase != Phase::Failed {
        return Ok(None);
    }
    let retried = match facts::owner(volume) {
        Owner::InTree(_) | Owner::StaticInTree(_) => true,
        Owner::Csi(_) | Owner::External(_) => false,
    };
    let next = if volume.reclaim_policy == ReclaimPolicy::Retain {
        "policy Retain: no controller retries"
    } else if retried {
        "kube-controller-manager retries"
    } else {
        "no controller retries: external provisioners ignore Failed volumes"
    };
    let reasons = [FAILED_DELETE, FAILED_RECYCLE, UNKNOWN_POLICY];
    let event = facts::last_event(cx, volume, &reasons).ok().flatten();
    let message = volume.message.as_deref().filter(|message| !message.is_empty());
    let error = message.or_else(|| event.map(|series| &*series.newest.message));
    let summary = match error {
        Some(error) => format!("reclaim failed ({}); {next}", facts::brief_error(error)),
        None => format!("reclaim failed; {next}"),
    };
    let mut finding = RULE
        .on_volume(cx, volume, summary)
        .aged(facts::state_age(cx, volume))
        .shows("status.reason", volume.reason.as_deref().unwrap_or("<none>"))
        .shows("status.message", volume.message.as_deref().unwrap_or("<none>"))
        .shows("what happens next", next);
    if let Some(event) = event {
        finding = finding.shows("last event", shown_event(&event));
    }
    Ok(Some(match volume.reclaim_policy {
        ReclaimPolicy::Delete => finding.remedied_by(cx, volume, &remedies::RETAIN),
        ReclaimPolicy::Retain => finding
            .report_only("its policy is Retain: nothing is tried any more, and the disk is kept"),
        ReclaimPolicy::Recycle | ReclaimPolicy::Other(_) => {
            finding.report_only("fix the cause that the message names, or set another policy")
        }
    }))
}
