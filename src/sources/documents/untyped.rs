//! Finds the kind of an object that has neither `kind` nor `apiVersion`, by the fields that the API
//! server demands of each kind and by the path of its file.
//!
//! Archives of the `OpenShift` Insights operator leave both out (`config/pod/NAMESPACE/NAME.json`), and
//! so did Sonobuoy (`resources/cluster/PersistentVolumes.json`).

use serde_json::Value;

use crate::dump;
use crate::model::Kind;

/// How much of a path is asked for the kind: its file, and two folders. What stands before is
/// where people keep their dumps.
const PARTS: usize = 3;

/// Returns the kinds that an object may be of: one if that is certain, none if it is of no kind that
/// an audit looks at.
pub(super) fn kinds(object: &dump::DumpObject<'_>) -> Vec<Kind> {
    let Ok(body) = serde_json::from_str::<Value>(object.body) else { return Vec::new() };
    let is_namespaced = !object.namespace.is_empty();
    let possible: Vec<_> = Kind::ALL
        .into_iter()
        .filter(|kind| kind.is_listed() && kind.is_namespaced() == is_namespaced)
        .collect();
    let fits: Vec<_> = possible.iter().copied().filter(|kind| has_shape(*kind, &body)).collect();
    let named = names(&object.origin.file).filter_map(kind_named);
    let candidates = if fits.is_empty() { &possible } else { &fits };
    match named.into_iter().find(|kind| candidates.contains(kind)) {
        Some(kind) => vec![kind],
        None => fits,
    }
}

/// Returns whether an object has the fields that the API server demands of a kind.
pub(super) fn has_shape(kind: Kind, body: &Value) -> bool {
    let has = |pointers: &[&str]| {
        pointers.iter().all(|pointer| body.pointer(pointer).is_some_and(|it| !it.is_null()))
    };
    let has_one = |pointers: &[&str]| pointers.iter().any(|pointer| has(&[pointer]));
    match kind {
        Kind::PersistentVolume => has(&["/spec/capacity", "/spec/accessModes"]),
        Kind::PersistentVolumeClaim => has(&["/spec/resources", "/spec/accessModes"]),
        Kind::Pod => has(&["/spec/containers"]),
        Kind::Node => has(&["/status/nodeInfo"]),
        Kind::Namespace => {
            let phase = body.pointer("/status/phase").and_then(Value::as_str);
            matches!(phase, Some("Active" | "Terminating")) && has(&["/spec/finalizers"])
        }
        Kind::StorageClass => has(&["/provisioner"]),
        Kind::CsiDriver => has(&["/spec/attachRequired"]),
        Kind::CsiNode => has(&["/spec/drivers"]),
        Kind::VolumeAttachment => has(&["/spec/attacher"]),
        Kind::StatefulSet | Kind::Deployment | Kind::ReplicaSet | Kind::DaemonSet => {
            has(&["/spec/template", "/spec/selector"])
        }
        Kind::ReplicationController | Kind::Job => has(&["/spec/template"]),
        Kind::CronJob => has(&["/spec/jobTemplate"]),
        Kind::HorizontalPodAutoscaler => has(&["/spec/scaleTargetRef", "/spec/maxReplicas"]),
        Kind::Lease => has_one(&["/spec/holderIdentity", "/spec/leaseDurationSeconds"]),
        Kind::Event => has_one(&["/involvedObject", "/regarding"]),
        Kind::VolumeSnapshot => has_one(&[
            "/spec/source/persistentVolumeClaimName",
            "/spec/source/volumeSnapshotContentName",
        ]),
        Kind::VolumeSnapshotContent => has(&["/spec/volumeSnapshotRef"]),
        Kind::VolumeSnapshotClass => has(&["/driver", "/deletionPolicy"]),
        Kind::VolumeGroupSnapshotContent => has(&["/spec/volumeGroupSnapshotRef"]),
        Kind::VolumeAttributesClass => has(&["/driverName"]),
        Kind::ValidatingAdmissionPolicy => has(&["/spec/matchConstraints"]),
        Kind::ValidatingAdmissionPolicyBinding => has(&["/spec/policyName"]),
        Kind::Secret
        | Kind::ConfigMap
        | Kind::PartialObjectMetadata
        | Kind::SubjectAccessReview => false,
    }
}

/// Returns what the end of a path is called, from the file outwards, without what follows a dot.
fn names(path: &str) -> impl Iterator<Item = &str> {
    let parts = path.rsplit(['/', '\\', '!']).take(PARTS);
    parts.map(|part| part.split('.').next().unwrap_or_default())
}

/// Returns the kind that a folder or file is named after: `persistentvolumes`, `Pods`,
/// `core_v1_pods`. Short names are too short to mean anything in a path.
fn kind_named(name: &str) -> Option<Kind> {
    let name = name.rsplit('_').next().unwrap_or_default();
    Kind::ALL.into_iter().find(|kind| {
        let names = [kind.plural(), kind.name()];
        kind.is_listed() && names.iter().any(|known| known.eq_ignore_ascii_case(name))
    })
}
