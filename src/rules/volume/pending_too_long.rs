//! F10: a volume is Pending for longer than the threshold.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, LastTransition};
use crate::model::{Age, Finding, Phase, Severity, Threshold, Trust, Volume};
use crate::rules::{
    CapacityRisk, Judge, Rule,
    finding::{shown_event, time},
};

pub(super) static RULE: Rule = Rule {
    id: "pv-pending-too-long",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![manager],
    remedies: &[],
    title: "A new volume has been Pending for longer than the threshold",
    danger: "A volume is Pending only until the volume controller sees it for the first time, which takes seconds. \
             Until then no claim can bind it, no claim is released, and nothing is deleted.",
    remedy: "The tool changes nothing: check kube-controller-manager. The creation counts as the beginning here, \
             since a volume is never Pending again later.",
    source: "KEP-3762, story 2; persistentvolume strategy, PrepareForCreate",
    judge: &[Judge::Volume(judge)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    if volume.phase != Phase::Pending {
        return Ok(None);
    }
    let transition = LastTransition::of(cx, volume);
    let latest = [transition.stated, transition.managed, volume.metadata.created];
    let Some(since) = latest.into_iter().flatten().max() else { return Ok(None) };
    let age = Age { since: Some(since), trust: Trust::LowerBound };
    if !cx.older_than(&age, Threshold::PvPending) {
        return Ok(None);
    }
    let mut finding = RULE
        .on_volume(
            cx,
            volume,
            "still Pending: kube-controller-manager has not processed it since it was created",
        )
        .aged(age)
        .shows("metadata.creationTimestamp", time(volume.metadata.created))
        .shows_controller(&facts::controller_manager(cx));
    if let Ok(Some(event)) = facts::last_error(cx, &volume.object()) {
        let said = shown_event(&event);
        finding = finding.shows("last error", said);
    }
    Ok(Some(finding.report_only(
        "the volume controller does not act; check the Lease and the log of kube-controller-manager",
    )))
}
