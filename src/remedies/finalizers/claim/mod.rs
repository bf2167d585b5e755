//! The finalizers of claims: F33, F41, F42, F48.
//!
//! A claim that is being deleted goes with the last finalizer that holds it, and with it its data,
//! where the policy of its volume says so. So whoever uses it is looked for before anything else,
//! and no word of the user lifts that; and what becomes of the data is asked before the claim is
//! let go, not after.

mod decision;
mod going;
mod held;

use super::super::{Remedy, checks};
use super::Asked;
use crate::cluster::{Cx, Seen, Unseen};
use crate::facts::{self, PVC_PROTECTION, Unsafe, UnsafeReason};
use crate::model::{Action, Claim, Effect, Guard, Kind, Proposal, Refusal, Text, Threshold, Undo};
use decision::{Data, Decision};
use going::Going;
use held::Held;

/// How many of the users of a claim a reason names.
const NAMED: usize = 3;

const NEEDS: &[Kind] = facts::needs![
    controller: PersistentVolumeClaim,
    ReplicationController,
    Job,
    CronJob,
    VolumeSnapshot,
    VolumeAttachment,
    PartialObjectMetadata
];

/// What is done to the finalizers of a claim that is named.
pub static REMEDY: Remedy<Claim> = Remedy {
    id: "fix-claim-finalizers",
    needs: NEEDS,
    writes: &[("patch", "persistentvolumeclaims"), ("patch", "persistentvolumes")],
    command: |cx, claim| Some(command(cx, claim)),
    propose: |cx, claim| propose(cx, claim, &Asked { named: true, ..Asked::default() }),
};

/// Adds a missing protection to a claim that is named: nothing else is done to one that is not
/// being deleted.
pub static PROTECT: Remedy<Claim> = Remedy {
    id: "protect-claim",
    needs: &[Kind::PersistentVolumeClaim],
    writes: &[("patch", "persistentvolumeclaims")],
    command: |cx, claim| Some(command(cx, claim)),
    propose: |cx, claim| Ok(protect(cx, claim, &Asked { named: true, ..Asked::default() })),
};

/// The command that does it, with the flags that it relies on.
fn command(cx: &Cx, claim: &Claim) -> String {
    let mut command = format!("fix-finalizers pvc/{} -n {}", claim.metadata.name, claim.namespace);
    let asked = Asked { named: true, ..Asked::default() };
    if let Ok(Ok(proposal)) = propose(cx, claim, &asked) {
        super::remover::add_flags(cx, &mut command, &proposal.relies_on, None);
    }
    command
}

/// Proposes or refuses to repair one.
///
/// # Errors
/// When something was not seen that the decision needs.
pub fn propose(cx: &Cx, claim: &Claim, asked: &Asked) -> Seen<Result<Proposal, Refusal>> {
    if claim.metadata.deleting.is_none() {
        return Ok(protect(cx, claim, asked));
    }
    let held = Held::all(cx, claim);
    let going = Going::of(cx, claim);
    let refuse = |reason: String| {
        let all: Vec<_> = held.iter().collect();
        Ok(Err(Refusal { reason, effect: going.effect(&all, &[], None) }))
    };
    if let Err(reason) = checks::not_exempt(cx, &claim.metadata) {
        return refuse(reason);
    }
    let Unsafe { reasons, unseen } = in_use(cx, claim);
    let used = !reasons.is_empty();
    if let Some(unseen) = unseen.into_iter().next().filter(|_| !used) {
        return Err(unseen);
    }
    let (mut removed, mut stays, mut why) = (Vec::new(), Vec::new(), Vec::new());
    for it in &held {
        match it.decide(cx, asked, used)? {
            Decision::Remove => removed.push(it),
            Decision::Leave(reason) => {
                why.push(it.left(cx, reason));
                stays.push(it);
            }
        }
    }
    if used {
        why.insert(0, users(&reasons));
        return refuse(why.join("; "));
    }
    if held.is_empty() {
        return refuse("no finalizer holds it".to_owned());
    }
    if removed.is_empty() {
        return refuse(why.join("; "));
    }
    stays.retain(|it| it.whose.holds_unused());
    match going.decide(cx, stays.is_empty())? {
        Ok(data) => Ok(Ok(proposal(cx, claim, &going, data, &removed, &stays, why))),
        Err(reason) => {
            let of_each = removed.iter().map(|it| it.described()).chain(why);
            refuse(std::iter::once(reason).chain(of_each).collect::<Vec<_>>().join("; "))
        }
    }
}

/// The steps: what becomes of the data first, then one finalizer after the other. What still holds
/// the claim afterwards is tested with each of them, because nobody was asked about its data.
fn proposal(
    cx: &Cx,
    claim: &Claim,
    going: &Going,
    data: Data,
    removed: &[&Held],
    holders: &[&Held],
    notices: Vec<String>,
) -> Proposal {
    let guards: Vec<_> =
        holders.iter().map(|it| Guard::Finalizer(Text::clone(&it.finalizer))).collect();
    let mut steps: Vec<_> = going.first_step(data).into_iter().collect();
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
        effect: going.effect(removed, holders, Some(data)),
        undo: Undo::Never(match holders.is_empty() {
            true => "a claim that went cannot come back",
            false => "the API server allows no new finalizer on a terminating object",
        }),
        notices,
        relies_on,
        keeps_backend: false,
    }
}

/// Whoever uses the claim, or would use it again: R-PVCP-9 without its last two, of which the one
/// is the user's choice and the other is about claims that are not being deleted yet. An attachment
/// counts by its finalizer too (R-SUP-1).
fn in_use<'a>(cx: &Cx<'a>, claim: &Claim) -> Unsafe<'a> {
    let mut found = facts::unsafe_to_delete(cx, claim);
    found.reasons.retain(|it| !it.is_lifted_by_choice() && *it != UnsafeReason::Unprotected);
    let attached = claim.volume_name.as_deref().map_or(Ok(Vec::new()), |it| cx.attachments_of(it));
    // What was not seen is among the others already.
    for row in attached.unwrap_or_default() {
        let reason = UnsafeReason::Attached(row);
        if facts::may_be_attached(row) && !found.reasons.contains(&reason) {
            found.reasons.push(reason);
        }
    }
    found
}

fn users(reasons: &[UnsafeReason]) -> String {
    let named: Vec<_> = reasons.iter().take(NAMED).map(UnsafeReason::words).collect();
    let others = reasons.len().saturating_sub(NAMED);
    let others = if others == 0 { String::new() } else { format!(" and {others} more") };
    format!("it is in use, and nothing lifts that: {}{others}", named.join(", "))
}

/// P-FIN-ADD of the protection (F42), whether or not the claim is in use: then above all.
fn protect(cx: &Cx, claim: &Claim, asked: &Asked) -> Result<Proposal, Refusal> {
    let effect = Effect {
        what: format!("adds finalizer {PVC_PROTECTION}, which keeps the claim while pods use it"),
        risk: "none while kube-controller-manager runs; without it, deleting the claim will hang"
            .to_owned(),
    };
    let refuse = |reason: String| Err(Refusal { reason, effect: effect.clone() });
    if let Err(reason) = checks::not_exempt(cx, &claim.metadata) {
        return refuse(reason);
    }
    if claim.metadata.deleting.is_some() {
        return refuse("the API server allows no new finalizer on a terminating object".to_owned());
    }
    if claim.metadata.has_finalizer(PVC_PROTECTION) {
        let left = "nothing is removed from a claim that is not";
        return refuse(format!("nothing holds it: it is not being deleted, and {left}"));
    }
    let age = crate::model::Age::stamped(claim.metadata.created);
    if !asked.named && !cx.older_than(&age, Threshold::ClaimProtection) {
        return refuse("kube-controller-manager may be about to add its protection".to_owned());
    }
    Ok(Proposal {
        steps: vec![Action::AddFinalizer {
            object: claim.object(),
            finalizer: PVC_PROTECTION.into(),
        }],
        effect,
        undo: Undo::Never("without it a deletion takes effect at once, under running pods"),
        notices: vec![
            "kube-controller-manager should have added it: find out why it does not".to_owned(),
        ],
        relies_on: Vec::new(),
        keeps_backend: false,
    })
}

/// What was not seen of a claim's volume.
fn unseen_volume(reason: String) -> Unseen {
    Unseen { kind: Kind::PersistentVolume, namespace: None, reason }
}

#[cfg(test)]
mod tests;
