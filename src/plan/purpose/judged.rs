//! Proposals about a volume that rest on its age, its announcement or its claim, and about finalizers; and whether an object
//! is the one that was planned.

use crate::cluster::{Cx, Seen, Subject};
use crate::facts::{self, ClaimState};
use crate::model::{
    Effect, ObjectRef, Proposal, ReclaimPolicy, Refusal, Threshold, Trust, Uid, Volume,
    format_duration,
};
use crate::remedies::{
    self, Announcing,
    finalizers::{self, FinalizerRequest},
};

/// Adds what is saved where the claim is Terminating, and how to go on. Users of the claim are not read: `retain` asks
/// only for the objects that are named.
pub(super) fn rescued(
    cx: &Cx,
    volume: &Volume,
    proposed: Result<Proposal, Refusal>,
) -> Result<Proposal, Refusal> {
    let Some(told) = facts::rescue(cx, volume) else { return proposed };
    match proposed {
        Ok(mut proposal) => {
            proposal.notices.push(told);
            Ok(proposal)
        }
        Err(refusal) if volume.reclaim_policy == ReclaimPolicy::Retain => {
            Err(Refusal { reason: format!("{}; {told}", refusal.reason), ..refusal })
        }
        Err(refusal) => Err(refusal),
    }
}

/// Refuses what the remedy refuses, and a volume that is younger than `--older-than`.
pub(super) fn aged(
    cx: &Cx,
    volume: &Volume,
    proposed: Seen<Result<Proposal, Refusal>>,
) -> Seen<Result<Proposal, Refusal>> {
    Ok(match proposed? {
        Ok(proposal) => old_enough(cx, volume, proposal),
        refused @ Err(_) => refused,
    })
}

/// Proposes to reclaim a Released volume now.
pub(super) fn reclaim(cx: &Cx, volume: &Volume) -> Seen<Result<Proposal, Refusal>> {
    let proposal = match aged(cx, volume, (remedies::RECLAIM.propose)(cx, volume))? {
        Ok(proposal) => proposal,
        refused @ Err(_) => return Ok(refused),
    };
    match &volume.claim_ref {
        Some(claim) if facts::claim_state(cx, volume)? == ClaimState::Absent => {
            remedies::unless_custom_resources_want(cx, &claim.key, proposal)
        }
        _ => Ok(Ok(proposal)),
    }
}

/// Proposes to announce that a volume will be reclaimed, if that could be done now.
pub(super) fn announce(
    cx: &Cx,
    volume: &Volume,
    announcing: &Announcing,
) -> Seen<Result<Proposal, Refusal>> {
    // Asked again before each write, also where something else is not seen at that moment.
    facts::announcements(cx)?;
    match reclaim(cx, volume)? {
        Ok(proposal) => remedies::announce(cx, volume, &proposal, announcing),
        refused @ Err(_) => Ok(refused),
    }
}

/// Proposes to reclaim a volume now, if that was announced long enough ago.
pub(super) fn reclaim_announced(cx: &Cx, volume: &Volume) -> Seen<Result<Proposal, Refusal>> {
    facts::announcements(cx)?;
    match reclaim(cx, volume)? {
        Ok(proposal) => remedies::still_due(cx, volume, proposal),
        refused @ Err(_) => Ok(refused),
    }
}

/// Refuses a volume that is younger than `--older-than`. For an unknown age, the remedy has required
/// `--include-unknown-age`.
pub(super) fn old_enough(
    cx: &Cx,
    volume: &Volume,
    proposal: Proposal,
) -> Result<Proposal, Refusal> {
    let age = facts::phase_age(cx, volume);
    if age.trust == Trust::Unknown || cx.older_than(&age, Threshold::OlderThan) {
        return Ok(proposal);
    }
    let least = format_duration(cx.settings().thresholds.get(Threshold::OlderThan));
    let reason = format!("it has been Released for less than {least}");
    Err(Refusal { reason, effect: proposal.effect })
}

/// Proposes or refuses steps for the finalizers of a claim or an attachment.
pub(super) fn fix_finalizers(
    cx: &Cx,
    object: &ObjectRef,
    request: &FinalizerRequest,
) -> Seen<Result<Proposal, Refusal>> {
    let cluster = cx.cluster();
    match cluster.subject(&object.key) {
        Some(Subject::Claim(id)) => {
            match same_object(object, cluster.claim_at(id), |it| it.metadata.uid.as_ref()) {
                Ok(claim) => finalizers::claim(cx, claim, request),
                Err(refusal) => Ok(Err(refusal)),
            }
        }
        Some(Subject::Attachment(id)) => {
            match same_object(object, cluster.attachment_at(id), |it| it.metadata.uid.as_ref()) {
                Ok(attachment) => finalizers::attachment(cx, attachment, request),
                Err(refusal) => Ok(Err(refusal)),
            }
        }
        _ => {
            cluster.reach(object.key.kind, object.key.namespace.as_ref())?;
            Ok(Err(missing()))
        }
    }
}

/// Returns the object if it has the uid that was planned, and is no other of its name.
pub(super) fn same_object<'a, T>(
    object: &ObjectRef,
    found: Option<&'a T>,
    uid: impl Fn(&T) -> Option<&Uid>,
) -> Result<&'a T, Refusal> {
    match found {
        None => Err(missing()),
        Some(it) if object.uid.is_some() && uid(it) != object.uid.as_ref() => {
            Err(refusal("it was deleted and recreated under the same name"))
        }
        Some(it) => Ok(it),
    }
}

pub(super) fn missing() -> Refusal {
    refusal("it does not exist")
}

/// Returns a refusal with no more than a reason.
pub(super) fn refusal(reason: &str) -> Refusal {
    let effect = Effect { what: String::new(), risk: String::new() };
    Refusal { reason: reason.to_owned(), effect }
}
