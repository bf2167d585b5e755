//! Findings about pods.

use super::{CapacityRisk, Judge, Rule};
use crate::cluster::{Cx, Seen};
use crate::facts::{self, PodClaim};
use crate::model::{Age, Finding, Kind, PodUse, Severity, Threshold};

/// The rules about pods, in the order of the documentation.
pub(super) static RULES: &[&Rule] = &[&WAITING_FOR_VOLUME];

/// F98: a pod cannot start, because of a volume.
static WAITING_FOR_VOLUME: Rule = Rule {
    id: "pod-waiting-for-volume",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: &[
        Kind::PersistentVolumeClaim,
        Kind::PersistentVolume,
        Kind::StorageClass,
        Kind::Pod,
        Kind::Node,
        Kind::VolumeAttachment,
        Kind::Event,
    ],
    remedies: &[],
    title: "A pod has waited for one of its volumes for longer than the threshold",
    danger: "The pod cannot start until the scheduler finds a node that its volumes can be attached to, \
             external-attacher has attached them and kubelet has mounted them. Waiting alone rarely ends this: a \
             claim or a node is missing, or another node still has the volume.",
    remedy: "The tool changes nothing. The finding names the claim, the volume, the node or the pod that has to \
             change, and the last error. Where a node is not Ready, first make sure that its machine is off: then \
             taint it node.kubernetes.io/out-of-service, delete its pods by force, or delete the node. A volume \
             that is detached while its node still writes to it is damaged.",
    source: "kubernetes scheduler volumebinding; attachdetach reconciler.go; pkg/kubelet/volumemanager",
    judge: &[Judge::Pod(waiting_for_volume)],
};

fn waiting_for_volume(cx: &Cx, pod: &PodUse) -> Seen<Option<Finding>> {
    let age = Age::stamped(pod.created);
    if !cx.older_than(&age, Threshold::Detach) {
        return Ok(None);
    }
    let Some(wait) = facts::pod_wait(cx, pod)? else { return Ok(None) };
    let mut finding = WAITING_FOR_VOLUME
        .about(pod.object(), format!("Pending: {}", wait.cause))
        .aged(age)
        .shows("status.phase", pod.phase.name())
        .shows("spec.nodeName", pod.node.as_deref().unwrap_or("<none>"));
    if let Some(node) = &pod.node {
        let state = facts::node_state(cx, node, Kind::Pod);
        let state = state.map_or_else(
            |unseen| unseen.reason,
            |it| it.unwrap_or_else(|| "does not exist".to_owned()),
        );
        finding = finding.shows("node", state);
    }
    if let Some(message) = &pod.unschedulable {
        finding = finding.shows("status.conditions[PodScheduled].message", &**message);
    }
    if let Some(events) = &wait.events {
        finding = finding.shows("last event", events.describe_with_reason());
    }
    for PodClaim { key, claim, .. } in &wait.claims {
        let volume = claim.and_then(|claim| claim.volume_name.as_deref());
        let bound = match (claim, volume) {
            (None, _) => "does not exist".to_owned(),
            (Some(_), None) => "no volume".to_owned(),
            (Some(_), Some(name)) => format!("pv/{name}"),
        };
        finding = finding.shows("claim", format!("{key}: {bound}"));
    }
    Ok(Some(finding.relates(wait.related).report_only(wait.advice)))
}
