//! csi-driver-smb: `smb.csi.k8s.io`.

use std::borrow::Cow;

use super::basis::{BASE, NO_SNAPSHOTS, OF_DIRECTORY, OnDelete, join, undecided};
use crate::drivers::{
    Deletion, Destruction, Family, Letters, Name, Part, Place, Provisioner, Reference,
};

/// csi-driver-smb.
pub(super) static SMB: Family = Family {
    id: "smb",
    title: "SMB CSI driver (csi-driver-smb)",
    names: &[Name::Is("smb.csi.k8s.io")],
    identity: "server, share and directory: nodes mount by the attributes source and subDir, \
               deletion reads the handle //SERVER/SHARE#DIRECTORY[#UUID[#ONDELETE]]; servers that \
               are spelled differently may be one",
    attributes: &["source", "subDir"],
    used,
    deletion,
    destroys: "the directory with everything in it",
    answers_ok: &[
        "a handle that does not parse",
        "onDelete: retain in the handle, or --default-ondelete-policy=retain",
        "a volume for which csi-provisioner hands over no Secret",
    ],
    snapshots: NO_SNAPSHOTS,
    provisioner: Provisioner::csi(&["csi-smb-controller"], &["smbplugin"]),
    // It answers OK and does nothing.
    expansion: OF_DIRECTORY,
    defects: &["up to v1.20.3 a handle without a directory deletes everything on the share"],
    sources: &[
        "kubernetes-csi/csi-driver-smb v1.20.3: pkg/smb/controllerserver.go DeleteVolume getSmbVolFromID ControllerExpandVolume, \
         pkg/smb/nodeserver.go",
    ],
    ..BASE
};

/// The space of everything that is reached through SMB.
pub(super) const SPACE: &str = "SMB";

/// A handle, split as the driver does.
struct Handle<'a> {
    source: &'a str,
    directory: &'a str,
    on_delete: &'a str,
}

impl<'a> Handle<'a> {
    fn read(handle: &'a str) -> Option<Self> {
        let fields: Vec<&str> = handle.split('#').collect();
        let (source, directory) = (*fields.first()?, fields.get(1)?.trim_matches('/'));
        let on_delete = fields.get(3).copied().unwrap_or_default();
        (!source.trim_matches('/').is_empty()).then_some(Self { source, directory, on_delete })
    }
}

/// Returns a directory of a share `//SERVER/SHARE`, also as Windows writes it.
pub(super) fn share(source: &str, directory: &str) -> Option<Place<'static>> {
    let source = source.replace('\\', "/");
    let (server, path) = source.trim_start_matches('/').split_once('/')?;
    let whole = join(path, &directory.replace('\\', "/"));
    let address = Some(Cow::Owned(server.trim_end_matches('.').to_owned()));
    let place = if directory.contains("${") {
        Place::directory(SPACE, path).somewhere_within("its subDir contains a variable")
    } else {
        Place::directory(SPACE, &whole)
    };
    let place = place.letters(Letters::Unclear).of(Part::Server { identity: None, address });
    (!server.is_empty()).then(|| place.into_owned())
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let place = match (reference.attribute("source"), Handle::read(reference.handle)) {
        (Some(source), _) => share(source, reference.attribute("subDir").unwrap_or_default()),
        (None, Some(handle)) => share(handle.source, handle.directory),
        (None, None) => None,
    };
    vec![place.unwrap_or_else(|| undecided(SPACE, reference))]
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    let Some(handle) = Handle::read(deletion.reference.handle) else {
        return Destruction::Nothing(Cow::Borrowed("it cannot read the handle"));
    };
    let Some(place) = share(handle.source, handle.directory) else {
        return Destruction::Fails(Cow::Borrowed("its handle contains no share"));
    };
    if !deletion.has_secret {
        let why = "csi-provisioner hands over no Secret";
        return Destruction::Nothing(Cow::Borrowed(why));
    }
    let policy = OnDelete::of(handle.on_delete, deletion);
    policy.destruction(handle.source, handle.directory, place)
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    #[test]
    fn what_is_mounted_is_what_the_attributes_say() {
        const DRIVER: &str = "smb.csi.k8s.io";
        let one = places(DRIVER, "//nas/share#team/pvc-1#pvc-1#", &[]);
        for (handle, source, directory, expected) in [
            ("x", "//nas/share", "team/pvc-1", "equal"),
            ("x", "\\\\nas\\share", "team", "around"),
            ("x", "//nas/share/team", "pvc-1", "equal"),
            ("x", "//nas/share", "team/PVC-1", "equal?"),
            ("x", "//10.0.0.1/share", "team/pvc-1", "equal?"),
            ("x", "//nas/share", "team/pvc-2", "apart"),
            ("x", "//nas/share2", "", "apart"),
            ("x", "//nas/share", "${pvc.metadata.name}", "around?"),
        ] {
            let other = places(DRIVER, handle, &[("source", source), ("subDir", directory)]);
            assert_eq!(lies(&one, &other), expected, "{source} {directory}");
        }
        assert_eq!(lies(&one, &places(DRIVER, "share", &[])), "equal?", "an odd handle");
    }

    #[test]
    fn without_a_secret_it_deletes_nothing() {
        const DRIVER: &str = "smb.csi.k8s.io";
        let answer = |handle, has_secret, arguments| {
            answer(&Case { driver: DRIVER, handle, has_secret, arguments, ..Case::default() })
        };
        for (handle, has_secret, arguments, expected) in [
            ("//nas/share#d", true, &[][..], "deletes the directory d of //nas/share"),
            ("//nas/share#d", false, &[], "does nothing: csi-provisioner hands over no Secret"),
            ("//nas/share##", true, &[], "deletes everything on the share //nas/share"),
            ("//nas/share#d#u#Retain", true, &[], "does nothing: onDelete is retain"),
            ("//nas/share#d#u#archive", true, &[], "renames the directory to archived-d"),
            (
                "//nas/share#d",
                true,
                &["--default-ondelete-policy=retain"],
                "does nothing: onDelete is retain",
            ),
            ("share", true, &[], "does nothing: it cannot read the handle"),
        ] {
            assert_eq!(answer(handle, has_secret, arguments), expected, "{handle}");
        }
    }
}
