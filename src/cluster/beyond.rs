//! What several clusters name of the same storage: compared by places that overlap for certain (semantics K.4).
//!
//! A cluster is too large to be kept for this. Of each only [references](StorageReference) are.

use hashbrown::HashMap;

use super::Placed;
use crate::drivers::{Overlap, Part, Place, Reach, Reference, Relation, meeting, used};
use crate::model::{
    Attributes, BackendKey, Bytes, ClaimKey, ObjectKey, ObjectRef, Phase, ReclaimPolicy, Text, Uid,
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
    /// Its phase.
    pub phase: Phase,
    /// The claim of its claimRef.
    pub claim: Option<ClaimKey>,
    /// Its storage class.
    pub class: Option<Text>,
    /// Its driver, provisioner or plugin.
    pub driver: Text,
    /// Its reclaim policy.
    pub policy: ReclaimPolicy,
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

impl StorageReference {
    /// From where the storage can be named.
    pub fn reach(&self) -> Reach {
        Reference::of(&self.backend, &self.attributes).family.reach
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

/// References of several clusters.
#[derive(Debug, Default)]
pub struct ReferencesOfClusters {
    clusters: Vec<Vec<StorageReference>>,
    at: ByKey,
    beneath: ByKey,
}

impl ReferencesOfClusters {
    /// Builds the index of the references of clusters, by the number of the cluster.
    pub fn new(clusters: Vec<Vec<StorageReference>>) -> Self {
        let mut index = Self { clusters, ..Self::default() };
        for (cluster, references) in index.clusters.iter().enumerate() {
            let mut order: Vec<usize> = (0..references.len()).collect();
            // The first of a cluster stands for it.
            order.sort_by_key(|it| !references[*it].may_destroy());
            for number in order {
                let id = (short(cluster), short(number));
                for key in references[number].places().iter().flat_map(Place::exact_keys) {
                    key.own.into_iter().for_each(|own| file(&mut index.at, own, id));
                    for around in key.around {
                        file(&mut index.beneath, around, id);
                    }
                }
            }
        }
        let destroys = |(cluster, number): &(u32, u32)| {
            index.clusters[*cluster as usize][*number as usize].may_destroy()
        };
        for entries in index.at.values_mut().chain(index.beneath.values_mut()) {
            entries.sort_by_key(|it| !destroys(it));
        }
        index
    }

    /// The references of each cluster.
    pub fn clusters(&self) -> &[Vec<StorageReference>] {
        &self.clusters
    }

    /// What clusters but this one name at places, or in or around them: of each cluster one reference a place.
    pub fn naming(&self, places: &[Place<'_>], besides: Option<usize>) -> Vec<NamedBeyond<'_>> {
        let mut found: Vec<(u32, u32)> = Vec::new();
        let mut take = |entries: Option<&Vec<(u32, u32)>>| {
            let others = entries.into_iter().flatten();
            found.extend(others.filter(|it| Some(it.0 as usize) != besides).take(MOST));
        };
        for key in places.iter().flat_map(Place::exact_keys) {
            for at in key.around.iter().chain(&key.own) {
                take(self.at.get(at));
            }
            take(key.own.and_then(|own| self.beneath.get(&own)));
        }
        found.sort_unstable();
        found.dedup();
        let named = found.into_iter().filter_map(|(cluster, number)| {
            let cluster = cluster as usize;
            let reference = &self.clusters[cluster][number as usize];
            let theirs = reference.places();
            let overlap = meeting(places, &theirs).filter(Overlap::is_certain)?;
            let doubt =
                doubt(reference, &theirs).or_else(|| is_by_address(places).then(same_address));
            Some(NamedBeyond { cluster, reference, relation: overlap.relation, doubt })
        });
        named.collect()
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

/// Why what has the same name in another cluster may be something else.
fn doubt(reference: &StorageReference, places: &[Place<'_>]) -> Option<String> {
    let named = Reference::of(&reference.backend, &reference.attributes);
    if let Some(why) = places.iter().find_map(Place::doubt) {
        return Some(why.to_owned());
    }
    let is_known = |part: &Part<'_>| matches!(part, Part::Server { identity: Some(_), .. });
    let is_global = places.iter().all(|it| it.realm.iter().any(is_known));
    (named.family.reach != Reach::Provider && !is_global).then(same_address)
}

/// Whether places are known by an address alone, which may be that of another system elsewhere.
fn is_by_address(places: &[Place<'_>]) -> bool {
    let is_address = |part: &Part<'_>| matches!(part, Part::Server { identity: None, .. });
    places.iter().all(|it| it.realm.iter().any(is_address))
}

fn same_address() -> String {
    "the other cluster may reach another system by the same address".to_owned()
}
