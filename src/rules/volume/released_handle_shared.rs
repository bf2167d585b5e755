//! F07: an Available, Released or Failed volume references the backend volume of another volume.

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{Finding, Kind, Phase, ReclaimPolicy, Severity, Volume};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

/// There may be thousands, and each finding would list all others.
const SHOWN: usize = 20;

pub(super) static RULE: Rule = Rule {
    id: "pv-released-handle-shared",
    severity: Severity::Critical,
    capacity_risk: CapacityRisk::Data,
    needs: &[Kind::PersistentVolume],
    remedies: &[&remedies::RETAIN],
    title: "A volume that nobody uses names the backend volume of another one",
    danger: "It looks like a leftover, so somebody will reclaim it: that deletes the disk under the other \
             volume. If it is Available, somebody will bind it, and two claims write to one disk.",
    remedy: "Setting the policy to Retain keeps its provisioner from deleting the disk. The tool reclaims \
             neither of them. Once it is clear which object is the right one, the other object can be dropped \
             while its policy is Retain, which keeps the disk.",
    source: "CSI spec, Volume.volume_id; csi-translation-lib",
    judge: &[Judge::Volume(judge)],
};

fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let unused = matches!(volume.phase, Phase::Released | Phase::Failed | Phase::Available);
    if !unused {
        return Ok(None);
    }
    let others = facts::sharing(cx, volume)?;
    if others.is_empty() {
        return Ok(None);
    }
    let mut finding = RULE
        .on_volume(
            cx,
            volume,
            "not in use, and another volume names the same disk: reclaiming this one destroys both",
        )
        .aged(facts::state_age(cx, volume));
    for (other, overlap) in others.iter().take(SHOWN) {
        let claim = other.claim_ref.as_ref().map_or("none".to_owned(), |it| it.key.to_string());
        let state = format!("{}, policy {}, claim {claim}", other.phase, other.reclaim_policy);
        finding = finding
            .shows_of(&other.object(), facts::lies(overlap), state)
            .relates([other.object()]);
    }
    if volume.reclaim_policy == ReclaimPolicy::Delete {
        return Ok(Some(finding.remedied_by(cx, volume, &remedies::RETAIN)));
    }
    let deletes = others.iter().find(|(other, _)| other.reclaim_policy == ReclaimPolicy::Delete);
    Ok(Some(finding.report_only(match deletes {
        Some((other, _)) => {
            format!("set the policy of {} to Retain before anything else", other.object())
        }
        None => "all of them are retained: decide which object is the right one".to_owned(),
    })))
}
