//! F25: the deletion of a volume is in progress or fails: report-only.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, EXTERNAL_PROVISIONER, IN_TREE, Owner};
use crate::model::{
    Age, ControllerState, Finding, Liveness, Phase, ReclaimPolicy, Severity, Threshold, Volume,
};
use crate::rules::{CapacityRisk, Judge, Rule, finding::shown_last};

pub(super) static RULE: Rule = Rule {
    id: "pv-delete-in-progress-or-failing",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![controller: VolumeAttachment, SubjectAccessReview],
    remedies: &[],
    title: "A volume is being deleted, and its finalizer waits for the disk to be deleted first",
    danger: "This is what every deletion looks like for a moment, and a failing one for as long as it fails. \
             Removing the finalizer now is how most disks are leaked: the object goes, the disk stays.",
    remedy: "None by the tool: its controller tries again until the disk is gone, and trying again is always safe. \
             The evidence shows the last error, what still has the volume attached, and whether the provisioner \
             may finish what it began. For information only, until it has been stuck for a while: then read the log \
             of its controller, fix what it reports, and restart it.",
    source: "sig-storage-lib-external-provisioner controller.go, deleteVolumeOperation",
    judge: &[Judge::Volume(judge)],
};

fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let deleting = volume.metadata.deleting.is_some()
        && volume.phase == Phase::Released
        && volume.reclaim_policy == ReclaimPolicy::Delete;
    if !deleting {
        return Ok(None);
    }
    let Some(state) = deleting_controller(cx, volume)? else { return Ok(None) };
    let age = Age::stamped(volume.metadata.deleting);
    let stuck = cx.older_than(&age, Threshold::Stuck);
    let alive = state.liveness == Liveness::Alive;
    let (severity, summary) = if stuck && alive {
        (
            Severity::High,
            "its controller is running, but its deletion is stuck: removing the finalizer by hand can leak the backend volume",
        )
    } else if stuck {
        (
            Severity::High,
            "its deletion makes no progress: removing the finalizer by hand would leak the disk",
        )
    } else {
        (Severity::Info, "its disk is being deleted: leave the finalizer alone")
    };
    let failure = facts::last_event(cx, volume, &[facts::FAILED_DELETE]);
    let summary = match &failure {
        Ok(Some(series)) => format!("{summary} (last error: {})", series.brief()),
        Ok(None) | Err(_) => summary.to_owned(),
    };
    let mut finding = RULE.on_volume(cx, volume, summary).severe(severity).aged(age);
    let failure = shown_last(&failure);
    let error = failure.clone();
    finding = finding.shows("last VolumeFailedDelete", failure);
    finding = match cx.attachments_of(volume.name()) {
        Ok(attachments) => attachments.into_iter().fold(finding, |finding, it| {
            finding.shows("attached by", format!("{} on node {}", it.metadata.name, it.node))
        }),
        Err(unseen) => finding.shows("attached by", unseen.reason),
    };
    if let Some(driver) = facts::owner(volume).csi() {
        for claimed in facts::claimed_versions(cx, driver) {
            let patch = match facts::may_patch_volumes(cx, &claimed) {
                Ok(Some(true)) => "may patch volumes",
                Ok(Some(false)) => "may not patch volumes: it cannot remove its finalizer",
                Ok(None) | Err(_) => "whether it may patch volumes is not known",
            };
            let shown = format!("{}, {patch}", claimed.image);
            finding = finding.shows_of(&claimed.object, "claimed version", shown);
        }
    }
    let shown =
        format!("`kubectl storage fix-finalizers {}` shows what it waits for", volume.object());
    let next = match (alive, stuck) {
        (true, true) => format!("{}; its last error: {error}", facts::ALIVE_AND_STUCK),
        (true, false) => "its controller goes on by itself".to_owned(),
        (false, _) => {
            "see that its controller runs, which is unknown: then it tries again".to_owned()
        }
    };
    let next = format!("{next}; do not remove the finalizer; {shown}");
    Ok(Some(finding.shows_controller(&state).report_only(next)))
}

/// Returns the state of the controller whose finalizer blocks the deletion of the volume until the
/// backend volume is deleted; `None` if that controller is absent, seems rolled back, or can no
/// longer delete such volumes.
fn deleting_controller(cx: &Cx, volume: &Volume) -> Seen<Option<ControllerState>> {
    let state = match facts::owner(volume) {
        Owner::Csi(driver) if volume.metadata.has_finalizer(EXTERNAL_PROVISIONER) => {
            facts::provisioner(cx, &driver)
        }
        Owner::InTree(plugin) if volume.metadata.has_finalizer(IN_TREE) => {
            let able = facts::known_deletable(&plugin, cx.server()) != Some(false);
            if !able || facts::looks_rolled_back(cx, volume)? {
                return Ok(None);
            }
            facts::controller_manager(cx)
        }
        Owner::Csi(_) | Owner::External(_) | Owner::InTree(_) | Owner::StaticInTree(_) => {
            return Ok(None);
        }
    };
    Ok((state.liveness != Liveness::Absent).then_some(state))
}
