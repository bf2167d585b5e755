//! `Event`.

use super::{
    BriefMeta, Folded, Folder, SlimObject, object_reference::ObjectReference, scalar::Timestamp,
    slim::slim,
};
use crate::model::{self, Kind, ObjectKey, Row, Uid, beginning};

/// The reason of events about a volume that could not be attached. The message contains
/// `Multi-Attach` if it is attached to another node.
pub(super) const FAILED_ATTACH: &str = "FailedAttachVolume";
/// The reason of events about a volume that the kubelet could not mount.
pub(super) const FAILED_MOUNT: &str = "FailedMount";
/// The reason of events about a pod that fits on no node.
const FAILED_SCHEDULING: &str = "FailedScheduling";
/// The component of the events that this tool creates.
pub const OWN_COMPONENT: &str = "kubectl-storage";
/// How much of a message is kept, in bytes. The API for events bounds a note to 1 kB; only the
/// older form has no bound.
const LONGEST: usize = 4096;

slim! {
    /// An `Event` of the core group; in JSON also one of `events.k8s.io`, which has other names for
    /// some of the fields.
    pub struct Event {
        /// Its metadata.
        #[prost(message, required, tag = "1")]
        pub metadata: BriefMeta,
        /// The object that it is about.
        #[prost(message, required, tag = "2")]
        #[serde(alias = "regarding")]
        pub involved_object: ObjectReference,
        /// The reason.
        #[prost(string, tag = "3")]
        pub reason: String,
        /// The message.
        #[prost(string, tag = "4")]
        #[serde(alias = "note")]
        pub message: String,
        /// The component that reports it, in the older form.
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
        /// How often it happened, in the older form.
        #[prost(int32, tag = "8")]
        #[serde(alias = "deprecatedCount")]
        pub count: i32,
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
        #[serde(alias = "reportingController")]
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
        /// How often it happened.
        #[prost(int32, tag = "1")]
        pub count: i32,
        /// When it happened last.
        #[prost(message, required, tag = "2")]
        pub last_observed_time: Timestamp,
    }
}

impl SlimObject for Event {
    fn row(&self, folder: &mut Folder) -> Folded {
        let component = match self.reporting_component.as_str() {
            "" => &self.source.component,
            component => component,
        };
        // What this tool says about an object is no evidence about it.
        if component == OWN_COMPONENT {
            return Folded::Counted;
        }
        let about = &self.involved_object;
        let kind = match about.kind.as_str() {
            "PersistentVolume" => Kind::PersistentVolume,
            "PersistentVolumeClaim" => Kind::PersistentVolumeClaim,
            "StatefulSet" => Kind::StatefulSet,
            // Most of the many events about pods have nothing to do with storage.
            "Pod" if self.is_about_storage_of_a_pod() => Kind::Pod,
            _ => return Folded::Counted,
        };
        let times = [
            self.series.last_observed_time.fold("series.lastObservedTime", folder),
            self.last_timestamp.fold("lastTimestamp", folder),
            self.event_time.fold("eventTime", folder),
            self.first_timestamp.fold("firstTimestamp", folder),
        ];
        let namespace =
            if kind.is_namespaced() { Some(folder.text(&about.namespace)) } else { None };
        let row = model::Event {
            namespace: folder.text(&self.metadata.namespace),
            name: self.metadata.name.as_str().into(),
            about: ObjectKey { kind, namespace, name: about.name.as_str().into() },
            about_uid: Uid::parse(&about.uid),
            reason: folder.text(&self.reason),
            message: bounded(&self.message),
            warning: self.r#type == "Warning",
            component: folder.text(component),
            count: u32::try_from(self.count.max(self.series.count)).unwrap_or(0),
            first_seen: times.into_iter().flatten().min(),
            last_seen: times.into_iter().flatten().max(),
        };
        Folded::Row(Row::Event(Box::new(row)))
    }
}

impl Event {
    /// Whether an event about a pod tells why its volumes are not there. The scheduler writes
    /// `FailedScheduling` for many reasons; those that concern storage mention a volume.
    fn is_about_storage_of_a_pod(&self) -> bool {
        match self.reason.as_str() {
            FAILED_ATTACH | FAILED_MOUNT => true,
            FAILED_SCHEDULING => self.message.to_ascii_lowercase().contains("volume"),
            _ => false,
        }
    }
}

/// Returns a message, of which a hostile one keeps only the beginning: there may be thousands.
fn bounded(message: &str) -> Box<str> {
    if message.len() <= LONGEST {
        return message.into();
    }
    format!("{}… ({} bytes)", beginning(message, LONGEST), message.len()).into()
}
