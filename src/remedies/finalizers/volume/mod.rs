//! What is done about the finalizers of a volume: P-FIN-DEL of those that nobody is left to remove,
//! one at a time, by position and name, and P-TOMBSTONE of a backend volume that would be leaked.
//!
//! [`table`] decides about one finalizer. What is done to a volume is those decisions one after the
//! other, in one order, each on the volume as the one before leaves it.

mod advice;
mod explain;
mod outcome;
mod reason;
mod situation;
mod table;

use super::super::{Remedy, checks};
use super::{ADD_PROTECTION, Asked};
use crate::cluster::{Cx, Seen, Unseen};
use crate::facts::{self, EXTERNAL_PROVISIONER, FinalizerOwner, IN_TREE, Owner, PV_PROTECTION};
use crate::model::{Kind, Proposal, ReclaimPolicy, Refusal, Text, Volume};
use outcome::Removal;
use situation::Case;
use table::{Blind, Decision, Which, decide};

/// What removals write. No report asks for `--reclaim`, which also looks at whatever tells whether a
/// backend volume may be destroyed.
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

/// Removes a finalizer that is not one of Kubernetes' own: the one that the user names.
pub static FOREIGN: Remedy = Remedy {
    id: "remove-foreign-finalizer",
    needs: &[Kind::PersistentVolume, Kind::PersistentVolumeClaim, Kind::VolumeAttachment],
    writes: WRITES,
    command: |cx, volume| command(cx, volume, &of_others(cx, volume)),
    propose: |cx, volume| remove(cx, volume, &of_others(cx, volume)),
};

fn of_attacher(volume: &Volume) -> &str {
    facts::set_by_attacher(&volume.metadata).map_or("external-attacher/", |it| &**it)
}

/// The one that was asked for, or the first that could be.
fn of_others(cx: &Cx, volume: &Volume) -> Text {
    let foreign = |it: &&Text| facts::owner_of(it) == FinalizerOwner::Unknown;
    let first = volume.metadata.finalizers.iter().find(foreign);
    let asked = cx.settings().remove_finalizer.as_ref();
    asked.or(first).map_or_else(|| "of others".into(), Text::clone)
}

/// Proposes or refuses to remove one finalizer of a volume that the user names.
fn remove(cx: &Cx, volume: &Volume, finalizer: &str) -> Seen<Result<Proposal, Refusal>> {
    let asked = Asked { named: true, ..Asked::default() };
    let refuse =
        |reason| Ok(Err(Refusal { reason, effect: outcome::effect_of(volume, finalizer) }));
    if !volume.metadata.has_finalizer(finalizer) {
        return refuse(format!("it has no finalizer {finalizer}"));
    }
    if let Err(reason) = checks::not_exempt(cx, &volume.metadata) {
        return refuse(reason);
    }
    let Some(which) = situation::which(finalizer) else {
        return refuse(explain::of_others_in_kubernetes(finalizer));
    };
    match judge(cx, volume, finalizer, which, &asked) {
        Judged::Removed(removal) => {
            let mut after = volume.clone();
            take_off(&mut after, finalizer);
            outcome::conclude(cx, volume, &after, vec![removal], &asked)
        }
        Judged::Left(reason) => refuse(reason),
        Judged::Unseen(unseen) => Err(unseen),
    }
}

/// What was decided about one finalizer.
enum Judged {
    Removed(Removal),
    Left(String),
    Unseen(Unseen),
}

fn judge(cx: &Cx, volume: &Volume, finalizer: &str, which: Which, asked: &Asked) -> Judged {
    let case = Case::of(cx, volume, finalizer, which, asked);
    match decide(&case.situation) {
        Decision::Do(act) => Judged::Removed(Removal::of(cx, &case, act)),
        Decision::Refuse(why) => Judged::Left(reason::reason(cx, &case, why)),
        Decision::Unseen(blind) => {
            let unseen = match blind {
                Blind::Remover => case.unseen_remover(),
                Blind::Usage => case.unseen_usage(),
            };
            match unseen {
                Some(unseen) => Judged::Unseen(unseen.clone()),
                None => Judged::Left("what this rests on was not seen".to_owned()),
            }
        }
    }
}

/// The command that does it, with the danger flags on which it relies.
fn command(cx: &Cx, volume: &Volume, finalizer: &str) -> Option<String> {
    let proposal = remove(cx, volume, finalizer).ok()?.ok()?;
    let mut command = format!("fix-finalizers {}", volume.object());
    let remover = remover_of(volume, finalizer);
    super::remover::add_flags(cx, &mut command, &proposal.relies_on, remover.as_ref());
    Some(command)
}

/// The driver whose sidecar should remove a finalizer.
fn remover_of(volume: &Volume, finalizer: &str) -> Option<Text> {
    if finalizer == EXTERNAL_PROVISIONER {
        return facts::owner(volume).csi().cloned();
    }
    facts::attacher_with(volume, finalizer)
}

/// Proposes everything that is to be done to one volume, or says of every finalizer on it why it is
/// left.
///
/// # Errors
/// When something was not seen that the decision needs.
pub fn fix(cx: &Cx, volume: &Volume, asked: &Asked) -> Seen<Result<Proposal, Refusal>> {
    let refuse = |reason| Ok(Err(Refusal { reason, effect: outcome::effect_of_all() }));
    if let Err(reason) = checks::not_exempt(cx, &volume.metadata) {
        return refuse(reason);
    }
    if let Some(asked) = &cx.settings().remove_finalizer
        && situation::which(asked) != Some(Which::Foreign)
    {
        return refuse(format!(
            "{asked} is one of Kubernetes' own, and not removed because somebody names it: leave out --remove-finalizer"
        ));
    }
    let (mut after, mut removals, mut unseen) = (volume.clone(), Vec::new(), None);
    for (which, finalizer) in in_order(cx, volume) {
        match judge(cx, &after, &finalizer, which, asked) {
            Judged::Removed(removal) => {
                removals.push(removal);
                take_off(&mut after, &finalizer);
            }
            // What was asked for by its name is done, or nothing is.
            Judged::Left(reason) if which == Which::Foreign => {
                return refuse(format!("{finalizer}: {reason}"));
            }
            Judged::Left(_) => {}
            Judged::Unseen(missed) if which == Which::Foreign => return Err(missed),
            Judged::Unseen(missed) => unseen = unseen.or(Some(missed)),
        }
    }
    if !removals.is_empty() {
        return outcome::conclude(cx, volume, &after, removals, asked);
    }
    if let Some(unseen) = unseen {
        return Err(unseen);
    }
    let unprotected =
        volume.metadata.deleting.is_none() && !volume.metadata.has_finalizer(PV_PROTECTION);
    if unprotected && asked.named && cx.settings().remove_finalizer.is_none() {
        return (ADD_PROTECTION.propose)(cx, volume);
    }
    refuse(explain::why_all_are_left(cx, volume, asked))
}

/// The finalizers about which the table decides, in the order in which they are removed: first the
/// stale one of the two that guard backend volumes, which the other one outlives; then the guard,
/// the attachers', and the foreign one that was asked for.
fn in_order(cx: &Cx, volume: &Volume) -> Vec<(Which, Text)> {
    let asked = cx.settings().remove_finalizer.as_deref();
    let guard_first = match facts::owner(volume) {
        Owner::InTree(_) => [Which::External, Which::InTree],
        Owner::Csi(_) | Owner::External(_) | Owner::StaticInTree(_) => {
            [Which::InTree, Which::External]
        }
    };
    let place = |which: Which| match which {
        Which::External | Which::InTree => usize::from(which != guard_first[0]),
        Which::Attacher => 2,
        Which::Foreign => 3,
    };
    let mut all: Vec<_> = volume
        .metadata
        .finalizers
        .iter()
        .filter_map(|it| Some((situation::which(it)?, Text::clone(it))))
        .filter(|(which, it)| *which != Which::Foreign || asked == Some(&**it))
        .collect();
    // Whoever reorders the finalizers of an object reorders no plan.
    all.sort_by(|(a, name), (b, other)| (place(*a), name).cmp(&(place(*b), other)));
    all
}

/// The volume without one of its finalizers.
fn take_off(volume: &mut Volume, finalizer: &str) {
    let mut left = volume.metadata.finalizers.to_vec();
    if let Some(at) = left.iter().position(|it| **it == *finalizer) {
        left.remove(at);
    }
    volume.metadata.finalizers = left.into();
}

/// Whether the policy keeps the backend volume.
const fn is_kept(volume: &Volume) -> bool {
    match volume.reclaim_policy {
        ReclaimPolicy::Retain | ReclaimPolicy::Recycle => true,
        ReclaimPolicy::Delete | ReclaimPolicy::Other(_) => false,
    }
}

#[cfg(test)]
mod tests;
