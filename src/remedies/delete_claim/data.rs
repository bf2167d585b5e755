//! What becomes of the data of a claim that is deleted.

use super::super::checks::{self, ReliedFlags};
use super::outcome::{DataOutcome, no_other_volume};
use super::{destruction, unbound};
use crate::cluster::{Cx, Seen};
use crate::model::{Claim, ClaimPhase, Phase, ReclaimPolicy, Volume};

/// Decides what becomes of the data: `Err` refuses the deletion. `retained`: an earlier step has set
/// the volume to Retain.
///
/// # Errors
/// When an object was not read on which this rests.
pub(super) fn decide<'a>(
    cx: &Cx<'a>,
    claim: &Claim,
    retained: bool,
    notices: &mut Vec<String>,
    relies_on: &mut ReliedFlags,
) -> Seen<Result<DataOutcome<'a>, String>> {
    let volume = match &claim.phase {
        ClaimPhase::Pending => return unbound::pending(cx, claim, notices, relies_on),
        ClaimPhase::Lost => return unbound::lost(cx, claim, notices, relies_on),
        ClaimPhase::Other(phase) => return Ok(Err(format!("its phase {phase} is unknown"))),
        ClaimPhase::Bound => {
            let Some(name) = &claim.volume_name else {
                return Ok(Err("it is Bound, but its spec.volumeName is empty".to_owned()));
            };
            match cx.volume(name)? {
                Some(volume) => volume,
                None => return unbound::lost(cx, claim, notices, relies_on),
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
            let what = destruction::allowed(cx, claim, volume, notices, relies_on)?;
            Ok(what.map(|(what, risk)| DataOutcome::Destroyed { volume, what, risk }))
        }
        (policy, false, false) => {
            let pv = volume.object();
            let (mut notices, mut relies_on) = (Vec::new(), ReliedFlags::default());
            let destroys = destruction::allowed(cx, claim, volume, &mut notices, &mut relies_on);
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
