//! Tencent Cloud File Storage: `com.tencent.cloud.csi.cfs`.

use std::borrow::Cow;

use super::{
    cloud::{address, owned, server},
    basis::{NFS, SHARE, device, undecided},
};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, INLINE, Name, Place, Provisioner, Reference, Snapshots,
};

/// Tencent Cloud File Storage.
pub static FAMILY: Family = Family {
    id: "tencent-cfs",
    title: "Tencent Cloud File Storage",
    names: &[Name::Is("com.tencent.cloud.csi.cfs")],
    identity: "the file system cfs-…; nodes mount the attributes host and path, deletion reads the handle, which is any \
               text of static volumes",
    attributes: &["host", "path"],
    used,
    deletion,
    destroys: "the file system with everything in it",
    answers_ok: &["a file system that does not exist"],
    snapshots: Snapshots::all(Fate::None, "there are none"),
    provisioner: Provisioner::csi(&["csi-provisioner-cfsplugin"], &["csi-tencentcloud-cfs"])
        .without_leader(),
    sources: &[
        "TencentCloud/kubernetes-csi-tencentcloud defc12d: driver/cfs/controller.go DeleteVolume, driver/cfs/node.go, \
         deploy/cfs",
    ],
    ..SHARE
};

/// The space of file systems.
const SPACE: &str = "Tencent file system";

fn id(handle: &str) -> Option<&str> {
    handle.starts_with("cfs-").then_some(handle)
}

/// The path of the volume, and the file system where the handle is its id.
fn places<'a>(reference: &Reference<'a>, path: &'a str) -> Vec<Place<'a>> {
    let host = reference.attribute("host").filter(|host| !host.is_empty());
    let server = match (id(reference.handle), host) {
        (Some(id), host) => Some(server(format!("Tencent {id}"), host)),
        (None, host) => host.map(address),
    };
    let file_system = id(reference.handle).map(|id| device(SPACE, id));
    let mounted = server.map(|server| Place::directory(NFS, path).of(server));
    file_system.into_iter().chain(mounted).collect()
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let places = places(reference, reference.attribute("path").unwrap_or("/"));
    match reference.handle {
        INLINE => places,
        _ if places.is_empty() => vec![undecided(NFS, reference), undecided(SPACE, reference)],
        _ => places,
    }
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    match id(deletion.reference.handle) {
        Some(id) => Destruction::Storage {
            places: owned(places(&deletion.reference, "/")),
            what: format!("the whole file system {id}").into(),
        },
        None => Destruction::Fails(Cow::Borrowed("its handle is not the id of a file system")),
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::INLINE;
    use crate::drivers::tests::{Case, answer, lies, places};

    const DRIVER: &str = "com.tencent.cloud.csi.cfs";

    #[test]
    fn static_volumes_lie_in_the_file_system_of_their_host() {
        let one = places(DRIVER, "cfs-a", &[("host", "10.0.0.4"), ("path", "/")]);
        for (handle, host, path, expected) in [
            ("cfs-b", "10.0.0.5", "/", "apart"),
            ("any", "10.0.0.4", "/a", "inside"),
            ("any", "10.0.0.5", "/a", "inside?"),
            (INLINE, "10.0.0.4", "/a", "inside"),
            ("any", "", "", "equal?"),
        ] {
            let other = places(DRIVER, handle, &[("host", host), ("path", path)]);
            assert_eq!(lies(&one, &other), expected, "{handle} {host} {path}");
        }
        let answer = |handle| answer(&Case { driver: DRIVER, handle, ..Case::default() });
        assert_eq!(answer("cfs-a"), "deletes the whole file system cfs-a");
        assert!(answer("any").starts_with("fails"));
    }
}
