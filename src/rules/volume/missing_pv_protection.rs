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
    title: "A volume lacks the finalizer kubernetes.io/pv-protection",
    danger: "Every volume gets it when it is created. Without it a bound volume can be deleted at once: its claim \
             becomes Lost, and the only record of the backend volume is deleted.",
    remedy: "kube-controller-manager adds it, so check whether it is running. The tool adds it to a volume that is \
             named; if kube-controller-manager is absent, a later deletion of the volume will be stuck.",
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
            "lacks finalizer kubernetes.io/pv-protection, which blocks deletion while a claim is bound",
        )
        .aged(age)
        .shows("missing protection", PV_PROTECTION)
        .shows_controller(&facts::controller_manager(cx));
    Ok(Some(finding.remedied_by(cx, volume, &remedies::ADD_PROTECTION)))
}
