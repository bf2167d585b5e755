//! Gives a volume back to a claim that is Lost: its uid is written into claimRef (F43).

use super::{RELEASES_AGAIN, RISK, remains, surroundings};
use crate::cluster::{Cx, Seen};
use crate::facts::{self, LostCause};
use crate::model::{Action, Claim, Effect, Phase, Proposal, Refusal, Volume};
use crate::remedies::checks::{self, Checked, ReliedFlags};
use crate::remedies::{released, reserve};

pub(super) fn propose(cx: &Cx, volume: &Volume, claim: &Claim) -> Seen<Result<Proposal, Refusal>> {
    let object = claim.object();
    let what = format!(
        "writes the uid of {object} into spec.claimRef, and binds both; {}",
        remains(volume)
    );
    let effect = Effect { what, risk: RISK.to_owned() };
    let (mut notices, mut relies_on) = (Vec::new(), ReliedFlags::default());
    if let Err(reason) = check(cx, volume, claim, &mut notices, &mut relies_on)? {
        return Ok(Err(Refusal { reason, effect }));
    }
    let relies_on = match relies_on.settled()? {
        Ok(flags) => flags,
        Err(reason) => return Ok(Err(Refusal { reason, effect })),
    };
    surroundings::notices(cx, volume, &claim.key(), &mut notices);
    let mut steps = Vec::new();
    if volume.claim_ref.as_ref().is_none_or(|it| it.key != claim.key()) {
        let (from, claim) = (volume.phase.clone(), claim.key());
        steps.push(Action::ReserveVolume { volume: volume.object(), from, claim });
    }
    steps.push(Action::BindVolume { volume: volume.object(), claim: object });
    Ok(Ok(Proposal {
        steps,
        effect,
        undo: RELEASES_AGAIN,
        notices,
        relies_on,
        keeps_backend: false,
    }))
}

fn check(
    cx: &Cx,
    volume: &Volume,
    claim: &Claim,
    notices: &mut Vec<String>,
    relies_on: &mut ReliedFlags,
) -> Seen<Checked> {
    let (object, name) = (claim.object(), volume.name());
    if claim.volume_name.as_deref().is_some_and(|it| *it != *name) {
        let other = claim.volume_name.as_deref().unwrap_or_default();
        return Ok(Err(format!(
            "the name is taken: {object} is Lost, and references pv/{other}, not this volume; pass \
             --to NAMESPACE/NAME for another name, or repair that claim with `kubectl storage \
             rebind pv/{other}`"
        )));
    }
    if claim.metadata.deleting.is_some() {
        return Ok(Err(format!("{object} is Terminating: it is deleted, not bound")));
    }
    if claim.metadata.uid.is_none() {
        return Ok(Err(format!("the uid of {object} is unknown")));
    }
    match facts::lost_cause(cx, claim)? {
        None => return Ok(Err(format!("{object} is not Lost any more"))),
        Some(LostCause::NoVolumeName) => {
            return Ok(Err(format!(
                "{object} is Lost, and its spec.volumeName is empty, so no controller binds it; \
                 once you know that this volume is its own, delete the claim, and run the same \
                 command again, which recreates it"
            )));
        }
        Some(LostCause::Missing | LostCause::Unread(_)) => {
            return Ok(Err(format!("{object} is Lost, and whose this volume is, is unknown")));
        }
        Some(LostCause::OfAnother(_, claim_ref)) => {
            return Ok(Err(format!(
                "{object} is Lost, since the volume belongs to claim {}; find out whose data it is: \
                 `kubectl storage rebind pv/{name}` without --to gives it back to that claim",
                claim_ref.key
            )));
        }
        Some(LostCause::Unbound(_)) => {
            return Ok(Err(format!(
                "spec.claimRef is empty and {object} references it: kube-controller-manager binds \
                 both by itself; if it does not within a minute, look at its log"
            )));
        }
        Some(LostCause::Bound(_)) => {
            return Ok(Err(format!(
                "spec.claimRef is {object} already: kube-controller-manager sets both to Bound by \
                 itself; if it does not within a minute, look at its log"
            )));
        }
        Some(LostCause::OfEarlier(_) | LostCause::Changed(_) | LostCause::WithoutUid(_)) => {}
    }
    released::backend_state_known(cx, volume, relies_on);
    checks::all!(
        reserve::is_kept(volume),
        phase(volume),
        checks::not_exempt(cx, &volume.metadata),
        reserve::shares_by_design(cx, volume, notices)?,
        surroundings::other_claims(cx, volume, &claim.key(), notices)?,
    );
    Ok(Ok(()))
}

fn phase(volume: &Volume) -> Checked {
    match &volume.phase {
        Phase::Available | Phase::Released | Phase::Pending => Ok(()),
        phase => Err(format!("its phase is {phase}, not Available or Released")),
    }
}
