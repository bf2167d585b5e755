//! F96: the expansion of a claim failed, or is incomplete for longer than the threshold.

use crate::cluster::{Cx, Seen};
use crate::model::{Age, Claim, ClaimCondition, Finding, Kind, PodUse, Severity, Threshold, Trust};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pvc-resize-stuck",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolumeClaim, Kind::Pod, Kind::StorageClass],
    remedies: &[],
    title: "A claim was to grow, and has not for long",
    danger: "Its pods go on with the old size, and fill it. While a resize has failed, the claim can neither shrink \
             below what its volume has by now nor, with older versions, be asked for anything else.",
    remedy: "None by the tool. Where the storage system cannot give the size, ask for less: a request may go back \
             down to anything above what status.capacity says. A file system grows once a pod mounts it.",
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
    let (severity, summary, reason) = match obstacle {
        ResizeObstacle::Failed(_) => (
            Severity::Medium,
            "was to grow, and that failed",
            "ask for a size that the storage system can give, or make room there: it is tried again",
        ),
        ResizeObstacle::FileSystem(_) => {
            let pods = cx.pods_of(&claim.key())?;
            let running = |pod: &&&PodUse| pod.node.is_some() && !pod.is_finished();
            match pods.iter().find(running) {
                Some(_) => (
                    Severity::Medium,
                    "its disk has grown, and its file system has not, although a pod has it",
                    "restart the pod; where that does not help, look at the node plugin of its driver",
                ),
                None => (
                    Severity::Low,
                    "its disk has grown; its file system grows once a pod mounts it",
                    "start a pod that mounts it",
                ),
            }
        }
    };
    let none = || "<none>".to_owned();
    let bytes = |size: Option<u64>| size.map_or_else(none, |size| size.to_string());
    let expansion = match &claim.class {
        Some(class) => match cx.claimed_class(class) {
            Ok(Some(class)) if class.allows_expansion => "true".to_owned(),
            Ok(Some(_)) => "false".to_owned(),
            Ok(None) => format!("storage class {class} is gone"),
            Err(unseen) => unseen.reason,
        },
        None => none(),
    };
    let mut finding = RULE
        .on_claim(claim, summary)
        .severe(severity)
        .aged(age)
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
