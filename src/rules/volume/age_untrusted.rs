//! F03: the recorded time of the last phase change contradicts other evidence.

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{Finding, Kind, ManagedField, Severity, Volume};
use crate::rules::{CapacityRisk, Judge, Rule, finding::time};

pub(super) static RULE: Rule = Rule {
    id: "pv-age-untrusted",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume],
    remedies: &[],
    title: "The time at which a volume is said to have changed its phase cannot be true",
    danger: "Anybody who may patch the status of volumes can write lastPhaseTransitionTime, and servers on which \
             the feature was switched off for a while keep a value from before. A volume that was released a \
             minute ago then looks as if nobody had wanted it for a year.",
    remedy: "The tool takes the younger of the two times that it has, and waits until that one is old enough. It \
             never rewrites the recorded time: the next change of phase does that.",
    source: "KEP-3762; persistentvolume strategy, PrepareForUpdate; apimachinery ManagedFieldsEntry",
    judge: &[Judge::Volume(judge)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let Some(reason) = facts::untrusted_reason(cx, volume) else { return Ok(None) };
    let finding = RULE
        .on_volume(
            cx,
            volume,
            "the recorded time of its last change of phase cannot be trusted as its age",
        )
        .aged(facts::state_age(cx, volume))
        .shows("why lastPhaseTransitionTime cannot be true", reason)
        .shows("metadata.creationTimestamp", time(volume.metadata.created))
        .shows_manager(&volume.metadata, &ManagedField::Phase, "managers of status.phase")
        .shows_manager(
            &volume.metadata,
            &ManagedField::LastPhaseTransitionTime,
            "managers of status.lastPhaseTransitionTime",
        );
    Ok(Some(finding.report_only(
        "the younger of the times that are left counts as its age; none is ever rewritten",
    )))
}
