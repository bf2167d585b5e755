//! Advice for a controller that is running but does not finish: the cause is to be fixed, not the
//! volume.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, Defect};
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
