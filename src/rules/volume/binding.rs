//! Findings about volumes to which another claim or another volume refers.

use crate::cluster::{Cx, Seen};
use crate::facts::{self, ClaimState, LastTransition, SharedStorage};
use crate::model::{
    Age, Claim, ClaimPhase, Finding, Kind, ManagedField, Phase, ReclaimPolicy, Severity, Threshold,
    Trust, VerdictState, Volume, VolumeSource,
};
use crate::remedies;
use crate::rules::{
    CapacityRisk, Judge, Rule,
    finding::{shown_uid, time},
};

/// F107: the claimRef of a volume was changed, while its own claim exists.
pub(super) static CLAIM_REF_CHANGED: Rule = Rule {
    id: "pv-claim-ref-changed",
    severity: Severity::Critical,
    capacity_risk: CapacityRisk::Data,
    needs: facts::needs![versions: PersistentVolume, PersistentVolumeClaim],
    remedies: &[&remedies::RETAIN, &remedies::REBIND],
    title: "The uid in a volume's claimRef was changed, and its own claim still exists",
    danger: "Kubernetes takes the volume for Released: with policy Delete its controller destroys the data within \
             seconds, although the claim exists and pods may use it. The claim becomes Lost. A patch does this, and so \
             does an old manifest that is applied over the volume.",
    remedy: "`kubectl storage retain` stops the deletion while there is time; then `kubectl storage rebind` writes the \
             uid of the claim back. `gc` refuses such a volume. `kubectl storage guard` refuses such changes. What \
             applied the manifest must be stopped first, or it does so again.",
    source: "pv_controller.go, syncVolume (claim.UID != volume.Spec.ClaimRef.UID); getProvisionedVolumeNameForClaim",
    judge: &[Judge::Volume(claim_ref_changed)],
};

fn claim_ref_changed(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let ClaimState::Changed(claim) = facts::claim_state(cx, volume)? else { return Ok(None) };
    let (object, retained) = (claim.object(), volume.reclaim_policy == ReclaimPolicy::Retain);
    let own = claim.metadata.uid.as_ref().map(ToString::to_string);
    let evidence = match facts::provisioned_for(volume.name()) {
        named if named.is_some() && named == own.as_deref() => {
            "the volume's name is pvc- and the claim's uid"
        }
        _ if facts::is_made_for(volume, claim) => {
            "the volume's name or handle holds the claim's uid"
        }
        _ => "the claim was bound to the volume, and is older than its release",
    };
    let uid = volume.claim_ref.as_ref().and_then(|it| it.uid.as_ref());
    let finding = CLAIM_REF_CHANGED
        .on_volume(
            cx,
            volume,
            match retained {
                true => "spec.claimRef was changed: its own claim exists, and is not bound to it any more",
                false => "spec.claimRef was changed: policy Delete destroys the data, although its own claim exists",
            },
        )
        .severe(if retained { Severity::High } else { Severity::Critical })
        .aged(facts::state_age(cx, volume))
        .shows("own claim", evidence)
        .shows("spec.claimRef.uid", shown_uid(uid))
        .shows_manager(&volume.metadata, &ManagedField::ClaimUid, "spec.claimRef.uid written by")
        .shows_of(&object, "metadata.uid", shown_uid(claim.metadata.uid.as_ref()))
        .shows_of(&object, "metadata.creationTimestamp", time(claim.metadata.created))
        .shows_of(&object, "status.phase", claim.phase.to_string())
        .relates([object])
        .relates_pods_of(cx, claim);
    let advice = facts::giving_back(volume, claim);
    if retained && volume.metadata.deleting.is_some() {
        return Ok(Some(finding.report_only(advice)));
    }
    let remedy = if retained { &remedies::REBIND } else { &remedies::RETAIN };
    let mut finding = finding.remedied_by(cx, volume, remedy);
    if finding.verdict.state == VerdictState::Fixable {
        finding.verdict.reason = advice;
    }
    Ok(Some(finding))
}

/// F09: a claim references a volume that is bound to another claim.
pub(super) static REFERENCED_BY_OTHER_PVC: Rule = Rule {
    id: "pv-referenced-by-other-pvc",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume, Kind::PersistentVolumeClaim],
    remedies: &[],
    title: "A claim references by name a volume that is bound to another claim, or to none",
    danger: "A user is about to use this volume, or believes to use it. Reclaiming it would destroy what that claim \
             is waiting for; binding it to that claim shows the data of the earlier claim.",
    remedy: "Reclaiming such a volume is refused. Its owner decides whether the claim may have it; then the volume \
             has to be reserved for that claim.",
    source: "pv_controller.go, syncUnboundClaim and bind",
    judge: &[Judge::Volume(referenced_by_other_pvc)],
};

fn referenced_by_other_pvc(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let strangers: Vec<_> = cx
        .claims_naming(volume.name())?
        .into_iter()
        .filter(|claim| is_stranger(volume, claim))
        .collect();
    let Some(first) = strangers.first() else { return Ok(None) };
    let mut finding = REFERENCED_BY_OTHER_PVC.on_volume(
        cx,
        volume,
        "a claim references it by name, but the volume is not bound to that claim",
    );
    for claim in &strangers {
        let object = claim.object();
        let completed = if claim.bind_completed { "present" } else { "<none>" };
        finding = finding
            .shows_of(&object, "metadata.uid", shown_uid(claim.metadata.uid.as_ref()))
            .shows_of(&object, "status.phase", claim.phase.to_string())
            .shows_of(&object, "annotation pv.kubernetes.io/bind-completed", completed)
            .relates([object]);
    }
    Ok(Some(finding.report_only(advice(volume, first)).unless_taken(cx, volume)))
}

fn advice(volume: &Volume, first: &Claim) -> String {
    if first.phase != ClaimPhase::Pending {
        return "find out which is right, the claim's spec.volumeName or the volume's spec.claimRef"
            .to_owned();
    }
    let kept = volume.phase == Phase::Released && volume.reclaim_policy == ReclaimPolicy::Retain;
    let command = facts::on_command_line(&volume.object());
    let (namespace, name) = (&*first.namespace, &*first.metadata.name);
    // Names of the cluster may be those that a shell would carry out.
    let plain = facts::is_plain_word(namespace) && facts::is_plain_word(name);
    match kept && plain {
        true => format!(
            "if that claim may have the data, run `kubectl storage rebind {command} --to \
             {namespace}/{name}`; otherwise correct the claim"
        ),
        false => {
            "if that claim may have the data, reserve the volume for it; otherwise correct the claim"
                .to_owned()
        }
    }
}

/// Whether a claim that references the volume differs from the claim that the volume references. A
/// volume that is reserved for the claim by name does not count.
fn is_stranger(volume: &Volume, claim: &Claim) -> bool {
    let Some(claim_ref) = &volume.claim_ref else { return true };
    match (&claim_ref.uid, &claim.metadata.uid) {
        (Some(wanted), Some(uid)) => wanted != uid,
        (None, _) | (_, None) => claim_ref.key != claim.key(),
    }
}

/// F10: a volume is Pending for longer than the threshold.
pub(super) static PENDING_TOO_LONG: Rule = Rule {
    id: "pv-pending-too-long",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![manager],
    remedies: &[],
    title: "A new volume has been Pending for longer than the threshold",
    danger: "A volume is Pending only until the volume controller sees it for the first time, which takes seconds. \
             Until then no claim can bind it, no claim is released, and nothing is deleted.",
    remedy: "The tool changes nothing: check kube-controller-manager. The creation counts as the beginning here, \
             since a volume is never Pending again later.",
    source: "KEP-3762, story 2; persistentvolume strategy, PrepareForCreate",
    judge: &[Judge::Volume(pending_too_long)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn pending_too_long(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    if volume.phase != Phase::Pending {
        return Ok(None);
    }
    let transition = LastTransition::of(cx, volume);
    let latest = [transition.stated, transition.managed, volume.metadata.created];
    let Some(since) = latest.into_iter().flatten().max() else { return Ok(None) };
    let age = Age { since: Some(since), trust: Trust::LowerBound };
    if !cx.older_than(&age, Threshold::PvPending) {
        return Ok(None);
    }
    let mut finding = PENDING_TOO_LONG
        .on_volume(
            cx,
            volume,
            "still Pending: kube-controller-manager has not processed it since it was created",
        )
        .aged(age)
        .shows("metadata.creationTimestamp", time(volume.metadata.created))
        .shows_controller(&facts::controller_manager(cx));
    if let Ok(Some(event)) = facts::last_error(cx, &volume.object()) {
        let said = event.describe_with_reason();
        finding = finding.shows("last error", said);
    }
    Ok(Some(finding.report_only(
        "the volume controller does not act; check the Lease and the log of kube-controller-manager",
    )))
}

/// F11: an Available volume was used before, and any claim can bind it.
pub(super) static AVAILABLE_WAS_BOUND: Rule = Rule {
    id: "pv-available-was-bound",
    severity: Severity::High,
    capacity_risk: CapacityRisk::Data,
    needs: &[Kind::PersistentVolume],
    remedies: &[],
    title: "A volume that was used before is Available, and any matching claim can bind it",
    danger: "Its claimRef was removed, so the next matching claim binds it and reads the old data. Deleting the \
             object instead leaks the backend volume: provisioners delete only Released volumes.",
    remedy: "The tool changes nothing, since only you know whose data it is. Give it a claimRef with the namespace \
             and name of the claim that may have it, and no uid: then no other claim can bind it.",
    source: "pv_controller.go, FindMatchingVolume and unbindVolume; sig-storage-lib-external-provisioner#185",
    judge: &[Judge::Volume(available_was_bound)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn available_was_bound(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let free = volume.phase == Phase::Available && volume.claim_ref.is_none();
    let made_for_a_claim = volume.is_dynamic() && !is_discovered_disk(volume);
    let was_attached = facts::has_attacher_finalizer(&volume.metadata);
    if !free || !(made_for_a_claim || was_attached) {
        return Ok(None);
    }
    let class = volume.class.as_deref().filter(|class| !class.is_empty());
    let takers = class.map_or_else(
        || "any claim without a class".to_owned(),
        |class| format!("any claim of class {class}"),
    );
    let capacity = volume.capacity.map_or("<none>".to_owned(), |bytes| format!("{bytes} bytes"));
    let finding = AVAILABLE_WAS_BOUND
        .on_volume(
            cx,
            volume,
            "Available but used before: any matching claim can bind it and read the old data",
        )
        .aged(facts::state_age(cx, volume))
        .shows(
            "annotation pv.kubernetes.io/provisioned-by",
            volume.provisioned_by.as_deref().unwrap_or("<none>"),
        )
        .shows("spec.storageClassName", class.unwrap_or("<none>"))
        .shows("spec.capacity.storage", capacity)
        .shows("who can bind it", takers);
    Ok(Some(finding.report_only(match volume.reclaim_policy {
        ReclaimPolicy::Delete => {
            "give it a claimRef without a uid; deleting the object would leak the backend volume, whatever the policy"
        }
        ReclaimPolicy::Retain | ReclaimPolicy::Recycle | ReclaimPolicy::Other(_) => {
            "give it a claimRef without a uid, so that only the claim of that name can bind it"
        }
    })))
}

/// Whether the local static provisioner found the volume: its annotation names that provisioner, but the volume is
/// created for no claim, and wiped between claims (sig-storage-local-static-provisioner, `StartLocalController`).
fn is_discovered_disk(volume: &Volume) -> bool {
    let by_discovery = |provisioner: &str| provisioner.starts_with("local-volume-provisioner-");
    matches!(volume.source, VolumeSource::Local(_))
        && volume.provisioned_by.as_deref().is_some_and(by_discovery)
}

/// F93: several volumes reference one backend volume.
pub(super) static DUPLICATE_VOLUME_HANDLE: Rule = Rule {
    id: "duplicate-volume-handle",
    severity: Severity::Critical,
    capacity_risk: CapacityRisk::Data,
    needs: facts::needs![deletion],
    remedies: &[&remedies::RETAIN],
    title: "Several PersistentVolumes reference the same backend volume",
    danger: "Kubernetes does not check this. Reclaiming any one of them with policy Delete destroys the data of all; \
             policy Retain on one does not change that. In-tree volumes, other drivers of the same disk, and \
             directories inside directories are recognised. With policy Retain on all of them, two claims can still \
             write to one disk, which corrupts a file system that is not made for it. Where they only may be one, \
             the severity is medium.",
    remedy: "Set the policy of every member to Retain; only then no member can destroy the data. No member is ever \
             reclaimed while another one exists.",
    source: "CSI spec, Volume.volume_id; csi-translation-lib",
    judge: &[Judge::Volume(duplicate_volume_handle)],
};

/// Judges each member on its own, so that an explanation of one shows the others.
fn duplicate_volume_handle(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let others = cx.sharing(volume)?;
    if others.is_empty() {
        return Ok(None);
    }
    let Some(shared) = SharedStorage::of(cx, volume, &others) else { return Ok(None) };
    let summary = match shared {
        SharedStorage::Perishable => {
            "other PersistentVolumes reference the same backend volume: deleting one may delete the data of all"
        }
        SharedStorage::Device => {
            "other PersistentVolumes reference the same backend volume; nothing deletes it"
        }
        SharedStorage::FileSystem => {
            "other PersistentVolumes share its storage; nothing deletes it"
        }
        SharedStorage::Doubtful => "other PersistentVolumes may reference the same backend volume",
    };
    let mut finding = DUPLICATE_VOLUME_HANDLE
        .on_volume(cx, volume, summary)
        .severe(shared.severity())
        .shows_sharing(&others);
    if facts::excludes_in_a_pod(volume, &others) {
        finding = finding.shows(
            "a pod that uses both",
            "cannot start: same driver and volume handle (kubernetes#132921)",
        );
    }
    if shared == SharedStorage::Doubtful {
        return Ok(Some(finding.report_only(format!(
            "compare them at the storage system; if they are one, `kubectl storage retain {}` keeps its data",
            volume.object()
        ))));
    }
    if facts::may_destroy(cx, volume) {
        return Ok(Some(finding.remedied_by(cx, volume, &remedies::RETAIN)));
    }
    let other = facts::first_destroyer(cx, &others);
    Ok(Some(finding.report_only(match (other, shared) {
        (Some(other), _) => format!(
            "`kubectl storage retain {0}` first: the policy {1} of {0} can destroy the data of this volume",
            other.object(),
            other.reclaim_policy
        ),
        (None, SharedStorage::FileSystem) => {
            "nothing, if the claims are meant to share the file system".to_owned()
        }
        (None, SharedStorage::Perishable | SharedStorage::Device | SharedStorage::Doubtful) => {
            "nothing deletes the backend volume; decide which object is the right one, and delete the other PersistentVolumes, which keeps the backend volume"
                .to_owned()
        }
    })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ClaimKey;
    use crate::model::ClaimRef;
    use crate::model::Metadata;
    use crate::model::Phase;
    use crate::model::ReclaimPolicy;
    use crate::model::Uid;
    use crate::model::VolumeSource;

    fn volume(claim_ref: Option<(&str, Option<&str>)>) -> Volume {
        let claim_ref = claim_ref.map(|(name, uid)| ClaimRef {
            key: ClaimKey { namespace: "shop".into(), name: name.into() },
            uid: uid.and_then(Uid::parse),
        });
        Volume {
            is_shared: false,
            is_xfs: false,
            access: crate::model::Access::default(),
            attributes: crate::model::Attributes::default(),
            attributes_class: None,
            metadata: Metadata { name: "data".into(), ..Metadata::default() },
            phase: Phase::Available,
            message: None,
            reason: None,
            last_phase_transition: None,
            reclaim_policy: ReclaimPolicy::Retain,
            claim_ref,
            source: VolumeSource::HostPath("/data".into()),
            backend: None,
            class: None,
            capacity: None,
            node_affinity: None,
            provisioned_by: None,
            migrated_to: None,
            bound_by_controller: false,
            deletion_secret: None,
            backend_state: None,
        }
    }

    #[test]
    fn only_the_claim_that_the_volume_names_is_no_stranger() {
        let claim = Claim {
            attributes_class: None,
            capacity: None,
            conditions: Box::default(),
            provisioner: None,
            resize_status: None,
            selected_node: None,
            source: None,
            metadata: Metadata { name: "a".into(), uid: Uid::parse("1"), ..Metadata::default() },
            namespace: "shop".into(),
            phase: ClaimPhase::Pending,
            volume_name: Some("data".into()),
            class: None,
            bind_completed: false,
            access: crate::model::Access::default(),
            selector: None,
            requested: None,
        };
        for (claim_ref, stranger) in [
            (None, true),
            (Some(("a", Some("1"))), false),
            (Some(("a", Some("2"))), true),
            (Some(("b", Some("2"))), true),
            (Some(("a", None)), false),
            (Some(("b", None)), true),
        ] {
            assert_eq!(is_stranger(&volume(claim_ref), &claim), stranger, "{claim_ref:?}");
        }
    }
}
