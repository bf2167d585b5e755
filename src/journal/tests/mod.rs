//! The journal of writes, with real files, threads and processes.

mod appending;
mod processes;
mod reading;
mod segment_store;
mod segments;
mod segment_writers;

use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::{
    Backend, Entry, EntryOutcome, History, Intent, JOURNAL, Log, Outcome, SentRequest, history,
};
use crate::model::{Kind, ObjectKey, ObjectRef, Time, Uid};

const UID: &str = "0d9e5b6c-6d0b-4f0e-9d6c-0c6b6c1f9a11";

fn at(seconds: i64) -> Option<Time> {
    Time::from_timestamp(1_700_000_000 + seconds, 0)
}

/// Returns an intent that deletes the volume of this name and keeps its backend volume.
fn keep(volume: &str) -> Intent {
    let path = format!("/api/v1/persistentvolumes/{volume}");
    Intent {
        command: "gc".to_owned(),
        object: ObjectRef {
            key: ObjectKey::cluster_wide(Kind::PersistentVolume, volume),
            uid: Uid::parse(UID),
        },
        action: "delete-volume".to_owned(),
        because: "pv-released-past-threshold".to_owned(),
        request: SentRequest {
            method: "DELETE".to_owned(),
            path,
            content_type: "application/json".to_owned(),
            body: json!({"preconditions": {"uid": UID, "resourceVersion": "7"}}),
        },
        pre_image: Some(json!({"metadata": {"name": volume}, "spec": {"nodeAffinity": null}})),
        backend: Some(Backend {
            driver: "hostpath.csi.k8s.io".to_owned(),
            handle: volume.to_owned(),
        }),
        capacity: Some("10Gi".to_owned()),
        keeps: true,
        adds_finalizer: None,
        removes_finalizer: None,
        undoes: None,
    }
}

/// Returns an intent that recreates the volume of an entry.
fn undo(entry: u64, volume: &str) -> Intent {
    let command = "undo".to_owned();
    Intent { command, keeps: false, undoes: Some(entry), pre_image: None, ..keep(volume) }
}

/// Appends entries with their outcomes, and returns their sequences.
fn write(folder: &Path, entries: &[(Intent, &[Outcome])]) -> Vec<u64> {
    let log = Log::open(folder).expect("writable");
    let write = |(intent, outcomes): &(Intent, &[Outcome])| {
        let entry = log.begin("run", at(0), intent).expect("room");
        for outcome in *outcomes {
            log.end(entry, at(1), *outcome, "because").expect("room");
        }
        entry
    };
    entries.iter().map(write).collect()
}

fn read(folder: &Path) -> History {
    history(folder).expect("readable")
}

fn sequences<'a>(entries: impl IntoIterator<Item = &'a super::Entry>) -> Vec<u64> {
    entries.into_iter().map(|entry| entry.sequence).collect()
}

/// Returns the content of the file.
fn bytes(folder: &Path) -> Vec<u8> {
    fs::read(folder.join(JOURNAL)).expect("a journal")
}

fn replace(folder: &Path, bytes: &[u8]) {
    fs::write(folder.join(JOURNAL), bytes).expect("writable");
}

/// Edits the text of the file.
fn edit(folder: &Path, change: impl FnOnce(String) -> String) {
    let text = String::from_utf8(bytes(folder)).expect("because it is JSON");
    replace(folder, change(text).as_bytes());
}

/// An event in the life of a journal.
#[derive(Debug, Clone)]
enum Event {
    Begin(Option<Time>, String, Box<Intent>),
    /// An outcome of one of the intents so far, if there is any.
    End(usize, EntryOutcome),
    /// Another run begins.
    Open,
    /// The machine fails while it writes this.
    Tear(Vec<u8>),
}

/// Text of any kind, line breaks and quotes included.
fn text() -> impl Strategy<Value = String> {
    vec(any::<char>(), 0..12).prop_map(String::from_iter)
}

/// Objects of the API have no other numbers.
fn value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        text().prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Into::into),
            vec((text(), inner), 0..4)
                .prop_map(|it| serde_json::Value::Object(it.into_iter().collect())),
        ]
    })
}

fn time() -> impl Strategy<Value = Option<Time>> {
    // Never backwards: that would add a note.
    option::of(Just(1_700_000_000).prop_map(|at| Time::from_timestamp(at, 5_000).expect("a time")))
}

fn object() -> impl Strategy<Value = ObjectRef> {
    let uid = prop_oneof![Just(String::new()), Just(UID.to_owned()), text()];
    (select(&Kind::ALL[..]), option::of(text()), text(), uid).prop_map(
        |(kind, namespace, name, uid)| ObjectRef {
            key: ObjectKey { kind, namespace: namespace.map(Into::into), name: name.into() },
            uid: Uid::parse(&uid),
        },
    )
}

fn intent() -> impl Strategy<Value = Intent> {
    let words = (text(), text(), text());
    let request =
        (text(), text(), text(), value()).prop_map(|(method, path, content_type, body)| {
            SentRequest { method, path, content_type, body }
        });
    // An object is never null.
    let pre_image =
        option::of(vec((text(), value()), 0..4).prop_map(|it| it.into_iter().collect()));
    let backend = (text(), text()).prop_map(|(driver, handle)| Backend { driver, handle });
    let finalizers = (option::of(text()), option::of(text()));
    let undoes = option::of(any::<u64>());
    let rest = (option::of(backend), option::of(text()), any::<bool>(), finalizers, undoes);
    (words, object(), request, pre_image, rest).prop_map(
        |((command, action, because), object, request, pre_image, rest)| {
            let (backend, capacity, keeps, finalizers, undoes) = rest;
            let (adds_finalizer, removes_finalizer) = finalizers;
            Intent {
                command,
                object,
                action,
                because,
                request,
                pre_image,
                backend,
                capacity,
                keeps,
                adds_finalizer,
                removes_finalizer,
                undoes,
            }
        },
    )
}

fn ended() -> impl Strategy<Value = EntryOutcome> {
    use Outcome::{Done, Failed, Pending, Refused, Sent, Stale, Unanswered};
    let outcome = select(&[Sent, Done, Refused, Stale, Failed, Unanswered, Pending][..]);
    (time(), outcome, text()).prop_map(|(at, outcome, detail)| EntryOutcome { at, outcome, detail })
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (time(), text(), intent())
            .prop_map(|(at, run, intent)| Event::Begin(at, run, Box::new(intent))),
        4 => (any::<usize>(), ended()).prop_map(|(of, ended)| Event::End(of, ended)),
        1 => Just(Event::Open),
        1 => vec(any::<u8>(), 1..40).prop_map(Event::Tear),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn whatever_is_written_is_read_back_equal(events in vec(event(), 0..24)) {
        let folder = tempfile::tempdir().expect("a folder");
        let mut log = Log::open(folder.path()).expect("writable");
        let mut expected = Vec::<Entry>::new();
        let mut torn = 0;
        for event in events {
            match event {
                Event::Begin(at, run, intent) => {
                    let sequence = log.begin(&run, at, &intent).expect("room");
                    let outcomes = Vec::new();
                    let term = None;
                    expected.push(Entry { sequence, at, run, term, intent: *intent, outcomes });
                }
                Event::End(of, ended) if !expected.is_empty() => {
                    let place = of % expected.len();
                    let entry = &mut expected[place];
                    let EntryOutcome { at, outcome, detail } = &ended;
                    log.end(entry.sequence, *at, *outcome, detail).expect("room");
                    entry.outcomes.push(ended);
                }
                Event::Open => log = Log::open(folder.path()).expect("writable"),
                // Only where a line of this tool exists.
                Event::Tear(part) if !expected.is_empty() => {
                    replace(folder.path(), &[bytes(folder.path()), part].concat());
                    torn += 1;
                }
                Event::End(..) | Event::Tear(_) => {}
            }
        }
        let History { entries, notes, .. } = read(folder.path());
        prop_assert_eq!(entries, expected);
        prop_assert_eq!(torn > 0, !notes.is_empty(), "{:?}", notes);
        prop_assert!(!notes.iter().any(|note| note.contains("edited")), "{:?}", notes);
    }
}
