//! Findings about in-tree volumes, and about their migration to CSI.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, EXTERNAL_PROVISIONER, IN_TREE, Owner};
use crate::model::{
    Age, Finding, Kind, ManagedField, Phase, ReclaimPolicy, Severity, Threshold, Volume,
};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

/// F27: the in-tree finalizer on a volume that was migrated to CSI.
pub(super) static STALE_INTREE_FINALIZER_MIGRATED: Rule = Rule {
    id: "pv-stale-intree-finalizer-migrated",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume],
    remedies: &[&remedies::REMOVE_IN_TREE_FINALIZER],
    title: "A CSI volume, or one migrated to CSI, carries the finalizer of an in-tree plugin",
    danger: "kube-controller-manager removes its finalizer from volumes whose in-tree plugin was migrated, unless it \
             is too old. From a volume that was always CSI no controller removes it, and the object can never be \
             deleted.",
    remedy: "That one finalizer is removed, unless the volume is Terminating, its policy does not keep the backend \
             volume, and the finalizer of csi-provisioner is missing: then it is the last finalizer that keeps the \
             only record of the backend volume, and is removed only with --accept-leak, or with --reclaim, which \
             deletes the backend volume afterwards.",
    source: "kubernetes pv_controller_base.go, modifyDeletionFinalizers",
    judge: &[Judge::Volume(stale_intree_finalizer_migrated)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn stale_intree_finalizer_migrated(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let age = facts::policy_age(cx, volume);
    let may_be_in_tree = facts::unmigrated(volume, cx.server()).is_some();
    let stale = facts::in_tree_finalizer_is_stale(volume) && !may_be_in_tree;
    if !stale || !cx.older_than(&age, Threshold::Finalizer) {
        return Ok(None);
    }
    let finding = STALE_INTREE_FINALIZER_MIGRATED
        .on_volume(cx, volume, "carries the finalizer of an in-tree plugin that does not serve it")
        .aged(age)
        .shows(
            "annotation pv.kubernetes.io/provisioned-by",
            volume.provisioned_by.as_deref().unwrap_or("<none>"),
        )
        .shows(
            "annotation pv.kubernetes.io/migrated-to",
            volume.migrated_to.as_deref().unwrap_or("<none>"),
        )
        .shows("server version", facts::server_version(cx))
        .shows_manager(
            &volume.metadata,
            &ManagedField::Finalizer(facts::IN_TREE.into()),
            "managers of the finalizer",
        );
    Ok(Some(finding.remedied_by(cx, volume, &remedies::REMOVE_IN_TREE_FINALIZER)))
}

/// F28: an in-tree volume with policy Delete without the deletion-protection finalizer of
/// kube-controller-manager.
pub(super) static INTREE_FINALIZER_MISSING: Rule = Rule {
    id: "pv-intree-finalizer-missing",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![manager],
    remedies: &[],
    title: "An in-tree volume with policy Delete lacks the finalizer of kube-controller-manager",
    danger: "kube-controller-manager adds its finalizer to every volume that one of its own plugins provisioned. If \
             it is missing, kube-controller-manager is too old, has the feature HonorPVReclaimPolicy off, or is not \
             running; then deleting the volume before its claim, or before the backend volume is deleted, leaks the \
             backend volume.",
    remedy: "None by hand: switch the feature on, or find out why kube-controller-manager does not act. A finalizer \
             that was added by hand would never be removed where the feature is off.",
    source: "kubernetes pv_controller_base.go, modifyDeletionFinalizers; TestModifyDeletionFinalizers",
    judge: &[Judge::Volume(intree_finalizer_missing)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn intree_finalizer_missing(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let missing = facts::expects_in_tree_finalizer(volume)
        && !volume.metadata.has_finalizer(IN_TREE)
        && volume.metadata.deleting.is_none();
    let age = facts::policy_age(cx, volume);
    if !missing || !cx.older_than(&age, Threshold::Protection) {
        return Ok(None);
    }
    let gate = match facts::always_honors_reclaim_policy(cx) {
        Some(true) => "always on at this server version; kube-controller-manager should have acted",
        Some(false) => "can be off at this server version",
        None => "<unknown>",
    };
    let finding = INTREE_FINALIZER_MISSING
        .on_volume(
            cx,
            volume,
            match volume.phase {
                Phase::Bound => "lacks the finalizer of kube-controller-manager: deleting it before its claim leaks the backend volume",
                _ => "lacks the finalizer of kube-controller-manager: deleting the object can leak the backend volume",
            },
        )
        .aged(age)
        .shows("missing protection", IN_TREE)
        .shows("server version", facts::server_version(cx))
        .shows("feature HonorPVReclaimPolicy", gate)
        .shows_controller(&facts::controller_manager(cx));
    Ok(Some(finding.report_only(
        "kube-controller-manager adds it once it runs with HonorPVReclaimPolicy; do not add it by hand",
    )))
}

/// F29: a volume of an in-tree plugin that this Kubernetes version no longer has.
pub(super) static INTREE_PLUGIN_REMOVED: Rule = Rule {
    id: "pv-intree-plugin-removed",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume],
    remedies: &[&remedies::RETAIN],
    title: "A volume belongs to an in-tree plugin that this Kubernetes version does not have",
    danger: "No controller can delete its backend volume, whatever its policy is. With policy Delete the volume \
             becomes Failed, or remains Terminating because no controller removes its finalizer.",
    remedy: "Setting the policy to Retain makes this explicit, and lets kube-controller-manager remove its finalizer. \
             Delete the backend volume at the storage system.",
    source: "kubernetes pv_controller.go, findDeletablePlugin",
    judge: &[Judge::Volume(intree_plugin_removed)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn intree_plugin_removed(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let Owner::InTree(plugin) = facts::owner(volume) else { return Ok(None) };
    if facts::known_deletable(&plugin, cx.server()) != Some(false) {
        return Ok(None);
    }
    let message = volume.message.as_deref().unwrap_or("<none>");
    let held = if volume.metadata.has_finalizer(IN_TREE) { "present" } else { "absent" };
    let finding = INTREE_PLUGIN_REMOVED
        .on_volume(
            cx,
            volume,
            format!(
                "this Kubernetes version has no plugin {plugin}: no controller can delete the backend volume"
            ),
        )
        .shows("annotation pv.kubernetes.io/provisioned-by", &*plugin)
        .shows("finalizer kubernetes.io/pv-controller", held)
        .shows("status.message", message)
        .shows("server version", facts::server_version(cx));
    Ok(Some(match volume.reclaim_policy {
        ReclaimPolicy::Retain => finding.report_only(
            "policy is Retain already; delete the backend volume at the storage system",
        ),
        _ => finding.remedied_by(cx, volume, &remedies::RETAIN),
    }))
}

/// F30: the finalizer of csi-provisioner on an in-tree volume.
pub(super) static STALE_EXT_FINALIZER_INTREE: Rule = Rule {
    id: "pv-stale-ext-finalizer-intree",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume],
    remedies: &[&remedies::REMOVE_EXTERNAL_FINALIZER],
    title: "An in-tree volume that is not migrated carries the finalizer of csi-provisioner",
    danger: "It remains from a migration to CSI that was reverted. No csi-provisioner serves the volume, so none \
             removes the finalizer, and the object can never be deleted.",
    remedy: "A kube-controller-manager that honors the reclaim policy, as every one does from 1.33 on, replaces it by \
             its own finalizer: nothing is done while that is possible. With --rolled-back, which asserts that it \
             does not, the finalizer is removed if the policy is Retain or the finalizer of kube-controller-manager \
             is present too.",
    source: "kubernetes pv_controller_base.go, modifyDeletionFinalizers; KEP-2644, version skew",
    judge: &[Judge::Volume(stale_ext_finalizer_intree)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn stale_ext_finalizer_intree(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let Owner::InTree(plugin) = facts::owner(volume) else { return Ok(None) };
    let age = facts::policy_age(cx, volume);
    let stale = volume.metadata.has_finalizer(EXTERNAL_PROVISIONER);
    if !stale || !cx.older_than(&age, Threshold::Finalizer) {
        return Ok(None);
    }
    let held = if volume.metadata.has_finalizer(IN_TREE) { "present" } else { "absent" };
    let finding = STALE_EXT_FINALIZER_INTREE
        .on_volume(
            cx,
            volume,
            "in-tree volume with the finalizer of csi-provisioner, which does not serve it",
        )
        .aged(age)
        .shows("annotation pv.kubernetes.io/provisioned-by", &*plugin)
        .shows("finalizer kubernetes.io/pv-controller", held)
        .shows("server version", facts::server_version(cx))
        .shows_manager(
            &volume.metadata,
            &ManagedField::Finalizer(EXTERNAL_PROVISIONER.into()),
            "managers of the finalizer",
        );
    Ok(Some(finding.remedied_by(cx, volume, &remedies::REMOVE_EXTERNAL_FINALIZER)))
}

/// F35: a Terminating in-tree volume that lacks the finalizer without which kube-controller-manager
/// cannot delete it.
pub(super) static TERMINATING_INTREE_DEADLOCK: Rule = Rule {
    id: "pv-terminating-intree-deadlock",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume],
    remedies: &[&remedies::RETAIN],
    title: "A Terminating in-tree volume lacks the finalizer that kube-controller-manager must add first",
    danger: "kube-controller-manager adds its finalizer before it does anything else, and the API server forbids new \
             finalizers on a Terminating object. The volume remains, even after its claim is deleted.",
    remedy: "With policy Retain kube-controller-manager has no finalizer to add and continues: the object is deleted, \
             the backend volume remains and has to be deleted at the storage system.",
    source: "kubernetes pv_controller_base.go, modifyDeletionFinalizers; apimachinery ValidateNoNewFinalizers",
    judge: &[Judge::Volume(terminating_intree_deadlock)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn terminating_intree_deadlock(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let deadlocked = volume.metadata.deleting.is_some()
        && facts::expects_in_tree_finalizer(volume)
        && !volume.metadata.has_finalizer(IN_TREE);
    if !deadlocked {
        return Ok(None);
    }
    let finding = TERMINATING_INTREE_DEADLOCK
        .on_volume(
            cx,
            volume,
            "Terminating without the finalizer that kube-controller-manager must add first: the deletion cannot finish",
        )
        .aged(Age::stamped(volume.metadata.deleting))
        .shows(
            "annotation pv.kubernetes.io/provisioned-by",
            volume.provisioned_by.as_deref().unwrap_or("<none>"),
        )
        .shows("missing finalizer", IN_TREE)
        .shows("server version", facts::server_version(cx))
        .shows(
            "log of kube-controller-manager",
            "would say \"can't anneal migration annotations or finalizer\"",
        );
    Ok(Some(finding.remedied_by(cx, volume, &remedies::RETAIN)))
}

/// F39: an in-tree finalizer that a kube-controller-manager that was rolled back no longer removes.
pub(super) static INTREE_FINALIZER_ROLLED_BACK: Rule = Rule {
    id: "pv-intree-finalizer-rolled-back",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume, Kind::VolumeAttachment, Kind::Event],
    remedies: &[&remedies::REMOVE_IN_TREE_FINALIZER],
    title: "kube-controller-manager seems not to remove its finalizer from a Terminating in-tree volume",
    danger: "A kube-controller-manager that was rolled back, or runs with HonorPVReclaimPolicy off, never removes the \
             finalizer that it set before. The API does not show whether the backend volume still exists: it was \
             deleted if the claim was deleted first, and not if the volume was.",
    remedy: "A slow deletion looks the same, so nothing is done without --rolled-back, which asserts that the feature \
             is off. Then the finalizer is removed from a volume with policy Retain; with policy Delete only with \
             --accept-leak, since the backend volume may remain, or with --reclaim, which deletes it after the \
             object. With --rolled-back, volumes that are not Terminating are reported too: their deletion will be \
             stuck; the finalizer is removed if they are named.",
    source: "kubernetes pv_controller_base.go, modifyDeletionFinalizers; KEP-2644, downgrade",
    judge: &[Judge::Volume(intree_finalizer_rolled_back)],
};

fn intree_finalizer_rolled_back(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    if !volume.metadata.has_finalizer(IN_TREE) {
        return Ok(None);
    }
    if volume.metadata.deleting.is_none() {
        return Ok(will_hang(cx, volume)
            .map(|finding| finding.remedied_by(cx, volume, &remedies::REMOVE_IN_TREE_FINALIZER)));
    }
    if !facts::looks_rolled_back(cx, volume)? {
        return Ok(None);
    }
    let finding = INTREE_FINALIZER_ROLLED_BACK
        .on_volume(
            cx,
            volume,
            "Terminating; kube-controller-manager seems not to remove its finalizer; whether the backend volume exists is unknown",
        )
        .aged(Age::stamped(volume.metadata.deleting))
        .shows("if the volume was deleted before its claim", "the backend volume still exists")
        .shows("if the claim was deleted before the volume", "the backend volume is deleted")
        .shows("attached by", "<none>")
        .shows("VolumeFailedDelete and VolumeDelete since its deletion", "<none>")
        .shows("server version", facts::server_version(cx));
    Ok(Some(finding.remedied_by(cx, volume, &remedies::REMOVE_IN_TREE_FINALIZER)))
}

/// Judges a volume that is not Terminating, if the user asserts that the feature is off.
fn will_hang(cx: &Cx, volume: &Volume) -> Option<Finding> {
    let rolled_back = cx.settings().rolled_back
        && facts::always_honors_reclaim_policy(cx) == Some(false)
        && matches!(facts::owner(volume), Owner::InTree(_));
    rolled_back.then(|| {
        INTREE_FINALIZER_ROLLED_BACK
            .on_volume(
                cx,
                volume,
                "its deletion will be stuck: kube-controller-manager does not remove its finalizer",
            )
            .severe(Severity::Medium)
            .shows("server version", facts::server_version(cx))
    })
}
