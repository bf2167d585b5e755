//! Finalizers of claims: F33, F41, F42, F48.
//!
//! A Terminating claim is deleted with its last finalizer, and with it its data where the policy of
//! its volume is Delete. So its users are checked first, which no flag overrides; and the decision
//! about the data is made before the last finalizer is removed.

mod table;

use super::super::{Remedy, checks, exclusive};
use super::{FinalizerDecision, FinalizerRequest};
use crate::cluster::{Cx, Seen, Unseen};
use crate::facts::{self, ClaimDataEffect, DataEffect, PVC_PROTECTION, Unsafe, UnsafeReason};
use crate::model::{
    Action, Age, Claim, Effect, Guard, Kind, Loss, Phase, Proposal, ReclaimPolicy, Refusal, Text,
    Threshold, Undo, Volume,
};
use table::{ClaimFinalizer, DataChoice, DataDecision, DataLoss, DataRefusal, Remove, decide_data};

/// Number of users of a claim that a reason names at most.
const NAMED: usize = 3;

const NEEDS: &[Kind] = facts::needs![
    controller: PersistentVolumeClaim,
    StorageClass,
    Secret,
    ReplicationController,
    Job,
    CronJob,
    VolumeSnapshot,
    VolumeAttachment,
    PartialObjectMetadata
];

/// Removes finalizers of a claim that the user names.
pub static REMEDY: Remedy<Claim> = Remedy {
    id: "fix-claim-finalizers",
    needs: NEEDS,
    writes: &[("patch", "persistentvolumeclaims"), ("patch", "persistentvolumes")],
    command: |cx, claim| Some(command(cx, claim)),
    propose: |cx, claim| propose(cx, claim, &FinalizerRequest::named()),
};

/// Adds a missing kubernetes.io/pvc-protection to a claim that the user names: nothing else is done
/// to a claim that is not Terminating.
pub static PROTECT: Remedy<Claim> = Remedy {
    id: "protect-claim",
    needs: &[Kind::PersistentVolumeClaim],
    writes: &[("patch", "persistentvolumeclaims")],
    command: |cx, claim| Some(command(cx, claim)),
    propose: |cx, claim| Ok(protect(cx, claim, &FinalizerRequest::named())),
};

/// Returns the command for the claim, with the danger flags on which the proposal relies.
fn command(cx: &Cx, claim: &Claim) -> String {
    let mut command = format!("fix-finalizers pvc/{} -n {}", claim.metadata.name, claim.namespace);
    if let Ok(Ok(proposal)) = propose(cx, claim, &FinalizerRequest::named()) {
        super::add_flags(cx, &mut command, &proposal.relies_on, None);
    }
    command
}

/// Proposes or refuses steps for a claim.
///
/// # Errors
/// When an object was not read on which the decision rests.
pub fn propose(
    cx: &Cx,
    claim: &Claim,
    request: &FinalizerRequest,
) -> Seen<Result<Proposal, Refusal>> {
    if claim.metadata.deleting.is_none() {
        return Ok(protect(cx, claim, request));
    }
    let finalizers = ClaimFinalizer::all(cx, claim);
    let deletion = ClaimDeletion::of(cx, claim);
    let refuse = |reason: String| {
        let all: Vec<_> = finalizers.iter().collect();
        Ok(Err(Refusal { reason, effect: deletion.effect(&all, &[], None) }))
    };
    if let Err(reason) = checks::not_exempt(cx, &claim.metadata) {
        return refuse(reason);
    }
    let Unsafe { mut reasons, unseen, notices: _ } = checks::of(cx, claim);
    // It concerns claims that are not Terminating.
    reasons.retain(|it| *it != UnsafeReason::Unprotected);
    let used = !reasons.is_empty();
    if let Some(unseen) = unseen.into_iter().next().filter(|_| !used) {
        return Err(unseen);
    }
    let (mut removed, mut left, mut why) = (Vec::new(), Vec::new(), Vec::new());
    for it in &finalizers {
        match it.decide(cx, request, used)? {
            FinalizerDecision::Do(Remove) => removed.push(it),
            FinalizerDecision::Leave(reason) => {
                why.push(it.reason(cx, reason));
                left.push(it);
            }
        }
    }
    if used {
        why.insert(0, checks::in_words(&reasons, NAMED, UnsafeReason::ended_by));
        return refuse(why.join("; "));
    }
    if finalizers.is_empty() {
        return refuse("it has no finalizer; the API server deletes it".to_owned());
    }
    if removed.is_empty() {
        return refuse(why.join("; "));
    }
    left.retain(|it| it.kind.blocks_unused());
    match deletion.decide(cx, left.is_empty())? {
        Ok(data) => Ok(Ok(proposal(cx, claim, &deletion, data, &removed, &left, why))),
        Err(reason) => {
            let of_each = removed.iter().map(|it| it.described()).chain(why);
            refuse(std::iter::once(reason).chain(of_each).collect::<Vec<_>>().join("; "))
        }
    }
}

/// Returns the proposal: first the policy of the volume, then one finalizer after the other. Each patch tests that the
/// finalizers in `blocking` remain, since nothing was decided about the data then.
fn proposal(
    cx: &Cx,
    claim: &Claim,
    deletion: &ClaimDeletion,
    data: DataDecision,
    removed: &[&ClaimFinalizer],
    blocking: &[&ClaimFinalizer],
    mut notices: Vec<String>,
) -> Proposal {
    let guards: Vec<_> =
        blocking.iter().map(|it| Guard::Finalizer(Text::clone(&it.finalizer))).collect();
    let mut steps: Vec<_> = deletion.first_step(cx, data, &mut notices).into_iter().collect();
    steps.extend(removed.iter().map(|it| Action::RemoveFinalizer {
        object: claim.object(),
        finalizer: Text::clone(&it.finalizer),
        guards: guards.clone(),
    }));
    let mut relies_on: Vec<_> = data.relies_on().into_iter().collect();
    relies_on.extend(removed.iter().filter_map(|it| it.relies_on(cx)));
    relies_on.sort_unstable();
    relies_on.dedup();
    Proposal {
        steps,
        effect: deletion.effect(removed, blocking, Some(data)),
        undo: Undo::Never(match blocking.is_empty() {
            true => "a deleted claim cannot be restored",
            false => "the API server allows no new finalizer on a Terminating object",
        }),
        notices,
        relies_on,
        keeps_backend: false,
        loses: Loss::default(),
    }
}

/// Proposes kubernetes.io/pvc-protection (P-FIN-ADD, F42), whether or not the claim is in use.
fn protect(cx: &Cx, claim: &Claim, request: &FinalizerRequest) -> Result<Proposal, Refusal> {
    let effect = Effect {
        what: format!(
            "adds finalizer {PVC_PROTECTION}, which blocks the deletion of the claim while pods use it"
        ),
        risk: "none while kube-controller-manager is running; without it, a deletion of the claim is never finished"
            .to_owned(),
    };
    let refuse = |reason: String| Err(Refusal { reason, effect: effect.clone() });
    if let Err(reason) = checks::not_exempt(cx, &claim.metadata) {
        return refuse(reason);
    }
    if claim.metadata.deleting.is_some() {
        return refuse("the API server allows no new finalizer on a Terminating object".to_owned());
    }
    if claim.metadata.has_finalizer(PVC_PROTECTION) {
        return refuse("it is not Terminating, so no finalizer is removed".to_owned());
    }
    let age = Age::stamped(claim.metadata.created);
    if !request.named && !cx.older_than(&age, Threshold::ClaimProtection) {
        return refuse(
            "kube-controller-manager may be about to add this finalizer: wait".to_owned(),
        );
    }
    Ok(Proposal {
        steps: vec![Action::AddFinalizer {
            object: claim.object(),
            finalizer: PVC_PROTECTION.into(),
        }],
        effect,
        undo: Undo::Never("without it, the claim can be deleted under running pods"),
        notices: vec![
            "kube-controller-manager should have added it: find out why it has not".to_owned(),
        ],
        relies_on: Vec::new(),
        keeps_backend: false,
        loses: Loss::default(),
    })
}

/// The deletion of a claim, and its effect on its volume.
#[derive(Debug)]
struct ClaimDeletion<'a> {
    fate: ClaimDataEffect<'a>,
    /// The effect on the backend volume, where the volume is bound to the claim.
    of_volume: Option<DataEffect>,
    /// Whether the volume references the claim, and the claim does not reference it yet.
    half_bound: bool,
}

impl<'a> ClaimDeletion<'a> {
    /// Returns the effect of the deletion of a claim.
    fn of(cx: &Cx<'a>, claim: &Claim) -> Self {
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

    /// Decides about the data of the claim; `Err` refuses the removal. `is_deleted`: the claim is deleted with the
    /// finalizers that are removed.
    ///
    /// # Errors
    /// When its volume, or the volumes that share its backend volume, were not read.
    fn decide(&self, cx: &Cx, is_deleted: bool) -> Seen<Result<DataDecision, String>> {
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
                "{pv} is Terminating too: it is deleted with the claim, which leaks its backend volume{}; `kubectl storage fix-finalizers {pv}` shows what to do first",
                volume.backend.as_ref().map_or_else(String::new, |it| format!(", {it}"))
            ),
        }
    }

    /// Returns the step before the finalizers are removed: the policy is set to Retain.
    fn first_step(&self, cx: &Cx, data: DataDecision, notices: &mut Vec<String>) -> Option<Action> {
        let volume = self.fate.volume()?;
        match data {
            DataDecision::Kept => Some(Action::SetReclaimPolicy {
                volume: volume.object(),
                from: volume.reclaim_policy.clone(),
                to: ReclaimPolicy::Retain,
                doubts_backend: false,
                finalizer: checks::without_delete(cx, volume, notices),
            }),
            DataDecision::LeftAlone | DataDecision::Destroyed | DataDecision::Refused(_) => None,
        }
    }

    /// Returns the effect of removing finalizers. `blocking` still block the deletion afterwards;
    /// `data` is `None` where the removal is refused.
    fn effect(
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

/// Returns the effect on a volume that is lost with a claim which does not reference it yet: the volume controller
/// binds the volume first, and checks only its claimRef after the claim is deleted (`pv_controller.go`, `bind`,
/// `syncVolume`).
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

#[cfg(test)]
mod tests;
