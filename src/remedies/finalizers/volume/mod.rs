//! Finalizers of volumes: P-FIN-DEL of those whose controllers are absent, one at a time, by
//! position and name, and P-TOMBSTONE of a backend volume that would leak.
//!
//! [`table`] decides about one finalizer. The proposal for a volume is the sequence of these
//! decisions, in a fixed order, each for the volume as the step before leaves it.

mod advice;
mod explain;
mod finalizer;
mod reason;
mod removal;
mod table;

use super::super::{Remedy, checks};
use super::decision::FinalizerDecision;
use super::{ADD_PROTECTION, FinalizerRequest};
use crate::cluster::{Cx, Seen};
use crate::facts::{self, EXTERNAL_PROVISIONER, FinalizerOwner, IN_TREE, Owner, PV_PROTECTION};
use crate::model::{Kind, Proposal, ReclaimPolicy, Refusal, Text, Volume};
use finalizer::VolumeFinalizer;
use removal::FinalizerRemoval;
use table::{VolumeFinalizerKind, decide};

/// What removals write. No report proposes `--reclaim`, which rests on further kinds.
const WRITES: &[(&str, &str)] = &[("patch", "persistentvolumes"), ("create", "persistentvolumes")];

/// Removes the finalizer of csi-provisioner.
pub static EXTERNAL: Remedy = Remedy {
    id: "remove-external-finalizer",
    needs: facts::needs![controller: PersistentVolumeClaim, VolumeAttachment],
    writes: WRITES,
    command: |cx, volume| command(cx, volume, EXTERNAL_PROVISIONER),
    propose: |cx, volume| remove(cx, volume, EXTERNAL_PROVISIONER),
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
    writes: WRITES,
    command: |cx, volume| command(cx, volume, IN_TREE),
    propose: |cx, volume| remove(cx, volume, IN_TREE),
};

/// Removes the finalizer of external-attacher.
pub static ATTACHER: Remedy = Remedy {
    id: "remove-attacher-finalizer",
    needs: facts::needs![controller: PersistentVolumeClaim, Node, VolumeAttachment],
    writes: WRITES,
    command: |cx, volume| command(cx, volume, of_attacher(volume)),
    propose: |cx, volume| remove(cx, volume, of_attacher(volume)),
};

/// Removes a third-party finalizer: the one that the user names.
pub static THIRD_PARTY: Remedy = Remedy {
    id: "remove-foreign-finalizer",
    needs: &[Kind::PersistentVolume, Kind::PersistentVolumeClaim, Kind::VolumeAttachment],
    writes: WRITES,
    command: |cx, volume| command(cx, volume, &third_party(cx, volume)),
    propose: |cx, volume| remove(cx, volume, &third_party(cx, volume)),
};

fn of_attacher(volume: &Volume) -> &str {
    facts::set_by_attacher(&volume.metadata).map_or("external-attacher/", |it| &**it)
}

/// Returns the third-party finalizer that the user names, or the first one.
fn third_party(cx: &Cx, volume: &Volume) -> Text {
    let third_party = |it: &&Text| facts::owner_of(it) == FinalizerOwner::Unknown;
    let first = volume.metadata.finalizers.iter().find(third_party);
    let named = cx.settings().remove_finalizer.as_ref();
    named.or(first).map_or_else(|| "of others".into(), Text::clone)
}

/// Proposes or refuses to remove one finalizer of a volume that the user names.
fn remove(cx: &Cx, volume: &Volume, finalizer: &str) -> Seen<Result<Proposal, Refusal>> {
    let request = FinalizerRequest::named();
    let refuse =
        |reason| Ok(Err(Refusal { reason, effect: removal::effect_of(volume, finalizer) }));
    if !volume.metadata.has_finalizer(finalizer) {
        return refuse(format!("it has no finalizer {finalizer}"));
    }
    if let Err(reason) = checks::not_exempt(cx, &volume.metadata) {
        return refuse(reason);
    }
    let Some(kind) = finalizer::kind(finalizer) else {
        return refuse(explain::of_other_controllers(finalizer));
    };
    match judge(cx, volume, finalizer, kind, &request)? {
        FinalizerDecision::Do(removal) => {
            let mut after = volume.clone();
            remove_from(&mut after, finalizer);
            removal::conclude(cx, volume, &after, vec![removal], &request)
        }
        FinalizerDecision::Leave(reason) => refuse(reason),
    }
}

/// Decides about one finalizer of a volume, and returns its removal or why it is left.
fn judge(
    cx: &Cx,
    volume: &Volume,
    finalizer: &str,
    kind: VolumeFinalizerKind,
    request: &FinalizerRequest,
) -> Seen<FinalizerDecision<FinalizerRemoval, String>> {
    let case = VolumeFinalizer::of(cx, volume, finalizer, kind, request);
    match decide(&case.inputs) {
        Ok(FinalizerDecision::Do(step)) => {
            Ok(FinalizerDecision::Do(FinalizerRemoval::of(cx, &case, step)))
        }
        Ok(FinalizerDecision::Leave(why)) => {
            Ok(FinalizerDecision::Leave(reason::reason(cx, &case, why)))
        }
        Err(unread) => match case.gap(unread) {
            Some(unseen) => Err(unseen.clone()),
            None => {
                Ok(FinalizerDecision::Leave("what this decision needs was not read".to_owned()))
            }
        },
    }
}

/// Returns the command that removes it, with the danger flags on which the removal relies.
fn command(cx: &Cx, volume: &Volume, finalizer: &str) -> Option<String> {
    let proposal = remove(cx, volume, finalizer).ok()?.ok()?;
    let mut command = format!("fix-finalizers {}", volume.object());
    let driver = driver_of(volume, finalizer);
    super::add_flags(cx, &mut command, &proposal.relies_on, driver.as_ref());
    Some(command)
}

/// Returns the driver whose sidecar should remove a finalizer.
fn driver_of(volume: &Volume, finalizer: &str) -> Option<Text> {
    if finalizer == EXTERNAL_PROVISIONER {
        return facts::owner(volume).csi().cloned();
    }
    facts::attacher_with(volume, finalizer)
}

/// Proposes all steps for one volume, or explains for each of its finalizers why it is left.
///
/// # Errors
/// When an object was not read on which the decision rests.
pub fn fix(
    cx: &Cx,
    volume: &Volume,
    request: &FinalizerRequest,
) -> Seen<Result<Proposal, Refusal>> {
    let refuse = |reason| Ok(Err(Refusal { reason, effect: removal::effect_of_all() }));
    if let Err(reason) = checks::not_exempt(cx, &volume.metadata) {
        return refuse(reason);
    }
    if let Some(named) = &cx.settings().remove_finalizer
        && finalizer::kind(named) != Some(VolumeFinalizerKind::ThirdParty)
    {
        return refuse(format!(
            "{named} is a finalizer of Kubernetes, which --remove-finalizer does not remove; omit that flag"
        ));
    }
    let (mut after, mut removals, mut unseen) = (volume.clone(), Vec::new(), None);
    for (kind, finalizer) in in_order(cx, volume) {
        // Without the finalizer that the user names, nothing is removed.
        let is_named = kind == VolumeFinalizerKind::ThirdParty;
        match judge(cx, &after, &finalizer, kind, request) {
            Ok(FinalizerDecision::Do(removal)) => {
                removals.push(removal);
                remove_from(&mut after, &finalizer);
            }
            Ok(FinalizerDecision::Leave(reason)) if is_named => {
                return refuse(format!("{finalizer}: {reason}"));
            }
            Ok(FinalizerDecision::Leave(_)) => {}
            Err(missed) if is_named => return Err(missed),
            Err(missed) => unseen = unseen.or(Some(missed)),
        }
    }
    if !removals.is_empty() {
        return removal::conclude(cx, volume, &after, removals, request);
    }
    if let Some(unseen) = unseen {
        // What is known already helps, whether or not the controller is running.
        let Some(fault) = explain::known_fault(cx, volume) else { return Err(unseen) };
        return refuse(format!("not everything was read: {}; {fault}", unseen.reason));
    }
    let unprotected =
        volume.metadata.deleting.is_none() && !volume.metadata.has_finalizer(PV_PROTECTION);
    if unprotected && request.named && cx.settings().remove_finalizer.is_none() {
        return (ADD_PROTECTION.propose)(cx, volume);
    }
    refuse(explain::why_all_are_left(cx, volume, request))
}

/// Returns the finalizers about which the table decides, in the order in which they are removed:
/// first the stale one of the two that protect backend volumes, then the deletion-protection
/// finalizer, those of external-attachers, and the third-party one that the user names.
fn in_order(cx: &Cx, volume: &Volume) -> Vec<(VolumeFinalizerKind, Text)> {
    let named = cx.settings().remove_finalizer.as_deref();
    let stale_first = match facts::owner(volume) {
        Owner::InTree(_) => [VolumeFinalizerKind::External, VolumeFinalizerKind::InTree],
        Owner::Csi(_) | Owner::External(_) | Owner::StaticInTree(_) => {
            [VolumeFinalizerKind::InTree, VolumeFinalizerKind::External]
        }
    };
    let place = |kind: VolumeFinalizerKind| match kind {
        VolumeFinalizerKind::External | VolumeFinalizerKind::InTree => {
            usize::from(kind != stale_first[0])
        }
        VolumeFinalizerKind::Attacher => 2,
        VolumeFinalizerKind::ThirdParty => 3,
    };
    let mut all: Vec<_> = volume
        .metadata
        .finalizers
        .iter()
        .filter_map(|it| Some((finalizer::kind(it)?, Text::clone(it))))
        .filter(|(kind, it)| *kind != VolumeFinalizerKind::ThirdParty || named == Some(&**it))
        .collect();
    // The order of the finalizers on the object does not change the plan.
    all.sort_by(|(a, name), (b, other)| (place(*a), name).cmp(&(place(*b), other)));
    all
}

/// Removes one finalizer from a volume.
fn remove_from(volume: &mut Volume, finalizer: &str) {
    let mut left = volume.metadata.finalizers.to_vec();
    if let Some(at) = left.iter().position(|it| **it == *finalizer) {
        left.remove(at);
    }
    volume.metadata.finalizers = left.into();
}

/// Whether the reclaim policy keeps the backend volume.
const fn is_kept(volume: &Volume) -> bool {
    match volume.reclaim_policy {
        ReclaimPolicy::Retain | ReclaimPolicy::Recycle => true,
        ReclaimPolicy::Delete | ReclaimPolicy::Other(_) => false,
    }
}

#[cfg(test)]
mod tests;
