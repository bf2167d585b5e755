//! `--snapshot-first`: a snapshot of a claim before it is deleted, with all its checks.
//!
//! Its name is fixed with the plan. So the proposal that is made again after the snapshot was taken
//! finds it: then it is the rest, or refuses where the snapshot is not what was wanted.

use serde_json::json;

use super::checks::{self, Checked};
use crate::cluster::{Cx, Seen};
use crate::drivers::{Family, Fate};
use crate::facts;
use crate::model::{
    Action, BackendKey, Claim, ClaimKey, ControllerState, Kind, Liveness, ObjectKey, ObjectRef,
    Phase, Proposal, SNAPSHOT_CLAIM_UID, SnapshotClass, SnapshotContent, SnapshotFirst, Text, Time,
    Volume, VolumeSnapshot,
};

/// The kinds that the snapshot needs besides those of the deletion.
pub const NEEDS: &[Kind] =
    &[Kind::VolumeSnapshot, Kind::VolumeSnapshotContent, Kind::VolumeSnapshotClass];

/// The longest name in the API (RFC 1123 subdomain).
const LONGEST: usize = 253;

/// The snapshot that precedes the deletion of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FirstSnapshot {
    /// The object of the snapshot, which may not exist yet.
    pub(super) snapshot: ObjectRef,
    /// The step that creates the snapshot; `None` where it is ready.
    pub(super) step: Option<Action>,
    /// Notices for the user.
    pub(super) notices: Vec<String>,
}

/// Puts the snapshot before everything else in a proposal.
pub(super) fn before(first: Option<FirstSnapshot>, mut proposal: Proposal) -> Proposal {
    let Some(FirstSnapshot { snapshot, step, notices }) = first else { return proposal };
    if let Some(step) = step {
        proposal.steps.insert(0, step);
        let what = &proposal.effect.what;
        proposal.effect.what = format!(
            "creates {snapshot} and waits until it is ready to use, then {what}; the snapshot remains, also after `undo`"
        );
    }
    proposal.notices.extend(notices);
    proposal
}

/// Returns the suffix of the names of snapshots that are planned at a time.
pub fn stamp(planned: Time) -> Text {
    planned.format("%Y%m%d-%H%M%S").to_string().into()
}

/// Returns the key of the snapshot that is taken of a claim before it is deleted.
pub fn key(wanted: &SnapshotFirst, claim: &ObjectRef) -> ObjectKey {
    ObjectKey {
        kind: Kind::VolumeSnapshot,
        namespace: claim.key.namespace.clone(),
        name: name(wanted, claim).into(),
    }
}

/// Returns the name of the snapshot: that of the claim, cut if it is too long, with a part of the claim's uid then.
fn name(wanted: &SnapshotFirst, claim: &ObjectRef) -> String {
    let end = format!("-before-delete-{}", wanted.stamp);
    let whole = &*claim.key.name;
    if whole.len() + end.len() <= LONGEST {
        return format!("{whole}{end}");
    }
    let uid = claim.uid.as_ref().map(ToString::to_string).unwrap_or_default();
    let uid: String = uid.chars().filter(char::is_ascii_hexdigit).take(8).collect();
    let end = format!("-{uid}{end}");
    let cut: String = whole.chars().take(LONGEST - end.len()).collect();
    // Each part between dots begins and ends with a letter or a digit.
    format!("{}{end}", cut.trim_end_matches(['.', '-']))
}

/// Proposes the snapshot of a claim that is to be deleted; `None` where none is wanted. `destroys`:
/// the backend volume is deleted with the claim.
///
/// # Errors
/// When an object was not read on which the decision rests.
pub(super) fn propose(
    cx: &Cx,
    claim: &Claim,
    volume: Option<&Volume>,
    destroys: bool,
) -> Seen<Result<Option<FirstSnapshot>, String>> {
    let Some(wanted) = &cx.settings().snapshot_first else { return Ok(Ok(None)) };
    if wanted.stamp.is_empty() {
        return Ok(Err("the name of its snapshot contains the API server's time, which was not \
                       read"
            .to_owned()));
    }
    for kind in NEEDS {
        let namespace = Some(&claim.namespace).filter(|_| kind.is_namespaced());
        if !cx.serves(*kind, namespace)? {
            return Ok(Err(format!(
                "--snapshot-first requires {}, which the API server does not serve: the CRDs of \
                 external-snapshotter are not installed",
                kind.plural()
            )));
        }
    }
    let Some(volume) = volume else {
        return Ok(Err(
            "it is not bound to a PersistentVolume, so no snapshot of it can be taken".to_owned()
        ));
    };
    let Some(driver) = volume.source.driver() else {
        return Ok(Err(format!(
            "{} is not a CSI volume, and only CSI drivers take VolumeSnapshots",
            volume.object()
        )));
    };
    let key = key(wanted, &claim.object());
    let snapshot = ObjectRef { key, uid: None };
    let taken = cx.volume_snapshot(&claim.namespace, &snapshot.key.name)?;
    let family = facts::provisioning_family(cx, volume, &facts::owner(volume));
    let mut first = FirstSnapshot { snapshot, step: None, notices: Vec::new() };
    if let Some(taken) = taken {
        // Its notices were said with the plan, when its handle was not known yet.
        checks::all!(saves(cx, &claim.object(), volume, driver, taken, destroys)?);
        return Ok(Ok(Some(first)));
    }
    let fate = family.snapshots.fate;
    if destroys && fate == Fate::Unknown && family.snapshots.of_handle.is_some() {
        first.notices.push(format!(
            "{driver} has snapshots that are destroyed with their volume, and others: if this is \
             one of the former, it is not deleted after the snapshot was taken"
        ));
    } else {
        checks::all!(outlives(volume, driver, family, fate, destroys, &mut first.notices));
    }
    let class = match class(&cx.snapshot_classes()?, wanted.class.as_deref(), driver) {
        Ok(class) => class,
        Err(reason) => return Ok(Err(reason)),
    };
    checks::all!(
        at_work("snapshot-controller", &facts::snapshotter(cx)),
        at_work(&format!("csi-snapshotter of {driver}"), &facts::csi_snapshotter(cx, driver)),
    );
    if class.deletion_policy.as_deref() != Some("Retain") {
        first.notices.push(format!(
            "the deletion policy of {} is Delete: deleting {}, or its namespace, destroys the \
             snapshot",
            class.object(),
            first.snapshot
        ));
    }
    first.step = Some(create(cx, claim, &first.snapshot, class));
    Ok(Ok(Some(first)))
}

/// Whether a snapshot is the one that is taken of the claim of a volume before it is deleted. Then
/// its checks are here.
pub(super) fn is_taken_first(cx: &Cx, volume: &Volume, snapshot: &SnapshotContent) -> bool {
    let (Some(wanted), Some(claim)) = (&cx.settings().snapshot_first, former_claim(volume)) else {
        return false;
    };
    let key = key(wanted, &claim);
    let of = snapshot.snapshot.as_ref();
    of.is_some_and(|(namespace, name)| {
        key.namespace.as_ref() == Some(namespace) && key.name == *name
    })
}

/// Refuses to destroy the data of a deleted claim unless the snapshot that was to be taken first is still ready.
///
/// # Errors
/// When an object was not read on which the decision rests.
pub(super) fn remains(cx: &Cx, volume: &Volume) -> Seen<Checked> {
    let Some(wanted) = &cx.settings().snapshot_first else { return Ok(Ok(())) };
    if volume.phase == Phase::Bound {
        return Ok(Ok(())); // The deletion of its claim comes first, with this check.
    }
    let (Some(claim), Some(driver)) = (former_claim(volume), volume.source.driver()) else {
        return Ok(Err("unknown of which claim a snapshot was taken first".to_owned()));
    };
    let key = key(wanted, &claim);
    let namespace = key.namespace.clone().unwrap_or_else(|| "".into());
    match cx.volume_snapshot(&namespace, &key.name)? {
        Some(taken) => saves(cx, &claim, volume, driver, taken, true),
        None => Ok(Err(format!("{key}, which was to be taken first, does not exist"))),
    }
}

/// Returns the claim that a volume references.
fn former_claim(volume: &Volume) -> Option<ObjectRef> {
    let claim = volume.claim_ref.as_ref()?;
    let ClaimKey { namespace, name } = &claim.key;
    let key = ObjectKey::named(Kind::PersistentVolumeClaim, namespace, name);
    Some(ObjectRef { key, uid: claim.uid.clone() })
}

/// Refuses unless a snapshot that was taken is ready, and outlives the deletion of the volume's data.
fn saves(
    cx: &Cx,
    claim: &ObjectRef,
    volume: &Volume,
    driver: &Text,
    taken: &VolumeSnapshot,
    destroys: bool,
) -> Seen<Checked> {
    let content = match content_of(cx, claim, volume, taken, driver)? {
        Ok(content) => content,
        Err(reason) => return Ok(Err(reason)),
    };
    let family = facts::provisioning_family(cx, volume, &facts::owner(volume));
    let fate = family.snapshots.fate_of(content.handle.as_deref());
    Ok(outlives(volume, driver, family, fate, destroys, &mut Vec::new()))
}

/// Returns the content of the snapshot that was taken, or why it is not the wanted one.
fn content_of<'a>(
    cx: &Cx<'a>,
    claim: &ObjectRef,
    volume: &Volume,
    taken: &VolumeSnapshot,
    driver: &Text,
) -> Seen<Result<&'a SnapshotContent, String>> {
    let object = taken.object();
    let of_claim = taken.taken_of.is_some() && taken.taken_of == claim.uid;
    if !of_claim || taken.source_claim.as_deref() != Some(&*claim.key.name) {
        return Ok(Err(format!("{object} exists already, and was not taken of it for this")));
    }
    if taken.metadata.deleting.is_some() {
        return Ok(Err(format!("{object}, which was taken of it, is Terminating")));
    }
    let not_ready = |why: &str| {
        let error = taken.error.as_ref().map_or_else(String::new, |it| format!("; error: {it}"));
        Ok(Err(format!("{object} is not ready to use: {why}{error}")))
    };
    let Some(name) = taken.content.as_deref() else {
        return not_ready("it is not bound to a VolumeSnapshotContent");
    };
    cx.all_of(Kind::VolumeSnapshotContent)?;
    let mut contents = cx.cluster().snapshots().map(|(_, row)| row);
    let found = contents.find(|row| {
        row.kind == Kind::VolumeSnapshotContent
            && *row.metadata.name == *name
            && row.snapshot_uid.is_some()
            && row.snapshot_uid == taken.metadata.uid
    });
    let Some(content) = found else {
        return not_ready(&format!("VolumeSnapshotContent {name} is not bound to it"));
    };
    if !taken.ready || content.in_progress() || content.metadata.deleting.is_some() {
        return not_ready(&format!("{} is not", content.object()));
    }
    if content.handle.is_none() || content.driver != *driver {
        return not_ready(&format!("{} references no snapshot of {driver}", content.object()));
    }
    // A claim of the same name may have been created again before snapshot-controller looked at it.
    let of_volume = |it: BackendKey| volume.backend.as_ref() == Some(&it);
    if !content.backends().any(of_volume) {
        let (content, pv) = (content.object(), volume.object());
        return Ok(Err(format!("{content}, of {object}, was not taken of {pv}")));
    }
    Ok(Ok(content))
}

/// Refuses where the snapshot would not outlive the data, or would keep the data from being destroyed.
fn outlives(
    volume: &Volume,
    driver: &Text,
    family: &Family,
    fate: Fate,
    destroys: bool,
    notices: &mut Vec<String>,
) -> Checked {
    let (pv, note) = (volume.object(), family.snapshots.note);
    let kept = "--keep-data keeps both";
    match (fate, destroys) {
        (Fate::None, _) => Err(format!("{driver} takes no snapshots ({note})")),
        (Fate::Independent, _) => Ok(()),
        (Fate::Dies, true) => Err(format!(
            "a snapshot does not save the data: snapshots of {driver} are destroyed with their \
             volume ({note}); {kept}"
        )),
        (Fate::Unknown, true) => Err(format!(
            "unknown whether snapshots of {driver} outlive their volume ({note}); {kept}"
        )),
        (Fate::Blocks, true) => Err(format!(
            "{pv} would remain Released: {driver} deletes no volume that has snapshots ({note}); \
             {kept}"
        )),
        (Fate::Dies, false) => {
            notices.push(format!(
                "a later deletion of the backend volume of {pv} destroys the snapshot too ({note})"
            ));
            Ok(())
        }
        (Fate::Unknown, false) => {
            notices.push(format!(
                "unknown whether the snapshot outlives the backend volume of {pv} ({note})"
            ));
            Ok(())
        }
        (Fate::Blocks, false) => {
            notices.push(format!(
                "the snapshot blocks a later deletion of the backend volume of {pv} ({note})"
            ));
            Ok(())
        }
    }
}

/// Returns the class of the snapshot: the named one, else the default of the driver, as
/// snapshot-controller chooses it (`SetDefaultSnapshotClass`).
fn class<'a>(
    all: &[&'a SnapshotClass],
    wanted: Option<&str>,
    driver: &Text,
) -> Result<&'a SnapshotClass, String> {
    let of_driver: Vec<_> = all.iter().copied().filter(|it| it.driver == *driver).collect();
    let names = |classes: &[&SnapshotClass]| {
        classes.iter().map(|it| &*it.metadata.name).collect::<Vec<_>>().join(", ")
    };
    let choice = match &*of_driver {
        [] => format!("no VolumeSnapshotClass of {driver} exists"),
        some => format!("VolumeSnapshotClasses of {driver}: {}", names(some)),
    };
    if let Some(wanted) = wanted {
        let found = all.iter().copied().find(|it| &*it.metadata.name == wanted);
        return match found {
            Some(class) if class.driver == *driver => Ok(class),
            Some(class) => Err(format!(
                "the driver of {} is {}, and that of the volume is {driver}; {choice}",
                class.object(),
                class.driver
            )),
            None => Err(format!("VolumeSnapshotClass {wanted} does not exist; {choice}")),
        };
    }
    let defaults: Vec<_> = of_driver.iter().copied().filter(|it| it.is_default).collect();
    match &*defaults {
        [class] => Ok(class),
        [] if of_driver.is_empty() => Err(format!("no snapshot can be taken: {choice}")),
        [] => Err(format!(
            "no VolumeSnapshotClass of {driver} is the default, so that --snapshot-first requires \
             --snapshot-class; {choice}"
        )),
        several => Err(format!(
            "several VolumeSnapshotClasses of {driver} are the default ({}), so that \
             --snapshot-first requires --snapshot-class; {choice}",
            names(several)
        )),
    }
}

/// Refuses where a controller that a snapshot needs is known not to run. One of which nothing was seen may be hidden by
/// the control plane.
fn at_work(who: &str, state: &ControllerState) -> Checked {
    let stopped = match state.liveness {
        Liveness::Absent => Some(&state.because),
        Liveness::Alive | Liveness::Unknown => state.stopped.as_ref(),
    };
    match stopped {
        Some(why) => Err(format!("{who} is not running, so no snapshot would be taken: {why}")),
        None => Ok(()),
    }
}

fn create(cx: &Cx, claim: &Claim, snapshot: &ObjectRef, class: &SnapshotClass) -> Action {
    let kind = snapshot.key.kind;
    let manifest = json!({
        "apiVersion": format!("{}/{}", kind.group().name, cx.cluster().version_of(kind)),
        "kind": kind.name(),
        "metadata": {
            "name": &*snapshot.key.name,
            "namespace": &*claim.namespace,
            "annotations": {
                SNAPSHOT_CLAIM_UID: claim.metadata.uid.as_ref().map(ToString::to_string),
            },
        },
        "spec": {
            "volumeSnapshotClassName": &*class.metadata.name,
            "source": {"persistentVolumeClaimName": &*claim.metadata.name},
        },
    });
    Action::CreateSnapshot { snapshot: snapshot.clone(), claim: claim.object(), manifest }
}

#[cfg(test)]
mod tests;
