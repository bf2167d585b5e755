//! Findings about claims that no pod uses, and claims whose resizing is stuck.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, ClaimDataEffect, Ownership};
use crate::model::{
    Age, Claim, ClaimCondition, ClaimPhase, Finding, PodUse, Severity, Threshold, Trust,
    format_bytes,
};
use crate::rules::{CapacityRisk, Judge, Rule, finding::time};

/// F46: a Bound claim without pods, workloads or owners that use it.
pub(super) static UNUSED: Rule = Rule {
    id: "pvc-unused",
    severity: Severity::Low,
    capacity_risk: CapacityRisk::Unused,
    needs: facts::needs![users: PersistentVolumeClaim, PersistentVolume, StorageClass, Secret, PartialObjectMetadata, Lease],
    remedies: &[],
    title: "A Bound claim that no pod, no template of a workload and no owner uses",
    danger: "Its backend volume is billed, and whose data it holds may be unknown. Something that was not \
             checked may still use it: custom resources, or programs outside the cluster such as backups.",
    remedy: "Find out who needs it. `kubectl storage delete pvc NAME --keep-data` then deletes only the claim: it \
             first sets the policy of the volume to Retain. If the data is needed after all, \
             `kubectl storage rebind pv/NAME` gives the volume back to a claim.",
    source: "PVC protection proposal; KEP-5541 (condition Unused), which ignores finished pods and templates",
    judge: &[Judge::Claim(unused)],
};

const UNCHECKED: &str = "custom resources and users outside the cluster were not checked";

fn unused(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
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
    let mut finding = UNUSED
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

/// F96: the expansion of a claim failed, or is incomplete for longer than the threshold.
pub(super) static RESIZE_STUCK: Rule = Rule {
    id: "pvc-resize-stuck",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![deletion: PersistentVolumeClaim],
    remedies: &[],
    title: "Expansion of a claim has failed or is incomplete for longer than the threshold",
    danger: "Its pods continue with the old size, and can fill it. While an expansion has failed, no size \
             below the one that the volume has by now can be requested, and servers before 1.34 may reject \
             any smaller request. Deleting the claim to recreate it destroys the data, if the policy is \
             Delete.",
    remedy: "The tool changes nothing. If the storage backend cannot provide the size, request less: anything \
             above status.capacity. A file system is expanded when a pod mounts it: start a pod that uses the \
             claim.",
    source: "kubernetes pkg/volume/util/resize_util.go; external-resizer",
    judge: &[Judge::Claim(resize_stuck)],
};

/// Obstacle of an expansion.
enum ResizeObstacle<'a> {
    /// The storage system or the node rejected the expansion.
    Failed(&'a ClaimCondition),
    /// The backend volume was expanded; its file system is expanded when a pod mounts it.
    FileSystem(&'a ClaimCondition),
}

fn obstacle(claim: &Claim) -> Option<ResizeObstacle<'_>> {
    let failed = ["ControllerResizeError", "NodeResizeError"];
    if let Some(condition) = failed.into_iter().find_map(|kind| claim.condition(kind)) {
        return Some(ResizeObstacle::Failed(condition));
    }
    // An infeasible expansion does not always have a condition of its own.
    let infeasible = ["ControllerResizeInfeasible", "NodeResizeInfeasible"];
    if claim.resize_status.as_deref().is_some_and(|status| infeasible.contains(&status)) {
        return claim.condition("Resizing").map(ResizeObstacle::Failed);
    }
    claim.condition("FileSystemResizePending").map(ResizeObstacle::FileSystem)
}

fn resize_stuck(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let Some(obstacle) = obstacle(claim) else { return Ok(None) };
    let (ResizeObstacle::Failed(condition) | ResizeObstacle::FileSystem(condition)) = obstacle;
    let age = match condition.since {
        Some(since) => Age { since: Some(since), trust: Trust::SingleSource },
        None => Age::UNKNOWN,
    };
    if !cx.older_than(&age, Threshold::Stuck) {
        return Ok(None);
    }
    let size = |size: Option<u64>| size.map_or_else(|| "an unknown size".to_owned(), format_bytes);
    let sizes = format!("requests {} and has {}", size(claim.requested), size(claim.capacity));
    let (severity, state, mut reason) = match obstacle {
        ResizeObstacle::Failed(condition) => {
            let retries =
                if condition.kind.starts_with("Node") { "kubelet" } else { "external-resizer" };
            let error = match condition.message.is_empty() {
                true => String::new(),
                false => format!(" ({})", facts::brief_error(&condition.message)),
            };
            (
                Severity::Medium,
                format!("expansion failed{error}"),
                format!(
                    "request a size that the storage backend can provide, or make room there; {retries} retries"
                ),
            )
        }
        ResizeObstacle::FileSystem(_) => {
            let pods = cx.pods_of(&claim.key())?;
            let runs =
                |pod: &&&PodUse| pod.node.is_some() && !pod.is_finished() && pod.deleting.is_none();
            match pods.iter().find(runs) {
                Some(pod) => (
                    Severity::Medium,
                    format!("the backend volume is expanded, its file system is not, although {} uses it", pod.object()),
                    "restart the pod; if that does not help, look at the log of the node plugin of its driver".to_owned(),
                ),
                None => (
                    Severity::Low,
                    "the backend volume is expanded, its file system is expanded when a pod mounts it".to_owned(),
                    "start a pod that mounts it".to_owned(),
                ),
            }
        }
    };
    let effect = facts::data_effect(cx, claim);
    if effect.loses_data() {
        reason.push_str("; deleting the claim instead destroys the data");
    }
    let none = || "<none>".to_owned();
    let bytes = |size: Option<u64>| {
        size.map_or_else(none, |size| format!("{} ({size} bytes)", format_bytes(size)))
    };
    let expansion = match &claim.class {
        Some(class) => match cx.claimed_class(class) {
            Ok(Some(class)) if class.allows_expansion => "true".to_owned(),
            Ok(Some(_)) => "false".to_owned(),
            Ok(None) => format!("StorageClass {class} does not exist"),
            Err(unseen) => unseen.reason,
        },
        None => none(),
    };
    let mut finding = RESIZE_STUCK
        .on_claim(claim, format!("{sizes}: {state}"))
        .severe(severity)
        .aged(age)
        .about_volume(effect.volume())
        .shows("spec.resources.requests.storage", bytes(claim.requested))
        .shows("status.capacity.storage", bytes(claim.capacity))
        .shows("allowVolumeExpansion of its class", expansion)
        .shows("status.conditions[].type", &*condition.kind);
    if let Some(status) = &claim.resize_status {
        finding = finding.shows("status.allocatedResourceStatuses.storage", &**status);
    }
    if !condition.message.is_empty() {
        finding = finding.shows("status.conditions[].message", &*condition.message);
    }
    Ok(Some(finding.report_only(reason)))
}
