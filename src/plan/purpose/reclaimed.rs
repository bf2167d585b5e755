//! Reclaiming a Released volume that is old enough: now, or after it was announced.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, ClaimState};
use crate::model::{Proposal, Refusal, Threshold, Trust, Volume, format_duration};
use crate::remedies::{self, Announcing};

/// Refuses where the remedy does, and a volume that is younger than `--older-than`.
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

/// Proposes to reclaim a volume now, if that was announced for long enough.
pub(super) fn reclaim_announced(cx: &Cx, volume: &Volume) -> Seen<Result<Proposal, Refusal>> {
    facts::announcements(cx)?;
    match reclaim(cx, volume)? {
        Ok(proposal) => remedies::still_due(cx, volume, proposal),
        refused @ Err(_) => Ok(refused),
    }
}

/// Refuses a volume that is younger than `--older-than`. Of an unknown age, the remedy has required
/// `--include-unknown-age`.
fn old_enough(cx: &Cx, volume: &Volume, proposal: Proposal) -> Result<Proposal, Refusal> {
    let age = facts::phase_age(cx, volume);
    if age.trust == Trust::Unknown || cx.older_than(&age, Threshold::OlderThan) {
        return Ok(proposal);
    }
    let least = format_duration(cx.settings().thresholds.get(Threshold::OlderThan));
    let reason = format!("it has been Released for less than {least}");
    Err(Refusal { reason, effect: proposal.effect })
}
