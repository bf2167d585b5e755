//! F96: the expansion of a claim failed, or is incomplete for longer than the threshold.

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{
    Age, Claim, ClaimCondition, Finding, PodUse, Severity, Threshold, Trust, format_bytes,
};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
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
    judge: &[Judge::Claim(judge)],
};

/// What blocks an expansion.
enum ResizeObstacle<'a> {
    /// The storage system or the node rejected it.
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

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
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
    let mut finding = RULE
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
