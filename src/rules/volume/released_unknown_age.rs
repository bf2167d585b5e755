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
    title: "A Released volume does not tell since when it has been Released",
    danger: "Tools that take the creation time for an age destroy volumes that were released a minute ago. \
             A volume has no age when its phase has not changed since the server learned to record it, when \
             the record was removed, or when managedFields were stripped.",
    remedy: "Nothing by default. Reclaiming needs the admin's word that the age does not matter, for each volume, \
             after the same checks as for volumes of a known age. Creation time is shown, never used.",
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
        .on_volume(cx, volume, "Released, but nothing tells since when; its creation is not an age")
        .aged(age)
        .shows("server version", version)
        .shows("metadata.creationTimestamp (not an age)", time(volume.metadata.created));
    Ok(Some(finding.remedied_by(cx, volume, &remedies::RECLAIM)))
}
