//! Tests of what is found in custom resources: the objects of `tests/custom-resources`, and broken
//! ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use super::*;
use crate::client::Decoding;
use crate::client::stream::{Encoding, ExpectedList, ListDecoder};
use crate::model::CUSTOM_KINDS;

/// A document of `tests/custom-resources`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sample {
    claims: BTreeMap<String, String>,
    #[serde(default)]
    finished: bool,
    object: Value,
}

fn samples() -> Vec<(String, Sample)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/custom-resources");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).expect("it is there") {
        let path = entry.expect("it can be read").path();
        if path.extension().is_none_or(|it| it != "yaml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("it can be read");
        for (index, document) in serde_yaml::Deserializer::from_str(&text).enumerate() {
            let name = format!("{}, document {}", path.display(), index + 1);
            let sample = Sample::deserialize(document).unwrap_or_else(|it| panic!("{name}: {it}"));
            all.push((name, sample));
        }
    }
    all
}

fn kind_of(object: &Value) -> &'static CustomKind {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
    CustomKind::find(group, text("kind"))
        .unwrap_or_else(|| panic!("{} of {group} is not in the table", text("kind")))
}

fn read(object: &Value) -> CustomObject {
    serde_json::from_value(object.clone()).expect("it is an object")
}

#[test]
fn every_kind_shows_its_claims() {
    let mut shown = BTreeSet::new();
    for (name, sample) in samples() {
        let kind = kind_of(&sample.object);
        shown.insert((kind.group, kind.kind));
        let cluster_wide = sample.object["metadata"]["namespace"].is_null();
        let user = read(&sample.object).user(kind, cluster_wide);
        let user = user.unwrap_or_else(|| panic!("{name}: it uses nothing"));
        let claims = user.claims.iter();
        let claims: BTreeMap<_, _> =
            claims.map(|it| (it.name.to_string(), it.field.to_string())).collect();
        assert_eq!(claims, sample.claims, "{name}");
        assert_eq!(user.finished, sample.finished, "{name}");
        assert_eq!(Value::from(&*user.name), sample.object["metadata"]["name"], "{name}");
        assert_eq!(user.cluster_wide, cluster_wide, "{name}");
    }
    for kind in CUSTOM_KINDS {
        assert!(shown.contains(&(kind.group, kind.kind)), "{}.{}", kind.kind, kind.group);
    }
    let unique: BTreeSet<_> = CUSTOM_KINDS.iter().map(|it| (it.group, it.plural)).collect();
    assert_eq!(unique.len(), CUSTOM_KINDS.len());
}

#[test]
fn what_is_no_claim_is_not_taken_for_one() {
    let job = CustomKind::find("keda.sh", "ScaledJob").expect("it is in the table");
    let used = |object: &Value| {
        let user = read(object).user(job, false)?;
        Some(user.claims.iter().map(|it| it.name.to_string()).collect::<Vec<_>>())
    };
    let metadata = || {
        let last = r#"{"claimName": "text"}"#;
        json!({"name": "x", "namespace": "shop", "annotations": {"last": last, "claimName": "note"}})
    };
    for wrong in [
        json!({"claimName": ""}),
        json!({"claimName": 5}),
        json!({"claimName": null}),
        json!({"claimName": true}),
        json!({"claimName": {"name": "object"}}),
        json!({"claimName": "x".repeat(254)}),
        json!({"pvc": {"name": "other", "namespace": "elsewhere"}}),
        json!({"kind": "PersistentVolume", "name": "volume"}),
        json!({"kind": "PersistentVolumeClaim"}),
        json!({"kind": ["PersistentVolumeClaim"], "name": "x"}),
        json!({"metadata": {"name": "dataVolumeTemplates"}}),
        json!({"volumeClaimTemplates": [{"metadata": {"name": "data"}}]}),
        json!({"storageUri": "s3://claim/path"}),
        json!(null),
        json!([[[[]]], 1.5, -3]),
    ] {
        let object = json!({"metadata": metadata(), "spec": wrong, "status": {"claimName": "s"}});
        assert_eq!(used(&object), None, "{object}");
    }
    // Wherever it is, and however often.
    let found = json!({
        "metadata": metadata(),
        "spec": {"claimName": "a", "more": [[{"claimName": ["a"]}], {"claimName": "b"}]},
        "template": {"kind": "PersistentVolumeClaim", "name": "c", "namespace": "shop"},
    });
    assert_eq!(used(&found), Some(vec!["a".to_owned(), "b".to_owned(), "c".to_owned()]));
}

/// The items of a list, and its broken ones; `Err` where the list cannot be read.
fn listed(items: &str) -> Result<(usize, Vec<String>), String> {
    let expected = ExpectedList {
        api_version: "kafka.strimzi.io/v1".to_owned(),
        item: "Kafka".to_owned(),
        kind: None,
    };
    let text = format!(
        r#"{{"kind": "KafkaList", "apiVersion": "kafka.strimzi.io/v1", "metadata": {{}}, "items": [{items}]}}"#
    );
    let mut decoder = ListDecoder::new(Encoding::Json, Decoding::of_json(), expected);
    let (mut whole, mut broken) = (0, Vec::new());
    let mut sink = |item: Result<CustomObject, _>| match item {
        Ok(_) => whole += 1,
        Err(error) => broken.push(format!("{error}")),
    };
    for chunk in text.as_bytes().chunks(7) {
        decoder.push(chunk, &mut sink).map_err(|error| error.to_string())?;
    }
    decoder.finish().map_err(|error| error.to_string())?;
    Ok((whole, broken))
}

#[test]
fn a_broken_object_is_never_silent() {
    let good = r#"{"metadata": {"name": "good", "namespace": "shop"}}"#;
    for broken in [
        "5",
        "null",
        "[]",
        r#""text""#,
        "{}",
        r#"{"metadata": {"namespace": "shop"}}"#,
        r#"{"metadata": {"name": null}}"#,
        r#"{"metadata": {"name": 5}}"#,
        r#"{"metadata": "name"}"#,
    ] {
        let (whole, errors) = listed(&format!("{broken}, {good}")).expect("it is a list");
        assert_eq!((whole, errors.len()), (1, 1), "{broken}: {errors:?}");
    }
    // Too deep to be walked: the list as a whole is not read, and the stack does not overflow.
    for depth in [150, 100_000] {
        let (open, close) = (r#"{"a":"#.repeat(depth), "}".repeat(depth));
        let deep = format!(r#"{{"metadata": {{"name": "deep"}}, "spec": {open}1{close}}}"#);
        let error = listed(&format!("{deep}, {good}")).expect_err("it is too deep");
        assert!(error.contains("recursion limit"), "{error}");
    }
    assert!((Decoding::<CustomObject>::of_json().protobuf)(&[]).is_err());
}

#[test]
fn a_large_object_leaves_only_names() {
    let volumes: Vec<_> = (0..5_000)
        .map(|it| json!({"persistentVolumeClaim": {"claimName": format!("c-{}", it % 50)}}))
        .collect();
    let noise = "x".repeat(500_000);
    let key = "k".repeat(100_000);
    let object = json!({
        "metadata": {"name": "big", "namespace": "shop"},
        "spec": {"volumes": volumes, "noise": noise, key: {"claimName": "deep"}},
    });
    let kind = CustomKind::find("ray.io", "RayCluster").expect("it is in the table");
    let user = read(&object).user(kind, false).expect("it uses claims");
    assert_eq!(user.claims.len(), 51);
    assert!(user.claims.iter().all(|it| it.field.chars().count() <= LONGEST_FIELD));
}

/// One that names no claim is kept, too: what it controls may use some.
#[test]
fn a_custom_workload_has_replicas() {
    let uid = "0d9e5b6c-6d0b-4f0e-9d6c-0c6b6c1f9a11";
    for (kind, spec, replicas) in [
        (
            "Rollout",
            json!({"replicas": 3, "workloadRef": {"kind": "Deployment", "name": "web"}}),
            Some(3),
        ),
        ("Rollout", json!({"strategy": {"canary": {"replicas": 4}}}), None),
        ("Rollout", json!({"replicas": 99_999_999_999_u64}), None),
    ] {
        let kind = CustomKind::find("argoproj.io", kind).expect("it is in the table");
        let object = json!({"metadata": {"name": "web", "uid": uid}, "spec": spec});
        let user = read(&object).user(kind, false).expect("it is kept");
        let workload = user.as_workload(&"shop".into()).expect("it has replicas");
        assert_eq!(
            (workload.uid.map(|it| it.to_string()).as_deref(), workload.replicas),
            (Some(uid), replicas)
        );
    }
}
