//! Alibaba Cloud NAS: `nasplugin.csi.alibabacloud.com`.

use std::borrow::Cow;

use super::basis::{BASE, NFS, NO_SNAPSHOTS, address, owned, server, undecided};
use crate::drivers::{
    Deletion, Destruction, Family, INLINE, Name, Part, Place, Provisioner, Reach, Reference,
};

/// Alibaba Cloud NAS.
pub(super) static ALIBABA_NAS: Family = Family {
    id: "alibaba-nas",
    title: "Alibaba Cloud NAS",
    names: &[Name::Is("nasplugin.csi.alibabacloud.com")],
    identity: "server and path: the attributes server or containerNetworkFileSystem, and path. The handle is the name \
               of the volume",
    reach: Reach::Provider,
    // The name of a ContainerNetworkFileSystem, an object of the cluster.
    reach_of: |it| it.attribute("containerNetworkFileSystem").map(|_| Reach::Cluster),
    attributes: &["server", "path", "accessPoint", "containerNetworkFileSystem"],
    marks: &["volumeAs", "deleteVolume"],
    used,
    deletion,
    destroys: "with volumeAs: subpath the directory, only if ENABLE_NAS_SUBPATH_FINALIZER is true and archiveOnDelete \
               is false; with volumeAs: filesystem and deleteVolume: true the whole file system",
    answers_ok: &[
        "volumeAs: subpath without ENABLE_NAS_SUBPATH_FINALIZER",
        "volumeAs: sharepath",
        "volumeAs: filesystem without deleteVolume: true",
    ],
    refuses: &["a volume whose handle is not its name", "volumeAs: filesystem without its class"],
    class_parameters: &["archiveOnDelete"],
    reads_class: true,
    snapshots: NO_SNAPSHOTS,
    provisioner: Provisioner::csi(&["csi-provisioner"], &[])
        .hidden("ACK may run it in the control plane; unknown what is visible then"),
    sources: &[
        "kubernetes-sigs/alibaba-cloud-csi-driver 8aacf9009: pkg/nas/controllerserver.go, pkg/nas/subpath_controller.go, \
         pkg/nas/filesystem_controller.go, pkg/nas/nodeserver.go",
    ],
    ..BASE
};

/// Returns the server that a node mounts.
fn mounted<'a>(reference: &Reference<'a>) -> Option<Part<'a>> {
    let value = |key| reference.attribute(key).filter(|it| !it.is_empty());
    let named = value("containerNetworkFileSystem").map(|it| server(format!("CNFS {it}"), None));
    named.or_else(|| value("server").or(value("accessPoint")).map(address))
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    match mounted(reference) {
        Some(server) => {
            let path = reference.attribute("path").unwrap_or("/");
            vec![Place::directory(NFS, path).of(server)]
        }
        None if reference.handle == INLINE => Vec::new(),
        None => vec![undecided(NFS, reference)],
    }
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    let reference = &deletion.reference;
    if reference.handle != deletion.volume {
        return Destruction::Fails(Cow::Borrowed("its handle is not the name of the volume"));
    }
    let Some(server) = mounted(reference) else {
        return Destruction::Fails(Cow::Borrowed("it contains no server"));
    };
    let path = reference.attribute("path").unwrap_or("/");
    match reference.attribute("volumeAs") {
        Some("subpath") if !path.ends_with(reference.handle) => {
            Destruction::Fails(Cow::Borrowed("its path does not end with its handle"))
        }
        Some("subpath") => subpath(deletion, path),
        Some("sharepath") => {
            Destruction::Nothing(Cow::Borrowed("volumeAs is sharepath: the directory is shared"))
        }
        Some("filesystem") if reference.attribute("deleteVolume") == Some("true") => {
            Destruction::of(
                Place::directory(NFS, "/").of(server).into_owned(),
                "the whole file system with its mount target",
            )
        }
        Some("filesystem") => Destruction::Nothing(Cow::Borrowed("deleteVolume is not true")),
        _ => Destruction::Fails(Cow::Borrowed("unknown what it does with this volumeAs")),
    }
}

/// Returns what becomes of a directory, which the driver only marks: another controller archives or deletes it.
fn subpath(deletion: &Deletion<'_>, path: &str) -> Destruction {
    let places = owned(used(&deletion.reference));
    match (deletion.flag("ENABLE_NAS_SUBPATH_FINALIZER"), deletion.parameter("archiveOnDelete")) {
        (Some("true"), Some("false")) => {
            Destruction::Storage { places, what: format!("the directory {path}").into() }
        }
        (Some("true"), _) => Destruction::Kept { places, what: "archives the directory".into() },
        _ if deletion.arguments.is_none() => Destruction::Undecided(Cow::Borrowed(
            "whether it deletes directories depends on ENABLE_NAS_SUBPATH_FINALIZER of its \
             controller, which was not read",
        )),
        _ => Destruction::Nothing(Cow::Borrowed(
            "it deletes directories only with ENABLE_NAS_SUBPATH_FINALIZER=true, which was not \
             found",
        )),
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    #[test]
    fn attributes_name_the_directory() {
        const DRIVER: &str = "nasplugin.csi.alibabacloud.com";
        let at = |path| places(DRIVER, "pv-1", &[("server", "a.nas.aliyuncs.com"), ("path", path)]);
        assert_eq!(lies(&at("/pv-1"), &at("/pv-1/")), "equal");
        assert_eq!(lies(&at("/pv-1"), &at("/pv-2")), "apart");
        assert_eq!(lies(&at("/"), &at("/pv-2")), "inside");
        assert_eq!(lies(&at("/pv-1"), &places("nfs", "a.nas.aliyuncs.com:/pv-1/a", &[])), "inside");
        assert_eq!(lies(&at("/pv-1"), &places(DRIVER, "pv-2", &[])), "equal?");
    }

    #[test]
    fn attributes_the_class_and_the_environment_decide_what_is_deleted() {
        const DRIVER: &str = "nasplugin.csi.alibabacloud.com";
        let delete = [("archiveOnDelete", "false")];
        let finalizer = ["ENABLE_NAS_SUBPATH_FINALIZER=true"];
        for (handle, volume_as, arguments, expected) in [
            ("pv-1", "subpath", &finalizer[..], "deletes the directory /pv-1"),
            ("pv-1", "subpath", &[], "does nothing"),
            ("pv-1", "sharepath", &[], "does nothing"),
            ("pv-1", "filesystem", &[], "does nothing"),
            ("pv-1", "", &[], "fails"),
            ("pv-2", "subpath", &[], "fails"),
        ] {
            let told = answer(&Case {
                driver: DRIVER,
                handle,
                attributes: &[("server", "s"), ("path", "/pv-1"), ("volumeAs", volume_as)],
                class: Some(&delete),
                arguments,
                ..Case::default()
            });
            assert!(told.starts_with(expected), "{handle} {volume_as}: {told}");
        }
    }
}
