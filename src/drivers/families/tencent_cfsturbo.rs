//! Tencent CFS Turbo: `com.tencent.cloud.csi.cfsturbo`.

use std::borrow::Cow;

use super::{
    cloud::{LUSTRE, server},
    basis::{SHARE, join, undecided},
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, INLINE, Name, Place, Provisioner, Reference, Snapshots,
};

/// Tencent CFS Turbo.
pub static FAMILY: Family = Family {
    id: "tencent-cfsturbo",
    title: "Tencent CFS Turbo",
    names: &[Name::Is("com.tencent.cloud.csi.cfsturbo")],
    identity: "the file system and the directory in it: nodes mount the attributes fsid, rootdir and path, deletion \
               reads the handle FSID-HOST-/CLUSTER/VOLUME",
    attributes: &["fsid", "rootdir", "path"],
    used,
    deletion,
    destroys: "the directory /cfs/CLUSTER/VOLUME with everything in it, where CLUSTER is the CLUSTER_ID of the controller",
    answers_ok: &["a directory that does not exist, also because the controller has another CLUSTER_ID"],
    refuses: &["a handle with fewer than three parts"],
    snapshots: Snapshots::all(Fate::None, "there are none"),
    provisioner: Provisioner::csi(&["cfsturbo-csi-controller"], &["csi-tencentcloud-cfsturbo"])
        .without_leader(),
    sources: &[
        "TencentCloud/kubernetes-csi-tencentcloud defc12d: driver/cfsturbo/controller.go, driver/cfsturbo/node.go, \
         deploy/cfsturbo",
    ],
    ..SHARE
};

/// The directory that the driver calls the root, unless a volume says otherwise.
const ROOT: &str = "/cfs";

/// A handle, split as the driver does: file system, cluster and directory.
fn read(handle: &str) -> Option<(&str, &str, &str)> {
    let (id, rest) = handle.split_once('-')?;
    let (host, path) = rest.split_once('-')?;
    match path.split('/').collect::<Vec<_>>()[..] {
        ["", cluster, volume] if ![id, host, cluster, volume].contains(&"") => {
            Some((id, cluster, volume))
        }
        _ => None,
    }
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let value = |key| reference.attribute(key).filter(|it| !it.is_empty());
    let root = value("rootdir").unwrap_or(ROOT);
    let within = |id: &str, path: &str| {
        let path = join(root, path.trim_start_matches('/'));
        let server = server(format!("Tencent {id}"), None);
        vec![Place::directory(LUSTRE, &path).into_owned().of(server)]
    };
    match (value("fsid"), read(reference.handle)) {
        (Some(id), _) => within(id, value("path").unwrap_or_default()),
        (None, _) if reference.handle == INLINE => Vec::new(),
        (None, Some((id, cluster, volume))) => within(id, &join(cluster, volume)),
        (None, None) => vec![undecided(LUSTRE, reference)],
    }
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    let Some((id, cluster, volume)) = read(deletion.reference.handle) else {
        return Destruction::Undecided(Cow::Borrowed("its handle does not identify a backend \
                                                     volume"));
    };
    match deletion.flag("CLUSTER_ID") {
        Some(own) if own == cluster => {
            let path = format!("{ROOT}/{cluster}/{volume}");
            let place = Place::directory(LUSTRE, &path).of(server(format!("Tencent {id}"), None));
            Destruction::of(place.into_owned(), format!("the directory /{cluster}/{volume} of {id}"))
        }
        Some(_) => Destruction::Nothing(Cow::Borrowed(
            "its controller has another CLUSTER_ID than the handle, and looks in another directory",
        )),
        None => Destruction::Undecided(Cow::Borrowed(
            "which directory it deletes depends on its environment variable CLUSTER_ID",
        )),
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    const DRIVER: &str = "com.tencent.cloud.csi.cfsturbo";
    const ONE: &str = "ab12-10.0.0.4-/cls-1/pvc-1";

    #[test]
    fn a_directory_of_another_cluster_is_not_what_the_handle_says() {
        let one = places(DRIVER, ONE, &[("fsid", "ab12"), ("path", "/cls-1/pvc-1")]);
        for (handle, pairs, expected) in [
            (ONE, &[][..], "equal"),
            ("ab12-10.0.0.4-/cls-1/pvc-2", &[], "apart"),
            ("cd34-10.0.0.5-/cls-1/pvc-1", &[], "apart"),
            ("any", &[("fsid", "ab12")], "around"),
            ("any", &[], "equal?"),
        ] {
            assert_eq!(lies(&one, &places(DRIVER, handle, pairs)), expected, "{handle} {pairs:?}");
        }
        let answer = |handle, arguments| {
            answer(&Case { driver: DRIVER, handle, arguments, ..Case::default() })
        };
        assert_eq!(answer(ONE, &["CLUSTER_ID=cls-1"]), "deletes the directory /cls-1/pvc-1 of ab12");
        assert!(answer(ONE, &["CLUSTER_ID=cls-2"]).starts_with("does nothing"));
        assert!(answer(ONE, &[]).starts_with("undecided"));
        assert!(answer("any", &[]).starts_with("undecided"));
    }
}
