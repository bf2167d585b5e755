//! Storage places of rows: the index of rows by place, and the marking of volumes that overlap with a row.

use std::collections::BTreeSet;

use hashbrown::HashSet;

use super::indexes::{EntryChange, Index};
use super::table::Stored;
use super::{Cluster, Dirty, Subject};
use crate::drivers::{
    Named, Overlap, Place, PlaceKey, Reference, by_handle, family, meeting, used,
};
use crate::model::{
    Attachment, Attributes, BackendKey, InlineVolume, KeptBackend, Node, ObjectId, PodUse,
    SnapshotContent, SnapshotSource, Volume, VolumeSource, Workload,
};

/// A row that names storage.
pub trait Placed {
    /// The places of the storage; none if the row names no storage, or too little to compare it.
    fn places(&self) -> Vec<Place<'_>>;

    /// The ids by which the row names its storage; none if only its places count.
    fn named(&self) -> Vec<Named> {
        Vec::new()
    }
}

impl Placed for Volume {
    fn places(&self) -> Vec<Place<'_>> {
        let of = |key| used(&Reference::of(key, &self.attributes));
        self.backend.as_ref().map(of).unwrap_or_default()
    }

    fn named(&self) -> Vec<Named> {
        named(self).into_iter().collect()
    }
}

impl Placed for InlineVolume {
    fn places(&self) -> Vec<Place<'_>> {
        used(&Reference::of(&self.backend, &self.attributes))
    }

    fn named(&self) -> Vec<Named> {
        vec![Named::of(&Reference::of(&self.backend, &self.attributes), false)]
    }
}

impl Placed for PodUse {
    fn places(&self) -> Vec<Place<'_>> {
        self.inline.iter().flat_map(Placed::places).collect()
    }

    fn named(&self) -> Vec<Named> {
        self.inline.iter().flat_map(Placed::named).collect()
    }
}

impl Placed for Workload {
    fn places(&self) -> Vec<Place<'_>> {
        self.inline.iter().flat_map(Placed::places).collect()
    }

    fn named(&self) -> Vec<Named> {
        self.inline.iter().flat_map(Placed::named).collect()
    }
}

impl Placed for KeptBackend {
    fn places(&self) -> Vec<Place<'_>> {
        by_handle(&self.backend)
    }

    fn named(&self) -> Vec<Named> {
        vec![Named::of(&Reference::of(&self.backend, &Attributes::default()), false)]
    }
}

impl Placed for Attachment {
    fn places(&self) -> Vec<Place<'_>> {
        self.source.backend().map(|key| by_handle(&key)).unwrap_or_default()
    }

    fn named(&self) -> Vec<Named> {
        let of = |key: &BackendKey| Named::of(&Reference::of(key, &Attributes::default()), false);
        self.source.backend().as_ref().map(of).into_iter().collect()
    }
}

impl Placed for SnapshotContent {
    fn places(&self) -> Vec<Place<'_>> {
        if self.source == SnapshotSource::Existing {
            // Only its own handle may tell of which volume it is.
            let volume_of = family(&self.driver).snapshots.volume_of_handle;
            let handle = self.handle.as_deref().zip(volume_of).and_then(|(it, of)| of(it));
            let key =
                |handle: &str| BackendKey { driver: self.driver.clone(), handle: handle.into() };
            return handle.map(|handle| by_handle(&key(handle))).unwrap_or_default();
        }
        self.backends().flat_map(|key| by_handle(&key)).collect()
    }
}

impl Placed for Node {
    fn places(&self) -> Vec<Place<'_>> {
        self.volumes
            .iter()
            .filter_map(|entry| on_node(entry))
            .flat_map(|key| by_handle(&key))
            .collect()
    }
}

/// Returns the CSI volume of an entry in a node's `status.volumesInUse` or `volumesAttached`, also
/// of migrated volumes.
pub(super) fn on_node(name: &str) -> Option<BackendKey> {
    let (driver, handle) = name.strip_prefix("kubernetes.io/csi/")?.split_once('^')?;
    Some(BackendKey { driver: driver.into(), handle: handle.into() })
}

/// The ids by which a volume names its storage.
pub(super) fn named(volume: &Volume) -> Option<Named> {
    let reference = Reference::of(volume.backend.as_ref()?, &volume.attributes);
    let is_made = matches!(&volume.source, VolumeSource::Csi { provisioner_identity: true, .. });
    Some(Named::of(&reference, is_made))
}

/// Adds a row to the index by place, or removes it.
pub(super) fn index(row: &impl Placed, change: EntryChange, index: &mut Index, id: ObjectId) {
    for place in row.places() {
        place.keys().into_iter().for_each(|key| change.apply(index, key, id));
    }
}

/// Adds a row to the index by the ids in its names, or removes it.
pub(super) fn index_names(row: &impl Placed, change: EntryChange, index: &mut Index, id: ObjectId) {
    for key in row.named().iter().flat_map(Named::keys) {
        change.apply(index, key, id);
    }
}

impl Cluster {
    /// Returns the volumes that may share storage with any of these volumes.
    pub fn volumes_sharing<'a>(
        &self,
        volumes: impl Iterator<Item = &'a Volume>,
    ) -> BTreeSet<ObjectId> {
        // Very many may name one place, or be somewhere in it, which is searched once.
        let mut searched = HashSet::new();
        let mut found = BTreeSet::new();
        for volume in volumes {
            let keys = volume.places().into_iter().flat_map(|place| place.searches());
            for key in keys.filter(|key| searched.insert(*key)) {
                found.extend(self.indexes.volumes_by_place.candidates(key));
            }
        }
        found
    }

    /// Marks the volumes that may share an id with a row: each of them finds it by that id.
    pub(super) fn touch_namesakes(&self, row: &impl Placed, dirty: &mut Dirty) {
        for named in row.named() {
            let ids =
                named.searches().flat_map(|key| self.indexes.volumes_by_token.candidates(key));
            dirty.subjects.extend(ids.map(Subject::Volume));
        }
    }

    /// Marks the volumes and kept backend volumes that may overlap with a row.
    pub(super) fn touch_places(&self, row: &impl Placed, dirty: &mut Dirty) {
        let places = row.places();
        let index = &self.indexes.volumes_by_place;
        let ids = distinct(candidates(index, &places, Place::searches));
        dirty.subjects.extend(ids.into_iter().map(Subject::Volume));
        // Few enough to compare all of them.
        let kept = self.kept.values().filter(|it| meeting(&places, &it.places()).is_some());
        dirty.subjects.extend(kept.map(|it| Subject::Backend(it.backend.clone())));
    }
}

/// Ids of the rows under the keys of places; some occur more than once.
pub(super) fn candidates<'a, 'p>(
    index: &'a Index,
    places: &[Place<'p>],
    keys: impl Fn(&Place<'p>) -> Vec<PlaceKey>,
) -> impl Iterator<Item = ObjectId> + 'a {
    let keys: Vec<PlaceKey> = places.iter().flat_map(keys).collect();
    keys.into_iter().flat_map(|key| index.candidates(key))
}

/// Returns the ids, each once.
pub(super) fn distinct(ids: impl Iterator<Item = ObjectId>) -> Vec<ObjectId> {
    let mut ids: Vec<ObjectId> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Returns the rows that overlap with places, or may, in the order of namespace and name.
pub(super) fn compared<'a, R: Stored + Placed>(
    cluster: &'a Cluster,
    ids: Vec<ObjectId>,
    places: &[Place<'_>],
) -> Vec<(&'a R, Overlap)> {
    let table = R::table(&cluster.tables);
    let rows = ids.into_iter().filter_map(|id| table.get(id));
    let mut rows: Vec<_> =
        rows.filter_map(|row| Some((row, meeting(places, &row.places())?))).collect();
    rows.sort_by(|(a, _), (b, _)| (a.namespace(), a.name()).cmp(&(b.namespace(), b.name())));
    rows
}

/// Copies places into owned ones, without borrowed texts.
pub(super) fn owned(places: &[Place<'_>]) -> Vec<Place<'static>> {
    places.iter().cloned().map(Place::into_owned).collect()
}
