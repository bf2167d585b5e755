//! Sets the reclaim policy to Retain, which stops a deletion and destroys nothing.

use super::{Remedy, checks};
use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{
    Action, Effect, Kind, Loss, Phase, Proposal, ReclaimPolicy, Refusal, Undo, Volume,
};

/// Sets the reclaim policy to Retain (P-POLICY).
pub static REMEDY: Remedy = Remedy {
    id: "retain",
    needs: &[Kind::PersistentVolume],
    writes: &[("patch", "persistentvolumes")],
    command: |_, volume| Some(format!("retain {}", facts::on_command_line(&volume.object()))),
    propose,
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every remedy")]
fn propose(cx: &Cx, volume: &Volume) -> Seen<Result<Proposal, Refusal>> {
    let effect = effect(volume);
    if volume.reclaim_policy == ReclaimPolicy::Retain {
        return Ok(Err(Refusal { reason: "its policy is already Retain".to_owned(), effect }));
    }
    // A stop is not an undo: a provisioner may have deleted the backend volume partly. It does not
    // begin before the volume is Released (R-2644-8), whether it is Terminating or not.
    let deletes = match volume.reclaim_policy {
        ReclaimPolicy::Delete => Some("stops the deletion; data may already be partly deleted"),
        // A pod that scrubs goes on, whatever the policy is then.
        ReclaimPolicy::Recycle => {
            Some("too late for a scrubbing that has begun: the files may be gone already")
        }
        ReclaimPolicy::Retain | ReclaimPolicy::Other(_) => None,
    };
    let begins = !matches!(volume.phase, Phase::Pending | Phase::Available | Phase::Bound);
    let deleting = deletes.filter(|_| begins);
    let mut notices = Vec::new();
    if let Some(deletion) = deleting {
        notices.push(format!("{deletion}, so the volume is marked"));
    }
    let finalizer = checks::without_delete(cx, volume, &mut notices);
    Ok(Ok(Proposal {
        steps: vec![Action::SetReclaimPolicy {
            volume: volume.object(),
            from: volume.reclaim_policy.clone(),
            to: ReclaimPolicy::Retain,
            doubts_backend: deleting.is_some(),
            finalizer,
        }],
        effect,
        undo: if deleting.is_some() {
            Undo::Never("a controller may have acted on the old policy")
        } else {
            Undo::Revert
        },
        notices,
        relies_on: Vec::new(),
        keeps_backend: false,
        loses: Loss::default(),
    }))
}

fn effect(volume: &Volume) -> Effect {
    let what = if volume.metadata.deleting.is_some() {
        "sets the reclaim policy to Retain: the PersistentVolume is still deleted, the backend \
         volume remains"
    } else {
        "sets the reclaim policy to Retain: no controller deletes the backend volume"
    };
    Effect {
        what: what.to_owned(),
        risk: "the backend volume is kept and billed until you reclaim it".to_owned(),
    }
}
