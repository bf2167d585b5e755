//! The records of announcements and vetoes: the `ConfigMap`s of a namespace with our label.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;

use crate::client::{ListForm, ListRequest, ReadError, Reader, list_json};
use crate::journal::announcement::{ANNOUNCEMENT, RECORD, ReadBatch, VETO, parse_veto};
use crate::model::{Announcements, Answer, Kind, parse_time};

/// A `ConfigMap`, of which only what the records need is read.
#[derive(Deserialize)]
struct ConfigMap {
    metadata: ConfigMapMeta,
    immutable: Option<bool>,
    data: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfigMapMeta {
    name: String,
    namespace: Option<String>,
    creation_timestamp: Option<String>,
    deletion_timestamp: Option<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

/// Lists the records of a namespace.
pub(super) async fn list(reader: &Reader, namespace: &str) -> Answer {
    let records = ListRequest { namespace: Some(namespace.to_owned()), ..records() };
    match list_json(reader, &records).await {
        Ok(found) => Answer::Announcements(Arc::new(announcements(found.value))),
        Err(error) if error.is_forbidden() => Answer::Forbidden,
        Err(error) => unanswered(&error),
    }
}

/// Returns the other namespaces in which there are records; `None` for whoever may not list the
/// `ConfigMap`s of all namespaces.
pub async fn other_namespaces(reader: &Reader, namespace: &str) -> Option<BTreeSet<String>> {
    let field_selector = Some(format!("metadata.namespace!={namespace}"));
    let besides = ListRequest { field_selector, ..records() };
    let found = list_json::<ConfigMap>(reader, &besides).await.ok()?.value;
    Some(found.into_iter().filter_map(|it| it.metadata.namespace).collect())
}

/// The request for the records, and not for the segments of a journal, which may be many and large.
fn records() -> ListRequest {
    ListRequest {
        label_selector: Some(format!("{RECORD} in ({ANNOUNCEMENT},{VETO})")),
        form: ListForm::Json,
        ..ListRequest::of(Kind::ConfigMap, "v1")
    }
}

fn unanswered(error: &ReadError) -> Answer {
    Answer::Unanswered(error.to_string().into())
}

fn announcements(found: Vec<ConfigMap>) -> Announcements {
    let mut all = Announcements::default();
    for ConfigMap { metadata, immutable, data } in found {
        let data = data.unwrap_or_default();
        match metadata.labels.get(RECORD).map(String::as_str) {
            Some(ANNOUNCEMENT) => {
                let created = metadata.creation_timestamp.as_deref();
                let batch = ReadBatch {
                    created: created.and_then(|it| parse_time(it).ok().flatten()),
                    immutable: immutable == Some(true),
                    deleting: metadata.deletion_timestamp.is_some(),
                    name: metadata.name,
                    data,
                };
                match batch.parse() {
                    Ok(batch) => all.batches.push(batch),
                    Err(wrong) => all.void.push(batch.void(wrong)),
                }
            }
            // A copy under another name can only add vetoes.
            Some(VETO) => {
                all.vetoes.extend(data.iter().filter_map(|(key, value)| parse_veto(key, value)));
            }
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;
    use crate::journal::announcement::{self, VETOES};
    use crate::model::{AnnouncedVolume, Uid};

    const UID: &str = "493c02a7-f4e6-5ec4-8e0b-fc87ae581be5";

    fn record(name: &str, kind: &str, immutable: bool, data: &Value) -> Value {
        json!({
            "metadata": {
                "name": name, "creationTimestamp": "2026-11-01T12:00:00Z", "labels": {(RECORD): kind},
            },
            "immutable": immutable, "data": data,
        })
    }

    #[test]
    fn the_segments_of_a_journal_are_not_listed() {
        let one_of = "storage.kubectl.dev%2Frecord%20in%20%28announcement%2Cveto%29";
        let expected = format!("/api/v1/configmaps?labelSelector={one_of}");
        assert_eq!(records().selecting_path(), expected);
    }

    #[test]
    fn what_cannot_be_read_hides_nothing_else() {
        let volume = AnnouncedVolume {
            name: "pv-1".into(),
            uid: Uid::parse(UID).expect("a uid"),
            claim: None,
            claim_uid: None,
            driver: "d".into(),
            handle: "h".into(),
            place: "p".into(),
            proposal: "q".into(),
            notices: Vec::new(),
            effect: "".into(),
        };
        let data = announcement::data(Duration::from_secs(1), None, [volume.clone()].iter());
        let mut deleted = record("deleted", ANNOUNCEMENT, true, &json!(data));
        deleted["metadata"]["deletionTimestamp"] = json!("2026-11-02T12:00:00Z");
        let list = json!([
            deleted,
            record("whole", ANNOUNCEMENT, true, &json!(data)),
            record("edited", ANNOUNCEMENT, false, &json!(data)),
            record("torn", ANNOUNCEMENT, true, &json!({"batch": "{"})),
            record(VETOES, VETO, false, &json!({(UID): "whatever"})),
            record("journal", "journal", false, &json!({"a": "b"})),
            {"metadata": {"name": "bare", "labels": {(RECORD): ANNOUNCEMENT}}},
        ]);
        let list: Vec<ConfigMap> = serde_json::from_value(list).expect("a list");
        let read = announcements(list);
        assert_eq!(read.batches.len(), 1);
        assert_eq!((&*read.batches[0].name, &read.batches[0].volumes), ("whole", &vec![volume]));
        assert_eq!(read.vetoes.len(), 1);
        let void: Vec<_> = read.void.iter().map(|it| &*it.name).collect();
        assert_eq!(void, ["deleted", "edited", "torn", "bare"]);
    }
}
