//! Restores the reclaim policy that a volume had before `retain`, where no controller can have
//! acted on either policy and nothing is destroyed immediately.

use serde_json::Value;

use super::{Manifest, checks};
use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{
    Action, ClaimPhase, Effect, FinalizerEdit, Loss, Phase, Proposal, ReclaimPolicy, Refusal, Undo,
    Volume,
};

/// The name of this purpose in plans and in the journal.
pub const ID: &str = "revert";

/// A reclaim policy that is to be restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reversal {
    /// The journal entry that changed the policy.
    pub undoes: u64,
    /// The volume as it was before the change.
    before: Manifest,
}

impl Reversal {
    /// Prepares to restore the policy of a volume as it was.
    ///
    /// # Errors
    /// When it is no manifest of a volume, as a reason to refuse.
    pub fn of(saved: &Value, undoes: u64) -> Result<Self, String> {
        Ok(Self { undoes, before: Manifest::read(saved.clone())? })
    }
}

/// Proposes or refuses to restore the policy of a volume.
///
/// # Errors
/// When an object was not read on which the decision rests.
pub fn propose(cx: &Cx, volume: &Volume, reversal: &Reversal) -> Seen<Result<Proposal, Refusal>> {
    let before = reversal.before.volume();
    let policy = &before.reclaim_policy;
    let effect = Effect {
        what: format!("sets the reclaim policy back to {policy}"),
        risk: match policy {
            ReclaimPolicy::Delete => "the backend volume is deleted after its claim is \
                                      deleted"
                .to_owned(),
            _ => {
                "this policy decides what happens to the data after its claim is deleted".to_owned()
            }
        },
    };
    if let Some(reason) = obstacle(cx, volume, before)? {
        return Ok(Err(Refusal { reason, effect }));
    }
    let mut notices = Vec::new();
    let finalizer = match policy {
        // Its csi-provisioner adds the finalizer to a bound volume by itself.
        ReclaimPolicy::Delete => FinalizerEdit::Untouched,
        _ => checks::without_delete(cx, volume, &mut notices),
    };
    Ok(Ok(Proposal {
        steps: vec![Action::SetReclaimPolicy {
            volume: volume.object(),
            from: ReclaimPolicy::Retain,
            to: policy.clone(),
            doubts_backend: false,
            finalizer,
        }],
        effect,
        undo: Undo::Never("set it to Retain again with `retain`, as long as the claim exists"),
        notices,
        relies_on: Vec::new(),
        keeps_backend: false,
        loses: Loss::default(),
    }))
}

fn obstacle(cx: &Cx, volume: &Volume, before: &Volume) -> Seen<Option<String>> {
    let refuse = |reason: String| Ok(Some(reason));
    if volume.reclaim_policy != ReclaimPolicy::Retain {
        return refuse(format!("its policy is {}: it was changed since", volume.reclaim_policy));
    }
    if before.reclaim_policy == ReclaimPolicy::Retain {
        return refuse("its policy was Retain before".to_owned());
    }
    if let Some(state) = &volume.backend_state {
        return refuse(checks::backend_in_doubt(state));
    }
    if volume.metadata.deleting.is_some() {
        return refuse(
            "it is Terminating: with its old policy, the backend volume would be deleted"
                .to_owned(),
        );
    }
    if volume.phase != before.phase {
        return refuse(format!("its phase was {} and is {}", before.phase, volume.phase));
    }
    let uid = |volume: &Volume| volume.claim_ref.as_ref().and_then(|it| it.uid.clone());
    if uid(volume) != uid(before) {
        // After `rebind` it is a claim of the user's again, and the policy is theirs to decide.
        let back = facts::policy_command(volume.name(), &before.reclaim_policy);
        let back = back.filter(|_| volume.phase == Phase::Bound);
        let back = back.map_or_else(String::new, |it| format!("; {it} sets the policy back"));
        return refuse(format!("its spec.claimRef references another claim than before{back}"));
    }
    match (&volume.phase, &volume.claim_ref) {
        (Phase::Available, _) => Ok(None),
        (Phase::Bound, Some(owner)) => match cx.claim(&owner.key)? {
            Some(claim) if claim.metadata.uid != owner.uid || claim.phase != ClaimPhase::Bound => {
                refuse(format!("{} is not bound to it", claim.object()))
            }
            Some(claim) if claim.metadata.deleting.is_some() => refuse(format!(
                "{} is Terminating: with its old policy, the backend volume would be deleted after it",
                claim.object()
            )),
            Some(_) => Ok(None),
            None => refuse(
                "its claim does not exist: with its old policy, the backend volume would be \
                 deleted immediately"
                    .to_owned(),
            ),
        },
        (phase, _) => refuse(format!(
            "its phase is {phase}: a controller may act on its policy at any moment"
        )),
    }
}
