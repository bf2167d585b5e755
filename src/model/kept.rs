//! Kept backend volumes: the volume object was deleted, the backend volume was not.

use super::{
    BackendKey, Bytes, ClaimKey, JournalEntryNumber, Kind, ObjectKey, ObjectRef, Text, Time, Uid,
};

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
    /// The claim that it belonged to.
    pub claim: Option<ClaimKey>,
    /// Its storage class.
    pub class: Option<Text>,
    /// Its capacity.
    pub capacity: Option<Bytes>,
    /// When its volume was deleted, by the API server's clock.
    pub since: Option<Time>,
    /// The records that contain it.
    pub recorded: Recorded,
    /// Its entry in a journal.
    pub entry: Option<JournalEntryNumber>,
}

/// The records that contain an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Recorded {
    /// The journal of this machine.
    Journal,
    /// The record in the cluster.
    Cluster,
    /// Both.
    Both,
}

impl Recorded {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Journal, Self::Cluster, Self::Both];

    /// As reports and dumps write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Journal => "journal",
            Self::Cluster => "cluster",
            Self::Both => "both",
        }
    }
}

impl KeptBackend {
    /// A reference to the deleted volume.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::JournalPlace;

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
