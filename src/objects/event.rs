//! `Event`.

use super::{
    BriefMeta, FieldProblem, Folded, Folder, SlimObject, object_reference::ObjectReference,
    scalar::Timestamp, slim::slim,
};
use crate::model::{self, Kind, ObjectKey, Row, Uid};

/// The reason of events about a volume that could not be attached. The message contains
/// `Multi-Attach` if it is attached to another node.
pub(super) const FAILED_ATTACH: &str = "FailedAttachVolume";
/// The reason of events about a volume that the kubelet could not mount.
pub(super) const FAILED_MOUNT: &str = "FailedMount";

slim! {
    /// An `Event` of the core group.
    pub struct Event {
        /// Its metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: BriefMeta,
        /// The object that it is about.
        #[prost(message, required, tag = "2")]
        pub involved_object: ObjectReference,
        /// The reason.
        #[prost(string, tag = "3")]
        pub reason: String,
        /// The message.
        #[prost(string, tag = "4")]
        pub message: String,
        /// The component that reports it, in the older form.
        #[prost(message, required, tag = "5")]
        pub source: EventSource,
        /// When it happened first.
        #[prost(message, required, tag = "6")]
        pub first_timestamp: Timestamp,
        /// When it happened last.
        #[prost(message, required, tag = "7")]
        pub last_timestamp: Timestamp,
        /// `Normal` or `Warning`.
        #[prost(string, tag = "9")]
        pub r#type: String,
        /// When it happened first, in the newer form.
        #[prost(message, required, tag = "10")]
        pub event_time: Timestamp,
        /// The series of equal events, in the newer form.
        #[prost(message, required, tag = "11")]
        pub series: EventSeries,
        /// The component that reports it, in the newer form.
        #[prost(string, tag = "14")]
        pub reporting_component: String,
    }

    /// The component that reports an event.
    pub struct EventSource {
        /// The component.
        #[prost(string, tag = "1")]
        pub component: String,
    }

    /// A series of equal events.
    pub struct EventSeries {
        /// When it happened last.
        #[prost(message, required, tag = "2")]
        pub last_observed_time: Timestamp,
    }
}

impl SlimObject for Event {
    fn row(&self, folder: &mut Folder) -> Result<Folded, FieldProblem> {
        let about = &self.involved_object;
        let kind = match about.kind.as_str() {
            "PersistentVolume" => Kind::PersistentVolume,
            "PersistentVolumeClaim" => Kind::PersistentVolumeClaim,
            "StatefulSet" => Kind::StatefulSet,
            // Most of the many events about pods have nothing to do with storage.
            "Pod" if matches!(self.reason.as_str(), FAILED_ATTACH | FAILED_MOUNT) => Kind::Pod,
            _ => return Ok(Folded::Counted),
        };
        let times = [
            self.series.last_observed_time.fold("series.lastObservedTime")?,
            self.last_timestamp.fold("lastTimestamp")?,
            self.event_time.fold("eventTime")?,
            self.first_timestamp.fold("firstTimestamp")?,
        ];
        let component = match self.reporting_component.as_str() {
            "" => &self.source.component,
            component => component,
        };
        let namespace =
            if kind.is_namespaced() { Some(folder.text(&about.namespace)) } else { None };
        let row = model::Event {
            namespace: folder.text(&self.metadata.namespace),
            name: self.metadata.name.as_str().into(),
            about: ObjectKey { kind, namespace, name: about.name.as_str().into() },
            about_uid: Uid::parse(&about.uid),
            reason: folder.text(&self.reason),
            message: self.message.as_str().into(),
            warning: self.r#type == "Warning",
            component: folder.text(component),
            last_seen: times.into_iter().flatten().max(),
        };
        Ok(Folded::Row(Row::Event(Box::new(row))))
    }
}
