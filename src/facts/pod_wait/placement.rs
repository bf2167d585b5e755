//! Volumes because of which the scheduler finds no node for a pod.

use super::{Obstacle, PodClaim};
use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{NodeAffinity, Volume};

/// What the objects show of why a pod has no node.
pub(super) fn unscheduled(cx: &Cx, claims: &[PodClaim]) -> Seen<Option<Obstacle>> {
    for it in claims {
        if let Some(found) = it.without_volume() {
            return Ok(Some(found));
        }
        if let Some(claim) = it.claim.filter(|it| it.metadata.deleting.is_some()) {
            let object = claim.object();
            let cause =
                format!("{object} is Terminating, and the scheduler rejects new pods that use it");
            let advice = "after the last pod that uses the claim is deleted, the claim is deleted and has to be recreated";
            return Ok(Some(Obstacle::certain(cause, advice).relates([object])));
        }
        if let Some(volume) = it.volume
            && let Some(found) = unreachable(cx, volume)?
        {
            return Ok(Some(found.relates(it.claim.map(crate::model::Claim::object))));
        }
    }
    Ok(None)
}

/// What the scheduler reports, if it blames volumes: it knows more than the objects show here, such
/// as limits of nodes.
pub(super) fn reported(message: &str, claims: &[PodClaim]) -> Option<Obstacle> {
    if !is_about_volumes(message) {
        return None;
    }
    let cause =
        format!("the scheduler finds no node for its volumes ({})", facts::brief_error(message));
    let affinities = claims.iter().filter_map(|it| it.volume?.node_affinity.as_ref());
    let mut hosts: Vec<_> = affinities.filter_map(|it| hosts(it)).flatten().collect();
    hosts.dedup();
    let advice = match hosts.is_empty() {
        true => "see that a node that can have its volumes has room for the pod".to_owned(),
        false => format!(
            "its volumes are bound to node {}: see that the pod can run there",
            hosts.join(", ")
        ),
    };
    Some(Obstacle::certain(cause, advice))
}

/// Whether a message of the scheduler blames volumes: plugins `VolumeBinding`, `VolumeZone`,
/// `VolumeRestrictions` and `NodeVolumeLimits`.
fn is_about_volumes(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    ["volume", "persistentvolumeclaim", "pvc("].iter().any(|it| message.contains(it))
}

/// Why no node can run pods with a volume: none matches its node affinity, or none of those is
/// usable.
fn unreachable(cx: &Cx, volume: &Volume) -> Seen<Option<Obstacle>> {
    let Some(affinity) = &volume.node_affinity else { return Ok(None) };
    if cx.node_matching(affinity, |node| node.ready && !node.unschedulable)?.is_some() {
        return Ok(None);
    }
    let (pv, hosts) = (volume.object(), hosts(affinity));
    let Some(node) = cx.node_matching(affinity, |_| true)? else {
        if !facts::node_gone(cx, volume)? {
            return Ok(None);
        }
        return Ok(Some(match hosts {
            Some(hosts) => {
                let hosts = hosts.join(", ");
                Obstacle::certain(
                    format!("{pv} is bound to node {hosts}, which does not exist"),
                    format!(
                        "bring node {hosts} back; if it never returns, its data is lost: delete claim and pod, and restore \
                         the data"
                    ),
                )
            }
            None => Obstacle::certain(
                format!("no node matches the node affinity of {pv}"),
                "add a node with these labels",
            ),
        }.relates([pv])));
    };
    let name = &node.metadata.name;
    let (state, advice) = match (node.ready, node.unschedulable) {
        (true, _) => ("cordoned", format!("uncordon node {name}")),
        (false, false) => ("not Ready", format!("bring node {name} back")),
        (false, true) => {
            ("not Ready and cordoned", format!("bring node {name} back, and uncordon it"))
        }
    };
    let cause = match hosts {
        Some(_) => format!("{pv} is bound to node {name}, which is {state}"),
        None => format!("no usable node matches the node affinity of {pv}; node {name} is {state}"),
    };
    Ok(Some(Obstacle::certain(cause, advice).relates([pv])))
}

/// The hosts that an affinity requires by name; `None` if it requires something else.
fn hosts(affinity: &NodeAffinity) -> Option<Vec<String>> {
    let mut hosts = Vec::new();
    for term in &affinity.terms {
        let named = |key: &str, by: &str, operator: &str| key == by && operator == "In";
        let label =
            term.labels.iter().find(|it| named(&it.key, "kubernetes.io/hostname", &it.operator));
        let field = term.fields.iter().find(|it| named(&it.key, "metadata.name", &it.operator));
        hosts.extend(label.or(field)?.values.iter().map(ToString::to_string));
    }
    hosts.sort_unstable();
    hosts.dedup();
    (!hosts.is_empty()).then_some(hosts)
}
