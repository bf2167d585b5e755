//! Provisioners that forget which volumes they have made: at every start, or with their node.

use super::{ControllerSearch, Host};
use crate::cluster::Cx;
use crate::drivers::{self, Name, ProvisionerKind};
use crate::model::{ControllerRole, Kind, Text, Uid, Volume};

/// Provisioners whose identity is random: after a start they ignore every volume that they have
/// made before, without a word (minikube `storage_provisioner.go`; minikube#4546).
const FORGETFUL: [&str; 1] = ["k8s.io/minikube-hostpath"];

/// Whether a provisioner has made a volume since it was started, if it deletes no others. `None` if
/// when it was started is not known. A container that was restarted in its pod is not noticed: the
/// volume then stays Released.
pub fn deletes_since_its_start(cx: &Cx, driver: &Text, volume: &Volume) -> Option<bool> {
    if !FORGETFUL.contains(&&**driver) {
        return Some(true);
    }
    let search = ControllerSearch::new(cx, ControllerRole::Provisioner, driver);
    let pods = cx.sidecar_pods().filter(|pod| Host::pod(pod).is_some_and(|it| search.serves(it)));
    let started = pods.filter_map(|pod| pod.created).max()?;
    Some(started <= volume.metadata.created?)
}

/// Returns the node after which a provisioner that runs on each node is called, if that node has
/// another uid now: the provisioner there has another name, and ignores the volumes of this one
/// (sig-storage-local-static-provisioner `cmd/main.go`, `pkg/populator`).
pub fn recreated_node(cx: &Cx, driver: &Text) -> Option<String> {
    const UUID: usize = 36;
    let family = drivers::family(driver);
    if family.provisioner.kind != ProvisionerKind::PerNode {
        return None;
    }
    let rest = family.names.iter().find_map(|name| match name {
        Name::BeginsWith(prefix) => driver.strip_prefix(prefix),
        Name::Is(_) | Name::EndsWith(_) | Name::Chart(_) => None,
    })?;
    let at = rest.len().checked_sub(UUID + 1)?;
    let (node, uid) = (rest.get(..at)?, rest.get(at..)?.strip_prefix('-')?);
    let uid = Uid::parse(uid).filter(|it| matches!(it, Uid::Uuid(_)))?;
    let known = cx.node(node, Kind::PersistentVolume).ok()??.metadata.uid.as_ref()?;
    (*known != uid).then(|| node.to_owned())
}
