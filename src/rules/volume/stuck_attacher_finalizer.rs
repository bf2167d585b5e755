//! F31: the finalizer of the external-attacher blocks the deletion of a volume.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, EXTERNAL_PROVISIONER};
use crate::model::{Age, Finding, Phase, ReclaimPolicy, Severity, Threshold, Volume};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pv-stuck-attacher-finalizer",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![controller: VolumeAttachment],
    remedies: &[&remedies::REMOVE_ATTACHER_FINALIZER],
    title: "A volume cannot be deleted, because the attacher's finalizer is still on it",
    danger: "The attacher removes its finalizer once nothing has the volume attached. Removing it too early leaves \
             a disk attached that nothing can detach, and where it is the last finalizer of a volume of policy \
             Delete, nobody deletes the disk once it goes.",
    remedy: "An attachment that still names the volume has to go first. While the attacher runs, or may come back, \
             it removes the finalizer itself. Once the attacher is proven absent and neither an attachment nor a \
             node names the volume, the one finalizer is removed; where that leaks the disk, only with --accept-leak, \
             or with --reclaim, which has it deleted afterwards.",
    source: "external-attacher csi_handler.go, SyncNewOrUpdatedPersistentVolume",
    judge: &[Judge::Volume(judge)],
};

fn judge(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let Some(finalizer) = facts::set_by_attacher(&volume.metadata) else { return Ok(None) };
    let age = since_both(cx, volume);
    let waits = volume.metadata.deleting.is_some()
        && volume.phase != Phase::Bound
        && cx.older_than(&age, Threshold::Detach);
    if !waits {
        return Ok(None);
    }
    let attachments = cx.attachments_of(volume.name())?;
    let unguarded = volume.reclaim_policy == ReclaimPolicy::Delete
        && !volume.metadata.has_finalizer(EXTERNAL_PROVISIONER);
    let summary = if !attachments.is_empty() {
        "cannot be deleted while an attachment names it"
    } else if unguarded {
        "waits for its attacher, and once that lets go, nobody deletes its disk"
    } else {
        "nothing has it attached, yet its attacher's finalizer keeps it from being deleted"
    };
    let backend = match (unguarded, &volume.reclaim_policy) {
        (true, _) => "will not be deleted by anyone once this finalizer goes",
        (false, ReclaimPolicy::Delete) => "its provisioner deletes it",
        (false, _) => "kept, by policy",
    };
    let mut finding = RULE
        .on_volume(cx, volume, summary)
        .aged(age)
        .shows("finalizer of the attacher", &**finalizer)
        .shows("what becomes of the disk", backend);
    for attachment in attachments {
        let shown = format!("{} on node {}", attachment.metadata.name, attachment.node);
        finding = finding.shows("attached by", shown);
    }
    if let Some(driver) = facts::attacher_of(volume) {
        finding = finding.shows_controller(&facts::attacher(cx, &driver));
    }
    Ok(Some(finding.remedied_by(cx, volume, &remedies::REMOVE_ATTACHER_FINALIZER)))
}

/// Since when it has been both Terminating and unbound: only then does the external-attacher remove
/// its finalizer.
fn since_both(cx: &Cx, volume: &Volume) -> Age {
    let unbound = facts::phase_age(cx, volume).since;
    Age::stamped(volume.metadata.deleting.map(|time| unbound.map_or(time, |it| it.max(time))))
}
