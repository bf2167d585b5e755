//! Records of this tool: announcements of what is to be reclaimed later, unless it is vetoed; kept backend volumes,
//! whose volume object was deleted; and the names that people use for an entry of the journal.

use std::{fmt, str::FromStr, time::Duration};

use super::{
    BackendKey, Bytes, ClaimKey, Kind, ObjectKey, ObjectRef, Text, Time, Uid, is_namespace_name,
};

/// Recorded announcements of a namespace, as they were listed at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Announcements {
    /// The announcements.
    pub batches: Vec<AnnouncedBatch>,
    /// The vetoes.
    pub vetoes: Vec<Veto>,
    /// Records of announcements that announce nothing, by name, with the reason.
    pub void: Vec<VoidBatch>,
}

/// The volumes that one run announced: an immutable `ConfigMap`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnouncedBatch {
    /// The name of the record.
    pub name: Box<str>,
    /// The time at which the record was created, by the API server's clock: from then on the grace period runs.
    pub created: Time,
    /// The grace period.
    pub grace: Duration,
    /// The uid of the namespace `kube-system` of the cluster for which it was recorded.
    pub cluster: Option<Box<str>>,
    /// The volumes.
    pub volumes: Vec<AnnouncedVolume>,
}

/// A volume as it was announced, with all that must still hold when it is reclaimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnouncedVolume {
    /// The name of the volume.
    pub name: Box<str>,
    /// The uid of the volume.
    pub uid: Uid,
    /// The claim that the volume's claimRef references.
    pub claim: Option<ClaimKey>,
    /// The uid of that claim.
    pub claim_uid: Option<Uid>,
    /// The driver, or the kind of source.
    pub driver: Text,
    /// The volume handle.
    pub handle: Box<str>,
    /// A hash over the storage that the volume references (semantics#place).
    pub place: Box<str>,
    /// A hash over the proposed steps and effect, and the danger flags without which the volume would be refused.
    pub proposal: Box<str>,
    /// Hashes of the notices, which are no reason to refuse.
    pub notices: Vec<Box<str>>,
    /// The effect in words.
    pub effect: Box<str>,
}

/// A record that announces nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VoidBatch {
    /// The name of the record.
    pub name: Box<str>,
    /// The reason for which it announces nothing.
    pub reason: Box<str>,
    /// The time at which the record was created, if that is known.
    pub created: Option<Time>,
    /// The uids in the record's keys: what an earlier record says of these volumes is outdated.
    pub uids: Vec<Uid>,
}

/// A recorded veto, which holds until it is removed from the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Veto {
    /// The name of the volume.
    pub volume: Box<str>,
    /// The uid of the volume.
    pub uid: Uid,
    /// The record of the announcement that was vetoed.
    pub batch: Box<str>,
    /// The time at which a run found the veto, by the API server's clock.
    pub found: Option<Time>,
}

/// A backend volume whose volume object was deleted on purpose (`gc --keep-backend`): only our
/// record references it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptBackend {
    /// The backend volume.
    pub backend: BackendKey,
    /// The name of the deleted volume.
    pub volume: Box<str>,
    /// The uid of the deleted volume.
    pub uid: Option<Uid>,
    /// The claim to which the volume belonged.
    pub claim: Option<ClaimKey>,
    /// The storage class of the volume.
    pub class: Option<Text>,
    /// The capacity of the volume.
    pub capacity: Option<Bytes>,
    /// The time at which the volume was deleted, by the API server's clock.
    pub since: Option<Time>,
    /// The records that contain the backend volume.
    pub recorded: Recorded,
    /// The entry about it in a journal.
    pub entry: Option<JournalEntryNumber>,
}

/// The records that contain an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Recorded {
    /// The journal of this machine.
    Journal,
    /// The record in the cluster.
    Cluster,
    /// Both the journal and the record in the cluster.
    Both,
}

impl Recorded {
    /// All combinations of records.
    pub const ALL: [Self; 3] = [Self::Journal, Self::Cluster, Self::Both];

    /// Returns the name of the records in reports and dumps.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Journal => "journal",
            Self::Cluster => "cluster",
            Self::Both => "both",
        }
    }
}

impl KeptBackend {
    /// Returns a reference to the deleted volume.
    pub fn object(&self) -> ObjectRef {
        let key = ObjectKey::cluster_wide(Kind::PersistentVolume, &self.volume);
        ObjectRef { key, uid: self.uid.clone() }
    }

    /// Merges two entries about the same backend volume. It may have been kept, adopted and kept
    /// again: the later entry counts.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let recorded = if self.recorded == other.recorded { self.recorded } else { Recorded::Both };
        let (later, earlier) = if other.since > self.since { (other, self) } else { (self, other) };
        // An entry about another volume cannot restore this one.
        let same = later.uid == earlier.uid;
        let entry = later.entry.clone().or(earlier.entry.filter(|_| same));
        Self { recorded, entry, ..later }
    }
}

/// Place of a journal. Each place has numbers of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum JournalPlace {
    /// The file of this machine.
    #[default]
    Machine,
    /// The journal in this namespace of the cluster.
    Cluster(Text),
}

impl fmt::Display for JournalPlace {
    /// Writes the place as in "the journal …".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Machine => f.write_str("of this machine"),
            Self::Cluster(namespace) => write!(f, "in namespace {namespace}"),
        }
    }
}

/// An entry of the journal: `12` in the file of this machine, `c12` in the cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JournalEntryNumber {
    /// The journal of the entry.
    pub place: JournalPlace,
    /// The entry's number in that journal.
    pub sequence: u64,
}

impl JournalEntryNumber {
    /// Returns the entry as a command names it: `12`, or `c12 --cluster-journal=NAMESPACE`.
    pub fn arguments(&self) -> String {
        match &self.place {
            JournalPlace::Machine => self.to_string(),
            JournalPlace::Cluster(namespace) => format!("{self} --cluster-journal={namespace}"),
        }
    }

    /// Parses what [`arguments`](Self::arguments) renders.
    pub fn of_arguments(text: &str) -> Option<Self> {
        let Some((number, namespace)) = text.split_once(" --cluster-journal=") else {
            let number: AskedEntry = text.parse().ok()?;
            return number.within(&JournalPlace::Machine).ok();
        };
        let place = JournalPlace::Cluster(Text::from(namespace));
        let number: AskedEntry = number.parse().ok()?;
        number.within(&place).ok().filter(|_| is_namespace_name(namespace))
    }
}

impl fmt::Display for JournalEntryNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            JournalPlace::Machine => write!(f, "{}", self.sequence),
            JournalPlace::Cluster(_) => write!(f, "c{}", self.sequence),
        }
    }
}

/// An entry as a user names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskedEntry {
    /// The number of the entry.
    sequence: u64,
    /// Whether the entry is in the journal of the cluster.
    in_cluster: bool,
}

/// Reason for which a text names no entry, or none in this place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// The text is neither a number nor a `c` with a number.
    #[error("expected a number such as 12, or c12 with --cluster-journal")]
    NoNumber,
    /// The entry is in the cluster, and the place is this machine.
    #[error("entry c{0} is in the journal of the cluster: pass --cluster-journal")]
    InCluster(u64),
    /// The entry is on this machine, and the place is in the cluster.
    #[error(
        "entry {0} is in the journal of this machine: omit --cluster-journal, or pass c{0} for the \
         entry in the cluster"
    )]
    OnMachine(u64),
}

impl FromStr for AskedEntry {
    type Err = EntryError;

    fn from_str(text: &str) -> Result<Self, EntryError> {
        let (digits, in_cluster) = match text.strip_prefix('c') {
            Some(digits) => (digits, true),
            None => (text, false),
        };
        let sequence = digits.parse().ok().filter(|_| !digits.starts_with('+'));
        Ok(Self { sequence: sequence.ok_or(EntryError::NoNumber)?, in_cluster })
    }
}

impl AskedEntry {
    /// Returns the entry in this place.
    ///
    /// # Errors
    /// When it is an entry of the other place.
    pub fn within(self, place: &JournalPlace) -> Result<JournalEntryNumber, EntryError> {
        let Self { sequence, in_cluster } = self;
        match (place, in_cluster) {
            (JournalPlace::Machine, true) => Err(EntryError::InCluster(sequence)),
            (JournalPlace::Cluster(_), false) => Err(EntryError::OnMachine(sequence)),
            _ => Ok(JournalEntryNumber { place: place.clone(), sequence }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::JournalPlace;

    #[test]
    fn the_two_journals_have_numbers_of_their_own_and_each_refuses_the_others() {
        let cluster = JournalPlace::Cluster("ops".into());
        let asked = |text: &str| text.parse::<AskedEntry>();
        let of = |text: &str, place: &JournalPlace| asked(text).and_then(|it| it.within(place));
        for (text, place, arguments) in
            [("12", &JournalPlace::Machine, "12"), ("c12", &cluster, "c12 --cluster-journal=ops")]
        {
            let entry = of(text, place).expect("it is of this place");
            assert_eq!((entry.to_string(), entry.arguments()), (text.into(), arguments.into()));
            assert_eq!(JournalEntryNumber::of_arguments(arguments), Some(entry));
        }
        assert_eq!(of("c12", &JournalPlace::Machine), Err(EntryError::InCluster(12)));
        assert_eq!(of("12", &cluster), Err(EntryError::OnMachine(12)));
        for text in ["", "c", "-1", "+1", "c+1", "C1", "1c", "cc1", "99999999999999999999"] {
            assert_eq!(asked(text), Err(EntryError::NoNumber), "{text}");
        }
        assert_eq!(JournalEntryNumber::of_arguments("c1 --cluster-journal=a b"), None);
        assert_eq!(JournalEntryNumber::of_arguments("1 --cluster-journal=ops"), None);
    }

    fn kept(
        uid: &str,
        since: i64,
        recorded: Recorded,
        entry: Option<JournalEntryNumber>,
    ) -> KeptBackend {
        KeptBackend {
            backend: BackendKey { driver: "d".into(), handle: "h".into() },
            volume: "v".into(),
            uid: Uid::parse(uid),
            claim: None,
            class: None,
            capacity: None,
            since: Time::from_timestamp(since, 0),
            recorded,
            entry,
        }
    }

    #[test]
    fn what_both_record_keeps_the_entry_only_if_it_is_about_the_same_volume() {
        let (journal, cluster) = (Recorded::Journal, Recorded::Cluster);
        let seven = Some(JournalEntryNumber { place: JournalPlace::Machine, sequence: 7 });
        for (there, since, entry) in
            [("a", 10, seven.clone()), ("b", 20, None), ("b", 5, seven.clone())]
        {
            let one = kept("a", 10, journal, seven.clone());
            let other = kept(there, since, cluster, None);
            for both in [one.clone().and(other.clone()), other.and(one)] {
                assert_eq!(both.recorded, Recorded::Both);
                assert_eq!(both.entry, entry, "{there} {since}");
                assert_eq!(both.since, Time::from_timestamp(since.max(10), 0));
            }
        }
        let nine = JournalEntryNumber { place: JournalPlace::Cluster("ops".into()), sequence: 9 };
        let again = kept("a", 10, journal, seven).and(kept("a", 20, journal, Some(nine.clone())));
        assert_eq!((again.recorded, again.entry), (journal, Some(nine)));
    }
}
