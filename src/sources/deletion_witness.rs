//! Remembers how the deletion of volumes was seen: a watch brings every state of a volume, and the
//! cluster keeps only the last.

use std::collections::BTreeMap;

use crate::model::{ReclaimPolicy, Text, Uid, Volume};

/// The volumes that were seen Terminating, by their uid.
#[derive(Debug)]
pub(super) struct DeletionWitness {
    finalizer: Text,
    seen: BTreeMap<Uid, WitnessedDeletion>,
}

/// How the deletion of a volume was seen.
#[derive(Debug, Default)]
struct WitnessedDeletion {
    /// The volume, Terminating and with the finalizer.
    protected: Option<Box<Volume>>,
    /// Whether its policy was ever another than Delete meanwhile.
    kept: bool,
}

impl DeletionWitness {
    /// Begins to remember which Terminating volumes had a finalizer.
    pub(super) fn of(finalizer: &str) -> Self {
        Self { finalizer: finalizer.into(), seen: BTreeMap::new() }
    }

    pub(super) fn look(&mut self, volume: &Volume) {
        let (Some(uid), Some(_)) = (&volume.metadata.uid, volume.metadata.deleting) else { return };
        let seen = self.seen.entry(uid.clone()).or_default();
        seen.kept |= volume.reclaim_policy != ReclaimPolicy::Delete;
        if seen.protected.is_none() && volume.metadata.finalizers.contains(&self.finalizer) {
            seen.protected = Some(Box::new(volume.clone()));
        }
    }

    /// The volume as it was when the finalizer was seen beside its `deletionTimestamp`, unless its
    /// policy was seen to be another than Delete.
    pub(super) fn protected(&self, uid: &Uid) -> Option<&Volume> {
        self.seen.get(uid).filter(|it| !it.kept)?.protected.as_deref()
    }
}
