//! What comes of the decisions about a volume's finalizers: steps, what they rest on, and what
//! becomes of the backend volume.

use std::fmt::Write as _;

use super::super::super::tombstone;
use super::super::Asked;
use super::situation::{self, Case};
use super::table::{Act, Stage, Which, Word};
use super::{explain, is_kept};
use crate::cluster::{Cx, Seen};
use crate::facts::{self, EXTERNAL_PROVISIONER, IN_TREE, PV_PROTECTION};
use crate::model::{
    Action, Effect, Guard, Phase, Proposal, ReclaimPolicy, Refusal, Text, Undo, Volume,
};

/// A finalizer that is removed.
pub(super) struct Removal {
    which: Which,
    act: Act,
    finalizer: Text,
    step: Action,
    relies_on: Vec<&'static str>,
}

impl Removal {
    pub(super) fn of(cx: &Cx, case: &Case, act: Act) -> Self {
        let it = &case.situation;
        let absent_by_word =
            case.driver.as_ref().is_some_and(|it| cx.settings().absent_drivers.contains(it));
        let by_manager = facts::owner(case.volume).csi().is_none();
        let flags = [
            (absent_by_word, "--driver-absent"),
            (by_manager && matches!(it.which, Which::External | Which::InTree), "--rolled-back"),
            (it.which == Which::Foreign, "--remove-finalizer"),
        ];
        Self {
            which: it.which,
            act,
            finalizer: Text::from(case.finalizer),
            step: Action::RemoveFinalizer {
                object: case.volume.object(),
                finalizer: Text::from(case.finalizer),
                guards: guards(case.volume, case.finalizer),
            },
            relies_on: flags.into_iter().filter(|it| it.0).map(|it| it.1).collect(),
        }
    }
}

/// What the decision rested on, so that the patch fails where it does not hold any more: policy and
/// phase always, that it is not terminating, and the finalizers that keep what must not go.
fn guards(volume: &Volume, finalizer: &str) -> Vec<Guard> {
    let mut guards = vec![
        Guard::ReclaimPolicy(volume.reclaim_policy.clone()),
        Guard::Phase(volume.phase.clone()),
    ];
    if volume.metadata.deleting.is_none() {
        guards.push(Guard::NotTerminating);
    }
    let bound = volume.phase == Phase::Bound;
    let keeps_disk = volume.reclaim_policy != ReclaimPolicy::Retain;
    let keepers = [
        (EXTERNAL_PROVISIONER, keeps_disk || bound),
        (IN_TREE, keeps_disk || bound),
        (PV_PROTECTION, bound),
    ];
    for (keeper, needed) in keepers {
        if needed && keeper != finalizer && volume.metadata.has_finalizer(keeper) {
            guards.push(Guard::Finalizer(keeper.into()));
        }
    }
    guards
}

/// Whether the backend volume of a terminating volume should be deleted, and nobody does.
fn is_unreclaimed(volume: &Volume) -> bool {
    volume.metadata.deleting.is_some()
        && volume.reclaim_policy == ReclaimPolicy::Delete
        && !situation::is_guarded(volume, "")
}

/// What holds the object besides the controller manager, which lets go of one that is not bound.
fn holders(volume: &Volume) -> Vec<&str> {
    let all = volume.metadata.finalizers.iter().map(|it| &**it);
    all.filter(|it| *it != PV_PROTECTION).collect()
}

/// Makes one proposal of all removals, `after` being the volume as they leave it.
///
/// # Errors
/// When something was not seen that having the backend volume deleted needs.
pub(super) fn conclude(
    cx: &Cx,
    volume: &Volume,
    after: &Volume,
    removals: Vec<Removal>,
    asked: &Asked,
) -> Seen<Result<Proposal, Refusal>> {
    let mut outcome = Outcome::of(volume, after, &removals);
    let leaves = is_unreclaimed(after);
    let mut relies_on: Vec<_> = removals.iter().flat_map(|it| it.relies_on.clone()).collect();
    let mut steps: Vec<_> = removals.into_iter().map(|it| it.step).collect();
    let mut notices = Vec::new();
    match (leaves || outcome.leaks, situation::word(cx.settings())) {
        (false, _) => {}
        (true, Word::AcceptLeak) => {
            relies_on.push("--accept-leak");
            notices.push(match &volume.backend {
                Some(backend) => format!("nobody will delete the backend volume: {backend}"),
                None => "nobody will delete the backend volume".to_owned(),
            });
        }
        (true, Word::Reclaim) => {
            let refuse = |reason| Ok(Err(Refusal { reason, effect: outcome.effect(volume) }));
            if let Err(reason) = can_be_reclaimed(after) {
                return refuse(reason);
            }
            let made = match tombstone::after(cx, volume, &asked.elsewhere)? {
                Ok(made) => made,
                Err(reason) => return refuse(format!("--reclaim is not possible: {reason}")),
            };
            relies_on.push("--reclaim");
            relies_on.extend(made.relies_on);
            notices.extend(made.notices);
            steps.push(Action::ReclaimBackend { tombstone: made.tombstone, of: volume.object() });
            outcome.reclaims = true;
        }
        // The table lets nothing through that comes here.
        (true, Word::None) => {
            let reason = "the backend volume would be leaked: needs --accept-leak or --reclaim";
            return Ok(Err(Refusal { reason: reason.to_owned(), effect: outcome.effect(volume) }));
        }
    }
    relies_on.sort_unstable();
    relies_on.dedup();
    Ok(Ok(Proposal {
        steps,
        effect: outcome.effect(volume),
        undo: outcome.undo(after),
        notices,
        relies_on,
        keeps_backend: after.metadata.deleting.is_some() && (is_kept(after) || leaves),
    }))
}

/// Whether nothing holds an object any more that was Released: it goes with the patch that removes
/// the last finalizer, and that tests its policy. One that goes later may be told to stay meanwhile.
fn can_be_reclaimed(after: &Volume) -> Result<(), String> {
    let holders = holders(after);
    if !holders.is_empty() {
        return Err(format!(
            "other finalizers would still hold it, and its backend volume can only be reclaimed once it is gone: {}",
            explain::listed(&holders)
        ));
    }
    if after.metadata.has_finalizer(PV_PROTECTION) {
        return Err(format!(
            "{PV_PROTECTION} still holds it, and while it does, somebody may say that its backend volume is to stay: see that kube-controller-manager removes that first, as it does from whatever is not bound"
        ));
    }
    match situation::stage(after) {
        Stage::Released | Stage::Failed => Ok(()),
        Stage::Unbound | Stage::Bound | Stage::Other => {
            Err(format!("its phase is {}: --reclaim is for what was Released", after.phase))
        }
    }
}

/// What is told of the whole.
#[expect(clippy::struct_excessive_bools, reason = "each is told by itself")]
struct Outcome {
    removed: Vec<Text>,
    risks: Vec<&'static str>,
    terminating: bool,
    /// Whether nothing but the controller manager holds the object afterwards.
    goes: bool,
    leaks: bool,
    reclaims: bool,
}

impl Outcome {
    fn of(volume: &Volume, after: &Volume, removals: &[Removal]) -> Self {
        let mut risks = Vec::new();
        for removal in removals {
            let risk = risk(removal.which);
            if !risks.contains(&risk) {
                risks.push(risk);
            }
        }
        Self {
            removed: removals.iter().map(|it| Text::clone(&it.finalizer)).collect(),
            risks,
            terminating: volume.metadata.deleting.is_some(),
            goes: holders(after).is_empty() && after.phase != Phase::Bound
                || after.metadata.finalizers.is_empty(),
            leaks: removals.iter().any(|it| it.act == Act::LetGoLeaked),
            reclaims: false,
        }
    }

    fn effect(&self, volume: &Volume) -> Effect {
        let removed = self.removed.join(", then ");
        let mut what = match (self.removed.len(), self.terminating, self.goes) {
            (1, true, true) => format!(
                "removes {removed}, the last finalizer that anybody else holds it by: the object goes"
            ),
            (_, true, true) => format!("removes {removed}: the object goes"),
            (_, true, false) => {
                format!("removes {removed}; other finalizers still hold the object")
            }
            (_, false, _) => format!("removes {removed}"),
        };
        let mut risks = self.risks.clone();
        if self.reclaims {
            let named = volume.backend.as_ref().map(ToString::to_string).unwrap_or_default();
            let owner = facts::owner(volume).describe();
            let _ = write!(
                what,
                "; then has {owner} delete the backend volume {named}, by a volume object made for it"
            );
            risks.push("the data is gone for good");
        } else if self.terminating && self.goes {
            what.push_str(", and the backend volume stays");
        }
        Effect { what, risk: risks.join("; ") }
    }

    /// Finalizers cannot be put back: at most the object is created again.
    fn undo(&self, after: &Volume) -> Undo {
        match (self.terminating, self.reclaims) {
            (_, true) => Undo::Never("the driver deletes the backend volume at once"),
            (false, false) => {
                Undo::Never("whoever set the finalizer sets it again where it is needed")
            }
            (true, false) if after.reclaim_policy == ReclaimPolicy::Retain => {
                match after.claim_ref.as_ref().and_then(|it| it.uid.as_ref()) {
                    Some(_) => Undo::Recreate,
                    None => {
                        Undo::Never("it belonged to no claim: created again, it would be anybody's")
                    }
                }
            }
            (true, false) if is_unreclaimed(after) => {
                Undo::Never("whether the backend volume still exists is not known")
            }
            (true, false) => {
                Undo::Never("the API server allows no new finalizer on a terminating object")
            }
        }
    }
}

const fn risk(which: Which) -> &'static str {
    match which {
        Which::External | Which::InTree => {
            "if its controller was only away, the backend volume is leaked"
        }
        Which::Attacher => "if a node still has it attached, nothing detaches it any more",
        Which::Foreign => {
            "skips what somebody wanted to finish first, such as a backup or a replication"
        }
    }
}

/// What removing one finalizer would do, where it is refused.
pub(super) fn effect_of(volume: &Volume, finalizer: &str) -> Effect {
    let mut after = volume.clone();
    super::take_off(&mut after, finalizer);
    let which = situation::which(finalizer).unwrap_or(Which::Foreign);
    let outcome = Outcome {
        removed: vec![Text::from(finalizer)],
        risks: vec![risk(which)],
        ..Outcome::of(volume, &after, &[])
    };
    outcome.effect(volume)
}

/// What is refused where nothing is done to a volume.
pub(super) fn effect_of_all() -> Effect {
    Effect {
        what: "removes the finalizers that nobody is left to remove".to_owned(),
        risk: "if their controllers were only away, the backend volume is leaked".to_owned(),
    }
}
