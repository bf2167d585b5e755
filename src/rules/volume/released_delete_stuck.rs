//! F05: a Released volume with policy Delete is not reclaimed.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, FAILED_DELETE, Owner};
use crate::model::{
    Attachment, Finding, Liveness, ManagedField, Phase, ReclaimPolicy, Severity, Threshold, Volume,
};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pv-released-delete-stuck",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![controller: PersistentVolumeClaim, Node, VolumeAttachment, Secret, SubjectAccessReview],
    remedies: &[&remedies::RETAIN],
    title: "A Released volume with policy Delete is not reclaimed",
    danger: "The backend volume may still exist and be billed. Its deletion resumes as soon as the cause is fixed, \
             even months later. Deleting the object by hand can leak it.",
    remedy: "Fix the cause that is shown. Setting the policy to Retain stops the deletion but does not revert it; the \
             backend volume may be partly deleted already. The tool never deletes the object.",
    source: "external-provisioner controller, shouldDelete",
    judge: &[Judge::Volume(judge)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let waits = volume.phase == Phase::Released
        && volume.reclaim_policy == ReclaimPolicy::Delete
        && volume.metadata.deleting.is_none();
    let age = facts::released_age(cx, volume);
    if !waits {
        return Ok(None);
    }
    let is_late = cx.older_than(&age, Threshold::Stuck) && !policy_is_new(cx, volume);
    // What the guard refuses goes on being refused, however short it has been.
    if !is_late && facts::guard_refusal(cx, volume).is_none() {
        return Ok(None);
    }
    let cause = facts::stuck_deletion(cx, volume, runs(cx, volume));
    let summary = format!("Released with policy Delete, but not reclaimed: {}", cause.brief);
    let failure = facts::last_event(cx, volume, &[FAILED_DELETE]).ok().flatten();
    let mut finding = RULE
        .on_volume(cx, volume, summary)
        .aged(age)
        .shows("reason", cause.because)
        .shows("what helps", &*cause.helps)
        .shows_event("last VolumeFailedDelete", failure.as_ref());
    let owner = facts::owner(volume);
    match &owner {
        Owner::Csi(driver) => {
            finding = finding.shows_controller(&facts::provisioner(cx, driver));
            for claimed in facts::claimed_versions(cx, driver) {
                finding = finding.shows_of(&claimed.object, "image", claimed.image.to_string());
            }
        }
        Owner::InTree(_) | Owner::StaticInTree(_) => {
            finding = finding.shows_controller(&facts::controller_manager(cx));
        }
        Owner::External(_) => {}
    }
    if let Ok(attachments) = cx.attachments_of(volume.name()) {
        finding = finding.relates(attachments.into_iter().map(Attachment::object));
    }
    let finding = finding.remedied_by(cx, volume, &remedies::RETAIN).or_rather(&cause.helps);
    Ok(Some(finding.unless_taken(cx, volume)))
}

/// Whether the controller that should delete it is running.
fn runs(cx: &Cx, volume: &Volume) -> bool {
    let state = match facts::owner(volume) {
        Owner::Csi(driver) | Owner::External(driver) => facts::provisioner(cx, &driver),
        Owner::InTree(_) => facts::controller_manager(cx),
        Owner::StaticInTree(_) => return false,
    };
    state.liveness == Liveness::Alive
}

/// Whether the policy may have become Delete so recently that no controller had the time to act,
/// however long ago the volume was released.
fn policy_is_new(cx: &Cx, volume: &Volume) -> bool {
    let stuck = cx.settings().thresholds.get(Threshold::Stuck);
    let changed = volume.metadata.last_change(&ManagedField::ReclaimPolicy);
    changed.is_some_and(|changed| !cx.passed(changed, stuck))
}
