//! The questions that stay open because something was not read.

use crate::cluster::Unseen;
use crate::model::Kind;

/// Returns the questions about an object of this kind that what was not read leaves open, each once.
pub(super) fn open(about: Kind, unseen: &[Unseen]) -> Vec<&'static str> {
    let mut open = Vec::new();
    for unread in unseen.iter().map(|it| it.kind) {
        let question = of(about, unread);
        if !open.contains(&question) {
            open.push(question);
        }
    }
    open
}

/// The question about an object of one kind that objects of another kind answer.
const fn of(about: Kind, unread: Kind) -> &'static str {
    match unread {
        Kind::PersistentVolume => match about {
            Kind::PersistentVolume => "whether other volumes reference its backend volume",
            Kind::StorageClass | Kind::CsiDriver | Kind::Namespace => "which volumes it affects",
            _ => "the state of its volume",
        },
        Kind::PersistentVolumeClaim => match about {
            Kind::PersistentVolumeClaim => "whether it is the source of a clone",
            Kind::PersistentVolume | Kind::VolumeAttachment => "whether its claim exists",
            _ => "which claims it affects",
        },
        Kind::Pod => match about {
            Kind::CsiDriver | Kind::StorageClass => "whether its provisioner runs",
            Kind::Pod => "the state of pods beside it",
            _ => "which pods use it",
        },
        Kind::Node => "whether its node exists and is Ready",
        Kind::Namespace => "whether its namespace exists",
        Kind::StorageClass => "what its class says",
        Kind::CsiDriver | Kind::CsiNode => "whether its driver is registered",
        Kind::VolumeAttachment => "whether it is attached to a node",
        Kind::StatefulSet => match about {
            Kind::StatefulSet => "the state of other StatefulSets",
            _ => "which StatefulSet it belongs to",
        },
        Kind::Deployment
        | Kind::ReplicaSet
        | Kind::DaemonSet
        | Kind::ReplicationController
        | Kind::Job
        | Kind::CronJob => "which workloads use it",
        Kind::HorizontalPodAutoscaler => "whether an autoscaler scales it",
        Kind::Lease => "whether its controllers run",
        Kind::Event => "the last errors of its controllers",
        Kind::VolumeSnapshot | Kind::VolumeSnapshotContent | Kind::VolumeGroupSnapshotContent => {
            "which snapshots depend on it"
        }
        Kind::VolumeSnapshotClass => "whether a snapshot can be taken of it",
        Kind::VolumeAttributesClass => "what its attributes class says",
        Kind::ValidatingAdmissionPolicy | Kind::ValidatingAdmissionPolicyBinding => {
            "whether the guard is in force"
        }
        Kind::Secret => "whether its deletion Secret exists",
        Kind::ConfigMap => "whether it is announced",
        Kind::PartialObjectMetadata => "whether its owners exist",
        Kind::SubjectAccessReview => "whether its provisioner may patch persistentvolumes",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_question_is_asked_once() {
        let unseen = |kind| Unseen { kind, namespace: None, reason: "forbidden".to_owned() };
        let kinds = [Kind::Deployment, Kind::Job, Kind::VolumeAttachment];
        assert_eq!(
            open(Kind::PersistentVolumeClaim, &kinds.map(unseen)),
            ["which workloads use it", "whether it is attached to a node"]
        );
    }

    #[test]
    fn every_kind_that_is_not_read_leaves_a_question() {
        for about in super::super::EXPLAINED {
            for unread in Kind::ALL {
                assert!(!of(about, unread).is_empty(), "{about} {unread}");
            }
        }
    }
}
