//! What several clusters name of the same storage: compared by places that overlap for certain (semantics K.4).
//!
//! A cluster is too large to be kept for this. Of each only [references](StorageReference) are.

mod packed;

use std::sync::Arc;

use hashbrown::HashMap;

pub use packed::{CommonKeys, PackedReferences};

use super::{Placed, Seen, Unseen};
use crate::drivers::{ExactKey, Overlap, Place, Reach, Reference, Relation, used};
use crate::model::{
    Attributes, BackendKey, Bytes, ClaimKey, Kind, ObjectKey, ObjectRef, Text, Uid, VolumeColumns,
};

/// An object that names storage which another cluster can name, too.
#[derive(Debug, Clone)]
pub struct StorageReference {
    /// The object: a volume, or a pod with a volume of its own, an attachment, a snapshot, a kept record.
    pub object: ObjectKey,
    /// What it names.
    pub backend: BackendKey,
    /// The attributes that decide what that is.
    pub attributes: Attributes,
    /// Whether that is somewhere in the storage of its driver: a snapshot, of which its handle does not tell the volume.
    pub is_somewhere: bool,
    /// More of a `PersistentVolume`.
    pub volume: Option<Box<ReferencingVolume>>,
}

/// What a comparison of clusters says of a `PersistentVolume`.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Debug, Clone)]
pub struct ReferencingVolume {
    /// Its uid.
    pub uid: Option<Uid>,
    /// Its capacity.
    pub capacity: Option<Bytes>,
    /// Its phase, as it is shown.
    pub phase: Text,
    /// The claim of its claimRef.
    pub claim: Option<ClaimKey>,
    /// Its storage class.
    pub class: Option<Text>,
    /// Its driver, provisioner or plugin.
    pub driver: Text,
    /// Its reclaim policy, as it is shown.
    pub policy: Text,
    /// Whether its policy may destroy the data.
    pub may_destroy: bool,
    /// Whether it is made for several nodes, as file systems and buckets are.
    pub is_shared: bool,
    /// Whether the report leaves it out: by its scope, or an exemption.
    pub is_left_out: bool,
    /// Whether that is an exemption.
    pub is_exempt: bool,
    /// Whether its cluster alone says that its data is at risk.
    pub is_at_risk: bool,
}

impl Placed for StorageReference {
    fn places(&self) -> Vec<Place<'_>> {
        used(&Reference::of(&self.backend, &self.attributes))
    }
}

impl ReferencingVolume {
    /// Its columns in tables.
    pub fn columns(&self) -> VolumeColumns {
        VolumeColumns {
            capacity: self.capacity,
            claim: self.claim.as_ref().map(ToString::to_string),
            class: self.class.clone(),
            driver: Some(Text::clone(&self.driver)),
            reclaim_policy: self.policy.to_string(),
            phase: self.phase.to_string(),
        }
    }
}

impl StorageReference {
    /// The reference to the storage.
    pub fn reference(&self) -> Reference<'_> {
        Reference::of(&self.backend, &self.attributes)
    }

    /// The object, as findings name it.
    pub fn object(&self) -> ObjectRef {
        let uid = self.volume.as_ref().and_then(|it| it.uid.clone());
        ObjectRef { key: self.object.clone(), uid }
    }

    /// Whether its policy may destroy the data.
    pub fn may_destroy(&self) -> bool {
        self.volume.as_ref().is_some_and(|it| it.may_destroy)
    }
}

/// The same storage, named by another cluster.
#[derive(Debug)]
pub struct NamedBeyond<'a> {
    /// The number of that cluster.
    pub cluster: usize,
    /// The number of the reference in that cluster.
    pub number: usize,
    /// What names it there: of several, one that may destroy it.
    pub reference: &'a StorageReference,
    /// How it lies to what was compared.
    pub relation: Relation,
    /// Why it may be something else; `None` if it is this.
    pub doubt: Option<String>,
}

/// How many clusters are told that name one place: of more, those whose policy may destroy it.
const MOST: usize = 32;

/// One reference of each cluster for each key.
type ByKey = HashMap<u64, Vec<(u32, u32)>>;

/// References by the places that they name.
#[derive(Debug, Default)]
struct PlaceIndex {
    at: ByKey,
    beneath: ByKey,
}

impl PlaceIndex {
    fn file(&mut self, key: ExactKey, id: (u32, u32)) {
        key.own.into_iter().for_each(|own| file(&mut self.at, own, id));
        for around in key.around {
            file(&mut self.beneath, around, id);
        }
    }
}

/// References of several clusters.
#[derive(Debug, Default)]
pub struct ReferencesOfClusters {
    clusters: Vec<Vec<StorageReference>>,
    places: PlaceIndex,
    /// What is undecided, by its space; and what is somewhere in the storage of a family, by that.
    undecided: ByKey,
    /// Anything else, by its space.
    spaces: ByKey,
    /// Whether a doubt is enough: a change is refused for it.
    takes_doubts: bool,
}

impl ReferencesOfClusters {
    /// Builds the index of all references of clusters, by the number of the cluster.
    pub fn new(clusters: Vec<Vec<StorageReference>>) -> Self {
        let mut index = Self { clusters, ..Self::default() };
        for (cluster, references) in index.clusters.iter().enumerate() {
            let mut order: Vec<usize> = (0..references.len()).collect();
            // The first of a cluster stands for it.
            order.sort_by_key(|it| !references[*it].may_destroy());
            for number in order {
                let id = (short(cluster), short(number));
                let reference = &references[number];
                for key in reference.reference().keys(&reference.places()) {
                    index.places.file(key, id);
                }
            }
        }
        let destroys = |(cluster, number): &(u32, u32)| {
            index.clusters[*cluster as usize][*number as usize].may_destroy()
        };
        for entries in index.places.at.values_mut().chain(index.places.beneath.values_mut()) {
            entries.sort_by_key(|it| !destroys(it));
        }
        index
    }

    /// Files the references as well under what they may be: a change is refused for that.
    fn with_doubts(mut self) -> Self {
        self.takes_doubts = true;
        for (cluster, references) in self.clusters.iter().enumerate() {
            for (number, reference) in references.iter().enumerate() {
                let id = (short(cluster), short(number));
                if reference.is_somewhere {
                    file(&mut self.undecided, reference.reference().family_key(), id);
                    continue;
                }
                for place in reference.places() {
                    let of = match place.doubt() {
                        Some(_) => &mut self.undecided,
                        None => &mut self.spaces,
                    };
                    file(of, place.space_key(), id);
                    if let Some(key) = place.wide_key() {
                        self.places.file(key, id);
                    }
                }
            }
        }
        self
    }

    /// The references of each cluster.
    pub fn clusters(&self) -> &[Vec<StorageReference>] {
        &self.clusters
    }

    /// What clusters but this one name at places of a reference, or in or around them: of each cluster one reference a
    /// place, those first whose policy may destroy it.
    pub fn naming(
        &self,
        reference: &Reference<'_>,
        places: &[Place<'_>],
        besides: Option<usize>,
    ) -> Vec<NamedBeyond<'_>> {
        let mut found: Vec<(u32, u32)> = Vec::new();
        let mut take = |entries: Option<&Vec<(u32, u32)>>| {
            let others = entries.into_iter().flatten();
            found.extend(others.filter(|it| Some(it.0 as usize) != besides).take(MOST));
        };
        let mut keys = reference.keys(places);
        if self.takes_doubts {
            keys.extend(places.iter().filter_map(Place::wide_key));
        }
        for key in &keys {
            for at in key.around.iter().chain(&key.own) {
                take(self.places.at.get(at));
            }
            take(key.own.and_then(|own| self.places.beneath.get(&own)));
        }
        take(self.undecided.get(&reference.family_key()));
        for place in places {
            take(self.undecided.get(&place.space_key()));
            take(self.spaces.get(&place.space_key()).filter(|_| place.doubt().is_some()));
        }
        let keys = reference.telling_keys(places);
        found.sort_unstable();
        found.dedup();
        let named = found.into_iter().filter_map(|(cluster, number)| {
            let (cluster, number) = (cluster as usize, number as usize);
            let other = &self.clusters[cluster][number];
            if other.is_somewhere {
                let doubt = Some(SOMEWHERE.to_owned());
                let relation = Relation::Equal;
                return Some(NamedBeyond { cluster, number, reference: other, relation, doubt });
            }
            let theirs = other.places();
            let pairs = places.iter().flat_map(|mine| theirs.iter().map(move |it| (mine, it)));
            let overlaps = pairs.filter_map(|(mine, it)| {
                let Overlap { relation, doubt: unsure } = mine.overlap(it)?;
                match unsure {
                    None => Some((relation, doubt(reference, mine, &other.reference(), it))),
                    Some(why) => (self.takes_doubts || mine.is_open() || it.is_open())
                        .then(|| (relation, Some(why.into_owned()))),
                }
            });
            let closest = overlaps.min_by_key(|(relation, doubt)| (doubt.is_some(), *relation));
            let is_loose = || {
                let others = other.reference().telling_keys(&theirs);
                others.iter().any(|it| it.own.is_some() && keys.iter().any(|key| key.own == it.own))
            };
            let loose = || is_loose().then(|| (Relation::Equal, Some(LOOSE.to_owned())));
            let (relation, doubt) = closest.or_else(loose)?;
            Some(NamedBeyond { cluster, number, reference: other, relation, doubt })
        });
        let mut named: Vec<_> = named.collect();
        named.sort_by_key(|it| !it.reference.may_destroy());
        named
    }
}

/// What a cluster names of storage, as far as it was read.
#[derive(Debug, Default)]
pub struct NamedStorage {
    /// What it names.
    pub references: Vec<StorageReference>,
    /// Why it is unknown whether that is all.
    pub unread: Option<String>,
}

impl NamedStorage {
    /// Returns what is known of a cluster that could not be read.
    pub fn unread(why: String) -> Self {
        Self { unread: Some(why), ..Self::default() }
    }
}

/// Clusters that are read together, by their names.
#[derive(Debug, Default)]
pub struct NamedClusters {
    names: Vec<Text>,
    references: ReferencesOfClusters,
    /// Why it is unknown what a cluster names.
    unread: Vec<Option<String>>,
}

impl NamedClusters {
    /// Puts clusters into one index.
    pub fn new(clusters: impl Iterator<Item = (Text, NamedStorage)>) -> Self {
        let (mut names, mut references, mut unread) = (Vec::new(), Vec::new(), Vec::new());
        for (name, named) in clusters {
            names.push(name);
            unread.push(named.unread);
            references.push(named.references);
        }
        let references = ReferencesOfClusters::new(references).with_doubts();
        Self { names, references, unread }
    }

    /// Whether all was read of each.
    pub fn are_read(&self) -> bool {
        self.unread.iter().all(Option::is_none)
    }

    /// Returns the first of them, but for this one, of which it is unknown what it names.
    fn unknown(&self, besides: Option<usize>) -> Option<String> {
        let unread = self.unread.iter().enumerate().filter(|it| Some(it.0) != besides);
        let mut unread =
            unread.filter_map(|(number, why)| Some((&self.names[number], why.as_ref()?)));
        let (name, why) = unread.next()?;
        Some(format!(
            "unknown whether cluster {name} has a PersistentVolume of the same storage: {why}"
        ))
    }
}

/// What clusters beside the one that is changed name of storage, as they were last read (semantics K.4).
#[derive(Debug, Clone, Default)]
pub struct ClustersBeside {
    /// The clusters, in groups that were read at different times.
    pub groups: Vec<Arc<NamedClusters>>,
    /// The number of the cluster itself in each group.
    pub own: Option<usize>,
    /// Whether these are all clusters that can name the same storage, by the user's word, and each was read live.
    pub are_all: bool,
}

impl ClustersBeside {
    /// Returns what they name at places, or in or around them, each with the name of its cluster.
    ///
    /// # Errors
    /// When one of them could not be read, and the others name nothing there for certain.
    pub fn naming(
        &self,
        reference: &Reference<'_>,
        places: &[Place<'_>],
    ) -> Seen<Vec<(&Text, NamedBeyond<'_>)>> {
        let named = self.groups.iter().flat_map(|group| {
            let found = group.references.naming(reference, places, self.own).into_iter();
            found.map(|it| (&group.names[it.cluster], it))
        });
        let named: Vec<_> = named.collect();
        let is_certain = named.iter().any(|(_, it)| it.doubt.is_none());
        match self.groups.iter().find_map(|it| it.unknown(self.own)).filter(|_| !is_certain) {
            None => Ok(named),
            Some(reason) => Err(Unseen { kind: Kind::PersistentVolume, namespace: None, reason }),
        }
    }
}

fn short(number: usize) -> u32 {
    u32::try_from(number).expect("because nobody has so many")
}

/// Adds a reference under a key, unless its cluster has one there.
fn file(index: &mut ByKey, key: u64, (cluster, number): (u32, u32)) {
    let entries = index.entry(key).or_default();
    if entries.last().is_none_or(|it| it.0 != cluster) {
        entries.push((cluster, number));
    }
}

/// The doubt where something of the same driver is named, and what is unknown.
const SOMEWHERE: &str = "it is unknown which volume that snapshot was taken of";
/// The doubt where only a handle or an id is the same.
const LOOSE: &str =
    "both have one handle or id, and it is unknown whether that is on the same system";

/// Why what has the same name in another cluster may be something else.
fn doubt(
    mine: &Reference<'_>,
    my_place: &Place<'_>,
    theirs: &Reference<'_>,
    their_place: &Place<'_>,
) -> Option<String> {
    if let Some(why) = my_place.doubt().or(their_place.doubt()) {
        return Some(why.to_owned());
    }
    let of_provider = [mine, theirs].iter().all(|it| it.reach() == Reach::Provider);
    let is_global = of_provider || (my_place.has_uuid() && their_place.has_uuid());
    (!is_global || !my_place.is_named_alike(their_place)).then(|| {
        "the same name or address may lead to another system in the other cluster".to_owned()
    })
}
