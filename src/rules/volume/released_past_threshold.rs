//! F01: a volume with policy Retain is Released for longer than the threshold.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, ClaimState, Owner};
use crate::model::{Finding, Kind, Phase, ReclaimPolicy, Severity, Threshold, Volume};
use crate::remedies;
use crate::rules::{
    CapacityRisk, Judge, Rule,
    finding::{shown_event, shown_uid},
};

pub(super) static RULE: Rule = Rule {
    id: "pv-released-past-threshold",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume, Kind::PersistentVolumeClaim],
    remedies: &[&remedies::RECLAIM],
    title: "A volume with policy Retain has been Released for longer than the threshold",
    danger: "The claim does not exist, the backend volume does: it is billed until you reclaim it. Deleting the \
             PersistentVolume object instead leaves the backend volume behind, without its only record.",
    remedy: "Reclaiming sets the policy to Delete and waits until the volume's own provisioner has deleted the \
             backend volume and the object. It is refused unless the claim does not exist, no pod, node, attachment, \
             snapshot or other volume references it, its age can be trusted, and its provisioner is running. The tool \
             never deletes the object itself. If the data is needed, `kubectl storage rebind pv/NAME` gives the \
             volume back to a claim instead.",
    source: "KEP-3762 (lastPhaseTransitionTime); KEP-2644; external-provisioner controller, shouldDelete",
    judge: &[Judge::Volume(judge)],
};

fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let kept = volume.phase == Phase::Released
        && volume.reclaim_policy == ReclaimPolicy::Retain
        && volume.metadata.deleting.is_none();
    if !kept {
        return Ok(None);
    }
    let age = facts::phase_age(cx, volume);
    if !cx.older_than(&age, Threshold::OlderThan) || !facts::semantically_released(cx, volume)? {
        return Ok(None);
    }
    let claim = match facts::claim_state(cx, volume)? {
        ClaimState::Changed(_) => return Ok(None), // Its own claim exists.
        ClaimState::Recreated(claim) => {
            format!("another claim has its name, uid {}", shown_uid(claim.metadata.uid.as_ref()))
        }
        ClaimState::Live(_) => "bound to another volume".to_owned(),
        ClaimState::None | ClaimState::Reserved | ClaimState::Absent => "does not exist".to_owned(),
    };
    let mut finding = RULE
        .on_volume(
            cx,
            volume,
            "no longer bound to a claim; policy Retain keeps the backend volume until you reclaim it",
        )
        .aged(age)
        .shows("claim", claim);
    if let Some(secret) = &volume.deletion_secret {
        let named = match (&*secret.namespace, &*secret.name) {
            ("", "") => "<none>".to_owned(),
            (namespace, name) => format!("{namespace}/{name}"),
        };
        finding = finding.shows("volume.kubernetes.io/provisioner-deletion-secret", named);
    }
    let event = match facts::last_event(cx, volume, &[]) {
        Ok(Some(event)) => shown_event(&event),
        Ok(None) => "<none>".to_owned(),
        Err(unseen) => unseen.reason,
    };
    finding = finding.shows("last event", event);
    if let Owner::Csi(driver) = facts::owner(volume) {
        for claimed in facts::claimed_versions(cx, &driver) {
            finding = finding.shows_of(&claimed.object, "claimed version", &*claimed.image);
        }
        finding = finding.shows_controller(&facts::provisioner(cx, &driver));
    }
    Ok(Some(finding.remedied_by(cx, volume, &remedies::RECLAIM)))
}
