//! Custom resources of any kind, reduced to the claims that they name, wherever in them.
//!
//! Its JSON is walked and never stored. A claim is named by the fields that pod templates and
//! operators use (semantics#other-users-of-a-claim); which of them count is decided by the kind.

use std::{collections::BTreeSet, fmt};

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::slim::or_default;
use crate::model::{CustomKind, CustomUser, Finish, NamedBy, NamedClaim, Naming, Uid, shorten};

/// Greatest length of the name of an object.
const LONGEST_NAME: usize = 253;
/// Greatest length of the path of a field that is stored.
const LONGEST_FIELD: usize = 200;

/// Fields whose value is the name of a claim.
const CLAIM_FIELDS: [&str; 7] = [
    "claimName",
    "sourcePVC",
    "destinationPVC",
    "pvcName",
    "volumeClaimName",
    "existingClaim",
    "pvc",
];
/// Fields whose object has the name of a claim as its name.
const CLAIM_OBJECTS: [&str; 2] = ["dataVolume", "pvc"];
/// The field of the disks that are made with a virtual machine.
const TEMPLATES: &str = "dataVolumeTemplates";
/// The beginning of an address of a model whose path is in a claim.
const CLAIM_URL: &str = "pvc://";

/// Custom resource, reduced to the claims that it names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CustomObject {
    namespace: String,
    name: String,
    /// The claims that the resource names, with the namespace that stands beside the name, if any.
    found: BTreeSet<(Section, NamedClaim, Option<Box<str>>)>,
    phase: Option<Box<str>>,
    completed: bool,
    uid: Option<Uid>,
    replicas: Option<i32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Section {
    Wanted,
    Status,
}

/// The identifying part of the metadata.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Identity {
    #[serde(deserialize_with = "or_default")]
    name: String,
    #[serde(deserialize_with = "or_default")]
    namespace: String,
    #[serde(deserialize_with = "or_default")]
    uid: String,
}

impl CustomObject {
    /// Returns the resource as a user of its claims; `None` if it names none and neither a label nor what it controls can
    /// lead to it.
    pub fn user(self, kind: &'static CustomKind, cluster_wide: bool) -> Option<CustomUser> {
        let finished = match kind.finish {
            Finish::Never => false,
            Finish::Completed => self.completed,
            Finish::Phases(phases) => self.phase.as_deref().is_some_and(|it| phases.contains(&it)),
        };
        let counts = |(section, claim, namespace): &(Section, NamedClaim, Option<Box<str>>)| {
            (*section == Section::Wanted || kind.status_counts)
                && (claim.by != NamedBy::Template || kind.naming == Naming::SetTemplates)
                && namespace.as_deref().is_none_or(|it| cluster_wide || *it == *self.namespace)
        };
        let own = (kind.naming == Naming::OwnName).then(|| NamedClaim {
            name: self.name.as_str().into(),
            by: NamedBy::OwnName,
            field: "metadata.name".into(),
        });
        let named = self.found.iter().filter(|it| counts(it)).map(|(_, claim, _)| claim.clone());
        let mut claims: Vec<NamedClaim> = own.into_iter().chain(named).collect();
        claims.dedup_by(|one, other| one.name == other.name && one.by == other.by);
        let has_replicas = kind.workload().is_some();
        if claims.is_empty() && kind.naming != Naming::Labels && !has_replicas {
            return None;
        }
        Some(CustomUser {
            kind,
            name: self.name.as_str().into(),
            cluster_wide,
            finished,
            claims: claims.into(),
            uid: self.uid.filter(|_| has_replicas),
            replicas: self.replicas.filter(|_| has_replicas),
        })
    }
}

/// A position in the object, as a path from its root.
struct Position<'a> {
    parent: Option<&'a Position<'a>>,
    step: PathStep<'a>,
}

enum PathStep<'a> {
    Key(&'a str),
    Index(usize),
}

impl Position<'_> {
    /// Returns the keys up to here, innermost first, without the indexes of lists.
    fn keys(&self) -> impl Iterator<Item = &str> {
        std::iter::successors(Some(self), |it| it.parent).filter_map(|it| match it.step {
            PathStep::Key(key) => Some(key),
            PathStep::Index(_) => None,
        })
    }

    fn key(&self) -> &str {
        self.keys().next().unwrap_or_default()
    }

    /// Whether these are the innermost keys, innermost first.
    fn ends_in(&self, keys: &[&str]) -> bool {
        self.keys().take(keys.len()).eq(keys.iter().copied())
    }

    /// Whether these are all the keys, innermost first.
    fn is(&self, keys: &[&str]) -> bool {
        self.keys().eq(keys.iter().copied())
    }

    fn path(&self) -> String {
        let steps: Vec<_> = std::iter::successors(Some(self), |it| it.parent).collect();
        let mut path = String::new();
        for position in steps.into_iter().rev() {
            match position.step {
                PathStep::Key(key) if path.is_empty() => path.push_str(key),
                PathStep::Key(key) => path.extend([".", key]),
                PathStep::Index(index) => path.extend(["[", &index.to_string(), "]"]),
            }
        }
        path
    }
}

/// Walk through a value, which notes the claims that the value names. Returns the value if it is a text that could be a
/// name.
struct Walk<'a> {
    at: &'a Position<'a>,
    section: Section,
    object: &'a mut CustomObject,
}

impl Walk<'_> {
    fn note(&mut self, name: &str, by: NamedBy, field: &str, namespace: Option<&str>) {
        if name.is_empty() || name.len() > LONGEST_NAME {
            return;
        }
        let field = shorten(field, LONGEST_FIELD).into();
        let claim = NamedClaim { name: name.into(), by, field };
        self.object.found.insert((self.section, claim, namespace.map(Into::into)));
    }

    fn text(&mut self, text: &str) {
        let at = self.at;
        let key = at.key();
        if CLAIM_FIELDS.contains(&key) || key.ends_with(".claimName") {
            self.note(text, NamedBy::Field, &at.path(), None);
        } else if let Some(place) = text.strip_prefix(CLAIM_URL) {
            let name = place.split('/').next().unwrap_or_default();
            self.note(name, NamedBy::Field, &at.path(), None);
        } else if at.ends_in(&["name", "metadata", TEMPLATES]) {
            self.note(text, NamedBy::Field, &at.path(), None);
        } else if at.ends_in(&["name", "metadata", "volumeClaimTemplates"]) {
            self.note(text, NamedBy::Template, &at.path(), None);
        }
        if self.section == Section::Status {
            self.status(text);
        }
    }

    fn number(&mut self, number: Option<i32>) {
        if self.at.is(&["replicas", "spec"]) {
            self.object.replicas = number;
        }
    }

    fn status(&mut self, text: &str) {
        const PHASES: [&[&str]; 5] = [
            &["phase", "status"],
            &["state", "applicationState", "status"],
            &["phase", "state", "status"],
            &["jobDeploymentStatus", "status"],
            &["terminalState", "status"],
        ];
        const COMPLETIONS: [&[&str]; 2] =
            [&["completionTime", "status"], &["finishedAt", "status"]];
        if text.is_empty() {
            return;
        }
        if COMPLETIONS.iter().any(|it| self.at.is(it)) {
            self.object.completed = true;
        }
        if PHASES.iter().any(|it| self.at.is(it)) {
            self.object.phase = Some(text.into());
        }
    }

    /// Notes a claim that an object names as a whole, by its kind or by the field that it is in.
    fn reference(&mut self, siblings: &Siblings) {
        let Some(name) = &siblings.name else { return };
        // What a disk of a machine was copied from is done with once the disk exists; until then its
        // DataVolume says so.
        if self.at.ends_in(&["pvc", "source"]) && self.at.keys().any(|it| it == TEMPLATES) {
            return;
        }
        let is_claim = siblings.kind.as_deref() == Some("PersistentVolumeClaim");
        if is_claim || CLAIM_OBJECTS.contains(&self.at.key()) {
            let field = format!("{}.name", self.at.path());
            self.note(name, NamedBy::Field, &field, siblings.namespace.as_deref());
        }
    }
}

/// The fields of one object that together reference another.
#[derive(Default)]
struct Siblings {
    kind: Option<String>,
    name: Option<String>,
    namespace: Option<String>,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E: Error>(mut self, number: i64) -> Result<Self::Value, E> {
        self.number(number.try_into().ok());
        Ok(None)
    }

    fn visit_u64<E: Error>(mut self, number: u64) -> Result<Self::Value, E> {
        self.number(number.try_into().ok());
        Ok(None)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E: Error>(mut self, text: &str) -> Result<Self::Value, E> {
        self.text(text);
        Ok((text.len() <= LONGEST_NAME).then(|| text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        for index in 0.. {
            let at = Position { parent: Some(self.at), step: PathStep::Index(index) };
            let walk = Walk { at: &at, section: self.section, object: &mut *self.object };
            if items.next_element_seed(walk)?.is_none() {
                break;
            }
        }
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut siblings = Siblings::default();
        while let Some(key) = fields.next_key::<String>()? {
            let at = Position { parent: Some(self.at), step: PathStep::Key(&key) };
            let walk = Walk { at: &at, section: self.section, object: &mut *self.object };
            let text = fields.next_value_seed(walk)?;
            match key.as_str() {
                "kind" => siblings.kind = text,
                "name" => siblings.name = text,
                "namespace" => siblings.namespace = text,
                _ => {}
            }
        }
        self.reference(&siblings);
        Ok(None)
    }
}

impl<'de> Deserialize<'de> for CustomObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Root)
    }
}

struct Root;

impl<'de> Visitor<'de> for Root {
    type Value = CustomObject;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut object = CustomObject::default();
        while let Some(key) = fields.next_key::<String>()? {
            let section = match key.as_str() {
                "metadata" => {
                    let identity: Identity = fields.next_value()?;
                    object.name = identity.name;
                    object.namespace = identity.namespace;
                    object.uid = Uid::parse(&identity.uid);
                    continue;
                }
                "apiVersion" | "kind" => {
                    fields.next_value::<IgnoredAny>()?;
                    continue;
                }
                "status" => Section::Status,
                _ => Section::Wanted,
            };
            let at = Position { parent: None, step: PathStep::Key(&key) };
            fields.next_value_seed(Walk { at: &at, section, object: &mut object })?;
        }
        if object.name.is_empty() {
            return Err(A::Error::custom("metadata.name is missing"));
        }
        Ok(object)
    }
}

#[cfg(test)]
mod tests;
