//! The journal: each change has its line, and none has two.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Evidence, Verdict, is_patch, process};
use crate::support::history::{is_real, succeeded, text};

impl Verdict {
    pub(super) fn journal(&mut self, evidence: &Evidence) {
        let lines = &evidence.journal;
        for (index, line) in lines.iter().enumerate() {
            let sequence = line["sequence"].as_u64();
            self.holds(sequence == Some(index as u64 + 1), || {
                format!("line {} of the journal has sequence {sequence:?}", index + 1)
            });
        }
        let mut ends: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
        for line in lines.iter().filter(|it| it["type"] == "outcome") {
            let of = line["of"].as_u64().unwrap_or_default();
            ends.entry(of).or_default().push(text(&line["outcome"]));
        }
        // Of each request, how its entries ended.
        let mut entries: BTreeMap<String, Vec<Option<&str>>> = BTreeMap::new();
        for line in lines.iter().filter(|it| it["type"] == "intent") {
            let sequence = line["sequence"].as_u64().unwrap_or_default();
            let outcomes = ends.remove(&sequence).unwrap_or_default();
            let sent = outcomes.iter().filter(|it| **it == "sent").count();
            let is_once = sent < 2 && outcomes.len() <= sent + 1;
            self.holds(is_once, || format!("entry {sequence} ended twice: {outcomes:?}"));
            let last = outcomes.last().copied();
            let last = if outcomes.contains(&"sent") { Some("sent") } else { last };
            let request = &line["request"];
            let path = text(&request["path"]).split('?').next().unwrap_or_default().to_owned();
            entries.entry(key(&path, &request["body"])).or_default().push(last);
        }
        self.holds(ends.is_empty(), || format!("outcomes of no entry: {ends:?}"));
        let mut done: BTreeMap<String, u64> = BTreeMap::new();
        for it in evidence.requests.iter().filter(|it| is_recorded(it)) {
            let path = text(&it["requestURI"]).split('?').next().unwrap_or_default();
            *done.entry(key(path, &it["requestObject"])).or_default() += 1;
        }
        for (request, count) in &done {
            let of_it = entries.get(request).map_or(&[][..], Vec::as_slice);
            self.holds(*count == 1, || format!("it was sent {count} times: {request}"));
            self.holds(!of_it.is_empty(), || format!("the journal does not have {request}"));
            let written = of_it.iter().filter(|it| is_written(**it)).count();
            self.holds(written < 2, || format!("the journal has it {written} times: {request}"));
        }
        for (request, ended) in entries {
            let is_done =
                ended.iter().any(|it| is_written(*it)) && !request.contains("/configmaps");
            self.holds(!is_done || done.contains_key(&request), || {
                format!("the journal says that it was done, and it never was: {request}")
            });
        }
    }
}

/// Whether an entry that ended so says that its request was carried out.
fn is_written(outcome: Option<&str>) -> bool {
    matches!(outcome, Some("sent" | "done" | "pending"))
}

/// Whether the journal has to have a request of a process.
fn is_recorded(event: &Value) -> bool {
    let is_record = event["objectRef"]["resource"] == "configmaps"
        && event["objectRef"]["namespace"] == super::super::model::RECORDS
        && process(event).is_some()
        && is_real(event)
        && succeeded(event);
    is_patch(event) || is_record
}

/// What tells requests apart: no two that are carried out are of one revision.
fn key(path: &str, body: &Value) -> String {
    let tested = body.as_array().and_then(|all| {
        all.iter().find(|it| it["op"] == "test" && it["path"] == "/metadata/resourceVersion")
    });
    let metadata = &body["metadata"];
    match tested {
        Some(test) => format!("{path} at {}", test["value"]),
        None => format!("{path} {} at {}", metadata["name"], metadata["resourceVersion"]),
    }
}
