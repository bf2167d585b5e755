//! Tests of the time of a dump that does not say when it was taken.

use serde_json::json;

use super::forms::{list, object};
use super::*;
use crate::model::parse_time;

fn time(text: &str) -> Option<Time> {
    parse_time(text).expect("a time")
}

/// Reads objects, and returns the time as of which they are judged, and the note about it.
fn taken(objects: &[serde_json::Value], now: Option<Time>) -> (Option<Time>, bool, String) {
    let text = list("List", objects).to_string();
    let options = DumpOptions { now, ..DumpOptions::default() };
    let mut intake = Intake::new(None);
    let notes =
        read(&[Input::Stdin], &mut text.as_bytes(), &options, &mut intake).expect("readable");
    let note = notes.notes.iter().find(|note| note.contains("time at which it was taken"));
    let (settings, facts) = (crate::model::Settings::default(), std::cell::RefCell::default());
    let cx = crate::cluster::Cx::new(&intake.cluster, &settings, &facts);
    let later = time("2027-01-01T00:00:00Z").expect("a time");
    let is_future = cx.is_future(later, std::time::Duration::ZERO);
    (intake.cluster.clock(), is_future, note.cloned().unwrap_or_default())
}

#[test]
fn a_dump_was_taken_no_earlier_than_the_newest_time_that_was_written_into_it() {
    let mut volume = object("v1", "PersistentVolume", "", "v");
    volume["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z".into();
    volume["status"] =
        json!({"phase": "Released", "lastPhaseTransitionTime": "2026-01-02T00:00:00Z"});
    let mut attachment = object("storage.k8s.io/v1", "VolumeAttachment", "", "a");
    attachment["spec"] = json!({"attacher": "d", "source": {"persistentVolumeName": "v"}});
    attachment["status"] =
        json!({"detachError": {"time": "2026-01-04T00:00:00Z", "message": "busy"}});
    let mut pod = object("v1", "Pod", "a", "p");
    pod["metadata"]["deletionTimestamp"] = "2026-01-05T00:01:00Z".into();
    pod["metadata"]["deletionGracePeriodSeconds"] = 60.into();
    let mut secret = object("v1", "Secret", "a", "s");
    secret["metadata"]["creationTimestamp"] = "2026-01-09T00:00:00Z".into();

    let volumes = [volume.clone(), secret];
    assert_eq!(taken(&volumes, None).0, time("2026-01-02T00:00:00Z"));
    assert_eq!(taken(&[volume.clone(), attachment.clone()], None).0, time("2026-01-04T00:00:00Z"));
    let all = [volume.clone(), attachment, pod];
    let (clock, is_future, note) = taken(&all, time("2026-02-01T00:00:00Z"));
    // It may have been later: nothing lies in its future.
    assert_eq!((clock, is_future), (time("2026-01-05T00:00:00Z"), false));
    assert!(note.contains("ages are counted to 2026-01-05T00:00:00Z"), "{note}");
    // What has not happened by now did not: it moves no clock.
    let (clock, is_future, note) = taken(&all, time("2026-01-03T00:00:00Z"));
    assert_eq!((clock, is_future), (time("2026-01-02T00:00:00Z"), false));
    assert!(note.contains("the newest time in it"), "{note}");
    let (clock, is_future, note) = taken(&all, time("2025-01-03T00:00:00Z"));
    assert_eq!((clock, is_future), (time("2025-01-03T00:00:00Z"), false));
    assert!(note.contains("this machine's time"), "{note}");
}

#[test]
fn a_time_that_is_told_is_taken_at_its_word() {
    let mut volume = object("v1", "PersistentVolume", "", "v");
    volume["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z".into();
    let text = list("List", &[volume]).to_string();
    let taken_at = time("2025-01-01T00:00:00Z");
    let options =
        DumpOptions { taken_at, now: time("2024-01-01T00:00:00Z"), ..DumpOptions::default() };
    let mut intake = Intake::new(None);
    read(&[Input::Stdin], &mut text.as_bytes(), &options, &mut intake).expect("readable");
    assert_eq!(intake.cluster.clock(), taken_at);
    let (settings, facts) = (crate::model::Settings::default(), std::cell::RefCell::default());
    let cx = crate::cluster::Cx::new(&intake.cluster, &settings, &facts);
    assert!(cx.is_future(time("2025-01-02T00:00:00Z").expect("a time"), std::time::Duration::ZERO));
}
