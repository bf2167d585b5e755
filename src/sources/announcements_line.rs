//! `SavedAnnouncements`: what is recorded of announcements, in an answer of our own dump.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::journal::announcement::{self, ReadBatch, parse_veto, veto_value};
use crate::model::{AnnouncedBatch, Announcements, Uid, Veto, VoidBatch, format_time, parse_time};

/// What is recorded of announcements: the keys and values of the records, as they were read.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedAnnouncements {
    batches: Vec<SavedBatch>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    vetoes: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    void: Vec<SavedVoid>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SavedBatch {
    name: String,
    created: String,
    data: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct SavedVoid {
    name: String,
    reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    created: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    uids: Vec<String>,
}

impl SavedAnnouncements {
    /// Puts them into their saved form.
    pub fn new(all: &Announcements) -> Self {
        let batch = |it: &AnnouncedBatch| SavedBatch {
            name: it.name.to_string(),
            created: format_time(&it.created),
            data: announcement::data(it.grace, it.cluster.as_deref(), it.volumes.iter()),
        };
        let void = |it: &VoidBatch| SavedVoid {
            name: it.name.to_string(),
            reason: it.reason.to_string(),
            created: it.created.as_ref().map(format_time),
            uids: it.uids.iter().map(Uid::to_string).collect(),
        };
        let veto = |it: &Veto| (it.uid.to_string(), veto_value(it));
        Self {
            batches: all.batches.iter().map(batch).collect(),
            vetoes: all.vetoes.iter().map(veto).collect(),
            void: all.void.iter().map(void).collect(),
        }
    }

    /// Takes them out of their saved form.
    ///
    /// # Errors
    /// When a batch is none of ours, or of another version.
    pub fn into_announcements(self) -> Result<Announcements, String> {
        let batch = |it: SavedBatch| {
            let created = parse_time(&it.created).ok().flatten();
            ReadBatch { name: it.name, created, immutable: true, deleting: false, data: it.data }
                .parse()
        };
        let void = |it: SavedVoid| VoidBatch {
            name: it.name.into(),
            reason: it.reason.into(),
            created: it.created.and_then(|it| parse_time(&it).ok().flatten()),
            uids: it.uids.iter().filter_map(|it| Uid::parse(it)).collect(),
        };
        Ok(Announcements {
            batches: self.batches.into_iter().map(batch).collect::<Result<_, String>>()?,
            vetoes: self.vetoes.iter().filter_map(|(key, it)| parse_veto(key, it)).collect(),
            void: self.void.into_iter().map(void).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::model::{AnnouncedVolume, Answer, ClaimKey, Interner, Question, Row, Time};
    use crate::sources::answer_line::SavedAnswer;

    #[test]
    fn what_was_saved_is_read_back() {
        let uid = Uid::parse("493c02a7-f4e6-5ec4-8e0b-fc87ae581be5").expect("a uid");
        let all = Announcements {
            batches: vec![AnnouncedBatch {
                name: "kubectl-storage-announced-1".into(),
                created: Time::from_timestamp(1_800_000_000, 0).expect("a time"),
                grace: Duration::from_secs(60),
                cluster: Some("c".into()),
                volumes: vec![AnnouncedVolume {
                    name: "pv-1".into(),
                    uid: uid.clone(),
                    claim: Some(ClaimKey { namespace: "shop".into(), name: "data".into() }),
                    claim_uid: None,
                    driver: "d".into(),
                    handle: "h".into(),
                    place: "p".into(),
                    proposal: "q".into(),
                    notices: vec!["n".into()],
                    effect: "e".into(),
                }],
            }],
            vetoes: vec![Veto {
                volume: "pv-2".into(),
                uid: uid.clone(),
                batch: "b".into(),
                found: None,
            }],
            void: vec![VoidBatch {
                name: "x".into(),
                reason: "it is not immutable".into(),
                created: Time::from_timestamp(1_800_000_001, 0),
                uids: vec![uid.clone()],
            }],
        };
        let question = Question::Announcements { namespace: "kube-system".into() };
        let answer = Answer::Announcements(Arc::new(all));
        let text = serde_json::to_string(&SavedAnswer::new(&question, &answer)).expect("JSON");
        let line: SavedAnswer = serde_json::from_str(&text).expect("the same form");
        let row = line.into_row(&mut Interner::default());
        assert_eq!(row, Ok(Row::Answer(question, answer)));
    }
}
