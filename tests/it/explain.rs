//! `explain` of objects of every kind, and of those about which there is too much to say.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use kubectl_storage::{
    cluster::Cluster, model::Kind, output::explanation::Explanation, rules::REGISTRY,
};
use serde_json::{Value, json};

use crate::{
    rules::{dump as dump_of, look},
    support::{Call, read, root},
};

/// How long an explanation may take in a build without optimisation, on a machine that does other
/// things.
const PATIENCE: Duration = Duration::from_secs(60);

/// A dump of one volume that is not deleted, with these events about it.
fn dump(events: impl Iterator<Item = Value>) -> String {
    let volume = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": "disk",
            "uid": "v1",
            "annotations": {"pv.kubernetes.io/provisioned-by": "d.example"},
            "finalizers": ["external-provisioner.volume.kubernetes.io/finalizer"],
            "deletionTimestamp": "2026-05-31T00:00:00Z",
        },
        "spec": {
            "persistentVolumeReclaimPolicy": "Delete",
            "claimRef": {"namespace": "shop", "name": "data", "uid": "gone"},
            "csi": {"driver": "d.example", "volumeHandle": "vol-1"},
        },
        "status": {"phase": "Released"},
    });
    let items: Vec<_> = std::iter::once(volume).chain(events).collect();
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

fn event(number: usize, message: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": format!("disk.{number}"), "namespace": "default"},
        "involvedObject": {"kind": "PersistentVolume", "name": "disk", "uid": "v1"},
        "reason": "VolumeFailedDelete",
        "type": "Warning",
        "message": message,
        "source": {"component": "d.example_host_1"},
        "lastTimestamp": format!("2026-05-31T{:02}:{:02}:{:02}Z", number / 3600, number / 60 % 60, number % 60),
    })
}

fn explain(dump: &str, output: &str) -> String {
    let words = ["explain", "pv/disk", "-f", "-", "--complete", "all", "-o", output];
    let mut call = Call::new(words);
    call.stdin = dump.as_bytes().to_vec();
    let begun = Instant::now();
    let ran = call.run();
    ran.is_decent(output);
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    ran.stdout
}

#[test]
fn ten_thousand_events_are_few_lines() {
    let alike = dump((0..10_000).map(|number| event(number, "rpc error: code = Internal")));
    let text = explain(&alike, "table");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("rpc error: code = Internal (10000 times, first 2026-05-31T00:00:00Z,"),
        "{text}"
    );
    assert!(text.lines().count() < 40, "{text}");

    let word = |number: usize| char::from(b'a' + u8::try_from(number % 26).expect("a letter"));
    let message = |number| {
        let words = [number, number / 26, number / 676, number / 17_576].map(word);
        format!("rpc error: {}", words.iter().collect::<String>())
    };
    let different = dump((0..10_000).map(|number| event(number, &message(number))));
    let text = explain(&different, "table");
    assert!(text.lines().count() < 50, "{text}");
    assert!(text.contains(" more (-o json lists all)"), "{text}");
    let told: Value = serde_json::from_str(&explain(&different, "json")).expect("JSON");
    let errors = told["errors"].as_array().expect("a list").len();
    assert!((5..100).contains(&errors), "{errors}");
}

#[test]
fn a_long_message_is_shortened_in_the_text_only() {
    let long = format!("rpc error: {}end", "too many words ".repeat(64 * 1024 / 15));
    let dump = dump(std::iter::once(event(1, &long)));
    let text = explain(&dump, "table");
    assert!(text.len() < 6000, "{}", text.len());
    assert!(text.contains('…') && text.lines().all(|line| line.chars().count() <= 120), "{text}");
    let told: Value = serde_json::from_str(&explain(&dump, "json")).expect("JSON");
    // Four times what the API for events allows; more is a mistake or an attack, and is counted.
    let message = told["errors"][0]["message"].as_str().expect("a message");
    let (kept, rest) = message.split_once('…').expect("because it is longer");
    assert!(kept.len() == 4096 && long.starts_with(kept), "{}", kept.len());
    assert_eq!(rest, format!(" ({} bytes)", long.len()));
}

/// Objects of every kind that a dump holds, a few of each, as they are typed.
fn typed(cluster: &Cluster) -> Vec<Vec<String>> {
    const FEW: usize = 2;
    let wide = |kind: &str, name: &str| vec![format!("{kind}/{name}")];
    let within = |kind: &str, namespace: &str, name: &str| {
        vec![kind.to_owned(), name.to_owned(), "-n".to_owned(), namespace.to_owned()]
    };
    let volumes = cluster.volumes().map(|(_, it)| wide("pv", it.name()));
    let claims = cluster.claims().map(|(_, it)| within("pvc", &it.namespace, &it.metadata.name));
    let sets = cluster.sets().map(|(_, it)| within("sts", &it.namespace, &it.metadata.name));
    let pods = cluster.pods().map(|(_, it)| within("pod", &it.namespace, &it.name));
    let attachments = cluster.attachments().map(|(_, it)| wide("va", &it.metadata.name));
    let contents = cluster.snapshots().filter(|(_, it)| it.kind == Kind::VolumeSnapshotContent);
    let contents = contents.map(|(_, it)| wide("vsc", &it.metadata.name));
    let classes = cluster.classes().map(|(_, it)| wide("sc", &it.metadata.name));
    let attributes = cluster.attributes_classes().map(|(_, it)| wide("vac", &it.metadata.name));
    let drivers = cluster.drivers();
    let drivers = drivers.iter().map(|it| wide("driver", it));
    let namespaces: BTreeSet<_> = cluster.claims().map(|(_, it)| it.namespace.clone()).collect();
    let namespaces = namespaces.iter().map(|it| wide("ns", it));
    let few = volumes.take(FEW).chain(claims.take(FEW)).chain(sets.take(FEW)).chain(pods.take(FEW));
    let few = few.chain(attachments.take(FEW)).chain(contents.take(FEW)).chain(classes.take(FEW));
    let few = few.chain(attributes.take(FEW));
    few.chain(drivers.take(FEW)).chain(namespaces.take(FEW)).collect()
}

/// What is explained of the objects of all fixtures keeps to the schema as JSON, and to the width of
/// a terminal as text.
#[test]
fn every_kind_of_object_is_explained() {
    let schema = read(&root().join("docs/schema/explanation.v1alpha1.json"));
    let schema = serde_json::from_str(&schema).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let mut kinds: BTreeSet<String> = BTreeSet::new();
    for rule in REGISTRY.iter() {
        let path = dump_of(rule, "found.yaml");
        if !path.exists() {
            continue;
        }
        let path = path.to_string_lossy().into_owned();
        for object in typed(&look(rule, "found.yaml").intake.cluster) {
            let explain = |output: &str| {
                let words = ["-f", &path, "-o", output].map(str::to_owned);
                let words = ["explain".to_owned()].into_iter().chain(object.clone()).chain(words);
                let ran = Call::new(words).run();
                ran.is_decent(&path);
                assert!(matches!(ran.code, Some(0 | 4)), "{path} {object:?}: {}", ran.stderr);
                ran.stdout
            };
            let told: Value = serde_json::from_str(&explain("json")).expect("JSON");
            let wrong: Vec<_> = validator.iter_errors(&told).map(|it| it.to_string()).collect();
            assert!(wrong.is_empty(), "{path} {object:?}: {wrong:#?}");
            let read: Explanation = serde_json::from_value(told).expect("its own shape");
            kinds.insert(read.object.kind);
            let text = explain("table");
            for line in text.lines().filter(|line| line.chars().count() > 80) {
                // Names and commands stay whole, so that they can be copied.
                let longest = line.split_whitespace().map(|it| it.chars().count()).max();
                let is_command = line.contains("kubectl storage ");
                assert!(is_command || longest > Some(30), "{path} {object:?}: {line}");
            }
        }
    }
    assert!(kinds.len() > 8, "only {kinds:?}");
}
