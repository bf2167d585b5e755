//! Finalizers of volumes: P-FIN-DEL of those whose controllers are absent, one at a time, by
//! position and name, and P-TOMBSTONE of a backend volume that would leak.
//!
//! [`table`] decides about one finalizer. The proposal for a volume is the sequence of these
//! decisions, in a fixed order, each for the volume as the step before leaves it.

mod explain;
mod finalizer;
mod table;

use std::fmt::Write as _;

use super::super::{Remedy, checks, placeholder};
use super::{ADD_PROTECTION, FinalizerDecision, FinalizerRequest};
use crate::cluster::{Cx, Seen};
use crate::facts::{self, EXTERNAL_PROVISIONER, FinalizerOwner, IN_TREE, Owner, PV_PROTECTION};
use crate::model::{
    Action, Effect, Guard, Kind, Loss, Phase, Proposal, ReclaimPolicy, Refusal, Text, Undo, Volume,
};
use finalizer::VolumeFinalizer;
use table::{LeakChoice, VolumeFinalizerKind, VolumePhase, VolumeStep, decide};

/// The writes of removals. No report proposes `--reclaim`, which rests on further kinds.
const WRITES: &[(&str, &str)] = &[("patch", "persistentvolumes"), ("create", "persistentvolumes")];

/// Removes the finalizer of csi-provisioner.
pub static EXTERNAL: Remedy = Remedy {
    id: "remove-external-finalizer",
    needs: facts::needs![controller: PersistentVolumeClaim, VolumeAttachment],
    writes: WRITES,
    command: |cx, volume| command(cx, volume, EXTERNAL_PROVISIONER),
    propose: |cx, volume| remove(cx, volume, EXTERNAL_PROVISIONER),
};

/// Removes the finalizer of kube-controller-manager's volume controller.
pub static IN_TREE_FINALIZER: Remedy = Remedy {
    id: "remove-in-tree-finalizer",
    needs: &[
        Kind::PersistentVolume,
        Kind::PersistentVolumeClaim,
        Kind::VolumeAttachment,
        Kind::Event,
    ],
    writes: WRITES,
    command: |cx, volume| command(cx, volume, IN_TREE),
    propose: |cx, volume| remove(cx, volume, IN_TREE),
};

/// Removes the finalizer of external-attacher.
pub static ATTACHER: Remedy = Remedy {
    id: "remove-attacher-finalizer",
    needs: facts::needs![controller: PersistentVolumeClaim, Node, VolumeAttachment],
    writes: WRITES,
    command: |cx, volume| command(cx, volume, of_attacher(volume)),
    propose: |cx, volume| remove(cx, volume, of_attacher(volume)),
};

/// Removes a third-party finalizer that the user names.
pub static THIRD_PARTY: Remedy = Remedy {
    id: "remove-foreign-finalizer",
    needs: &[Kind::PersistentVolume, Kind::PersistentVolumeClaim, Kind::VolumeAttachment],
    writes: WRITES,
    command: |cx, volume| command(cx, volume, &third_party(cx, volume)),
    propose: |cx, volume| remove(cx, volume, &third_party(cx, volume)),
};

fn of_attacher(volume: &Volume) -> &str {
    facts::set_by_attacher(&volume.metadata).map_or("external-attacher/", |it| &**it)
}

/// Returns the third-party finalizer that the user names, else the first one of the volume.
fn third_party(cx: &Cx, volume: &Volume) -> Text {
    let third_party = |it: &&Text| facts::owner_of(it) == FinalizerOwner::Unknown;
    let first = volume.metadata.finalizers.iter().find(third_party);
    let named = cx.settings().remove_finalizer.as_ref();
    named.or(first).map_or_else(|| "of others".into(), Text::clone)
}

/// Proposes or refuses to remove one finalizer of a volume that the user names.
fn remove(cx: &Cx, volume: &Volume, finalizer: &str) -> Seen<Result<Proposal, Refusal>> {
    let request = FinalizerRequest::named();
    let refuse = |reason| Ok(Err(Refusal { reason, effect: effect_of(volume, finalizer) }));
    if !volume.metadata.has_finalizer(finalizer) {
        return refuse(format!("it has no finalizer {finalizer}"));
    }
    if let Err(reason) = checks::not_exempt(cx, &volume.metadata) {
        return refuse(reason);
    }
    let Some(kind) = finalizer::kind(finalizer) else {
        return refuse(explain::of_other_controllers(finalizer));
    };
    match judge(cx, volume, finalizer, kind, &request)? {
        FinalizerDecision::Do(removal) => {
            let mut after = volume.clone();
            remove_from(&mut after, finalizer);
            conclude(cx, volume, &after, vec![removal], &request)
        }
        FinalizerDecision::Leave(reason) => refuse(reason),
    }
}

/// Decides about one finalizer of a volume, and returns its removal or why it is left.
fn judge(
    cx: &Cx,
    volume: &Volume,
    finalizer: &str,
    kind: VolumeFinalizerKind,
    request: &FinalizerRequest,
) -> Seen<FinalizerDecision<FinalizerRemoval, String>> {
    let case = VolumeFinalizer::of(cx, volume, finalizer, kind, request);
    match decide(&case.inputs) {
        Ok(FinalizerDecision::Do(step)) => {
            Ok(FinalizerDecision::Do(FinalizerRemoval::of(cx, &case, step)))
        }
        Ok(FinalizerDecision::Leave(why)) => {
            Ok(FinalizerDecision::Leave(finalizer::reason(cx, &case, why)))
        }
        Err(unread) => match case.gap(unread) {
            Some(unseen) => Err(unseen.clone()),
            None => {
                Ok(FinalizerDecision::Leave("what this decision needs was not read".to_owned()))
            }
        },
    }
}

/// Returns the command that removes a finalizer, with the danger flags on which the removal relies.
fn command(cx: &Cx, volume: &Volume, finalizer: &str) -> Option<String> {
    let proposal = remove(cx, volume, finalizer).ok()?.ok()?;
    let mut command = format!("fix-finalizers {}", volume.object());
    let driver = driver_of(volume, finalizer);
    super::add_flags(cx, &mut command, &proposal.relies_on, driver.as_ref());
    Some(command)
}

/// Returns the driver whose sidecar should remove a finalizer.
fn driver_of(volume: &Volume, finalizer: &str) -> Option<Text> {
    if finalizer == EXTERNAL_PROVISIONER {
        return facts::owner(volume).csi().cloned();
    }
    facts::attacher_with(volume, finalizer)
}

/// Proposes all steps for one volume, or explains for each of its finalizers why it is left.
///
/// # Errors
/// When an object was not read on which the decision rests.
pub fn fix(
    cx: &Cx,
    volume: &Volume,
    request: &FinalizerRequest,
) -> Seen<Result<Proposal, Refusal>> {
    let refuse = |reason| Ok(Err(Refusal { reason, effect: effect_of_all() }));
    if let Err(reason) = checks::not_exempt(cx, &volume.metadata) {
        return refuse(reason);
    }
    if let Some(named) = &cx.settings().remove_finalizer
        && finalizer::kind(named) != Some(VolumeFinalizerKind::ThirdParty)
    {
        return refuse(format!(
            "{named} is a finalizer of Kubernetes, which --remove-finalizer does not remove; omit that flag"
        ));
    }
    let (mut after, mut removals, mut unseen) = (volume.clone(), Vec::new(), None);
    for (kind, finalizer) in in_order(cx, volume) {
        // Without the finalizer that the user names, nothing is removed.
        let is_named = kind == VolumeFinalizerKind::ThirdParty;
        match judge(cx, &after, &finalizer, kind, request) {
            Ok(FinalizerDecision::Do(removal)) => {
                removals.push(removal);
                remove_from(&mut after, &finalizer);
            }
            Ok(FinalizerDecision::Leave(reason)) if is_named => {
                return refuse(format!("{finalizer}: {reason}"));
            }
            Ok(FinalizerDecision::Leave(_)) => {}
            Err(missed) if is_named => return Err(missed),
            Err(missed) => unseen = unseen.or(Some(missed)),
        }
    }
    if !removals.is_empty() {
        return conclude(cx, volume, &after, removals, request);
    }
    if let Some(unseen) = unseen {
        // What is known already helps, whether or not the controller is running.
        let Some(fault) = explain::known_fault(cx, volume) else { return Err(unseen) };
        return refuse(format!("not everything was read: {}; {fault}", unseen.reason));
    }
    let unprotected =
        volume.metadata.deleting.is_none() && !volume.metadata.has_finalizer(PV_PROTECTION);
    if unprotected && request.named && cx.settings().remove_finalizer.is_none() {
        return (ADD_PROTECTION.propose)(cx, volume);
    }
    refuse(explain::why_all_are_left(cx, volume, request))
}

/// Returns the finalizers about which the table decides, in the order in which they are removed:
/// first the stale one of the two that protect backend volumes, then the deletion-protection
/// finalizer, those of external-attachers, and the third-party one that the user names.
fn in_order(cx: &Cx, volume: &Volume) -> Vec<(VolumeFinalizerKind, Text)> {
    let named = cx.settings().remove_finalizer.as_deref();
    let stale_first = match facts::owner(volume) {
        Owner::InTree(_) => [VolumeFinalizerKind::External, VolumeFinalizerKind::InTree],
        Owner::Csi(_) | Owner::External(_) | Owner::StaticInTree(_) => {
            [VolumeFinalizerKind::InTree, VolumeFinalizerKind::External]
        }
    };
    let place = |kind: VolumeFinalizerKind| match kind {
        VolumeFinalizerKind::External | VolumeFinalizerKind::InTree => {
            usize::from(kind != stale_first[0])
        }
        VolumeFinalizerKind::Attacher => 2,
        VolumeFinalizerKind::ThirdParty => 3,
    };
    let mut all: Vec<_> = volume
        .metadata
        .finalizers
        .iter()
        .filter_map(|it| Some((finalizer::kind(it)?, Text::clone(it))))
        .filter(|(kind, it)| *kind != VolumeFinalizerKind::ThirdParty || named == Some(&**it))
        .collect();
    // The order of the finalizers on the object does not change the plan.
    all.sort_by(|(a, name), (b, other)| (place(*a), name).cmp(&(place(*b), other)));
    all
}

/// Removes one finalizer from a volume.
fn remove_from(volume: &mut Volume, finalizer: &str) {
    let mut left = volume.metadata.finalizers.to_vec();
    if let Some(at) = left.iter().position(|it| **it == *finalizer) {
        left.remove(at);
    }
    volume.metadata.finalizers = left.into();
}

/// Whether the reclaim policy keeps the backend volume.
const fn is_kept(volume: &Volume) -> bool {
    match volume.reclaim_policy {
        ReclaimPolicy::Retain | ReclaimPolicy::Recycle => true,
        ReclaimPolicy::Delete | ReclaimPolicy::Other(_) => false,
    }
}

/// The removal of one finalizer.
struct FinalizerRemoval {
    kind: VolumeFinalizerKind,
    step: VolumeStep,
    finalizer: Text,
    action: Action,
    relies_on: Vec<&'static str>,
}

impl FinalizerRemoval {
    fn of(cx: &Cx, case: &VolumeFinalizer, step: VolumeStep) -> Self {
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

/// Whether no controller deletes the backend volume of a Terminating volume although its policy is Delete.
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
fn conclude(
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
        loses: Loss::default(),
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
            "{PV_PROTECTION} still blocks its deletion; check that kube-controller-manager runs, which removes it from every volume that is not bound"
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
                "removes {removed}, the last finalizer of another controller: the object is deleted"
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

    /// Returns how the removals are undone: finalizers cannot be added again, so at most the object is recreated.
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
fn effect_of(volume: &Volume, finalizer: &str) -> Effect {
    let mut after = volume.clone();
    remove_from(&mut after, finalizer);
    let kind = finalizer::kind(finalizer).unwrap_or(VolumeFinalizerKind::ThirdParty);
    let summary = RemovalSummary {
        removed: vec![Text::from(finalizer)],
        risks: vec![risk(kind)],
        ..RemovalSummary::of(volume, &after, &[])
    };
    summary.effect(volume)
}

/// Returns the effect of removing finalizers, for a refusal of the whole volume.
fn effect_of_all() -> Effect {
    Effect {
        what: "removes the finalizers whose controller is absent".to_owned(),
        risk: "if their controllers were only away, the backend volume is leaked".to_owned(),
    }
}

#[cfg(test)]
mod tests;
