//! Claims without which a pod cannot start: missing, Lost, or without a volume.

use super::{Obstacle, PodClaim};
use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{ClaimPhase, Kind, Text};

impl PodClaim<'_> {
    /// What is wrong with the claim, whatever the node. `node`: that of the pod, once it has one.
    ///
    /// # Errors
    /// When the class of the claim, or the node that was selected for it, was not read.
    pub(super) fn unbound(&self, cx: &Cx, node: Option<&Text>) -> Seen<Option<Obstacle>> {
        let Some(claim) = self.claim else {
            let cause = format!("pvc/{} does not exist", self.key);
            let advice = match self.ephemeral {
                true => {
                    "wait for kube-controller-manager, which creates the claims of ephemeral volumes"
                }
                false => "create the claim, or correct the name in the pod",
            };
            return Ok(Some(Obstacle::certain(cause, advice)));
        };
        let object = claim.object();
        if claim.phase == ClaimPhase::Lost {
            let advice = format!(
                "`kubectl storage explain {}` shows how to repair it",
                facts::on_command_line(&object)
            );
            let cause = format!("{object} is Lost");
            return Ok(Some(Obstacle::certain(cause, advice).relates([object])));
        }
        if claim.volume_name.is_some() {
            return Ok(None);
        }
        if let Some(selected) = &claim.selected_node
            && cx.node(selected, Kind::PersistentVolumeClaim)?.is_none()
        {
            let cause =
                format!("{object} waits for a volume on node {selected}, which does not exist");
            let advice = "remove annotation volume.kubernetes.io/selected-node from the claim";
            return Ok(Some(Obstacle::certain(cause, advice).relates([object])));
        }
        let class = claim.class.as_ref().filter(|it| !it.is_empty());
        let class = class.map_or(Ok(None), |it| cx.claimed_class(it))?;
        let waits_for_node =
            claim.selected_node.is_none() && class.is_some_and(|class| class.waits_for_consumer);
        Ok(match (waits_for_node, node) {
            // The scheduler selects a node for both, if it finds one for the pod.
            (true, None) => None,
            (true, Some(node)) => Some(
                Obstacle::certain(
                    format!("{object} waits for the scheduler, which a pod with spec.nodeName {node} bypasses"),
                    "select the node by spec.nodeSelector or by affinity, not by spec.nodeName",
                )
                .relates([object]),
            ),
            (false, _) => {
                let advice =
                    format!("`kubectl storage explain {}` shows what it waits for", facts::on_command_line(&object));
                Some(Obstacle::certain(format!("{object} has no volume yet"), advice).relates([object]))
            }
        })
    }

    /// Whether the volume that the claim is bound to does not exist.
    pub(super) fn without_volume(&self) -> Option<Obstacle> {
        let claim = self.claim?;
        let name = claim.volume_name.as_ref().filter(|_| self.volume.is_none())?;
        let object = claim.object();
        let cause = format!("pv/{name} of {object} does not exist");
        let advice = "keep the claim; recreate the volume from its manifest, with policy Retain";
        Some(Obstacle::certain(cause, advice).relates([object]))
    }
}
