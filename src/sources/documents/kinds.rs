//! The kind of an object in a dump: by its `apiVersion` and `kind`, of old versions as well, or, where
//! it has neither, by the fields that the API server writes.
//!
//! Archives of the `OpenShift` Insights operator leave both out (`config/pod/NAMESPACE/NAME.json`), and
//! so did Sonobuoy (`resources/cluster/PersistentVolumes.json`).

use serde_json::Value;

use crate::dump;
use crate::model::Kind;

/// Groups that served a kind which is served by another group now.
const FORMER_GROUPS: [(&str, &[Kind]); 3] = [
    (
        "extensions",
        &[
            Kind::Deployment,
            Kind::DaemonSet,
            Kind::ReplicaSet,
            Kind::Job,
            Kind::HorizontalPodAutoscaler,
        ],
    ),
    ("events.k8s.io", &[Kind::Event]),
    // The custom resource of Kubernetes 1.12 and 1.13.
    ("csi.storage.k8s.io", &[Kind::CsiDriver]),
];

/// Kind of an object, by its `apiVersion` and `kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServedKind {
    /// A kind that an audit looks at.
    Known(Kind),
    /// A kind that an audit looks at, in a version whose fields are not known.
    Unlike(Kind),
    /// A kind of the same name, of another group.
    Namesake,
    /// Any other kind.
    Other,
}

/// Returns the kind of an object with this `apiVersion` and `kind`.
pub(super) fn served_kind(api_version: &str, kind: &str) -> ServedKind {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    // Others have kinds of the same name, which are as common as theirs.
    let inventory = Kind::parse(group, kind).filter(|it| it.is_inventory());
    let Some(known) = inventory.or_else(|| listed(kind)) else { return ServedKind::Other };
    let formerly = |(former, kinds): &(&str, &[Kind])| *former == group && kinds.contains(&known);
    if known.group().name != group && !FORMER_GROUPS.iter().any(formerly) {
        return ServedKind::Namesake;
    }
    match known.is_optional() && !known.versions().contains(&version) {
        true => ServedKind::Unlike(known),
        false => ServedKind::Known(known),
    }
}

/// Returns the kind of an object that could not be read, whose `apiVersion` may be missing.
pub(super) fn claimed_kind(api_version: &str, kind: &str) -> Option<Kind> {
    if api_version.is_empty() {
        return listed(kind);
    }
    match served_kind(api_version, kind) {
        ServedKind::Known(kind) | ServedKind::Unlike(kind) => Some(kind),
        ServedKind::Namesake | ServedKind::Other => None,
    }
}

/// The kinds that are known by their own name, whatever their group.
fn by_name() -> impl Iterator<Item = Kind> {
    Kind::ALL.into_iter().filter(|kind| kind.is_listed() && !kind.is_inventory())
}

fn listed(name: &str) -> Option<Kind> {
    by_name().find(|kind| kind.name() == name)
}

/// Number of parts of a path that are asked for the kind: its file, and two folders. What stands before is where people
/// keep their dumps.
const PARTS: usize = 3;

/// Returns the kinds that an object may be of: one if that is certain, none if it is of no kind that
/// an audit looks at.
pub(super) fn kinds(object: &dump::DumpObject<'_>) -> Vec<Kind> {
    let Ok(body) = serde_json::from_str::<Value>(object.body) else { return Vec::new() };
    let is_namespaced = !object.namespace.is_empty();
    let possible: Vec<_> = by_name().filter(|kind| kind.is_namespaced() == is_namespaced).collect();
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
        | Kind::SubjectAccessReview
        | Kind::BackendVolume
        | Kind::Rollout
        | Kind::CloneSet
        | Kind::LonghornVolume
        | Kind::LvmVolume
        | Kind::ZfsVolume
        | Kind::TopoLvmVolume
        | Kind::LegacyTopoLvmVolume
        | Kind::DirectPvVolume
        | Kind::TridentVolume => false,
    }
}

/// Returns the names at the end of a path, from the file outwards, without what follows a dot.
fn names(path: &str) -> impl Iterator<Item = &str> {
    let parts = path.rsplit(['/', '\\', '!']).take(PARTS);
    parts.map(|part| part.split('.').next().unwrap_or_default())
}

/// Returns the kind that a folder or file is named after: `persistentvolumes`, `Pods`,
/// `core_v1_pods`. Short names are too short to mean anything in a path.
fn kind_named(name: &str) -> Option<Kind> {
    let name = name.rsplit('_').next().unwrap_or_default();
    by_name().find(|kind| {
        let names = [kind.plural(), kind.name()];
        names.iter().any(|known| known.eq_ignore_ascii_case(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_known_in_every_version_that_served_it() {
        for (api_version, kind, expected) in [
            ("v1", "PersistentVolume", ServedKind::Known(Kind::PersistentVolume)),
            ("extensions/v1beta1", "Deployment", ServedKind::Known(Kind::Deployment)),
            ("extensions/v1beta1", "DaemonSet", ServedKind::Known(Kind::DaemonSet)),
            ("extensions/v1beta1", "ReplicaSet", ServedKind::Known(Kind::ReplicaSet)),
            ("apps/v1beta1", "StatefulSet", ServedKind::Known(Kind::StatefulSet)),
            ("apps/v1beta2", "DaemonSet", ServedKind::Known(Kind::DaemonSet)),
            ("batch/v1beta1", "CronJob", ServedKind::Known(Kind::CronJob)),
            ("batch/v2alpha1", "CronJob", ServedKind::Known(Kind::CronJob)),
            (
                "autoscaling/v1",
                "HorizontalPodAutoscaler",
                ServedKind::Known(Kind::HorizontalPodAutoscaler),
            ),
            (
                "autoscaling/v2beta2",
                "HorizontalPodAutoscaler",
                ServedKind::Known(Kind::HorizontalPodAutoscaler),
            ),
            ("storage.k8s.io/v1beta1", "StorageClass", ServedKind::Known(Kind::StorageClass)),
            (
                "storage.k8s.io/v1alpha1",
                "VolumeAttachment",
                ServedKind::Known(Kind::VolumeAttachment),
            ),
            ("storage.k8s.io/v1beta1", "CSINode", ServedKind::Known(Kind::CsiNode)),
            (
                "storage.k8s.io/v1beta1",
                "VolumeAttributesClass",
                ServedKind::Known(Kind::VolumeAttributesClass),
            ),
            ("coordination.k8s.io/v1beta1", "Lease", ServedKind::Known(Kind::Lease)),
            ("events.k8s.io/v1beta1", "Event", ServedKind::Known(Kind::Event)),
            (
                "snapshot.storage.k8s.io/v1beta1",
                "VolumeSnapshot",
                ServedKind::Known(Kind::VolumeSnapshot),
            ),
            (
                "snapshot.storage.k8s.io/v1alpha1",
                "VolumeSnapshot",
                ServedKind::Unlike(Kind::VolumeSnapshot),
            ),
            (
                "groupsnapshot.storage.k8s.io/v1alpha1",
                "VolumeGroupSnapshotContent",
                ServedKind::Unlike(Kind::VolumeGroupSnapshotContent),
            ),
            (
                "snapshot.storage.k8s.io/v2",
                "VolumeSnapshotContent",
                ServedKind::Unlike(Kind::VolumeSnapshotContent),
            ),
            ("config.openshift.io/v1", "Node", ServedKind::Namesake),
            ("extensions/v1beta1", "StatefulSet", ServedKind::Namesake),
            ("v1", "ConfigMap", ServedKind::Other),
            ("v1", "Secret", ServedKind::Other),
        ] {
            assert_eq!(served_kind(api_version, kind), expected, "{api_version} {kind}");
        }
        assert_eq!(claimed_kind("", "Pod"), Some(Kind::Pod));
        assert_eq!(claimed_kind("example.com/v1", "Pod"), None);
    }
}
