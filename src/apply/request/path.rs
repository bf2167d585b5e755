//! The paths of objects.

use crate::client::ObjectRequest;
use crate::model::ObjectKey;

/// Returns the path of an object of a kind with a known API version.
pub fn path(key: &ObjectKey) -> String {
    ObjectRequest::of(key, key.kind.group().version).path()
}

/// Returns the path of all objects of the kind and the namespace of one, in a version of its kind.
pub(super) fn collection(key: &ObjectKey, version: &str) -> String {
    let namespace = key.namespace.as_deref().filter(|_| key.kind.is_namespaced());
    crate::client::collection_path(key.kind.group().name, version, namespace, key.kind.plural())
}
