//! Dell PowerScale (Isilon): `csi-isilon.dellemc.com`.

use std::borrow::Cow;

use super::basis::{NFS, SHARE, nfs, undecided, what_it_uses};
use crate::drivers::{
    Deletion, Destruction, Family, Fate, Name, Part, Place, Provisioner, Reference, Snapshots,
};

/// csi-powerscale.
pub static FAMILY: Family = Family {
    id: "powerscale",
    title: "Dell PowerScale (Isilon)",
    names: &[Name::Is("csi-isilon.dellemc.com")],
    identity: "the export of the handle NAME=_=_=EXPORT=_=_=ZONE[=_=_=CLUSTER], and the directory Path, \
               which others may contain; many directory-backed volumes share one export",
    attributes: &["Path", "AzServiceIP", "ClusterName"],
    used,
    deletion,
    destroys: "the quota, the export and the directory that it exports, with everything in it",
    answers_ok: &["an empty handle", "an export that does not exist, also if its directory does"],
    refuses: &["a directory with several exports", "a handle that does not parse"],
    snapshots: Snapshots::all(
        Fate::Unknown,
        "unknown whether they are destroyed with their volume",
    ),
    clones: Fate::Unknown,
    provisioner: Provisioner::csi(&["isilon-controller"], &["csi-isilon"]).without_leader(),
    sources: &[
        "dell/csi-powerscale v2.16: service/controller.go, common/utils/identifiers/volume.go",
    ],
    ..SHARE
};

/// The space of directories of PowerScale.
const SPACE: &str = "PowerScale directory";

/// A handle, split as the driver does.
struct Handle<'a> {
    name: &'a str,
    export: u32,
    zone: &'a str,
    cluster: Option<&'a str>,
    has_own_export: bool,
}

impl<'a> Handle<'a> {
    fn read(handle: &'a str) -> Option<Self> {
        let fields: Vec<&str> = handle.split("=_=_=").collect();
        let [name, export, zone, ref rest @ ..] = fields[..] else { return None };
        let cluster = rest.first().copied().filter(|it| !it.is_empty());
        let has_own_export = rest.get(1).is_none();
        Some(Self { name, export: export.parse().ok()?, zone, cluster, has_own_export })
    }
}

fn used<'a>(reference: &Reference<'a>) -> Vec<Place<'a>> {
    let Some(handle) = Handle::read(reference.handle) else {
        return vec![undecided(SPACE, reference)];
    };
    let attribute = |key| reference.attribute(key);
    let cluster = || match handle.cluster.or(attribute("ClusterName")) {
        Some(cluster) => Part::Named(Cow::Borrowed(cluster)),
        None => Part::Unknown("the PowerScale cluster of one of them is unknown"),
    };
    let mut places = Vec::new();
    if handle.has_own_export {
        let export = format!("{}:{}", handle.zone, handle.export);
        places.push(Place::device("PowerScale export", export).of(cluster()));
    }
    let path = attribute("Path").filter(|path| !path.is_empty());
    match path {
        Some(path) => places.push(Place::directory(SPACE, path).of(cluster())),
        // Its name is unique beneath a path that is not known.
        None if !handle.has_own_export => places.push(
            Place::device("PowerScale volume", handle.name)
                .of(cluster()),
        ),
        None => {}
    }
    let server = attribute("AzServiceIP").filter(|it| !it.is_empty());
    let unknown = "the address at which PowerScale exports it is unknown";
    places.extend(path.map(|path| match server {
        Some(server) => nfs(server, path),
        None => Place::directory(NFS, path).of(Part::Unknown(unknown)),
    }));
    places
}

fn deletion(deletion: &Deletion<'_>) -> Destruction {
    match (deletion.reference.handle, Handle::read(deletion.reference.handle)) {
        ("", _) => Destruction::Nothing(Cow::Borrowed("its handle is empty")),
        (_, None) => Destruction::Fails(Cow::Borrowed("it cannot read the handle")),
        (_, Some(Handle { name, export, zone, has_own_export: true, .. })) => {
            let what = format!("export {export} of zone {zone} and its directory {name}");
            what_it_uses(deletion, what)
        }
        (_, Some(Handle { name, .. })) => what_it_uses(deletion, format!("the directory {name}")),
    }
}

#[cfg(test)]
mod tests {
    use crate::drivers::tests::{Case, answer, lies, places};

    #[test]
    fn directories_contain_each_other_and_exports_are_numbered() {
        let driver = "csi-isilon.dellemc.com";
        let volume = |handle, path| places(driver, handle, &[("Path", path)]);
        let mine = volume("k8s-a=_=_=19=_=_=System=_=_=one", "/ifs/data/csi/k8s-a");
        for (handle, path, expected) in [
            ("k8s-b=_=_=19=_=_=System=_=_=one", "/ifs/data/csi/k8s-b", "equal"),
            ("k8s-b=_=_=20=_=_=System=_=_=one", "/ifs/data/csi/k8s-b", "apart"),
            ("k8s-b=_=_=20=_=_=System=_=_=one", "/ifs/data", "around"),
            ("k8s-b=_=_=20=_=_=System=_=_=two", "/ifs/data", "around?"),
            ("k8s-b=_=_=20", "/ifs/data", "equal?"),
            ("k8s-b=_=_=19=_=_=System=_=_=one=_=_=directory", "/ifs/data/csi/k8s-b", "apart"),
        ] {
            assert_eq!(lies(&mine, &volume(handle, path)), expected, "{handle} {path}");
        }
        let answer = |handle| answer(&Case { driver, handle, ..Case::default() });
        assert_eq!(answer("k8s-b"), "fails: it cannot read the handle");
        let whole = "deletes export 19 of zone System and its directory k8s-a";
        assert_eq!(answer("k8s-a=_=_=19=_=_=System=_=_=one"), whole);
    }
}
