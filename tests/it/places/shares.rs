//! NFS, EFS and Ceph.

use serde_json::{Value, json};

use super::{
    chance::Chance,
    model::{ACCESS_POINTS, CEPHS, Fate, Names, Piece, SERVERS, components, piece},
    volumes::{Drawn, Setting, csi, provisioned},
};

/// What a path looks like when people write it.
fn written(chance: &mut Chance, path: &str) -> String {
    match chance.roll(6) {
        0 => format!("{path}/"),
        1 => path.replace('/', "//"),
        _ => path.to_owned(),
    }
}

fn export(server: &str, path: &str) -> Names {
    Names::Export { server: server.to_owned(), path: path.to_owned() }
}

/// Usually the first: most clusters have one name for their server.
fn server(chance: &mut Chance) -> &'static str {
    SERVERS[[0, 0, 0, 0, 1, 2][chance.roll(6)]]
}

pub(super) fn nfs(chance: &mut Chance, setting: &Setting, number: usize) -> Drawn {
    let driver = "nfs.csi.k8s.io";
    let server = server(chance);
    let name = format!("pvc-{number}");
    let of = |family, directory: &str, tail: &str| {
        let handle = format!("{server}#export#{directory}{tail}");
        let attributes = json!({"server": server, "share": "/export", "subDir": directory});
        let names = export(server, &format!("/export/{directory}"));
        csi(family, driver, handle, attributes, names).shared().class("nfs-csi")
    };
    let shared = chance.pick(&["team", "team/a", "team/b"]);
    match chance.roll(14) {
        0..=2 => {
            let mut it = of("csi-driver-nfs", &name, "##");
            let attributes = &mut it.source.1["volumeAttributes"];
            attributes["share"] = written(chance, "/export").into();
            if chance.one_in(2) {
                attributes["subdir"] = attributes["subDir"].take();
                attributes.as_object_mut().map(|it| it.remove("subDir"));
            }
            it
        }
        3 | 4 => of("", shared, &format!("#pvc-{number}#")).odd("csi-driver-nfs, subDir"),
        5 => of("", shared, &format!("#pvc-{number}#retain"))
            .odd("csi-driver-nfs, retain")
            .fate(Fate::Keeps),
        6 => of("", &name, &format!("#pvc-{number}#Archive")).odd("csi-driver-nfs, archive"),
        7 => {
            let share = chance.pick(&["export", "", "export/team"]);
            let names = export(server, share);
            let attributes = json!({"server": server, "share": format!("/{share}")});
            csi("", driver, format!("{server}#{share}#"), attributes, names)
                .by_hand("csi-driver-nfs, static parent")
                .shared()
        }
        8 => of("", &name, "").by_hand("csi-driver-nfs, static"),
        9 => {
            let other = format!("pvc-{}", (number + 1) % 4);
            let mut it = of("", &name, "##").odd("csi-driver-nfs, mismatch");
            it.source.1["volumeAttributes"]["subDir"] = other.clone().into();
            it.mounts(export(server, &format!("/export/{other}")))
        }
        10 => in_tree(chance, server),
        _ => nfs_subdir(chance, setting, number),
    }
}

fn in_tree(chance: &mut Chance, server: &str) -> Drawn {
    let (_, source, names) = directory(chance, server);
    let it = provisioned("", "", ("nfs", source), names).by_hand("nfs in-tree").shared();
    it.fate(Fate::Keeps)
}

/// Somebody's directory of a server.
fn directory(chance: &mut Chance, server: &str) -> (&'static str, Value, Names) {
    let paths = [
        "/export/pvc-0",
        "/export/pvc-1",
        "/export/pvc-2/data",
        "/export/team/a",
        "/export",
        "/",
        "/other",
        "/export/shop-claim-1-pvc-1",
    ];
    let path = chance.pick(&paths);
    let source = json!({"server": server, "path": written(chance, path), "readOnly": true});
    ("nfs", source, export(server, path))
}

pub(super) fn nfs_inline(chance: &mut Chance) -> (&'static str, Value, Names) {
    let server = server(chance);
    directory(chance, server)
}

pub(super) const NFS_SUBDIR: &str = "k8s-sigs.io/nfs-subdir-external-provisioner";

fn nfs_subdir(chance: &mut Chance, setting: &Setting, number: usize) -> Drawn {
    let (server, root) = setting.nfs_subdir_root;
    let is_default = !chance.one_in(3);
    let directory = if is_default {
        format!("shop-claim-{number}-pvc-{number}")
    } else {
        chance.pick(&["team", "team/a", "team/b", "pvc-1"]).to_owned()
    };
    let path = format!("{root}/{directory}");
    let source = ("nfs", json!({"server": server, "path": path}));
    let names = export(server, &path);
    let it = provisioned("nfs-subdir", NFS_SUBDIR, source, names).shared().class("nfs-client");
    let keeps = setting.nfs_subdir_class["onDelete"] == "retain";
    let it = if is_default {
        it
    } else {
        // The image deletes what has the last component for its name, at the root.
        let base = directory.rsplit('/').next().unwrap_or_default();
        let deleted = export(server, &format!("{root}/{base}"));
        it.odd("nfs-subdir, pathPattern").fate(Fate::Destroys(vec![deleted]))
    };
    if keeps { it.odd("nfs-subdir, retain").fate(Fate::Keeps) } else { it }
}

fn efs_server(file_system: &str) -> String {
    format!("{file_system}.efs.us-east-1.amazonaws.com")
}

pub(super) fn efs(chance: &mut Chance, setting: &Setting) -> Drawn {
    let driver = "efs.csi.aws.com";
    let file_system = chance.pick(&["fs-0a1b2c3d", "fs-0a1b2c3d", "fs-99887766"]);
    let point = chance.pick(&ACCESS_POINTS);
    let kind = chance.pick(&["", "efs:"]);
    let of = |family, handle: String, names| csi(family, driver, handle, json!({}), names).shared();
    let in_point = |path: &str| Names::AccessPoint {
        file_system: file_system.to_owned(),
        point: point.to_owned(),
        path: path.to_owned(),
    };
    let bare = Names::BareAccessPoint(point.to_owned());
    match chance.roll(8) {
        0..=3 => {
            let it = of("EFS", format!("{kind}{file_system}::{point}"), in_point(""));
            match setting.efs_erases {
                Some(false) => it.fate(Fate::Destroys(vec![bare])),
                Some(true) => it.odd("EFS, erases"),
                None => it.odd("EFS, unseen"),
            }
        }
        4 => of("", format!("{kind}{file_system}:/data:{point}"), in_point("data"))
            .odd("EFS, path in an access point")
            .fate(match setting.efs_erases {
                Some(false) => Fate::Destroys(vec![bare]),
                _ => Fate::Destroys(vec![in_point("")]),
            }),
        5 => {
            let names = export(&efs_server(file_system), "/");
            of("", format!("{kind}{file_system}"), names).odd("EFS, file system").fate(Fate::Keeps)
        }
        6 => {
            let names = export(&efs_server(file_system), "/data");
            of("", format!("{kind}{file_system}:/data/"), names).odd("EFS, path").fate(Fate::Keeps)
        }
        _ => of("", format!("{file_system}::{point}"), in_point("")).by_hand("EFS, static"),
    }
}

pub(super) fn efs_inline(chance: &mut Chance) -> (&'static str, Value, Names) {
    let server = efs_server(chance.pick(&["fs-0a1b2c3d", "fs-99887766"]));
    let path = chance.pick(&["/", "/data", "/data/one/x"]);
    ("nfs", json!({"server": server, "path": path}), export(&server, path))
}

fn ceph_named(cluster: &str, path: Piece) -> Names {
    Names::Ceph { cluster: cluster.to_owned(), path }
}

fn cephfs_path(number: usize) -> String {
    format!("/volumes/csi/csi-vol-{}/9d0e7a52-0000-4000-8000-00000000000{number}", uuid(number))
}

fn uuid(number: usize) -> String {
    format!("6c7f1a3e-5b0d-4c1e-9f2a-aabbccddee0{number}")
}

fn inside(path: &str) -> Piece {
    let mut found = piece(&["cephfs", "myfs"]);
    found.extend(components(path));
    found
}

pub(super) fn ceph(chance: &mut Chance) -> Drawn {
    let number = chance.roll(3);
    let cluster = CEPHS[usize::from(chance.one_in(5))];
    let image = format!("csi-vol-{}", uuid(number));
    let handle =
        |pool: &str| format!("0001-{:04x}-{cluster}-{pool}-{}", cluster.len(), uuid(number));
    let prefix = if cluster == CEPHS[0] { "rook-ceph." } else { "" };
    let fs_driver = format!("{prefix}cephfs.csi.ceph.com");
    let rbd_driver = format!("{prefix}rbd.csi.ceph.com");
    match chance.roll(10) {
        0..=2 => {
            let path = cephfs_path(number);
            let attributes = json!({
                "clusterID": cluster, "fsName": "myfs", "pool": "myfs-replicated",
                "subvolumeName": image, "subvolumePath": path,
            });
            let names = ceph_named(cluster, inside(&path));
            csi("CephFS", &fs_driver, handle("0000000000000001"), attributes, names).shared()
        }
        3 => {
            // Rook's recipe to share one: a copy of the handle, or anything, and the path.
            let root = chance.pick(&[cephfs_path(number), "/volumes".into(), "/".into()]);
            let own = format!("shared-{number}");
            let handle = if chance.one_in(2) { handle("0000000000000001") } else { own };
            let attributes = json!({
                "clusterID": cluster, "fsName": "myfs", "staticVolume": "true", "rootPath": root,
            });
            csi("", &fs_driver, handle, attributes, ceph_named(cluster, inside(&root)))
                .by_hand("CephFS, static")
                .shared()
        }
        4 => {
            let path = cephfs_path(number);
            let source = json!({
                "monitors": ["10.1.0.1:6789"], "path": path, "user": "admin",
            });
            let names = Names::AnyCeph(inside(&path));
            provisioned("", "", ("cephfs", source), names).by_hand("CephFS in-tree").shared()
        }
        5..=7 => {
            let attributes = json!({
                "clusterID": cluster, "pool": "replicapool", "journalPool": "replicapool",
                "imageName": image, "imageFeatures": "layering",
            });
            let names = ceph_named(cluster, piece(&["rbd", "replicapool", &image]));
            csi("RBD", &rbd_driver, handle("0000000000000002"), attributes, names)
        }
        8 => {
            let names = Names::AnyCeph(piece(&["rbd", "replicapool", &image]));
            let source =
                json!({"monitors": ["10.1.0.1:6789"], "pool": "replicapool", "image": image});
            provisioned("", "", ("rbd", source), names).by_hand("RBD in-tree")
        }
        _ => {
            let attributes =
                json!({"clusterID": cluster, "pool": "replicapool", "staticVolume": "true"});
            let names = ceph_named(cluster, piece(&["rbd", "replicapool", &image]));
            csi("", &rbd_driver, image, attributes, names).by_hand("RBD, static")
        }
    }
}

pub(super) fn ceph_inline(chance: &mut Chance) -> (&'static str, Value, Names) {
    let number = chance.roll(3);
    let monitors = json!(["10.1.0.1:6789"]);
    if chance.one_in(2) {
        let image = format!("csi-vol-{}", uuid(number));
        let names = Names::AnyCeph(piece(&["rbd", "replicapool", &image]));
        ("rbd", json!({"monitors": monitors, "pool": "replicapool", "image": image}), names)
    } else {
        let path = chance.pick(&[cephfs_path(number), "/".into(), "/other".into()]);
        let names = Names::AnyCeph(inside(&path));
        ("cephfs", json!({"monitors": monitors, "path": path}), names)
    }
}
