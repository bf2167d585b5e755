//! Removes the references of a claim to owners that are proven not to exist, because of which the
//! garbage collector deletes the claim: P-OWNER-DEL (F51, F65).
//!
//! It never adds a reference, and never points one at another object: the claim would be deleted
//! with that one.

use super::Remedy;
use crate::cluster::{Cx, Seen, Unseen};
use crate::facts::{self, OwnerPresence, Ownership};
use crate::model::{Action, Claim, Effect, Kind, Loss, OwnerReference, Proposal, Refusal, Undo};

/// The name of this purpose in plans and in the journal.
pub const ID: &str = "disown";

/// The flag with which the user accepts that an owner's kind is not served any more.
pub(super) const OWNER_KIND_GONE: &str = "--owner-kind-gone";

/// Reason why `undo` does not add the references again.
pub const NEVER_UNDONE: &str = "with a reference to an owner that does not exist, the garbage collector would delete the claim";

/// Removes the references to owners that do not exist (P-OWNER-DEL).
pub static REMEDY: Remedy<Claim> = Remedy {
    id: ID,
    needs: facts::needs![deletion: PersistentVolumeClaim, PartialObjectMetadata],
    writes: &[("patch", "persistentvolumeclaims")],
    command: |cx, claim| Some(command(cx, claim)),
    propose,
};

fn command(cx: &Cx, claim: &Claim) -> String {
    let command = format!("disown pvc/{} -n {}", claim.metadata.name, claim.namespace);
    match propose(cx, claim) {
        Ok(Ok(it)) if it.relies_on.contains(&OWNER_KIND_GONE) => {
            format!("{command} {OWNER_KIND_GONE}")
        }
        _ => command,
    }
}

/// The owner references of a claim, grouped by the presence of their owners.
#[derive(Default)]
struct Owners<'a> {
    /// Owners that are proven not to exist.
    absent: Vec<(&'a OwnerReference, OwnerPresence)>,
    /// Owners of kinds that are not served.
    unserved: Vec<&'a OwnerReference>,
    exist: Vec<&'a OwnerReference>,
    unread: Vec<Unseen>,
}

fn owners<'a>(cx: &Cx, claim: &'a Claim) -> Owners<'a> {
    let mut owners = Owners::default();
    for owner in &claim.metadata.owners {
        match facts::owner_presence(cx, claim, owner) {
            Ok(OwnerPresence::Exists) => owners.exist.push(owner),
            Ok(OwnerPresence::KindGone) => owners.unserved.push(owner),
            Ok(absent @ (OwnerPresence::Missing | OwnerPresence::Recreated(_))) => {
                owners.absent.push((owner, absent));
            }
            Err(unseen) => owners.unread.push(unseen),
        }
    }
    owners
}

fn propose(cx: &Cx, claim: &Claim) -> Seen<Result<Proposal, Refusal>> {
    let Owners { absent, unserved, exist, unread } = owners(cx, claim);
    // An owner that was found absent in another version than the reference names: the garbage
    // collector cannot look it up, and deletes nothing.
    let blocks =
        |owner: &OwnerReference| facts::ownership(cx, claim, owner) == Ok(Ownership::NotServed);
    let (held, absent): (Vec<_>, Vec<_>) =
        absent.into_iter().partition(|(owner, _)| !unread.is_empty() && blocks(owner));
    let mut removed: Vec<_> = absent.iter().map(|(owner, _)| *owner).collect();
    // While an owner's kind is not served, the garbage collector deletes nothing: an owner of which it
    // is unknown whether it exists must not be left alone with it.
    let with_unserved = cx.settings().owner_kind_gone && !unserved.is_empty() && unread.is_empty();
    if with_unserved {
        removed.extend(&unserved);
    }
    let left = claim.metadata.owners.len() - removed.len();
    let effect = effect(&removed, left);
    let refuse = |reason: String| Ok(Err(Refusal { reason, effect: effect.clone() }));
    if claim.metadata.deleting.is_some() {
        return refuse(format!(
            "it is Terminating, which cannot be revoked; `kubectl storage retain pvc/{} -n {}` keeps its data",
            claim.metadata.name, claim.namespace
        ));
    }
    if removed.is_empty() {
        if let Some(unseen) = unread.into_iter().next() {
            return Err(unseen);
        }
        if let Some(owner) = unserved.first() {
            return refuse(format!(
                "no version of {} of {} is served: whether {} exists is unknown, and it counts again when its kind is \
                 served again; {OWNER_KIND_GONE} removes the reference",
                owner.kind,
                group(owner),
                named(owner)
            ));
        }
        return refuse(match exist.as_slice() {
            [] => "it has no owner references".to_owned(),
            some => format!("its owner exists: {}", list(some)),
        });
    }
    let mut notices = Vec::new();
    for (owner, presence) in &absent {
        notices.extend(notice(claim, owner, presence));
    }
    notices.extend(
        unread.into_iter().map(|it| format!("not removed, since it is unknown {}", it.reason)),
    );
    notices.extend(held.iter().map(|(owner, _)| {
        format!(
            "the reference to {} remains: the garbage collector cannot look it up in {}, and so deletes nothing",
            named(owner),
            owner.api_version
        )
    }));
    if !with_unserved && let [owner, ..] = unserved.as_slice() {
        notices.push(format!(
            "the reference to {} remains: no version of its kind is served; {OWNER_KIND_GONE} removes it too",
            named(owner)
        ));
    }
    if left == 0 && unserved.is_empty() {
        notices.push(format!(
            "the garbage collector may delete the claim at any moment: if it is faster, the \
             claim is Terminating, and `kubectl storage retain {}` keeps its data",
            facts::on_command_line(&claim.object())
        ));
    }
    Ok(Ok(Proposal {
        steps: vec![Action::RemoveOwnerReferences {
            claim: claim.object(),
            owners: removed.into_iter().cloned().collect(),
        }],
        effect,
        undo: Undo::Never(NEVER_UNDONE),
        notices,
        relies_on: with_unserved.then_some(OWNER_KIND_GONE).into_iter().collect(),
        keeps_backend: false,
        loses: Loss::default(),
    }))
}

fn effect(removed: &[&OwnerReference], left: usize) -> Effect {
    let what = match removed {
        [] => "removes references to owners that do not exist".to_owned(),
        some => format!("removes the owner reference to {}", list(some)),
    };
    let then = match left {
        0 => "without owners, the garbage collector leaves the claim alone",
        _ => "its other owner references remain",
    };
    Effect {
        what: format!("{what}: {then}"),
        risk: "the claim and its volume are kept, and billed, until you delete the claim"
            .to_owned(),
    }
}

/// Returns the notice about the removal of one reference.
fn notice(claim: &Claim, owner: &OwnerReference, presence: &OwnerPresence) -> Option<String> {
    let recreated = matches!(presence, OwnerPresence::Recreated(_));
    let of_pod = &*owner.kind == Kind::Pod.name();
    let ephemeral = claim
        .metadata
        .name
        .strip_prefix(&*owner.name)
        .is_some_and(|it| it.len() > 1 && it.starts_with('-'));
    if of_pod && owner.controller && ephemeral {
        return Some(if recreated {
            format!(
                "{} was recreated: if the claim belongs to an ephemeral volume of it, the pod does not start while a claim of this name has no owner",
                named(owner)
            )
        } else {
            format!(
                "it seems to be the claim of an ephemeral volume of {}, which is meant to be deleted with the pod",
                named(owner)
            )
        });
    }
    if recreated && &*owner.kind == Kind::StatefulSet.name() {
        return Some(format!(
            "{} was recreated: if its whenDeleted is Delete, its controller may add a reference to it",
            named(owner)
        ));
    }
    None
}

/// The API group of an owner, as users write it.
fn group(owner: &OwnerReference) -> &str {
    owner.api_version.split_once('/').map_or("the core group", |(group, _)| group)
}

/// Names an owner in the words of plans.
pub(super) fn named(owner: &OwnerReference) -> String {
    format!("{} {}", owner.kind, owner.name)
}

fn list(owners: &[&OwnerReference]) -> String {
    owners.iter().map(|it| named(it)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
