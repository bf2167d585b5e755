//! Odd objects, of which something is not of the type that Kubernetes gives it. No API server writes these; people,
//! tools and accidents do. What can be read of one is read, and the rest is in doubt.

use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

use super::{AnyObject, Folded, Folder, ObjectIdentity, SlimObject};
use crate::cluster::Doubt;
use crate::dump::{FieldStep, explain, path_of_misfit};
use crate::model::Kind;

/// Number of odd places from which on an object is read by its names only.
const MOST_PLACES: usize = 32;

/// Object without the parts that could not be read.
pub(super) struct OddlyRead<T> {
    object: T,
    doubt: Doubt,
    /// Description of the first part that could not be read.
    reason: String,
    /// The places of the parts that could not be read, in the order in which they were emptied.
    places: Vec<Vec<FieldStep>>,
}

impl<T: SlimObject> OddlyRead<T> {
    /// Reads what can be read of an object in JSON that does not decode with this error; `None` if not even its names
    /// can be.
    pub(super) fn read(text: &str, error: &serde_json::Error) -> Option<Self> {
        let reason = explain(text, error);
        let whole: Value = serde_json::from_str(text).ok()?;
        let mut odd =
            Self { object: T::default(), doubt: Doubt::Field, reason, places: Vec::new() };
        // What is there twice has vanished from the parsed value.
        odd.doubt = doubt(T::KIND, &path_of_misfit(text, error));
        let (mut left, mut text) = (whole.clone(), whole.to_string());
        while odd.places.len() < MOST_PLACES {
            let error = match serde_json::from_str::<T>(&text) {
                Ok(mut object) => {
                    object.trim();
                    return Some(Self { object, ..odd });
                }
                Err(error) => error,
            };
            let path = path_of_misfit(&text, &error);
            if !empty(&mut left, &path) {
                break;
            }
            odd.doubt = odd.doubt.max(doubt(T::KIND, &path));
            odd.places.push(path);
            text = left.to_string();
        }
        let mut names = serde_json::Map::new();
        for name in ["name", "namespace", "uid", "resourceVersion"] {
            let text = whole.get("metadata")?.get(name).filter(|it| it.is_string());
            names.extend(text.map(|it| (name.to_owned(), it.clone())));
        }
        let object = serde_json::from_value(serde_json::json!({ "metadata": names })).ok()?;
        Some(Self { object, doubt: Doubt::Kind, places: vec![vec![key("spec")]], ..odd })
    }
}

fn key(name: &str) -> FieldStep {
    FieldStep::Key(name.to_owned())
}

/// Finds a value by its path.
fn find<'v>(value: &'v mut Value, path: &[FieldStep]) -> Option<&'v mut Value> {
    path.iter().try_fold(value, |value, step| match step {
        FieldStep::Key(key) => value.get_mut(key),
        FieldStep::Index(index) => value.get_mut(index),
    })
}

/// Empties a place, or removes it where it is empty already. Returns whether it is there.
fn empty(root: &mut Value, path: &[FieldStep]) -> bool {
    let Some((last, parents)) = path.split_last() else { return false };
    match (find(root, parents), last) {
        (Some(Value::Object(map)), FieldStep::Key(key)) => match map.get_mut(key) {
            Some(Value::Null) => map.remove(key).is_some(),
            Some(value) => {
                *value = Value::Null;
                true
            }
            None => false,
        },
        (Some(Value::Array(items)), FieldStep::Index(index)) if *index < items.len() => {
            items.remove(*index);
            true
        }
        _ => false,
    }
}

/// Writes a value into a place that is of no type that Kubernetes knows.
fn spoil(root: &mut Value, path: &[FieldStep]) {
    let odd = || serde_json::json!([["it could not be read"]]);
    let Some((last, parents)) = path.split_last() else { return };
    // What became empty is not written.
    let mut at = root;
    for (step, next) in parents.iter().zip(&path[1..]) {
        let fresh = match next {
            FieldStep::Key(_) => Value::Object(serde_json::Map::new()),
            FieldStep::Index(_) => Value::Array(Vec::new()),
        };
        let inner = match (at, step) {
            (Value::Object(map), FieldStep::Key(key)) => Some(map.entry(key).or_insert(fresh)),
            (Value::Array(items), FieldStep::Index(index)) => {
                if items.len() <= *index {
                    items.push(fresh);
                }
                items.get_mut(*index)
            }
            _ => None,
        };
        let Some(inner) = inner else { return };
        at = inner;
    }
    match (at, last) {
        (Value::Object(map), FieldStep::Key(key)) => drop(map.insert(key.clone(), odd())),
        (Value::Array(items), FieldStep::Index(index)) => {
            items.insert((*index).min(items.len()), odd());
        }
        _ => {}
    }
}

impl<T: SlimObject> AnyObject for OddlyRead<T> {
    fn kind(&self) -> Kind {
        T::KIND
    }

    fn identity(&self) -> ObjectIdentity<'_> {
        super::ObjectKind::identity(&self.object)
    }

    fn row(&self, folder: &mut Folder) -> Folded {
        SlimObject::row(&self.object, folder)
    }

    fn odd(&self) -> Option<(Doubt, String)> {
        let doubt = if self.object.lacks().is_some() { Doubt::Kind } else { self.doubt };
        Some((doubt, self.reason.clone()))
    }

    /// Returns the document, in which what could not be read is still unreadable: its value, which may be anything, is
    /// not saved.
    fn to_json(&self, version: &str) -> Result<Box<RawValue>, serde_json::Error> {
        let mut document = serde_json::to_value(self.object.document(version))?;
        self.places.iter().rev().for_each(|place| spoil(&mut document, place));
        to_raw_value(&document)
    }
}

/// Fields of `spec` that have nothing to do with other objects.
const OF_ITSELF: [&str; 19] = [
    "accessModes",
    "attachRequired",
    "capacity",
    "deletionPolicy",
    "holderIdentity",
    "leaseDurationSeconds",
    "ordinals",
    "persistentVolumeClaimRetentionPolicy",
    "persistentVolumeReclaimPolicy",
    "podManagementPolicy",
    "replicas",
    "renewTime",
    "resources",
    "storageClassName",
    "suspend",
    "taints",
    "unschedulable",
    "volumeAttributesClassName",
    "volumeMode",
];

/// Returns how far it reaches that the value at a path is not known.
fn doubt(kind: Kind, path: &[FieldStep]) -> Doubt {
    // One that cannot be read may be the source of any other.
    if kind.is_inventory() {
        return Doubt::Kind;
    }
    let keys: Vec<&str> = path
        .iter()
        .filter_map(|step| match step {
            FieldStep::Key(key) => Some(&**key),
            FieldStep::Index(_) => None,
        })
        .collect();
    let within = |name: &str| keys.contains(&name);
    let doubt = match keys[..] {
        // Nodes and volumes are found by their labels, and pods belong to sets by them.
        ["metadata", "labels" | "ownerReferences", ..] => match kind {
            Kind::Node | Kind::PersistentVolume => Doubt::Kind,
            _ if kind.is_namespaced() => Doubt::Namespace,
            _ => Doubt::Object,
        },
        ["metadata", _, ..]
        | ["spec", "volumeClaimTemplates", "spec", "resources", ..]
        | ["allowVolumeExpansion" | "reclaimPolicy" | "volumeBindingMode" | "parameters", ..] => {
            Doubt::Object
        }
        ["status", "volumesInUse" | "volumesAttached" | "snapshotHandle", ..] => Doubt::Kind,
        ["status", _, ..] if kind != Kind::Node || within("conditions") => Doubt::Object,
        ["spec", field, ..] if OF_ITSELF.contains(&field) => Doubt::Object,
        ["spec", ..] if within("persistentVolumeClaim") || within("volumeClaimTemplates") => {
            Doubt::Namespace
        }
        ["spec", ..] if matches!(kind, Kind::VolumeSnapshot | Kind::HorizontalPodAutoscaler) => {
            Doubt::Namespace
        }
        [..] if kind == Kind::Event && !within("involvedObject") && !within("regarding") => {
            Doubt::Object
        }
        _ => Doubt::Kind,
    };
    if doubt == Doubt::Namespace && !kind.is_namespaced() { Doubt::Kind } else { doubt }
}
