//! F62: a claim whose ordinal is out of the range of its `StatefulSet`.

use crate::cluster::{Cx, Seen};
use crate::facts::retention::{ClaimPod, membership, names_pod, volume_effect, wanted_owners};
use crate::model::{Age, Claim, Finding, Kind, Severity};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "sts-scaled-down-leftover",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: &[
        Kind::PersistentVolumeClaim,
        Kind::StatefulSet,
        Kind::Pod,
        Kind::PersistentVolume,
        Kind::HorizontalPodAutoscaler,
    ],
    remedies: &[],
    title: "A claim was left when its set was scaled down",
    danger: "It costs its size. With whenScaled Delete it should not be there: it dates from before that policy, or its \
             pod went while the controller did not look, and nobody visits it any more.",
    remedy: "Nothing is deleted: scaling up again would use it, and it may hold the only copy of a shard. When you are \
             sure that neither you nor an autoscaler scales up again, delete the claim yourself.",
    source: "KEP-1847; stateful_set_utils.go, podInOrdinalRange; stateful_set_control.go, updateStatefulSet",
    judge: &[Judge::Claim(judge)],
};

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let Some(member) = membership(cx, claim)?.decided else { return Ok(None) };
    let set = member.set;
    if claim.metadata.deleting.is_some() || set.metadata.deleting.is_some() || member.is_wanted() {
        return Ok(None);
    }
    let name = member.pod_name();
    let going = claim.metadata.owners.iter().any(|it| names_pod(it, &name));
    if going || member.pod_state(&name, member.pod(cx)?) != ClaimPod::Podless {
        return Ok(None);
    }
    let users = cx.pods_of(&claim.key())?;
    if !users.is_empty() {
        return Ok(None);
    }
    let deletes = wanted_owners(set.retention.as_ref(), true).pod;
    let summary = if deletes {
        "left by a scale-down, although whenScaled is Delete"
    } else {
        "left by a scale-down; a scale-up would use it again"
    };
    let scalers = cx.autoscalers_of(&set.namespace, &set.metadata.name)?;
    let scaled_by = scalers.first().map_or("<none>".to_owned(), |it| it.name.to_string());
    let size = claim.capacity.or(claim.requested);
    let size = size.map_or("<none>".to_owned(), |bytes| format!("{bytes} bytes"));
    let (fate, volume) = volume_effect(cx, claim);
    let finding = RULE
        .on_claim(claim, summary)
        .severe(if deletes { Severity::Medium } else { Severity::Low })
        .aged(Age::stamped(claim.metadata.created))
        .shows_member(claim, &member)
        .shows("pod", format!("there is no {name}"))
        .shows("size", size)
        .shows("autoscaler", scaled_by)
        .shows("if it is deleted", fate.describe())
        .about_volume(volume);
    Ok(Some(finding.report_only(if deletes {
        "delete it yourself, if nothing will scale the set up again"
    } else {
        "whenScaled retains it: keep it, or delete it yourself if nothing will scale the set up again"
    })))
}
