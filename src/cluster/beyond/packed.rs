//! References of a cluster in little memory: of hundreds of clusters, few references meet another.

use std::borrow::Cow;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};

use flate2::Compression;
use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;
use hashbrown::HashMap;
use serde::{Deserialize, Serialize};

use super::{ReferencingVolume, StorageReference, short};
use crate::cluster::Placed as _;
use crate::drivers::family_with;
use crate::model::{Attributes, BackendKey, Bytes, ClaimKey, Kind, ObjectKey, Text, Uid};

/// What a cluster names of storage: the keys of places, and the rest compressed.
#[derive(Debug, Default)]
pub struct PackedReferences {
    /// Keys of places, sorted.
    own: Vec<ShortKey>,
    /// Keys of the directories around them, sorted.
    around: Vec<ShortKey>,
    lines: Vec<u8>,
}

/// The beginning of a key: there are millions, and whoever has one in common is compared by whole ones.
type ShortKey = [u8; 5];

fn shortened(key: u64) -> ShortKey {
    let [first, second, third, fourth, fifth, ..] = key.to_be_bytes();
    [first, second, third, fourth, fifth]
}

type Pair<'a> = (Cow<'a, str>, Cow<'a, str>);

/// A reference, as a line.
#[derive(Serialize, Deserialize)]
struct Line<'a>(
    /// Group and kind.
    #[serde(borrow)]
    (Cow<'a, str>, Cow<'a, str>),
    Option<Cow<'a, str>>,
    Cow<'a, str>,
    /// Driver and handle.
    (Cow<'a, str>, Cow<'a, str>),
    /// Attributes, and the family as which the driver was recognised.
    (Vec<Pair<'a>>, Option<Cow<'a, str>>),
    Option<VolumeLine<'a>>,
);

#[derive(Serialize, Deserialize)]
struct VolumeLine<'a> {
    uid: Option<String>,
    capacity: Option<Bytes>,
    #[serde(borrow)]
    claim: Option<(Cow<'a, str>, Cow<'a, str>)>,
    class: Option<Cow<'a, str>>,
    driver: Cow<'a, str>,
    phase: Cow<'a, str>,
    policy: Cow<'a, str>,
    facts: [bool; 5],
}

impl PackedReferences {
    /// Packs the references of a cluster.
    ///
    /// # Panics
    /// Never: memory takes what is written.
    pub fn new(references: &[StorageReference]) -> Self {
        let mut packed = Self::default();
        // The encoder clears a buffer of its own at each write, and JSON is written in very small ones.
        // The fastest level has one code for all texts: ids take twice the bytes.
        let zlib = ZlibEncoder::new(Vec::new(), Compression::new(2));
        let mut lines = BufWriter::with_capacity(64 << 10, zlib);
        for reference in references {
            for key in reference.reference().keys(&reference.places()) {
                packed.own.extend(key.own.map(shortened));
                packed.around.extend(key.around.into_iter().map(shortened));
            }
            serde_json::to_writer(&mut lines, &line(reference))
                .expect("because text is written to memory");
            lines.write_all(b"\n").expect("because it is written to memory");
        }
        let zlib = lines.into_inner().expect("because it is written to memory");
        packed.lines = zlib.finish().expect("because it is written to memory");
        packed.lines.shrink_to_fit();
        for keys in [&mut packed.own, &mut packed.around] {
            keys.sort_unstable();
            keys.dedup();
            keys.shrink_to_fit();
        }
        packed
    }

    /// Returns the references that have one of these keys.
    ///
    /// # Panics
    /// Never: what was packed is unpacked.
    pub fn unpack(self, common: &CommonKeys) -> Vec<StorageReference> {
        if !self.own.iter().chain(&self.around).any(|it| common.contains(*it)) {
            return Vec::new();
        }
        let lines = BufReader::new(ZlibDecoder::new(&*self.lines)).lines();
        let references = lines.filter_map(|line| {
            let line = line.expect("because it was written here");
            reference(serde_json::from_str(&line).expect("because it was written here"))
        });
        let is_common = |it: &StorageReference| {
            let keys = it.reference().keys(&it.places());
            let mut keys = keys.iter().flat_map(|key| key.own.iter().chain(&key.around));
            keys.any(|it| common.contains(shortened(*it)))
        };
        references.filter(is_common).collect()
    }
}

/// Returns the keys of a part, which are sorted as all are.
fn part_of(keys: &[ShortKey], part: u8) -> &[ShortKey] {
    const WIDTH: u8 = u8::MAX / CommonKeys::PARTS + 1;
    let first = keys.partition_point(|it| it[0] / WIDTH < part);
    let keys = &keys[first..];
    &keys[..keys.partition_point(|it| it[0] / WIDTH == part)]
}

/// Keys of places that one cluster names, and another as well or something in them; sorted.
#[derive(Debug, Default)]
pub struct CommonKeys(Vec<ShortKey>);

impl CommonKeys {
    /// Number of parts in which keys are compared, so that never all of them are in one table.
    pub const PARTS: u8 = 64;

    /// Returns those of a part.
    pub fn of_part(clusters: &[PackedReferences], part: u8) -> Self {
        const SEVERAL: u32 = u32::MAX;
        let add = |found: &mut HashMap<ShortKey, u32>, key: ShortKey, cluster: u32| {
            let entry = found.entry(key).or_insert(cluster);
            if *entry != cluster {
                *entry = SEVERAL;
            }
        };
        let mut own = HashMap::new();
        for (cluster, it) in clusters.iter().enumerate() {
            for key in part_of(&it.own, part) {
                add(&mut own, *key, short(cluster));
            }
        }
        // What lies in places of others. What only lies in one directory, as all of a server does, is not in common.
        for (cluster, it) in clusters.iter().enumerate() {
            for key in part_of(&it.around, part) {
                if own.contains_key(key) {
                    add(&mut own, *key, short(cluster));
                }
            }
        }
        let common = own.into_iter().filter(|(_, cluster)| *cluster == SEVERAL);
        let mut common: Vec<_> = common.map(|(key, _)| key).collect();
        common.sort_unstable();
        Self(common)
    }

    /// Joins those of all parts, in their order.
    pub fn joined(parts: impl IntoIterator<Item = Self>) -> Self {
        Self(parts.into_iter().flat_map(|it| it.0).collect())
    }

    fn contains(&self, key: ShortKey) -> bool {
        self.0.binary_search(&key).is_ok()
    }
}

fn line(it: &StorageReference) -> Line<'_> {
    let kind = it.object.kind;
    Line(
        (kind.group().name.into(), kind.name().into()),
        it.object.namespace.as_deref().map(Cow::Borrowed),
        Cow::Borrowed(&it.object.name),
        (Cow::Borrowed(&it.backend.driver), Cow::Borrowed(&it.backend.handle)),
        (
            it.attributes.iter().map(|(key, value)| (key.into(), value.into())).collect(),
            it.attributes.family().map(Cow::Borrowed),
        ),
        it.volume.as_ref().map(|volume| VolumeLine {
            uid: volume.uid.as_ref().map(ToString::to_string),
            capacity: volume.capacity,
            claim: volume.claim.as_ref().map(|it| ((&*it.namespace).into(), (&*it.name).into())),
            class: volume.class.as_deref().map(Cow::Borrowed),
            driver: Cow::Borrowed(&volume.driver),
            phase: Cow::Borrowed(&volume.phase),
            policy: Cow::Borrowed(&volume.policy),
            facts: [
                volume.may_destroy,
                volume.is_shared,
                volume.is_left_out,
                volume.is_exempt,
                volume.is_at_risk,
            ],
        }),
    )
}

fn reference(line: Line<'_>) -> Option<StorageReference> {
    let Line((group, kind), namespace, name, (driver, handle), (attributes, family), volume) = line;
    let text = |it: Cow<'_, str>| Text::from(&*it);
    let attributes = attributes.into_iter().map(|(key, value)| (text(key), text(value)));
    Some(StorageReference {
        object: ObjectKey {
            kind: Kind::parse(&group, &kind)?,
            namespace: namespace.map(text),
            name: (&*name).into(),
        },
        backend: BackendKey { driver: text(driver), handle: text(handle) },
        attributes: attributes
            .collect::<Attributes>()
            .with_family(family.map(|it| family_with(&it).id)),
        is_somewhere: false,
        volume: volume.map(|it| {
            let [may_destroy, is_shared, is_left_out, is_exempt, is_at_risk] = it.facts;
            Box::new(ReferencingVolume {
                uid: it.uid.as_deref().and_then(Uid::parse),
                capacity: it.capacity,
                phase: text(it.phase),
                claim: it.claim.map(|(namespace, name)| ClaimKey {
                    namespace: text(namespace),
                    name: (&*name).into(),
                }),
                class: it.class.map(text),
                driver: text(it.driver),
                policy: text(it.policy),
                may_destroy,
                is_shared,
                is_left_out,
                is_exempt,
                is_at_risk,
            })
        }),
    })
}
