//! `journal --all`, which needs no cluster: real journals, and what is printed of them.

use std::path::Path;

use kubectl_storage::{
    journal::{Backend, Intent, Log, Outcome, SentRequest},
    model::{Kind, ObjectKey, ObjectRef, Time, Uid},
    output::writing::Journal,
};
use serde_json::json;

use crate::support::{Call, Ran, expect_file, read, root};

const SCHEMA: &str = "docs/schema/journal.v1alpha1.json";
const UID: &str = "0d9e5b6c-6d0b-4f0e-9d6c-0c6b6c1f9a11";

fn intent(action: &str, volume: &str) -> Intent {
    Intent {
        command: "gc".to_owned(),
        object: ObjectRef {
            key: ObjectKey::cluster_wide(Kind::PersistentVolume, volume),
            uid: Uid::parse(UID),
        },
        action: action.to_owned(),
        because: "keep-backend".to_owned(),
        request: SentRequest {
            method: "DELETE".to_owned(),
            path: format!("/api/v1/persistentvolumes/{volume}"),
            content_type: "application/json".to_owned(),
            body: json!({"preconditions": {"uid": UID}}),
        },
        pre_image: Some(json!({"metadata": {"name": volume}})),
        backend: Some(Backend { driver: "csi.example".to_owned(), handle: "vol-1".to_owned() }),
        capacity: Some("10Gi".to_owned()),
        keeps: action == "delete-volume",
        adds_finalizer: (action == "set-reclaim-policy")
            .then(|| "external-provisioner.volume.kubernetes.io/finalizer".to_owned()),
        removes_finalizer: None,
        undoes: None,
    }
}

/// Two journals: of one cluster with a kept backend, which was undone, a write that was not
/// answered and one of which nothing is known; and of another with a torn line.
fn journals(home: &Path) {
    let at = Time::from_timestamp(1_700_000_000, 0);
    let folder = home.join(".local/state/kubectl-storage").join(UID);
    let log = Log::open(&folder).expect("writable");
    let write = |intent: &Intent, outcome: Option<(Outcome, &str)>| {
        let entry = log.begin("run-1", at, intent).expect("room");
        if let Some((outcome, detail)) = outcome {
            log.end(entry, at, outcome, detail).expect("room");
        }
        entry
    };
    let kept = write(&intent("delete-volume", "pv-1"), Some((Outcome::Done, "the object is gone")));
    let undo = Intent {
        command: "undo".to_owned(),
        undoes: Some(kept),
        ..intent("create-volume", "pv-1")
    };
    write(&undo, Some((Outcome::Done, "it is Released")));
    let unanswered = (Outcome::Unanswered, "no answer came within 60s");
    write(&intent("set-reclaim-policy", "pv-2"), Some(unanswered));
    write(&intent("set-reclaim-policy", "pv-3\u{1b}[2J"), None);

    let other = home.join(".local/state/kubectl-storage/other");
    let log = Log::open(&other).expect("writable");
    log.begin("run-2", at, &intent("delete-volume", "pv-9")).expect("room");
    let file = other.join("journal.jsonl");
    let torn = format!("{}{{\"version\":1,\"sequ", read(&file));
    std::fs::write(&file, torn).expect("writable");
}

fn ran(args: &[&str]) -> Ran {
    let home = tempfile::tempdir().expect("a temporary folder");
    journals(home.path());
    let mut call = Call::new([&["journal", "--all"], args].concat());
    call.folder = Some(home.path().to_owned());
    let mut ran = call.run();
    ran.is_decent(&format!("journal {args:?}"));
    let folder = home.path().display().to_string();
    ran.stdout = ran.stdout.replace(&folder, "HOME");
    ran.stderr = ran.stderr.replace(&folder, "HOME");
    ran
}

#[test]
fn the_shipped_schema_of_journals_is_that_of_the_code() {
    let schema = schemars::schema_for!(Journal);
    let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    expect_file(&root().join(SCHEMA), &format!("{text}\n"));
}

#[test]
fn printed_journals_keep_to_their_schema() {
    let schema = serde_json::from_str(&read(&root().join(SCHEMA))).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let said: serde_json::Value =
        serde_json::from_str(&ran(&["-o", "json"]).stdout).expect("it prints JSON");
    let wrong: Vec<_> = validator.iter_errors(&said).map(|it| it.to_string()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let journal: Journal = serde_json::from_value(said).expect("its own shape");
    let entries = &journal.journals[0].entries;
    assert_eq!(entries.len(), 4);
    assert!(entries[0].undone && entries[0].keeps_backend && !entries[0].open);
    assert_eq!(entries[1].undoes, Some(entries[0].entry));
    assert_eq!((&*entries[2].outcome, entries[2].open), ("unanswered", true));
    assert_eq!((&*entries[3].outcome, entries[3].open), ("open", true));
    let look = entries[3].look.as_deref().unwrap_or_default();
    assert!(look.contains("unknown, since no cluster was connected to"), "{look}");
    let broken = serde_json::json!({"kind": "Journal", "journals": [{"entries": []}]});
    assert!(!validator.is_valid(&broken));
}

#[test]
fn what_is_open_is_told_with_what_to_look_at() {
    let ran = ran(&["--open"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!ran.stdout.contains("pv-1"), "{}", ran.stdout);
    for told in ["pv-2", "pv-3", "pv-9", "may have taken effect", "whether the request was sent"] {
        let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(told), "{told}: {text}");
    }
    assert!(ran.stderr.contains("is torn"), "{}", ran.stderr);
}

#[test]
fn a_machine_without_journals_says_so() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let mut call = Call::new(["journal", "--all"]);
    call.folder = Some(home.path().to_owned());
    let ran = call.run();
    assert_eq!((ran.code, &*ran.stdout), (Some(0), ""));
    assert_eq!(ran.stderr, "this machine has no journal\n");
}

#[test]
fn the_table_of_journals_reads_like_this() {
    let ran = ran(&[]);
    let path = root().join("tests/it/journal.txt");
    expect_file(&path, &format!("{}--- stderr\n{}", ran.stdout, ran.stderr));
    for line in ran.stdout.lines().filter(|line| !line.starts_with("HOME")) {
        assert!(line.chars().count() <= 80, "wider than 80 columns: {line}");
    }
}
