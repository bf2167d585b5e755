//! Events about storage.

use super::{ObjectKey, Text, Time, Uid};

/// An `Event` about a volume, a claim or a set, or about a pod that waits for a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The event's own namespace and name.
    pub namespace: Text,
    /// The event's own name.
    pub name: Box<str>,
    /// The object it is about.
    pub about: ObjectKey,
    /// Which incarnation of that object.
    pub about_uid: Option<Uid>,
    /// `reason`.
    pub reason: Text,
    /// `message`; only the beginning if it is longer than any that Kubernetes writes.
    pub message: Box<str>,
    /// `type` is `Warning`.
    pub warning: bool,
    /// The reporter: `reportingComponent` or `source.component`.
    pub component: Text,
    /// How often it happened, as far as the event tells; 0 if it does not.
    pub count: u32,
    /// When it first happened: the earliest of the event's times.
    pub first_seen: Option<Time>,
    /// When it last happened: the latest of the event's times.
    pub last_seen: Option<Time>,
}
