//! F46: a Bound claim without pods, workloads or owners that use it.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, ClaimDataEffect, Ownership};
use crate::model::{Age, Claim, ClaimPhase, Finding, Severity};
use crate::rules::{CapacityRisk, Judge, Rule, finding::time};

pub(super) static RULE: Rule = Rule {
    id: "pvc-unused",
    severity: Severity::Low,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![users: PersistentVolumeClaim, PersistentVolume, StorageClass, Secret, PartialObjectMetadata, Lease],
    remedies: &[],
    title: "A Bound claim that no pod, no template of a workload and no owner uses",
    danger: "Its backend volume is billed, and whose data it holds may be unknown. Something that was not \
             checked may still use it: custom resources, or programs outside the cluster such as backups.",
    remedy: "Find out who needs it. `kubectl storage delete pvc NAME --keep-data` then deletes only the claim: it \
             first sets the policy of the volume to Retain. If the data is needed after all, \
             `kubectl storage rebind pv/NAME` gives the volume back to a claim.",
    source: "PVC protection proposal; KEP-5541 (condition Unused), which ignores finished pods and templates",
    judge: &[Judge::Claim(judge)],
};

const UNCHECKED: &str = "custom resources and users outside the cluster were not checked";

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    if claim.phase != ClaimPhase::Bound || claim.metadata.deleting.is_some() {
        return Ok(None);
    }
    if !facts::pod_users(cx, claim)?.is_empty() {
        return Ok(None);
    }
    let workloads = facts::claim_workloads(cx, &claim.key())?;
    // A claim of a StatefulSet's template is judged by the rules about StatefulSets, in range or
    // not.
    if !workloads.active.is_empty() || !facts::template_of(cx, claim)?.is_empty() {
        return Ok(None);
    }
    if let Some(owner) = facts::controller_of(&claim.metadata)
        && facts::ownership(cx, claim, owner)? != Ownership::Dangling
    {
        return Ok(None);
    }
    if facts::is_doomed(cx, claim) == Ok(true) {
        return Ok(None); // on its way out
    }
    let mark = facts::operator_mark(&claim.metadata);
    // Pods are made with it when they are wanted, and claims without pods are the rule.
    if mark.is_some_and(|it| it.makes_pods_on_demand()) {
        return Ok(None);
    }
    let fate = facts::data_effect(cx, claim);
    if fate == ClaimDataEffect::NoVolume {
        return Ok(None); // lost or misbound, which other rules tell
    }
    let unused = claim.condition("Unused").and_then(|condition| condition.since);
    let since = unused.map_or_else(
        || "unknown: no condition Unused".to_owned(),
        |since| format!("{}, by the condition Unused", time(Some(since))),
    );
    let mut finding = RULE
        .on_claim(
            claim,
            "Bound, but no pod, workload or owner uses it (custom resources not checked)",
        )
        .shows("unused since", since)
        .shows("metadata.creationTimestamp", time(claim.metadata.created))
        .shows("checked", facts::checked_kinds())
        .shows("consequence", fate.words("it is deleted"))
        .about_volume(fate.volume())
        .relates(fate.volume().map(crate::model::Volume::object));
    if unused.is_some() {
        finding = finding.aged(Age::stamped(unused));
    }
    for workload in workloads.dormant {
        let object = workload.object();
        let why = match workload.finished {
            true => "finished: it starts no more pods",
            false => "an earlier revision of its Deployment: only a rollback starts its pods",
        };
        finding = finding.shows_of(&object, "references it", why).relates([object]);
    }
    let Some(mark) = mark else {
        return Ok(Some(finding.report_only(format!("find out who needs it; {UNCHECKED}"))));
    };
    let operator = mark.mark.operator;
    let finding = finding.shows("metadata.labels", mark.label()).shows("made by", operator);
    let reason = format!(
        "label {} is a mark of {operator}: find out whether it still needs the claim; {UNCHECKED}",
        mark.label()
    );
    Ok(Some(finding.report_only(reason)))
}
