//! Attachments that a pod on a node waits for.

use super::{Obstacle, PodClaim};
use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{Age, Attachment, Kind, Liveness, Node, PodUse, Text, Threshold, Volume};

impl<'a> PodClaim<'a> {
    /// Sets the attachments of the claim's volume, for a pod on this node.
    pub(super) fn attach(&mut self, attachments: Vec<&'a Attachment>, node: &Text) {
        let (here, elsewhere): (Vec<_>, Vec<_>) =
            attachments.into_iter().partition(|attachment| attachment.node == *node);
        self.here = here.first().copied();
        self.elsewhere = elsewhere.into_iter().filter(|it| facts::may_be_attached(it)).collect();
    }

    /// Whether something that was read prevents the attachment to the pod's node.
    pub(super) fn is_held(&self) -> bool {
        match self.here {
            Some(here) => !here.attached || here.metadata.deleting.is_some(),
            None => !self.elsewhere.is_empty(),
        }
    }

    /// Returns what prevents the volume of a pod on this node from being attached and mounted there.
    pub(super) fn attachment(&self, cx: &Cx, node: &Text) -> Option<Obstacle> {
        let (claim, volume) = (self.claim?, self.volume?);
        let obstacle = match self.here {
            None => self.held_elsewhere(cx, volume)?,
            Some(here) => not_attached(cx, here, volume, node)?,
        };
        Some(obstacle.relates([claim.object()]))
    }

    /// Returns the obstacle of a volume that another node has, with the reason why it is not detached there.
    fn held_elsewhere(&self, cx: &Cx, volume: &Volume) -> Option<Obstacle> {
        let attachment = self.elsewhere.first()?;
        let name = &attachment.node;
        let pods = cx.pods_of(&self.key);
        let were_read = pods.is_ok();
        let uses_it = |it: &&PodUse| it.node.as_ref() == Some(name) && !it.is_finished();
        let holder = pods.unwrap_or_default().into_iter().find(uses_it);
        let node = cx.node(name, Kind::VolumeAttachment);
        let state = match &node {
            Ok(None) => "does not exist".to_owned(),
            Ok(Some(_)) => facts::node_state(cx, name, Kind::VolumeAttachment)
                .ok()
                .flatten()
                .unwrap_or_default(),
            Err(unseen) => format!("state unknown, {}", unseen.reason),
        };
        let mut cause = format!("{} is attached to node {name} ({state})", volume.object());
        if let Some(pod) = holder {
            cause = format!("{cause}, where {} ({}) uses it", pod.object(), pod.state());
        } else if were_read {
            cause.push_str(", where no pod uses it");
        }
        if let Some(error) = &attachment.detach_error {
            cause = format!("{cause}; detaching fails with {}", facts::brief_error(error));
        }
        let advice = advice(cx, attachment, &node, holder);
        let detaching = Age::stamped(attachment.metadata.deleting);
        // A volume in use on a node that works may be one that several nodes can have.
        let certain = !volume.is_shared
            && (attachment.detach_error.is_some()
                || cx.older_than(&detaching, Threshold::Detach)
                || node.is_ok_and(|node| node.is_none_or(|node| !node.ready)));
        let related = [attachment.object()].into_iter().chain(holder.map(PodUse::object));
        Some(Obstacle { cause, advice, related: related.collect(), certain })
    }
}

/// Returns the advice that gets the volume detached from another node.
fn advice(
    cx: &Cx,
    attachment: &Attachment,
    node: &Seen<Option<&Node>>,
    holder: Option<&PodUse>,
) -> String {
    let name = &attachment.node;
    let waits = || facts::detaching_waits_for(cx, attachment, Liveness::Unknown);
    match (node, holder, attachment.metadata.deleting) {
        (Err(_), _, _) => format!("see whether node {name} runs before any change"),
        (Ok(Some(node)), _, _) if !node.ready && !node.out_of_service => {
            facts::node_is_off(cx, name, holder)
        }
        (Ok(Some(node)), Some(_), _) if node.out_of_service => {
            format!(
                "wait: node {name} is tainted out-of-service, so that kube-controller-manager deletes its pods"
            )
        }
        (Ok(None), Some(pod), _) => format!(
            "once the machine {name} is known to be off, delete {} by force; its node does not exist",
            pod.object()
        ),
        (_, _, Some(_)) => waits(),
        (Ok(None), None, None) => format!(
            "kube-controller-manager detaches it after six minutes; once the machine is known to be off, `kubectl storage \
             fix-finalizers {}` does",
            attachment.object()
        ),
        (Ok(Some(_)), Some(pod), None) if pod.deleting.is_some() => format!(
            "it is detached after {} is deleted: see why kubelet on node {name} does not end it",
            pod.object()
        ),
        (Ok(Some(_)), Some(pod), None) => format!(
            "only one node can have this volume: delete {}, or run both pods on node {name}",
            pod.object()
        ),
        (Ok(Some(_)), None, None) => format!(
            "kubelet on node {name} has to unmount it; kube-controller-manager then detaches it"
        ),
    }
}

/// Returns why a volume is not attached although its attachment to the pod's node exists.
fn not_attached(cx: &Cx, here: &Attachment, volume: &Volume, node: &Text) -> Option<Obstacle> {
    let (pv, attacher) = (volume.object(), &here.attacher);
    let old = cx.older_than(&Age::stamped(here.metadata.created), Threshold::Detach);
    let (cause, advice, certain) = match (&here.attach_error, here.metadata.deleting) {
        (_, Some(_)) => (
            format!("{} of {pv} to its own node {node} is Terminating", here.object()),
            facts::detaching_waits_for(cx, here, Liveness::Unknown),
            cx.older_than(&Age::stamped(here.metadata.deleting), Threshold::Detach),
        ),
        (Some(error), None) if !here.attached => (
            format!("attaching {pv} to node {node} fails with {}", facts::brief_error(error)),
            format!("fix this error; external-attacher of {attacher} retries"),
            old,
        ),
        (_, None) if !here.attached => (
            format!("external-attacher of {attacher} has not attached {pv} to node {node}"),
            format!("see that external-attacher of {attacher} runs, and look at its log"),
            old,
        ),
        // Only kubelet knows why it is not mounted.
        (_, None) => return None,
    };
    Some(Obstacle { cause, advice, related: vec![here.object()], certain })
}
