//! Finalizers of claims: F33, F41, F42, F48.
//!
//! A Terminating claim is deleted with its last finalizer, and with it its data where the policy of
//! its volume is Delete. So its users are checked first, which no flag overrides; and the decision
//! about the data is made before the last finalizer is removed.

mod deletion;
mod finalizer;
mod table;

use super::super::{Remedy, checks, claim_uses};
use super::FinalizerRequest;
use super::decision::FinalizerDecision;
use crate::cluster::{Cx, Seen};
use crate::facts::{self, PVC_PROTECTION, Unsafe, UnsafeReason};
use crate::model::{
    Action, Age, Claim, Effect, Guard, Kind, Proposal, Refusal, Text, Threshold, Undo,
};
use deletion::ClaimDeletion;
use finalizer::ClaimFinalizer;
use table::{DataDecision, Remove};

/// How many users of a claim a reason names at most.
const NAMED: usize = 3;

const NEEDS: &[Kind] = facts::needs![
    controller: PersistentVolumeClaim,
    StorageClass,
    Secret,
    ReplicationController,
    Job,
    CronJob,
    VolumeSnapshot,
    VolumeAttachment,
    PartialObjectMetadata
];

/// Removes finalizers of a claim that the user names.
pub static REMEDY: Remedy<Claim> = Remedy {
    id: "fix-claim-finalizers",
    needs: NEEDS,
    writes: &[("patch", "persistentvolumeclaims"), ("patch", "persistentvolumes")],
    command: |cx, claim| Some(command(cx, claim)),
    propose: |cx, claim| propose(cx, claim, &FinalizerRequest::named()),
};

/// Adds a missing kubernetes.io/pvc-protection to a claim that the user names: nothing else is done
/// to a claim that is not Terminating.
pub static PROTECT: Remedy<Claim> = Remedy {
    id: "protect-claim",
    needs: &[Kind::PersistentVolumeClaim],
    writes: &[("patch", "persistentvolumeclaims")],
    command: |cx, claim| Some(command(cx, claim)),
    propose: |cx, claim| Ok(protect(cx, claim, &FinalizerRequest::named())),
};

/// Returns the command for the claim, with the danger flags on which the proposal relies.
fn command(cx: &Cx, claim: &Claim) -> String {
    let mut command = format!("fix-finalizers pvc/{} -n {}", claim.metadata.name, claim.namespace);
    if let Ok(Ok(proposal)) = propose(cx, claim, &FinalizerRequest::named()) {
        super::add_flags(cx, &mut command, &proposal.relies_on, None);
    }
    command
}

/// Proposes or refuses steps for a claim.
///
/// # Errors
/// When an object was not read on which the decision rests.
pub fn propose(
    cx: &Cx,
    claim: &Claim,
    request: &FinalizerRequest,
) -> Seen<Result<Proposal, Refusal>> {
    if claim.metadata.deleting.is_none() {
        return Ok(protect(cx, claim, request));
    }
    let finalizers = ClaimFinalizer::all(cx, claim);
    let deletion = ClaimDeletion::of(cx, claim);
    let refuse = |reason: String| {
        let all: Vec<_> = finalizers.iter().collect();
        Ok(Err(Refusal { reason, effect: deletion.effect(&all, &[], None) }))
    };
    if let Err(reason) = checks::not_exempt(cx, &claim.metadata) {
        return refuse(reason);
    }
    let Unsafe { mut reasons, unseen, notices: _ } = claim_uses::of(cx, claim);
    // It concerns claims that are not Terminating.
    reasons.retain(|it| *it != UnsafeReason::Unprotected);
    let used = !reasons.is_empty();
    if let Some(unseen) = unseen.into_iter().next().filter(|_| !used) {
        return Err(unseen);
    }
    let (mut removed, mut left, mut why) = (Vec::new(), Vec::new(), Vec::new());
    for it in &finalizers {
        match it.decide(cx, request, used)? {
            FinalizerDecision::Do(Remove) => removed.push(it),
            FinalizerDecision::Leave(reason) => {
                why.push(it.reason(cx, reason));
                left.push(it);
            }
        }
    }
    if used {
        why.insert(0, claim_uses::in_words(&reasons, NAMED, UnsafeReason::ended_by));
        return refuse(why.join("; "));
    }
    if finalizers.is_empty() {
        return refuse("it has no finalizer; the API server deletes it".to_owned());
    }
    if removed.is_empty() {
        return refuse(why.join("; "));
    }
    left.retain(|it| it.kind.blocks_unused());
    match deletion.decide(cx, left.is_empty())? {
        Ok(data) => Ok(Ok(proposal(cx, claim, &deletion, data, &removed, &left, why))),
        Err(reason) => {
            let of_each = removed.iter().map(|it| it.described()).chain(why);
            refuse(std::iter::once(reason).chain(of_each).collect::<Vec<_>>().join("; "))
        }
    }
}

/// Returns the steps: first the policy of the volume, then one finalizer after the other. Each
/// patch tests that the finalizers in `blocking` remain, since nothing was decided about the data
/// then.
fn proposal(
    cx: &Cx,
    claim: &Claim,
    deletion: &ClaimDeletion,
    data: DataDecision,
    removed: &[&ClaimFinalizer],
    blocking: &[&ClaimFinalizer],
    mut notices: Vec<String>,
) -> Proposal {
    let guards: Vec<_> =
        blocking.iter().map(|it| Guard::Finalizer(Text::clone(&it.finalizer))).collect();
    let mut steps: Vec<_> = deletion.first_step(cx, data, &mut notices).into_iter().collect();
    steps.extend(removed.iter().map(|it| Action::RemoveFinalizer {
        object: claim.object(),
        finalizer: Text::clone(&it.finalizer),
        guards: guards.clone(),
    }));
    let mut relies_on: Vec<_> = data.relies_on().into_iter().collect();
    relies_on.extend(removed.iter().filter_map(|it| it.relies_on(cx)));
    relies_on.sort_unstable();
    relies_on.dedup();
    Proposal {
        steps,
        effect: deletion.effect(removed, blocking, Some(data)),
        undo: Undo::Never(match blocking.is_empty() {
            true => "a deleted claim cannot be restored",
            false => "the API server allows no new finalizer on a Terminating object",
        }),
        notices,
        relies_on,
        keeps_backend: false,
    }
}

/// Proposes kubernetes.io/pvc-protection (P-FIN-ADD, F42), whether or not the claim is in use.
fn protect(cx: &Cx, claim: &Claim, request: &FinalizerRequest) -> Result<Proposal, Refusal> {
    let effect = Effect {
        what: format!(
            "adds finalizer {PVC_PROTECTION}, which blocks the deletion of the claim while pods use it"
        ),
        risk: "none while kube-controller-manager is running; without it, a deletion of the claim is never finished"
            .to_owned(),
    };
    let refuse = |reason: String| Err(Refusal { reason, effect: effect.clone() });
    if let Err(reason) = checks::not_exempt(cx, &claim.metadata) {
        return refuse(reason);
    }
    if claim.metadata.deleting.is_some() {
        return refuse("the API server allows no new finalizer on a Terminating object".to_owned());
    }
    if claim.metadata.has_finalizer(PVC_PROTECTION) {
        return refuse("it is not Terminating, so no finalizer is removed".to_owned());
    }
    let age = Age::stamped(claim.metadata.created);
    if !request.named && !cx.older_than(&age, Threshold::ClaimProtection) {
        return refuse(
            "kube-controller-manager may be about to add this finalizer: wait".to_owned(),
        );
    }
    Ok(Proposal {
        steps: vec![Action::AddFinalizer {
            object: claim.object(),
            finalizer: PVC_PROTECTION.into(),
        }],
        effect,
        undo: Undo::Never("without it, the claim can be deleted under running pods"),
        notices: vec![
            "kube-controller-manager should have added it: find out why it has not".to_owned(),
        ],
        relies_on: Vec::new(),
        keeps_backend: false,
    })
}

#[cfg(test)]
mod tests;
