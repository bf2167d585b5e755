//! The bytes of the volumes in findings, each backend volume once: what is wasted, and what is at risk.
//!
//! They come from findings alone, so that a saved report has the same figures as the audit that wrote it.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    hash::{DefaultHasher, Hash, Hasher as _},
};

use serde::{
    Deserialize, Deserializer,
    de::{SeqAccess, Visitor},
};

use super::{sections::Grouping, wire::Finding};
use crate::{
    model::{Bytes, Interner, Kind, Phase, Severity, Text, parse_quantity},
    rules::{self, CapacityRisk, Waste},
};

/// Bytes of some backend volumes, and how many these are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amounts {
    by_waste: [Bytes; Waste::ALL.len()],
    /// How many of them are wasted.
    pub volumes: usize,
    /// Bytes whose data can be destroyed, or read by other users.
    pub at_risk: Bytes,
    /// How many of them are at risk.
    pub volumes_at_risk: usize,
}

impl Amounts {
    /// Bytes that are wasted in one way.
    pub fn of(&self, waste: Waste) -> Bytes {
        self.by_waste[waste as usize]
    }

    /// All bytes that are wasted.
    pub fn wasted(&self) -> Bytes {
        self.by_waste.into_iter().fold(0, Bytes::saturating_add)
    }

    /// These and others.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Self {
        for (bytes, more) in self.by_waste.iter_mut().zip(other.by_waste) {
            *bytes = bytes.saturating_add(more);
        }
        self.at_risk = self.at_risk.saturating_add(other.at_risk);
        self.volumes += other.volumes;
        self.volumes_at_risk += other.volumes_at_risk;
        self
    }

    fn add(&mut self, volume: &CountedVolume) {
        if let Some(waste) = volume.waste {
            let bytes = &mut self.by_waste[waste as usize];
            *bytes = bytes.saturating_add(volume.bytes);
            self.volumes += 1;
        }
        if volume.is_at_risk {
            self.at_risk = self.at_risk.saturating_add(volume.bytes);
            self.volumes_at_risk += 1;
        }
    }
}

/// By what bytes are added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// By namespace, class or driver, as tables are grouped.
    Group(Grouping),
    /// By the time since it is so.
    Age,
}

/// Ages from these many days on are counted together, under this name.
const AGES: [(i64, &str); 5] = [
    (365, "1 year or more"),
    (90, "90 days to 1 year"),
    (30, "30 to 90 days"),
    (7, "7 to 30 days"),
    (0, "less than 7 days"),
];

/// One backend volume.
#[derive(Debug, Default)]
struct CountedVolume {
    bytes: Bytes,
    /// The first that applies.
    waste: Option<Waste>,
    is_at_risk: bool,
    namespace: Option<Text>,
    class: Option<Text>,
    driver: Option<Text>,
    seconds: Option<i64>,
}

impl CountedVolume {
    /// Takes over what another finding says of it.
    fn absorb(&mut self, other: Self) {
        self.bytes = self.bytes.max(other.bytes);
        self.waste = self.waste.into_iter().chain(other.waste).min();
        self.is_at_risk |= other.is_at_risk;
        self.namespace = self.namespace.take().or(other.namespace);
        self.class = self.class.take().or(other.class);
        self.driver = self.driver.take().or(other.driver);
        self.seconds = self.seconds.max(other.seconds);
    }

    fn place(&self, by: Place) -> Option<Text> {
        match by {
            Place::Group(Grouping::Namespace) => self.namespace.clone(),
            Place::Group(Grouping::Class) => self.class.clone(),
            Place::Group(Grouping::Driver) => self.driver.clone(),
            Place::Age => {
                let days = self.seconds? / 86_400;
                let (_, name) = AGES.into_iter().find(|(least, _)| days >= *least)?;
                Some(Text::from(name))
            }
        }
    }
}

/// Adds up findings as they pass by: it keeps a few words of each volume, and no finding.
#[derive(Debug, Default)]
pub struct StorageTally {
    /// Findings that passed by.
    pub findings: usize,
    volumes: Vec<CountedVolume>,
    /// Volumes by name, and by what they reference at the backend: hashes, which are smaller.
    by_name: HashMap<u64, usize>,
    by_backend: HashMap<u64, usize>,
    texts: Interner,
}

impl StorageTally {
    /// Counts a finding.
    pub fn add(&mut self, finding: &Finding) {
        self.findings += 1;
        let Some(counted) = self.counted(finding) else { return };
        let name = hash(&name(finding));
        let known = self.by_name.get(&name).copied();
        let backend = backend(finding).map(|it| hash(&it));
        let shared = backend.and_then(|it| self.by_backend.get(&it).copied());
        let index = shared.or(known).unwrap_or(self.volumes.len());
        if index == self.volumes.len() {
            self.volumes.push(CountedVolume::default());
        }
        // Two that had been counted apart reference one backend volume.
        if let Some(other) = known.filter(|it| *it != index) {
            let other = std::mem::take(&mut self.volumes[other]);
            self.volumes[index].absorb(other);
        }
        self.volumes[index].absorb(counted);
        self.by_name.insert(name, index);
        self.by_backend.extend(backend.map(|it| (it, index)));
    }

    /// What a finding says of its volume; `None` where that costs and endangers nothing.
    fn counted(&mut self, finding: &Finding) -> Option<CountedVolume> {
        let volume = finding.volume.as_ref()?;
        // A report may be of a later version, with findings that this one does not know.
        let risk = rules::find(&finding.id).map_or(CapacityRisk::None, |it| it.capacity_risk);
        let waste = match risk {
            CapacityRisk::Leak => Some(Waste::Leaking),
            _ if volume.phase == Phase::Released.to_string() => Some(Waste::Released),
            CapacityRisk::Unused => Some(Waste::Unused),
            _ => None,
        };
        let is_serious = finding.severity != Severity::Info.name();
        let is_at_risk = match risk {
            CapacityRisk::Data => is_serious,
            CapacityRisk::Deletion => is_serious && volume.reclaim_policy != "Retain",
            CapacityRisk::None | CapacityRisk::Leak | CapacityRisk::Unused => false,
        };
        if waste.is_none() && !is_at_risk {
            return None;
        }
        let mut text = |by: Grouping| by.of(finding).and_then(|it| self.texts.non_empty(&it));
        Some(CountedVolume {
            bytes: volume.capacity.as_deref().and_then(parse_quantity).unwrap_or(0),
            waste,
            is_at_risk,
            namespace: text(Grouping::Namespace),
            class: text(Grouping::Class),
            driver: text(Grouping::Driver),
            seconds: finding.age.as_ref().and_then(|it| it.seconds),
        })
    }

    /// Everything.
    pub fn total(&self) -> Amounts {
        let mut total = Amounts::default();
        self.volumes.iter().for_each(|it| total.add(it));
        total
    }

    /// The same by place, the most wasteful place first; `None` is what has no such place, or none that is known. Ages
    /// are sorted, the oldest first.
    pub fn by(&self, place: Place) -> Vec<(Option<Text>, Amounts)> {
        let mut places: BTreeMap<Option<Text>, Amounts> = BTreeMap::new();
        for volume in self.volumes.iter().filter(|it| it.waste.is_some() || it.is_at_risk) {
            places.entry(volume.place(place)).or_default().add(volume);
        }
        let mut places: Vec<_> = places.into_iter().collect();
        let rank =
            |name: &Option<Text>| AGES.iter().position(|(_, it)| Some(*it) == name.as_deref());
        match place {
            Place::Age => places.sort_by_key(|(name, _)| (name.is_none(), rank(name))),
            Place::Group(_) => places
                .sort_by_key(|(_, it)| std::cmp::Reverse((it.wasted(), it.at_risk, it.volumes))),
        }
        places
    }
}

/// The PersistentVolume that a finding is about: by its own name, or by that which its claim is bound to.
fn name(finding: &Finding) -> String {
    let object = &finding.object;
    let bound = || {
        let of_claim = finding.evidence.iter().find(|it| it.field == "spec.volumeName")?;
        (of_claim.value != "<none>").then(|| of_claim.value.clone())
    };
    if object.kind == Kind::PersistentVolume.name() {
        return object.name.clone();
    }
    // No volume has such a name.
    let namespace = object.namespace.as_deref().unwrap_or_default();
    bound().unwrap_or_else(|| format!("{}/{namespace}/{}", object.kind, object.name))
}

/// What its volume references at the backend, with the driver.
fn backend(finding: &Finding) -> Option<String> {
    let is_own = finding.object.kind == Kind::PersistentVolume.name();
    let shown = finding.evidence.iter().find(|it| is_own && it.field == "backend volume")?;
    let driver = finding.volume.as_ref()?.driver.as_deref().unwrap_or_default();
    Some(format!("{driver}\n{}", shown.value))
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// From the findings of a saved report, one by one.
impl<'de> Deserialize<'de> for StorageTally {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Findings;
        impl<'de> Visitor<'de> for Findings {
            type Value = StorageTally;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list of findings")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<StorageTally, A::Error> {
                let mut tally = StorageTally::default();
                while let Some(finding) = seq.next_element::<Finding>()? {
                    tally.add(&finding);
                }
                Ok(tally)
            }
        }
        deserializer.deserialize_seq(Findings)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn finding(id: &str, object: (&str, &str), volume: &Value, evidence: &Value) -> Value {
        json!({
            "id": id, "severity": "high", "summary": "", "related": [], "volume": volume,
            "object": {"apiVersion": "v1", "kind": object.0, "name": object.1, "namespace": "shop"},
            "age": {"seconds": 40 * 86_400, "trust": "corroborated"},
            "evidence": evidence, "verdict": {"state": "report-only", "reason": ""},
        })
    }

    fn volume(capacity: &str, phase: &str, policy: &str) -> Value {
        json!({"capacity": capacity, "phase": phase, "reclaimPolicy": policy, "driver": "d", "storageClass": "fast"})
    }

    fn shows(field: &str, value: &str) -> Value {
        json!([{"object": "", "field": field, "value": value}])
    }

    fn tally(findings: &[Value]) -> StorageTally {
        serde_json::from_value(Value::from(findings)).expect("a list of findings")
    }

    #[test]
    fn a_backend_volume_counts_once() {
        const GI: Bytes = 1 << 30;
        let (pv, claim) = ("PersistentVolume", "PersistentVolumeClaim");
        let (bound, released) =
            (volume("1Gi", "Bound", "Delete"), volume("1Gi", "Released", "Retain"));
        let handle = shows("backend volume", "vol-1");
        let of_a = shows("spec.volumeName", "a");
        for (findings, wasted, at_risk, volumes) in [
            // Two findings about one volume, and one about its claim.
            (
                vec![
                    finding("pv-leak-imminent", (pv, "a"), &bound, &handle),
                    finding("pv-terminating-bound", (pv, "a"), &bound, &handle),
                    finding("pvc-unused", (claim, "c"), &bound, &of_a),
                ],
                GI,
                GI,
                1,
            ),
            // Two volumes of one backend volume, before and after it is known that they are.
            (
                vec![
                    finding("pv-released-past-threshold", (pv, "a"), &released, &handle),
                    finding("pv-released-past-threshold", (pv, "b"), &released, &handle),
                ],
                GI,
                0,
                1,
            ),
            (
                vec![
                    finding("pvc-unused", (claim, "c"), &bound, &of_a),
                    finding("pvc-unused", (claim, "d"), &bound, &shows("spec.volumeName", "b")),
                    finding("pv-released-past-threshold", (pv, "a"), &released, &handle),
                    finding("pv-released-past-threshold", (pv, "b"), &released, &handle),
                ],
                GI,
                0,
                1,
            ),
            // Others count by themselves.
            (
                vec![
                    finding(
                        "pvc-unused",
                        (claim, "c"),
                        &bound,
                        &shows("spec.volumeName", "<none>"),
                    ),
                    finding("pvc-unused", (claim, "d"), &bound, &json!([])),
                ],
                2 * GI,
                0,
                2,
            ),
            // What costs and endangers nothing, or is of no volume, does not.
            (
                vec![
                    finding("pv-node-gone", (pv, "a"), &bound, &handle),
                    finding(
                        "pvc-doomed-by-gc",
                        (claim, "c"),
                        &volume("1Gi", "Bound", "Retain"),
                        &of_a,
                    ),
                    finding("of-a-later-version", (pv, "a"), &Value::Null, &handle),
                ],
                0,
                0,
                0,
            ),
        ] {
            let tally = tally(&findings);
            let total = tally.total();
            assert_eq!(
                (total.wasted(), total.at_risk, total.volumes),
                (wasted, at_risk, volumes),
                "{findings:?}"
            );
            assert_eq!(tally.findings, findings.len());
            for place in [Grouping::Namespace, Grouping::Class, Grouping::Driver]
                .map(Place::Group)
                .into_iter()
                .chain([Place::Age])
            {
                let parts = tally.by(place);
                let sum: Bytes = parts.iter().map(|(_, it)| it.wasted()).sum();
                assert_eq!(
                    (sum, parts.iter().map(|(_, it)| it.volumes).sum::<usize>()),
                    (wasted, volumes)
                );
                assert!(parts.iter().all(|(name, _)| name.is_some()), "{parts:?}");
            }
        }
    }

    #[test]
    fn the_first_waste_that_applies_counts() {
        let released = volume("2Gi", "Released", "Retain");
        let shown = shows("backend volume", "x");
        let total = tally(&[
            finding("pv-released-past-threshold", ("PersistentVolume", "a"), &released, &shown),
            finding("pv-leak-imminent", ("PersistentVolume", "a"), &released, &shown),
        ])
        .total();
        assert_eq!(Waste::ALL.map(|it| total.of(it)), [2 << 30, 0, 0]);
    }
}
