//! F47: the selected node of a Pending claim does not exist or is cordoned.

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{Age, Claim, ClaimPhase, Finding, Kind, Severity, Threshold};
use crate::rules::{CapacityRisk, Judge, Rule, finding::shown_event};

pub(super) static RULE: Rule = Rule {
    id: "pvc-stale-selected-node",
    severity: Severity::Low,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolumeClaim, Kind::Node, Kind::Event],
    remedies: &[],
    title: "A Pending claim waits for a volume on a node that is gone or cordoned",
    danger: "The provisioner is asked for a volume that this node can reach, and the pod can only run there. \
             A provisioner that runs on each node is not there any more to make it.",
    remedy: "The tool changes nothing. Removing the annotation lets the scheduler choose again, but not while \
             a volume is in the making for that node: a second one would be made, and the first be \
             known to nobody.",
    source: "sig-storage-lib-external-provisioner, rescheduleProvisioning; scheduler volumebinding plugin",
    judge: &[Judge::Claim(judge)],
};

/// Events of a provisioner that creates a volume, or has tried to. Not `ExternalProvisioning`,
/// which kube-controller-manager repeats while it waits for a provisioner.
const PROVISIONING: [&str; 2] = ["Provisioning", "ProvisioningFailed"];

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let Some(node) = &claim.selected_node else { return Ok(None) };
    if claim.phase != ClaimPhase::Pending || claim.metadata.deleting.is_some() {
        return Ok(None);
    }
    let found = match cx.node(node, Kind::PersistentVolumeClaim)? {
        None => "does not exist",
        Some(node) if node.unschedulable => "is cordoned",
        Some(_) => return Ok(None),
    };
    let finding = RULE
        .on_claim(claim, format!("waits for a volume on node {node}, which {found}"))
        .shows("annotation volume.kubernetes.io/selected-node", &**node)
        .shows("node", found);
    let last = facts::last_event_about(cx, &claim.object(), &PROVISIONING);
    let quiet =
        |since| cx.older_than(&Age { since, ..Age::stamped(since) }, Threshold::ProvisioningQuiet);
    Ok(Some(match last {
        Ok(None) => finding
            .shows("last provisioning event", "<none>")
            .report_only("removing the annotation lets the scheduler choose another node"),
        Ok(Some(event)) => {
            let finding = finding.shows("last provisioning event", shown_event(&event));
            finding.report_only(if quiet(event.last) {
                "removing the annotation lets the scheduler choose another node"
            } else {
                "leave the annotation for now: a volume may be in the making for that node"
            })
        }
        Err(unseen) => finding.shows("last provisioning event", unseen.reason).report_only(
            "make sure that no volume is in the making for that node before the annotation is removed",
        ),
    }))
}
