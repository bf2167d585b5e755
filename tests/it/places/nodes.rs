//! Directories of nodes, Longhorn, and a driver of which nobody knows anything.

use serde_json::{Value, json};

use super::{
    chance::Chance,
    model::{Fate, NODES, Names, piece},
    volumes::{Drawn, Setting, csi, provisioned},
};

pub(super) const LOCAL_PATH: &str = "rancher.io/local-path";
pub(super) const MINIKUBE: &str = "k8s.io/minikube-hostpath";
pub(super) const UNKNOWN: &str = "disk.vendor.example";
const BASE: &str = "/opt/local-path-provisioner";

fn on(node: Option<&str>, path: &str) -> Names {
    Names::Path { node: node.map(str::to_owned), path: path.to_owned() }
}

pub(super) fn volume(chance: &mut Chance, number: usize) -> Drawn {
    let node = chance.pick(&NODES);
    let default = format!("{BASE}/pvc-{number}_shop_claim-{number}");
    match chance.roll(8) {
        0..=3 => local_path(chance, "local-path", node, &default),
        4 | 5 => {
            let pattern = chance.pick(&["shop", "shop/data", "shop/data/x", "shop/other"]);
            let it = local_path(chance, "", node, &format!("{BASE}/{pattern}"));
            it.odd("local-path, pathPattern")
        }
        6 => {
            let path = format!("/tmp/hostpath-provisioner/shop/claim-{number}");
            let source = ("hostPath", json!({"path": path, "type": ""}));
            let mut it = provisioned("", MINIKUBE, source, on(None, &path))
                .odd("minikube")
                .class("standard");
            let identity = json!("8f3c1d2e-0000-4000-8000-000000000001");
            it.annotations.insert("hostPathProvisionerIdentity".to_owned(), identity);
            it.truth.base = Some("/tmp/hostpath-provisioner/shop".to_owned());
            it
        }
        _ => {
            let path = chance.pick(&[default.as_str(), BASE, "/"]);
            let source = ("hostPath", json!({"path": path, "type": ""}));
            let node = chance.one_in(2).then_some(node);
            let it = provisioned("", "", source, on(node, path)).by_hand("hostPath, static");
            Drawn { node: node.map(str::to_owned), ..it.fate(Fate::Keeps) }
        }
    }
}

fn local_path(chance: &mut Chance, family: &'static str, node: &str, path: &str) -> Drawn {
    let is_local = chance.one_in(2);
    let source = json!({"path": path});
    let source = if is_local { ("local", source) } else { ("hostPath", source) };
    let mut it = provisioned(family, LOCAL_PATH, source, on(Some(node), path)).class("local-path");
    it.node = Some(node.to_owned());
    it.truth.base = path.rsplit_once('/').map(|(parent, _)| parent.to_owned());
    it
}

pub(super) fn inline(chance: &mut Chance) -> (&'static str, Value, Names) {
    let path = match chance.roll(8) {
        0 => "/".to_owned(),
        1 => "/opt".to_owned(),
        2 => BASE.to_owned(),
        3 => format!("{BASE}/shop"),
        4 => format!("{BASE}/shop/data/x/y"),
        5 => "/tmp/hostpath-provisioner/shop/claim-1".to_owned(),
        6 => "/var/log".to_owned(),
        _ => format!("{BASE}/pvc-1_shop_claim-1"),
    };
    // Which node a pod runs on stands elsewhere, and decides nothing that could be demanded.
    ("hostPath", json!({"path": path}), on(None, &path))
}

pub(super) fn longhorn(chance: &mut Chance) -> Drawn {
    let name = format!("pvc-51aa{}", chance.roll(3));
    let names = Names::Piece(piece(&["longhorn", &name]));
    let attributes = json!({"numberOfReplicas": "3", "staleReplicaTimeout": "30"});
    let it = csi("Longhorn", "driver.longhorn.io", name, attributes, names);
    if chance.one_in(5) { it.by_hand("Longhorn, static") } else { it }
}

pub(super) fn unknown(chance: &mut Chance, setting: &Setting) -> Drawn {
    let handles = ["vol-1", "vol-2", "vol-3", "VOL-1", "pool/a", "pool/a/b", "pool/b", "pool"];
    let handle = chance.pick(&handles);
    let names = Names::Handle { driver: UNKNOWN.to_owned(), handle: handle.to_owned() };
    let it = csi("unknown", UNKNOWN, handle.to_owned(), json!({}), names);
    let it = if setting.attach_required { it } else { it.odd("unknown, without attaching") };
    match chance.roll(8) {
        0 => it.odd("unknown, shared").shared(),
        1 => it.by_hand("unknown, static"),
        _ => it,
    }
}
