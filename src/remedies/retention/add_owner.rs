//! Adds the owner reference to the set that `whenDeleted` Delete requires, for a claim without a pod:
//! P-OWNER-ADD (F61, F66).
//!
//! It makes the claim deletable, so it needs a flag. After a late addition the garbage collector deletes
//! the claim at once: until the set was read again after the write, another owner protects the claim,
//! its own volume.

use super::super::{Remedy, checks};
use super::{NEVER_ADDED, command, known_policy, only_member, refuse};
use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::facts::retention::{
    ClaimPod, ReferenceForm, TemplateClaim, owner_agreement, volume_effect,
};
use crate::model::{Action, Claim, Effect, Kind, Loss, OwnerReference, Proposal, Refusal, Undo};

/// The flag with which owner references are added.
const ADD_OWNERS: &str = "--add-owners";

/// Adds the owner reference that the policy requires (P-OWNER-ADD).
pub(crate) static REMEDY: Remedy<Claim> = Remedy {
    id: "retention-add-owner",
    needs: facts::needs![deletion: PersistentVolumeClaim],
    writes: &[("patch", "persistentvolumeclaims")],
    command: |cx, claim| command(cx, claim).map(|it| format!("{it} {ADD_OWNERS}")),
    propose,
};

pub(super) fn propose(cx: &Cx, claim: &Claim) -> Seen<Result<Proposal, Refusal>> {
    let member = match only_member(cx, claim)? {
        Ok(member) => member,
        Err(reason) => return refuse(reason, unknown_effect()),
    };
    let effect = effect(cx, claim, &member);
    if let Err(reason) = allowed(cx, claim, &member)? {
        return refuse(reason, effect);
    }
    let form = ReferenceForm::of(cx.server());
    let flags = match form {
        ReferenceForm::Controller => true,
        ReferenceForm::Plain => false,
        ReferenceForm::Unknown => {
            return refuse(
                "which flags an owner reference has in this version of Kubernetes is unknown",
                effect,
            );
        }
    };
    let replaces: Vec<_> = without_flag(cx, claim, &member).cloned().collect();
    let lacks = owner_agreement(cx, claim, &member)?.missing.set;
    let guarded = guard(cx, claim)?.filter(|it| claim.metadata.owners.contains(it));
    if !lacks && replaces.is_empty() && guarded.is_none() {
        return refuse("it has the owner reference that the policy requires", effect);
    }
    if !cx.settings().add_owners {
        let command = command(cx, claim).unwrap_or_default();
        return refuse(
            format!(
                "an owner reference makes the claim deletable: `kubectl storage {command} {ADD_OWNERS}` adds it"
            ),
            effect,
        );
    }
    let set = member.set;
    let owner = OwnerReference {
        api_version: "apps/v1".into(),
        kind: Kind::StatefulSet.name().into(),
        name: set.metadata.name.clone(),
        uid: set.metadata.uid.clone(),
        controller: flags,
        blocks_deletion: flags,
    };
    let mut notices = Vec::new();
    if let Some(keeper) = facts::keeper_of(&claim.metadata) {
        notices.push(format!("{keeper} manages the claim, and may remove the reference"));
    }
    if let Some(keeper) = facts::keeper(&set.metadata) {
        notices.push(format!("{keeper} manages {}, and may change its policy", set.object()));
    }
    let claim_object = claim.object();
    let remove =
        |guard| Action::RemoveOwnerReferences { claim: claim_object.clone(), owners: vec![guard] };
    let (steps, undo) = match (lacks, guarded, guard(cx, claim)?) {
        // What an earlier step, or an interrupted run, has left.
        (false, Some(guard), _) if replaces.is_empty() => {
            (vec![remove(guard)], Undo::Never(NEVER_ADDED))
        }
        (true, None, Some(guard)) => {
            let (claim, guarded) = (claim_object.clone(), Some(guard.clone()));
            let add = Action::AddOwnerReference { claim, owner, replaces, guard: guarded };
            (vec![add, remove(guard)], Undo::Revert)
        }
        // The set owns it already, or it has no volume, and so no data.
        (_, _, _) => {
            let undo = match replaces.is_empty() {
                true => Undo::Revert,
                false => Undo::Never("the claim had a reference to the same owner before"),
            };
            let claim = claim_object.clone();
            (vec![Action::AddOwnerReference { claim, owner, replaces, guard: None }], undo)
        }
    };
    Ok(Ok(Proposal {
        steps,
        effect,
        undo,
        notices,
        relies_on: vec![ADD_OWNERS],
        keeps_backend: false,
        loses: Loss::default(),
    }))
}

/// Returns the reference that protects a claim while the one to its set is added: to its own volume.
///
/// # Errors
/// When volumes were not read.
fn guard(cx: &Cx, claim: &Claim) -> Seen<Option<OwnerReference>> {
    let Some(name) = &claim.volume_name else { return Ok(None) };
    let volume = cx.volume(name)?.filter(|it| it.metadata.uid.is_some());
    Ok(volume.map(|volume| OwnerReference {
        api_version: "v1".into(),
        kind: Kind::PersistentVolume.name().into(),
        name: volume.metadata.name.clone(),
        uid: volume.metadata.uid.clone(),
        controller: false,
        blocks_deletion: false,
    }))
}

/// Whether the reference of a claim to its own volume remains from an interrupted run.
///
/// # Errors
/// When volumes were not read.
pub(super) fn is_guarded(cx: &Cx, claim: &Claim) -> Seen<bool> {
    if claim.metadata.owners.is_empty() {
        return Ok(false);
    }
    Ok(guard(cx, claim)?.is_some_and(|it| claim.metadata.owners.contains(&it)))
}

/// Refuses where the policy requires no reference, where the set or the claim may be deleted, and where a controller
/// adds the reference.
fn allowed(cx: &Cx, claim: &Claim, member: &TemplateClaim) -> Seen<checks::Checked> {
    let set = member.set;
    let agreement = owner_agreement(cx, claim, member)?;
    if claim.metadata.deleting.is_some() {
        return Ok(Err("it is Terminating".to_owned()));
    }
    if set.metadata.deleting.is_some() {
        return Ok(Err(format!(
            "{} is Terminating: the claim would be deleted with it",
            set.object()
        )));
    }
    if set.metadata.uid.is_none() {
        return Ok(Err(format!("the uid of {} is unknown", set.object())));
    }
    if let Err(reason) = known_policy(set) {
        return Ok(Err(reason));
    }
    checks::all!(checks::not_exempt(cx, &claim.metadata));
    if let Some(foreign) = agreement.foreign {
        return Ok(Err(format!(
            "{} {} controls it: the StatefulSet controller does not apply the policy to it",
            foreign.kind, foreign.name
        )));
    }
    if !agreement.surplus.is_empty() {
        return Ok(Err(
            "it has owner references that contradict the policy: remove them first".to_owned()
        ));
    }
    if !agreement.wanted.set {
        return Ok(Err(format!("the policy of {} requires no owner reference", set.object())));
    }
    let name = member.pod_name();
    let only_guard = is_guarded(cx, claim)? && !agreement.missing.set;
    if !only_guard
        && (member.pod_state(&name, member.pod(cx)?) != ClaimPod::Podless
            || cx.pod(&set.namespace, &name)?.is_some())
    {
        return Ok(Err(format!(
            "pod {name} exists: the StatefulSet controller adds the reference once it visits the pod"
        )));
    }
    Ok(Ok(()))
}

/// Whether a reference to the set lacks the flag that the controller writes today (F66).
pub(super) fn lacks_flag(cx: &Cx, claim: &Claim, member: &TemplateClaim) -> bool {
    without_flag(cx, claim, member).next().is_some()
}

fn without_flag<'a>(
    cx: &Cx,
    claim: &'a Claim,
    member: &TemplateClaim<'a>,
) -> impl Iterator<Item = &'a OwnerReference> {
    let set = member.owner();
    let applies = ReferenceForm::of(cx.server()) == ReferenceForm::Controller;
    let plain = move |it: &&OwnerReference| applies && set.is_named_by(it) && !it.controller;
    claim.metadata.owners.iter().filter(plain)
}

fn effect(cx: &Cx, claim: &Claim, member: &TemplateClaim) -> Effect {
    let set = member.set.object();
    Effect {
        what: format!(
            "adds the owner reference to {set} that whenDeleted Delete requires: the garbage collector then deletes the \
             claim with the set"
        ),
        risk: format!(
            "if {set} is deleted, so is the claim: {}",
            volume_effect(cx, claim).0.describe()
        ),
    }
}

fn unknown_effect() -> Effect {
    Effect {
        what: "adds the owner reference that whenDeleted Delete requires".to_owned(),
        risk: "the claim is deleted with its StatefulSet".to_owned(),
    }
}
