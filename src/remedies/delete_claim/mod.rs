//! Deletes a claim that nothing uses, its data kept or destroyed as chosen: its volume is set to Retain
//! first, or the driver may be told to delete the backend volume (R-PVCP-9).
//!
//! A claim that something uses, or whose deletion something would block, would only become
//! Terminating, which cannot be reverted: it is refused, whatever the flags about its data.

mod obstacles;

use super::{
    Remedy,
    checks::{self, ReliedFlags},
    exclusive, reclaim, released,
    snapshot_first::{self, FirstSnapshot},
};
use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{
    Action, Claim, ClaimPhase, Effect, Loss, Phase, Proposal, ReclaimPolicy, Refusal, Undo, Volume,
};

/// Deletes a claim (P-DELETE), after its volume is set to Retain (P-POLICY) where its data is kept.
pub static REMEDY: Remedy<Claim> = Remedy {
    id: "delete-claim",
    needs: facts::needs![controller: PersistentVolumeClaim, Node, VolumeAttachment, StorageClass, VolumeSnapshot, VolumeSnapshotContent, VolumeGroupSnapshotContent, Secret, ReplicationController, Job, CronJob, HorizontalPodAutoscaler, PartialObjectMetadata],
    writes: &[
        ("patch", "persistentvolumes"),
        ("delete", "persistentvolumeclaims"),
        ("create", "volumesnapshots"),
    ],
    command: |_, claim| Some(format!("delete {}", facts::on_command_line(&claim.object()))),
    propose: |cx, claim| propose(cx, claim, ClaimDeletionProgress::default()),
};

/// Progress of the deletion of a claim: the effect of its earlier steps is not refused as that of another client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClaimDeletionProgress {
    /// Whether the volume of the claim was set to Retain.
    pub retained: bool,
}

impl ClaimDeletionProgress {
    /// Returns the progress after these further steps.
    #[must_use]
    pub fn after(self, done: &[Action]) -> Self {
        let retains = |it: &Action| matches!(it, Action::SetReclaimPolicy { .. });
        Self { retained: self.retained || done.iter().any(retains) }
    }
}

/// Proposes or refuses the deletion of a claim, or the rest of it.
///
/// # Errors
/// When an object was not read on which the decision rests.
pub fn propose(
    cx: &Cx,
    claim: &Claim,
    progress: ClaimDeletionProgress,
) -> Seen<Result<Proposal, Refusal>> {
    let (mut notices, mut relies_on) = (Vec::new(), checks::ReliedFlags::default());
    let decided = decide(cx, claim, progress, &mut notices, &mut relies_on);
    let decided = decided.and_then(|it| match it {
        Ok(decided) => Ok(relies_on.settled_for(cx)?.map(|flags| (decided, flags))),
        Err(reason) => Ok(Err(reason)),
    });
    Ok(match decided.map_err(obstacles::with_consequence)? {
        Ok(((outcome, first), relies_on)) => {
            let proposal = proposal(cx, claim, &outcome, notices, relies_on);
            Ok(snapshot_first::before(first, proposal))
        }
        Err(reason) => Err(Refusal { reason, effect: effect(claim, None) }),
    })
}

/// Makes every check. The users of a claim are named first: only they can be asked to end their use.
fn decide<'a>(
    cx: &Cx<'a>,
    claim: &Claim,
    progress: ClaimDeletionProgress,
    notices: &mut Vec<String>,
    relies_on: &mut checks::ReliedFlags,
) -> Seen<Result<(DataOutcome<'a>, Option<FirstSnapshot>), String>> {
    checks::all!(
        obstacles::not_terminating(cx, claim),
        checks::not_exempt(cx, &claim.metadata),
        obstacles::not_used(cx, claim, notices, relies_on)?,
        obstacles::not_owned(cx, claim)?,
        obstacles::no_finalizer_blocks(cx, claim)?,
    );
    let outcome = match decide_data(cx, claim, progress.retained, notices, relies_on)? {
        Ok(outcome) => outcome,
        Err(reason) => return Ok(Err(reason)),
    };
    checks::all!(obstacles::protection_is_removed(cx, relies_on)?);
    obstacles::notice_keepers(claim, &outcome, notices);
    let destroys = matches!(outcome, DataOutcome::Destroyed { .. });
    let first = snapshot_first::propose(cx, claim, outcome.volume(), destroys)?;
    Ok(first.map(|first| (outcome, first)))
}

fn proposal(
    cx: &Cx,
    claim: &Claim,
    outcome: &DataOutcome,
    mut notices: Vec<String>,
    relies_on: Vec<&'static str>,
) -> Proposal {
    let mut steps = Vec::new();
    let volume = outcome.volume();
    if let Some(volume) = volume.filter(|it| it.reclaim_policy != ReclaimPolicy::Retain) {
        steps.push(retain(cx, volume, &mut notices));
    }
    let (claim_object, released) = (claim.object(), volume.map(Volume::object));
    steps.push(Action::DeleteClaim { claim: claim_object.clone(), released });
    let undo = match outcome {
        DataOutcome::NoVolume => Undo::Never("a deleted claim cannot be restored"),
        DataOutcome::Kept(_) => Undo::Rebind,
        DataOutcome::Destroyed { volume, .. } => {
            let volume = volume.object();
            steps.push(Action::ReclaimReleased { volume, claim: claim_object });
            Undo::Never("the backend volume is deleted with its data")
        }
    };
    Proposal {
        steps,
        effect: effect(claim, Some(outcome)),
        undo,
        notices,
        relies_on,
        keeps_backend: false,
        loses: Loss::default(),
    }
}

/// Returns the P-POLICY step to Retain. While the volume is Bound, no controller acts on its policy.
fn retain(cx: &Cx, volume: &Volume, notices: &mut Vec<String>) -> Action {
    Action::SetReclaimPolicy {
        volume: volume.object(),
        from: volume.reclaim_policy.clone(),
        to: ReclaimPolicy::Retain,
        doubts_backend: false,
        finalizer: checks::without_delete(cx, volume, notices),
    }
}

/// Returns the effect of the deletion; `outcome` is `None` where it is refused.
fn effect(claim: &Claim, outcome: Option<&DataOutcome>) -> Effect {
    let (what, risk) = match outcome {
        None => (format!("deletes {}", claim.object()), "users of the claim lose it"),
        Some(DataOutcome::NoVolume) => {
            ("deletes the claim; no volume is affected".to_owned(), "users of the claim lose it")
        }
        Some(DataOutcome::Kept(volume)) => {
            let pv = volume.object();
            let what = match volume.reclaim_policy {
                ReclaimPolicy::Retain => {
                    format!("deletes the claim; {pv} has policy Retain and becomes Released")
                }
                ReclaimPolicy::Delete | ReclaimPolicy::Recycle | ReclaimPolicy::Other(_) => {
                    format!(
                        "sets the reclaim policy of {pv} to Retain, then deletes the claim; {pv} becomes Released"
                    )
                }
            };
            let risk = "users of the claim lose it; the backend volume is kept, and billed, until it is reclaimed";
            (format!("{what} with its data"), risk)
        }
        Some(DataOutcome::Destroyed { what, risk, .. }) => (
            format!(
                "deletes the claim; then {what}, which has policy Retain until no use of the claim is \
                 found after its deletion"
            ),
            *risk,
        ),
    };
    Effect { what, risk: risk.to_owned() }
}

/// Decides about the data of a claim; `Err` refuses the deletion. `retained`: an earlier step has set the volume to
/// Retain.
///
/// # Errors
/// When an object was not read on which this rests.
fn decide_data<'a>(
    cx: &Cx<'a>,
    claim: &Claim,
    retained: bool,
    notices: &mut Vec<String>,
    relies_on: &mut ReliedFlags,
) -> Seen<Result<DataOutcome<'a>, String>> {
    let volume = match &claim.phase {
        ClaimPhase::Pending => return obstacles::pending(cx, claim, notices, relies_on),
        ClaimPhase::Lost => return obstacles::lost(cx, claim, notices, relies_on),
        ClaimPhase::Other(phase) => return Ok(Err(format!("its phase {phase} is unknown"))),
        ClaimPhase::Bound => {
            let Some(name) = &claim.volume_name else {
                return Ok(Err("it is Bound, but its spec.volumeName is empty".to_owned()));
            };
            match cx.volume(name)? {
                Some(volume) => volume,
                None => return obstacles::lost(cx, claim, notices, relies_on),
            }
        }
    };
    checks::all!(
        is_bound_to(claim, volume),
        checks::not_exempt(cx, &volume.metadata)
            .map_err(|reason| format!("{} has {reason}", volume.object())),
        no_other_volume(cx, claim)?,
    );
    let settings = cx.settings();
    match (&volume.reclaim_policy, settings.keep_data, settings.destroy_data) {
        (ReclaimPolicy::Retain, _, false) => Ok(Ok(DataOutcome::Kept(volume))),
        (ReclaimPolicy::Retain, _, true) if !retained => Ok(Err(format!(
            "{pv} has policy Retain, which keeps the data: delete the claim with --keep-data, then \
             reclaim the volume with `kubectl storage gc {pv} --older-than 1s`",
            pv = volume.object()
        ))),
        (_, true, _) => {
            relies_on.rely("--keep-data");
            Ok(Ok(DataOutcome::Kept(volume)))
        }
        (_, false, true) => {
            relies_on.rely("--destroy-data");
            let what = allowed(cx, claim, volume, notices, relies_on)?;
            Ok(what.map(|(what, risk)| DataOutcome::Destroyed { volume, what, risk }))
        }
        (policy, false, false) => {
            let pv = volume.object();
            let (mut notices, mut relies_on) = (Vec::new(), ReliedFlags::default());
            let destroys = allowed(cx, claim, volume, &mut notices, &mut relies_on);
            let destroys = destroys.and_then(|it| match it {
                Ok(what) => Ok(relies_on.settled()?.map(|_| what)),
                Err(reason) => Ok(Err(reason)),
            });
            let destroys = match destroys {
                Ok(Ok((what, _))) => format!("--destroy-data ({what})"),
                Ok(Err(reason)) => format!("--destroy-data, which is refused now: {reason}"),
                Err(unseen) => format!("--destroy-data, which is refused now: {}", unseen.reason),
            };
            Ok(Err(format!(
                "{pv} has policy {policy}: requires --keep-data ({pv} is set to Retain first, and \
                 becomes Released with its data) or {destroys}"
            )))
        }
    }
}

/// Refuses unless the volume is bound to the claim, and will remain or be deleted by its policy alone.
fn is_bound_to(claim: &Claim, volume: &Volume) -> checks::Checked {
    let pv = volume.object();
    let uid = volume.claim_ref.as_ref().and_then(|it| it.uid.as_ref());
    if uid.is_none() || uid != claim.metadata.uid.as_ref() {
        let of = match &volume.claim_ref {
            None => "spec.claimRef is empty".to_owned(),
            Some(it) if it.key != claim.key() => format!("spec.claimRef is claim {}", it.key),
            Some(it) if it.uid.is_none() => "spec.claimRef has no uid".to_owned(),
            Some(_) => "spec.claimRef has the uid of another claim".to_owned(),
        };
        return Err(format!(
            "{pv}, which it references, is not bound to it ({of}); `kubectl storage explain {}` \
             shows whose data it is",
            claim.object()
        ));
    }
    if volume.metadata.deleting.is_some() {
        let backend = volume.backend.as_ref().map_or_else(String::new, |it| format!(" ({it})"));
        return Err(format!(
            "{pv} is Terminating: it would be deleted with the claim, and with policy Retain no \
             PersistentVolume would reference its backend volume{backend} any more; `kubectl \
             storage explain {pv}` shows what to do first"
        ));
    }
    match &volume.phase {
        Phase::Bound => Ok(()),
        phase => Err(format!(
            "the phase of {pv} is {phase}, not Bound: a controller may already apply its policy"
        )),
    }
}

/// The decision about the data of a claim.
#[derive(Debug)]
enum DataOutcome<'a> {
    /// No volume is bound to the claim.
    NoVolume,
    /// The data is kept: the policy of the volume is Retain, or is set to it first.
    Kept(&'a Volume),
    /// The data is destroyed: the policy is Delete, and its controller acts on it.
    Destroyed {
        volume: &'a Volume,
        /// The action of the controller, with its name.
        what: String,
        /// The risk.
        risk: &'static str,
    },
}

impl<'a> DataOutcome<'a> {
    /// The volume that is bound to the claim.
    const fn volume(&self) -> Option<&'a Volume> {
        match self {
            Self::NoVolume => None,
            Self::Kept(volume) | Self::Destroyed { volume, .. } => Some(volume),
        }
    }
}

/// Refuses where another volume is bound to the claim by its uid: with the claim it would be released,
/// and its policy applied (`pv_controller.go`, `syncVolume`).
fn no_other_volume(cx: &Cx, claim: &Claim) -> Seen<checks::Checked> {
    let other = cx.volumes_of(&claim.key())?.into_iter().find(|it| {
        let uid = it.claim_ref.as_ref().and_then(|it| it.uid.as_ref());
        let is_own = claim.volume_name.as_deref() == Some(it.name());
        uid.is_some()
            && uid == claim.metadata.uid.as_ref()
            && !is_own
            && it.reclaim_policy != ReclaimPolicy::Retain
    });
    Ok(match other {
        None => Ok(()),
        Some(other) => Err(format!(
            "spec.claimRef of {pv} is this claim too, and its policy is {}: run `kubectl storage \
             retain {pv}` first, which keeps its data",
            other.reclaim_policy,
            pv = other.object()
        )),
    })
}

/// Refuses unless the controller of a volume with policy Delete would destroy the storage that the claim uses, and
/// nothing else. Returns what it does, with its name, and the risk.
///
/// # Errors
/// When an object was not read on which this rests.
fn allowed(
    cx: &Cx,
    claim: &Claim,
    volume: &Volume,
    notices: &mut Vec<String>,
    relies_on: &mut ReliedFlags,
) -> Seen<Result<(String, &'static str), String>> {
    let pv = volume.object();
    match &volume.reclaim_policy {
        // An earlier step has set it to Retain.
        ReclaimPolicy::Delete | ReclaimPolicy::Retain => {}
        ReclaimPolicy::Recycle => {
            return Ok(Err(format!(
                "the policy of {pv} is {}, which deletes no backend volume: keep the data, then \
                 reclaim the volume with `kubectl storage gc {pv} --older-than 1s`",
                volume.reclaim_policy
            )));
        }
        ReclaimPolicy::Other(policy) => {
            return Ok(Err(format!("what the policy {policy} of {pv} does is unknown")));
        }
    }
    let owner = facts::owner(volume);
    if let Some(state) = &volume.backend_state {
        return Ok(Err(format!("{pv}: {}", checks::backend_in_doubt(state))));
    }
    checks::all!(
        checks::backend_is_known(volume).map(drop),
        no_other_claim(cx, claim, volume)?,
        released::backend_can_go(cx, volume)?,
    );
    let clearance = match exclusive::clearance(cx, volume, &owner, None, None, relies_on)? {
        Ok(clearance) => clearance,
        Err(reason) => return Ok(Err(reason)),
    };
    let what = format!("{} {}", owner.describe(), clearance.with_object(&pv.to_string()));
    let risk = clearance.risk();
    notices.extend(clearance.notices);
    checks::all!(
        exclusive::made_here(cx, volume, &owner, relies_on),
        exclusive::allow_deletion(cx, volume, &owner, notices, relies_on)?,
        reclaim::owner_will_act(cx, volume, &owner, Some(relies_on))?,
        checks::secret_is_there(cx, volume, &owner)?,
    );
    checks::with_delete_later(cx, volume, notices);
    reclaim::notice_word(relies_on, notices);
    if let Some(finalizers) = checks::third_party_finalizers(volume) {
        notices.push(format!("{pv}: {}", checks::blocked_by(&finalizers)));
    }
    if let Some(driver) = owner.csi()
        && cx.csi_driver(driver)?.is_some_and(|driver| !driver.attach_required)
    {
        notices.push(checks::attaches_without_trace(driver));
    }
    Ok(Ok((what, risk)))
}

/// Why the storage of a claim's volume outlives its claim, whatever runs: its driver would leave it, or must not be told
/// to delete it. `None` where it can be destroyed once everything runs that has to.
///
/// # Errors
/// When an object was not read on which this rests.
pub fn survives(cx: &Cx, volume: &Volume) -> Seen<Option<String>> {
    let owner = facts::owner(volume);
    if let Err(reason) = checks::backend_is_known(volume) {
        return Ok(Some(reason));
    }
    match &volume.reclaim_policy {
        ReclaimPolicy::Delete | ReclaimPolicy::Retain => {}
        policy => return Ok(Some(format!("its policy is {policy}"))),
    }
    let mut relies_on = ReliedFlags::default();
    let clearance = match exclusive::clearance(cx, volume, &owner, None, None, &mut relies_on)? {
        Ok(clearance) => clearance,
        Err(reason) => return Ok(Some(relies_on.besides(reason))),
    };
    if clearance.keeps_data {
        return Ok(Some(format!("{} {}", owner.describe(), clearance.what)));
    }
    // What only an assertion about its driver allows is undecided; what no cluster made survives without one.
    let mut of_static = ReliedFlags::default();
    if let Err(reason) = exclusive::made_here(cx, volume, &owner, &mut of_static) {
        return Ok(Some(reason));
    }
    if let Err(reason) = of_static.settled_for(cx)? {
        return Ok(Some(reason));
    }
    if volume.is_dynamic() {
        return Ok(None);
    }
    let acts = reclaim::owner_will_act(cx, volume, &owner, Some(&mut ReliedFlags::default()))?;
    Ok(acts.err().map(|reason| format!("it is statically provisioned: {reason}")))
}

/// Refuses where another claim references the volume too.
fn no_other_claim(cx: &Cx, claim: &Claim, volume: &Volume) -> Seen<checks::Checked> {
    let claims = cx.claims_naming(volume.name())?;
    let other = claims.into_iter().find(|it| it.key() != claim.key());
    Ok(match other {
        None => Ok(()),
        Some(other) => Err(format!("{} references {} too", other.object(), volume.object())),
    })
}

#[cfg(test)]
mod tests;
