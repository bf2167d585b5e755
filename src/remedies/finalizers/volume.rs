//! Removes one finalizer that nobody is left to remove: P-FIN-DEL, one at a time, by position and
//! name. What blocks and what does not is the table of SEMANTICS F23, F24, F27, F30, F31, F39.

use super::super::{Remedy, checks};
use crate::cluster::{Cx, Seen, Unseen};
use crate::facts::{self, ClaimState, EXTERNAL_PROVISIONER, IN_TREE, Owner, PV_PROTECTION};
use crate::model::{
    Action, ControllerState, Effect, Guard, Kind, Liveness, Phase, Proposal, ReclaimPolicy,
    Refusal, Text, Undo, Volume,
};

const NEEDS: &[Kind] = facts::needs![controller: PersistentVolumeClaim, VolumeAttachment];

/// Removes the finalizer of csi-provisioner.
pub static EXTERNAL: Remedy = Remedy {
    id: "remove-external-finalizer",
    needs: NEEDS,
    writes: &[("patch", "persistentvolumes")],
    command: |_, _| None,
    propose: |cx, volume| propose(cx, volume, EXTERNAL_PROVISIONER, external),
};

/// Removes the finalizer of kube-controller-manager's volume controller.
pub static IN_TREE_FINALIZER: Remedy = Remedy {
    id: "remove-in-tree-finalizer",
    needs: &[
        Kind::PersistentVolume,
        Kind::PersistentVolumeClaim,
        Kind::VolumeAttachment,
        Kind::Event,
    ],
    writes: &[("patch", "persistentvolumes")],
    command: |_, _| None,
    propose: |cx, volume| propose(cx, volume, IN_TREE, in_tree),
};

/// Removes the finalizer of external-attacher.
pub static ATTACHER: Remedy = Remedy {
    id: "remove-attacher-finalizer",
    needs: facts::needs![controller: PersistentVolumeClaim, Node, VolumeAttachment],
    writes: &[("patch", "persistentvolumes")],
    command: |_, _| None,
    propose: |cx, volume| {
        let finalizer = facts::set_by_attacher(&volume.metadata);
        propose(cx, volume, finalizer.map_or("external-attacher/", |it| &**it), attached)
    },
};

/// Proposes or refuses to repair one.
///
/// # Errors
/// When something was not seen that the decision needs.
pub fn fix(cx: &Cx, volume: &Volume, _: &super::Asked) -> Seen<Result<Proposal, Refusal>> {
    (EXTERNAL.propose)(cx, volume)
}

type Decision = fn(&Cx, &Volume) -> Seen<checks::Checked>;

fn propose(
    cx: &Cx,
    volume: &Volume,
    finalizer: &str,
    decide: Decision,
) -> Seen<Result<Proposal, Refusal>> {
    let effect = effect(volume, finalizer);
    if !volume.metadata.has_finalizer(finalizer) {
        return Ok(Err(Refusal { reason: format!("it has no finalizer {finalizer}"), effect }));
    }
    if let Err(reason) = checks::not_exempt(cx, &volume.metadata) {
        return Ok(Err(Refusal { reason, effect }));
    }
    if let Err(reason) = decide(cx, volume)? {
        return Ok(Err(Refusal { reason, effect }));
    }
    Ok(Ok(Proposal {
        steps: vec![Action::RemoveFinalizer {
            object: volume.object(),
            finalizer: Text::from(finalizer),
            guards: guards(volume, finalizer),
        }],
        effect,
        undo: match volume.metadata.deleting {
            Some(_) => Undo::Never("the object may go at once"),
            None => Undo::Revert,
        },
        notices: leak(volume, finalizer).into_iter().collect(),
        relies_on: Vec::new(),
        keeps_backend: false,
    }))
}

fn effect(volume: &Volume, finalizer: &str) -> Effect {
    let last = volume.metadata.finalizers.len() == 1;
    let what = match (volume.metadata.deleting.is_some(), last) {
        (true, true) => format!(
            "removes {finalizer}, the last finalizer: the object goes at once, and the backend volume stays"
        ),
        (true, false) => format!("removes {finalizer}; other finalizers still hold the object"),
        (false, _) => format!("removes {finalizer}"),
    };
    let risk = if finalizer == EXTERNAL_PROVISIONER || finalizer == IN_TREE {
        "if its controller was only away, the backend volume is leaked"
    } else {
        "if a node still has it attached, nothing detaches it any more"
    };
    Effect { what, risk: risk.to_owned() }
}

/// What the decision rested on, so that the patch fails where it does not hold any more: policy and
/// phase always, that it is not terminating, and the finalizers that keep what must not go.
fn guards(volume: &Volume, finalizer: &str) -> Vec<Guard> {
    let mut guards = vec![
        Guard::ReclaimPolicy(volume.reclaim_policy.clone()),
        Guard::Phase(volume.phase.clone()),
    ];
    if volume.metadata.deleting.is_none() {
        guards.push(Guard::NotTerminating);
    }
    let bound = volume.phase == Phase::Bound;
    let keeps_disk = volume.reclaim_policy != ReclaimPolicy::Retain;
    let keepers = [
        (EXTERNAL_PROVISIONER, keeps_disk || bound),
        (IN_TREE, keeps_disk || bound),
        (PV_PROTECTION, bound),
    ];
    for (keeper, needed) in keepers {
        if needed && keeper != finalizer && volume.metadata.has_finalizer(keeper) {
            guards.push(Guard::Finalizer(keeper.into()));
        }
    }
    guards
}

/// What is lost with the object, where its policy says that the backend should have been deleted
/// and no other finalizer says who will.
fn leak(volume: &Volume, finalizer: &str) -> Option<String> {
    let lost = volume.metadata.deleting.is_some()
        && volume.reclaim_policy == ReclaimPolicy::Delete
        && !guarded_beside(volume, finalizer);
    lost.then(|| match &volume.backend {
        Some(backend) => format!("nobody will delete the backend volume: {backend}"),
        None => "nobody will delete the backend volume".to_owned(),
    })
}

/// Whether another finalizer keeps the object until its backend volume is deleted.
fn guarded_beside(volume: &Volume, finalizer: &str) -> bool {
    let guards = [EXTERNAL_PROVISIONER, IN_TREE];
    guards.iter().any(|guard| *guard != finalizer && volume.metadata.has_finalizer(guard))
}

/// The finalizer of csi-provisioner: F23, F24, F30.
fn external(cx: &Cx, volume: &Volume) -> Seen<checks::Checked> {
    match facts::owner(volume) {
        Owner::Csi(driver) => {
            let state = facts::provisioner(cx, &driver);
            if let Err(reason) = gone(&state, &format!("csi-provisioner of {driver}"))? {
                return Ok(Err(reason));
            }
            external_of_csi(cx, volume)
        }
        Owner::InTree(_) => external_of_in_tree(cx, volume),
        owner @ (Owner::External(_) | Owner::StaticInTree(_)) => {
            Ok(Err(format!("who should remove it is not known: {}", owner.describe())))
        }
    }
}

/// The sub-verdicts of F24; the provisioner is absent.
fn external_of_csi(cx: &Cx, volume: &Volume) -> Seen<checks::Checked> {
    let refuse = |reason: &str| Ok(Err(reason.to_owned()));
    match &volume.reclaim_policy {
        ReclaimPolicy::Retain | ReclaimPolicy::Recycle => {}
        ReclaimPolicy::Delete => {
            let terminating = volume.metadata.deleting.is_some();
            if volume.phase == Phase::Bound {
                return refuse("it is bound: this finalizer is not what holds it");
            }
            if !terminating && volume.phase == Phase::Released {
                return refuse("its policy is Delete: reinstall the driver, which then deletes it");
            }
            if !terminating {
                return refuse("it is not being deleted: the finalizer holds up nothing");
            }
            if !cx.settings().accept_leak {
                return refuse(
                    "the backend volume would be leaked: needs the admin's word that this is accepted",
                );
            }
        }
        ReclaimPolicy::Other(policy) => {
            return Ok(Err(format!("what its policy {policy} means is not known")));
        }
    }
    may_vanish(cx, volume)
}

/// F30: only a controller manager that does not honour the reclaim policy leaves it there.
fn external_of_in_tree(cx: &Cx, volume: &Volume) -> Seen<checks::Checked> {
    if let Err(reason) = does_not_honor(cx) {
        return Ok(Err(reason));
    }
    if volume.metadata.has_finalizer(IN_TREE) {
        return Ok(Ok(()));
    }
    match volume.reclaim_policy {
        ReclaimPolicy::Retain => may_vanish(cx, volume),
        _ => Ok(Err(format!(
            "nothing else protects the backend volume: {IN_TREE} is absent and the policy is {}",
            volume.reclaim_policy
        ))),
    }
}

/// The finalizer of the controller manager: F27 on volumes that are not in-tree any more, F39 on
/// those that are.
fn in_tree(cx: &Cx, volume: &Volume) -> Seen<checks::Checked> {
    match facts::owner(volume) {
        Owner::Csi(_) => in_tree_of_csi(cx, volume),
        Owner::InTree(_) => in_tree_of_in_tree(cx, volume),
        owner @ (Owner::External(_) | Owner::StaticInTree(_)) => {
            Ok(Err(format!("who should remove it is not known: {}", owner.describe())))
        }
    }
}

fn in_tree_of_csi(cx: &Cx, volume: &Volume) -> Seen<checks::Checked> {
    if volume.metadata.deleting.is_none() || volume.metadata.has_finalizer(EXTERNAL_PROVISIONER) {
        return Ok(Ok(()));
    }
    match volume.reclaim_policy {
        ReclaimPolicy::Retain => may_vanish(cx, volume),
        _ => Ok(Err(format!(
            "it is the last guard of the backend volume: {EXTERNAL_PROVISIONER} is absent and the policy is {}",
            volume.reclaim_policy
        ))),
    }
}

fn in_tree_of_in_tree(cx: &Cx, volume: &Volume) -> Seen<checks::Checked> {
    if !cx.settings().rolled_back {
        return Ok(Err(
            "a slow deletion looks the same: needs the admin's word that HonorPVReclaimPolicy is off in the controller manager"
                .to_owned(),
        ));
    }
    if let Err(reason) = does_not_honor(cx) {
        return Ok(Err(reason));
    }
    if volume.metadata.deleting.is_none() {
        return Ok(Ok(()));
    }
    if !facts::looks_rolled_back(cx, volume)? {
        return Ok(Err("its deletion may still be going on".to_owned()));
    }
    match volume.reclaim_policy {
        ReclaimPolicy::Retain => may_vanish(cx, volume),
        _ if cx.settings().accept_leak => may_vanish(cx, volume),
        _ => Ok(Err(
            "the backend volume may be leaked: needs the admin's word that this is accepted"
                .to_owned(),
        )),
    }
}

/// The finalizer of external-attacher: F31.
fn attached(cx: &Cx, volume: &Volume) -> Seen<checks::Checked> {
    if volume.metadata.deleting.is_none() {
        return Ok(Err(
            "it is not terminating: the attacher keeps its finalizer until then".to_owned()
        ));
    }
    if volume.phase == Phase::Bound {
        return Ok(Err("it is bound: this finalizer is not what holds it".to_owned()));
    }
    for check in [may_vanish(cx, volume)?, checks::on_no_node(cx, volume)?] {
        if let Err(reason) = check {
            return Ok(Err(reason));
        }
    }
    let Some(driver) = facts::attacher_of(volume) else {
        return Ok(Err("whose attacher set it is not known".to_owned()));
    };
    let state = facts::attacher(cx, &driver);
    if let Err(reason) = gone(&state, &format!("external-attacher of {driver}"))? {
        return Ok(Err(reason));
    }
    let kept = matches!(volume.reclaim_policy, ReclaimPolicy::Retain | ReclaimPolicy::Recycle);
    let leaks = !kept && !volume.metadata.has_finalizer(EXTERNAL_PROVISIONER);
    if leaks && !cx.settings().accept_leak {
        return Ok(Err(
            "the backend volume will not be deleted by anyone once this goes: needs the admin's word that this is accepted"
                .to_owned(),
        ));
    }
    Ok(Ok(()))
}

/// A terminating object may go with its finalizer: nobody uses it, or something else holds it.
fn may_vanish(cx: &Cx, volume: &Volume) -> Seen<checks::Checked> {
    if volume.metadata.deleting.is_none() {
        return Ok(Ok(()));
    }
    if volume.phase == Phase::Bound {
        let held = volume.metadata.has_finalizer(PV_PROTECTION);
        return Ok(held.then_some(()).ok_or_else(|| {
            "it is bound, and nothing else keeps the object: its claim would be lost".to_owned()
        }));
    }
    if let ClaimState::Live(claim) = facts::claim_state(cx, volume)?
        && claim.volume_name.as_deref().is_none_or(|bound| bound == volume.name())
    {
        return Ok(Err(format!("{} still exists", claim.object())));
    }
    checks::not_attached(cx, volume)
}

/// The controller that should remove the finalizer is proven absent.
fn gone(state: &ControllerState, who: &str) -> Seen<checks::Checked> {
    Ok(match state.liveness {
        Liveness::Absent => Ok(()),
        Liveness::Alive => Err(format!("{who} is alive: it removes its finalizer itself")),
        Liveness::Unknown => match &state.unseen {
            Some((kind, reason)) => {
                return Err(Unseen { kind: *kind, namespace: None, reason: reason.clone() });
            }
            None => Err(format!("whether {who} is gone is unknown: {}", state.because)),
        },
    })
}

/// The controller manager does not remove finalizers by itself, as far as that can be known: the
/// server is too old for it always to do so, and the user says that it does not.
fn does_not_honor(cx: &Cx) -> checks::Checked {
    match facts::always_honors_reclaim_policy(cx) {
        Some(true) => Err("kube-controller-manager removes it itself: look why it does not"
            .to_owned()),
        None => Err("whether kube-controller-manager removes it itself is not known: the server's version was not seen".to_owned()),
        Some(false) if !cx.settings().rolled_back => Err(
            "needs the admin's word that HonorPVReclaimPolicy is off in the controller manager"
                .to_owned(),
        ),
        Some(false) => Ok(()),
    }
}

#[cfg(test)]
mod table;
