//! The proposal that results from the decisions about the finalizers of a volume.

use std::fmt::Write as _;

use super::super::super::placeholder;
use super::super::FinalizerRequest;
use super::finalizer::{self, VolumeFinalizer};
use super::table::{LeakChoice, VolumeFinalizerKind, VolumePhase, VolumeStep};
use super::{explain, is_kept};
use crate::cluster::{Cx, Seen};
use crate::facts::{self, EXTERNAL_PROVISIONER, IN_TREE, PV_PROTECTION};
use crate::model::{
    Action, Effect, Guard, Phase, Proposal, ReclaimPolicy, Refusal, Text, Undo, Volume,
};

/// The removal of one finalizer.
pub(super) struct FinalizerRemoval {
    kind: VolumeFinalizerKind,
    step: VolumeStep,
    finalizer: Text,
    action: Action,
    relies_on: Vec<&'static str>,
}

impl FinalizerRemoval {
    pub(super) fn of(cx: &Cx, case: &VolumeFinalizer, step: VolumeStep) -> Self {
        let it = &case.inputs;
        let absent_by_word =
            case.driver.as_ref().is_some_and(|it| cx.settings().absent_drivers.contains(it));
        let by_manager = facts::owner(case.volume).csi().is_none();
        let flags = [
            (absent_by_word, "--driver-absent"),
            (
                by_manager
                    && matches!(
                        it.kind,
                        VolumeFinalizerKind::External | VolumeFinalizerKind::InTree
                    ),
                "--rolled-back",
            ),
            (it.kind == VolumeFinalizerKind::ThirdParty, "--remove-finalizer"),
        ];
        Self {
            kind: it.kind,
            step,
            finalizer: Text::from(case.finalizer),
            action: Action::RemoveFinalizer {
                object: case.volume.object(),
                finalizer: Text::from(case.finalizer),
                guards: guards(case.volume, case.finalizer),
            },
            relies_on: flags.into_iter().filter(|it| it.0).map(|it| it.1).collect(),
        }
    }
}

/// Returns the fields on which the decision rests, which the patch tests: always the policy and the
/// phase, that a live volume is not Terminating, and the finalizers that protect volume and backend
/// volume.
fn guards(volume: &Volume, finalizer: &str) -> Vec<Guard> {
    let mut guards = vec![
        Guard::ReclaimPolicy(volume.reclaim_policy.clone()),
        Guard::Phase(volume.phase.clone()),
    ];
    if volume.metadata.deleting.is_none() {
        guards.push(Guard::NotTerminating);
    }
    let bound = volume.phase == Phase::Bound;
    let loses_backend = volume.reclaim_policy != ReclaimPolicy::Retain;
    let protecting = [
        (EXTERNAL_PROVISIONER, loses_backend || bound),
        (IN_TREE, loses_backend || bound),
        (PV_PROTECTION, bound),
    ];
    for (other, needed) in protecting {
        if needed && other != finalizer && volume.metadata.has_finalizer(other) {
            guards.push(Guard::Finalizer(other.into()));
        }
    }
    guards
}

/// Whether the policy of a Terminating volume deletes the backend volume, but no controller does.
fn is_unreclaimed(volume: &Volume) -> bool {
    volume.metadata.deleting.is_some()
        && volume.reclaim_policy == ReclaimPolicy::Delete
        && !finalizer::is_protected(volume, "")
}

/// Returns the finalizers that block the deletion, except the one that kube-controller-manager
/// removes from a volume that is not bound.
fn blocking(volume: &Volume) -> Vec<&str> {
    let all = volume.metadata.finalizers.iter().map(|it| &**it);
    all.filter(|it| *it != PV_PROTECTION).collect()
}

/// Returns one proposal for all removals; `after` is the volume as they leave it.
///
/// # Errors
/// When an object was not read on which the deletion of the backend volume rests.
pub(super) fn conclude(
    cx: &Cx,
    volume: &Volume,
    after: &Volume,
    removals: Vec<FinalizerRemoval>,
    request: &FinalizerRequest,
) -> Seen<Result<Proposal, Refusal>> {
    let mut summary = RemovalSummary::of(volume, after, &removals);
    let leaves = is_unreclaimed(after);
    let mut relies_on: Vec<_> = removals.iter().flat_map(|it| it.relies_on.clone()).collect();
    let mut steps: Vec<_> = removals.into_iter().map(|it| it.action).collect();
    let mut notices = Vec::new();
    match (leaves || summary.leaks, finalizer::leak_choice(cx.settings())) {
        (false, _) => {}
        (true, LeakChoice::AcceptLeak) => {
            relies_on.push("--accept-leak");
            notices.push(match &volume.backend {
                Some(backend) => format!("no controller deletes the backend volume: {backend}"),
                None => "no controller deletes the backend volume".to_owned(),
            });
        }
        (true, LeakChoice::Reclaim) => {
            let refuse = |reason| Ok(Err(Refusal { reason, effect: summary.effect(volume) }));
            if let Err(reason) = can_be_reclaimed(after) {
                return refuse(reason);
            }
            let made = match placeholder::planned(cx, volume, &request.elsewhere)? {
                Ok(made) => made,
                Err(reason) => return refuse(format!("--reclaim is not possible: {reason}")),
            };
            relies_on.push("--reclaim");
            relies_on.extend(made.relies_on);
            notices.extend(made.notices);
            steps.push(Action::ReclaimBackend { tombstone: made.placeholder, of: volume.object() });
            summary.reclaims = true;
        }
        // The table decides against it already.
        (true, LeakChoice::Unsaid) => {
            let reason = "the backend volume would be leaked: needs --accept-leak or --reclaim";
            return Ok(Err(Refusal { reason: reason.to_owned(), effect: summary.effect(volume) }));
        }
    }
    relies_on.sort_unstable();
    relies_on.dedup();
    Ok(Ok(Proposal {
        steps,
        effect: summary.effect(volume),
        undo: summary.undo(after),
        notices,
        relies_on,
        keeps_backend: after.metadata.deleting.is_some() && (is_kept(after) || leaves),
    }))
}

/// Refuses unless the volume was Released and is deleted with the patch that removes its last
/// finalizer and tests its policy. The policy of a volume that is deleted later can be changed
/// before.
fn can_be_reclaimed(after: &Volume) -> Result<(), String> {
    let blocking = blocking(after);
    if !blocking.is_empty() {
        return Err(format!(
            "other finalizers would still block its deletion, and its backend volume can be reclaimed only after the object is deleted: {}",
            explain::listed(&blocking)
        ));
    }
    if after.metadata.has_finalizer(PV_PROTECTION) {
        return Err(format!(
            "{PV_PROTECTION} still blocks its deletion; make sure that kube-controller-manager runs, which removes it from every volume that is not bound"
        ));
    }
    match finalizer::phase(after) {
        VolumePhase::Released | VolumePhase::Failed => Ok(()),
        VolumePhase::Unbound | VolumePhase::Bound | VolumePhase::Other => {
            Err(format!("its phase is {}: --reclaim is for what was Released", after.phase))
        }
    }
}

/// The combined effect of all removals from a volume.
#[expect(clippy::struct_excessive_bools, reason = "each has its own sentence")]
struct RemovalSummary {
    removed: Vec<Text>,
    risks: Vec<&'static str>,
    terminating: bool,
    /// Whether only a finalizer remains that kube-controller-manager removes.
    is_deleted: bool,
    leaks: bool,
    reclaims: bool,
}

impl RemovalSummary {
    fn of(volume: &Volume, after: &Volume, removals: &[FinalizerRemoval]) -> Self {
        let mut risks = Vec::new();
        for removal in removals {
            let risk = risk(removal.kind);
            if !risks.contains(&risk) {
                risks.push(risk);
            }
        }
        Self {
            removed: removals.iter().map(|it| Text::clone(&it.finalizer)).collect(),
            risks,
            terminating: volume.metadata.deleting.is_some(),
            is_deleted: blocking(after).is_empty() && after.phase != Phase::Bound
                || after.metadata.finalizers.is_empty(),
            leaks: removals.iter().any(|it| it.step == VolumeStep::RemoveLastLeaked),
            reclaims: false,
        }
    }

    fn effect(&self, volume: &Volume) -> Effect {
        let removed = self.removed.join(", then ");
        let mut what = match (self.removed.len(), self.terminating, self.is_deleted) {
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
            risks.push("the data cannot be recovered");
        } else if self.terminating && self.is_deleted {
            what.push_str(", and the backend volume stays");
        }
        Effect { what, risk: risks.join("; ") }
    }

    /// Finalizers cannot be added again: at most the object is recreated.
    fn undo(&self, after: &Volume) -> Undo {
        match (self.terminating, self.reclaims) {
            (_, true) => Undo::Never("the driver deletes the backend volume at once"),
            (false, false) => {
                Undo::Never("its controller adds the finalizer again where it is needed")
            }
            (true, false) if after.reclaim_policy == ReclaimPolicy::Retain => {
                match after.claim_ref.as_ref().and_then(|it| it.uid.as_ref()) {
                    Some(_) => Undo::Recreate,
                    None => Undo::Never(
                        "it was bound to no claim; if it were recreated, any claim could bind it",
                    ),
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

const fn risk(kind: VolumeFinalizerKind) -> &'static str {
    match kind {
        VolumeFinalizerKind::External | VolumeFinalizerKind::InTree => {
            "if its controller was only away, the backend volume is leaked"
        }
        VolumeFinalizerKind::Attacher => {
            "if a node still has it attached, nothing detaches it any more"
        }
        VolumeFinalizerKind::ThirdParty => {
            "skips what the controller of that finalizer has to finish first, such as a backup or a replication"
        }
    }
}

/// Returns the effect of removing one finalizer, for a refusal.
pub(super) fn effect_of(volume: &Volume, finalizer: &str) -> Effect {
    let mut after = volume.clone();
    super::remove_from(&mut after, finalizer);
    let kind = finalizer::kind(finalizer).unwrap_or(VolumeFinalizerKind::ThirdParty);
    let summary = RemovalSummary {
        removed: vec![Text::from(finalizer)],
        risks: vec![risk(kind)],
        ..RemovalSummary::of(volume, &after, &[])
    };
    summary.effect(volume)
}

/// Returns the effect of removing finalizers, for a refusal of the whole volume.
pub(super) fn effect_of_all() -> Effect {
    Effect {
        what: "removes the finalizers whose controller is absent".to_owned(),
        risk: "if their controllers were only away, the backend volume is leaked".to_owned(),
    }
}
