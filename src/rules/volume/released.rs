//! Findings about Released volumes: for how long, and what speaks against their deletion.

use crate::cluster::{Cx, Placed, Seen};
use crate::drivers::Fate;
use crate::facts::{self, ClaimState, Owner, SharedStorage};
use crate::model::{
    Finding, Kind, ManagedField, Phase, ReclaimPolicy, Severity, SnapshotContent, Threshold, Trust,
    VerdictState, Volume,
};
use crate::remedies;
use crate::rules::{
    CapacityRisk, Judge, Rule,
    finding::{shown_uid, time},
};

/// F01: a volume with policy Retain is Released for longer than the threshold.
pub(super) static RELEASED_PAST_THRESHOLD: Rule = Rule {
    id: "pv-released-past-threshold",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume, Kind::PersistentVolumeClaim],
    remedies: &[&remedies::RECLAIM],
    title: "A volume with policy Retain has been Released for longer than the threshold",
    danger: "The claim does not exist, the backend volume does: it is billed until you reclaim it. Deleting the \
             PersistentVolume object instead leaves the backend volume behind, without its only record.",
    remedy: "Reclaiming sets the policy to Delete and waits until the volume's own provisioner has deleted the \
             backend volume and the object. It is refused unless the claim does not exist, no pod, node, attachment, \
             snapshot or other volume references it, its age can be trusted, and its provisioner is running. The tool \
             never deletes the object itself. If the data is needed, `kubectl storage rebind pv/NAME` gives the \
             volume back to a claim instead.",
    source: "KEP-3762 (lastPhaseTransitionTime); KEP-2644; external-provisioner controller, shouldDelete",
    judge: &[Judge::Volume(released_past_threshold)],
};

fn released_past_threshold(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let kept = volume.phase == Phase::Released
        && volume.reclaim_policy == ReclaimPolicy::Retain
        && volume.metadata.deleting.is_none();
    if !kept {
        return Ok(None);
    }
    let age = facts::phase_age(cx, volume);
    if !cx.older_than(&age, Threshold::OlderThan) || !facts::semantically_released(cx, volume)? {
        return Ok(None);
    }
    let claim = match facts::claim_state(cx, volume)? {
        ClaimState::Changed(_) => return Ok(None), // Its own claim exists.
        ClaimState::Recreated(claim) => {
            format!("another claim has its name, uid {}", shown_uid(claim.metadata.uid.as_ref()))
        }
        ClaimState::Live(_) => "bound to another volume".to_owned(),
        ClaimState::None | ClaimState::Reserved | ClaimState::Absent => "does not exist".to_owned(),
    };
    let mut finding = RELEASED_PAST_THRESHOLD
        .on_volume(
            cx,
            volume,
            "no longer bound to a claim; policy Retain keeps the backend volume until you reclaim it",
        )
        .aged(age)
        .shows("claim", claim);
    if let Some(secret) = &volume.deletion_secret {
        let named = match (&*secret.namespace, &*secret.name) {
            ("", "") => "<none>".to_owned(),
            (namespace, name) => format!("{namespace}/{name}"),
        };
        finding = finding.shows("volume.kubernetes.io/provisioner-deletion-secret", named);
    }
    let event = match facts::last_event(cx, volume, &[]) {
        Ok(Some(event)) => event.describe_with_reason(),
        Ok(None) => "<none>".to_owned(),
        Err(unseen) => unseen.reason,
    };
    finding = finding.shows("last event", event);
    if let Owner::Csi(driver) = facts::owner(volume) {
        for claimed in facts::claimed_versions(cx, &driver) {
            finding = finding.shows_of(&claimed.object, "claimed version", &*claimed.image);
        }
        finding = finding.shows_controller(&facts::provisioner(cx, &driver));
    }
    Ok(Some(finding.remedied_by(cx, volume, &remedies::RECLAIM)))
}

/// F02: a volume is Released since an unknown time.
pub(super) static RELEASED_UNKNOWN_AGE: Rule = Rule {
    id: "pv-released-unknown-age",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume],
    remedies: &[&remedies::RECLAIM],
    title: "A volume has been Released for an unknown time",
    danger: "Tools that use the creation time as age destroy volumes that were released a minute ago. The age is \
             unknown if the phase has not changed since the server learned to record it, if the record was removed, \
             or if managedFields were stripped.",
    remedy: "None by default. Reclaiming requires --include-unknown-age, which asserts that the age does not matter, \
             after the same checks as for volumes of a known age. The creation time is shown, never used.",
    source: "KEP-3762, notes on enabling the feature; apimachinery ManagedFieldsEntry",
    judge: &[Judge::Volume(released_unknown_age)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn released_unknown_age(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let age = facts::phase_age(cx, volume);
    let applies = volume.phase == Phase::Released
        && volume.reclaim_policy == ReclaimPolicy::Retain
        && age.trust == Trust::Unknown;
    if !applies {
        return Ok(None);
    }
    let version =
        cx.server().and_then(|server| server.git_version.as_deref()).unwrap_or("<unknown>");
    let finding = RELEASED_UNKNOWN_AGE
        .on_volume(cx, volume, "Released at an unknown time; the creation time is not used as age")
        .aged(age)
        .shows("server version", version)
        .shows("metadata.creationTimestamp (not an age)", time(volume.metadata.created));
    Ok(Some(finding.remedied_by(cx, volume, &remedies::RECLAIM)))
}

/// F03: the recorded time of the last phase change contradicts other evidence.
pub(super) static AGE_UNTRUSTED: Rule = Rule {
    id: "pv-age-untrusted",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume],
    remedies: &[],
    title: "The recorded time of a volume's last phase change cannot be true",
    danger: "Any user who may patch the status of volumes can write lastPhaseTransitionTime, and servers on which the \
             feature was off for a while keep an old value. A volume that was released a minute ago then looks unused \
             for a year.",
    remedy: "The tool uses the most recent reliable time as the age. The next change of phase rewrites the recorded \
             time.",
    source: "KEP-3762; persistentvolume strategy, PrepareForUpdate; apimachinery ManagedFieldsEntry",
    judge: &[Judge::Volume(age_untrusted)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn age_untrusted(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let Some(reason) = facts::untrusted_reason(cx, volume) else { return Ok(None) };
    let finding = AGE_UNTRUSTED
        .on_volume(
            cx,
            volume,
            "the recorded time of its last phase change cannot be trusted as its age",
        )
        .aged(facts::state_age(cx, volume))
        .shows("why lastPhaseTransitionTime cannot be true", reason)
        .shows("metadata.creationTimestamp", time(volume.metadata.created))
        .shows_manager(&volume.metadata, &ManagedField::Phase, "managers of status.phase")
        .shows_manager(
            &volume.metadata,
            &ManagedField::LastPhaseTransitionTime,
            "managers of status.lastPhaseTransitionTime",
        );
    Ok(Some(finding.report_only("the most recent reliable time is used as its age")))
}

/// F04: a volume references a claim that was deleted and recreated.
pub(super) static RELEASED_CLAIM_RECREATED: Rule = Rule {
    id: "pv-released-claim-recreated",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume, Kind::PersistentVolumeClaim, Kind::Pod],
    remedies: &[&remedies::REBIND],
    title: "A volume was bound to a claim that was deleted and recreated under the same name",
    danger: "The new claim looks like the old one, so its users believe that it has the old data. It does not: it \
             cannot bind this volume again, and gets another one, usually an empty one. Reclaiming the Released \
             volume then destroys the only copy.",
    remedy: "`kubectl storage rebind` gives the volume to the claim of that name, as long as that claim is not bound \
             to another volume, or with --to to a claim of another name. Reclaiming such a volume requires \
             --include-recreated, which asserts that the new claim does not need its data.",
    source: "pv_controller.go, isVolumeReleased and syncVolume",
    judge: &[Judge::Volume(released_claim_recreated)],
};

fn released_claim_recreated(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    if !matches!(volume.phase, Phase::Released | Phase::Bound) {
        return Ok(None);
    }
    let ClaimState::Recreated(claim) = facts::claim_state(cx, volume)? else { return Ok(None) };
    if claim.metadata.uid.is_none() {
        return Ok(None); // A dump made by hand does not tell which claim it is.
    }
    let released = volume.phase == Phase::Released;
    let summary = if released {
        "its claim was recreated: the new claim does not have the data of this volume"
    } else {
        "Bound to a claim that was recreated: the new claim does not have the data of this volume"
    };
    let object = claim.object();
    let finding = RELEASED_CLAIM_RECREATED
        .on_volume(cx, volume, summary)
        .aged(facts::state_age(cx, volume))
        .shows_of(&object, "metadata.uid", shown_uid(claim.metadata.uid.as_ref()))
        .shows_of(&object, "metadata.creationTimestamp", time(claim.metadata.created))
        .shows_of(&object, "status.phase", claim.phase.to_string())
        .shows_of(&object, "spec.volumeName", claim.volume_name.as_deref().unwrap_or("<none>"))
        .relates([object])
        .relates_pods_of(cx, claim);
    if released {
        let mut finding = finding.remedied_by(cx, volume, &remedies::REBIND);
        if finding.verdict.state == VerdictState::Fixable {
            facts::CLEAR_THE_UID.clone_into(&mut finding.verdict.reason);
        }
        return Ok(Some(finding));
    }
    let resync = cx.settings().thresholds.get(Threshold::Resync);
    let noticed_late = claim.metadata.created.is_some_and(|created| cx.passed(created, resync));
    Ok(Some(finding.report_only(if noticed_late {
        "the volume controller should have released it long ago; check whether kube-controller-manager is running"
    } else {
        "the volume controller releases it shortly; then decide whose data is needed"
    })))
}

/// F07: an Available, Released or Failed volume references the backend volume of another volume.
pub(super) static RELEASED_HANDLE_SHARED: Rule = Rule {
    id: "pv-released-handle-shared",
    severity: Severity::Critical,
    capacity_risk: CapacityRisk::Data,
    needs: facts::needs![deletion],
    remedies: &[&remedies::RETAIN],
    title: "An unbound volume references the backend volume of another PersistentVolume",
    danger: "It looks unused, so it may be reclaimed: that deletes the backend volume of the other one, too. If it is \
             Available, a claim can bind it, and two claims then write to one disk.",
    remedy: "Setting the policy of every member to Retain prevents that a provisioner deletes the backend volume. The \
             tool reclaims none of them. Once it is clear which object is the right one, the other one can be deleted \
             while its policy is Retain, which keeps the backend volume.",
    source: "CSI spec, Volume.volume_id; csi-translation-lib",
    judge: &[Judge::Volume(released_handle_shared)],
};

fn released_handle_shared(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let unused = matches!(volume.phase, Phase::Released | Phase::Failed | Phase::Available);
    if !unused {
        return Ok(None);
    }
    let others = cx.sharing(volume)?;
    if others.is_empty() {
        return Ok(None);
    }
    let Some(shared) = SharedStorage::of(cx, volume, &others) else { return Ok(None) };
    let phase = &volume.phase;
    let summary = match shared {
        SharedStorage::Perishable => format!(
            "{phase}; another PersistentVolume references the same backend volume: deleting {} may delete the data of both",
            if facts::may_destroy(cx, volume) { "this one" } else { "the other one" }
        ),
        SharedStorage::Device => format!(
            "{phase}; another PersistentVolume references the same backend volume; nothing deletes it"
        ),
        SharedStorage::FileSystem => {
            format!("{phase}; another PersistentVolume shares its storage; nothing deletes it")
        }
        SharedStorage::Doubtful => {
            format!("{phase}; another PersistentVolume may reference the same backend volume")
        }
    };
    let finding = RELEASED_HANDLE_SHARED
        .on_volume(cx, volume, summary)
        .severe(shared.severity())
        .aged(facts::state_age(cx, volume))
        .shows_sharing(&others);
    if shared == SharedStorage::Doubtful {
        return Ok(Some(finding.report_only(
            "compare them at the storage system before this one is deleted or bound",
        )));
    }
    if facts::may_destroy(cx, volume) {
        return Ok(Some(finding.remedied_by(cx, volume, &remedies::RETAIN)));
    }
    Ok(Some(finding.report_only(match facts::first_destroyer(cx, &others) {
        Some(other) => {
            format!("`kubectl storage retain {}` before anything else", other.object())
        }
        None => {
            "nothing deletes the backend volume; decide which object is the right one".to_owned()
        }
    })))
}

/// F08: snapshots of a Released or Failed volume exist or are being taken.
pub(super) static RELEASED_SNAPSHOT_DEPENDENT: Rule = Rule {
    id: "pv-released-snapshot-dependent",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: facts::needs![versions: PersistentVolume, VolumeSnapshotContent, VolumeGroupSnapshotContent],
    remedies: &[],
    title: "Snapshots depend on a volume whose claim does not exist",
    danger: "Deleting a volume while a snapshot of it is being taken ruins the snapshot. Some drivers destroy \
             finished snapshots with their volume, while the VolumeSnapshot still says that it is ready; other \
             drivers do not delete a volume that has snapshots, and it remains Released.",
    remedy: "Reclaiming is refused while a snapshot is being taken or restored. If snapshots are, or may be, \
             destroyed with the volume, it is refused without --destroy-snapshots; if they prevent its deletion, \
             delete them first. `kubectl storage explain driver/NAME` says what this driver does.",
    source: "CSI spec, DeleteVolume; external-snapshotter VolumeSnapshotContent",
    judge: &[Judge::Volume(released_snapshot_dependent)],
};

fn released_snapshot_dependent(cx: &Cx, volume: &Volume) -> Seen<Option<Finding>> {
    let without_claim = matches!(volume.phase, Phase::Released | Phase::Failed);
    if !without_claim {
        return Ok(None);
    }
    let snapshots = cx.snapshots_at(&volume.places())?.into_iter();
    let snapshots: Vec<_> = snapshots.map(|(snapshot, _)| snapshot).collect();
    if snapshots.is_empty() {
        return Ok(None);
    }
    let in_progress = snapshots.iter().any(|snapshot| snapshot.in_progress());
    let known = facts::provisioning_family(cx, volume, &facts::owner(volume)).snapshots;
    let fates: Vec<Fate> = snapshots.iter().map(|it| known.fate_of(it.handle.as_deref())).collect();
    let (severity, summary, reason) = if in_progress {
        (
            Severity::High,
            "a snapshot of it is being taken: deleting the volume now would ruin the snapshot",
            "wait until the snapshot is ready to use; if it never becomes ready, delete the VolumeSnapshot; reclaiming is refused until then".to_owned(),
        )
    } else if fates.contains(&Fate::Dies) {
        (
            Severity::High,
            "deleting it destroys its snapshots",
            format!("{}; gc refuses without --destroy-snapshots", known.note),
        )
    } else if fates.contains(&Fate::Unknown) {
        (
            Severity::Medium,
            "deleting it may destroy its snapshots",
            format!("{}; gc refuses without --destroy-snapshots", known.note),
        )
    } else if fates.contains(&Fate::Blocks) {
        (
            Severity::Info,
            "its driver does not delete it while it has snapshots",
            format!("{}; delete the snapshots first", known.note),
        )
    } else {
        (Severity::Info, "it has snapshots, which do not depend on it", known.note.to_owned())
    };
    let mut finding = RELEASED_SNAPSHOT_DEPENDENT
        .on_volume(cx, volume, summary)
        .severe(severity)
        .aged(facts::state_age(cx, volume));
    for snapshot in snapshots {
        finding = finding
            .shows_of(&snapshot.object(), "state", state(snapshot))
            .relates([snapshot.object()]);
    }
    Ok(Some(finding.report_only(reason)))
}

fn state(snapshot: &SnapshotContent) -> String {
    let ready = if snapshot.ready { "ready to use" } else { "not ready to use" };
    let created = if snapshot.being_created { ", being created" } else { "" };
    let policy = snapshot.deletion_policy.as_deref().unwrap_or("<none>");
    let owner = snapshot
        .snapshot
        .as_ref()
        .map_or_else(|| "<none>".to_owned(), |(namespace, name)| format!("{namespace}/{name}"));
    format!("{ready}{created}, deletion policy {policy}, of snapshot {owner}")
}
