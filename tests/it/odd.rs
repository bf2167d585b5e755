//! One odd object blinds nobody: a value that no API server gives is planted somewhere into a known cluster, and what is
//! found and planned of all other objects is the same; of what has to do with the odd one it may only become less.
//!
//! Random, within a budget: `BUDGET` sets another one, `SEED` repeats a run.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    env, fs,
    io::Read as _,
    time::{Duration, Instant},
};

use flate2::read::GzDecoder;
use kubectl_storage::{
    cluster::{Cx, Dirty},
    dump::Input,
    model::{Settings, VerdictState},
    remedies::{RECLAIM, REMEDIES},
    rules::{Assessor, REGISTRY},
    sources::{
        documents::{self, DumpOptions},
        intake::Intake,
    },
};
use proptest::{
    prelude::Rng as _,
    test_runner::{RngAlgorithm, TestRng},
};
use serde_json::{Number, Value, json};

use crate::support::root;

/// Fewer cases than this prove nothing, however slow the machine.
const FLOOR: u32 = 300;

/// What is found and planned: by rule and object, whether it can be repaired; the volumes that `gc` would take.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Outcome {
    found: BTreeMap<(String, String), bool>,
    planned: BTreeSet<String>,
}

/// The example, with a StatefulSet, a Job and snapshots, in which everything was read.
fn known() -> Vec<Value> {
    let file = fs::File::open(root().join("examples/leaky-cluster.json.gz")).expect("the example");
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).expect("it is gzipped text");
    let mut lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON lines")).collect();
    lines.retain(|line| line["kind"] != "DumpEnd" && line["kind"] != "Coverage");
    lines[0]["kind"] = "Excerpt".into();
    lines[0]["complete"] = json!(["all"]);
    let template = json!({"spec": {"containers": [{"name": "a", "image": "a"}],
        "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "shared"}}]}});
    let meta = |name: &str| json!({"name": name, "namespace": "odd", "uid": format!("uid-{name}"), "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z"});
    let claim = |name: &str| {
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta(name),
            "spec": {"accessModes": ["ReadWriteOnce"], "volumeName": format!("pv-{name}"), "storageClassName": "gp3",
                "resources": {"requests": {"storage": "1Gi"}}},
            "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}})
    };
    let volume = |name: &str| {
        json!({"apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": format!("pv-{name}"), "uid": format!("uid-pv-{name}"), "resourceVersion": "8",
                "creationTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["kubernetes.io/pv-protection"]},
            "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "storageClassName": "gp3",
                "persistentVolumeReclaimPolicy": "Retain",
                "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "odd", "name": name, "uid": format!("uid-{name}")},
                "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": format!("vol-{name}")}},
            "status": {"phase": "Bound", "lastPhaseTransitionTime": "2026-01-01T00:00:05Z"}})
    };
    for name in ["shared", "unused", "data-web-0", "data-web-3"] {
        lines.extend([claim(name), volume(name)]);
    }
    lines.extend([
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta("web"),
            "spec": {"replicas": 1, "serviceName": "web", "selector": {"matchLabels": {"app": "web"}}, "template": template,
                "podManagementPolicy": "OrderedReady", "ordinals": {"start": 0},
                "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
                "volumeClaimTemplates": [{"metadata": {"name": "data"},
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]},
            "status": {"observedGeneration": 1, "replicas": 1}}),
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta("job"),
            "spec": {"suspend": false, "template": template},
            "status": {"conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": "2026-01-02T00:00:00Z"}]}}),
        json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": meta("hpa"),
            "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "StatefulSet", "name": "web"}}}),
        json!({"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot", "metadata": meta("snap"),
            "spec": {"source": {"persistentVolumeClaimName": "shared"}},
            "status": {"boundVolumeSnapshotContentName": "content", "readyToUse": true, "restoreSize": "1Gi"}}),
        json!({"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotContent",
            "metadata": {"name": "content", "uid": "uid-content", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"deletionPolicy": "Retain", "driver": "ebs.csi.aws.com", "source": {"volumeHandle": "vol-shared"},
                "volumeSnapshotRef": {"namespace": "odd", "name": "snap", "uid": "uid-snap"}},
            "status": {"snapshotHandle": "snap-1", "restoreSize": 1024, "readyToUse": true}}),
    ]);
    lines
}

/// Reads the cluster like any dump, and judges all of it.
fn look(lines: &[Value]) -> Outcome {
    let text = lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let kinds = REGISTRY.iter().flat_map(|rule| rule.looks_at());
    let kinds: BTreeSet<_> =
        kinds.chain(REMEDIES.iter().flat_map(|it| it.needs.iter().copied())).collect();
    let options = DumpOptions { kinds: kinds.into_iter().collect(), ..DumpOptions::default() };
    let mut intake = Intake::new(None);
    documents::read(&[Input::Stdin], &mut text.as_bytes(), &options, &mut intake)
        .expect("it is a dump");
    let (cluster, settings) = (intake.cluster, Settings::default());
    let mut assessor = Assessor::default();
    assessor.update(&cluster, &settings, Dirty::everything());
    let found = assessor.findings(&cluster, &settings).map(|it| {
        (
            (it.rule.to_string(), it.object.key.to_string()),
            it.verdict.state == VerdictState::Fixable,
        )
    });
    let found = found.collect();
    let facts = RefCell::default();
    let cx = Cx::new(&cluster, &settings, &facts);
    let planned = cluster.volumes().filter(|(_, it)| {
        let legible =
            cluster.legible(kubectl_storage::model::Kind::PersistentVolume, "", it.name());
        legible.is_ok() && RECLAIM.verdict(&cx, it).0.state == VerdictState::Fixable
    });
    let planned = planned.map(|(_, it)| it.name().to_owned()).collect();
    Outcome { found, planned }
}

/// The values that are planted.
fn odd_values() -> Vec<Value> {
    vec![
        json!("-1Gi"),
        json!("1e40"),
        json!("soon"),
        json!(""),
        json!("10000-01-01T00:00:00Z"),
        json!("-0001-01-01T00:00:00Z"),
        json!("x".repeat(100_000)),
        json!(true),
        json!(5),
        json!(-5),
        json!(i64::MAX),
        json!(1.5),
        json!(null),
        json!([]),
        json!({}),
        json!([[["x"]]]),
        json!([null]),
        json!({"a": {"b": []}}),
    ]
}

fn is_time(text: &str) -> bool {
    chrono::DateTime::parse_from_rfc3339(text).is_ok()
}

fn is_size(text: &str) -> bool {
    text.ends_with("Gi") && text.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a value in the place of another is none that Kubernetes could mean. No count, ordinal or
/// size is less than zero.
fn is_odd(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::String(before), Value::String(_)) => is_time(before) || is_size(before),
        (Value::Number(before), Value::Number(after)) => {
            let is_below = |number: &Number| number.as_i64().is_some_and(|it| it < 0);
            is_below(after) && !is_below(before)
        }
        (_, Value::Null)
        | (Value::Object(_), Value::Object(_))
        | (Value::Array(_), Value::Array(_))
        | (Value::Bool(_), Value::Bool(_)) => false,
        _ => true,
    }
}

/// Puts a value somewhere into an object. Returns the path, and what was there.
fn plant(object: &mut Value, rng: &mut TestRng, value: &Value) -> (Vec<String>, Value) {
    let (mut at, mut path, mut pointer) = (&*object, Vec::new(), String::new());
    loop {
        let mut pick = |count: usize| rng.next_u32() as usize % count;
        let stops = !path.is_empty() && pick(8) == 0;
        let (step, inner) = match at {
            Value::Object(map) if !map.is_empty() && !stops => {
                let (key, inner) = map.iter().nth(pick(map.len())).expect("it has so many");
                (key.clone(), inner)
            }
            Value::Array(list) if !list.is_empty() && !stops => {
                let index = pick(list.len());
                (index.to_string(), &list[index])
            }
            _ => break,
        };
        pointer.extend(["/", &step.replace('~', "~0").replace('/', "~1")]);
        path.push(step);
        at = inner;
    }
    let place = object.pointer_mut(&pointer).expect("it is there");
    (path, std::mem::replace(place, value.clone()))
}

/// The names by which others may be about an object.
fn names(object: &Value) -> Vec<String> {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let names = [
        "/metadata/name",
        "/metadata/uid",
        "/spec/claimRef/name",
        "/spec/volumeName",
        "/spec/csi/volumeHandle",
    ];
    names.into_iter().filter_map(text).collect()
}

#[test]
fn one_odd_value_changes_nothing_elsewhere() {
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (budget, seed) =
        (Duration::from_secs(number("BUDGET").unwrap_or(10)), number("SEED").unwrap_or(29));
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let known = known();
    let usual = look(&known);
    assert!(usual.planned.len() >= 2 && usual.found.len() > 15, "{usual:#?}");
    let objects: Vec<usize> = (0..known.len())
        .filter(|at| {
            known[*at]["apiVersion"]
                .as_str()
                .is_some_and(|it| !it.starts_with("storage.kubectl.dev/"))
        })
        .collect();
    let (values, begun) = (odd_values(), Instant::now());
    let (mut cases, mut held) = (0, 0);
    while cases < FLOOR || begun.elapsed() < budget {
        let at = objects[rng.next_u32() as usize % objects.len()];
        let value = &values[rng.next_u32() as usize % values.len()];
        let mut lines = known.clone();
        let (path, before) = plant(&mut lines[at], &mut rng, value);
        cases += 1;
        // Which object it is belongs to no object but itself: without it, it is another one.
        let of_identity = matches!(
            path.iter().map(String::as_str).collect::<Vec<_>>()[..],
            ["apiVersion" | "kind" | "metadata"] | ["metadata", "name" | "namespace"]
        );
        let odd = is_odd(&before, value);
        let now = look(&lines);
        if !odd || of_identity {
            continue;
        }
        held += 1;
        let kind = known[at]["kind"].as_str().unwrap_or_default();
        let name = known[at]["metadata"]["name"].as_str().unwrap_or_default();
        let shown = value.to_string();
        let told = format!(
            "SEED={seed}, case {cases}: {kind} {name}, {}: {before} became {}",
            path.join("."),
            &shown[..shown.len().min(40)]
        );
        let of_it = |object: &str| object.rsplit('/').next() == Some(name);
        for ((rule, object), fixable) in &now.found {
            if of_it(object) {
                continue;
            }
            let was = usual.found.get(&(rule.clone(), object.clone()));
            assert!(was.is_some(), "{told}: {rule} is found of {object}");
            assert!(was == Some(&true) || !fixable, "{told}: {rule} of {object} can be repaired");
        }
        let more: Vec<_> = now.planned.difference(&usual.planned).collect();
        assert!(more.is_empty(), "{told}: {more:?} are planned");
        // Whether a Lease is fresh tells of a driver, and so of all its volumes.
        let is_scalar =
            before.as_str().is_some_and(|it| is_time(it) || is_size(it)) && kind != "Lease";
        let of_itself =
            matches!(
                path.iter().map(String::as_str).collect::<Vec<_>>()[..],
                ["metadata", "finalizers" | "annotations" | "managedFields" | "generation", ..]
                    | ["status", "phase", ..]
            ) && ["PersistentVolume", "PersistentVolumeClaim", "StatefulSet", "VolumeAttachment"]
                .contains(&kind);
        if !is_scalar && !of_itself {
            continue;
        }
        // Whatever has no name of the object in it has nothing to do with it.
        let mine = names(&known[at]);
        let related: BTreeSet<&str> = known
            .iter()
            .filter(|other| {
                let (theirs, text) = (names(other), other.to_string());
                let own = known[at].to_string();
                mine.iter().any(|it| text.contains(it)) || theirs.iter().any(|it| own.contains(it))
            })
            .filter_map(|other| other["metadata"]["name"].as_str())
            .collect();
        let is_other =
            |object: &str| !related.contains(object.rsplit('/').next().unwrap_or_default());
        let others = |outcome: &Outcome| -> (Vec<_>, Vec<_>) {
            let found = outcome.found.clone().into_iter().filter(|(key, _)| is_other(&key.1));
            (found.collect(), outcome.planned.iter().filter(|it| is_other(it)).cloned().collect())
        };
        assert_eq!(others(&now), others(&usual), "{told}");
    }
    assert!(held > cases / 4, "{held} of {cases} values were odd");
}
