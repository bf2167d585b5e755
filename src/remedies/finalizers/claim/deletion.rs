//! What the deletion of a claim does to its volume and its data.

use super::super::super::{checks, deletion_protection, exclusive};
use super::finalizer::ClaimFinalizer;
use super::table::{DataChoice, DataDecision, DataLoss, DataRefusal, decide_data};
use crate::cluster::{Cx, Seen, Unseen};
use crate::facts::{self, ClaimDataEffect, DataEffect};
use crate::model::{Action, Claim, Effect, Kind, Phase, ReclaimPolicy, Volume};

/// The deletion of a claim, and what it does to its volume.
#[derive(Debug)]
pub(super) struct ClaimDeletion<'a> {
    fate: ClaimDataEffect<'a>,
    /// What happens to the backend volume, where the volume is bound to the claim.
    of_volume: Option<DataEffect>,
    /// Whether the volume references the claim, and the claim does not reference it yet.
    half_bound: bool,
}

impl<'a> ClaimDeletion<'a> {
    /// Returns what the deletion of a claim does.
    pub(super) fn of(cx: &Cx<'a>, claim: &Claim) -> Self {
        let mut fate = facts::data_effect(cx, claim);
        let mut half_bound = false;
        if fate == ClaimDataEffect::NoVolume
            && let Some(half) = lost_with(cx, claim)
        {
            half_bound = half.volume().is_some();
            fate = half;
        }
        let of_volume = fate.volume().map(|volume| facts::data_effect_without_claim(cx, volume));
        Self { fate, of_volume, half_bound }
    }

    /// Decides about the data. `is_deleted`: the claim is deleted with the finalizers that are
    /// removed. `Err` refuses the removal.
    ///
    /// # Errors
    /// When its volume, or the volumes that share its backend volume, were not read.
    pub(super) fn decide(&self, cx: &Cx, is_deleted: bool) -> Seen<Result<DataDecision, String>> {
        if let ClaimDataEffect::Unseen(reason) = &self.fate {
            let kind = Kind::PersistentVolume;
            return Err(Unseen { kind, namespace: None, reason: reason.clone() });
        }
        let settings = cx.settings();
        let choice = match (settings.keep_data, settings.destroy_data) {
            (true, _) => DataChoice::Keep,
            (false, true) => DataChoice::Destroy,
            (false, false) => DataChoice::Unsaid,
        };
        let decided = decide_data(is_deleted, self.loss(), choice);
        let Some(volume) = self.fate.volume() else { return Ok(Ok(decided)) };
        match decided {
            DataDecision::LeftAlone => {}
            DataDecision::Kept if self.half_bound => {
                let pv = volume.object();
                return Ok(Err(format!(
                    "spec.claimRef of {pv} is this claim, and its spec.volumeName is still empty: run `kubectl storage retain {pv}` first, which keeps the data"
                )));
            }
            DataDecision::Refused(refusal) => return Ok(Err(self.refused(refusal, volume))),
            DataDecision::Kept | DataDecision::Destroyed => {
                if let Err(reason) = checks::not_exempt(cx, &volume.metadata) {
                    return Ok(Err(format!("{} has {reason}", volume.object())));
                }
            }
        }
        if decided == DataDecision::Destroyed {
            let owner = facts::owner(volume);
            let mut flags = checks::ReliedFlags::default();
            let cleared = exclusive::clearance(cx, volume, &owner, None, None, &mut flags)?;
            let made_here = exclusive::made_here(cx, volume, &owner, &mut flags);
            let settled = match cleared.map(drop).and(made_here) {
                Ok(()) => flags.settled()?.map(drop),
                refused => refused,
            };
            if let Err(reason) = settled {
                let volume = volume.object();
                return Ok(Err(format!(
                    "the backend volume of {volume} may contain other data too: {reason}"
                )));
            }
        }
        Ok(Ok(decided))
    }

    fn loss(&self) -> DataLoss {
        let (Some(volume), Some(fate)) = (self.fate.volume(), self.of_volume) else {
            return DataLoss::Nothing;
        };
        let terminating = volume.metadata.deleting.is_some();
        match (fate, &volume.reclaim_policy) {
            (DataEffect::Leaked | DataEffect::Forgotten, _) if terminating => DataLoss::Leaked,
            // The policy counts, whether or not a controller can act on it now.
            (_, ReclaimPolicy::Delete | ReclaimPolicy::Recycle) => {
                match (terminating, &volume.phase) {
                    (true, _) => DataLoss::LostFromTerminating,
                    (false, Phase::Bound) => DataLoss::LostFromBound,
                    (
                        false,
                        Phase::Pending
                        | Phase::Available
                        | Phase::Released
                        | Phase::Failed
                        | Phase::Other(_),
                    ) => DataLoss::LostFromOther,
                }
            }
            (_, ReclaimPolicy::Retain | ReclaimPolicy::Other(_)) => DataLoss::Nothing,
        }
    }

    fn refused(&self, refusal: DataRefusal, volume: &Volume) -> String {
        let (pv, phase, policy) = (volume.object(), &volume.phase, &volume.reclaim_policy);
        match refusal {
            DataRefusal::NeedsChoice => {
                let fate = self.fate.words("the claim is deleted");
                format!("requires --keep-data or --destroy-data, since {fate} ({pv})")
            }
            DataRefusal::VolumeTerminating => format!(
                "{pv} is Terminating too: with policy Retain it is deleted with the claim, and no PersistentVolume references \
                 its backend volume any more; record its volume handle, or give the data up with --destroy-data"
            ),
            DataRefusal::VolumeIsNotBound => format!(
                "the phase of {pv} is {phase}, not Bound: a controller may already apply its policy {policy}; wait, or pass --destroy-data"
            ),
            DataRefusal::WouldLeak => format!(
                "{pv} is Terminating too: it is deleted with the claim, which leaks its backend volume{}; `fix-finalizers {pv}` shows what to do first",
                volume.backend.as_ref().map_or_else(String::new, |it| format!(", {it}"))
            ),
        }
    }

    /// Returns the step before the finalizers are removed: the policy is set to Retain.
    pub(super) fn first_step(
        &self,
        cx: &Cx,
        data: DataDecision,
        notices: &mut Vec<String>,
    ) -> Option<Action> {
        let volume = self.fate.volume()?;
        match data {
            DataDecision::Kept => Some(Action::SetReclaimPolicy {
                volume: volume.object(),
                from: volume.reclaim_policy.clone(),
                to: ReclaimPolicy::Retain,
                doubts_backend: false,
                finalizer: deletion_protection::without_delete(cx, volume, notices),
            }),
            DataDecision::LeftAlone | DataDecision::Destroyed | DataDecision::Refused(_) => None,
        }
    }

    /// Returns the effect of removing finalizers. `blocking` still block the deletion afterwards;
    /// `data` is `None` where the removal is refused.
    pub(super) fn effect(
        &self,
        removed: &[&ClaimFinalizer],
        blocking: &[&ClaimFinalizer],
        data: Option<DataDecision>,
    ) -> Effect {
        let names = |all: &[&ClaimFinalizer]| {
            all.iter().map(|it| &*it.finalizer).collect::<Vec<_>>().join(", ")
        };
        let (list, blocking) = (names(removed), names(blocking));
        let volume = self.fate.volume().map(Volume::object);
        let what = match (blocking.is_empty(), data, &volume) {
            (false, _, _) => {
                format!("removes {list}; {blocking} still blocks the deletion of the claim")
            }
            (true, Some(DataDecision::Kept), Some(pv)) => format!(
                "sets the reclaim policy of {pv} to Retain, then removes {list}: the claim is deleted, the volume and its data remain"
            ),
            (true, _, Some(pv)) => {
                format!("removes {list}: {} ({pv})", self.fate.words("the claim is deleted"))
            }
            (true, _, None) => {
                format!("removes {list}: {}", self.fate.words("the claim is deleted"))
            }
        };
        let risk = match (data, self.fate.loses_data()) {
            (Some(DataDecision::Kept), _) => {
                "users of the claim lose it; the backend volume is kept, and billed, until it is reclaimed"
            }
            (
                Some(DataDecision::LeftAlone | DataDecision::Destroyed | DataDecision::Refused(_))
                | None,
                true,
            ) => "data that is still needed is destroyed, and cannot be restored",
            (
                Some(DataDecision::LeftAlone | DataDecision::Destroyed | DataDecision::Refused(_))
                | None,
                false,
            ) => "users of the claim lose it; the cleanup that a finalizer stands for is skipped",
        };
        Effect { what, risk: risk.to_owned() }
    }
}

/// Finds a volume that is lost with a claim that does not reference it yet: the volume controller
/// binds the volume first, and checks only its claimRef after the claim is deleted
/// (`pv_controller.go`, `bind`, `syncVolume`).
fn lost_with<'a>(cx: &Cx<'a>, claim: &Claim) -> Option<ClaimDataEffect<'a>> {
    let uid = claim.metadata.uid.as_ref()?;
    if let Err(unseen) = cx.all_of(Kind::PersistentVolume) {
        return Some(ClaimDataEffect::Unseen(unseen.reason));
    }
    let references_it =
        |it: &&Volume| it.claim_ref.as_ref().and_then(|it| it.uid.as_ref()) == Some(uid);
    let volumes = cx.cluster().volumes().map(|(_, volume)| volume).filter(references_it);
    volumes.map(|volume| facts::data_effect_with(cx, volume)).find(ClaimDataEffect::loses_data)
}
