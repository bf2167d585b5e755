//! Storage drivers and what is known of them, by families.
//!
//! The rest of the crate asks three things: what storage a reference names ([`used`]), what the
//! driver destroys when it is told to delete that ([`Family::deletion`]), and how its provisioner is
//! seen ([`Family::provisioner`]). Places are compared across drivers: the same disk may be
//! referenced by several drivers and by in-tree sources.
//!
//! To add a family: its row in the file of those like it in `families/` (or a file of its own, if it
//! needs code), one line in [`FAMILIES`], one folder in `tests/drivers/`.

pub(crate) mod driver_names;
mod families;
mod family;
mod place;
mod recognised;
mod tokens;

pub use families::{FAMILIES, UNKNOWN};
pub use family::{
    Deletion, Destruction, Expansion, Family, Fate, Name, ObjectDropped, Provisioner,
    ProvisionerKind, Reach, Reference, Snapshots, UNREAD,
};
pub use place::{
    ExactKey, Extent, Letters, NFS, Overlap, Part, Place, PlaceKey, Relation, meeting,
};
pub use recognised::{
    Recognition, external_provisioners, family_of_image, family_of_workload, provisions_itself,
    recognised_by_attributes, recognised_by_images, tell_of_families,
};
pub use tokens::{Named, Token, TokenKey};

use std::sync::LazyLock;

use hashbrown::{HashMap, HashSet};

use crate::model::{Attributes, BackendKey};

/// Returns the family of a driver or a provisioner by its name, or the one of unknown drivers. What runs under a name
/// that says nothing is recognised by `facts::provisioning_family`.
pub fn family(driver: &str) -> &'static Family {
    static EXACT: LazyLock<HashMap<&'static str, &'static Family>> = LazyLock::new(|| {
        let names = FAMILIES.iter().flat_map(|family| {
            family.names.iter().filter_map(move |name| match name {
                Name::Is(name) => Some((*name, *family)),
                Name::EndsWith(_) | Name::BeginsWith(_) | Name::Chart(_) => None,
            })
        });
        names.collect()
    });
    static OTHERS: LazyLock<Vec<(Name, &'static Family)>> = LazyLock::new(|| {
        let names = FAMILIES.iter().flat_map(|family| family.names.iter().map(|it| (*it, *family)));
        names.filter(|it| !matches!(it.0, Name::Is(_))).collect()
    });
    if let Some(family) = EXACT.get(driver) {
        return family;
    }
    let known = OTHERS.iter().find(|(name, _)| name.is_of(driver));
    known.map_or(&UNKNOWN, |it| it.1)
}

/// Returns the family with this id, or the one of unknown drivers.
pub fn family_with(id: &str) -> &'static Family {
    FAMILIES.iter().find(|it| it.id == id).copied().unwrap_or(&UNKNOWN)
}

/// Whether a key of `volumeAttributes` decides what any known driver mounts or deletes.
pub fn is_attribute(key: &str) -> bool {
    static KEYS: LazyLock<HashSet<String>> = LazyLock::new(|| {
        let known = FAMILIES.iter().copied().chain([&UNKNOWN]);
        let keys = known.flat_map(|it| it.attributes.iter().chain(it.marks));
        keys.map(|key| key.to_ascii_lowercase()).collect()
    });
    KEYS.contains(&key.to_ascii_lowercase())
}

/// The attribute under which `NAMESPACE/NAME` of `spec.csi.nodePublishSecretRef` is kept, where a
/// driver deletes with it.
pub const PUBLISH_SECRET: &str = "nodePublishSecretRef";

/// The parameters of a class from which csi-provisioner takes the Secret for `DeleteVolume`: the name
/// and the namespace, each also as former versions call it, and those for all calls.
pub const SECRET_PARAMETERS: [(&str, &str); 3] = [
    ("csiProvisionerSecretName", "csiProvisionerSecretNamespace"),
    (
        "csi.storage.k8s.io/provisioner-secret-name",
        "csi.storage.k8s.io/provisioner-secret-namespace",
    ),
    ("csi.storage.k8s.io/secret-name", "csi.storage.k8s.io/secret-namespace"),
];

/// Whether a key of a class's `parameters` decides what any known driver deletes, or with which
/// Secret.
pub fn is_class_parameter(key: &str) -> bool {
    if SECRET_PARAMETERS.iter().any(|(name, namespace)| [*name, *namespace].contains(&key)) {
        return true;
    }
    FAMILIES.iter().flat_map(|it| it.class_parameters).any(|it| it.eq_ignore_ascii_case(key))
}

/// Whether nothing is known of a driver.
pub fn is_unknown(family: &Family) -> bool {
    family.id == UNKNOWN.id
}

/// Returns the places that a reference to storage names.
pub fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let mut places = (reference.family.used)(reference);
    // What references it by its handle alone is not recognised.
    let is_recognised = !is_unknown(reference.family) && is_unknown(family(reference.driver));
    if is_recognised && !["", INLINE].contains(&reference.handle) {
        places.push(
            Place::device(own_space(reference.driver), reference.handle).letters(Letters::Unclear),
        );
    }
    places
}

/// Returns the places that a handle names, where nothing else is known.
pub fn by_handle(key: &BackendKey) -> Vec<Place<'static>> {
    let attributes = Attributes::default();
    used(&Reference::of(key, &attributes)).into_iter().map(Place::into_owned).collect()
}

/// The handle of a volume of a CSI driver that a pod describes itself: it has none, and only its
/// attributes can say what it names.
pub const INLINE: &str = "(inline)";

/// Returns the attributes of a volume that decide what is known of it: none where its handle alone shows the same
/// place.
pub fn attributes_that_matter(key: &BackendKey, attributes: Attributes) -> Attributes {
    let family = family(&key.driver);
    if is_unknown(family) {
        // By any of them it may be recognised.
        return attributes;
    }
    let alone = Attributes::default();
    let differs = used(&Reference::of(key, &attributes)) != used(&Reference::of(key, &alone));
    let is_one_of = |keys: &[&str], key: &str| keys.iter().any(|it| it.eq_ignore_ascii_case(key));
    attributes.filtered(|key| {
        is_one_of(family.marks, key) || differs && is_one_of(family.attributes, key)
    })
}

/// Returns the space of the places of a driver of which nothing is known.
pub fn own_space(driver: &str) -> String {
    format!("driver {driver}")
}

#[cfg(test)]
mod tests;
