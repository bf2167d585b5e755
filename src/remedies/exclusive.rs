//! Whether a driver may be told to delete a volume: what it would destroy, whether that is what the
//! volume uses, and whether anything else uses it (R-DRV-1 to R-DRV-4, R-DRV-9, R-DRV-10); and what
//! becomes of the snapshots and the clones of a volume that is to be deleted (R-DRV-5).

use super::{
    DELETED_AT_ONCE,
    checks::{self, Checked, ReliedFlags},
    keep_backend, snapshot_first,
};
use crate::cluster::{Cx, NamedBeyond, Placed, Seen};
use crate::drivers::{self, Destruction, Family, Fate, Place, Reach, Reference};
use crate::facts::{self, Copied, Nearness, Owner};
use crate::model::{ClaimPhase, SnapshotContent, SnapshotSource, Text, Undo, Volume};

/// Number of objects that a reason names at most.
const NAMED: usize = 5;

/// A driver that may be told to delete a volume.
pub(super) struct Clearance {
    /// The action of the driver, in words that follow its name.
    pub(super) what: String,
    /// Whether the driver leaves the data.
    pub(super) keeps_data: bool,
    /// Notices for the user.
    pub(super) notices: Vec<String>,
}

impl Clearance {
    /// Returns the action of the driver on the volume and on the object, in words that follow its name.
    pub(super) fn with_object(&self, object: &str) -> String {
        match self.keeps_data {
            true => format!("{}, and deletes {object}", self.what),
            false => format!("{} and {object}", self.what),
        }
    }

    /// Returns the risk of the deletion.
    pub(super) const fn risk(&self) -> &'static str {
        if self.keeps_data { checks::DATA_KEPT } else { checks::DATA_LOSS }
    }

    /// Returns the reason why the deletion cannot be undone.
    pub(super) const fn undo(&self) -> Undo {
        Undo::Never(if self.keeps_data { KEPT_AT_ONCE } else { DELETED_AT_ONCE })
    }
}

/// Reason why the deletion of a volume whose driver leaves the data cannot be undone.
pub const KEPT_AT_ONCE: &str =
    "its controller acts immediately; the data remains at the storage system";

/// The flag with which the user asserts that nothing else uses the storage of a volume.
const FLAG: &str = "--backend-exclusive";
/// The flag with which the user asserts that the clusters that are read beside this one are all there are.
const ALL_CLUSTERS: &str = "--all-clusters";

/// Refuses unless the driver of a volume would destroy the storage that the volume uses, and nothing
/// that anything else uses. The volume called `besides` is on its way out; the one called `named` is
/// what the user knows, where this is a placeholder for it.
///
/// # Errors
/// When an object was not read on which this rests.
pub(super) fn clearance(
    cx: &Cx,
    volume: &Volume,
    owner: &Owner,
    besides: Option<&str>,
    named: Option<&str>,
    relies_on: &mut ReliedFlags,
) -> Seen<Result<Clearance, String>> {
    let word = Word::of(cx, volume, owner, named.or(besides));
    let mut clearance = Clearance { what: String::new(), keeps_data: false, notices: Vec::new() };
    let name = owner.name();
    let destruction = match facts::destruction(cx, volume, owner)? {
        Ok(destruction) => destruction,
        Err(reason) => return Ok(Err(reason)),
    };
    let places = match &destruction {
        Destruction::Storage { places, what } => {
            clearance.what = format!("deletes {what}");
            places.clone()
        }
        Destruction::Kept { places, what } => {
            clearance.what = what.clone().into_owned();
            clearance.keeps_data = true;
            places.clone()
        }
        Destruction::Nothing(why) => {
            let keep = (keep_backend::REMEDY.command)(cx, volume).unwrap_or_default();
            return Ok(Err(format!(
                "{name} would answer OK without deleting anything, since {why}; `kubectl storage {keep}` \
                 deletes the object and records the backend volume"
            )));
        }
        Destruction::Fails(why) if matches!(owner, Owner::StaticInTree(_)) => {
            return Ok(Err(why.clone().into_owned()));
        }
        Destruction::Fails(why) => {
            return Ok(Err(format!("{name} cannot delete it: {why}; it would remain Released")));
        }
        Destruction::Undecided(why) => {
            "deletes what its volume handle references".clone_into(&mut clearance.what);
            let doubt = format!("unknown what {name} would delete: {why}");
            word.stands_for(&doubt, relies_on);
            volume.places().into_iter().map(Place::into_owned).collect()
        }
    };
    let differs = || differs(volume, &places, &clearance.what, name);
    let doubt = match facts::same_storage(volume, &places) {
        facts::Sameness::Same => None,
        facts::Sameness::Unclear => {
            Some(format!("{}, and it is unknown whether these are the same", differs()))
        }
        facts::Sameness::More => {
            Some(format!("{}, and it is unknown what else that contains", differs()))
        }
        facts::Sameness::Different => return Ok(Err(differs())),
    };
    if let Some(doubt) = doubt {
        word.stands_for(&doubt, relies_on);
    }
    if let Some(class) = facts::recreated_class(cx, volume, owner) {
        clearance.notices.push(format!(
            "{name} reads {} as it is now, which was created after the volume",
            class.object()
        ));
    }
    facts::kept_record_read(cx)?;
    let neighbours = facts::neighbours(cx, volume, &places, besides)?;
    // Of those that are not told one by one, there may be none beside them that count.
    let listed = |nearness: Nearness, untold: usize, are_all: bool| {
        let mut near = neighbours.found.iter().filter(|it| it.nearness == nearness);
        let named: Vec<_> =
            near.by_ref().take(NAMED).map(|it| format!("{} {}", it.who, it.how)).collect();
        let more = near.count() + untold;
        let least = if are_all { "" } else { "at least " };
        match (named.is_empty(), more) {
            (true, 0) if are_all => None,
            (true, _) => Some("other PersistentVolumes name the same storage, or may".to_owned()),
            (false, 0) => Some(named.join(", ")),
            (false, more) => Some(format!("{}, and {least}{more} more", named.join(", "))),
        }
    };
    if let Some(others) = listed(Nearness::Proven, neighbours.proven, true) {
        return Ok(Err(others));
    }
    if let Some(others) = listed(Nearness::Possible, 0, neighbours.are_all) {
        word.stands_for(&others, relies_on);
    }
    let notable = neighbours.found.iter().filter(|it| it.nearness == Nearness::Notable);
    clearance.notices.extend(notable.map(|it| format!("{} {}", it.who, it.how)));
    if volume.places().iter().any(Place::is_reached_by_name) {
        clearance.notices.push(
            "other clusters and machines may use the same server or storage cluster; the tool \
             cannot check them"
                .to_owned(),
        );
    }
    if let Err(others) = named_beside(cx, volume, &places, &word, relies_on)? {
        return Ok(Err(others));
    }
    let marks = facts::marks_of_others(volume);
    let restored =
        "Velero restored it, so another cluster may have a PersistentVolume of the same storage";
    for doubt in marks.restored.then(|| restored.to_owned()).into_iter().chain(copied(cx, volume)) {
        word.stands_for_other_clusters(cx, volume, &doubt, relies_on);
    }
    if let Some(keeper) = marks.kept_by {
        clearance
            .notices
            .push(format!("{keeper} manages the object, and may revert its policy or recreate it"));
    }
    Ok(Ok(clearance))
}

/// Requires the user's assertion, by the name of the volume, that nothing else uses the storage of a statically
/// provisioned CSI volume (R-DRV-10).
pub(super) fn made_here(
    cx: &Cx,
    volume: &Volume,
    owner: &Owner,
    relies_on: &mut ReliedFlags,
) -> Checked {
    match owner.csi().is_some() && facts::is_static(volume) {
        true => Word::of(cx, volume, owner, None).stands_for_static(cx, relies_on),
        false => Ok(()),
    }
}

/// Requires the user's assertion for a volume that may be a copy of one in another cluster (R-DRV-9).
pub(super) fn is_no_copy(cx: &Cx, volume: &Volume, owner: &Owner, relies_on: &mut ReliedFlags) {
    if let Some(doubt) = copied(cx, volume) {
        Word::of(cx, volume, owner, None).stands_for_other_clusters(cx, volume, &doubt, relies_on);
    }
}

/// Refuses what the clusters that are read beside this one name, and requires the user's assertion for what they may
/// name (semantics K.4).
///
/// # Errors
/// When one of them was not read.
fn named_beside(
    cx: &Cx,
    volume: &Volume,
    places: &[Place<'_>],
    word: &Word,
    relies_on: &mut ReliedFlags,
) -> Seen<Checked> {
    let named = beside(cx, volume, places)?;
    if let Err(others) = certainly(&named) {
        return Ok(Err(others));
    }
    if let Some((cluster, it)) = named.first() {
        word.stands_for(&facts::lies_beyond(cluster, it), relies_on);
    }
    Ok(Ok(()))
}

/// Refuses what a cluster beside this one names, or may name.
///
/// # Errors
/// When one of them was not read.
pub(super) fn not_named_beside(cx: &Cx, volume: &Volume) -> Seen<Checked> {
    let named = beside(cx, volume, &volume.places())?;
    let first = named.first().map(|(cluster, it)| Err(facts::lies_beyond(cluster, it)));
    Ok(certainly(&named).and(first.unwrap_or(Ok(()))))
}

/// Refuses what is certainly named.
fn certainly(named: &[(&Text, NamedBeyond<'_>)]) -> Checked {
    let certain = named.iter().filter(|(_, it)| it.doubt.is_none());
    let certain: Vec<_> = certain.map(|(cluster, it)| facts::lies_beyond(cluster, it)).collect();
    let more = match certain.len() {
        0 => return Ok(()),
        all => all.saturating_sub(NAMED),
    };
    let more = if more == 0 { String::new() } else { format!(", and {more} more") };
    Err(format!("{}{more}", certain[..certain.len().min(NAMED)].join(", ")))
}

/// Returns what the clusters that are read beside this one name of the storage of a volume.
///
/// # Errors
/// When one of them was not read.
fn beside<'a>(
    cx: &Cx<'a>,
    volume: &Volume,
    places: &[Place<'_>],
) -> Seen<Vec<(&'a Text, NamedBeyond<'a>)>> {
    let (Some(beside), Some(backend)) = (cx.cluster().beside(), &volume.backend) else {
        return Ok(Vec::new());
    };
    let reference = Reference::of(backend, &volume.attributes);
    match reference.reach() {
        Reach::Cluster => Ok(Vec::new()),
        _ => beside.naming(&reference, places),
    }
}

/// Returns the reason why a volume may be a copy.
fn copied(cx: &Cx, volume: &Volume) -> Option<String> {
    const COPY: &str =
        "it may be a copy, and another cluster may have a PersistentVolume of the same storage";
    Some(match facts::copied(cx, volume)? {
        Copied::NamedFor(uid) => format!(
            "its name holds the uid of claim {uid}, and its claimRef has another one: {COPY}"
        ),
        Copied::Applied => {
            format!(
                "its claimRef was applied by a client, and its provisioner has written nothing: {COPY}"
            )
        }
    })
}

/// Describes the difference between the storage that pods mount and the storage that the driver destroys.
fn differs(volume: &Volume, destroyed: &[Place<'_>], what: &str, driver: &str) -> String {
    let shown = |places: &[Place<'_>]| {
        places.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
    };
    format!("pods mount {}, but {driver} {what} ({})", shown(&volume.places()), shown(destroyed))
}

/// The user's assertions about the storage of a volume.
struct Word<'a> {
    volume: &'a str,
    driver: &'a str,
    /// Whether the user named this volume.
    of_volume: bool,
    /// Whether the user named the driver, for all its volumes.
    of_driver: bool,
}

impl<'a> Word<'a> {
    fn of(cx: &Cx, volume: &'a Volume, owner: &'a Owner, named: Option<&'a str>) -> Self {
        let said = |name: &str| cx.settings().backend_exclusive.contains(name);
        // A placeholder stands for the volume that it follows.
        let name = named.unwrap_or(volume.name());
        Self {
            volume: name,
            driver: owner.name(),
            of_volume: said(&format!("pv/{name}")),
            of_driver: said(owner.name()),
        }
    }

    /// Requires the user's assertion that nothing else uses the storage, for a reason that is only a doubt.
    fn stands_for(&self, doubt: &str, relies_on: &mut ReliedFlags) {
        if self.of_volume || self.of_driver {
            relies_on.rely(FLAG);
            return;
        }
        let (volume, driver) = (self.volume, self.driver);
        let lifts = format!(
            "{FLAG} pv/{volume}, or {driver} for all its volumes, asserts that nothing else uses \
             this storage"
        );
        relies_on.lack(FLAG, doubt, lifts);
    }

    /// Requires the same for a volume of which another cluster may have a copy, unless it was compared with all clusters
    /// that can.
    fn stands_for_other_clusters(
        &self,
        cx: &Cx,
        volume: &Volume,
        doubt: &str,
        relies_on: &mut ReliedFlags,
    ) {
        let is_compared = || {
            let backend = volume.backend.as_ref();
            let reach = backend.map(|it| Reference::of(it, &volume.attributes).reach());
            reach.is_some_and(|it| it != Reach::Cluster)
        };
        match cx.cluster().beside() {
            Some(beside) if beside.are_all && is_compared() => relies_on.rely(ALL_CLUSTERS),
            _ => self.stands_for(doubt, relies_on),
        }
    }

    /// Refuses to destroy storage that the cluster did not provision, unless the user named this volume.
    fn stands_for_static(&self, cx: &Cx, relies_on: &mut ReliedFlags) -> Checked {
        // kubernetes#125767: before, kube-controller-manager may set it Failed first.
        if cx.server().and_then(|server| server.at_least(1, 31)) != Some(true) {
            return Err("before Kubernetes 1.31, a statically provisioned volume can become \
                        Failed instead of being deleted (kubernetes#125767)"
                .to_owned());
        }
        if self.of_volume {
            relies_on.rely(FLAG);
            return Ok(());
        }
        relies_on.lack(
            FLAG,
            "it is statically provisioned, and its storage may belong to others",
            format!("{FLAG} pv/{} asserts that nothing else uses this storage", self.volume),
        );
        Ok(())
    }
}

/// The flag with which the user gives up snapshots.
const SNAPSHOT_FLAG: &str = "--destroy-snapshots";
const ALLOWS: &str = "--destroy-snapshots allows that";

/// Refuses where a snapshot is being taken, or keeps the driver from deleting the volume, and requires the user's flag
/// where one would be destroyed. Others add a notice.
///
/// # Errors
/// When an object was not read on which this rests.
pub(super) fn allow_deletion(
    cx: &Cx,
    volume: &Volume,
    owner: &Owner,
    notices: &mut Vec<String>,
    relies_on: &mut ReliedFlags,
) -> Seen<Checked> {
    let family = facts::provisioning_family(cx, volume, owner);
    checks::all!(snapshot_first::remains(cx, volume)?);
    for (snapshot, overlap) in cx.snapshots_at(&volume.places())? {
        let of = if overlap.is_certain() { "of it" } else { "of what may be the same storage" };
        checks::all!(one(cx, volume, (snapshot, of), family, notices, relies_on)?);
    }
    for snapshot in told_by_family(cx, volume, owner.name(), family) {
        checks::all!(one(cx, volume, (snapshot, "of it"), family, notices, relies_on)?);
    }
    let may_die = matches!(family.snapshots.fate, Fate::Dies | Fate::Unknown);
    if may_die || family.snapshots.of_handle.is_some() {
        pre_provisioned(cx, owner.name(), family, relies_on);
    }
    clones(cx, volume, family, relies_on)
}

/// Returns the snapshots of a driver of unknown name whose handles, as its family writes them, name this volume.
fn told_by_family<'a>(
    cx: &Cx<'a>,
    volume: &Volume,
    driver: &Text,
    family: &Family,
) -> Vec<&'a SnapshotContent> {
    let volume_of = family.snapshots.volume_of_handle;
    let volume_of = volume_of.filter(|_| drivers::is_unknown(drivers::family(driver)));
    let (Some(volume_of), Some(backend)) = (volume_of, &volume.backend) else { return Vec::new() };
    let names_it =
        |handle: &str| volume_of(handle).is_some_and(|it| it.eq_ignore_ascii_case(&backend.handle));
    let rows = cx.cluster().snapshots().map(|(_, row)| row);
    rows.filter(|row| row.source == SnapshotSource::Existing && row.driver == *driver)
        .filter(|row| row.handle.as_deref().is_some_and(names_it))
        .collect()
}

fn one(
    cx: &Cx,
    volume: &Volume,
    (snapshot, of): (&SnapshotContent, &str),
    family: &drivers::Family,
    notices: &mut Vec<String>,
    relies_on: &mut ReliedFlags,
) -> Seen<Checked> {
    let object = snapshot.object();
    if snapshot.in_progress() {
        return Ok(Err(format!("{object} is being taken {of}")));
    }
    if let Some(restore) = pending_restore(cx, snapshot)? {
        return Ok(Err(format!("{restore} is being restored from {object}, a snapshot {of}")));
    }
    if snapshot_first::is_taken_first(cx, volume, snapshot) {
        return Ok(Ok(()));
    }
    let note = family.snapshots.note;
    Ok(match family.snapshots.fate_of(snapshot.handle.as_deref()) {
        Fate::Independent | Fate::None => {
            notices.push(format!("{object} was taken {of}, and remains"));
            Ok(())
        }
        Fate::Blocks => Err(format!(
            "{object} was taken {of}, and the driver deletes no volume that has snapshots \
             ({note}); delete the snapshot first"
        )),
        fate @ (Fate::Dies | Fate::Unknown) => {
            let verb = if fate == Fate::Dies { "is destroyed" } else { "may be destroyed" };
            if cx.settings().destroy_snapshots {
                relies_on.rely(SNAPSHOT_FLAG);
                notices.push(format!("{object} {verb} with {}", volume.object()));
                Ok(())
            } else {
                let why = format!("{object} {verb} with it ({note})");
                relies_on.lack(SNAPSHOT_FLAG, why, ALLOWS);
                Ok(())
            }
        }
    })
}

/// Requires `--destroy-snapshots` where a snapshot, whose volume is unknown, may be destroyed.
fn pre_provisioned(cx: &Cx, driver: &Text, family: &drivers::Family, relies_on: &mut ReliedFlags) {
    let decodes = |row: &SnapshotContent| {
        let volume_of = family.snapshots.volume_of_handle;
        volume_of.zip(row.handle.as_deref()).and_then(|(of, handle)| of(handle)).is_some()
    };
    let unclear = cx.cluster().snapshots().map(|(_, row)| row).find(|row| {
        let survives = || {
            let fate = family.snapshots.fate_of(row.handle.as_deref());
            matches!(fate, Fate::Independent | Fate::None)
        };
        let is_its = row.driver == *driver && row.source == SnapshotSource::Existing;
        is_its && !decodes(row) && !survives()
    });
    match unclear {
        None => {}
        Some(_) if cx.settings().destroy_snapshots => relies_on.rely(SNAPSHOT_FLAG),
        Some(row) => {
            let why = format!(
                "unknown which volume {} was taken of: it may be destroyed with this one",
                row.object()
            );
            relies_on.lack(SNAPSHOT_FLAG, why, ALLOWS);
        }
    }
}

/// Returns a claim that waits for a restore from a snapshot.
fn pending_restore(cx: &Cx, snapshot: &SnapshotContent) -> Seen<Option<String>> {
    let Some((namespace, name)) = &snapshot.snapshot else { return Ok(None) };
    let claims = cx.claims_restored_from(namespace, name)?;
    let waits = claims.into_iter().find(|claim| claim.phase == ClaimPhase::Pending);
    Ok(waits.map(|claim| claim.object().to_string()))
}

/// Refuses where a claim is being cloned from the volume, or is a clone that needs it.
fn clones(
    cx: &Cx,
    volume: &Volume,
    family: &drivers::Family,
    relies_on: &mut ReliedFlags,
) -> Seen<Checked> {
    for clone in facts::clones(cx, volume)? {
        let object = clone.claim.object();
        if clone.claim.phase == ClaimPhase::Pending {
            return Ok(Err(format!("{object} is being cloned from its claim")));
        }
        let object = match clone.snapshot {
            None => format!("{object} was cloned from it"),
            Some(snapshot) => {
                format!("{object} was restored from {}, a snapshot of it", snapshot.object())
            }
        };
        match family.clones {
            Fate::Independent | Fate::None => {}
            Fate::Blocks => {
                return Ok(Err(format!(
                    "{object}, and the driver deletes no volume that has clones"
                )));
            }
            Fate::Dies | Fate::Unknown if cx.settings().destroy_snapshots => {
                relies_on.rely(SNAPSHOT_FLAG);
            }
            Fate::Dies | Fate::Unknown => {
                relies_on.lack(SNAPSHOT_FLAG, format!("{object}, and may depend on it"), ALLOWS);
            }
        }
    }
    Ok(Ok(()))
}
