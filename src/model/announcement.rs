//! Announcements: what is to be reclaimed later, unless somebody vetoes it.

use std::time::Duration;

use super::{ClaimKey, Text, Time, Uid};

/// What is recorded of announcements in a namespace, as it was listed at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Announcements {
    /// What was announced.
    pub batches: Vec<AnnouncedBatch>,
    /// What was vetoed.
    pub vetoes: Vec<Veto>,
    /// Records of announcements that announce nothing, by name, and why.
    pub void: Vec<VoidBatch>,
}

/// The volumes that one run announced: an immutable `ConfigMap`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnouncedBatch {
    /// Its name.
    pub name: Box<str>,
    /// When it was created, by the API server's clock: from then on the grace period runs.
    pub created: Time,
    /// The grace period.
    pub grace: Duration,
    /// The uid of the namespace `kube-system` of the cluster for which it was recorded.
    pub cluster: Option<Box<str>>,
    /// The volumes.
    pub volumes: Vec<AnnouncedVolume>,
}

/// A volume as it was announced: what must still be so when it is reclaimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnouncedVolume {
    /// Its name.
    pub name: Box<str>,
    /// Its uid.
    pub uid: Uid,
    /// The claim that its claimRef references.
    pub claim: Option<ClaimKey>,
    /// The uid of that claim.
    pub claim_uid: Option<Uid>,
    /// The driver, or the kind of source.
    pub driver: Text,
    /// The volume handle.
    pub handle: Box<str>,
    /// A hash over the storage that it names (semantics#place).
    pub place: Box<str>,
    /// A hash over what would be done, and the danger flags without which it would be refused.
    pub proposal: Box<str>,
    /// Hashes of what there was to know, and no reason to refuse.
    pub notices: Vec<Box<str>>,
    /// What would be done, in words.
    pub effect: Box<str>,
}

/// A record that announces nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VoidBatch {
    /// Its name.
    pub name: Box<str>,
    /// Why.
    pub reason: Box<str>,
    /// When it was created, if that is known.
    pub created: Option<Time>,
    /// The uids that its keys name: whatever an earlier record says of these volumes is outdated.
    pub uids: Vec<Uid>,
}

/// A veto that was recorded: it holds until it is taken out of the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Veto {
    /// The name of the volume.
    pub volume: Box<str>,
    /// Its uid.
    pub uid: Uid,
    /// The record of the announcement that was vetoed.
    pub batch: Box<str>,
    /// When a run found it, by the API server's clock.
    pub found: Option<Time>,
}
