//! F02: a volume is Released since an unknown time.

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{Finding, Kind, Phase, ReclaimPolicy, Severity, Trust, Volume};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule, finding::time};

pub(super) static RULE: Rule = Rule {
    id: "pv-released-unknown-age",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume],
    remedies: &[&remedies::RECLAIM],
    title: "A volume has been Released for an unknown time",
    danger: "Tools that use the creation time as age destroy volumes that were released a minute ago. The age is \
             unknown if the phase has not changed since the server learned to record it, if the record was removed, \
             or if managedFields were stripped.",
    remedy: "None by default. Reclaiming requires --include-unknown-age, which asserts that the age does not matter, \
             after the same checks as for volumes of a known age. The creation time is shown, never used.",
    source: "KEP-3762, notes on enabling the feature; apimachinery ManagedFieldsEntry",
    judge: &[Judge::Volume(judge)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let age = facts::phase_age(cx, volume);
    let applies = volume.phase == Phase::Released
        && volume.reclaim_policy == ReclaimPolicy::Retain
        && age.trust == Trust::Unknown;
    if !applies {
        return Ok(None);
    }
    let version =
        cx.server().and_then(|server| server.git_version.as_deref()).unwrap_or("<unknown>");
    let finding = RULE
        .on_volume(cx, volume, "Released at an unknown time; the creation time is not used as age")
        .aged(age)
        .shows("server version", version)
        .shows("metadata.creationTimestamp (not an age)", time(volume.metadata.created));
    Ok(Some(finding.remedied_by(cx, volume, &remedies::RECLAIM)))
}
