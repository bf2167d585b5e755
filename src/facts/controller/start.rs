//! Provisioners that forget at every start which volumes they have made.

use super::{ControllerSearch, Host};
use crate::cluster::Cx;
use crate::model::{ControllerRole, Text, Volume};

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
