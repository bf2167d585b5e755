//! `Event`.

use super::{
    BriefMeta, Folded, Folder, Identity, Object, Problem, scalar::Timestamp, slim::slim,
    volume::ObjectReference,
};
use crate::model::{self, Kind, ObjectKey, Row, Uid};

/// The volume could not be attached; Multi-Attach is said in the message.
pub const FAILED_ATTACH: &str = "FailedAttachVolume";
/// The kubelet could not mount it.
pub const FAILED_MOUNT: &str = "FailedMount";

slim! {
    /// An `Event` of the core group; in JSON also one of `events.k8s.io`, which has other names for
    /// some of the fields.
    pub struct Event {
        /// Its metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: BriefMeta,
        /// What it is about.
        #[prost(message, required, tag = "2")]
        #[serde(alias = "regarding")]
        pub involved_object: ObjectReference,
        /// What happened, in a word.
        #[prost(string, tag = "3")]
        pub reason: String,
        /// What happened.
        #[prost(string, tag = "4")]
        #[serde(alias = "note")]
        pub message: String,
        /// Who says so, in the older form.
        #[prost(message, required, tag = "5")]
        #[serde(alias = "deprecatedSource")]
        pub source: EventSource,
        /// When it happened first.
        #[prost(message, required, tag = "6")]
        #[serde(alias = "deprecatedFirstTimestamp")]
        pub first_timestamp: Timestamp,
        /// When it happened last.
        #[prost(message, required, tag = "7")]
        #[serde(alias = "deprecatedLastTimestamp")]
        pub last_timestamp: Timestamp,
        /// `Normal` or `Warning`.
        #[prost(string, tag = "9")]
        pub r#type: String,
        /// When it happened first, in the newer form.
        #[prost(message, required, tag = "10")]
        pub event_time: Timestamp,
        /// How it went on, in the newer form.
        #[prost(message, required, tag = "11")]
        pub series: EventSeries,
        /// Who says so, in the newer form.
        #[prost(string, tag = "14")]
        #[serde(alias = "reportingController")]
        pub reporting_component: String,
    }

    /// Who says so.
    pub struct EventSource {
        /// The component.
        #[prost(string, tag = "1")]
        pub component: String,
    }

    /// How it went on.
    pub struct EventSeries {
        /// When it happened last.
        #[prost(message, required, tag = "2")]
        pub last_observed_time: Timestamp,
    }
}

impl Object for Event {
    const KIND: Kind = Kind::Event;

    fn identity(&self) -> Identity<'_> {
        self.metadata.identity()
    }

    fn row(&self, folder: &mut Folder) -> Result<Folded, Problem> {
        let about = &self.involved_object;
        let kind = match about.kind.as_str() {
            "PersistentVolume" => Kind::PersistentVolume,
            "PersistentVolumeClaim" => Kind::PersistentVolumeClaim,
            "StatefulSet" => Kind::StatefulSet,
            // Pods have many events, and most of them have nothing to do with storage.
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
