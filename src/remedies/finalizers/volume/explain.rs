//! Explanations why each finalizer of a volume is left: the controller that should remove it, its state, and advice.

use super::super::{FinalizerDecision, FinalizerRequest};
use super::{
    finalizer::{self, VolumeFinalizer},
    table::{Lifecycle, VolumeFinalizerKind, VolumePhase, VolumePolicy, VolumeReason, decide},
};
use crate::cluster::{Cx, Seen};
use crate::facts::{
    self, DataEffect, Defect, EXTERNAL_PROVISIONER, FinalizerOwner, IN_TREE, PV_PROTECTION,
};
use crate::model::{
    Age, Attachment, ClaimedVersion, ControllerState, Phase, Text, Threshold, Volume,
};

/// Number of finalizers that a reason names at most.
const NAMED: usize = 5;

/// Explains why nothing is done to a volume.
pub(super) fn why_all_are_left(cx: &Cx, volume: &Volume, request: &FinalizerRequest) -> String {
    let mut said = Vec::new();
    if let Some(name) = &cx.settings().remove_finalizer
        && !volume.metadata.has_finalizer(name)
    {
        said.push(format!("it has no finalizer {name}"));
    }
    if is_deadlocked(volume) {
        said.push(format!(
            "kube-controller-manager must add {IN_TREE} first, which the API server forbids on a Terminating object; `kubectl storage retain {}` unblocks the deletion and keeps the backend volume",
            volume.object()
        ));
    }
    said.extend(leak(cx, volume));
    let mut third_party = Vec::new();
    for finalizer in volume.metadata.finalizers.iter() {
        match finalizer::kind(finalizer) {
            Some(VolumeFinalizerKind::ThirdParty) => third_party.push(&**finalizer),
            Some(
                kind @ (VolumeFinalizerKind::External
                | VolumeFinalizerKind::InTree
                | VolumeFinalizerKind::Attacher),
            ) => {
                said.push(format!("{finalizer}: {}", left(cx, volume, finalizer, kind, request)));
            }
            None if **finalizer == *PV_PROTECTION => {
                said.push(format!("{finalizer}: {}", protection(cx, volume)));
            }
            None => said.push(format!("{finalizer}: {}", of_other_controllers(finalizer))),
        }
    }
    said.extend(of_third_parties(volume, &third_party));
    let unprotected =
        volume.metadata.deleting.is_none() && !volume.metadata.has_finalizer(PV_PROTECTION);
    if unprotected {
        said.push(format!("{PV_PROTECTION} is missing; it is added if the volume is named"));
    }
    if said.is_empty() { "it has no finalizer".to_owned() } else { said.join("; ") }
}

/// Returns the known defect of a csi-provisioner whose finalizer a volume carries.
pub(super) fn known_fault(cx: &Cx, volume: &Volume) -> Option<String> {
    let driver = facts::owner(volume).csi().cloned()?;
    let held = volume.metadata.has_finalizer(EXTERNAL_PROVISIONER);
    held.then(|| fault(cx, &driver).ok().flatten()).flatten()
}

/// F20: describes the deletion of the claim where no controller would reclaim the volume then. Without this, the
/// reasons read as if only the claim were in the way.
fn leak(cx: &Cx, volume: &Volume) -> Option<String> {
    let imminent = volume.phase == Phase::Bound
        && volume.metadata.deleting.is_some()
        && facts::when_claim_is_deleted(cx, volume).data == DataEffect::Leaked;
    imminent.then(|| {
        let backend = volume.backend.as_ref().map(|it| format!(" {it}")).unwrap_or_default();
        format!(
            "deleting its claim leaks the backend volume{backend}, since the volume is Terminating without a deletion-protection finalizer; write down the volume handle and copy the data before the claim is deleted; `kubectl storage retain {}` makes explicit that the backend volume remains",
            volume.object()
        )
    })
}

/// F35: whether a volume is Terminating without the finalizer that kube-controller-manager needs to handle it.
fn is_deadlocked(volume: &Volume) -> bool {
    volume.metadata.deleting.is_some()
        && facts::expects_in_tree_finalizer(volume)
        && !volume.metadata.has_finalizer(IN_TREE)
}

/// Names third-party finalizers, each with the field manager that set it.
fn of_third_parties(volume: &Volume, third_party: &[&str]) -> Option<String> {
    let first = third_party.first()?;
    let set_by = |it: &&str| match &facts::managers_of(&volume.metadata, it)[..] {
        [] => (*it).to_owned(),
        managers => format!("{it} (set by {})", managers.join(", ")),
    };
    let all: Vec<_> = third_party.iter().map(set_by).collect();
    let needs = match volume.metadata.deleting {
        Some(_) => {
            format!(
                ", and may have to finish something first; skipping that requires --remove-finalizer {first}"
            )
        }
        None => String::new(),
    };
    Some(format!(
        "{}: third-party finalizer; the controller that set it should remove it{needs}",
        all.join(", ")
    ))
}

/// Explains why a finalizer about which the table decides is left.
fn left(
    cx: &Cx,
    volume: &Volume,
    finalizer: &str,
    kind: VolumeFinalizerKind,
    request: &FinalizerRequest,
) -> String {
    let case = VolumeFinalizer::of(cx, volume, finalizer, kind, request);
    match decide(&case.inputs) {
        Ok(FinalizerDecision::Leave(why)) => {
            let said = finalizer::reason(cx, &case, why);
            helped(cx, &case, why, &said).unwrap_or(said)
        }
        // Steps are proposed and gaps are reported before.
        Ok(FinalizerDecision::Do(_)) | Err(_) => "not decided".to_owned(),
    }
}

/// Adds advice to a reason, where there is any.
fn helped(cx: &Cx, case: &VolumeFinalizer, why: VolumeReason, said: &str) -> Option<String> {
    let it = &case.inputs;
    let to_be_deleted = it.lifecycle == Lifecycle::Terminating
        && it.policy == VolumePolicy::Delete
        && matches!(it.phase, VolumePhase::Released | VolumePhase::Failed);
    match (why, it.kind, to_be_deleted) {
        (VolumeReason::ControllerAlive, VolumeFinalizerKind::External, true) => {
            Some(still_deleting(cx, case))
        }
        (
            VolumeReason::ManagerHonors | VolumeReason::DeletionMayGoOn,
            VolumeFinalizerKind::InTree,
            true,
        ) => {
            let found = in_words(obstacle(cx, case.volume));
            Some(format!("{} may still be deleting the backend volume; {found}", case.who))
        }
        (VolumeReason::ControllerAlive, VolumeFinalizerKind::External, false) => {
            if finalizer::waits_for_claim(case) {
                return None;
            }
            let fault = case.driver.as_ref().map(|driver| fault(cx, driver));
            let Some(Ok(Some(fault))) = fault else { return None };
            Some(format!("{} is running and should remove it; {fault}", case.who))
        }
        (VolumeReason::ControllerUnknown, ..) => {
            let (state, driver) = (case.state.as_ref()?, case.driver.as_ref()?);
            let fault = fault(cx, driver).ok().flatten();
            let fault = fault.map(|fault| format!("; {fault}")).unwrap_or_default();
            Some(format!("{said}; {}{fault}", unknown(state, driver)))
        }
        (VolumeReason::InUse, ..) => Some(match first_attachment(cx, case.volume) {
            Some(attachment) => format!("{said}; {}", facts::how_to_detach(cx, attachment)),
            None => said.to_owned(),
        }),
        (
            VolumeReason::ControllerAlive
            | VolumeReason::ManagerHonors
            | VolumeReason::DeletionMayGoOn,
            VolumeFinalizerKind::External
            | VolumeFinalizerKind::InTree
            | VolumeFinalizerKind::Attacher
            | VolumeFinalizerKind::ThirdParty,
            _,
        )
        | (
            VolumeReason::ReclaimingControllerUnknown
            | VolumeReason::ControllerNameless
            | VolumeReason::ManagerUnversioned
            | VolumeReason::NeedsRolledBack
            | VolumeReason::SlowDeletionLooksTheSame
            | VolumeReason::NeedsObjectName
            | VolumeReason::NeedsFinalizerName
            | VolumeReason::TooSoon
            | VolumeReason::AttacherWaitsForDeletion
            | VolumeReason::NotTerminating
            | VolumeReason::ReinstallDriver
            | VolumeReason::Bound
            | VolumeReason::BoundUnprotected
            | VolumeReason::LastDeletionProtection
            | VolumeReason::NothingElseProtects
            | VolumeReason::NeedsLeakChoice
            | VolumeReason::NeedsAcceptLeak
            | VolumeReason::NeverReleased
            | VolumeReason::PolicyUnknown,
            ..,
        ) => None,
    }
}

/// F25: explains that csi-provisioner is running and may still delete the backend volume.
fn still_deleting(cx: &Cx, case: &VolumeFinalizer) -> String {
    let who = &case.who;
    if case.inputs.phase == VolumePhase::Failed {
        // External provisioners do not retry such a volume (R-2644-19).
        return format!(
            "{who} ignores volumes whose phase is Failed; `kubectl storage retain {}` keeps the backend volume and lets the object go",
            case.volume.object()
        );
    }
    let found = in_words(obstacle(cx, case.volume));
    let stuck = cx.older_than(&Age::stamped(case.volume.metadata.deleting), Threshold::Stuck);
    match stuck {
        true => {
            format!("{who} has not deleted the backend volume; {found}; {}", facts::ALIVE_AND_STUCK)
        }
        false => format!("{who} is running and still deleting the backend volume; {found}"),
    }
}

fn in_words(found: Seen<Option<String>>) -> String {
    match found {
        Ok(Some(found)) => found,
        Ok(None) => "no obstacle found".to_owned(),
        Err(unseen) => format!("obstacles unknown: {}", unseen.reason),
    }
}

fn first_attachment<'a>(cx: &Cx<'a>, volume: &Volume) -> Option<&'a Attachment> {
    cx.attachments_of(volume.name()).ok()?.first().copied()
}

/// Explains why kubernetes.io/pv-protection is left.
fn protection(cx: &Cx, volume: &Volume) -> String {
    let state = || facts::controller_manager(cx).describe();
    match (volume.metadata.deleting, &volume.phase) {
        (None, _) => "kube-controller-manager removes it when the volume is deleted".to_owned(),
        (Some(_), Phase::Bound) => {
            "kube-controller-manager removes it after the claim is deleted".to_owned()
        }
        (
            Some(_),
            Phase::Pending | Phase::Available | Phase::Released | Phase::Failed | Phase::Other(_),
        ) => format!("kube-controller-manager removes it; {}", state()),
    }
}

/// Names the controller that removes a finalizer of Kubernetes that this tool does not remove.
pub(super) fn of_other_controllers(finalizer: &str) -> String {
    match facts::owner_of(finalizer) {
        FinalizerOwner::GarbageCollector => {
            "Kubernetes' own garbage collector set it and removes it"
        }
        FinalizerOwner::Cloning => "csi-provisioner removes it after the clone is made",
        FinalizerOwner::Snapshotter => "the snapshot controllers remove it",
        FinalizerOwner::ControllerManager => "kube-controller-manager removes it",
        FinalizerOwner::Provisioner | FinalizerOwner::Attacher(_) | FinalizerOwner::Unknown => {
            "the controller that set it removes it"
        }
    }
    .to_owned()
}

/// Lists the first names, and the number of others.
pub(super) fn listed(names: &[&str]) -> String {
    let some = names.get(..NAMED).unwrap_or(names).join(", ");
    if names.len() > NAMED { format!("{some} and {} others", names.len() - NAMED) } else { some }
}

/// Returns what blocks the deletion of a volume, with advice; `None` where everything was read and the cause is
/// unknown.
///
/// # Errors
/// When the cause is unknown, and an object that may explain it was not read.
pub(super) fn obstacle(cx: &Cx, volume: &Volume) -> Seen<Option<String>> {
    if let Some(driver) = facts::owner(volume).csi()
        && let Some(old) = with(cx, driver, Defect::TooOld)
    {
        return Ok(Some(too_old(&old)));
    }
    let found = facts::obstacle(cx, volume)?;
    Ok(found.map(|it| format!("{}; {}", it.describe(), it.remedy(cx, volume))))
}

/// Returns why a running csi-provisioner does not remove its finalizer from a volume that it does
/// not delete.
///
/// # Errors
/// When an object that may explain it was not read.
pub(super) fn fault(cx: &Cx, driver: &Text) -> Seen<Option<String>> {
    for claimed in facts::claimed_versions(cx, driver) {
        match facts::defect(&claimed) {
            Some(Defect::TooOld) => return Ok(Some(too_old(&claimed))),
            Some(Defect::EmptyPatch) => return Ok(Some(empty_patch(&claimed))),
            Some(Defect::Unprotected) | None => {}
        }
        if facts::may_patch_volumes(cx, &claimed)? == Some(false)
            && let Some((namespace, account)) = &claimed.service_account
        {
            return Ok(Some(denied(namespace, account)));
        }
    }
    Ok(None)
}

fn with(cx: &Cx, driver: &Text, defect: Defect) -> Option<ClaimedVersion> {
    facts::claimed_versions(cx, driver).into_iter().find(|it| facts::defect(it) == Some(defect))
}

fn version(claimed: &ClaimedVersion) -> String {
    claimed.version.as_ref().map_or_else(|| claimed.image.to_string(), ToString::to_string)
}

fn too_old(claimed: &ClaimedVersion) -> String {
    format!(
        "{} runs a csi-provisioner (image tag) that knows no deletion-protection finalizer; upgrade csi-provisioner from {} to 5.0.2 or later",
        claimed.object,
        version(claimed)
    )
}

fn empty_patch(claimed: &ClaimedVersion) -> String {
    format!(
        "{} runs a csi-provisioner (image tag) that cannot remove its finalizer; upgrade csi-provisioner from {} to 5.0.2 or later",
        claimed.object,
        version(claimed)
    )
}

fn denied(namespace: &Text, account: &Text) -> String {
    format!(
        "ServiceAccount {namespace}/{account} may not patch persistentvolumes; add this verb to its ClusterRole (get, list, watch, create, patch, delete)"
    )
}

/// Advises what to do about a controller that is neither running nor proven absent.
pub(super) fn unknown(state: &ControllerState, driver: &str) -> String {
    match (&state.scaled_to_zero, state.runs_in.first(), state.all_negative) {
        (Some(workload), ..) => {
            format!(
                "{workload} has no replicas; scale it up, or delete it if the driver is permanently removed"
            )
        }
        (None, Some(workload), _) => {
            format!(
                "{workload} should run it; find out why it does not, or delete the workload if the driver is permanently removed"
            )
        }
        (None, None, true) => format!(
            "reinstall the driver; if it is permanently removed, wait, or assert that with --driver-absent {driver}"
        ),
        (None, None, false) => "reinstall the driver, or delete what remains of it".to_owned(),
    }
}
