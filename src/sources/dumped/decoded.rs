//! Objects that were decoded and are not taken in yet: any thread can decode, one takes in.

use super::super::{
    dump::DumpError,
    intake::Intake,
    objects::{self, Object},
};
use crate::model::Kind;

/// An object of any kind.
pub(super) trait Decoded: Send {
    /// Takes it in. `place` is what precedes its name if it is broken.
    ///
    /// # Errors
    /// When it cannot be saved.
    fn take_in(&self, place: &dyn Fn() -> String, intake: &mut Intake) -> Result<(), DumpError>;
}

impl<T: Object> Decoded for T {
    fn take_in(&self, place: &dyn Fn() -> String, intake: &mut Intake) -> Result<(), DumpError> {
        intake.object_at(self, place)
    }
}

/// Decodes an object; `None` is one of a kind of which nothing is taken in.
///
/// # Errors
/// What is wrong with it.
pub(super) fn decode(
    kind: Kind,
    body: &str,
) -> Result<Option<Box<dyn Decoded>>, serde_json::Error> {
    macro_rules! decode {
        ($type:ident) => {
            Box::new(serde_json::from_str::<objects::$type>(body)?)
        };
    }
    Ok(Some(match kind {
        Kind::PersistentVolume => decode!(PersistentVolume),
        Kind::PersistentVolumeClaim => decode!(PersistentVolumeClaim),
        Kind::Pod => decode!(Pod),
        Kind::Node => decode!(Node),
        Kind::StorageClass => decode!(StorageClass),
        Kind::CsiDriver => decode!(CsiDriver),
        Kind::CsiNode => decode!(CsiNode),
        Kind::VolumeAttachment => decode!(VolumeAttachment),
        Kind::StatefulSet => decode!(StatefulSet),
        Kind::Deployment => decode!(Deployment),
        Kind::ReplicaSet => decode!(ReplicaSet),
        Kind::DaemonSet => decode!(DaemonSet),
        Kind::ReplicationController => decode!(ReplicationController),
        Kind::Job => decode!(Job),
        Kind::CronJob => decode!(CronJob),
        Kind::HorizontalPodAutoscaler => decode!(HorizontalPodAutoscaler),
        Kind::Lease => decode!(Lease),
        Kind::Event => decode!(Event),
        Kind::VolumeAttributesClass => decode!(VolumeAttributesClass),
        Kind::VolumeSnapshot => decode!(VolumeSnapshot),
        Kind::VolumeSnapshotContent => decode!(VolumeSnapshotContent),
        Kind::VolumeGroupSnapshotContent => decode!(VolumeGroupSnapshotContent),
        Kind::Namespace
        | Kind::Secret
        | Kind::PartialObjectMetadata
        | Kind::SubjectAccessReview => return Ok(None),
    }))
}
