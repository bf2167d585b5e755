//! Deletes a `StatefulSet` or a namespace with its claims, after the effect on the data of each is known.
//!
//! The DELETE carries the uid and the resourceVersion of the object: the guard knows the tool by
//! these, and lets it pass.

use crate::cluster::{Cx, Reach, Seen, Subject, Unseen};
use crate::facts::{
    self, ClaimDataEffect, DataEffect, DeletionEffect, Owner, SnapshotFate,
    retention::{
        ClaimOutcome, DependentClaim, DependentFate, Operation, Propagation, SetSituation,
        dependent_claims, simulate_steps,
    },
};
use crate::model::{
    Action, Bytes, Cascade, Claim, Effect, Kind, Loss, ObjectKey, ObjectRef, Proposal,
    ReclaimPolicy, Refusal, Text, Undo, Volume, counted,
};

const DESTROY_DATA: &str = "--destroy-data";
const DESTROY_SNAPSHOTS: &str = "--destroy-snapshots";
const RECREATED: &str = "it was deleted and recreated under the same name";
const TERMINATING: &str = "it is Terminating already";
/// Number of claims that a refusal names.
const NAMED: usize = 5;

/// Returns the name of this purpose.
pub const fn id(cascade: Cascade) -> &'static str {
    match cascade {
        Cascade::Background => "delete-with-claims",
        Cascade::Foreground => "delete-with-claims-foreground",
        Cascade::Orphan => "delete-with-claims-orphan",
    }
}

/// Returns the effects on each claim, and a summary: [`propose`] rests on them. Empty where the object cannot be
/// deleted.
///
/// # Errors
/// When its claims or their volumes were not read.
pub fn foretell(cx: &Cx, object: &ObjectRef, cascade: Cascade) -> Seen<Vec<String>> {
    let Ok(fates) = of(cx, object, cascade)? else { return Ok(Vec::new()) };
    let summary = fates.summary();
    Ok(fates.lines.into_iter().chain([summary]).collect())
}

/// Returns the lists that are read again right before the write: of the objects that are deleted with the object.
pub fn lists(object: &ObjectRef) -> Vec<Reach> {
    let namespace = match object.key.kind {
        Kind::Namespace => Some(Text::from(&*object.key.name)),
        _ => object.key.namespace.clone(),
    };
    let within = |kind| Reach { kind, namespace: namespace.clone() };
    let mut lists = vec![within(Kind::PersistentVolumeClaim), within(Kind::Pod)];
    if object.key.kind == Kind::Namespace {
        lists.push(within(Kind::VolumeSnapshot));
        lists.push(Reach::all(Kind::VolumeSnapshotContent));
        lists.push(Reach::all(Kind::VolumeGroupSnapshotContent));
    }
    lists
}

/// Returns the volumes of the claims that are deleted, or may be, on which the effects on the data rest.
///
/// # Errors
/// When its claims or their volumes were not read.
pub fn volumes(cx: &Cx, object: &ObjectRef, cascade: Cascade) -> Seen<Vec<ObjectKey>> {
    Ok(of(cx, object, cascade)?.map_or_else(|_| Vec::new(), |fates| fates.volumes))
}

/// Proposes or refuses the deletion of a `StatefulSet` or a namespace.
///
/// # Errors
/// When its claims or their volumes were not read.
pub fn propose(cx: &Cx, object: &ObjectRef, cascade: Cascade) -> Seen<Result<Proposal, Refusal>> {
    let fates = match of(cx, object, cascade)? {
        Ok(fates) => fates,
        Err(reason) => return Ok(Err(refusal(reason))),
    };
    let claims = match fates.deleted {
        0 => "no claim".to_owned(),
        some => counted(some, "claim"),
    };
    let what = format!("deletes {object}, and {claims} with it");
    let risk = match (fates.lost.is_empty() && fates.snapshots.is_empty(), fates.ephemeral) {
        (true, 0) if cascade == Cascade::Orphan => "what belongs to it is left without it",
        (true, 0) => "what else belongs to it is deleted too",
        (true, _) => {
            "the data of ephemeral volumes is permanently destroyed, as with every deletion of \
             their pods"
        }
        (false, _) if fates.is_certain() => "the data is permanently destroyed",
        (false, _) => "the data may be permanently destroyed",
    };
    let effect = Effect { what, risk: risk.to_owned() };
    let settings = cx.settings();
    let mut relies_on = Vec::new();
    for (lost, flag, given, of) in [
        (&fates.lost, DESTROY_DATA, settings.destroy_data, "the data"),
        (&fates.snapshots, DESTROY_SNAPSHOTS, settings.destroy_snapshots, "the backend snapshot"),
    ] {
        if lost.is_empty() {
            continue;
        }
        if !given {
            let reason = format!(
                "{of} of {} is destroyed, or may be; {flag} allows this{}",
                named(lost),
                alternative(object, flag)
            );
            return Ok(Err(Refusal { reason, effect }));
        }
        relies_on.push(flag);
    }
    // What a driver leaves alone today, another version of it may delete.
    if !fates.spared.is_empty() && !relies_on.contains(&DESTROY_DATA) {
        if !settings.destroy_data {
            let reason = format!(
                "the volumes of {} have policy Delete, although their drivers leave the data; \
                 {DESTROY_DATA} allows this{}",
                named(&fates.spared),
                alternative(object, DESTROY_DATA)
            );
            return Ok(Err(Refusal { reason, effect }));
        }
        relies_on.push(DESTROY_DATA);
    }
    Ok(Ok(Proposal {
        steps: vec![Action::DeleteWithClaims { object: object.clone(), cascade }],
        effect,
        undo: Undo::Never("what is deleted with it is not recreated"),
        loses: fates.loses(),
        notices: fates.lines,
        relies_on,
        keeps_backend: false,
    }))
}

/// Returns advice how to keep the data.
fn alternative(object: &ObjectRef, flag: &str) -> &'static str {
    match (object.key.kind, flag) {
        (Kind::StatefulSet, DESTROY_DATA) => {
            ", --cascade=orphan keeps pods and claims, and `kubectl storage retain pvc/NAME` keeps \
             the data of a claim"
        }
        (_, DESTROY_DATA) => ", and `kubectl storage retain pvc/NAME` keeps the data of a claim",
        _ => "",
    }
}

fn named(names: &[String]) -> String {
    let shown = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match names.len() - names.len().min(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn refusal(reason: String) -> Refusal {
    Refusal { reason, effect: Effect { what: String::new(), risk: String::new() } }
}

/// Returns the effects on the claims of an object, or why it cannot be deleted.
fn of(cx: &Cx, object: &ObjectRef, cascade: Cascade) -> Seen<Result<Fates, String>> {
    match object.key.kind {
        Kind::StatefulSet => of_set(cx, object, cascade),
        Kind::Namespace => of_namespace(cx, object),
        kind => Ok(Err(format!("a {kind} is not deleted with claims"))),
    }
}

/// Returns the effects on the claims of a set, or why it cannot be deleted.
fn of_set(cx: &Cx, object: &ObjectRef, cascade: Cascade) -> Seen<Result<Fates, String>> {
    let namespace = object.key.namespace.clone().unwrap_or_else(|| Text::from(""));
    let Some(set) = cx.set(&namespace, &object.key.name)? else {
        return Ok(Err("it does not exist".to_owned()));
    };
    if object.uid.is_some() && set.metadata.uid != object.uid {
        return Ok(Err(RECREATED.to_owned()));
    }
    if set.metadata.deleting.is_some() {
        return Ok(Err(TERMINATING.to_owned()));
    }
    let situation = SetSituation::of(cx, set)?;
    let propagation = match cascade {
        Cascade::Background => Propagation::Background,
        Cascade::Foreground => Propagation::Foreground,
        Cascade::Orphan => Propagation::Orphan,
    };
    let mut fates = Fates::default();
    let predictions = simulate_steps(&situation, &[Operation::DeleteSet(propagation)]);
    for prediction in &predictions {
        let stem = format!("{}-{}", prediction.template, set.metadata.name);
        let Some(claim) = cx.sibling(&namespace, &stem, prediction.ordinal)? else { continue };
        match &prediction.outcome {
            ClaimOutcome::Kept | ClaimOutcome::Reowned(_) => {
                fates.lines.push(format!("{} is kept: {}", claim.object(), prediction.reason));
            }
            ClaimOutcome::Deleted { by, .. } => {
                let what = format!("is deleted: {}", by.describe());
                fates.deleted(cx, claim, &Told::Surely(what), false)?;
            }
            ClaimOutcome::Unknown(reason) => {
                let what = format!("may be deleted: {reason}");
                fates.deleted(cx, claim, &Told::Perhaps(what), false)?;
            }
        }
    }
    for dependent in dependent_claims(cx, set, propagation, &predictions)? {
        fates.dependent(cx, &dependent)?;
    }
    Ok(Ok(fates))
}

/// Returns the effects on the claims and snapshots of a namespace, or why it cannot be deleted.
fn of_namespace(cx: &Cx, object: &ObjectRef) -> Seen<Result<Fates, String>> {
    let name = &Text::from(&*object.key.name);
    let cluster = cx.cluster();
    for kind in [Kind::PersistentVolumeClaim, Kind::VolumeSnapshot] {
        cluster.reach(kind, Some(name))?;
    }
    cx.all_of(Kind::PersistentVolume)?;
    let live = match cluster.subject(&object.key) {
        Some(Subject::Namespace(id)) => cluster.namespace_at(id),
        _ => None,
    };
    if let Some(live) = live {
        if object.uid.is_some() && live.metadata.uid != object.uid {
            return Ok(Err(RECREATED.to_owned()));
        }
        if live.metadata.deleting.is_some() {
            return Ok(Err(TERMINATING.to_owned()));
        }
    }
    let mut fates = Fates::default();
    let mut claims: Vec<_> =
        cluster.claims().map(|(_, it)| it).filter(|it| it.namespace == *name).collect();
    claims.sort_by_key(|it| &it.metadata.name);
    for claim in claims {
        fates.deleted(cx, claim, &Told::Surely("is deleted".to_owned()), false)?;
    }
    let mut snapshots: Vec<_> =
        cluster.volume_snapshots().map(|(_, it)| it).filter(|it| it.namespace == *name).collect();
    snapshots.sort_by_key(|it| &it.metadata.name);
    for snapshot in snapshots {
        let fate = facts::snapshot_fate(cx, snapshot)?;
        fates.snapshot(snapshot.object().to_string(), "is deleted", &fate);
    }
    for (content, fate) in facts::group_snapshot_fates(cx, name)? {
        let group = content.snapshot.as_ref().map_or("", |(_, name)| name);
        let what = format!("is the content of VolumeGroupSnapshot {group}, which is deleted");
        fates.snapshot(content.object().to_string(), &what, &fate);
    }
    Ok(Ok(fates))
}

/// Effects of a deletion on the claims and snapshots of the object.
#[derive(Default)]
struct Fates {
    /// A line for each claim.
    lines: Vec<String>,
    /// The claims whose data is destroyed, or may be.
    lost: Vec<String>,
    /// Number of these claims that may keep their data.
    perhaps_lost: usize,
    /// The claims whose drivers are told to delete the volumes, but are known not to do so.
    spared: Vec<String>,
    /// The capacity of the volumes of lost and spared claims, and of ephemeral volumes.
    bytes: Bytes,
    /// The snapshots that are destroyed, or may be.
    snapshots: Vec<String>,
    /// Number of these snapshots that may remain.
    perhaps_snapshots: usize,
    /// Number of claims that are deleted, or may be.
    deleted: usize,
    /// Number of these claims that are ephemeral volumes whose data is destroyed with their pods.
    ephemeral: usize,
    /// The volumes of the claims that are deleted, or may be.
    volumes: Vec<ObjectKey>,
}

impl Fates {
    /// Adds a claim that is deleted, or may be, with this reason.
    fn deleted(&mut self, cx: &Cx, claim: &Claim, what: &Told, ephemeral: bool) -> Seen<()> {
        let name = claim.object().to_string();
        self.deleted += 1;
        let volume = claim.volume_name.as_deref();
        self.volumes
            .extend(volume.map(|name| ObjectKey::cluster_wide(Kind::PersistentVolume, name)));
        let effect = facts::data_effect(cx, claim);
        let loss = loss_with(cx, &effect, matches!(what, Told::Surely(_)));
        let data = match &effect {
            ClaimDataEffect::Unseen(reason) => {
                return Err(Unseen {
                    kind: Kind::PersistentVolume,
                    namespace: None,
                    reason: format!("what becomes of the data of {name} is unknown: {reason}"),
                });
            }
            ClaimDataEffect::NoVolume => "it has no volume".to_owned(),
            ClaimDataEffect::Destroyed(volume)
            | ClaimDataEffect::Scrubbed(volume)
            | ClaimDataEffect::Kept(volume)
            | ClaimDataEffect::Forgotten(volume) => {
                becomes_of(volume, &effect, &facts::when_claim_is_deleted(cx, volume))
            }
        };
        let (Told::Surely(what) | Told::Perhaps(what)) = what;
        self.lines.push(format!("{name} {what}; {data}"));
        match (effect.loses_data(), ephemeral) {
            (true, false) => {
                self.perhaps_lost += usize::from(!loss.is_certain);
                self.lost.push(name);
            }
            (true, true) => self.ephemeral += 1,
            (false, false) if loss.volumes > 0 => self.spared.push(name),
            (false, _) => return Ok(()),
        }
        self.bytes = self.bytes.saturating_add(loss.bytes);
        Ok(())
    }

    /// Adds a claim that no template predicts.
    fn dependent(&mut self, cx: &Cx, of: &DependentClaim) -> Seen<()> {
        let reason = of.reason();
        let what = match of.fate {
            DependentFate::Kept(_) => {
                self.lines.push(format!("{} is kept: {reason}", of.claim.object()));
                return Ok(());
            }
            DependentFate::Deleted => Told::Surely(format!("is deleted: {reason}")),
            DependentFate::Unknown(_) => Told::Perhaps(format!("may be deleted: {reason}")),
        };
        // Of one that is not certain to be deleted, nobody expects that it is.
        let ephemeral = of.ephemeral && of.fate == DependentFate::Deleted;
        self.deleted(cx, of.claim, &what, ephemeral)
    }

    /// Adds a snapshot of a namespace, with this reason.
    fn snapshot(&mut self, name: String, what: &str, fate: &SnapshotFate) {
        let then = match fate {
            SnapshotFate::Destroyed(_) => {
                "policy Delete of its content destroys the snapshot at the storage backend"
            }
            SnapshotFate::Kept(_) => {
                "policy Retain keeps its content, and the snapshot at the storage backend"
            }
            SnapshotFate::Unknown(why) => {
                self.lines.push(format!(
                    "{name} {what}; its snapshot at the storage backend may be destroyed: {why}"
                ));
                self.perhaps_snapshots += 1;
                self.snapshots.push(name);
                return;
            }
        };
        self.lines.push(format!("{name} {what}; {then}"));
        if matches!(fate, SnapshotFate::Destroyed(_)) {
            self.snapshots.push(name);
        }
    }

    /// Returns the amount of data that is destroyed, or may be.
    fn loses(&self) -> Loss {
        Loss {
            volumes: self.lost.len() + self.spared.len() + self.ephemeral,
            snapshots: self.snapshots.len(),
            bytes: self.bytes,
            is_certain: self.is_certain() || self.ephemeral > 0,
        }
    }

    /// Whether something is destroyed for certain.
    fn is_certain(&self) -> bool {
        let lost = self.lost.len() + self.snapshots.len();
        lost > self.perhaps_lost + self.perhaps_snapshots
    }

    /// Summarises the numbers of deleted claims and of destroyed data.
    fn summary(&self) -> String {
        let destroyed = self.lost.len() - self.perhaps_lost + self.ephemeral;
        let words = format!("claims deleted: {}; data destroyed: {destroyed}", self.deleted);
        let parts = [("of ephemeral volumes", self.ephemeral), ("perhaps", self.perhaps_lost)];
        let parts = parts.into_iter().filter(|(_, count)| *count > 0);
        let parts = parts.map(|(of, count)| format!("{of}: {count}"));
        [words].into_iter().chain(parts).collect::<Vec<_>>().join(", ")
    }
}

/// The effect on a claim, in words, and whether it is certain.
enum Told {
    Surely(String),
    Perhaps(String),
}

/// Returns the loss with a claim that is deleted, or may be. What a driver leaves alone today, another version of it
/// may delete.
pub(super) fn loss_with(cx: &Cx, effect: &ClaimDataEffect, is_deleted: bool) -> Loss {
    let Some(volume) = effect.volume() else {
        return Loss { volumes: usize::from(effect.may_lose_data()), ..Loss::default() };
    };
    if !effect.loses_data() && !is_told_to_delete(volume) {
        return Loss::default();
    }
    let then = facts::when_claim_is_deleted(cx, volume).data;
    let is_destroyed = then.may_destroy() && then != DataEffect::Unknown;
    Loss {
        volumes: 1,
        snapshots: 0,
        bytes: volume.capacity.unwrap_or(0),
        is_certain: is_deleted && effect.loses_data() && is_destroyed,
    }
}

/// Whether the driver of a volume is told to delete it, whatever it then does.
fn is_told_to_delete(volume: &Volume) -> bool {
    volume.reclaim_policy == ReclaimPolicy::Delete
        && volume.metadata.deleting.is_none()
        && matches!(facts::owner(volume), Owner::Csi(_) | Owner::External(_))
}

/// Describes the effect on the data of a volume.
fn becomes_of(volume: &Volume, effect: &ClaimDataEffect, then: &DeletionEffect) -> String {
    let (pv, because) = (volume.object(), &then.because);
    match (then.data, effect.loses_data()) {
        (DataEffect::Destroyed, _) if !then.is_shared => format!("the data of {pv} is destroyed"),
        (DataEffect::Destroyed, _) => format!("the data of {pv} is destroyed: {because}"),
        (DataEffect::Scrubbed, _) => format!("the data of {pv} is scrubbed"),
        (DataEffect::Waiting, _) => format!("the data of {pv} is destroyed later: {because}"),
        (DataEffect::Unknown, _) | (_, true) => {
            format!("the data of {pv} may be destroyed: {because}")
        }
        (DataEffect::Released | DataEffect::Unaffected, false) if !then.is_shared => {
            format!("{pv} keeps its data")
        }
        (
            DataEffect::Released
            | DataEffect::Unaffected
            | DataEffect::Failed
            | DataEffect::Forgotten
            | DataEffect::Leaked,
            false,
        ) => format!("the data of {pv} remains: {because}"),
    }
}

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
