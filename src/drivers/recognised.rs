//! Recognition of the controllers of families by their images and workloads, and of their volumes by their attributes.

use std::sync::LazyLock;

use super::{FAMILIES, Family, ProvisionerKind, family::switches_on};
use crate::model::{Attributes, image_name};

/// Result of recognising a driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recognition {
    /// The family of the driver is unknown.
    Unknown,
    /// The driver is of the family with this id.
    As(&'static str),
    /// The driver's images contradict each other, as this sentence says.
    Differs(String),
}

/// Returns the families whose provisioner is a program of its own with this image.
pub fn external_provisioners(image: &str) -> impl Iterator<Item = &'static Family> {
    families_of_image(image).filter(|it| {
        matches!(it.provisioner.kind, ProvisionerKind::External { .. } | ProvisionerKind::PerNode)
    })
}

/// Returns the families to which an image belongs, also under the names of its builds for a platform
/// and of forks: `nfs-client-provisioner-arm`, `acme-local-path-provisioner`.
fn families_of_image(image: &str) -> impl Iterator<Item = &'static Family> {
    let name = image_name(image);
    let is_it = move |known: &str| {
        let beside = || match (name.strip_prefix(known), name.strip_suffix(known)) {
            (Some(rest), _) => rest.starts_with('-'),
            (_, Some(before)) => before.ends_with('-'),
            (None, None) => false,
        };
        name == known || !is_plain(known) && beside()
    };
    FAMILIES.iter().copied().filter(move |it| it.provisioner.images.iter().any(|it| is_it(it)))
}

/// Whether a name consists of common words only, and so proves nothing.
fn is_plain(name: &str) -> bool {
    const PLAIN: [&str; 8] =
        ["controller", "csi", "driver", "operator", "plugin", "provisioner", "server", "storage"];
    name.split('-').all(|word| PLAIN.contains(&word))
}

/// Recognises a driver by the images that run it. An image of several families leaves open which one
/// it is.
pub fn recognised_by_images<'a>(images: impl IntoIterator<Item = &'a str>) -> Recognition {
    let mut left: Option<(Vec<&'static Family>, &str)> = None;
    for image in images.into_iter().filter(|image| !is_plain(image_name(image))) {
        let families: Vec<_> = families_of_image(image).collect();
        match &mut left {
            _ if families.is_empty() => {}
            None => left = Some((families, image)),
            Some((known, first)) => {
                known.retain(|it| families.iter().any(|other| other.id == it.id));
                if known.is_empty() {
                    return Recognition::Differs(format!(
                        "{first} and {image}, which run it, are images of different drivers"
                    ));
                }
            }
        }
    }
    match left.as_ref().map(|(families, _)| &families[..]) {
        Some([family]) => Recognition::As(family.id),
        _ => Recognition::Unknown,
    }
}

/// Whether any of these images helps to recognise the driver that they run.
pub fn tell_of_families<'a>(images: impl IntoIterator<Item = &'a str>) -> bool {
    let mut telling = images.into_iter().filter(|image| !is_plain(image_name(image)));
    telling.any(|image| families_of_image(image).next().is_some())
}

/// Returns the family to which alone these attributes of a volume belong.
pub fn recognised_by_attributes(attributes: &Attributes) -> Option<&'static Family> {
    if attributes.is_empty() {
        return None;
    }
    let has = |keys: &[&str]| keys.iter().all(|key| attributes.get(key).is_some());
    let mut told = FAMILIES.iter().filter(|it| it.telling.iter().any(|keys| has(keys)));
    let first = told.next()?;
    told.next().is_none().then_some(*first)
}

/// Whether a container is the controller of a CSI driver that takes the place of csi-provisioner.
pub fn provisions_itself<'a>(image: &str, mut words: impl Iterator<Item = &'a String>) -> bool {
    static ABLE: LazyLock<Vec<(&'static Family, &'static str)>> = LazyLock::new(|| {
        FAMILIES.iter().filter_map(|family| Some((*family, family.own_provisioner?))).collect()
    });
    let family = ABLE.iter().find(|(it, _)| it.provisioner.images.contains(&image_name(image)));
    family.is_some_and(|(_, flag)| words.any(|word| switches_on(word, flag)))
}

/// Returns the CSI family to which alone an image of a driver's controller belongs.
pub fn family_of_image(image: &str) -> Option<&'static Family> {
    let name = image_name(image);
    the_only(|it| it.provisioner.images.contains(&name))
}

/// Returns the CSI family to which alone a workload of this name belongs.
pub fn family_of_workload(name: &str) -> Option<&'static Family> {
    the_only(|it| it.provisioner.workloads.contains(&name))
}

fn the_only(matches: impl Fn(&Family) -> bool) -> Option<&'static Family> {
    let of_csi = |it: &&&'static Family| it.provisioner.kind == ProvisionerKind::Csi && matches(it);
    let mut found = FAMILIES.iter().filter(of_csi);
    let first = found.next()?;
    found.next().is_none().then_some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ControllerRole;

    /// Such a name proves that sidecars in it serve no other driver: that of any workload
    /// proves nothing.
    #[test]
    fn no_workload_of_a_family_has_a_name_that_others_give_too() {
        // What is called like a sidecar is not taken for a family's.
        let of_role = |name: &str| ControllerRole::ALL.into_iter().any(|it| it.is_called(name));
        let is_plain = |name: &str| !of_role(name) && is_plain(name);
        let of_csi = FAMILIES.iter().filter(|it| it.provisioner.kind == ProvisionerKind::Csi);
        for family in of_csi {
            for name in family.provisioner.workloads {
                assert!(!is_plain(name), "{}: {name}", family.id);
            }
        }
    }

    /// Pods are looked at closer only where a name has one of the words that all of these have.
    #[test]
    fn every_image_of_a_provisioner_has_one_of_the_words() {
        let external = |it: &&&Family| {
            let kind = it.provisioner.kind;
            matches!(kind, ProvisionerKind::External { .. } | ProvisionerKind::PerNode)
        };
        let mut images = FAMILIES.iter().filter(external).flat_map(|it| it.provisioner.images);
        assert!(images.clone().count() > 0);
        assert!(images.all(|image| ControllerRole::may_be_meant(image)));
    }

    #[test]
    fn an_image_of_several_families_tells_nothing() {
        let id = |found: Option<&Family>| found.map(|it| it.id);
        assert_eq!(
            id(family_of_image("registry.k8s.io/sig-storage/nfsplugin:v4.13.4")),
            Some("nfs-csi")
        );
        assert_eq!(id(family_of_image("busybox")), None);
        assert_eq!(id(family_of_workload("csi-nfs-controller")), Some("nfs-csi"));
        let local_path = "docker.io/rancher/local-path-provisioner:v0.0.30";
        assert_eq!(id(family_of_image(local_path)), None, "it is not CSI");
        assert_eq!(id(external_provisioners(local_path).next()), Some("local-path"));
    }

    #[test]
    fn a_driver_is_recognised_by_what_runs_it() {
        for (images, expected) in [
            (&["r/nfs-subdir-external-provisioner:v4.0.2"][..], Recognition::As("nfs-subdir")),
            (&["r/nfs-client-provisioner-arm"], Recognition::As("nfs-subdir")),
            (&["r/acme-local-path-provisioner"], Recognition::As("local-path")),
            (&["csi-provisioner:v6", "harbor/longhorn-manager"], Recognition::As("longhorn")),
            (&["netapp/trident", "netapp/trident-autosupport"], Recognition::As("trident")),
            // Of three families, and of anybody.
            (&["quay.io/cephcsi/cephcsi:v3.12"], Recognition::Unknown),
            (&["r/csi-driver:v1", "storage-provisioner"], Recognition::Unknown),
            (&[], Recognition::Unknown),
        ] {
            assert_eq!(recognised_by_images(images.iter().copied()), expected, "{images:?}");
        }
        let both = ["r/democratic-csi:v1.9", "r/nfsplugin:v4"];
        assert!(matches!(recognised_by_images(both), Recognition::Differs(_)));
    }
}
