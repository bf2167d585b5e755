//! F32: a volume without `kubernetes.io/pv-protection`, which blocks its deletion while it is
//! bound.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, PV_PROTECTION};
use crate::model::{Age, Finding, Severity, Threshold, Volume};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pv-missing-pv-protection",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![manager],
    remedies: &[&remedies::ADD_PROTECTION],
    title: "A volume lacks the finalizer that keeps the object while a claim is bound to it",
    danger: "Every volume gets it when it is created. Without it a bound volume can be deleted at once: its claim \
             is lost, and the only record of the disk with it.",
    remedy: "kube-controller-manager adds it by itself, so the question is whether that runs. It is added to \
             a volume that is named; if the controller manager is gone, deleting the volume will then hang.",
    source: "kubernetes pv_protection_controller.go",
    judge: &[Judge::Volume(judge)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let missing =
        volume.metadata.deleting.is_none() && !volume.metadata.has_finalizer(PV_PROTECTION);
    let age = Age::stamped(volume.metadata.created);
    if !missing || !cx.older_than(&age, Threshold::Protection) {
        return Ok(None);
    }
    let finding = RULE
        .on_volume(
            cx,
            volume,
            "the object can be deleted while it is bound, and its claim would be lost",
        )
        .aged(age)
        .shows("missing protection", PV_PROTECTION)
        .shows_controller(&facts::controller_manager(cx));
    Ok(Some(finding.remedied_by(cx, volume, &remedies::ADD_PROTECTION)))
}
