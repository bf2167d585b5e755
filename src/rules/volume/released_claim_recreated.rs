//! F04: a volume references a claim that was deleted and recreated.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, ClaimState};
use crate::model::{Finding, Kind, Phase, Severity, Threshold, VerdictState, Volume};
use crate::remedies;
use crate::rules::{
    CapacityRisk, Judge, Rule,
    finding::{shown_uid, time},
};

pub(super) static RULE: Rule = Rule {
    id: "pv-released-claim-recreated",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume, Kind::PersistentVolumeClaim, Kind::Pod],
    remedies: &[&remedies::REBIND],
    title: "A volume was bound to a claim that was deleted and recreated under the same name",
    danger: "The new claim looks like the old one, so its users believe that it has the old data. It does not: it \
             cannot bind this volume again, and gets another one, usually an empty one. Reclaiming the Released \
             volume then destroys the only copy.",
    remedy: "`kubectl storage rebind` gives the volume to the claim of that name, as long as that claim is not bound \
             to another volume, or with --to to a claim of another name. Reclaiming such a volume requires \
             --include-recreated, which asserts that the new claim does not need its data.",
    source: "pv_controller.go, isVolumeReleased and syncVolume",
    judge: &[Judge::Volume(judge)],
};

fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    if !matches!(volume.phase, Phase::Released | Phase::Bound) {
        return Ok(None);
    }
    let ClaimState::Recreated(claim) = facts::claim_state(cx, volume)? else { return Ok(None) };
    if claim.metadata.uid.is_none() {
        return Ok(None); // A dump made by hand does not tell which claim it is.
    }
    let released = volume.phase == Phase::Released;
    let summary = if released {
        "its claim was recreated: the new claim does not have the data of this volume"
    } else {
        "Bound to a claim that was recreated: the new claim does not have the data of this volume"
    };
    let object = claim.object();
    let finding = RULE
        .on_volume(cx, volume, summary)
        .aged(facts::state_age(cx, volume))
        .shows_of(&object, "metadata.uid", shown_uid(claim.metadata.uid.as_ref()))
        .shows_of(&object, "metadata.creationTimestamp", time(claim.metadata.created))
        .shows_of(&object, "status.phase", claim.phase.to_string())
        .shows_of(&object, "spec.volumeName", claim.volume_name.as_deref().unwrap_or("<none>"))
        .relates([object])
        .relates_pods_of(cx, claim);
    if released {
        let mut finding = finding.remedied_by(cx, volume, &remedies::REBIND);
        if finding.verdict.state == VerdictState::Fixable {
            facts::CLEAR_THE_UID.clone_into(&mut finding.verdict.reason);
        }
        return Ok(Some(finding));
    }
    let resync = cx.settings().thresholds.get(Threshold::Resync);
    let noticed_late = claim.metadata.created.is_some_and(|created| cx.passed(created, resync));
    Ok(Some(finding.report_only(if noticed_late {
        "the volume controller should have released it long ago; check whether kube-controller-manager is running"
    } else {
        "the volume controller releases it shortly; then decide whose data is needed"
    })))
}
