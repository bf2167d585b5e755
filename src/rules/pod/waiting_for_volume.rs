//! F98: a pod cannot start, because a volume is not attached or mounted.

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{
    Age, Attachment, Claim, ClaimKey, Event, Finding, Kind, ObjectRef, PodPhase, PodUse, Severity,
    Text, Threshold,
};
use crate::rules::{CapacityRisk, Judge, Rule, finding::time};

pub(super) static RULE: Rule = Rule {
    id: "pod-waiting-for-volume",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: &[
        Kind::PersistentVolumeClaim,
        Kind::Pod,
        Kind::Node,
        Kind::VolumeAttachment,
        Kind::Event,
    ],
    remedies: &[],
    title: "A pod has been waiting for a volume for long",
    danger: "It does not start until the volume is attached to its node and mounted. What holds the volume often \
             does not go away by itself: a pod on another node, or a node that does not answer.",
    remedy: "None by the tool. The evidence shows what was last said, and which attachment, node, pod or claim \
             holds it up. Never force a volume off a node that may still write to it.",
    source: "kubernetes attachdetach reconciler.go; pkg/kubelet/volumemanager",
    judge: &[Judge::Pod(judge)],
};

fn judge(cx: &Cx, pod: &PodUse) -> Seen<Option<Finding>> {
    let age = Age::stamped(pod.created);
    let waits = pod.phase == PodPhase::Pending && pod.deleting.is_none() && !pod.claims.is_empty();
    let Some(node) = pod.node.as_ref().filter(|_| waits) else { return Ok(None) };
    if !cx.older_than(&age, Threshold::Detach) {
        return Ok(None);
    }
    let mut events = cx.events_of(&pod.object().key)?;
    let same = |event: &Event| match (&event.about_uid, &pod.uid) {
        (Some(about), Some(uid)) => about == uid,
        (None, _) | (_, None) => true,
    };
    events.retain(|event| same(event));
    if events.is_empty() {
        return Ok(None);
    }
    let claims: Vec<_> =
        pod.claims.iter().map(|it| Needed::of(cx, pod, node, &it.claim)).collect::<Seen<_>>()?;
    let told = |event: &&&Event| {
        claims.iter().any(|claim| claim.is_meant(event)) && is_still_so(cx, event, &claims)
    };
    let Some(event) = events.iter().rev().find(told) else { return Ok(None) };
    // The claim that the event mentions, if it mentions one; else it may be any of them.
    let named = claims.iter().filter(|claim| claim.is_named(event));
    let held = claims.iter().filter(|claim| claim.is_held());
    let obstacle = named.chain(held).chain(&claims).find_map(|it| it.obstacle(cx, node));
    let (reason, holders) = obstacle.unwrap_or_else(|| {
        let reason = format!("nothing in the cluster shows what holds it: {}", event.message);
        (reason, Vec::new())
    });
    let at = facts::node_state(cx, node, Kind::Pod);
    let at = at.map_or_else(|unseen| unseen.reason, |it| it.unwrap_or_else(|| "gone".to_owned()));
    let mut finding = RULE
        .about(pod.object(), "cannot start, because it does not get its volume".to_owned())
        .aged(age)
        .shows("status.phase", pod.phase.name())
        .shows("spec.nodeName", &**node)
        .shows("node", at)
        .shows("last event", format!("{}: {}", event.reason, event.message))
        .shows("last event at", time(event.last_seen));
    for needed in &claims {
        let volume = needed.claim.and_then(|claim| claim.volume_name.as_deref());
        let bound = volume.map_or_else(|| "no volume".to_owned(), |name| format!("pv/{name}"));
        finding = finding.shows("claim", format!("{}: {bound}", needed.key));
    }
    Ok(Some(finding.relates(holders).report_only(reason)))
}

/// An event that is emitted only once and holds as long as the volume is attached elsewhere
/// (`reportMultiAttachError`).
const ELSEWHERE: &str = "Multi-Attach error";

/// Whether an event may still hold: a failure that lasts is reported repeatedly.
fn is_still_so(cx: &Cx, event: &Event, claims: &[Needed]) -> bool {
    let limit = cx.settings().thresholds.get(Threshold::Detach);
    event.last_seen.is_some_and(|last| !cx.passed(last, limit))
        || event.message.starts_with(ELSEWHERE)
            && claims.iter().any(|claim| claim.here.is_none() && claim.is_held())
}

/// A claim of the pod, with its volume and the attachments of that.
struct Needed<'a> {
    key: ClaimKey,
    /// `None` if it is absent.
    claim: Option<&'a Claim>,
    /// The attachment to the pod's own node.
    here: Option<&'a Attachment>,
    /// Attachments to other nodes.
    elsewhere: Vec<&'a Attachment>,
}

impl<'a> Needed<'a> {
    fn of(cx: &Cx<'a>, pod: &PodUse, node: &Text, name: &str) -> Seen<Self> {
        let key = ClaimKey { namespace: Text::clone(&pod.namespace), name: name.into() };
        let claim = cx.claim(&key)?;
        let attachments = match claim.and_then(|claim| claim.volume_name.as_deref()) {
            Some(volume) => cx.attachments_of(volume)?,
            None => Vec::new(),
        };
        let (here, elsewhere): (Vec<_>, Vec<_>) =
            attachments.into_iter().partition(|attachment| attachment.node == *node);
        let elsewhere = elsewhere.into_iter().filter(|it| facts::may_be_attached(it)).collect();
        Ok(Self { key, claim, here: here.first().copied(), elsewhere })
    }

    /// Whether an event may be about it. A volume that kubelet cannot mount need not be a claim.
    fn is_meant(&self, event: &Event) -> bool {
        &*event.reason == "FailedAttachVolume"
            || self.is_named(event)
            || event.message.starts_with("Unable to attach or mount") && self.is_held()
    }

    /// Whether something that was read prevents the attachment to the pod's node.
    fn is_held(&self) -> bool {
        match self.here {
            Some(here) => !here.attached || here.metadata.deleting.is_some(),
            None => !self.elsewhere.is_empty(),
        }
    }

    fn is_named(&self, event: &Event) -> bool {
        let ClaimKey { namespace, name } = &self.key;
        let volume = self.claim.and_then(|claim| claim.volume_name.as_deref());
        volume.is_some_and(|volume| event.message.contains(&format!("\"{volume}\"")))
            || event.message.contains(&format!("PVC {namespace}/{name}:"))
            || event.message.contains(&format!("persistentvolumeclaim \"{name}\""))
    }

    /// What prevents it, in words, with the objects involved.
    fn obstacle(&self, cx: &Cx, node: &Text) -> Option<(String, Vec<ObjectRef>)> {
        let Some(claim) = self.claim else {
            return Some((format!("pvc/{} does not exist", self.key), Vec::new()));
        };
        let own = claim.object();
        if claim.volume_name.is_none() {
            return Some((format!("{own} has no volume yet"), vec![own]));
        }
        if let Some(attachment) = self.elsewhere.first().filter(|_| self.here.is_none()) {
            let other = &attachment.node;
            let pods = cx.pods_of(&self.key).unwrap_or_default();
            let holder = pods.iter().find(|pod| pod.node.as_ref() == Some(other));
            let state = facts::node_state(cx, other, Kind::VolumeAttachment);
            let because = match (holder, state, attachment.metadata.deleting) {
                (Some(pod), _, _) => format!("{} uses it there", pod.object()),
                (None, Ok(None), _) => "that node is gone".to_owned(),
                (None, Ok(Some(state)), None) => {
                    format!("no pod uses it there; that node is {state}")
                }
                (None, _, Some(_)) => "it is being detached there".to_owned(),
                (None, Err(unseen), None) => unseen.reason,
            };
            let held = format!("the volume of {own} is attached to node {other}, and {because}");
            let holder = holder.map(|pod| pod.object());
            return Some((held, [attachment.object(), own].into_iter().chain(holder).collect()));
        }
        let here = self.here?;
        let object = here.object();
        let reason = match (&here.attach_error, here.metadata.deleting) {
            (Some(error), None) => format!("{object} fails: {error}"),
            (_, Some(_)) => format!("{object} to its own node is still being removed"),
            (None, None) if !here.attached => {
                format!("{object}: the attacher of {} has not attached it", here.attacher)
            }
            (None, None) => format!("it is attached; kubelet on node {node} has to mount it"),
        };
        Some((reason, vec![object, own]))
    }
}
