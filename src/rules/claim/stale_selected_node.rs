//! F47: the selected node of a Pending claim does not exist or is cordoned.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, StaleNode};
use crate::model::{Age, Claim, Finding, Kind, Severity, Threshold};
use crate::rules::{CapacityRisk, Judge, Rule, finding::shown_event};

pub(super) static RULE: Rule = Rule {
    id: "pvc-stale-selected-node",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolumeClaim, Kind::Pod, Kind::Node, Kind::Event],
    remedies: &[],
    title: "A Pending claim waits for a volume on a node that does not exist or is cordoned",
    danger: "The provisioner can only create a volume that this node reaches, and the scheduler places the pod \
             nowhere else while the annotation names this node. If the node does not exist, the claim stays \
             Pending; older provisioners never remove the annotation.",
    remedy: "The tool changes nothing. Remove annotation volume.kubernetes.io/selected-node from the claim, and the \
             scheduler selects another node; deleting pod and claim has the same effect. Not while a volume is \
             being provisioned for that node: a second one would be created, and the first one leaked.",
    source: "sig-storage-lib-external-provisioner, rescheduleProvisioning; scheduler volumebinding plugin",
    judge: &[Judge::Claim(judge)],
};

/// Events of a provisioner that creates a volume, or has tried to. Not `ExternalProvisioning`,
/// which kube-controller-manager repeats while it waits for a provisioner.
const PROVISIONING: [&str; 2] = ["Provisioning", "ProvisioningFailed"];

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let Some(node) = &claim.selected_node else { return Ok(None) };
    let Some(stale) = facts::stale_selected_node(cx, claim)? else { return Ok(None) };
    let (severity, problem) = match stale {
        StaleNode::Missing => (Severity::Medium, "does not exist"),
        StaleNode::Cordoned => (Severity::Low, "is cordoned"),
    };
    let mut finding = RULE
        .on_claim(claim, format!("Pending: waits for a volume on node {node}, which {problem}"))
        .severe(severity)
        .aged(Age::stamped(claim.metadata.created))
        .shows("annotation volume.kubernetes.io/selected-node", &**node)
        .shows("node", problem)
        .relates_pods_of(cx, claim);
    let last = facts::last_event_about(cx, &claim.object(), &PROVISIONING);
    let quiet = |since| cx.older_than(&Age::stamped(since), Threshold::ProvisioningQuiet);
    let free = free(claim, stale);
    let advice = match last {
        Ok(None) => {
            finding = finding.shows("last provisioning event", "<none>");
            free
        }
        Ok(Some(event)) => {
            finding = finding.shows("last provisioning event", shown_event(&event));
            if quiet(event.last) {
                free
            } else {
                format!(
                    "keep the annotation for now, since a volume may be being provisioned for node {node}; later {free}"
                )
            }
        }
        Err(unseen) => {
            let advice = format!(
                "see that no volume is being provisioned for node {node} ({}); then {free}",
                unseen.reason
            );
            finding = finding.shows("last provisioning event", unseen.reason);
            advice
        }
    };
    Ok(Some(finding.report_only(advice)))
}

/// What lets the scheduler select another node.
fn free(claim: &Claim, stale: StaleNode) -> String {
    let (namespace, name) = (&*claim.namespace, &*claim.metadata.name);
    let annotation = "volume.kubernetes.io/selected-node";
    let remove = match [namespace, name].into_iter().all(facts::is_plain_word) {
        true => format!(
            "remove annotation {annotation}: `kubectl annotate pvc {name} -n {namespace} {annotation}-`"
        ),
        false => format!("remove annotation {annotation}"),
    };
    match stale {
        StaleNode::Missing => format!("{remove} (or delete pod and claim)"),
        StaleNode::Cordoned => format!("uncordon the node, or {remove}"),
    }
}
