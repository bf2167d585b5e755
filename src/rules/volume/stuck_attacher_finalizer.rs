//! F31: the finalizer of the external-attacher blocks the deletion of a volume.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, EXTERNAL_PROVISIONER};
use crate::model::{
    Age, Finding, Liveness, Phase, ReclaimPolicy, Severity, Threshold, VerdictState, Volume,
};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pv-stuck-attacher-finalizer",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![controller: VolumeAttachment],
    remedies: &[&remedies::REMOVE_ATTACHER_FINALIZER],
    title: "The external-attacher finalizer blocks the deletion of a volume",
    danger: "The external-attacher removes its finalizer after no VolumeAttachment references the volume. Removing it too \
             early leaves a backend volume attached that no controller can detach. If it is the last finalizer of a \
             volume with policy Delete, no controller deletes the backend volume after its removal.",
    remedy: "First an attachment that references the volume has to be deleted. While external-attacher is running, or \
             may return, it removes the finalizer itself; if it does not, read its log and restart it. Once it is \
             proven absent and neither an attachment nor a node references the volume, that one finalizer is removed; \
             if that leaks the backend volume, only with --accept-leak, or with --reclaim, which deletes it \
             afterwards.",
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
    let failing = attachments.iter().find_map(|it| it.detach_error.as_deref());
    let mut summary = match (failing, attachments.first()) {
        (Some(error), _) => {
            format!("blocked by an attachment that is not detached: {}", facts::brief_error(error))
        }
        (None, Some(first)) => format!("blocked by {}, to node {}", first.object(), first.node),
        (None, None) => {
            "blocked by the external-attacher finalizer, although no attachment references it"
                .to_owned()
        }
    };
    if unguarded {
        summary.push_str("; if the backend volume still exists, no controller deletes it after this finalizer is removed (leak)");
    }
    let backend = match (unguarded, &volume.reclaim_policy) {
        (true, _) => {
            "leaked, if it still exists: no controller deletes it after this finalizer is removed"
        }
        (false, ReclaimPolicy::Delete) => "csi-provisioner deletes it",
        (false, _) => "kept by policy",
    };
    let mut finding = RULE
        .on_volume(cx, volume, summary)
        .aged(age)
        .shows("finalizer of the attacher", &**finalizer)
        .shows("effect on the backend volume", backend);
    let is_free = attachments.is_empty();
    for attachment in attachments {
        let shown = format!("{} on node {}", attachment.metadata.name, attachment.node);
        finding = finding.shows("attached by", shown).relates([attachment.object()]);
        if let Some(error) = &attachment.detach_error {
            let object = attachment.object();
            finding = finding.shows_of(&object, "status.detachError.message", &**error);
        }
    }
    let state = facts::attacher_of(volume).map(|driver| facts::attacher(cx, &driver));
    if let Some(state) = &state {
        finding = finding.shows_controller(state);
    }
    let mut finding = finding.remedied_by(cx, volume, &remedies::REMOVE_ATTACHER_FINALIZER);
    let may_return = state.is_some_and(|it| it.liveness == Liveness::Unknown);
    if is_free && may_return && finding.verdict.state == VerdictState::Blocked {
        finding
            .verdict
            .reason
            .push_str("; if external-attacher is started again, it removes the finalizer");
    }
    Ok(Some(finding))
}

/// Since when it has been both Terminating and unbound: only then does the external-attacher remove
/// its finalizer.
fn since_both(cx: &Cx, volume: &Volume) -> Age {
    let unbound = facts::phase_age(cx, volume).since;
    Age::stamped(volume.metadata.deleting.map(|time| unbound.map_or(time, |it| it.max(time))))
}
