//! What becomes of the claims and snapshots of an object that is deleted, and of their data.

use crate::cluster::{Cx, Seen, Unseen};
use crate::facts::retention::{DependentClaim, DependentFate};
use crate::facts::{self, ClaimDataEffect, DataEffect, DeletionEffect, Owner, SnapshotFate};
use crate::model::{Claim, Kind, ObjectKey, ReclaimPolicy, Volume};

/// What becomes of the claims of an object that is deleted.
#[derive(Default)]
pub(super) struct Fates {
    /// A line for each claim.
    pub(super) lines: Vec<String>,
    /// The claims whose data is destroyed, or may be.
    pub(super) lost: Vec<String>,
    /// How many of them may keep it.
    perhaps_lost: usize,
    /// The claims whose volumes are told to be deleted, which their drivers are known not to do.
    pub(super) spared: Vec<String>,
    /// The snapshots that are destroyed, or may be.
    pub(super) snapshots: Vec<String>,
    /// How many of them may remain.
    perhaps_snapshots: usize,
    /// How many claims are deleted, or may be.
    pub(super) deleted: usize,
    /// How many of them are ephemeral volumes whose data is destroyed with their pods.
    pub(super) ephemeral: usize,
    /// The volumes of the claims that are deleted, or may be.
    pub(super) volumes: Vec<ObjectKey>,
}

impl Fates {
    /// Adds a claim that is deleted, or may be, in these words.
    pub(super) fn deleted(
        &mut self,
        cx: &Cx,
        claim: &Claim,
        what: &Told,
        ephemeral: bool,
    ) -> Seen<()> {
        let name = claim.object().to_string();
        self.deleted += 1;
        let volume = claim.volume_name.as_deref();
        self.volumes
            .extend(volume.map(|name| ObjectKey::cluster_wide(Kind::PersistentVolume, name)));
        let effect = facts::data_effect(cx, claim);
        let mut is_certain = matches!(what, Told::Surely(_));
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
                let then = facts::when_claim_is_deleted(cx, volume);
                is_certain &= then.data.may_destroy() && then.data != DataEffect::Unknown;
                becomes_of(volume, &effect, &then)
            }
        };
        let (Told::Surely(what) | Told::Perhaps(what)) = what;
        self.lines.push(format!("{name} {what}; {data}"));
        match (effect.loses_data(), ephemeral) {
            (true, false) => {
                self.perhaps_lost += usize::from(!is_certain);
                self.lost.push(name);
            }
            (true, true) => self.ephemeral += 1,
            (false, false) if effect.volume().is_some_and(is_told_to_delete) => {
                self.spared.push(name);
            }
            (false, _) => {}
        }
        Ok(())
    }

    /// Adds a claim that no template predicts.
    pub(super) fn dependent(&mut self, cx: &Cx, of: &DependentClaim) -> Seen<()> {
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

    /// Adds a snapshot of a namespace, in these words.
    pub(super) fn snapshot(&mut self, name: String, what: &str, fate: &SnapshotFate) {
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

    /// Whether something is destroyed for certain.
    pub(super) fn is_certain(&self) -> bool {
        let lost = self.lost.len() + self.snapshots.len();
        lost > self.perhaps_lost + self.perhaps_snapshots
    }

    /// Counts what is deleted and what is destroyed.
    pub(super) fn summary(&self) -> String {
        let destroyed = self.lost.len() - self.perhaps_lost + self.ephemeral;
        let words = format!("claims deleted: {}; data destroyed: {destroyed}", self.deleted);
        let parts = [("of ephemeral volumes", self.ephemeral), ("perhaps", self.perhaps_lost)];
        let parts = parts.into_iter().filter(|(_, count)| *count > 0);
        let parts = parts.map(|(of, count)| format!("{of}: {count}"));
        [words].into_iter().chain(parts).collect::<Vec<_>>().join(", ")
    }
}

/// What happens to a claim, in words, and whether that is known.
pub(super) enum Told {
    Surely(String),
    Perhaps(String),
}

/// Whether the driver of a volume is told to delete it, whatever it does then.
fn is_told_to_delete(volume: &Volume) -> bool {
    volume.reclaim_policy == ReclaimPolicy::Delete
        && volume.metadata.deleting.is_none()
        && matches!(facts::owner(volume), Owner::Csi(_) | Owner::External(_))
}

/// What becomes of the data of a volume, in words.
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
