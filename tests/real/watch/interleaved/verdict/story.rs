//! What happened to the volumes of which something is wrong, in order.

use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::super::model::{KEEP_UNTIL, MARK, NAME, RECORD, VETOES};
use super::{Evidence, process};
use crate::support::history::{Revision, is_dry, is_write, received, text};

pub(super) fn story(evidence: &Evidence, wrong: &[String]) -> String {
    let all = evidence.volumes().map(Revision::name);
    let mut names: Vec<_> = all.filter(|it| wrong.iter().any(|why| why.contains(it))).collect();
    names.sort_unstable();
    names.dedup();
    let mut lines: Vec<(DateTime<Utc>, String)> = Vec::new();
    for it in &evidence.revisions {
        if let Some(line) = revision(it, &names, evidence) {
            lines.push((it.at, line));
        }
    }
    for it in &evidence.requests {
        let object = text(&it["objectRef"]["name"]);
        let of_process = process(it).is_some();
        let is_about = names.contains(&object) || (of_process && object == "kubectl-storage-watch");
        let lists =
            of_process && it["verb"] == "list" && text(&it["requestURI"]).contains("kube-system");
        if (is_about && (of_process || is_write(it))) || lists {
            lines.push((received(it), request(it)));
        }
    }
    for did in evidence.did.iter().filter(|it| names.contains(&it.volume.as_str())) {
        lines.push((did.at, format!("{}: {:?} ended {:?}", did.volume, did.act, did.result)));
    }
    lines.sort();
    let mut story = String::new();
    for (at, line) in lines {
        // Writing to a string does not fail.
        let _ = writeln!(story, "{} {line}", at.format("%H:%M:%S%.3f"));
    }
    for (number, said) in evidence.said.iter().enumerate() {
        let _ = writeln!(story, "process {number} said:\n{said}");
    }
    story
}

fn revision(it: &Revision, names: &[&str], evidence: &Evidence) -> Option<String> {
    let (object, metadata) = (&it.object, &it.object["metadata"]);
    let uids: Vec<_> =
        evidence.volumes().filter(|it| names.contains(&it.name())).map(Revision::uid).collect();
    let gone = if it.gone { " gone" } else { "" };
    let is_record = it.name().starts_with(NAME) || it.name() == VETOES;
    let what = if it.resource == "persistentvolumes" && names.contains(&it.name()) {
        let (spec, marks) = (&object["spec"], &metadata["annotations"]);
        format!(
            "uid {} {} {} claim {} mark {} keep {} deleted {}",
            it.uid(),
            object["status"]["phase"],
            spec["persistentVolumeReclaimPolicy"],
            spec["claimRef"]["uid"],
            marks[MARK],
            marks[KEEP_UNTIL],
            metadata["deletionTimestamp"]
        )
    } else if is_record && uids.iter().any(|uid| !object["data"][*uid].is_null()) {
        let (label, batch) = (&metadata["labels"][RECORD], &object["data"]["batch"]);
        format!(
            "{label} created {} {batch} immutable {}",
            metadata["creationTimestamp"], object["immutable"]
        )
    } else if it.resource == "persistentvolumeclaims" && names.contains(&it.name()) {
        format!("{} deleted {}", object["status"]["phase"], metadata["deletionTimestamp"])
    } else if it.name() == "kubectl-storage-watch" {
        object["data"]["paused"].to_string()
    } else {
        return None;
    };
    Some(format!("  is {}{gone} {} at {}: {what}", it.resource, it.name(), it.version))
}

fn request(it: &Value) -> String {
    let by = process(it).or(it["user"]["username"].as_str()).unwrap_or_default();
    let dry = if is_dry(it) { "dry " } else { "" };
    let body = match &it["requestObject"] {
        Value::Null => String::new(),
        body => format!(" {body}"),
    };
    let code = &it["responseStatus"]["code"];
    let object = &it["objectRef"];
    let (verb, resource) = (text(&it["verb"]), text(&object["resource"]));
    format!("{by} {dry}{verb} {resource} {}: {code}{body}", text(&object["name"]))
}
