//! Maps `apiVersion` and `kind` of an object to the kind that an audit reads, for old versions as well.

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

/// What an object is, by its `apiVersion` and `kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServedKind {
    /// Of a kind that an audit looks at.
    Known(Kind),
    /// Of such a kind, in a version whose fields are not known.
    Unlike(Kind),
    /// Called like such a kind, and of another group.
    Namesake,
    /// Of any other kind.
    Other,
}

/// Returns what an object of this `apiVersion` and `kind` is.
pub(super) fn served_kind(api_version: &str, kind: &str) -> ServedKind {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let Some(known) = listed(kind) else { return ServedKind::Other };
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

fn listed(name: &str) -> Option<Kind> {
    Kind::ALL.into_iter().find(|kind| kind.is_listed() && kind.name() == name)
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
