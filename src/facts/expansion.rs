//! Progress of the expansion of a claim, by its status (external-resizer v2.3.0 `pkg/controller/resize_status.go`,
//! kubernetes `pkg/volume/util/resize_util.go`).

use super::event::last_event_about;
use crate::{
    cluster::{Cx, Seen},
    model::{Bytes, Claim},
};

/// Reason of events: external-resizer or the kubelet could not expand the volume of a claim.
const RESIZE_FAILED: [&str; 2] = ["VolumeResizeFailed", "FileSystemResizeFailed"];

/// Progress of the expansion of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ExpansionProgress {
    /// Nothing is requested that the claim does not have.
    Idle,
    /// A larger size is requested, and no controller has begun.
    Requested,
    /// The driver is asked to grow the backend volume.
    Controller,
    /// The backend volume has grown, and its file system is to.
    Node,
    /// A controller or the node could not do it.
    Failed(FailedExpansion),
}

/// Failure of an expansion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FailedExpansion {
    /// Whether the backend volume has grown, and its file system has not.
    pub(crate) on_node: bool,
    /// Whether the driver calls the size infeasible: it is asked again rarely, if at all.
    pub(crate) is_infeasible: bool,
    /// The message of the controller; empty if the status has none.
    pub(crate) message: String,
}

impl FailedExpansion {
    /// Describes the failure with its message.
    pub(crate) fn describe(&self) -> String {
        let what = match (self.on_node, self.is_infeasible) {
            (false, true) => "the driver calls this size infeasible",
            (false, false) => "the driver could not grow the backend volume",
            (true, _) => {
                "the backend volume has grown, but the node could not grow its file system"
            }
        };
        match &*self.message {
            "" => what.to_owned(),
            message => format!("{what}: {message}"),
        }
    }
}

impl ExpansionProgress {
    /// Reads the progress in the status of a claim.
    pub(crate) fn of(claim: &Claim) -> Self {
        let status = claim.resize_status.as_deref().unwrap_or_default();
        let failed = |kind: &str, status_of_failure: &str| {
            let condition = claim.condition(kind);
            let is_infeasible = status == status_of_failure;
            (condition.is_some() || is_infeasible).then(|| FailedExpansion {
                on_node: kind.starts_with("Node"),
                is_infeasible,
                message: condition.map(|it| it.message.to_string()).unwrap_or_default(),
            })
        };
        let on_node = failed("NodeResizeError", "NodeResizeInfeasible");
        let is_on_node = status.starts_with("Node") || holds(claim, "FileSystemResizePending");
        // The condition of an earlier attempt of the controller remains until the whole expansion has ended.
        let by_controller = || failed("ControllerResizeError", "ControllerResizeInfeasible");
        match on_node.or_else(|| by_controller().filter(|_| !is_on_node)) {
            Some(failed) => Self::Failed(failed),
            None if is_on_node => Self::Node,
            None if !status.is_empty() || holds(claim, "Resizing") => Self::Controller,
            None if is_larger(claim.requested, claim.capacity) => Self::Requested,
            None => Self::Idle,
        }
    }
}

fn holds(claim: &Claim, condition: &str) -> bool {
    claim.condition(condition).is_some()
}

fn is_larger(requested: Option<Bytes>, capacity: Option<Bytes>) -> bool {
    requested.zip(capacity).is_some_and(|(requested, capacity)| requested > capacity)
}

/// Returns the last error that was reported about the expansion of a claim. Errors after which external-resizer goes on
/// trying, such as `ResourceExhausted`, are only in its events.
///
/// # Errors
/// When events were not read.
pub(crate) fn expansion_error(cx: &Cx, claim: &Claim) -> Seen<Option<String>> {
    let event = last_event_about(cx, &claim.object(), &RESIZE_FAILED)?;
    Ok(event.filter(|it| it.newest.warning).map(|it| it.describe()))
}

#[cfg(test)]
mod tests {
    use super::{ExpansionProgress, FailedExpansion};
    use crate::model::{Claim, ClaimCondition};

    fn progress(sizes: (u64, u64), status: &str, conditions: &[&str]) -> ExpansionProgress {
        let condition = |kind: &&str| ClaimCondition {
            kind: (*kind).into(),
            holds: true,
            since: None,
            reason: "".into(),
            message: format!("{kind}!").into(),
        };
        ExpansionProgress::of(&Claim {
            requested: Some(sizes.0),
            capacity: Some(sizes.1),
            resize_status: (!status.is_empty()).then(|| status.into()),
            conditions: conditions.iter().map(condition).collect(),
            ..Claim::sample()
        })
    }

    fn failed(on_node: bool, is_infeasible: bool, message: &str) -> ExpansionProgress {
        let message = message.to_owned();
        ExpansionProgress::Failed(FailedExpansion { on_node, is_infeasible, message })
    }

    #[test]
    fn the_status_says_how_far_it_is() {
        use ExpansionProgress::{Controller, Idle, Node, Requested};
        for (sizes, status, conditions, expected) in [
            ((10, 10), "", &[][..], Idle),
            // A volume that was bound although it is larger.
            ((10, 20), "", &[], Idle),
            ((20, 10), "", &[], Requested),
            ((20, 10), "", &["Resizing"], Controller),
            ((20, 10), "ControllerResizeInProgress", &["Resizing"], Controller),
            ((20, 10), "NodeResizePending", &["Resizing", "FileSystemResizePending"], Node),
            // From servers without allocatedResourceStatuses.
            ((20, 10), "", &["FileSystemResizePending"], Node),
            (
                (20, 10),
                "ControllerResizeInfeasible",
                &["Resizing", "ControllerResizeError"],
                failed(false, true, "ControllerResizeError!"),
            ),
            (
                (20, 10),
                "ControllerResizeInProgress",
                &["Resizing", "ControllerResizeError"],
                failed(false, false, "ControllerResizeError!"),
            ),
            // It succeeded at the second attempt.
            ((20, 10), "NodeResizePending", &["Resizing", "ControllerResizeError"], Node),
            ((20, 10), "NodeResizeInfeasible", &[], failed(true, true, "")),
            (
                (20, 10),
                "NodeResizeInProgress",
                &["NodeResizeError"],
                failed(true, false, "NodeResizeError!"),
            ),
        ] {
            assert_eq!(progress(sizes, status, conditions), expected, "{status} {conditions:?}");
        }
    }
}
