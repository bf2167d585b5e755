//! F62: a claim whose ordinal is out of the range of its `StatefulSet`; a set with no replicas that
//! retains its claims is one finding.

use crate::cluster::{Cx, Seen};
use crate::facts::retention::{
    is_leftover, is_paused, leftover_age, membership, scalers, volume_effect, wanted_owners,
};
use crate::model::{Claim, Finding, Severity, StatefulSet, format_bytes};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "sts-scaled-down-leftover",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: crate::facts::needs![deletion: PersistentVolumeClaim, HorizontalPodAutoscaler],
    remedies: &[&remedies::DELETE_LEFTOVER],
    title: "Claims remain after a StatefulSet was scaled down",
    danger: "Their backend volumes are billed. With whenScaled Delete such a claim should not exist: it is older than \
             that policy, or its pod was deleted while the controller did not run, and no controller visits it any \
             more. A set with no replicas that retains its claims is paused.",
    remedy: "Scaling up uses the claims again, and one may contain the only copy of a shard. If neither you nor an \
             autoscaler will scale up again: with whenScaled Delete, `kubectl storage retention apply sts/NAME \
             --delete-leftovers --older-than AGE` deletes them; with Retain, `kubectl storage delete pvc NAME \
             --delete-leftovers` deletes one by name.",
    source: "KEP-1847; stateful_set_utils.go, podInOrdinalRange; stateful_set_control.go, updateStatefulSet",
    judge: &[Judge::Claim(judge), Judge::StatefulSet(judge_set)],
};

/// How many claims of a paused set are named, as examples.
const SHOWN: usize = 3;

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let Some(member) = membership(cx, claim)?.decided else { return Ok(None) };
    let set = member.set;
    if is_paused(set) || !is_leftover(cx, claim, &member)? {
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
    let size = claim.capacity.or(claim.requested);
    let size = size.map_or("<none>".to_owned(), |bytes| format!("{bytes} bytes"));
    let (fate, volume) = volume_effect(cx, claim);
    let finding = RULE
        .on_claim(claim, summary)
        .severe(if deletes { Severity::Medium } else { Severity::Low })
        .aged(leftover_age(cx, claim, &member)?)
        .shows_member(claim, &member)
        .shows("pod", format!("{} does not exist", member.pod_name()))
        .shows("size", size)
        .shows("autoscaler", autoscaler(cx, set)?)
        .shows("if it is deleted", fate.describe())
        .about_volume(volume);
    Ok(Some(if deletes {
        finding.remedied_by(cx, claim, &remedies::DELETE_LEFTOVER)
    } else {
        finding.report_only(
            "whenScaled retains it: keep it, or delete it yourself if nothing will scale the set up again",
        )
    }))
}

/// A set that was scaled to nothing for a while: its claims are as they should be.
fn judge_set(cx: &Cx, set: &StatefulSet) -> Seen<Option<Finding>> {
    if !is_paused(set) {
        return Ok(None);
    }
    let mut claims = Vec::new();
    for template in &set.templates {
        let stem = format!("{}-{}", template.name, set.metadata.name);
        for (_, claim) in cx.claims_of_stem(&set.namespace, &stem)? {
            let member = membership(cx, claim)?.decided;
            let member = member.filter(|it| it.set.metadata.name == set.metadata.name);
            if let Some(member) = member
                && is_leftover(cx, claim, &member)?
            {
                claims.push(claim);
            }
        }
    }
    if claims.is_empty() {
        return Ok(None);
    }
    let sizes = claims.iter().filter_map(|it| it.capacity.or(it.requested));
    let size = format_bytes(sizes.fold(0, u64::saturating_add));
    let summary = format!(
        "paused with 0 replicas: whenScaled Retain keeps its claims ({}, {size}), and a scale-up uses them again",
        claims.len()
    );
    let names: Vec<_> = claims.iter().take(SHOWN).map(|it| &*it.metadata.name).collect();
    let finding = RULE
        .on_set(set, summary)
        .severe(Severity::Info)
        .shows("claims", claims.len().to_string())
        .shows("the first of them", names.join(", "))
        .shows("size", size)
        .shows("autoscaler", autoscaler(cx, set)?)
        .relates(claims.iter().take(SHOWN).map(|it| it.object()));
    Ok(Some(finding.report_only(
        "nothing to do while it is paused; delete the claims yourself only if the set will never be scaled up again",
    )))
}

fn autoscaler(cx: &Cx, set: &StatefulSet) -> Seen<String> {
    let scalers: Vec<_> = scalers(cx, set)?.iter().map(ToString::to_string).collect();
    Ok(if scalers.is_empty() { "<none>".to_owned() } else { scalers.join(", ") })
}
