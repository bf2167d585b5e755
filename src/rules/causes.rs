//! Which findings explain others: the table of causes and effects, and how it is applied.
//!
//! Causes are looked up when a report is written, in the findings that there are: nothing about them
//! is kept, so that a report after a change is the report of a new assessment.

mod link;

pub use link::Link;

use crate::cluster::{Cx, Subject};
use crate::model::RuleId;

/// A finding that explains others.
#[derive(Debug, Clone, Copy)]
pub struct Cause {
    /// The rule of the cause.
    pub cause: RuleId,
    /// How its object is found.
    pub link: Link,
    /// The rules whose findings it explains.
    pub effects: &'static [RuleId],
}

/// All causes. If several hold, the first one is that under which a table folds the effect: what
/// makes progress impossible before what only hinders it.
pub static CAUSES: &[Cause] = &[
    Cause {
        cause: "provisioner-absent",
        link: Link::DriverOfVolume,
        effects: &[
            "pv-ext-finalizer-orphaned-driver",
            "pv-released-delete-stuck",
            "pv-stale-ext-finalizer-retain",
        ],
    },
    Cause {
        cause: "provisioner-absent",
        link: Link::AttacherOfObject,
        effects: &["pv-stuck-attacher-finalizer", "va-stuck-detaching"],
    },
    Cause {
        cause: "provisioner-absent",
        link: Link::ProvisionerOfClaim,
        effects: &["pvc-pending-too-long"],
    },
    Cause {
        cause: "pv-intree-plugin-removed",
        link: Link::Itself,
        effects: &["pv-failed", "pv-released-delete-stuck"],
    },
    Cause { cause: "va-orphan-pv-missing", link: Link::Itself, effects: &["va-stuck-detaching"] },
    Cause {
        cause: "va-node-missing",
        link: Link::NodeOfAttachment,
        effects: &["va-stuck-detaching"],
    },
    Cause {
        cause: "va-stuck-detaching",
        link: Link::AttachmentsOfVolume,
        effects: &["pv-released-still-attached", "pv-stuck-attacher-finalizer"],
    },
    Cause {
        cause: "va-node-missing",
        link: Link::AttachmentsOfVolume,
        effects: &["pv-released-still-attached", "pv-stuck-attacher-finalizer"],
    },
    Cause {
        cause: "pv-released-still-attached",
        link: Link::Itself,
        effects: &[
            "pv-delete-in-progress-or-failing",
            "pv-released-delete-stuck",
            "pv-stuck-attacher-finalizer",
        ],
    },
    Cause {
        cause: "pv-node-gone",
        link: Link::Itself,
        effects: &["pv-delete-in-progress-or-failing", "pv-released-delete-stuck"],
    },
    Cause {
        cause: "provisioner-rbac-missing-patch",
        link: Link::DriverOfVolume,
        effects: &[
            "pv-delete-in-progress-or-failing",
            "pv-missing-deletion-protection",
            "pv-released-delete-stuck",
            "pv-stale-ext-finalizer-retain",
        ],
    },
    Cause {
        cause: "provisioner-known-bad-version",
        link: Link::UnfinishedDriverOfVolume,
        effects: &["pv-delete-in-progress-or-failing", "pv-released-delete-stuck"],
    },
    Cause {
        cause: "pv-claim-ref-changed",
        link: Link::Itself,
        effects: &[
            "pv-delete-in-progress-or-failing",
            "pv-failed",
            "pv-referenced-by-other-pvc",
            "pv-released-delete-stuck",
        ],
    },
    Cause { cause: "pv-claim-ref-changed", link: Link::VolumeOfClaim, effects: &["pvc-lost"] },
    Cause {
        cause: "pv-released-claim-recreated",
        link: Link::VolumeOfClaim,
        effects: &["pvc-pending-too-long"],
    },
    Cause {
        cause: "pv-released-claim-recreated",
        link: Link::RecreatedClaimOfVolume,
        effects: &["pv-referenced-by-other-pvc"],
    },
    Cause {
        cause: "pv-referenced-by-other-pvc",
        link: Link::VolumeOfClaim,
        effects: &["pvc-pending-too-long"],
    },
    Cause {
        cause: "pv-pending-too-long",
        link: Link::VolumeOfClaim,
        effects: &["pvc-pending-too-long"],
    },
    Cause {
        cause: "pvc-held-by-completed-pods",
        link: Link::ClaimOfVolume,
        effects: &["pv-terminating-bound"],
    },
    Cause { cause: "pvc-lost", link: Link::ClaimsOfAttachment, effects: &["va-orphan-pv-missing"] },
    Cause { cause: "pvc-lost", link: Link::ClaimsOfPod, effects: &["pod-waiting-for-volume"] },
    Cause {
        cause: "pvc-stale-selected-node",
        link: Link::ClaimsOfPod,
        effects: &["pod-waiting-for-volume"],
    },
    Cause {
        cause: "pvc-pending-too-long",
        link: Link::ClaimsOfPod,
        effects: &["pod-waiting-for-volume"],
    },
    Cause { cause: "pv-node-gone", link: Link::VolumesOfPod, effects: &["pod-waiting-for-volume"] },
    Cause {
        cause: "pv-leak-imminent",
        link: Link::UnattachedVolumesOfPod,
        effects: &["pod-waiting-for-volume"],
    },
    Cause {
        cause: "pv-terminating-bound",
        link: Link::UnattachedVolumesOfPod,
        effects: &["pod-waiting-for-volume"],
    },
    Cause {
        cause: "va-stuck-detaching",
        link: Link::AttachmentsOfPod,
        effects: &["pod-waiting-for-volume"],
    },
    Cause {
        cause: "va-node-missing",
        link: Link::AttachmentsOfPod,
        effects: &["pod-waiting-for-volume"],
    },
    Cause {
        cause: "va-not-referenced",
        link: Link::AttachmentsOfPod,
        effects: &["pod-waiting-for-volume"],
    },
];

/// Whether what a rule finds lasts only until its cause is repaired: then its object waits for that.
/// Others follow from their cause, and have to be looked at once it is repaired.
pub fn waits(effect: &str) -> bool {
    !matches!(effect, "pv-missing-deletion-protection" | "pv-stale-ext-finalizer-retain")
}

/// Returns the findings that explain the finding of a rule about a subject, in the order of the
/// table. `found` tells whether a rule found something about a subject.
pub fn causes(
    cx: &Cx,
    subject: &Subject,
    effect: RuleId,
    found: impl Fn(&Subject, RuleId) -> bool,
) -> Vec<(RuleId, Subject)> {
    let mut causes: Vec<(RuleId, Subject)> = Vec::new();
    for row in CAUSES.iter().filter(|row| row.effects.contains(&effect)) {
        for object in row.link.follow(cx, subject) {
            let cause = (row.cause, object);
            if found(&cause.1, row.cause) && !causes.contains(&cause) {
                causes.push(cause);
            }
        }
    }
    causes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::rules::find;

    /// The rules that may explain a rule.
    fn graph() -> BTreeMap<RuleId, Vec<RuleId>> {
        let mut graph: BTreeMap<RuleId, Vec<RuleId>> = BTreeMap::new();
        for row in CAUSES {
            for effect in row.effects {
                graph.entry(effect).or_default().push(row.cause);
            }
        }
        graph
    }

    #[test]
    fn every_id_is_that_of_a_rule() {
        for row in CAUSES {
            for id in row.effects.iter().chain([&row.cause]) {
                assert!(find(id).is_some(), "there is no rule {id}");
            }
        }
    }

    /// If no rule explains itself, however far around, no finding does.
    #[test]
    fn no_finding_is_its_own_cause() {
        fn visit(graph: &BTreeMap<RuleId, Vec<RuleId>>, rule: RuleId, path: &mut Vec<RuleId>) {
            assert!(!path.contains(&rule), "{rule} explains itself: {path:?}");
            path.push(rule);
            for cause in graph.get(rule).into_iter().flatten() {
                visit(graph, cause, path);
            }
            path.pop();
        }
        let graph = graph();
        for rule in graph.keys() {
            visit(&graph, rule, &mut Vec::new());
        }
    }
}
