//! What a change makes worth judging again.

use std::collections::BTreeSet;

use crate::model::{BackendKey, ObjectId, Text};

/// What a judgement is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    Volume(ObjectId),
    Claim(ObjectId),
    /// By its slot among the workloads.
    StatefulSet(ObjectId),
    Attachment(ObjectId),
    Pod(ObjectId),
    Class(ObjectId),
    AttributesClass(ObjectId),
    Snapshot(ObjectId),
    Driver(Text),
    /// A backend volume that was left behind on purpose.
    Backend(BackendKey),
}

/// The subjects whose judgement may differ after a change.
///
/// Too much is harmless, too little is a bug; a property test holds it against full passes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dirty {
    /// Everything: coverage changed, or nothing was judged yet.
    pub everything: bool,
    /// These subjects.
    pub subjects: BTreeSet<Subject>,
    /// Drivers whose facts may differ. Their volumes are dirty only if a fact really does, which
    /// whoever keeps the facts finds out: a Lease is renewed every few seconds.
    pub drivers: BTreeSet<Text>,
    /// The facts of every driver may differ.
    pub all_drivers: bool,
}

impl Dirty {
    /// Everything is to be judged.
    pub fn everything() -> Self {
        Self { everything: true, ..Self::default() }
    }

    /// Whether nothing is to be judged again.
    pub fn is_empty(&self) -> bool {
        !self.everything && !self.all_drivers && self.subjects.is_empty() && self.drivers.is_empty()
    }
}
