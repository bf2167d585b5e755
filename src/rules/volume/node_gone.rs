//! F97: no node matches the node affinity of a volume.

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{
    Finding, NodeAffinity, NodeRequirement, NodeTerm, Phase, ReclaimPolicy, Severity, Text, Volume,
};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static NODE_GONE: Rule = Rule {
    id: "pv-node-gone",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![versions: PersistentVolume, CsiDriver, CsiNode, Node, VolumeAttachment],
    remedies: &[],
    title: "No node matches the node affinity of a volume",
    danger: "Pods that use it cannot start. The data of a volume on a disk of one machine is lost with that machine, \
             or returns with it. A provisioner that runs on every node serves only the volumes of its own node, and \
             cannot delete it either. A disk of a zone, which its controller deletes without a node, is no more than \
             out of reach of pods (severity low).",
    remedy: "The tool changes nothing, and refuses to reclaim a volume that is deleted on its node. Bring back a node \
             with these labels. If the machine is permanently gone, delete the claim and the object. A directory or a \
             disk of the machine (local-path, local-static, hostPath) is gone with it, and no policy keeps it. For a \
             driver whose storage may still exist, set the policy to Retain first: with policy Delete the finalizer of \
             its provisioner blocks the deletion. The machine may return with the data, which then has to be deleted by hand.",
    source: "external-provisioner, csiProvisioner.Delete with --node-deployment",
    judge: &[Judge::Volume(node_gone)],
};

fn node_gone(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    if !matches!(volume.phase, Phase::Bound | Phase::Released) {
        return Ok(None);
    }
    let Some(affinity) = &volume.node_affinity else { return Ok(None) };
    if !facts::node_gone(cx, volume)? {
        return Ok(None);
    }
    let on_node = facts::deletes_on_node(cx, volume, &facts::owner(volume));
    let by_controller = on_node == Some(false);
    let per_node = on_node.unwrap_or_else(|| facts::lies_on_node(volume));
    let needed = describe(affinity);
    let summary = match (&volume.phase, per_node) {
        _ if by_controller => {
            format!(
                "no node matches its node affinity ({needed}): no pod can use it until one exists"
            )
        }
        (Phase::Bound, _) => {
            format!("no node matches its node affinity ({needed}): pods of its claim cannot start")
        }
        (_, true) => {
            format!(
                "no node matches its node affinity ({needed}): a per-node provisioner cannot reclaim it"
            )
        }
        (_, false) => format!("no node matches its node affinity ({needed})"),
    };
    let mut finding =
        NODE_GONE.on_volume(cx, volume, summary).shows("spec.nodeAffinity.required", needed);
    if by_controller {
        finding = finding.severe(Severity::Low);
    }
    let nodes = last_nodes(cx, volume);
    if !nodes.is_empty() {
        finding = finding.shows("last node", nodes.join(", "));
    }
    let advice = match facts::lies_on_node(volume) {
        true => without_its_machine(volume),
        false => advice(volume, per_node),
    };
    Ok(Some(finding.report_only(advice)))
}

/// Returns advice about a volume whose data is a path of a machine that does not exist: it is lost with the machine,
/// whatever the policy.
fn without_its_machine(volume: &Volume) -> String {
    let object = volume.object();
    let first = match (&volume.phase, &volume.claim_ref) {
        (Phase::Bound, Some(claim)) => format!("delete the pods and claim {}, then ", claim.key),
        _ => String::new(),
    };
    let blocks = volume.metadata.finalizers.iter().any(|it| **it != *facts::PV_PROTECTION);
    let last = match blocks {
        true => format!(
            "`kubectl delete {object} --wait=false`, and `kubectl storage fix-finalizers {object}` shows what \
             removes the finalizers that block it"
        ),
        false => format!("`kubectl delete {object}`: no finalizer blocks it"),
    };
    format!(
        "the data is gone with its machine, unless the machine returns, and policy Retain does not \
         keep it; if it does not return, {first}{last}"
    )
}

/// Returns advice about a volume that no node can reach.
fn advice(volume: &Volume, per_node: bool) -> String {
    let object = volume.object();
    let mut steps = vec!["bring back a node with these labels"];
    let retain = format!("`kubectl storage retain {object}`");
    let last = "delete the PersistentVolume";
    if !per_node {
        return "bring back, or add, a node with these labels".to_owned();
    }
    steps.push("or, if the machine is permanently gone and its data is not needed,");
    let kept = volume.reclaim_policy == ReclaimPolicy::Retain;
    if !kept {
        steps.push(&retain);
        steps.push("(otherwise the finalizer of the provisioner blocks the deletion),");
    }
    if volume.phase == Phase::Bound {
        steps.push("delete the pods and the claim,");
    }
    if !kept || volume.phase == Phase::Bound {
        steps.push("and");
    }
    steps.push(last);
    format!("{}; the machine may return with the data", steps.join(" "))
}

/// Returns the nodes that attachments and pods still reference.
fn last_nodes(cx: &Cx, volume: &Volume) -> Vec<Text> {
    let attachments = cx.attachments_of(volume.name()).unwrap_or_default();
    let claim = volume.claim_ref.as_ref();
    let pods = claim.and_then(|claim| cx.pods_of(&claim.key).ok()).unwrap_or_default();
    let attached = attachments.into_iter().map(|attachment| Text::clone(&attachment.node));
    let mut nodes: Vec<_> =
        attached.chain(pods.into_iter().filter_map(|pod| pod.node.clone())).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// Formats an affinity: terms joined by "or", requirements by "and".
fn describe(affinity: &NodeAffinity) -> String {
    let terms: Vec<_> = affinity.terms.iter().map(describe_term).collect();
    terms.join(" or ")
}

fn describe_term(term: &NodeTerm) -> String {
    let parts: Vec<_> = term.labels.iter().chain(&term.fields).map(describe_requirement).collect();
    if parts.is_empty() { "no node".to_owned() } else { parts.join(" and ") }
}

fn describe_requirement(requirement: &NodeRequirement) -> String {
    let NodeRequirement { key, operator, values } = requirement;
    match &**operator {
        "In" if values.len() == 1 => format!("{key}={}", values.join(", ")),
        "In" => format!("{key} in ({})", values.join(", ")),
        "NotIn" => format!("{key} not in ({})", values.join(", ")),
        "Exists" => key.to_string(),
        "DoesNotExist" => format!("no {key}"),
        _ => format!("{key} {operator} {}", values.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requirement(key: &str, operator: &str, values: &[&str]) -> NodeRequirement {
        let values = values.iter().map(|value| Text::from(*value)).collect();
        NodeRequirement { key: key.into(), operator: operator.into(), values }
    }

    #[test]
    fn affinities_read_like_sentences() {
        let term = |labels: Vec<NodeRequirement>, fields: Vec<NodeRequirement>| NodeTerm {
            labels: labels.into(),
            fields: fields.into(),
        };
        let host = || requirement("kubernetes.io/hostname", "In", &["node-1"]);
        for (terms, text) in [
            (vec![term(vec![host()], vec![])], "kubernetes.io/hostname=node-1"),
            (
                vec![
                    term(vec![requirement("zone", "In", &["a", "b"]), host()], vec![]),
                    term(vec![], vec![requirement("metadata.name", "NotIn", &["x"])]),
                ],
                "zone in (a, b) and kubernetes.io/hostname=node-1 or metadata.name not in (x)",
            ),
            (
                vec![term(
                    vec![
                        requirement("ssd", "Exists", &[]),
                        requirement("old", "DoesNotExist", &[]),
                        requirement("cores", "Gt", &["4"]),
                    ],
                    vec![],
                )],
                "ssd and no old and cores Gt 4",
            ),
            (vec![term(vec![], vec![])], "no node"),
        ] {
            assert_eq!(describe(&NodeAffinity { terms: terms.into() }), text);
        }
    }
}
