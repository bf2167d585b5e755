//! F107: the claimRef of a volume was changed, while its own claim exists.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, ClaimState};
use crate::model::{Finding, ManagedField, ReclaimPolicy, Severity, VerdictState, Volume};
use crate::remedies;
use crate::rules::{
    CapacityRisk, Judge, Rule,
    finding::{shown_uid, time},
};

pub(super) static RULE: Rule = Rule {
    id: "pv-claim-ref-changed",
    severity: Severity::Critical,
    capacity_risk: CapacityRisk::Data,
    needs: facts::needs![versions: PersistentVolume, PersistentVolumeClaim],
    remedies: &[&remedies::RETAIN, &remedies::REBIND],
    title: "The uid in a volume's claimRef was changed, and its own claim still exists",
    danger: "Kubernetes takes the volume for Released: with policy Delete its controller destroys the data within \
             seconds, although the claim exists and pods may use it. The claim becomes Lost. A patch does this, and so \
             does an old manifest that is applied over the volume.",
    remedy: "`kubectl storage retain` stops the deletion while there is time; then `kubectl storage rebind` writes the \
             uid of the claim back. `gc` refuses such a volume. `kubectl storage guard` refuses such changes. What \
             applied the manifest must be stopped first, or it does so again.",
    source: "pv_controller.go, syncVolume (claim.UID != volume.Spec.ClaimRef.UID); getProvisionedVolumeNameForClaim",
    judge: &[Judge::Volume(judge)],
};

fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let ClaimState::Changed(claim) = facts::claim_state(cx, volume)? else { return Ok(None) };
    let (object, retained) = (claim.object(), volume.reclaim_policy == ReclaimPolicy::Retain);
    let own = claim.metadata.uid.as_ref().map(ToString::to_string);
    let evidence = match facts::provisioned_for(volume.name()) {
        named if named.is_some() && named == own.as_deref() => {
            "the volume's name is pvc- and the claim's uid"
        }
        _ if facts::is_made_for(volume, claim) => {
            "the volume's name or handle holds the claim's uid"
        }
        _ => "the claim was bound to the volume, and is older than its release",
    };
    let uid = volume.claim_ref.as_ref().and_then(|it| it.uid.as_ref());
    let finding = RULE
        .on_volume(
            cx,
            volume,
            match retained {
                true => "spec.claimRef was changed: its own claim exists, and is not bound to it any more",
                false => "spec.claimRef was changed: policy Delete destroys the data, although its own claim exists",
            },
        )
        .severe(if retained { Severity::High } else { Severity::Critical })
        .aged(facts::state_age(cx, volume))
        .shows("own claim", evidence)
        .shows("spec.claimRef.uid", shown_uid(uid))
        .shows_manager(&volume.metadata, &ManagedField::ClaimUid, "spec.claimRef.uid written by")
        .shows_of(&object, "metadata.uid", shown_uid(claim.metadata.uid.as_ref()))
        .shows_of(&object, "metadata.creationTimestamp", time(claim.metadata.created))
        .shows_of(&object, "status.phase", claim.phase.to_string())
        .relates([object])
        .relates_pods_of(cx, claim);
    let advice = facts::giving_back(volume, claim);
    if retained && volume.metadata.deleting.is_some() {
        return Ok(Some(finding.report_only(advice)));
    }
    let remedy = if retained { &remedies::REBIND } else { &remedies::RETAIN };
    let mut finding = finding.remedied_by(cx, volume, remedy);
    if finding.verdict.state == VerdictState::Fixable {
        finding.verdict.reason = advice;
    }
    Ok(Some(finding))
}
