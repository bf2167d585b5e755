//! What deletion destroys: gc, `explain`, `delete`, `retention simulate` and findings ask one fact.

use std::{collections::BTreeMap, fs, path::Path};

use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::{
    fixture,
    support::{Call, read, root},
};

/// What becomes of the data of a volume with policy Delete, as far as everything must agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Becomes {
    Destroyed,
    /// The driver takes the volume away, and leaves the data.
    Kept,
    /// It answers OK, and does nothing.
    Untouched,
    /// It answers with an error.
    Failing,
    Unknown,
}

impl Becomes {
    /// What gc says; `None` where it refuses for another reason.
    fn of_gc(change: Option<&Value>, refusal: Option<&Value>) -> Option<Self> {
        let text =
            |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
        if let Some(change) = change {
            let risk = text(change, "risk");
            return Some(match risk.starts_with("the data remains") {
                true => Self::Kept,
                false => Self::Destroyed,
            });
        }
        let reason = text(refusal?, "reason");
        let said = |words: &str| reason.contains(words);
        match () {
            () if said("without deleting anything") => Some(Self::Untouched),
            () if said("cannot delete it: ") => Some(Self::Failing),
            () if said("unknown what ") && said(" would delete: ") => Some(Self::Unknown),
            () => None,
        }
    }

    /// What an effect says: its word, and the reason.
    fn of_effect(then: &str) -> Self {
        match then {
            "destroyed" | "destroyed-later" => Self::Destroyed,
            "forgotten" => Self::Kept,
            "leaked" => Self::Untouched,
            "failed" | "released" => Self::Failing,
            "unknown" => Self::Unknown,
            other => panic!("{other}: no effect on the data"),
        }
    }
}

/// The same cluster with each of its volumes bound to a claim of a set, and with policy Delete.
fn bound(dump: &str, name: &str) -> String {
    let mut documents: Vec<Value> = serde_yaml::Deserializer::from_str(dump)
        .map(|it| Value::deserialize(it).unwrap_or_else(|error| panic!("{name}: {error}")))
        .filter(|it| it["kind"] != "PersistentVolumeClaim")
        .collect();
    let mut claims: BTreeMap<String, Value> = BTreeMap::new();
    let owner = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "owner", "uid": "11111111-1111-4111-8111-111111111111"});
    for volume in documents.iter_mut().filter(|it| it["kind"] == "PersistentVolume") {
        let of = volume["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        // Each of its own: fixtures release several volumes of one claim.
        let uid = format!("22222222-2222-4222-8222-{:012}", claims.len());
        volume["spec"]["claimRef"] = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "all", "name": of, "uid": uid});
        volume["spec"]["persistentVolumeReclaimPolicy"] = json!("Delete");
        volume["status"] = json!({"phase": "Bound"});
        let claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {
                "namespace": "all", "name": of, "uid": uid, "resourceVersion": "1",
                "creationTimestamp": "2026-06-01T00:00:00Z",
                "finalizers": ["kubernetes.io/pvc-protection"],
                "ownerReferences": [owner],
            },
            "spec": {"volumeName": of, "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            "status": {"phase": "Bound"},
        });
        claims.insert(of, claim);
    }
    documents.extend(claims.into_values());
    documents.push(json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"namespace": "all", "name": "owner", "uid": owner["uid"], "resourceVersion": "1", "creationTimestamp": "2026-06-01T00:00:00Z"},
        "spec": {
            "replicas": 1, "serviceName": "owner", "selector": {"matchLabels": {"app": "owner"}},
            "template": {"metadata": {"labels": {"app": "owner"}}, "spec": {"containers": [{"name": "c", "image": "c"}]}},
        },
        "status": {"replicas": 0},
    }));
    let written = |it: &Value| serde_yaml::to_string(it).expect("it is YAML");
    documents.iter().map(written).collect::<Vec<_>>().join("---\n")
}

/// gc's plan or refusal, and what `explain`, `delete` and `retention simulate` say of the same volume
/// with policy Delete, are one judgement.
#[test]
fn everything_says_the_same_of_what_deletion_destroys() {
    let folders = fs::read_dir(root().join("tests/drivers")).expect("tests/drivers");
    let folders: Vec<_> = folders.map(|it| it.expect("readable").path()).collect();
    let (wrong, compared) = std::thread::scope(|scope| {
        let chunks = folders.chunks(folders.len().div_ceil(4));
        let threads: Vec<_> = chunks
            .map(|chunk| {
                scope.spawn(move || {
                    let (mut wrong, mut compared) = (Vec::new(), Vec::new());
                    for folder in chunk {
                        compare(folder, &mut wrong, &mut compared);
                    }
                    (wrong, compared)
                })
            })
            .collect();
        let (mut wrong, mut compared) = (Vec::new(), Vec::new());
        for thread in threads {
            let (mut mine, mut seen) = thread.join().expect("it ends");
            wrong.append(&mut mine);
            compared.append(&mut seen);
        }
        (wrong, compared)
    });
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    for class in
        [Becomes::Destroyed, Becomes::Kept, Becomes::Untouched, Becomes::Failing, Becomes::Unknown]
    {
        assert!(compared.contains(&class), "nothing is {class:?}: nothing is proven");
    }
    assert!(compared.len() > 100, "only {} volumes", compared.len());
}

/// The effect on a claim of a simulated set.
fn find_effect(simulated: &Value, claim: &str) -> Option<Value> {
    let sets = simulated["sets"].as_array()?.iter();
    let mut claims = sets.filter_map(|set| set["claims"].as_array()).flatten();
    claims.find(|it| it["object"]["name"] == *claim).map(|it| it["effect"].clone())
}

/// Compares what is said of the volumes of a fixture.
fn compare(folder: &Path, wrong: &mut Vec<String>, compared: &mut Vec<Becomes>) {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let dump = fixture::build(&read(&folder.join("cluster.yaml")), &name)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let file = |of: &str, text: &str| {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("drivers-said")
            .join(format!("{name}{of}.yaml"));
        fs::create_dir_all(file.parent().expect("it is in a folder")).expect("a folder");
        fs::write(&file, text).expect("it can be written");
        file.to_string_lossy().into_owned()
    };
    let (released, bound) = (file("", &dump), file("-bound", &bound(&dump, &name)));
    let run = |args: &[&str]| -> Value {
        let ran = Call::new(args.iter().copied()).run();
        serde_json::from_str(&ran.stdout)
            .unwrap_or_else(|_| panic!("{name} {args:?}: {}{}", ran.stdout, ran.stderr))
    };
    let list = |value: &Value, field: &str| value[field].as_array().cloned().unwrap_or_default();
    let gc = run(&["gc", "-f", &released, "--older-than", "7d", "-o", "json"]);
    let explained = run(&["explain", "ns/all", "-f", &bound, "-o", "json"]);
    let deleted = run(&["delete", "ns/all", "-f", &bound, "--destroy-data", "-o", "json"]);
    let simulated = run(&[
        "retention",
        "simulate",
        "sts/owner",
        "-n",
        "all",
        "--delete",
        "--dump",
        &bound,
        "-o",
        "json",
    ]);
    let lines = list(&deleted["changes"][0], "notices");
    for (of, change, refusal) in list(&gc, "changes")
        .iter()
        .map(|it| (it, Some(it), None))
        .chain(list(&gc, "refusals").iter().map(|it| (it, None, Some(it))))
        .map(|(it, change, refusal)| {
            (it["object"]["name"].as_str().unwrap_or_default().to_owned(), change, refusal)
        })
    {
        let Some(expected) = Becomes::of_gc(change, refusal) else { continue };
        compared.push(expected);
        let mut says = |who: &str, found: Option<Becomes>, words: &str| {
            if found != Some(expected) {
                wrong.push(format!("{name}: {of}: gc: {expected:?}, {who}: {found:?}: {words}"));
            }
            let sure = ["everything on it", "permanently destroyed", "is destroyed"];
            if expected != Becomes::Destroyed && sure.iter().any(|it| words.contains(it)) {
                wrong.push(format!("{name}: {of}: {who} is sure: {words}"));
            }
        };
        let volume = run(&["explain", &format!("pv/{of}"), "-f", &bound, "-o", "json"]);
        let claim =
            run(&["explain", &format!("pvc/{of}"), "-n", "all", "-f", &bound, "-o", "json"]);
        let of_volume =
            list(&volume, "outcomes").into_iter().find(|it| it["if"] == "its claim is deleted");
        let of_claim = list(&claim, "outcomes")
            .into_iter()
            .find(|it| it["if"] == "it is deleted" && it["object"]["kind"] == "PersistentVolume");
        for (who, effect) in [("explain pv", of_volume), ("explain pvc", of_claim)] {
            let effect = effect.unwrap_or_default();
            let text = |field: &str| effect[field].as_str().unwrap_or_default();
            says(who, effect["then"].as_str().map(Becomes::of_effect), text("because"));
        }
        let in_namespace = list(&explained, "outcomes")
            .into_iter()
            .find(|it| it["object"]["name"] == *of && it["object"]["kind"] == "PersistentVolume");
        let then = in_namespace.as_ref().and_then(|it| it["then"].as_str()).map(Becomes::of_effect);
        says("explain ns", then, "");
        let line = lines.iter().filter_map(Value::as_str).find(|it| {
            it.contains(&format!("persistentvolume/{of} ")) || it.contains(&format!("pv/{of} "))
        });
        let line = line.unwrap_or_default();
        let found = match () {
            () if line.contains("is destroyed") => Some(Becomes::Destroyed),
            () if line.contains("may be destroyed") => Some(Becomes::Unknown),
            () if line.contains("without deleting anything") => Some(Becomes::Untouched),
            () if line.contains("cannot delete it") || line.contains("keeps its data") => {
                Some(Becomes::Failing)
            }
            () if line.contains("remains: ") => Some(Becomes::Kept),
            () => None,
        };
        says("delete ns", found, line);
        let in_set = find_effect(&simulated, &of);
        let found = in_set.as_ref().and_then(|it| it["data"].as_str());
        let because = in_set.as_ref().map(|it| it["because"].to_string()).unwrap_or_default();
        says("simulate", found.map(|it| Becomes::of_effect(it.trim_end_matches('?'))), &because);
    }
}
