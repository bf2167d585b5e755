//! F09: a claim references a volume that is bound to another claim.

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{Claim, ClaimPhase, Finding, Kind, Phase, ReclaimPolicy, Severity, Volume};
use crate::rules::{CapacityRisk, Judge, Rule, finding::shown_uid};

pub(super) static RULE: Rule = Rule {
    id: "pv-referenced-by-other-pvc",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume, Kind::PersistentVolumeClaim],
    remedies: &[],
    title: "A claim references by name a volume that is bound to another claim, or to none",
    danger: "A user is about to use this volume, or believes to use it. Reclaiming it would destroy what that claim \
             is waiting for; binding it to that claim shows the data of the earlier claim.",
    remedy: "Reclaiming such a volume is refused. Its owner decides whether the claim may have it; then the volume \
             has to be reserved for that claim.",
    source: "pv_controller.go, syncUnboundClaim and bind",
    judge: &[Judge::Volume(judge)],
};

fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let strangers: Vec<_> = cx
        .claims_naming(volume.name())?
        .into_iter()
        .filter(|claim| is_stranger(volume, claim))
        .collect();
    let Some(first) = strangers.first() else { return Ok(None) };
    let mut finding = RULE.on_volume(
        cx,
        volume,
        "a claim references it by name, but the volume is not bound to that claim",
    );
    for claim in &strangers {
        let object = claim.object();
        let completed = if claim.bind_completed { "present" } else { "<none>" };
        finding = finding
            .shows_of(&object, "metadata.uid", shown_uid(claim.metadata.uid.as_ref()))
            .shows_of(&object, "status.phase", claim.phase.to_string())
            .shows_of(&object, "annotation pv.kubernetes.io/bind-completed", completed)
            .relates([object]);
    }
    Ok(Some(finding.report_only(advice(volume, first)).unless_taken(cx, volume)))
}

fn advice(volume: &Volume, first: &Claim) -> String {
    if first.phase != ClaimPhase::Pending {
        return "find out which is right, the claim's spec.volumeName or the volume's spec.claimRef"
            .to_owned();
    }
    let kept = volume.phase == Phase::Released && volume.reclaim_policy == ReclaimPolicy::Retain;
    let command = facts::on_command_line(&volume.object());
    let (namespace, name) = (&*first.namespace, &*first.metadata.name);
    // Names of the cluster may be those that a shell would carry out.
    let plain = facts::is_plain_word(namespace) && facts::is_plain_word(name);
    match kept && plain {
        true => format!(
            "if that claim may have the data, run `kubectl storage rebind {command} --to \
             {namespace}/{name}`; otherwise correct the claim"
        ),
        false => {
            "if that claim may have the data, reserve the volume for it; otherwise correct the claim"
                .to_owned()
        }
    }
}

/// Whether a claim that references the volume differs from the claim that the volume references. A
/// volume that is reserved for the claim by name does not count.
fn is_stranger(volume: &Volume, claim: &Claim) -> bool {
    let Some(claim_ref) = &volume.claim_ref else { return true };
    match (&claim_ref.uid, &claim.metadata.uid) {
        (Some(wanted), Some(uid)) => wanted != uid,
        (None, _) | (_, None) => claim_ref.key != claim.key(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ClaimKey, ClaimRef, Metadata, Phase, ReclaimPolicy, Uid, VolumeSource};

    fn volume(claim_ref: Option<(&str, Option<&str>)>) -> Volume {
        let claim_ref = claim_ref.map(|(name, uid)| ClaimRef {
            key: ClaimKey { namespace: "shop".into(), name: name.into() },
            uid: uid.and_then(Uid::parse),
        });
        Volume {
            is_shared: false,
            access: crate::model::Access::default(),
            attributes: crate::model::Attributes::default(),
            attributes_class: None,
            metadata: Metadata { name: "data".into(), ..Metadata::default() },
            phase: Phase::Available,
            message: None,
            reason: None,
            last_phase_transition: None,
            reclaim_policy: ReclaimPolicy::Retain,
            claim_ref,
            source: VolumeSource::HostPath("/data".into()),
            backend: None,
            class: None,
            capacity: None,
            node_affinity: None,
            provisioned_by: None,
            migrated_to: None,
            bound_by_controller: false,
            deletion_secret: None,
            backend_state: None,
        }
    }

    #[test]
    fn only_the_claim_that_the_volume_names_is_no_stranger() {
        let claim = Claim {
            attributes_class: None,
            capacity: None,
            conditions: Box::default(),
            provisioner: None,
            resize_status: None,
            selected_node: None,
            source: None,
            metadata: Metadata { name: "a".into(), uid: Uid::parse("1"), ..Metadata::default() },
            namespace: "shop".into(),
            phase: ClaimPhase::Pending,
            volume_name: Some("data".into()),
            class: None,
            bind_completed: false,
            access: crate::model::Access::default(),
            selector: None,
            requested: None,
        };
        for (claim_ref, stranger) in [
            (None, true),
            (Some(("a", Some("1"))), false),
            (Some(("a", Some("2"))), true),
            (Some(("b", Some("2"))), true),
            (Some(("a", None)), false),
            (Some(("b", None)), true),
        ] {
            assert_eq!(is_stranger(&volume(claim_ref), &claim), stranger, "{claim_ref:?}");
        }
    }
}
