//! The journal of writes, with real files, threads and processes.

mod appending;
mod processes;
mod random;
mod reading;
mod segment_store;
mod segments;
mod segment_writers;
mod unwritable;

use std::{fs, path::Path};

use serde_json::json;

use super::{Backend, History, Intent, JOURNAL, Log, Outcome, SentRequest, history};
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
