//! The judge can find what is wrong: in a history in which all is well, and which is then tampered with.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::case::{Case, PREFIX};
use super::model::{KEEP_UNTIL, MARK, RECORD, VETOES};
use super::verdict::{self, Evidence};
use crate::support::history::Revision;

const SEED: u64 = 7;
const RECORDED: &str = "kubectl-storage-announced-a";
/// Of whom what is said: one that is reclaimed, one that is vetoed, and one that is rescued.
const GOES: &str = "interleaved-7-0";
const VETOED: &str = "interleaved-7-1";
const RESCUED: &str = "interleaved-7-2";

#[test]
fn a_history_that_was_tampered_with_is_found_out() {
    let clean = history();
    let verdict = verdict::judge(&clean);
    assert_eq!(verdict.wrong, [""; 0], "{}", verdict.story);
    assert_eq!(verdict.counts["reclaimed"], 1);
    for (index, (change, told)) in CHANGES.iter().enumerate() {
        let mut changed = clean.clone();
        change(&mut changed);
        changed.revisions.sort_by_key(|it| it.version);
        let wrong = verdict::judge(&changed).wrong.join("\n");
        assert!(wrong.contains(told), "change {index}: not found: {told}: {wrong}");
    }
}

type Change = fn(&mut Evidence);

const CHANGES: &[(Change, &str)] = &[
    // The announcement.
    (
        |it| record(it)["data"]["batch"] = json!(r#"{"graceSeconds":9,"version":1}"#),
        "it was due at",
    ),
    (|it| judged(it)["metadata"]["annotations"][MARK] = Value::Null, "its mark was removed"),
    (|it| judged(it)["metadata"]["annotations"][MARK] = json!("no"), "its mark was no time"),
    (
        |it| {
            let later = format!("{} {RECORDED}", at(9).to_rfc3339());
            judged(it)["metadata"]["annotations"][MARK] = json!(later);
        },
        "it was due at",
    ),
    (
        |it| judged(it)["metadata"]["annotations"][MARK] = json!("2001-01-01T00:00:00Z"),
        "older than its record",
    ),
    (
        |it| {
            let other = "2025-01-01T00:00:00Z reclaim, recorded in configmap kube-system/another";
            judged(it)["metadata"]["annotations"][MARK] = json!(other);
        },
        "named another record",
    ),
    (
        |it| judged(it)["metadata"]["annotations"][KEEP_UNTIL] = json!("2199-01-01"),
        "kept until 2199",
    ),
    (|it| judged(it)["metadata"]["annotations"][KEEP_UNTIL] = json!("a day"), "kept until a day"),
    (|it| vetoes(it)["data"][GOES] = json!("{}"), "its veto was recorded"),
    (|it| record(it)["immutable"] = json!(false), "no record announced it"),
    (|it| record(it)["metadata"]["labels"] = Value::Null, "no record announced it"),
    (|it| revision(it, 14).gone = true, "no record announced it"),
    (|it| record(it)["metadata"]["deletionTimestamp"] = json!(at(1)), "no record announced it"),
    (
        |it| {
            let mut copy = revision(it, 14).clone();
            copy.version = 16;
            copy.object["metadata"]["name"] = json!(format!("{RECORDED}-copy"));
            copy.object["immutable"] = json!(false);
            it.revisions.push(copy);
        },
        "newest record was void",
    ),
    // The volume.
    (|it| judged(it)["spec"]["claimRef"]["uid"] = json!("another"), "another one when"),
    (|it| judged(it)["spec"]["csi"]["volumeHandle"] = json!("another"), "another one when"),
    (|it| judged(it)["status"]["phase"] = json!("Bound"), "it was Bound"),
    (|it| judged(it)["metadata"]["deletionTimestamp"] = json!(at(1)), "or Terminating"),
    (
        |it| {
            let claim = json!({"metadata": {"name": GOES}});
            it.revisions.push(revised("persistentvolumeclaims", 13, 1, claim));
        },
        "its claim was back",
    ),
    // The request.
    (|it| body(it)[1]["value"] = json!("11"), "a version that never was"),
    (|it| body(it)[0]["op"] = json!("add"), "sent: patch"),
    (|it| body(it)[2]["value"] = json!("Bound"), "sent: patch"),
    (
        |it| {
            let mut again = patch(it).clone();
            again["requestReceivedTimestamp"] = json!(at(6));
            it.requests.push(again);
        },
        "reclaimed 2 times",
    ),
    (|it| forget(it, "list"), "without having listed"),
    (|it| listed(it)["requestURI"] = json!("/x?resourceVersion=0"), "from a cache"),
    (|it| forget(it, "get"), "without having read it again"),
    (
        |it| {
            let mut deleted = patch(it).clone();
            deleted["verb"] = json!("delete");
            it.requests.push(deleted);
        },
        "sent: delete",
    ),
    // The pause.
    (|it| pause(it)["data"]["paused"] = json!("true"), "patched although it was paused"),
    (|it| revision(it, 5).gone = true, "patched although it was paused"),
    // The journal.
    (|it| drop(it.journal.pop()), "the journal does not have"),
    (
        |it| {
            let mut again = it.journal.last().cloned().unwrap_or_default();
            again["sequence"] = json!(5);
            let done = json!({"type": "outcome", "sequence": 6, "of": 5, "outcome": "done"});
            it.journal.splice(3.., [entry(4, GOES, 20), again, done, outcome(7, 4, "sent")]);
        },
        "the journal has it 2 times",
    ),
    (|it| it.journal.push(outcome(9, 3, "done")), "has sequence Some(9)"),
    (|it| it.journal.extend([outcome(5, 4, "done"), outcome(6, 4, "done")]), "ended twice"),
    (
        |it| it.journal.extend([entry(5, "other", 3), outcome(6, 5, "sent")]),
        "says that it was done, and it never was",
    ),
    // What is left.
    (|it| set(it, VETOED, false), "never Released with policy Delete"),
    (
        |it| {
            let mut turned = revision(it, 31).clone();
            turned.version = 40;
            turned.object["spec"]["persistentVolumeReclaimPolicy"] = json!("Delete");
            it.revisions.push(turned);
            set(it, VETOED, false);
        },
        "1 times it turned to Delete, 0 of them known",
    ),
    (|it| set(it, GOES, true), "it leaked"),
    (
        |it| {
            it.revisions.retain(|it| it.version < 22 || it.version > 24);
            it.requests.retain(|it| verdict::policy(it) != Some("Delete"));
        },
        "interleaved-7-0: it is due, and still there",
    ),
    (|it| it.settled = false, "did not settle"),
    (
        |it| bound(it)["spec"]["persistentVolumeReclaimPolicy"] = json!("Delete"),
        "interleaved-7-2: it is due, and still there",
    ),
    // What is announced and rescued.
    (|it| announces(it, 31), "although its veto was recorded"),
    (
        |it| {
            vetoes(it)["data"] = json!({});
            announces(it, 31);
        },
        "although its mark was removed",
    ),
    (
        |it| {
            announces(it, 31);
            revision(it, 31).object["status"]["phase"] = json!("Bound");
        },
        "announced, and not Released",
    ),
    (
        |it| revision(it, 51).object["metadata"]["deletionTimestamp"] = Value::Null,
        "nobody has deleted its claim",
    ),
];

/// So many seconds after the beginning of the history.
fn at(seconds: i64) -> DateTime<Utc> {
    let begin: DateTime<Utc> = "2026-01-01T00:00:00Z".parse().expect("because it is a time");
    begin + TimeDelta::seconds(seconds)
}

fn revised(resource: &'static str, version: u64, seconds: i64, object: Value) -> Revision {
    Revision { resource, version, at: at(seconds), gone: false, object }
}

/// A volume; its uid is its name.
fn volume(name: &str, version: u64, seconds: i64, mark: Option<&str>) -> Revision {
    let object = json!({
        "metadata": {"name": name, "uid": name, "annotations": {MARK: mark}},
        "spec": {
            "persistentVolumeReclaimPolicy": "Retain", "csi": {"volumeHandle": name},
            "claimRef": {"name": name, "uid": "gone"},
        },
        "status": {"phase": "Released"},
    });
    revised("persistentvolumes", version, seconds, object)
}

/// A request of a process, answered within the same second.
fn asked(verb: &str, resource: &str, name: &str, seconds: i64) -> Value {
    json!({
        "verb": verb, "requestURI": format!("/api/v1/{resource}/{name}"),
        "impersonatedUser": {"username": format!("{PREFIX}{SEED}-p0")},
        "objectRef": {"resource": resource, "name": name},
        "responseStatus": {"code": 200},
        "requestReceivedTimestamp": at(seconds), "stageTimestamp": at(seconds),
    })
}

/// The patch of the revision of this version.
fn patched(name: &str, version: u64, seconds: i64, rest: &[Value]) -> Value {
    let mut patch = asked("patch", "persistentvolumes", name, seconds);
    let test = |path: &str, value: &str| json!({"op": "test", "path": path, "value": value});
    let tests =
        [test("/metadata/uid", name), test("/metadata/resourceVersion", &version.to_string())];
    patch["requestObject"] = [&tests[..], rest].concat().into();
    patch
}

fn policy(from: &str, to: &str) -> [Value; 2] {
    let path = "/spec/persistentVolumeReclaimPolicy";
    [
        json!({"op": "test", "path": path, "value": from}),
        json!({"op": "replace", "path": path, "value": to}),
    ]
}

fn entry(sequence: u64, name: &str, version: u64) -> Value {
    let path = format!("/api/v1/persistentvolumes/{name}?fieldManager=x");
    let test = json!({
        "op": "test", "path": "/metadata/resourceVersion", "value": version.to_string(),
    });
    let request = json!({"method": "PATCH", "path": path, "body": [test]});
    json!({"type": "intent", "sequence": sequence, "request": request})
}

fn outcome(sequence: u64, of: u64, outcome: &str) -> Value {
    json!({"type": "outcome", "sequence": sequence, "of": of, "outcome": outcome})
}

/// One volume was announced, was due and is gone; one was vetoed; of one the claim is deleted under its pod.
fn history() -> Evidence {
    let mark =
        format!("{} reclaim, recorded in configmap kube-system/{RECORDED}", at(3).to_rfc3339());
    let announced =
        |name: &str| json!({"uid": name, "claimUid": "gone", "handle": name}).to_string();
    let record = json!({
        "immutable": true,
        "metadata": {
            "name": RECORDED, "labels": {RECORD: "announcement"}, "creationTimestamp": at(1),
        },
        "data": {
            "batch": r#"{"graceSeconds":2,"version":1}"#,
            GOES: announced(GOES), VETOED: announced(VETOED),
        },
    });
    let vetoes = json!({
        "metadata": {"name": VETOES, "labels": {RECORD: "veto"}}, "data": {VETOED: "{}"},
    });
    let resumed =
        json!({"metadata": {"name": "kubectl-storage-watch"}, "data": {"paused": "false"}});
    let claim = json!({
        "metadata": {"name": RESCUED, "uid": "claim", "deletionTimestamp": at(1)},
    });
    let mut flipped = volume(GOES, 22, 5, Some(&mark));
    flipped.object["spec"]["persistentVolumeReclaimPolicy"] = json!("Delete");
    let mut gone = flipped.clone();
    (gone.version, gone.gone) = (24, true);
    let mut bound = volume(RESCUED, 50, 0, None);
    bound.object["status"]["phase"] = json!("Bound");
    let mut rescued = bound.clone();
    rescued.version = 52;
    bound.object["spec"]["persistentVolumeReclaimPolicy"] = json!("Delete");
    let revisions = vec![
        revised("configmaps", 5, -9, resumed),
        volume(GOES, 10, 0, None),
        volume(GOES, 12, 1, Some(&mark)),
        revised("configmaps", 14, 1, record),
        revised("configmaps", 15, 2, vetoes),
        volume(GOES, 20, 2, Some(&mark)),
        flipped,
        gone,
        volume(VETOED, 30, 0, Some(&mark)),
        volume(VETOED, 31, 1, None),
        bound,
        revised("persistentvolumeclaims", 51, 1, claim),
        rescued,
    ];
    let phase = json!({"op": "test", "path": "/status/phase", "value": "Released"});
    let claim = json!({"op": "test", "path": "/spec/claimRef/uid", "value": "gone"});
    let marks = json!({
        "op": "add", "path": "/metadata/annotations/storage.kubectl.dev~1announced", "value": mark,
    });
    let destroys = [&[phase, claim][..], &policy("Retain", "Delete")].concat();
    let mut list = asked("list", "configmaps", "", 0);
    list["objectRef"]["namespace"] = json!("kube-system");
    let listed = |seconds: i64| {
        let mut list = list.clone();
        (list["requestReceivedTimestamp"], list["stageTimestamp"]) =
            (json!(at(seconds)), json!(at(seconds)));
        list
    };
    let requests = vec![
        asked("get", "configmaps", "kubectl-storage-watch", -3),
        asked("get", "configmaps", "kubectl-storage-watch", -1),
        listed(0),
        asked("get", "persistentvolumes", GOES, 0),
        patched(GOES, 10, 1, &[marks]),
        listed(4),
        asked("get", "persistentvolumes", GOES, 4),
        asked("get", "persistentvolumeclaims", GOES, 4),
        patched(GOES, 20, 5, &destroys),
        patched(RESCUED, 50, 5, &policy("Delete", "Retain")),
    ];
    let case = Case { seed: SEED, grace: 2, volumes: Vec::new(), troubles: Vec::new() };
    let backends = BTreeMap::from([GOES, VETOED, RESCUED].map(|it| (it.to_owned(), it != GOES)));
    Evidence {
        case,
        did: Vec::new(),
        revisions,
        requests,
        journal: vec![
            entry(1, RESCUED, 50),
            entry(2, GOES, 10),
            outcome(3, 2, "sent"),
            entry(4, GOES, 20),
        ],
        backends,
        settled: true,
        said: Vec::new(),
    }
}

fn revision(evidence: &mut Evidence, version: u64) -> &mut Revision {
    let mut all = evidence.revisions.iter_mut();
    all.find(|it| it.version == version).expect("because the history has it")
}

/// The volume that was judged.
fn judged(evidence: &mut Evidence) -> &mut Value {
    &mut revision(evidence, 20).object
}

fn record(evidence: &mut Evidence) -> &mut Value {
    &mut revision(evidence, 14).object
}

fn vetoes(evidence: &mut Evidence) -> &mut Value {
    &mut revision(evidence, 15).object
}

fn pause(evidence: &mut Evidence) -> &mut Value {
    &mut revision(evidence, 5).object
}

/// The volume whose claim is deleted under its pod, in the end.
fn bound(evidence: &mut Evidence) -> &mut Value {
    &mut revision(evidence, 52).object
}

/// The patch that destroys.
fn patch(evidence: &mut Evidence) -> &mut Value {
    let mut all = evidence.requests.iter_mut();
    all.find(|it| verdict::policy(it) == Some("Delete")).expect("because the history has it")
}

fn body(evidence: &mut Evidence) -> &mut Value {
    &mut patch(evidence)["requestObject"]
}

/// The last list of the records.
fn listed(evidence: &mut Evidence) -> &mut Value {
    let mut all = evidence.requests.iter_mut().rev();
    all.find(|it| it["verb"] == "list").expect("because the history has it")
}

fn forget(evidence: &mut Evidence, verb: &str) {
    evidence.requests.retain(|it| it["verb"] != *verb);
}

fn set(evidence: &mut Evidence, name: &str, there: bool) {
    evidence.backends.insert(name.to_owned(), there);
}

/// The tool announces a volume as it was at a version.
fn announces(evidence: &mut Evidence, version: u64) {
    let marks =
        json!({"op": "add", "path": "/metadata/annotations/storage.kubectl.dev~1announced"});
    evidence.requests.push(asked("get", "persistentvolumes", VETOED, 5));
    evidence.requests.push(patched(VETOED, version, 6, &[marks]));
}
