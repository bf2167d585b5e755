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
    title: "A Released volume has been kept by its Retain policy for longer than the threshold",
    danger: "The claim is gone, the disk is not: it is billed for ever, and nobody looks at it any more. \
             Deleting the PersistentVolume object instead of reclaiming it makes that permanent, since the \
             only record of the disk goes with it.",
    remedy: "Reclaiming sets the policy to Delete and waits until the volume's own provisioner has deleted \
             the backend volume and the object. It is refused unless the claim is gone, no pod, node, attachment, \
             snapshot or other volume has to do with it, its age can be trusted, and its provisioner is at work. \
             The object itself is never deleted by the tool.",
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
        ClaimState::Recreated(claim) => {
            format!("another claim has its name, uid {}", shown_uid(claim.metadata.uid.as_ref()))
        }
        ClaimState::Live(_) => "bound to another volume".to_owned(),
        ClaimState::None | ClaimState::Reserved | ClaimState::Absent => "gone".to_owned(),
    };
    let mut finding = RULE
        .on_volume(
            cx,
            volume,
            "its claim is gone, Retain keeps the disk, and nobody has reclaimed it",
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
