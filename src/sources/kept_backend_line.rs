//! `KeptBackendLine`: a kept backend volume as a line of our own dump.
//!
//! What is needed to create its PersistentVolume again is not in it: that stays in the record.

use serde::{Deserialize, Serialize};

use crate::model::{
    BackendKey, ClaimKey, Interner, JournalEntryNumber, JournalPlace, KeptBackend, Recorded, Uid,
    format_time, parse_time,
};

/// The `kind` of such a line.
pub const KEPT_BACKEND: &str = "KeptBackend";

/// A kept backend volume in the form in which a dump holds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptBackendLine {
    driver: String,
    handle: String,
    volume: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claim: Option<LineClaim>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    storage_class: Option<String>,
    /// Capacity in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    capacity: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    recorded: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entry: Option<LineEntry>,
}

/// A number in the journal of the machine, or what names an entry in the cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum LineEntry {
    Machine(u64),
    Cluster(String),
}

impl LineEntry {
    fn new(entry: &JournalEntryNumber) -> Self {
        match entry.place {
            JournalPlace::Machine => Self::Machine(entry.sequence),
            JournalPlace::Cluster(_) => Self::Cluster(entry.arguments()),
        }
    }

    fn number(&self) -> Option<JournalEntryNumber> {
        match self {
            Self::Machine(sequence) => {
                Some(JournalEntryNumber { place: JournalPlace::Machine, sequence: *sequence })
            }
            Self::Cluster(arguments) => JournalEntryNumber::of_arguments(arguments),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct LineClaim {
    namespace: String,
    name: String,
}

impl KeptBackendLine {
    /// Builds the line of a kept backend volume.
    pub fn new(kept: &KeptBackend) -> Self {
        let line_claim = |claim: &ClaimKey| LineClaim {
            namespace: claim.namespace.to_string(),
            name: claim.name.to_string(),
        };
        Self {
            driver: kept.backend.driver.to_string(),
            handle: kept.backend.handle.to_string(),
            volume: kept.volume.to_string(),
            uid: kept.uid.as_ref().map(Uid::to_string),
            claim: kept.claim.as_ref().map(line_claim),
            storage_class: kept.class.as_ref().map(ToString::to_string),
            capacity: kept.capacity,
            since: kept.since.as_ref().map(format_time),
            recorded: kept.recorded.name().to_owned(),
            entry: kept.entry.as_ref().map(LineEntry::new),
        }
    }

    /// Returns the kept backend volume that the line describes.
    ///
    /// # Errors
    /// When `since` is not a time, or `recorded` is not the name of a place where one is recorded.
    pub fn into_backend(self, interner: &mut Interner) -> Result<KeptBackend, String> {
        let recorded = Recorded::ALL.into_iter().find(|it| it.name() == self.recorded);
        let since = match &self.since {
            Some(text) => parse_time(text).map_err(|_| format!("{text:?} is not a time"))?,
            None => None,
        };
        Ok(KeptBackend {
            backend: BackendKey { driver: interner.text(&self.driver), handle: self.handle.into() },
            volume: self.volume.into(),
            uid: self.uid.as_deref().and_then(Uid::parse),
            claim: self.claim.map(|claim| ClaimKey {
                namespace: interner.text(&claim.namespace),
                name: claim.name.into(),
            }),
            class: self.storage_class.as_deref().map(|it| interner.text(it)),
            capacity: self.capacity,
            since,
            recorded: recorded
                .ok_or_else(|| format!("{:?} is not journal, cluster or both", self.recorded))?,
            entry: self.entry.as_ref().and_then(LineEntry::number),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> KeptBackend {
        KeptBackend {
            backend: BackendKey { driver: "d.example".into(), handle: "h/1".into() },
            volume: "pv-1".into(),
            uid: Uid::parse("493c02a7-f4e6-5ec4-8e0b-fc87ae581be5"),
            claim: Some(ClaimKey { namespace: "shop".into(), name: "data".into() }),
            class: Some("fast".into()),
            capacity: Some(10 << 30),
            since: crate::model::Time::from_timestamp(1_800_000_000, 0),
            recorded: Recorded::Both,
            entry: Some(JournalEntryNumber { place: JournalPlace::Machine, sequence: 7 }),
        }
    }

    #[test]
    fn a_saved_line_comes_back_as_it_was() {
        let mut interner = Interner::default();
        let text =
            serde_json::to_string(&KeptBackendLine::new(&kept())).expect("it has a JSON form");
        let line: KeptBackendLine = serde_json::from_str(&text).expect("the same form");
        assert_eq!(line.into_backend(&mut interner), Ok(kept()));
        assert!(text.contains(r#""entry":7"#), "{text}");
        let place = JournalPlace::Cluster("ops".into());
        let entry = Some(JournalEntryNumber { place, sequence: 7 });
        let in_cluster = KeptBackend { entry, ..kept() };
        let line = KeptBackendLine::new(&in_cluster);
        assert_eq!(line.into_backend(&mut interner), Ok(in_cluster));
        for (wrong, said) in [("since", "not a time"), ("recorded", "not journal")] {
            let mut line: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            line[wrong] = "x".into();
            let line: KeptBackendLine = serde_json::from_value(line).expect("the same form");
            let error = line.into_backend(&mut interner).expect_err("nothing sensible");
            assert!(error.contains(said), "{error}");
        }
    }
}
