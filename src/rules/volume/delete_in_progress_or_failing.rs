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
    needs: facts::needs![controller: PersistentVolumeClaim, Node, VolumeAttachment, Secret, SubjectAccessReview],
    remedies: &[],
    title: "A volume is Terminating, and its finalizer remains until the backend volume is deleted",
    danger: "Every deletion looks like this for a moment, and a failing one for as long as it fails. Removing the \
             finalizer by hand leaks the backend volume: the object is deleted, the backend volume remains.",
    remedy: "None by the tool: its controller retries until the backend volume is deleted, and retries are safe. The \
             evidence shows the last error, attachments, and whether csi-provisioner may patch volumes. For information \
             only until it has been stuck for a while; then read the log of its controller, fix what it reports, and \
             restart it.",
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
    // What the guard refuses goes on being refused, however short it has been.
    let stuck = cx.older_than(&age, Threshold::Stuck) || facts::guard_refusal(cx, volume).is_some();
    let alive = state.liveness == Liveness::Alive;
    let failure = facts::last_event(cx, volume, &[facts::FAILED_DELETE]);
    let cause = stuck.then(|| facts::stuck_deletion(cx, volume, alive));
    let (severity, summary) = match &cause {
        Some(cause) => (
            Severity::High,
            format!(
                "Terminating; deletion is stuck: {}; removing the finalizer by hand can leak the backend volume",
                cause.brief
            ),
        ),
        None => (
            Severity::Info,
            "Terminating; its controller is deleting the backend volume".to_owned(),
        ),
    };
    let mut finding = RULE
        .on_volume(cx, volume, summary)
        .severe(severity)
        .aged(age)
        .shows("last VolumeFailedDelete", shown_last(&failure));
    finding = match cx.attachments_of(volume.name()) {
        Ok(attachments) => attachments.into_iter().fold(finding, |finding, it| {
            finding.shows("attached by", format!("{} on node {}", it.metadata.name, it.node))
        }),
        Err(unseen) => finding.shows("attached by", format!("not read: {}", unseen.reason)),
    };
    if let Some(driver) = facts::owner(volume).csi() {
        for claimed in facts::claimed_versions(cx, driver) {
            let patch = match facts::may_patch_volumes(cx, &claimed) {
                Ok(Some(true)) => "may patch volumes",
                Ok(Some(false)) => "may not patch volumes, and so not remove its finalizer",
                Ok(None) | Err(_) => "unknown whether it may patch volumes (RBAC)",
            };
            let shown = format!("{}, {patch}", claimed.image);
            finding = finding.shows_of(&claimed.object, "claimed version", shown);
        }
    }
    let next = match cause {
        Some(cause) => format!(
            "{}; {}; do not remove the finalizer; `kubectl storage fix-finalizers {} --dry-run` shows what blocks the deletion",
            cause.because,
            cause.helps,
            volume.object()
        ),
        None => "wait; do not remove the finalizer".to_owned(),
    };
    Ok(Some(finding.shows_controller(&state).report_only(next).unless_taken(cx, volume)))
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
