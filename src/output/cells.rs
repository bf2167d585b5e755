//! What tables write for an object and for an age.

use super::wire::{Age, ObjectReference};
use crate::model::{Kind, format_age};

/// How people name an object.
pub fn short_name(object: &ObjectReference) -> String {
    let group = object.api_version.rsplit_once('/').map_or("", |(group, _)| group);
    let short = Kind::parse(group, &object.kind).map_or("", Kind::short);
    match &object.namespace {
        Some(namespace) => format!("{short}/{namespace}/{}", object.name),
        None => format!("{short}/{}", object.name),
    }
}

/// The name of an object as kubectl's `-o name` has it.
pub fn resource_name(object: &ObjectReference) -> String {
    let group = object.api_version.rsplit_once('/').map_or("", |(group, _)| group);
    match group {
        "" => format!("{}/{}", object.kind.to_lowercase(), object.name),
        group => format!("{}.{group}/{}", object.kind.to_lowercase(), object.name),
    }
}

/// An age in a column: empty where the finding has none, `unknown` where its beginning is not known.
pub fn age_cell(age: Option<&Age>, unknown: &str) -> String {
    let Some(age) = age else { return String::new() };
    match age.seconds {
        None => unknown.to_owned(),
        Some(seconds) if age.trust == "lower-bound" => format!(">{}", format_age(seconds)),
        Some(seconds) => format_age(seconds),
    }
}
