//! SeaweedFS: `seaweedfs-csi-driver`.

use super::basis::{BASE, NO_SNAPSHOTS, join, undecided};
use crate::drivers::{
    Deletion, Destruction, Family, INLINE, Name, Part, Place, Provisioner, Reference,
};

/// seaweedfs-csi-driver.
pub(super) static SEAWEEDFS: Family = Family {
    id: "seaweedfs",
    title: "SeaweedFS",
    names: &[Name::Is("seaweedfs-csi-driver")],
    identity: "the path on the filer: the handle if it begins with /; otherwise nodes mount the \
               attribute path, and deletion reads /buckets/HANDLE. A class with a path gives every \
               claim the same path",
    attributes: &["path"],
    used,
    deletion,
    destroys: "the directory on the filer with everything in it",
    snapshots: NO_SNAPSHOTS,
    provisioner: Provisioner::csi(
        &["seaweedfs-csi-driver-controller", "seaweedfs-controller"],
        &["seaweedfs-csi-driver"],
    ),
    sources: &[
        "seaweedfs/seaweedfs-csi-driver v1.4.29: pkg/driver/controllerserver.go, pkg/driver/mounter.go; \
         issue 129, pull request 240",
    ],
    ..BASE
};

/// The space of directories on filers.
const SPACE: &str = "SeaweedFS";

fn directory<'a>(driver: &str, path: &str) -> Place<'a> {
    let filer = Part::Named(driver.to_owned().into());
    Place::directory(SPACE, path).of(filer).into_owned()
}

/// Returns the directory that deletion reads from a handle.
fn by_handle(handle: &str) -> Option<String> {
    match handle {
        "" | INLINE => None,
        path if path.starts_with('/') => Some(path.to_owned()),
        name => Some(join("/buckets", name)),
    }
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let path = match reference.attribute("path").filter(|path| !path.is_empty()) {
        Some(path) if !reference.handle.starts_with('/') => Some(path.to_owned()),
        _ => by_handle(reference.handle),
    };
    vec![match path {
        Some(path) => directory(reference.driver, &path),
        None => undecided(SPACE, reference),
    }]
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    let driver = deletion.reference.driver;
    match by_handle(deletion.reference.handle) {
        Some(path) => {
            Destruction::of(directory(driver, &path), format!("the directory {path} on the filer"))
        }
        None => Destruction::Undecided("its handle does not identify a backend volume".into()),
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    #[test]
    fn nodes_and_deletion_may_read_different_directories() {
        const DRIVER: &str = "seaweedfs-csi-driver";
        let mine = places(DRIVER, "/buckets/pvc-a", &[]);
        for (handle, path, expected) in [
            ("pvc-a", None, "equal"),
            ("x", Some("/buckets"), "around"),
            ("x", Some("/buckets/pvc-a"), "equal"),
            ("/buckets/pvc-b", Some("/buckets/pvc-a"), "apart"),
            ("pvc-b", None, "apart"),
            ("/buckets/../x", None, "equal?"),
        ] {
            let pairs: Vec<_> = path.map(|path| ("path", path)).into_iter().collect();
            assert_eq!(lies(&mine, &places(DRIVER, handle, &pairs)), expected, "{handle} {path:?}");
        }
        let case = Case {
            driver: DRIVER,
            handle: "static",
            attributes: &[("path", "/data")],
            ..Case::default()
        };
        assert_eq!(answer(&case), "deletes the directory /buckets/static on the filer");
    }
}
