//! Tests of what blocks the deletion of a backend volume that no volume references.

use std::cell::RefCell;

use serde_json::json;

use super::*;
use crate::cluster::{Change, Cluster, Dirty, Reach};
use crate::journal::{EntryOutcome, Intent, SentRequest};
use crate::model::{Action, NO_CLAIM, Row, Server, Settings, Time};
use crate::objects::{
    AnyObject as _, Folded, Folder, Lease, Node, PersistentVolume, PersistentVolumeClaim,
    SlimObject, VolumeAttachment, VolumeSnapshotContent,
};

const DRIVER: &str = "ebs.csi.aws.com";
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
const SECRET: [&str; 2] = [
    "volume.kubernetes.io/provisioner-deletion-secret-namespace",
    "volume.kubernetes.io/provisioner-deletion-secret-name",
];

fn row<T: SlimObject>(value: Value) -> Row {
    let object: T = serde_json::from_value(value).expect("it is one");
    match object.fold(&mut Folder::default()) {
        Ok(Folded::Row(row)) => row,
        _ => panic!("it is one that is kept"),
    }
}

fn lease() -> Row {
    row::<Lease>(json!({
        "metadata": {"name": "ebs-csi-aws-com", "namespace": "storage", "uid": "l"},
        "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "2027-01-15T07:59:59.000000Z"},
    }))
}

/// Returns a volume as the journal has it.
fn saved(name: &str, handle: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {
            "name": name, "uid": "u", "resourceVersion": "7", "finalizers": ["x/y"],
            "labels": {"team": "a"},
            "annotations": {
                PROVISIONED_BY: DRIVER, SECRET[0]: "", SECRET[1]: "", "example.com/other": "1",
            },
        },
        "spec": {
            "capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "fast",
            "claimRef": {"namespace": "shop", "name": "orders", "uid": "gone", "resourceVersion": "3"},
            "csi": {"driver": DRIVER, "volumeHandle": handle, "volumeAttributes": {"a": "b"}},
        },
        "status": {"phase": "Released"},
    })
}

fn entry(sequence: u64, name: &str, handle: &str) -> Entry {
    Entry {
        sequence,
        at: None,
        run: "run".to_owned(),
        term: None,
        intent: Intent {
            command: "gc".to_owned(),
            object: ObjectRef {
                key: ObjectKey::cluster_wide(Kind::PersistentVolume, name),
                uid: None,
            },
            action: "delete-volume".to_owned(),
            because: "keep-backend".to_owned(),
            request: SentRequest {
                method: "DELETE".to_owned(),
                path: String::new(),
                content_type: String::new(),
                body: Value::Null,
            },
            pre_image: Some(saved(name, handle)),
            backend: Some(Backend { driver: DRIVER.to_owned(), handle: handle.to_owned() }),
            capacity: None,
            keeps: true,
            adds_finalizer: None,
            removes_finalizer: None,
            undoes: None,
        },
        outcomes: vec![EntryOutcome { at: None, outcome: Outcome::Done, detail: String::new() }],
    }
}

fn history(entries: Vec<Entry>) -> History {
    History { entries, ..History::default() }
}

/// Plans with a cluster of these rows, all of which was read except `unseen`.
fn planned(
    history: &History,
    which: &OrphanSource,
    secret: &SecretAssertion,
    rows: Vec<Row>,
    unseen: Option<Kind>,
) -> Plan {
    let (mut cluster, mut dirty) = (Cluster::default(), Dirty::everything());
    let now = Time::from_timestamp(1_800_000_000, 0).expect("in range");
    cluster.apply(Change::Clock(now), &mut dirty);
    let server = Server { cluster_uid: Some("cluster".into()), ..Server::default() };
    cluster.apply(Change::Server(server), &mut dirty);
    for row in [lease()].into_iter().chain(rows) {
        cluster.apply(Change::Seen(row), &mut dirty);
    }
    for kind in Kind::ALL.into_iter().filter(|kind| Some(*kind) != unseen) {
        cluster.apply(Change::Whole(Reach::all(kind)), &mut dirty);
    }
    let (settings, facts) = (Settings::default(), RefCell::default());
    orphan(&Cx::new(&cluster, &settings, &facts), history, which, secret)
}

/// Returns the manifest that would be created, or why none is.
fn said(
    history: &History,
    which: &OrphanSource,
    secret: &SecretAssertion,
    rows: Vec<Row>,
) -> Result<Value, String> {
    let plan = planned(history, which, secret, rows, None);
    match (plan.changes.as_slice(), plan.refusals.as_slice()) {
        ([change], []) => match change.proposal.steps.as_slice() {
            [Action::CreateVolume { manifest, .. }] => Ok(manifest.clone()),
            other => panic!("{other:?}"),
        },
        ([], [refused]) => Err(refused.reason.clone()),
        other => panic!("{other:?}"),
    }
}

const OF_FOUR: OrphanSource = OrphanSource::Entry { sequence: 4, exclusive: false };

fn named(exclusive: bool) -> OrphanSource {
    OrphanSource::Named { driver: DRIVER.into(), handle: "vol-1".into(), exclusive }
}

fn from_journal(rows: Vec<Row>) -> Result<Value, String> {
    let history = history(vec![entry(4, "pv-1", "vol-1"), entry(6, "pv-2", "vol-2")]);
    said(&history, &OF_FOUR, &SecretAssertion::Unsaid, rows)
}

fn refused(reason: Result<Value, String>, words: &str) {
    let reason = reason.expect_err("it must be refused");
    assert!(reason.contains(words), "does not say {words:?}: {reason}");
}

fn attachment(source: &Value) -> Row {
    row::<VolumeAttachment>(json!({
        "metadata": {"name": "csi-1", "uid": "a"},
        "spec": {"attacher": DRIVER, "nodeName": "n", "source": source},
    }))
}

#[test]
fn what_is_created_is_what_the_driver_needs_and_nothing_else() {
    let made = from_journal(Vec::new()).expect("nothing speaks against it");
    let name = made["metadata"]["name"].as_str().unwrap_or_default();
    assert!(name.starts_with("kubectl-storage-reclaim-") && name.len() == 44, "{name}");
    let annotations = json!({PROVISIONED_BY: DRIVER, SECRET[0]: "", SECRET[1]: ""});
    let labels = json!({"team": "a"});
    assert_eq!(
        made["metadata"],
        json!({"name": name, "annotations": annotations, "labels": labels})
    );
    let uid = made["spec"]["claimRef"]["uid"].as_str().unwrap_or_default();
    assert!(uuid::Uuid::try_parse(uid).is_ok_and(|it| it.get_version_num() == 4), "{uid}");
    assert_eq!(
        made["spec"],
        json!({
            "capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Delete", "storageClassName": "",
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "namespace": NO_CLAIM.0, "name": NO_CLAIM.1, "uid": uid,
            },
            "csi": saved("pv-1", "vol-1")["spec"]["csi"],
        })
    );
    assert_eq!(from_journal(Vec::new()), Ok(made), "the same for the same, or nothing is resumed");
}

#[test]
fn whoever_may_still_use_it_stops_it() {
    let volume = row::<PersistentVolume>(saved("twin", "vol-1"));
    refused(from_journal(vec![volume]), "pv/twin references the same backend volume");
    let inline = json!({"inlineVolumeSpec": {"csi": {"driver": DRIVER, "volumeHandle": "vol-1"}}});
    refused(from_journal(vec![attachment(&inline)]), "references its backend volume");
    for name in ["pv-1", "pv-of-old"] {
        let of_a_volume = attachment(&json!({"persistentVolumeName": name}));
        refused(from_journal(vec![of_a_volume]), "does not exist and may have been this volume");
    }
    let elsewhere = attachment(&json!({"persistentVolumeName": "pv-2"}));
    assert!(from_journal(vec![elsewhere]).is_ok(), "the journal says that it was another one");
    let node = row::<Node>(json!({
        "metadata": {"name": "n", "uid": "n"},
        "status": {"volumesInUse": [format!("kubernetes.io/csi/{DRIVER}^vol-1")]},
    }));
    refused(from_journal(vec![node]), "lists it in volumesInUse or volumesAttached");
    for ready in [true, false] {
        let snapshot = row::<VolumeSnapshotContent>(json!({
            "metadata": {"name": "s", "uid": "s"},
            "spec": {"driver": DRIVER, "source": {"volumeHandle": "vol-1"}},
            "status": {"readyToUse": ready},
        }));
        match ready {
            true => assert!(from_journal(vec![snapshot]).is_ok()),
            false => refused(from_journal(vec![snapshot]), "is being taken of it"),
        }
    }
}

#[test]
fn a_claim_that_lost_its_volume_stops_it() {
    let lost = |volume: &str, provisioner: Option<&str>| {
        let annotations = match provisioner {
            Some(name) => json!({"volume.kubernetes.io/storage-provisioner": name}),
            None => json!({}),
        };
        row::<PersistentVolumeClaim>(json!({
            "metadata": {"name": "c", "namespace": "shop", "uid": "c", "annotations": annotations},
            "spec": {"volumeName": volume}, "status": {"phase": "Lost"},
        }))
    };
    refused(from_journal(vec![lost("pv-9", Some(DRIVER))]), "its pods may still write");
    refused(from_journal(vec![lost("pv-1", None)]), "its pods may still write");
    assert!(from_journal(vec![lost("pv-2", Some(DRIVER))]).is_ok());
    assert!(from_journal(vec![lost("pv-9", Some("other.example"))]).is_ok());
}

#[test]
fn a_handle_that_somebody_names_takes_more_words() {
    let nothing = history(Vec::new());
    let none = SecretAssertion::None;
    refused(said(&nothing, &named(false), &none, Vec::new()), "--backend-exclusive");
    refused(said(&nothing, &named(true), &SecretAssertion::Unsaid, Vec::new()), "--secret");
    assert!(said(&nothing, &named(true), &none, Vec::new()).is_ok());
    let plan = planned(&nothing, &named(true), &none, Vec::new(), None);
    assert_eq!(plan.changes.len(), 1);
    let mut relies_on = plan.changes[0].proposal.relies_on.clone();
    relies_on.sort_unstable();
    assert_eq!(relies_on, ["--backend-exclusive", "--no-secret"]);
    let waits = row::<PersistentVolumeClaim>(json!({
        "metadata": {
            "name": "c", "namespace": "shop", "uid": "c",
            "annotations": {"volume.kubernetes.io/storage-provisioner": DRIVER},
        },
        "status": {"phase": "Pending"},
    }));
    refused(said(&nothing, &named(true), &none, vec![waits]), "may be this one");
    let kept = history(vec![entry(4, "pv-1", "vol-1")]);
    refused(said(&kept, &named(true), &none, Vec::new()), "--from-journal 4");
}

#[test]
fn an_entry_has_to_be_one_that_kept_something() {
    let of = |entries| said(&history(entries), &OF_FOUR, &SecretAssertion::Unsaid, Vec::new());
    let mut other = entry(4, "pv-1", "vol-1");
    other.intent.keeps = false;
    refused(of(vec![other]), "kept no backend volume");
    let mut failed = entry(4, "pv-1", "vol-1");
    failed.outcomes[0].outcome = Outcome::Failed;
    refused(of(vec![failed]), "nothing was written");
    let mut undone = entry(6, "pv-1", "vol-1");
    (undone.intent.keeps, undone.intent.undoes) = (false, Some(4));
    refused(of(vec![entry(4, "pv-1", "vol-1"), undone]), "already");
    refused(of(vec![entry(4, "pv-1", "vol-1"), entry(4, "pv-1", "vol-1")]), "exactly one entry");
    let mut forged = entry(4, "pv-1", "vol-1");
    forged.intent.pre_image = Some(saved("pv-1", "vol-2"));
    refused(of(vec![forged]), "another backend volume than the entry");
    let mut unsaid = entry(4, "pv-1", "vol-1");
    unsaid.intent.pre_image.as_mut().expect("it has one")["metadata"]["annotations"] = json!({});
    refused(of(vec![unsaid]), "--secret");
}

#[test]
fn what_was_not_seen_stops_it() {
    let history = history(vec![entry(4, "pv-1", "vol-1")]);
    for kind in [
        Kind::PersistentVolume,
        Kind::PersistentVolumeClaim,
        Kind::VolumeAttachment,
        Kind::Node,
        Kind::VolumeSnapshotContent,
        Kind::VolumeGroupSnapshotContent,
    ] {
        let plan = planned(&history, &OF_FOUR, &SecretAssertion::Unsaid, Vec::new(), Some(kind));
        assert!(plan.changes.is_empty(), "{kind} was not seen");
        assert!(plan.refusals[0].unseen, "{kind}: {}", plan.refusals[0].reason);
    }
}

#[test]
fn an_entry_in_the_cluster_can_be_forged_and_needs_the_users_word() {
    let entries = vec![entry(4, "pv-1", "vol-1")];
    let in_cluster =
        History { place: crate::model::JournalPlace::Cluster("ops".into()), ..history(entries) };
    let asked = |exclusive| {
        let which = OrphanSource::Entry { sequence: 4, exclusive };
        said(&in_cluster, &which, &SecretAssertion::Unsaid, Vec::new())
    };
    refused(asked(false), "--backend-exclusive");
    assert!(asked(true).is_ok());
}

#[test]
fn what_another_journal_records_can_forbid_it_and_excuses_nothing() {
    let in_cluster = |entries| History {
        place: crate::model::JournalPlace::Cluster("ops".into()),
        ..history(entries)
    };
    let with = |of: History, other: History| History { others: vec![other], ..of };
    let at = |seconds: i64| Time::from_timestamp(1_700_000_000 + seconds, 0);
    let own = || {
        let mut kept = entry(4, "pv-1", "vol-1");
        kept.at = at(0);
        vec![kept]
    };
    // A number of the one journal names nothing in the other, however it compares.
    let destroyed = |when, body: Value, handle: &str| {
        let mut entry = entry(1, "kubectl-storage-reclaim", handle);
        (entry.at, entry.intent.keeps) = (when, false);
        entry.intent.action = "create-volume".to_owned();
        entry.intent.request.body = body;
        in_cluster(vec![entry])
    };
    let policy = |it: &str| json!({"spec": {"persistentVolumeReclaimPolicy": it}});
    let asked = |other| {
        let all = with(history(own()), other);
        said(&all, &OF_FOUR, &SecretAssertion::Unsaid, Vec::new())
    };
    for when in [at(1), at(0), None] {
        let why = asked(destroyed(when, policy("Delete"), "vol-1"));
        refused(why, "entry c1 of the journal in namespace ops may have had its backend volume");
    }
    for other in [
        destroyed(at(-3600), policy("Delete"), "vol-1"),
        destroyed(at(1), policy("Retain"), "vol-1"),
        destroyed(at(1), policy("Delete"), "vol-2"),
        in_cluster(Vec::new()),
    ] {
        assert!(asked(other).is_ok());
    }
    // What another one kept is destroyed by that one.
    let elsewhere = with(in_cluster(Vec::new()), history(own()));
    let which = named(true);
    let instead = said(&elsewhere, &which, &SecretAssertion::None, Vec::new());
    refused(instead, "--from-journal 4 instead of --cluster-journal");
    let here = with(history(Vec::new()), in_cluster(own()));
    let instead = said(&here, &which, &SecretAssertion::None, Vec::new());
    refused(instead, "--from-journal c4 --cluster-journal=ops");
    let mut strange = in_cluster(own());
    strange.distrusted = Some("it was restored".to_owned());
    let here = with(history(Vec::new()), strange);
    assert!(said(&here, &which, &SecretAssertion::None, Vec::new()).is_ok());

    // Volumes that are known to be others.
    let backend = key(own()[0].intent.backend.as_ref().expect("it has one"));
    let other = || vec![entry(5, "pv-2", "vol-2")];
    let known = |all: &History| elsewhere_of(all, &backend);
    assert_eq!(known(&history(other())), ["pv-2"]);
    assert_eq!(known(&with(history(Vec::new()), in_cluster(other()))), [""; 0]);
    let same = in_cluster(vec![entry(9, "pv-2", "vol-1")]);
    assert_eq!(known(&with(history(other()), same)), [""; 0]);
}

fn elsewhere_of(history: &History, backend: &BackendKey) -> Vec<String> {
    elsewhere(history, backend).iter().map(ToString::to_string).collect()
}
