//! Lookups by place: what overlaps with the storage that a volume names, under whatever name.

use std::ptr;

use super::{CROWD, Cx, Lookup};
use crate::cluster::{
    Placed, Seen,
    index::Index,
    indexes::Indexes,
    places::{candidates, named, overlapping, owned},
    rows::Stored,
};
use crate::drivers::{Named, Overlap, Place, meeting};
use crate::model::{
    Attachment, KeptBackend, Kind, Node, PodUse, SnapshotContent, Volume, Workload,
};

/// How many volumes that share an id are compared.
const COMPARED: usize = 64;

/// The id that a volume and a row have in common.
fn shared(mine: &Named, row: &impl Placed) -> Option<String> {
    row.named().iter().find_map(|it| mine.shared(it)).map(str::to_owned)
}

impl<'a> Cx<'a> {
    /// Returns the volumes that overlap with places, or may, in the order of their names: also
    /// those whose places these are.
    ///
    /// # Errors
    /// When volumes were not read.
    pub fn volumes_at(&self, places: &[Place<'_>]) -> Seen<Vec<(&'a Volume, Overlap)>> {
        self.note(|| Lookup::VolumesAt(owned(places)));
        self.all_of(Kind::PersistentVolume)?;
        let crowds = self.crowds.borrow();
        if !crowds.is_empty()
            && let Some(known) = crowds.get(&owned(places))
        {
            return Ok(known.clone());
        }
        drop(crowds);
        let volumes = self.overlapping(|it| &it.volumes_by_place, places)?;
        if volumes.len() >= CROWD {
            self.crowds.borrow_mut().insert(owned(places), volumes.clone());
        }
        Ok(volumes)
    }

    /// Returns the other volumes that overlap with what a volume names, or may.
    ///
    /// # Errors
    /// When volumes were not read.
    pub fn others_at(&self, volume: &Volume) -> Seen<Vec<(&'a Volume, Overlap)>> {
        self.all_of(Kind::PersistentVolume)?;
        let recorded = self.lookups.borrow().is_some();
        if !recorded && self.alone.get().is_some_and(|row| ptr::eq(row, volume)) {
            return Ok(Vec::new());
        }
        let places = volume.places();
        // Nearly all are alone, and need not be compared with themselves.
        let mut own = None;
        let is_shared = candidates(&self.cluster.indexes.volumes_by_place, &places)
            .filter_map(|id| self.cluster.tables.volumes.get(id))
            .any(|row| {
                let is_other = row.name() != volume.name();
                own = (!is_other).then_some(row).or(own);
                is_other
            });
        if !is_shared {
            self.alone.set(own.filter(|row| ptr::eq(*row, volume)));
            self.note(|| Lookup::VolumesAt(owned(&places)));
            return Ok(Vec::new());
        }
        let others = self.volumes_at(&places)?.into_iter();
        Ok(others.filter(|(other, _)| other.name() != volume.name()).collect())
    }

    /// Returns what else may name the storage of a volume by an id that both have, as reports name it, and
    /// the id: another volume, a volume that a pod, a template or an attachment describes, or a backend
    /// volume that was kept. Of very many that share an id only the first are compared: they share what
    /// tells nothing.
    ///
    /// # Errors
    /// When one of these kinds was not read.
    pub fn namesakes(
        &self,
        volume: &Volume,
        is_other: &dyn Fn(&str) -> bool,
        is_other_record: &dyn Fn(&KeptBackend) -> bool,
    ) -> Seen<Vec<(String, String)>> {
        self.note(|| Lookup::Namesake(volume.name().into()));
        let kinds = [Kind::PersistentVolume, Kind::Pod, Kind::VolumeAttachment].into_iter();
        kinds.chain(Kind::WORKLOADS).try_for_each(|kind| self.all_of(kind))?;
        let Some(mine) = named(volume) else { return Ok(Vec::new()) };
        let indexes = &self.cluster.indexes;
        let volumes =
            self.namesake(&mine, &indexes.volumes_by_token, |it: &Volume| is_other(it.name()));
        let pods = self.namesake(&mine, &indexes.pods_by_token, |_: &PodUse| true);
        let workloads = self.namesake(&mine, &indexes.workloads_by_token, |_: &Workload| true);
        let attachments =
            self.namesake(&mine, &indexes.attachments_by_token, |_: &Attachment| true);
        let mut kept = self.cluster.kept_backends().filter(|it| is_other_record(it));
        let kept = kept.find_map(|it| Some((it.object().to_string(), shared(&mine, it)?)));
        Ok([
            volumes.map(|(it, id)| (it.object().to_string(), id)),
            pods.map(|(it, id)| (it.object().to_string(), id)),
            workloads.map(|(it, id)| (it.object().to_string(), id)),
            attachments.map(|(it, id)| (it.object().to_string(), id)),
            kept,
        ]
        .into_iter()
        .flatten()
        .collect())
    }

    fn namesake<R: Stored + Placed>(
        &self,
        mine: &Named,
        index: &Index,
        is_other: impl Fn(&R) -> bool,
    ) -> Option<(&'a R, String)> {
        let table = R::table(&self.cluster.tables);
        let first = mine.searches().flat_map(|key| index.candidates(key).take(COMPARED));
        let mut rows = first.filter_map(|id| table.get(id)).filter(|it| is_other(it));
        rows.find_map(|it| Some((it, shared(mine, it)?)))
    }

    /// Returns the attachments, in any state, with an inline source that overlaps with places, or
    /// may.
    ///
    /// # Errors
    /// When attachments were not read.
    pub fn inline_attachments_at(
        &self,
        places: &[Place<'_>],
    ) -> Seen<Vec<(&'a Attachment, Overlap)>> {
        self.note(|| Lookup::InlineAttachmentsAt(owned(places)));
        self.all_of(Kind::VolumeAttachment)?;
        self.overlapping(|it| &it.attachments_by_place, places)
    }

    /// Returns the snapshots and group snapshots that were or are being taken of what overlaps with
    /// places, or may.
    ///
    /// # Errors
    /// When either kind is served and was not read.
    pub fn snapshots_at(&self, places: &[Place<'_>]) -> Seen<Vec<(&'a SnapshotContent, Overlap)>> {
        self.note(|| Lookup::SnapshotsAt(owned(places)));
        self.all_of(Kind::VolumeSnapshotContent)?;
        self.all_of(Kind::VolumeGroupSnapshotContent)?;
        self.overlapping(|it| &it.snapshots_by_place, places)
    }

    /// Returns the nodes that list a CSI volume that overlaps with places in `volumesInUse` or
    /// `volumesAttached`.
    ///
    /// # Errors
    /// When nodes were not read.
    pub fn nodes_at(&self, places: &[Place<'_>]) -> Seen<Vec<(&'a Node, Overlap)>> {
        self.note(|| Lookup::NodesAt(owned(places)));
        self.all_of(Kind::Node)?;
        self.overlapping(|it| &it.nodes_by_place, places)
    }

    /// Returns the pods, in any phase, with a volume of their own that overlaps with places, or may.
    ///
    /// # Errors
    /// When pods were not read.
    pub fn pods_at(&self, places: &[Place<'_>]) -> Seen<Vec<(&'a PodUse, Overlap)>> {
        self.note(|| Lookup::PodsAt(owned(places)));
        self.all_of(Kind::Pod)?;
        self.overlapping(|it| &it.pods_by_place, places)
    }

    /// Returns the workloads, at any number of replicas, whose template has a volume of its own that
    /// overlaps with places, or may.
    ///
    /// # Errors
    /// When a kind of workloads was not read.
    pub fn workloads_at(&self, places: &[Place<'_>]) -> Seen<Vec<(&'a Workload, Overlap)>> {
        self.note(|| Lookup::WorkloadsAt(owned(places)));
        Kind::WORKLOADS.into_iter().try_for_each(|kind| self.all_of(kind))?;
        self.overlapping(|it| &it.workloads_by_place, places)
    }

    /// Returns the rows that overlap with places, or may.
    fn overlapping<R: Stored + Placed>(
        &self,
        index: impl Fn(&Indexes) -> &Index,
        places: &[Place<'_>],
    ) -> Seen<Vec<(&'a R, Overlap)>> {
        let rows: Vec<(&R, _)> = overlapping(self.cluster, index, places);
        rows.iter().try_for_each(|(row, _)| self.legible(*row))?;
        Ok(rows)
    }

    /// Returns the kept backend volumes that overlap with places, or may.
    pub fn kept_at(&self, places: &[Place<'_>]) -> Vec<(&'a KeptBackend, Overlap)> {
        self.note(|| Lookup::KeptAt(owned(places)));
        let kept = self.cluster.kept_backends();
        kept.filter_map(|it| Some((it, meeting(places, &it.places())?))).collect()
    }
}
