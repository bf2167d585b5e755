//! F46: a Bound claim without pods, workloads or owners that use it.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, ClaimDataEffect, Ownership};
use crate::model::{Age, Claim, ClaimPhase, Finding, Severity};
use crate::rules::{CapacityRisk, Judge, Rule, finding::time};

pub(super) static RULE: Rule = Rule {
    id: "pvc-unused",
    severity: Severity::Low,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![users: PersistentVolumeClaim, PersistentVolume, PartialObjectMetadata],
    remedies: &[],
    title: "A Bound claim that no pod, no template of a workload and no owner uses",
    danger: "Its backend volume is billed, and whose data it holds may be unknown. Something that was not \
             checked may still use it: custom resources, or programs outside the cluster such as backups.",
    remedy: "The tool changes nothing. Find out who needs it. Before the claim is deleted, set the policy of \
             its volume to Retain, so that the volume can be bound to another claim if the data is needed \
             after all.",
    source: "PVC protection proposal; KEP-5541 (condition Unused), which ignores finished pods and templates",
    judge: &[Judge::Claim(judge)],
};

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    if claim.phase != ClaimPhase::Bound || claim.metadata.deleting.is_some() {
        return Ok(None);
    }
    if !facts::pod_users(cx, claim)?.is_empty() {
        return Ok(None);
    }
    let (finished, others): (Vec<_>, Vec<_>) =
        cx.workloads_of(&claim.key())?.into_iter().partition(|workload| workload.finished);
    // A claim of a StatefulSet's template is judged by the rules about StatefulSets, in range or
    // not.
    if !others.is_empty() || !facts::template_of(cx, claim)?.is_empty() {
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
    for job in finished {
        let object = job.object();
        finding = finding
            .shows_of(&object, "references it", "finished: it starts no more pods")
            .relates([object]);
    }
    Ok(Some(finding.report_only(
        "find out who needs it; custom resources and users outside the cluster were not checked",
    )))
}
