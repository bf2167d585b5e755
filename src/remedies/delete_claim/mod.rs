//! Deletes a claim that nothing uses, after the decision about its data: its volume is set to Retain
//! first, or the driver may be told to delete the backend volume (R-PVCP-9).
//!
//! A claim that something uses, or whose deletion something would block, would only become
//! Terminating, which cannot be reverted: it is refused, whatever the flags about its data.

mod data;
mod destruction;
mod obstacles;
mod outcome;
mod unbound;

use super::snapshot_first::{self, FirstSnapshot};
use super::{Remedy, checks, deletion_protection};
use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{Action, Claim, Effect, Proposal, ReclaimPolicy, Refusal, Undo, Volume};
use outcome::DataOutcome;

/// P-DELETE of a claim, after P-POLICY of its volume where its data is kept.
pub static REMEDY: Remedy<Claim> = Remedy {
    id: "delete-claim",
    needs: facts::needs![controller: PersistentVolumeClaim, Node, VolumeAttachment, StorageClass, VolumeSnapshot, VolumeSnapshotContent, VolumeGroupSnapshotContent, Secret, ReplicationController, Job, CronJob, HorizontalPodAutoscaler, PartialObjectMetadata],
    writes: &[
        ("patch", "persistentvolumes"),
        ("delete", "persistentvolumeclaims"),
        ("create", "volumesnapshots"),
    ],
    command: |_, claim| Some(format!("delete pvc/{} -n {}", claim.metadata.name, claim.namespace)),
    propose: |cx, claim| propose(cx, claim, ClaimDeletionProgress::default()),
};

/// How far the deletion of a claim is: what its earlier steps did is not refused as if another
/// client had done it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClaimDeletionProgress {
    /// Its volume was set to Retain.
    pub retained: bool,
}

impl ClaimDeletionProgress {
    /// Returns the progress after these steps.
    pub fn after(done: &[Action]) -> Self {
        Self { retained: done.iter().any(|it| matches!(it, Action::SetReclaimPolicy { .. })) }
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
        Ok(decided) => Ok(relies_on.settled()?.map(|flags| (decided, flags))),
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
    let outcome = match data::decide(cx, claim, progress.retained, notices, relies_on)? {
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
    }
}

/// P-POLICY to Retain. While the volume is Bound, no controller acts on its policy.
fn retain(cx: &Cx, volume: &Volume, notices: &mut Vec<String>) -> Action {
    Action::SetReclaimPolicy {
        volume: volume.object(),
        from: volume.reclaim_policy.clone(),
        to: ReclaimPolicy::Retain,
        doubts_backend: false,
        finalizer: deletion_protection::without_delete(cx, volume, notices),
    }
}

/// What the deletion does; `None` where it is refused.
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

#[cfg(test)]
mod tests;
