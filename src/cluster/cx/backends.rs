//! Lookups by place: rows that overlap with the storage of a volume, under whatever name, and volumes that share
//! storage.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasher;
use std::ptr;
use std::rc::Rc;
use std::sync::LazyLock;

use hashbrown::DefaultHashBuilder;

use super::super::indexes::{Index, Indexes};
use super::super::places::{candidates, compared, distinct, named, owned};
use super::super::table::Stored;
use super::super::{Placed, Seen};
use super::{CROWD, Cx, Lookup};
use crate::drivers::{Named, Overlap, Place, meeting};
use crate::model::{
    Attachment, KeptBackend, Kind, Node, PodUse, SnapshotContent, Text, Volume, VolumeSource,
    Workload,
};

/// Number of volumes that are compared of those that share an id.
const COMPARED: usize = 64;

/// Number of candidates for places beyond which a search ends with the first volumes that may overlap.
const LOOKED_AT: usize = 256;

/// Number of sharing volumes that are kept: more than a sentence names, besides those that a caller leaves out.
const KEPT: usize = 16;

static NAMES: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);

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
        self.overlapping(|it| &it.volumes_by_place, places)
    }

    /// Returns the first other volumes that may overlap with places, without those that certainly do, and whether these
    /// are all: where candidates are very many, it stops after a few.
    ///
    /// # Errors
    /// When volumes were not read.
    pub fn doubtful_at(
        &self,
        places: &[Place<'_>],
        is_other: &dyn Fn(&str) -> bool,
    ) -> Seen<(Vec<(&'a Volume, Overlap)>, bool)> {
        self.note(|| Lookup::VolumesAt(owned(places)));
        self.all_of(Kind::PersistentVolume)?;
        let index = &self.cluster.indexes.volumes_by_place;
        let are_few = candidates(index, places, Place::searches).nth(LOOKED_AT).is_none();
        let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
        let ids = candidates(index, places, Place::searches).filter(|id| seen.insert(*id));
        let rows = ids.filter_map(|id| self.cluster.tables.volumes.get(id));
        let mut others =
            rows.inspect(|_| self.costs(1)).filter(|row| is_other(row.name())).filter_map(|row| {
                let overlap = meeting(places, &row.places())?;
                (!overlap.is_certain()).then_some((row, overlap))
            });
        let mut are_all = true;
        for (row, overlap) in others.by_ref() {
            self.legible(row)?;
            found.push((row, overlap));
            if !are_few && found.len() >= KEPT {
                are_all = false;
                break;
            }
        }
        found.sort_by(|(a, _), (b, _)| a.name().cmp(b.name()));
        Ok((found, are_all))
    }

    /// Returns the other volumes that share storage with a volume: certainly, or a device that differs from its own in
    /// nothing that is known. Others that cannot be compared are left out: they are a reason to refuse, and none to
    /// warn; so are LUNs of one number at different targets.
    ///
    /// # Errors
    /// When volumes were not read.
    pub fn sharing(&self, volume: &Volume) -> Seen<Others<'a>> {
        self.all_of(Kind::PersistentVolume)?;
        if !self.is_recorded() && self.alone.get().is_some_and(|row| ptr::eq(row, volume)) {
            return Ok(Rc::<Crowd<'_>>::default().besides(volume.name()));
        }
        let places = volume.places();
        let by_number = places.iter().all(Place::is_number);
        // Nearly all are alone, and need not be compared with themselves.
        let mut own = None;
        let index = &self.cluster.indexes.volumes_by_place;
        let is_shared = candidates(index, &places, |it| it.certain_searches(by_number))
            .filter_map(|id| self.cluster.tables.volumes.get(id))
            .inspect(|_| self.costs(1))
            .any(|row| {
                let is_other = row.name() != volume.name();
                own = (!is_other).then_some(row).or(own);
                is_other
            });
        if !is_shared {
            self.alone.set(own.filter(|row| ptr::eq(*row, volume)));
            self.note(|| Lookup::VolumesAt(owned(&places)));
            return Ok(Rc::<Crowd<'_>>::default().besides(volume.name()));
        }
        self.sharing_at(&places, volume.name())
    }

    /// Volumes that share storage at places, besides the volume of this name.
    ///
    /// # Errors
    /// When volumes were not read.
    pub fn sharing_at(&self, places: &[Place<'_>], besides: &str) -> Seen<Others<'a>> {
        self.note(|| Lookup::VolumesAt(owned(places)));
        self.all_of(Kind::PersistentVolume)?;
        let hash = NAMES.hash_one(places);
        // What is asked of the members is recorded for each volume.
        let crowds = self.crowds.borrow();
        let known = crowds.get(&hash).filter(|_| !self.is_recorded());
        if let Some((_, crowd)) = known.and_then(|it| it.iter().find(|it| it.0 == places)) {
            return Ok(Rc::clone(crowd).besides(besides));
        }
        drop(crowds);
        let by_number = places.iter().all(Place::is_number);
        let told_apart = !by_number && places.iter().all(Place::is_device);
        let index = &self.cluster.indexes.volumes_by_place;
        let searches = |place: &Place<'_>| place.certain_searches(by_number);
        let ids = distinct(candidates(index, places, searches));
        self.costs(ids.len());
        let mut members = compared(self.cluster, ids, places);
        members.retain(|(row, overlap): &(&Volume, Overlap)| {
            overlap.is_certain() || told_apart && row.places().iter().all(Place::is_device)
        });
        members.iter().try_for_each(|(row, _)| self.legible(*row))?;
        let crowd = Rc::new(Crowd::new(members));
        if crowd.len() >= CROWD && !self.is_recorded() {
            let of_hash = (owned(places), Rc::clone(&crowd));
            self.crowds.borrow_mut().entry(hash).or_default().push(of_hash);
        }
        Ok(crowd.besides(besides))
    }

    fn is_recorded(&self) -> bool {
        self.lookups.borrow().is_some()
    }

    /// Returns other objects that may name the storage of a volume by an id that both have, as reports name them, each
    /// with the id: another volume, a volume that a pod, a template or an attachment describes, or a kept backend
    /// volume. Of very many that share an id only the first are compared: they share what tells nothing.
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
        let first = first.inspect(|_| self.costs(1));
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

    /// Returns the pods, in any phase, with an inline volume that overlaps with places, or may.
    ///
    /// # Errors
    /// When pods were not read.
    pub fn pods_at(&self, places: &[Place<'_>]) -> Seen<Vec<(&'a PodUse, Overlap)>> {
        self.note(|| Lookup::PodsAt(owned(places)));
        self.all_of(Kind::Pod)?;
        self.overlapping(|it| &it.pods_by_place, places)
    }

    /// Returns the workloads, at any number of replicas, whose template has an inline volume that overlaps with places,
    /// or may.
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
        let ids = distinct(candidates(index(&self.cluster.indexes), places, Place::searches));
        self.costs(ids.len());
        let rows: Vec<(&R, _)> = compared(self.cluster, ids, places);
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

/// All volumes at some places, in the order of their names.
///
/// Thousands may be at the same places, and each of them asks about all others: what they ask is
/// counted once.
#[derive(Debug, Default)]
pub(super) struct Crowd<'a> {
    members: Vec<(&'a Volume, Overlap)>,
    certain: usize,
    on_one_node: usize,
    /// Number of members with the same driver and handle.
    handles: HashMap<(&'a Text, &'a str), usize>,
    destroyers: OnceCell<Destroyers>,
}

/// Members whose policies may destroy the storage that all share.
#[derive(Debug)]
struct Destroyers {
    members: Vec<usize>,
    certain: usize,
}

/// The volumes that share storage with one, in the order of their names.
#[derive(Debug, Clone)]
pub struct Others<'a> {
    crowd: Rc<Crowd<'a>>,
    /// Index of the volume itself in the crowd.
    own: Option<usize>,
}

impl<'a> Crowd<'a> {
    pub(super) fn new(members: Vec<(&'a Volume, Overlap)>) -> Self {
        let mut handles = HashMap::new();
        for (volume, _) in &members {
            if let Some(handle) = csi(volume) {
                *handles.entry(handle).or_default() += 1;
            }
        }
        Self {
            certain: members.iter().filter(|(_, overlap)| overlap.is_certain()).count(),
            on_one_node: members.iter().filter(|(volume, _)| !volume.is_shared).count(),
            handles,
            members,
            destroyers: OnceCell::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns the members without the volume of this name.
    pub(super) fn besides(self: Rc<Self>, name: &str) -> Others<'a> {
        let own = self.members.binary_search_by(|(volume, _)| volume.name().cmp(name)).ok();
        Others { crowd: self, own }
    }
}

impl<'a> Others<'a> {
    /// Number of other volumes.
    pub fn len(&self) -> usize {
        self.crowd.len() - usize::from(self.own.is_some())
    }

    /// Whether no other volume shares the storage.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The other volumes, each with its overlap.
    pub fn iter(&self) -> impl Iterator<Item = &(&'a Volume, Overlap)> {
        let members = self.crowd.members.iter().enumerate();
        members.filter(|(index, _)| Some(*index) != self.own).map(|(_, member)| member)
    }

    /// Number of other volumes that certainly share the storage.
    pub fn certain(&self) -> usize {
        let own = self.own().is_some_and(|(_, overlap)| overlap.is_certain());
        self.crowd.certain - usize::from(own)
    }

    /// Whether several nodes may mount each of the other volumes.
    pub fn are_shared(&self) -> bool {
        let own = self.own().is_some_and(|(volume, _)| !volume.is_shared);
        self.crowd.on_one_node == usize::from(own)
    }

    /// Whether one of the other volumes has the driver and the handle of a CSI volume.
    pub fn have_handle_of(&self, volume: &Volume) -> bool {
        let of = |it| self.crowd.handles.get(&it).copied().unwrap_or_default();
        let own = self.own().and_then(|(own, _)| csi(own));
        csi(volume).is_some_and(|handle| of(handle) > usize::from(own == Some(handle)))
    }

    /// Returns how many of the other volumes that may destroy the storage certainly share it, and all of these volumes;
    /// `may_destroy` is asked once for each member.
    pub fn destroyers(
        &self,
        may_destroy: impl Fn(&Volume) -> bool,
    ) -> (usize, impl Iterator<Item = &(&'a Volume, Overlap)>) {
        let is_certain = |index: &usize| self.crowd.members[*index].1.is_certain();
        let Destroyers { members, certain } = self.crowd.destroyers.get_or_init(|| {
            let all = self.crowd.members.iter().enumerate();
            let members: Vec<_> =
                all.filter(|(_, (volume, _))| may_destroy(volume)).map(|it| it.0).collect();
            Destroyers { certain: members.iter().filter(|it| is_certain(it)).count(), members }
        });
        let own = self.own.filter(|own| is_certain(own) && members.binary_search(own).is_ok());
        let others = members.iter().filter(|index| Some(**index) != self.own);
        let others = others.map(|index| &self.crowd.members[*index]);
        (certain - usize::from(own.is_some()), others)
    }

    fn own(&self) -> Option<&(&'a Volume, Overlap)> {
        self.own.map(|own| &self.crowd.members[own])
    }
}

/// The driver and the handle of a CSI volume.
fn csi(volume: &Volume) -> Option<(&Text, &str)> {
    match &volume.source {
        VolumeSource::Csi { driver, handle, .. } => Some((driver, handle)),
        _ => None,
    }
}
