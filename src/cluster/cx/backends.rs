//! Lookups by backend volume, under any of its equivalent keys.

use super::{Cx, Lookup};
use crate::cluster::Seen;
use crate::model::{Attachment, BackendKey, Kind, SnapshotContent};

impl<'a> Cx<'a> {
    /// Returns the attachments, in any state, with an inline source that references a backend
    /// volume.
    ///
    /// # Errors
    /// When attachments were not read.
    pub fn inline_attachments_of(&self, backend: &BackendKey) -> Seen<Vec<&'a Attachment>> {
        self.note(|| Lookup::InlineAttachmentsOf(backend.clone()));
        self.all_of(Kind::VolumeAttachment)?;
        let ids = self.cluster.indexes.attachments_by_backend.candidates(backend.lookup());
        Ok(self.matching(ids, |row: &Attachment| {
            row.source.backend().is_some_and(|it| it.same(backend))
        }))
    }

    /// Returns the snapshots and group snapshots that were or are being taken of a volume.
    ///
    /// # Errors
    /// When either kind is served and was not read.
    pub fn snapshots_of(&self, backend: &BackendKey) -> Seen<Vec<&'a SnapshotContent>> {
        self.note(|| Lookup::SnapshotsOf(backend.clone()));
        self.all_of(Kind::VolumeSnapshotContent)?;
        self.all_of(Kind::VolumeGroupSnapshotContent)?;
        let ids = self.cluster.indexes.snapshots_by_backend.candidates(backend.lookup());
        Ok(self.matching(ids, |row: &SnapshotContent| row.backends().any(|it| it.same(backend))))
    }
}
