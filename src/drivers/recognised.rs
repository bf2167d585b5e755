//! Recognises the controllers of families by their images and workloads.

use super::{FAMILIES, Family, ProvisionerKind};
use crate::model::image_name;

/// Returns the families whose provisioner is a program of its own with this image.
pub fn external_provisioners(image: &str) -> impl Iterator<Item = &'static Family> {
    let name = image_name(image);
    FAMILIES.iter().copied().filter(move |it| {
        matches!(it.provisioner.kind, ProvisionerKind::External { .. })
            && it.provisioner.images.contains(&name)
    })
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

    /// Such a name proves that sidecars in it serve no other driver: that of anybody's workload
    /// proves nothing.
    #[test]
    fn no_workload_of_a_family_has_a_name_that_others_give_too() {
        let plain = [
            "controller",
            "csi",
            "driver",
            "operator",
            "plugin",
            "provisioner",
            "server",
            "storage",
        ];
        // What is called like a sidecar is not taken for a family's.
        let of_role = |name: &str| ControllerRole::ALL.into_iter().any(|it| it.is_called(name));
        let is_plain =
            |name: &str| !of_role(name) && name.split('-').all(|word| plain.contains(&word));
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
        let external =
            |it: &&&Family| matches!(it.provisioner.kind, ProvisionerKind::External { .. });
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
}
