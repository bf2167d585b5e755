//! Removes the owner references of a claim that contradict the policy of its set, and those to
//! earlier sets and pods of the same names: P-OWNER-DEL (F60, F65, F67).
//!
//! The claim is never more deletable afterwards. An owner that exists protects the claim from the
//! garbage collector, whatever other owners it has (R-1847-9): its reference is removed only together
//! with all others, or not at all.

use super::super::disown::{NEVER_UNDONE, named};
use super::super::{Remedy, checks};
use super::{NEVER_ADDED, command, known_policy, member, refuse};
use crate::cluster::{Cx, Seen, Unseen};
use crate::facts::retention::{
    ClaimPod, OwnerAgreement, SurplusReason, TemplateClaim, UNLESS_IT_WAITS, owner_agreement,
};
use crate::facts::{self, OwnerPresence};
use crate::model::{Action, Claim, Effect, Kind, Loss, OwnerReference, Proposal, Refusal, Undo};

/// Removes the owner references that contradict the policy (P-OWNER-DEL).
pub(crate) static REMEDY: Remedy<Claim> = Remedy {
    id: "retention-remove-owners",
    needs: facts::needs![deletion: PersistentVolumeClaim, PartialObjectMetadata],
    writes: &[("patch", "persistentvolumeclaims")],
    command,
    propose,
};

/// A reference to be removed, with its owner in words.
type Removal<'a> = (&'a OwnerReference, String);

/// The owner references of a claim, grouped by their treatment.
#[derive(Default)]
struct References<'a> {
    /// References to the set or its pod, which exists: the policy forbids them.
    live: Vec<Removal<'a>>,
    /// References to earlier sets and pods of these names, which are proven not to exist.
    stale: Vec<Removal<'a>>,
    /// References to other owners that are proven not to exist, and protect nothing.
    absent: Vec<Removal<'a>>,
    /// References to other owners that exist: they protect the claim.
    exist: Vec<&'a OwnerReference>,
    /// References to other owners whose kind is not served: the claim is not deleted until it is.
    unserved: Vec<&'a OwnerReference>,
    /// Gaps because of which it is unknown whether an owner exists.
    unread: Vec<Unseen>,
}

pub(super) fn propose(cx: &Cx, claim: &Claim) -> Seen<Result<Proposal, Refusal>> {
    let member = match member(cx, claim)? {
        Ok(member) => member,
        Err(reason) => return refuse(reason, effect(&[], 0)),
    };
    let agreement = owner_agreement(cx, claim, &member)?;
    if let Err(reason) = allowed(claim, &member, &agreement) {
        return refuse(reason, effect(&[], 0));
    }
    let mut found = References::of(cx, claim, &member, &agreement);
    let unknown = match found.live.is_empty() {
        true => None,
        false => known_policy(member.set).err(),
    };
    let stays = match (&unknown, found.live.first()) {
        (_, None) => None,
        (Some(unknown), _) => Some(Ok(unknown.clone())),
        (None, Some((owner, _))) => found.protect(claim, owner),
    };
    let frees = !found.live.is_empty() && stays.is_none();
    let doomed = found.live.is_empty();
    let mut removed = std::mem::take(&mut found.stale);
    if frees {
        removed.append(&mut found.live);
        removed.append(&mut found.absent);
    }
    if removed.is_empty() {
        let unread = || found.unread.first().cloned().map(Err);
        return match stays.or_else(unread) {
            Some(Ok(reason)) => refuse(reason, effect(&[], 0)),
            Some(Err(unseen)) => Err(unseen),
            None => {
                let set = member.set.object();
                refuse(
                    format!("its owner references agree with the policy of {set}"),
                    effect(&[], 0),
                )
            }
        };
    }
    let mut notices: Vec<_> = match stays {
        Some(Ok(reason)) => vec![reason],
        Some(Err(_)) | None => Vec::new(),
    };
    notices.extend(
        found.unread.iter().map(|it| format!("not removed, since it is unknown {}", it.reason)),
    );
    let left = claim.metadata.owners.len() - removed.len();
    notices.extend(controller_notice(cx, claim, &member, &agreement, frees)?);
    if doomed && left == 0 {
        notices.push(at_any_moment(claim));
    }
    Ok(Ok(Proposal {
        effect: effect(&removed, left),
        steps: vec![Action::RemoveOwnerReferences {
            claim: claim.object(),
            owners: removed.into_iter().map(|(owner, _)| owner.clone()).collect(),
        }],
        undo: Undo::Never(if frees { NEVER_ADDED } else { NEVER_UNDONE }),
        notices,
        relies_on: Vec::new(),
        keeps_backend: false,
        loses: Loss::default(),
    }))
}

/// Returns the references of a claim that are removed together, so that the policy of its set holds and
/// the claim is not more deletable; none where no reference to the set or its pod, which exist,
/// contradicts the policy. `Err` says why such a reference remains: another owner counts.
///
/// # Errors
/// When it is unknown whether an owner exists on which this rests.
pub(in crate::remedies) fn removable<'a>(
    cx: &Cx,
    claim: &'a Claim,
    member: &TemplateClaim,
) -> Seen<Result<Vec<&'a OwnerReference>, String>> {
    let agreement = owner_agreement(cx, claim, member)?;
    let References { live, stale, absent, .. } = match References::of(cx, claim, member, &agreement)
    {
        found if found.live.is_empty() => return Ok(Ok(Vec::new())),
        found => match found.live.first().and_then(|(owner, _)| found.protect(claim, owner)) {
            Some(Ok(reason)) => return Ok(Err(reason)),
            Some(Err(unseen)) => return Err(unseen),
            None => found,
        },
    };
    Ok(Ok([live, stale, absent].concat().into_iter().map(|(owner, _)| owner).collect()))
}

/// Returns why the garbage collector may delete a claim at any moment, whatever the policy of its set: its owner
/// references are only to earlier sets and pods. `None` where it has others, or none.
///
/// # Errors
/// When pods of its namespace were not read.
pub(in crate::remedies) fn doomed(
    cx: &Cx,
    claim: &Claim,
    member: &TemplateClaim,
) -> Seen<Option<String>> {
    let agreement = owner_agreement(cx, claim, member)?;
    let References { live, stale, unread, .. } = References::of(cx, claim, member, &agreement);
    let all = claim.metadata.owners.len();
    if all == 0 || !live.is_empty() || stale.len() + unread.len() < all {
        return Ok(None);
    }
    if let Some(unseen) = unread.first() {
        return Ok(Some(format!(
            "unknown {}: if no owner exists, the garbage collector deletes it whatever the policy",
            unseen.reason
        )));
    }
    let owners: Vec<_> =
        stale.iter().map(|(owner, _)| format!("an earlier {}", named(owner))).collect();
    Ok(Some(format!(
        "only {} owns it, which does not exist: the garbage collector may delete it at any moment, whatever the \
         policy; `kubectl storage disown pvc/{} -n {}` keeps it",
        owners.join(" and "),
        claim.metadata.name,
        claim.namespace
    )))
}

/// Refuses where a removal would not keep the claim, or is not wanted.
fn allowed(claim: &Claim, member: &TemplateClaim, agreement: &OwnerAgreement) -> checks::Checked {
    let (name, namespace) = (&claim.metadata.name, &claim.namespace);
    if claim.metadata.deleting.is_some() {
        return Err(format!(
            "it is Terminating, which cannot be revoked; `kubectl storage retain pvc/{name} -n {namespace}` keeps its data"
        ));
    }
    checks::not_ignored(&claim.metadata)?;
    let of_pod = agreement.surplus.iter().all(|(_, why)| *why == SurplusReason::EarlierPod);
    let only =
        !agreement.surplus.is_empty() && agreement.surplus.len() == claim.metadata.owners.len();
    if only && of_pod && agreement.outlived {
        return Err(format!(
            "ordinal {} is out of range and its pod is deleted: the garbage collector deletes the claim, as whenScaled \
             Delete requires; `kubectl storage disown pvc/{name} -n {namespace}` keeps it",
            member.ordinal
        ));
    }
    Ok(())
}

impl<'a> References<'a> {
    /// Groups the references of a claim; other owners are looked up only if they matter.
    fn of(
        cx: &Cx,
        claim: &'a Claim,
        member: &TemplateClaim,
        agreement: &OwnerAgreement<'a>,
    ) -> Self {
        let mut found = Self::default();
        for (owner, why) in &agreement.surplus {
            let words = words(owner, *why, member, agreement);
            match why {
                SurplusReason::SetRetains | SurplusReason::PodRetains => {
                    found.live.push((owner, words));
                }
                SurplusReason::EarlierSet | SurplusReason::EarlierPod => {
                    match facts::owner_presence(cx, claim, owner) {
                        Ok(OwnerPresence::Missing | OwnerPresence::Recreated(_)) => {
                            found.stale.push((owner, words));
                        }
                        Ok(OwnerPresence::Exists) => found.exist.push(owner),
                        Ok(OwnerPresence::KindGone) => found.unserved.push(owner),
                        Err(unseen) => found.unread.push(unseen),
                    }
                }
            }
        }
        if found.live.is_empty() {
            return found;
        }
        let is_surplus = |it: &OwnerReference| agreement.surplus.iter().any(|(of, _)| *of == it);
        for owner in claim.metadata.owners.iter().filter(|it| !is_surplus(it)) {
            if is_own_volume(claim, owner) {
                found.absent.push((owner, format!("{} (its own volume)", named(owner))));
                continue;
            }
            match facts::owner_presence(cx, claim, owner) {
                Ok(OwnerPresence::Missing | OwnerPresence::Recreated(_)) => {
                    found.absent.push((owner, format!("{} (does not exist)", named(owner))));
                }
                Ok(OwnerPresence::Exists) => found.exist.push(owner),
                Ok(OwnerPresence::KindGone) => found.unserved.push(owner),
                Err(unseen) => found.unread.push(unseen),
            }
        }
        found
    }

    /// Returns why the reference to an existing owner protects the claim, and remains: without it the claim would be
    /// deleted, or might be.
    fn protect(&self, claim: &Claim, live: &OwnerReference) -> Option<Result<String, Unseen>> {
        let live = named(live);
        if let Some(other) = self.exist.first().map(|it| named(it)) {
            return Some(Ok(format!(
                "{other} owns it too, and exists: the claim is not deleted with {live} alone; without the reference to \
                 {live}, it would be deleted with {other}"
            )));
        }
        if let Some(other) = self.unserved.first().map(|it| named(it)) {
            return Some(Ok(format!(
                "no version of the kind of {other}, which owns it too, is served: without the reference to {live}, the \
                 claim would be deleted when that kind is served again; `kubectl storage disown pvc/{} -n {} \
                 --owner-kind-gone` removes the reference to {other}",
                claim.metadata.name, claim.namespace
            )));
        }
        self.unread.first().cloned().map(Err)
    }
}

/// Whether an owner is the claim's own volume, which an interrupted `--add-owners` left: it protects the claim from
/// nothing.
fn is_own_volume(claim: &Claim, owner: &OwnerReference) -> bool {
    &*owner.kind == Kind::PersistentVolume.name()
        && &*owner.api_version == "v1"
        && claim.volume_name.as_deref() == Some(&*owner.name)
}

/// Returns the notice that the garbage collector may still delete the claim: it acts on earlier reads.
fn at_any_moment(claim: &Claim) -> String {
    format!(
        "the garbage collector may delete the claim at any moment: if it is faster, the claim is Terminating, and \
         `kubectl storage retain {}` keeps its data",
        facts::on_command_line(&claim.object())
    )
}

/// Describes an owner, with the reason why the policy does not allow the reference. Whether the pod still exists makes
/// no difference: it may be deleted between the plan and the write.
fn words(
    owner: &OwnerReference,
    why: SurplusReason,
    member: &TemplateClaim,
    agreement: &OwnerAgreement,
) -> String {
    let named = named(owner);
    match why {
        SurplusReason::SetRetains => format!("{named} (whenDeleted is Retain)"),
        SurplusReason::EarlierSet => format!("an earlier {named}"),
        SurplusReason::PodRetains | SurplusReason::EarlierPod if member.is_wanted() => {
            format!("{named} (ordinal {} is in range)", member.ordinal)
        }
        SurplusReason::EarlierPod if agreement.wanted.pod => format!("an earlier {named}"),
        SurplusReason::PodRetains | SurplusReason::EarlierPod => {
            format!("{named} (whenScaled is Retain)")
        }
    }
}

/// Returns the notice about the next action of the controller of the set.
fn controller_notice(
    cx: &Cx,
    claim: &Claim,
    member: &TemplateClaim,
    agreement: &OwnerAgreement,
    frees: bool,
) -> Seen<Option<String>> {
    if agreement.wanted.set {
        let set = member.set.object();
        return Ok(Some(format!(
            "whenDeleted is Delete: the StatefulSet controller adds a reference to {set} if the claim has a pod"
        )));
    }
    let name = member.pod_name();
    let pod = member.pod(cx)?;
    if agreement.wanted.pod && pod.is_some() {
        return Ok(Some(format!(
            "whenScaled is Delete and ordinal {} is out of range: the StatefulSet controller adds a reference to pod \
             {name}, with which the claim is deleted; `kubectl storage retain {}` keeps its data",
            member.ordinal,
            facts::on_command_line(&claim.object())
        )));
    }
    Ok(match member.pod_state(&name, pod) {
        ClaimPod::InRange(_) | ClaimPod::Condemned(_) if frees => Some(format!(
            "it has a pod: the StatefulSet controller removes the reference by itself, {UNLESS_IT_WAITS}"
        )),
        _ => None,
    })
}

fn effect(removed: &[Removal], left: usize) -> Effect {
    let what = match removed {
        [] => "removes owner references that contradict the retention policy".to_owned(),
        some => {
            let owners: Vec<_> = some.iter().map(|(_, words)| &**words).collect();
            let then = match left {
                0 => "without owners, the garbage collector leaves the claim alone",
                _ => "its other owner references remain",
            };
            format!("removes the owner reference to {}: {then}", owners.join(", "))
        }
    };
    Effect {
        what,
        risk: "the claim and its volume are kept, and billed, until you delete the claim"
            .to_owned(),
    }
}
