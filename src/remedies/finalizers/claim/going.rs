//! What becomes of a claim's data when the claim goes.

use super::super::super::checks;
use super::decision::{Danger, Data, DataWord, Stake, data};
use super::{held::Held, unseen_volume};
use crate::cluster::{Cx, Seen};
use crate::facts::{self, ClaimDataEffect, DataEffect};
use crate::model::{Action, Claim, Effect, Kind, Phase, ReclaimPolicy, Volume};

/// The claim's volume, and what its policy makes of the claim's going.
#[derive(Debug)]
pub(super) struct Going<'a> {
    fate: ClaimDataEffect<'a>,
    /// What becomes of the volume, where it is the claim's own.
    of_volume: Option<DataEffect>,
    /// Whether the volume names the claim, and the claim does not name it yet.
    half_bound: bool,
}

impl<'a> Going<'a> {
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

    /// What is done about the data, where the claim goes; `Err` refuses to let it go.
    ///
    /// # Errors
    /// When its volume, or who shares its backend volume, was not seen.
    pub(super) fn decide(&self, cx: &Cx, goes: bool) -> Seen<Result<Data, String>> {
        if let ClaimDataEffect::Unseen(reason) = &self.fate {
            return Err(unseen_volume(reason.clone()));
        }
        let settings = cx.settings();
        let word = match (settings.keep_data, settings.destroy_data) {
            (true, _) => DataWord::Keep,
            (false, true) => DataWord::Destroy,
            (false, false) => DataWord::Unsaid,
        };
        let decided = data(goes, self.stake(), word);
        let Some(volume) = self.fate.volume() else { return Ok(Ok(decided)) };
        match decided {
            Data::LeftAlone => {}
            Data::Kept if self.half_bound => {
                let pv = volume.object();
                return Ok(Err(format!(
                    "{pv} names it, and it does not name {pv} yet: `kubectl storage retain {pv}` keeps its data first"
                )));
            }
            Data::Refused(danger) => return Ok(Err(self.refused(danger, volume))),
            Data::Kept | Data::Destroyed => {
                if let Err(reason) = checks::not_exempt(cx, &volume.metadata) {
                    return Ok(Err(format!("{} has {reason}", volume.object())));
                }
            }
        }
        if decided == Data::Destroyed
            && let Err(reason) = checks::backend_is_its_own(cx, volume)?
        {
            return Ok(Err(format!("the data of {} is not its alone: {reason}", volume.object())));
        }
        Ok(Ok(decided))
    }

    fn stake(&self) -> Stake {
        let (Some(volume), Some(fate)) = (self.fate.volume(), self.of_volume) else {
            return Stake::Nothing;
        };
        match (fate, &volume.reclaim_policy) {
            (DataEffect::Leaked | DataEffect::Forgotten, _) => Stake::Leaked,
            // The policy is enough, whether or not somebody can act on it now.
            (_, ReclaimPolicy::Delete | ReclaimPolicy::Recycle) => {
                match (volume.metadata.deleting.is_some(), &volume.phase) {
                    (true, _) => Stake::LostFromTerminating,
                    (false, Phase::Bound) => Stake::LostFromBound,
                    (
                        false,
                        Phase::Pending
                        | Phase::Available
                        | Phase::Released
                        | Phase::Failed
                        | Phase::Other(_),
                    ) => Stake::LostFromOther,
                }
            }
            (_, ReclaimPolicy::Retain | ReclaimPolicy::Other(_)) => Stake::Nothing,
        }
    }

    fn refused(&self, danger: Danger, volume: &Volume) -> String {
        let (pv, phase, policy) = (volume.object(), &volume.phase, &volume.reclaim_policy);
        match danger {
            Danger::NeedsAWord => {
                let fate = self.fate.words("the claim goes");
                format!(
                    "needs --keep-data or --destroy-data: the policy of {pv} is {policy}, and {fate}"
                )
            }
            Danger::VolumeGoesToo => format!(
                "{pv} is terminating too: with the policy Retain its object would go with the claim, and nobody would know its backend volume"
            ),
            Danger::VolumeIsNotBound => format!(
                "the phase of {pv} is {phase}, not Bound: somebody may be acting on its policy {policy} already"
            ),
            Danger::WouldLeak => format!(
                "{pv} is terminating too: its object would go with the claim, and nobody would know its backend volume{}",
                volume.backend.as_ref().map_or_else(String::new, |it| format!(", {it}"))
            ),
        }
    }

    /// The policy is changed before the claim is let go.
    pub(super) fn first_step(&self, data: Data) -> Option<Action> {
        let volume = self.fate.volume()?;
        match data {
            Data::Kept => Some(Action::SetReclaimPolicy {
                volume: volume.object(),
                from: volume.reclaim_policy.clone(),
                to: ReclaimPolicy::Retain,
                doubts_backend: false,
            }),
            Data::LeftAlone | Data::Destroyed | Data::Refused(_) => None,
        }
    }

    /// What removing finalizers does, with what still holds the claim afterwards; `None` where it
    /// is refused.
    pub(super) fn effect(
        &self,
        removed: &[&Held],
        holders: &[&Held],
        data: Option<Data>,
    ) -> Effect {
        let names =
            |all: &[&Held]| all.iter().map(|it| &*it.finalizer).collect::<Vec<_>>().join(", ");
        let (list, holders) = (names(removed), names(holders));
        let volume = self.fate.volume().map(Volume::object);
        let what = match (holders.is_empty(), data, &volume) {
            (false, _, _) => format!("removes {list}; {holders} still holds the claim"),
            (true, Some(Data::Kept), Some(pv)) => format!(
                "sets the reclaim policy of {pv} to Retain, then removes {list}: the claim goes, the volume and its data stay"
            ),
            (true, _, Some(pv)) => {
                format!("removes {list}: {} ({pv})", self.fate.words("the claim goes"))
            }
            (true, _, None) => format!("removes {list}: {}", self.fate.words("the claim goes")),
        };
        let risk = match (data, self.fate.loses_data()) {
            (Some(Data::Kept), _) => {
                "whoever still wants the claim loses it; the backend volume is kept, and billed, until somebody reclaims it"
            }
            (Some(Data::LeftAlone | Data::Destroyed | Data::Refused(_)) | None, true) => {
                "the data of whoever still needs it is destroyed: nothing brings it back"
            }
            (Some(Data::LeftAlone | Data::Destroyed | Data::Refused(_)) | None, false) => {
                "whoever still wants the claim loses it; what the owner of a finalizer wanted to finish is skipped"
            }
        };
        Effect { what, risk: risk.to_owned() }
    }
}

/// A volume that is lost with a claim that does not name it: the volume controller binds the volume
/// first, and looks at nothing but that when the claim is gone (`pv_controller.go`, `bind`,
/// `syncVolume`).
fn lost_with<'a>(cx: &Cx<'a>, claim: &Claim) -> Option<ClaimDataEffect<'a>> {
    let uid = claim.metadata.uid.as_ref()?;
    if let Err(unseen) = cx.all_of(Kind::PersistentVolume) {
        return Some(ClaimDataEffect::Unseen(unseen.reason));
    }
    let names_it = |it: &&Volume| it.claim_ref.as_ref().and_then(|it| it.uid.as_ref()) == Some(uid);
    let volumes = cx.cluster().volumes().map(|(_, volume)| volume).filter(names_it);
    volumes.map(|volume| facts::data_effect_with(cx, volume)).find(ClaimDataEffect::loses_data)
}
