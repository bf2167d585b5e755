//! Choice of the manifest for the missing volume of an attachment.

use std::cell::RefCell;

use serde_json::{Value, json};

use super::*;
use crate::cluster::{Change, Cluster, Dirty, Reach};
use crate::journal::{Intent, SentRequest};
use crate::model::{Metadata, Row, Settings, Time, Uid};
use crate::plan::Purpose;

const NOON: i64 = 1_800_000_000;

fn at(hours: i64) -> Time {
    Time::from_timestamp(NOON + 3600 * hours, 0).expect("in range")
}

fn attachment() -> Attachment {
    Attachment {
        metadata: Metadata {
            name: "held".into(),
            uid: Uid::parse("held-uid"),
            created: Some(at(0)),
            deleting: Some(at(1)),
            finalizers: ["external-attacher/d-example".into()].into(),
            ..Metadata::default()
        },
        attacher: "d.example".into(),
        ..Attachment::sample()
    }
}

fn saved(driver: &str, born: Time) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": "pv-1", "uid": "u", "creationTimestamp": crate::model::format_time(&born)},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Delete", "csi": {"driver": driver, "volumeHandle": "h"},
            "claimRef": {"namespace": "shop", "name": "data", "uid": "c"},
        },
    })
}

fn history(saved: Value, written: Time) -> History {
    let intent = Intent {
        command: "retain".to_owned(),
        object: ObjectRef {
            key: ObjectKey::cluster_wide(Kind::PersistentVolume, "pv-1"),
            uid: Uid::parse("u"),
        },
        action: "set-reclaim-policy".to_owned(),
        because: "retain".to_owned(),
        request: SentRequest {
            method: "PATCH".to_owned(),
            path: String::new(),
            content_type: String::new(),
            body: Value::Null,
        },
        pre_image: Some(saved),
        backend: None,
        capacity: None,
        keeps: false,
        adds_finalizer: None,
        removes_finalizer: None,
        undoes: None,
    };
    let entry = Entry {
        sequence: 1,
        at: Some(written),
        run: String::new(),
        term: None,
        intent,
        outcomes: Vec::new(),
    };
    History { entries: vec![entry], ..History::default() }
}

/// Returns whether the volume would be recreated, or why not.
fn recreated(hanging: &FinalizerSelection) -> Result<bool, String> {
    let (mut cluster, mut dirty) = (Cluster::default(), Dirty::everything());
    cluster.apply(Change::Clock(at(5)), &mut dirty);
    cluster.apply(Change::Seen(Row::Attachment(Box::new(attachment()))), &mut dirty);
    cluster.apply(Change::Whole(Reach::all(Kind::VolumeAttachment)), &mut dirty);
    for kind in Kind::ALL.into_iter().filter(|it| *it != Kind::VolumeAttachment) {
        cluster.apply(Change::Whole(Reach::all(kind)), &mut dirty);
    }
    let (settings, facts) = (Settings::default(), RefCell::default());
    let cx = Cx::new(&cluster, &settings, &facts);
    let plan = fix_finalizers(&cx, hanging);
    if let Some(change) = plan.changes.first() {
        return Ok(matches!(change.purpose, Purpose::Recreate(_)));
    }
    Err(plan.refusals.into_iter().map(|it| it.reason).collect())
}

fn named(from: Option<Recreation>, history: Option<&History>) -> FinalizerSelection<'_> {
    let names = vec![ObjectKey::cluster_wide(Kind::VolumeAttachment, "held")];
    FinalizerSelection { names, from, history }
}

#[test]
fn what_the_journal_has_is_used_where_it_was_there_when_the_attachment_was_made() {
    let of_it = history(saved("d.example", at(-9)), at(3));
    assert_eq!(recreated(&named(None, Some(&of_it))), Ok(true));
    for other in [
        // Recorded before the attachment was created: maybe an earlier object of that name.
        history(saved("d.example", at(-9)), at(-1)),
        // Created after it: a later object.
        history(saved("d.example", at(1)), at(3)),
        history(saved("other.example", at(-9)), at(3)),
    ] {
        assert_ne!(recreated(&named(None, Some(&other))), Ok(true), "{other:?}");
    }
}

#[test]
fn a_file_of_a_volume_of_another_driver_detaches_nothing() {
    let of = |driver| Recreation::of(&saved(driver, at(-9)), None).expect("it is a manifest");
    assert_eq!(recreated(&named(Some(of("d.example")), None)), Ok(true));
    let refused = recreated(&named(Some(of("other.example")), None)).expect_err("another driver");
    assert!(refused.contains("another driver"), "{refused}");
}
