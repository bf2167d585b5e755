//! Advice for a controller that is running but does not finish: the cause is to be fixed, not the
//! volume.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, Defect, Obstacle, Owner};
use crate::model::{ClaimedVersion, ControllerState, Text, Volume};

/// Returns what blocks the deletion of a volume, and what helps; `None` where everything was read
/// and the cause is unknown.
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
    Ok(found.map(|it| format!("{}: {}", it.describe(), fix(cx, volume, &it))))
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

fn fix(cx: &Cx, volume: &Volume, obstacle: &Obstacle) -> String {
    let retain = |why: &str| {
        format!(
            "{why}: `kubectl storage retain {}` keeps the backend volume and lets the object go",
            volume.object()
        )
    };
    match obstacle {
        Obstacle::ProvisionerAbsent(_) => "reinstall the driver".to_owned(),
        Obstacle::Attached { attachment, .. } => format!(
            "have it detached first, see `kubectl storage fix-finalizers volumeattachment/{attachment}`"
        ),
        Obstacle::StaticIgnored => "upgrade csi-provisioner to 3.5 or later".to_owned(),
        Obstacle::NodeGone => retain("unless its node comes back, nobody deletes it"),
        Obstacle::PatchDenied { .. } => {
            "grant patch on persistentvolumes (get, list, watch, create, patch, delete)".to_owned()
        }
        Obstacle::EmptyPatch(object) => {
            let versions = match facts::owner(volume) {
                Owner::Csi(driver) => facts::claimed_versions(cx, &driver),
                Owner::External(_) | Owner::InTree(_) | Owner::StaticInTree(_) => Vec::new(),
            };
            let claimed = versions.into_iter().find(|it| it.object == *object);
            claimed.map_or_else(
                || "upgrade csi-provisioner to 5.0.2 or later".to_owned(),
                |it| format!("upgrade csi-provisioner from {} to 5.0.2 or later", version(&it)),
            )
        }
        Obstacle::AttemptFailed(_) => "repair what it says: it is tried again".to_owned(),
        Obstacle::PluginRemoved(_) => retain("it can never be deleted"),
    }
}

fn with(cx: &Cx, driver: &Text, defect: Defect) -> Option<ClaimedVersion> {
    facts::claimed_versions(cx, driver).into_iter().find(|it| facts::defect(it) == Some(defect))
}

fn version(claimed: &ClaimedVersion) -> String {
    claimed.version.as_ref().map_or_else(|| claimed.image.to_string(), ToString::to_string)
}

fn too_old(claimed: &ClaimedVersion) -> String {
    format!(
        "{} claims a version that knows no finalizer: upgrade csi-provisioner from {} to 5.0.2 or later",
        claimed.object,
        version(claimed)
    )
}

fn empty_patch(claimed: &ClaimedVersion) -> String {
    format!(
        "{} cannot remove its finalizer: upgrade csi-provisioner from {} to 5.0.2 or later",
        claimed.object,
        version(claimed)
    )
}

fn denied(namespace: &Text, account: &Text) -> String {
    format!(
        "ServiceAccount {namespace}/{account} may not patch persistentvolumes: grant patch on persistentvolumes (get, list, watch, create, patch, delete)"
    )
}

/// Advises what to do about a controller that is neither running nor proven absent.
pub(super) fn unknown(state: &ControllerState, driver: &str) -> String {
    match (&state.scaled_to_zero, state.runs_in.first(), state.all_negative) {
        (Some(workload), ..) => {
            format!(
                "{workload} has no replicas: scale it up, or delete it if the driver is gone for good"
            )
        }
        (None, Some(workload), _) => {
            format!(
                "{workload} runs it, or would: look why it is not at work, or delete it if the driver is gone for good"
            )
        }
        (None, None, true) => format!(
            "reinstall the driver, or, if it is gone for good, wait or say --driver-absent {driver}"
        ),
        (None, None, false) => "reinstall the driver, or remove what is left of it".to_owned(),
    }
}
