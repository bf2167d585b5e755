//! Explanation of a pod: the claims that it uses, and the effects of its deletion on them.

use super::draft::{DELETED, ExplanationDraft, lasting};
use super::{controller, error, neighbours, set};
use crate::cluster::Cx;
use crate::facts::{
    self,
    retention::{self, Operation, SetSituation},
};
use crate::model::{Age, Claim, ClaimKey, Kind, MountedClaim, PodPhase, PodUse, Text};

pub(super) fn explain(cx: &Cx, pod: &PodUse) -> ExplanationDraft {
    let mut draft = ExplanationDraft::new(pod.object());
    let ready = if pod.ready { ", Ready" } else { "" };
    // No pod becomes Pending again.
    let pending = pod.phase == PodPhase::Pending && pod.deleting.is_none();
    let since = pending.then(|| lasting(cx, &Age::stamped(pod.created))).flatten();
    draft.status(format!("{}{}{ready}", pod.phase.name(), since.unwrap_or_default()));
    draft.terminating(cx, pod.deleting);
    draft.show("status.phase", pod.phase.name());
    draft.show("spec.nodeName", pod.node.as_deref().unwrap_or("<none>"));
    let node = node(cx, pod, &mut draft);
    draft.field("node", node);
    if let Some(owner) = &pod.controller {
        draft.show("metadata.ownerReferences", format!("{} {}", owner.kind, owner.name));
        draft.field("controlled by", format!("{} {}", owner.kind, owner.name));
    }
    let mut claims = Vec::new();
    for mounted in &pod.claims {
        claims.extend(claim(cx, pod, mounted, &mut draft));
    }
    if pod.claims.is_empty() {
        draft.field("claims", "none");
    }
    for inline in pod.inline.iter() {
        draft.show("inline volume", format!("{}: {}", inline.name, inline.backend));
        draft.field("inline volume", inline.backend.to_string());
    }
    for claim in claims.iter().filter(|_| pending && pod.node.is_some()) {
        controller::of_wanted_claim(cx, pod, claim, &mut draft);
    }
    neighbours::around_pod(cx, pod, &mut draft);
    error::of_pod(cx, pod, &claims, &mut draft);
    draft
}

fn node(cx: &Cx, pod: &PodUse, draft: &mut ExplanationDraft) -> String {
    let Some(name) = &pod.node else { return "none, not scheduled yet".to_owned() };
    let state = match draft.seen(facts::node_state(cx, name, Kind::Pod)) {
        None => "not read".to_owned(),
        Some(None) => "does not exist".to_owned(),
        Some(Some(state)) => state,
    };
    format!("{name} ({state})")
}

/// Adds a claim of the pod, and the effect on it if the pod is deleted.
fn claim<'a>(
    cx: &Cx<'a>,
    pod: &PodUse,
    mounted: &MountedClaim,
    draft: &mut ExplanationDraft,
) -> Option<&'a Claim> {
    let key = ClaimKey { namespace: Text::clone(&pod.namespace), name: mounted.claim.clone() };
    let kind = if mounted.ephemeral { ", ephemeral" } else { "" };
    let found = draft.seen(cx.claim(&key));
    let state = match found {
        None => "not read".to_owned(),
        Some(None) => "does not exist".to_owned(),
        Some(Some(claim)) => {
            let terminating = if claim.metadata.deleting.is_some() { ", Terminating" } else { "" };
            let volume = claim.volume_name.as_ref();
            let volume = volume.map_or_else(String::new, |it| format!(", volume {it}"));
            format!("{}{terminating}{kind}{volume}", claim.phase)
        }
    };
    draft.show("spec.volumes", format!("claim {} ({state})", key.name));
    draft.field("claim", format!("{} ({state})", key.name));
    let claim = found.flatten()?;
    effect(cx, pod, claim, draft);
    Some(claim)
}

fn effect(cx: &Cx, pod: &PodUse, claim: &Claim, draft: &mut ExplanationDraft) {
    let object = claim.object();
    let users = draft.seen(facts::pod_users(cx, claim)).unwrap_or_default();
    let own = users.iter().find(|it| it.pod.object() == pod.object());
    let ephemeral = own.is_some_and(|it| it.usage == facts::PodUsage::Ephemeral);
    let is_last = !users.iter().any(|it| it.holds_protection() && it.pod.object() != pod.object());
    let member = draft.seen(retention::membership(cx, claim)).and_then(|it| it.decided);
    if ephemeral {
        draft.outcome(
            DELETED,
            Some(object),
            "deleted",
            "it is an ephemeral volume of the pod: the garbage collector deletes it with the pod",
        );
    } else if claim.metadata.deleting.is_some() && is_last {
        draft.outcome(
            DELETED,
            Some(object),
            "deleted",
            "its deletion was requested before, and only waits for this pod",
        );
    } else if let Some(member) = member
        && let Some(situation) = draft.seen(SetSituation::of(cx, member.set))
    {
        let operation = Operation::DeletePod(member.ordinal);
        let predictions = retention::simulate(&situation, &operation);
        let own = predictions.iter().find(|it| *it.claim == *claim.metadata.name);
        if let Some(prediction) = own {
            let (then, because) = set::describe_prediction(prediction, &operation);
            draft.outcome(DELETED, Some(object), then, because);
        }
        return;
    } else {
        let because = "no controller deletes a claim because its pods are deleted";
        draft.outcome(DELETED, Some(object), "kept", because);
        return;
    }
    if let Some(volume) = facts::data_effect(cx, claim).volume() {
        let then = facts::when_claim_is_deleted(cx, volume);
        draft.deletion_effect(DELETED, Some(volume.object()), then);
    }
}
