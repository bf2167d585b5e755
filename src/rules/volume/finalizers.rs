//! Findings about finalizers of volumes that no controller removes any more.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, EXTERNAL_PROVISIONER, FinalizerOwner};
use crate::model::{
    Age, Claim, Finding, Kind, Liveness, ManagedField, Metadata, Phase, ReclaimPolicy, Severity,
    Text, Threshold, Trust, VerdictState, Volume,
};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

/// F23: the finalizer of csi-provisioner on a volume whose policy is not Delete.
pub(super) static STALE_EXT_FINALIZER_RETAIN: Rule = Rule {
    id: "pv-stale-ext-finalizer-retain",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![controller],
    remedies: &[&remedies::REMOVE_EXTERNAL_FINALIZER],
    title: "A volume whose policy keeps it still carries the finalizer of csi-provisioner",
    danger: "csi-provisioner removes its finalizer when the policy is no longer Delete. If it remains, \
             csi-provisioner is absent or does not work, and the volume object can never be deleted.",
    remedy: "While csi-provisioner is running, or may return, none: it removes the finalizer itself; find out why it \
             does not. Once it is proven absent, that one finalizer is removed; the backend volume is not touched, \
             since the policy keeps it.",
    source: "sig-storage-lib-external-provisioner controller.go, handleProtectionFinalizer",
    judge: &[Judge::Volume(stale_ext_finalizer_retain)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn stale_ext_finalizer_retain(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let kept = matches!(volume.reclaim_policy, ReclaimPolicy::Retain | ReclaimPolicy::Recycle);
    if !kept || !volume.metadata.has_finalizer(EXTERNAL_PROVISIONER) {
        return Ok(None);
    }
    let age = since_last_change(cx, volume);
    if !cx.older_than(&age, Threshold::Finalizer) {
        return Ok(None);
    }
    let mut finding = STALE_EXT_FINALIZER_RETAIN
        .on_volume(
            cx,
            volume,
            "its policy keeps it, but the finalizer of csi-provisioner was not removed and blocks its deletion",
        )
        .aged(age)
        .shows_manager(&volume.metadata, &ManagedField::ReclaimPolicy, "managers of the policy")
        .shows_manager(
            &volume.metadata,
            &ManagedField::Finalizer(EXTERNAL_PROVISIONER.into()),
            "managers of the finalizer",
        );
    if let Some(driver) = facts::owner(volume).csi() {
        finding = finding.shows_controller(&facts::provisioner(cx, driver));
    }
    Ok(Some(finding.remedied_by(cx, volume, &remedies::REMOVE_EXTERNAL_FINALIZER)))
}

/// Returns the time since which the policy has been the same. Without managedFields this is the time of the last known
/// change of any kind.
fn since_last_change(cx: &Cx, volume: &Volume) -> Age {
    match volume.metadata.last_change(&ManagedField::ReclaimPolicy) {
        Some(changed) => Age { since: Some(changed), trust: Trust::LowerBound },
        None => facts::policy_age(cx, volume),
    }
}

/// F24: a Terminating volume with the finalizer of a csi-provisioner that is absent.
pub(super) static EXT_FINALIZER_ORPHANED_DRIVER: Rule = Rule {
    id: "pv-ext-finalizer-orphaned-driver",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![controller],
    remedies: &[&remedies::REMOVE_EXTERNAL_FINALIZER],
    title: "A volume carries the finalizer of a csi-provisioner that is absent",
    danger: "No controller deletes the backend volume or removes the finalizer. Removing it by hand before the \
             backend volume is deleted leaks it, and a driver that is being reinstalled looks the same.",
    remedy: "A driver counts as absent after 24 h without a trace in any check (Lease, pods, workloads, \
             registration, latest acts), or if --driver-absent asserts it. Then the finalizer is removed from \
             volumes whose policy keeps them. A bound volume is left alone: its claim blocks the deletion. A Released \
             volume with policy Delete remains until its driver is reinstalled; if it is Terminating, --accept-leak \
             removes the finalizer, and the backend volume that remains is recorded. --reclaim requires a driver that \
             could delete it.",
    source: "KEP-2644, rollback; external-provisioner controller, deleteVolumeOperation",
    judge: &[Judge::Volume(ext_finalizer_orphaned_driver)],
};

fn ext_finalizer_orphaned_driver(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    if !volume.metadata.has_finalizer(EXTERNAL_PROVISIONER) {
        return Ok(None);
    }
    let Some(driver) = facts::owner(volume).csi().cloned() else { return Ok(None) };
    let state = facts::provisioner(cx, &driver);
    if !facts::is_absent(cx, &state, &driver)? {
        return Ok(None);
    }
    let (summary, consequence) = consequence(volume);
    let finding = EXT_FINALIZER_ORPHANED_DRIVER
        .on_volume(cx, volume, summary)
        .shows("consequence", consequence)
        .shows_manager(
            &volume.metadata,
            &ManagedField::Finalizer(EXTERNAL_PROVISIONER.into()),
            "managers of the finalizer",
        )
        .shows_controller(&state);
    Ok(Some(finding.remedied_by(cx, volume, &remedies::REMOVE_EXTERNAL_FINALIZER)))
}

/// Returns the summary, and the effect on the backend volume.
fn consequence(volume: &Volume) -> (&'static str, &'static str) {
    let terminating = volume.metadata.deleting.is_some();
    match &volume.reclaim_policy {
        ReclaimPolicy::Retain | ReclaimPolicy::Recycle => (
            "csi-provisioner is absent: no controller removes its finalizer",
            "the object cannot be deleted; the backend volume is kept in any case",
        ),
        _ if volume.phase == Phase::Bound => (
            "csi-provisioner is absent: after its claim is deleted, no controller deletes the backend volume",
            "none while it is bound; after that its deletion is stuck",
        ),
        _ if terminating => (
            "Terminating, but csi-provisioner is absent: neither the backend volume nor the object is deleted",
            "after the finalizer is removed the object is deleted, and the backend volume is leaked",
        ),
        _ => (
            "csi-provisioner is absent: the backend volume, which policy Delete should delete, remains",
            "remains until the driver is reinstalled",
        ),
    }
}

/// F31: the finalizer of the external-attacher blocks the deletion of a volume.
pub(super) static STUCK_ATTACHER_FINALIZER: Rule = Rule {
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
    judge: &[Judge::Volume(stuck_attacher_finalizer)],
};

fn stuck_attacher_finalizer(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
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
    let mut finding = STUCK_ATTACHER_FINALIZER
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

/// Returns the time since which the volume has been both Terminating and unbound: only then does the external-attacher
/// remove its finalizer.
fn since_both(cx: &Cx, volume: &Volume) -> Age {
    let unbound = facts::phase_age(cx, volume).since;
    Age::stamped(volume.metadata.deleting.map(|time| unbound.map_or(time, |it| it.max(time))))
}

/// F33: a third-party finalizer blocks the deletion of a volume or claim.
pub(super) static UNKNOWN_FINALIZER: Rule = Rule {
    id: "pv-or-pvc-unknown-finalizer",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume, Kind::PersistentVolumeClaim],
    remedies: &[&remedies::REMOVE_THIRD_PARTY_FINALIZER, &remedies::FIX_CLAIM],
    title: "A third-party finalizer blocks the deletion of a volume or claim",
    danger: "The controller that set it may have to finish something first, such as a backup, a replication or a \
             clean-up. Removing the finalizer skips that. After a claim's last finalizer is removed, its data may be \
             destroyed.",
    remedy: "The evidence shows which field manager set the finalizer, as far as managedFields tell. Its controller \
             should remove it. If that controller is permanently removed, `fix-finalizers` removes the finalizer from \
             one object that is named and not in use, by its name: --remove-finalizer. For a claim's last finalizer \
             an assertion about its data is required.",
    source: "kubernetes pkg/volume/util/finalizer.go; external-snapshotter pkg/utils/util.go; Kubernetes concepts, finalizers",
    judge: &[Judge::Volume(unknown_finalizer), Judge::Claim(judge_claim)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn unknown_finalizer(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let begin = |summary| UNKNOWN_FINALIZER.on_volume(cx, volume, summary);
    Ok(stuck_finalizers(cx, &volume.metadata).map(|unknown| {
        let finding = finish(begin, &volume.metadata, &unknown);
        match &cx.settings().remove_finalizer {
            Some(asked) if unknown.contains(asked) => {
                finding.remedied_by(cx, volume, &remedies::REMOVE_THIRD_PARTY_FINALIZER)
            }
            _ => finding.report_only(format!(
                "removing it skips the clean-up of another controller; find out which one set it; if that is permanently removed, `kubectl storage fix-finalizers {} --remove-finalizer {}`",
                volume.object(),
                if let [one] = &*unknown { one } else { "NAME" }
            )),
        }
    }))
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn judge_claim(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let begin = |summary| UNKNOWN_FINALIZER.on_claim(claim, summary);
    let found = stuck_finalizers(cx, &claim.metadata);
    Ok(found.map(|unknown| {
        finish(begin, &claim.metadata, &unknown).remedied_by(cx, claim, &remedies::FIX_CLAIM)
    }))
}

/// Returns the third-party finalizers of an object that is Terminating for longer than the
/// threshold.
fn stuck_finalizers(cx: &Cx, metadata: &Metadata) -> Option<Vec<Text>> {
    let unknown: Vec<_> = metadata
        .finalizers
        .iter()
        .filter(|finalizer| facts::owner_of(finalizer) == FinalizerOwner::Unknown)
        .cloned()
        .collect();
    let hangs =
        !unknown.is_empty() && cx.older_than(&Age::stamped(metadata.deleting), Threshold::Stuck);
    hangs.then_some(unknown)
}

fn finish(
    begin: impl FnOnce(&'static str) -> Finding,
    metadata: &Metadata,
    unknown: &[Text],
) -> Finding {
    let mut finding =
        begin("a third-party finalizer blocks its deletion").aged(Age::stamped(metadata.deleting));
    for finalizer in unknown {
        finding = finding.shows("unknown finalizer", &**finalizer).shows_manager(
            metadata,
            &ManagedField::Finalizer(Text::clone(finalizer)),
            "managers of the finalizer",
        );
    }
    finding
}
