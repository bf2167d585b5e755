//! The paths of objects.

use crate::model::{Kind, ObjectKey};

/// Returns the path of an object of a kind with a known API version.
pub fn path(key: &ObjectKey) -> String {
    path_in(key, key.kind.group().version)
}

/// Returns the path of an object in a version of its kind.
pub fn path_in(key: &ObjectKey, version: &str) -> String {
    let group = key.kind.group();
    crate::client::object_path(
        group.name,
        version,
        key.namespace.as_deref().filter(|_| key.kind != Kind::PersistentVolume),
        key.kind.plural(),
        &key.name,
    )
}

/// Returns the path of all objects of the kind and the namespace of one.
pub(super) fn collection(key: &ObjectKey) -> String {
    let path = path(key);
    path.rsplit_once('/').map_or_else(String::new, |(all, _)| all.to_owned())
}
