//! JuiceFS: `csi.juicefs.com`.

use std::borrow::Cow;

use super::basis::{BASE, UNKNOWN_SNAPSHOTS, is_uuid, undecided};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, PUBLISH_SECRET, Part, Place, Provisioner, Reference,
};

/// juicefs-csi-driver.
pub(super) static JUICEFS: Family = Family {
    id: "juicefs",
    title: "JuiceFS",
    names: &[Name::Is("csi.juicefs.com")],
    identity: "subPath in a file system that only its Secret names; without a subPath, the whole file \
               system. The mount option subdir moves it further, and is not read",
    attributes: &["subPath"],
    marks: &[PUBLISH_SECRET],
    used,
    deletion,
    destroys: "the directory with everything in it: the one called like the handle, or subPath if the \
               controller runs with --provisioner",
    answers_ok: &[
        "a handle without pvc-UUID in it",
        "a volume for which csi-provisioner hands over no Secret",
        "with --provisioner and pathPattern, a subPath that another volume of the class has",
    ],
    refuses: &[
        "with --provisioner, a volume without a subPath, or whose nodePublishSecretRef does not exist",
    ],
    own_provisioner: Some("provisioner"),
    snapshots: UNKNOWN_SNAPSHOTS,
    clones: Fate::Unknown,
    provisioner: Provisioner::csi(&["juicefs-csi-controller"], &["juicefs-csi-driver"]),
    defects: &[
        "deleting the last volume of a shared directory destroys it (juicedata/juicefs-csi-driver#540)",
    ],
    sources: &[
        "juicedata/juicefs-csi-driver v0.32.4: pkg/driver/controller.go, pkg/driver/provisioner.go, \
         pkg/util/util.go CheckDynamicPV, pkg/util/resource/pvc.go CheckForSubPath",
    ],
    ..BASE
};

/// The space of directories in JuiceFS file systems.
const SPACE: &str = "JuiceFS";

fn directory(path: &str) -> Place<'_> {
    let why = "only a Secret contains the name of the JuiceFS file system";
    Place::directory(SPACE, path).of(Part::Unknown(why))
}

/// Whether a handle contains `pvc-UUID`, wherever: the driver takes it for one of its own.
fn is_dynamic(handle: &str) -> bool {
    handle
        .match_indices("pvc-")
        .any(|(start, _)| handle.get(start + 4..start + 40).is_some_and(is_uuid))
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    vec![match reference.attribute("subPath") {
        Some(path) => directory(path),
        None if is_dynamic(reference.handle) => directory(reference.handle),
        None => undecided(SPACE, reference),
    }]
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    let handle = deletion.reference.handle;
    let path = deletion.reference.attribute("subPath");
    let nothing = |why| Destruction::Nothing(Cow::Borrowed(why));
    let directory = |path: &str| {
        let place = directory(path).into_owned();
        Destruction::of(place, format!("the directory {path} of the JuiceFS file system"))
    };
    let is_provisioner = JUICEFS.provisions_itself(deletion.arguments);
    match (is_provisioner, path) {
        (Some(true), _) if !deletion.has_secret => {
            Destruction::Fails(Cow::Borrowed("its nodePublishSecretRef does not exist"))
        }
        _ if !deletion.has_secret => nothing("csi-provisioner hands over no Secret"),
        (Some(true), Some(path)) if path.trim_matches('/').is_empty() => {
            Destruction::Fails(Cow::Borrowed("its subPath is the whole file system"))
        }
        (Some(true), Some(path)) => directory(path),
        _ if !is_dynamic(handle) => nothing("there is no pvc-UUID in its handle"),
        // It was made with its handle as subPath.
        (_, None) | (Some(false), _) => directory(handle),
        (None, Some(_)) => Destruction::Undecided(Cow::Borrowed(
            "whether it deletes by handle or by subPath depends on its flag --provisioner, which was \
             not read",
        )),
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    #[test]
    fn a_volume_is_a_directory_of_a_file_system_that_is_not_known() {
        const DRIVER: &str = "csi.juicefs.com";
        const HANDLE: &str = "pvc-8a5c7f6a-0f5e-4d8e-9b1c-2f7a5d3e1b00";
        let mine = places(DRIVER, HANDLE, &[("subPath", "team/data")]);
        for (handle, path, expected) in [
            ("x", Some("team/data"), "equal?"),
            ("x", Some("team"), "around?"),
            ("x", Some("team/data2"), "apart"),
            (HANDLE, None, "apart"),
            ("x", None, "equal?"),
        ] {
            let pairs: Vec<_> = path.map(|path| ("subPath", path)).into_iter().collect();
            assert_eq!(lies(&mine, &places(DRIVER, handle, &pairs)), expected, "{handle} {path:?}");
        }
    }

    #[test]
    fn the_mode_of_the_controller_decides_what_is_deleted() {
        const DRIVER: &str = "csi.juicefs.com";
        const HANDLE: &str = "pvc-8a5c7f6a-0f5e-4d8e-9b1c-2f7a5d3e1b00";
        let by_handle = format!("deletes the directory {HANDLE} of the JuiceFS file system");
        let by_path = "deletes the directory team/data of the JuiceFS file system";
        for (handle, path, arguments, has_secret, expected) in [
            (HANDLE, HANDLE, &[][..], true, by_handle.as_str()),
            (HANDLE, "team/data", &[], true, by_handle.as_str()),
            (HANDLE, "team/data", &["--provisioner=true"], true, by_path),
            (
                HANDLE,
                "/",
                &["--provisioner=true"],
                true,
                "fails: its subPath is the whole file system",
            ),
            (HANDLE, HANDLE, &[], false, "does nothing: csi-provisioner hands over no Secret"),
            (
                HANDLE,
                HANDLE,
                &["--provisioner"],
                false,
                "fails: its nodePublishSecretRef does not exist",
            ),
            (HANDLE, "team/data", &["--provisioner=csi.juicefs.com"], true, &by_handle),
            ("juicefs-pv", "data", &[], true, "does nothing: there is no pvc-UUID in its handle"),
        ] {
            let attributes = &[("subPath", path)][..];
            let case = Case {
                driver: DRIVER,
                handle,
                attributes,
                arguments,
                has_secret,
                ..Case::default()
            };
            assert_eq!(answer(&case), expected, "{handle} {path} {arguments:?}");
        }
    }
}
