//! Of every finalizer that is left: who should remove it, what is known of them, and what would help.

use super::super::Asked;
use super::situation::{self, Case};
use super::table::{Decision, Life, Policy, Stage, Which, Why, decide};
use super::{advice, reason};
use crate::cluster::{Cx, Seen};
use crate::facts::{self, FinalizerOwner, IN_TREE, PV_PROTECTION};
use crate::model::{Phase, Volume};

/// How many of many finalizers a reason names.
const NAMED: usize = 5;

/// Why nothing at all is done to a volume.
pub(super) fn why_all_are_left(cx: &Cx, volume: &Volume, asked: &Asked) -> String {
    let mut said = Vec::new();
    if let Some(name) = &cx.settings().remove_finalizer
        && !volume.metadata.has_finalizer(name)
    {
        said.push(format!("it has no finalizer {name}"));
    }
    if is_deadlocked(volume) {
        said.push(format!(
            "kube-controller-manager wants to add {IN_TREE} first, which nobody can add to a terminating object: `kubectl storage retain {}` frees it, and keeps the backend volume",
            volume.object()
        ));
    }
    let mut foreign = Vec::new();
    for finalizer in volume.metadata.finalizers.iter() {
        match situation::which(finalizer) {
            Some(Which::Foreign) => foreign.push(&**finalizer),
            Some(which @ (Which::External | Which::InTree | Which::Attacher)) => {
                said.push(format!("{finalizer}: {}", left(cx, volume, finalizer, which, asked)));
            }
            None if **finalizer == *PV_PROTECTION => {
                said.push(format!("{finalizer}: {}", protection(cx, volume)));
            }
            None => said.push(format!("{finalizer}: {}", of_others_in_kubernetes(finalizer))),
        }
    }
    said.extend(of_others(volume, &foreign));
    let unprotected =
        volume.metadata.deleting.is_none() && !volume.metadata.has_finalizer(PV_PROTECTION);
    if unprotected {
        said.push(format!("{PV_PROTECTION} is missing: it is added where the volume is named"));
    }
    if said.is_empty() { "it has no finalizer".to_owned() } else { said.join("; ") }
}

/// F35: the controller manager gets stuck on a volume that is being deleted without its finalizer.
fn is_deadlocked(volume: &Volume) -> bool {
    volume.metadata.deleting.is_some()
        && facts::expects_in_tree_finalizer(volume)
        && !volume.metadata.has_finalizer(IN_TREE)
}

/// Finalizers that are not Kubernetes' own, each with who set it.
fn of_others(volume: &Volume, foreign: &[&str]) -> Option<String> {
    let first = foreign.first()?;
    let set_by = |it: &&str| match &facts::managers_of(&volume.metadata, it)[..] {
        [] => (*it).to_owned(),
        managers => format!("{it} (set by {})", managers.join(", ")),
    };
    let all: Vec<_> = foreign.iter().map(set_by).collect();
    let needs = match volume.metadata.deleting {
        Some(_) => {
            format!(
                ", and may have something to finish first: skipping that needs --remove-finalizer {first}"
            )
        }
        None => String::new(),
    };
    Some(format!("{}: not Kubernetes' own: whoever set it should remove it{needs}", all.join(", ")))
}

/// One finalizer about which the table decides.
fn left(cx: &Cx, volume: &Volume, finalizer: &str, which: Which, asked: &Asked) -> String {
    let case = Case::of(cx, volume, finalizer, which, asked);
    match decide(&case.situation) {
        Decision::Refuse(why) => {
            let said = reason::reason(cx, &case, why);
            helped(cx, &case, why, &said).unwrap_or(said)
        }
        // Neither comes here: what is done is proposed, and what is unseen is said first.
        Decision::Do(_) | Decision::Unseen(_) => "it was not decided about".to_owned(),
    }
}

/// The reason with what would help, where something does.
fn helped(cx: &Cx, case: &Case, why: Why, said: &str) -> Option<String> {
    let it = &case.situation;
    let to_be_deleted = it.life == Life::Terminating
        && it.policy == Policy::Delete
        && matches!(it.stage, Stage::Released | Stage::Failed);
    match (why, it.which, to_be_deleted) {
        (Why::RemoverAlive, Which::External, true) => Some(still_deleting(cx, case)),
        (Why::ManagerHonors | Why::DeletionMayGoOn, Which::InTree, true) => {
            let found = in_words(advice::obstacle(cx, case.volume));
            Some(format!("{} may still be deleting it: {found}: leave it", case.who))
        }
        (Why::RemoverAlive, Which::External, false) => {
            let fault = case.driver.as_ref().map(|driver| advice::fault(cx, driver));
            let Some(Ok(Some(fault))) = fault else { return None };
            Some(format!("{} is alive, and should remove it itself: {fault}", case.who))
        }
        (Why::RemoverUnknown, ..) => {
            let (state, driver) = (case.state.as_ref()?, case.driver.as_ref()?);
            Some(format!("{said}: {}", advice::unknown(state, driver)))
        }
        (Why::Used, ..) => Some(match facts_of_attachment(cx, case.volume) {
            Some(name) => format!(
                "{said}: fix the attachment first, see `kubectl storage fix-finalizers volumeattachment/{name}`"
            ),
            None => said.to_owned(),
        }),
        (
            Why::RemoverAlive | Why::ManagerHonors | Why::DeletionMayGoOn,
            Which::External | Which::InTree | Which::Attacher | Which::Foreign,
            _,
        )
        | (
            Why::ReclaimerUnknown
            | Why::RemoverNameless
            | Why::ManagerUnversioned
            | Why::NeedsRolledBack
            | Why::SlowDeletionLooksTheSame
            | Why::OnlyWhenNamed
            | Why::NotByName
            | Why::TooSoon
            | Why::AttacherKeepsItWhileLive
            | Why::HoldsUpNothing
            | Why::ReinstallDriver
            | Why::Bound
            | Why::BoundUnprotected
            | Why::LastGuard
            | Why::NothingElseProtects
            | Why::NeedsWord
            | Why::NeedsAcceptLeak
            | Why::NeverReleased
            | Why::PolicyUnknown,
            ..,
        ) => None,
    }
}

/// F25: hands off.
fn still_deleting(cx: &Cx, case: &Case) -> String {
    let who = &case.who;
    if case.situation.stage == Stage::Failed {
        // External provisioners never look at such a volume again (R-2644-19).
        return format!(
            "{who} is alive, but tries no volume again whose phase is Failed: `kubectl storage retain {}` keeps the backend volume and lets the object go",
            case.volume.object()
        );
    }
    let found = in_words(advice::obstacle(cx, case.volume));
    format!("{who} is alive and still deleting: {found}: leave it")
}

fn in_words(found: Seen<Option<String>>) -> String {
    match found {
        Ok(Some(found)) => found,
        Ok(None) => "nothing was seen that is in its way".to_owned(),
        Err(unseen) => format!("what may be in its way was not seen: {}", unseen.reason),
    }
}

fn facts_of_attachment(cx: &Cx, volume: &Volume) -> Option<Box<str>> {
    let attachments = cx.attachments_of(volume.name()).ok()?;
    attachments.first().map(|it| it.metadata.name.clone())
}

/// The finalizer that every volume has.
fn protection(cx: &Cx, volume: &Volume) -> String {
    let state = || facts::controller_manager(cx).describe();
    match (volume.metadata.deleting, &volume.phase) {
        (None, _) => "kube-controller-manager removes it when the volume is deleted".to_owned(),
        (Some(_), Phase::Bound) => {
            "kube-controller-manager removes it once the volume is not bound any more".to_owned()
        }
        (
            Some(_),
            Phase::Pending | Phase::Available | Phase::Released | Phase::Failed | Phase::Other(_),
        ) => format!("kube-controller-manager removes it by itself, and is {}", state()),
    }
}

/// Those of Kubernetes' own finalizers that are never removed from a volume.
pub(super) fn of_others_in_kubernetes(finalizer: &str) -> String {
    match facts::owner_of(finalizer) {
        FinalizerOwner::GarbageCollector => "the garbage collector removes it",
        FinalizerOwner::Cloning => "csi-provisioner removes it once the copy is made",
        FinalizerOwner::Snapshotter => "the snapshot controllers remove it",
        FinalizerOwner::ControllerManager => "kube-controller-manager removes it",
        FinalizerOwner::Provisioner | FinalizerOwner::Attacher(_) | FinalizerOwner::Unknown => {
            "whoever set it removes it"
        }
    }
    .to_owned()
}

/// Some of many names.
pub(super) fn listed(names: &[&str]) -> String {
    let some = names.get(..NAMED).unwrap_or(names).join(", ");
    if names.len() > NAMED { format!("{some} and {} others", names.len() - NAMED) } else { some }
}
