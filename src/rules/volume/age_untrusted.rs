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
    title: "The recorded time of a volume's last phase change cannot be true",
    danger: "Any user who may patch the status of volumes can write lastPhaseTransitionTime, and servers on which the \
             feature was off for a while keep an old value. A volume that was released a minute ago then looks unused \
             for a year.",
    remedy: "The tool uses the younger of the two times that it has. It never rewrites the recorded time: the next \
             change of phase does that.",
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
            "the recorded time of its last phase change cannot be trusted as its age",
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
    Ok(Some(
        finding
            .report_only("the younger of the remaining times counts as its age; none is rewritten"),
    ))
}
