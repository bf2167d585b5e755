//! Reserves a volume for one claim: P-RESERVE.

use super::{Remedy, checks};
use crate::cluster::{Cx, Seen};
use crate::facts::{self, ClaimState};
use crate::model::{
    Action, ClaimPhase, Effect, Kind, Phase, Proposal, ReclaimPolicy, Refusal, Undo, Volume,
};

/// P-RESERVE: removes the uid of the deleted claim from claimRef, so that only a claim of that name
/// can bind.
pub static REMEDY: Remedy = Remedy {
    id: "reserve",
    needs: &[Kind::PersistentVolume, Kind::PersistentVolumeClaim],
    writes: &[("patch", "persistentvolumes")],
    command: |_, _| None,
    propose,
};

fn propose(cx: &Cx, volume: &Volume) -> Seen<Result<Proposal, Refusal>> {
    let effect = || Effect {
        what: "reserves the volume for the claim in spec.claimRef, which must reference it in \
               spec.volumeName"
            .to_owned(),
        risk: "pods that use such a claim read the old data".to_owned(),
    };
    let refuse = |reason: String| Ok(Err(Refusal { reason, effect: effect() }));
    if volume.metadata.deleting.is_some() {
        return refuse("it is Terminating".to_owned());
    }
    if volume.phase != Phase::Released {
        return refuse(format!("its phase is {}, not Released", volume.phase));
    }
    if volume.reclaim_policy != ReclaimPolicy::Retain {
        return refuse(format!(
            "its policy is {}, not Retain: retain it first",
            volume.reclaim_policy
        ));
    }
    if let Err(reason) = checks::not_exempt(cx, &volume.metadata) {
        return refuse(reason);
    }
    if let Some(state) = &volume.backend_state {
        return refuse(checks::backend_in_doubt(state));
    }
    if let Err(reason) = checks::backend_is_its_own(cx, volume)? {
        return refuse(reason);
    }
    match facts::claim_state(cx, volume)? {
        ClaimState::Absent => {}
        ClaimState::Recreated(claim) => {
            // A Pending claim with this volume in spec.volumeName is the purpose of reserving.
            let elsewhere = claim.volume_name.as_deref().is_some_and(|it| it != volume.name());
            if claim.phase != ClaimPhase::Pending || elsewhere {
                return refuse(format!(
                    "{} is not Pending, or references another volume",
                    claim.object()
                ));
            }
        }
        ClaimState::None | ClaimState::Reserved => {
            return refuse(checks::UNBOUND.to_owned());
        }
        ClaimState::Live(claim) => return refuse(format!("{} still exists", claim.object())),
    }
    Ok(Ok(Proposal {
        steps: vec![Action::ReserveVolume { volume: volume.object() }],
        effect: effect(),
        undo: Undo::Never("a claim may have bound it"),
        notices: Vec::new(),
        relies_on: Vec::new(),
        keeps_backend: false,
    }))
}
