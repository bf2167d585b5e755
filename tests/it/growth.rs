//! What a cluster costs that is four times as large: four times as many lookups and compared rows, on every mix of volumes
//! that once were compared pair by pair. `cargo bench --bench growth` measures the same in seconds.

use std::{cell::RefCell, fmt::Write as _, io};

use kubectl_storage::{
    cluster::Cx,
    dump::Input,
    model::{Kind, Settings},
    remedies::RECLAIM,
    rules::{Judge, REGISTRY},
    sources::{
        documents::{self, DumpOptions},
        intake::Intake,
    },
};
use serde_json::{Value, json};

const SMALL: usize = 5_000;
const LARGE: usize = 20_000;

/// What a volume may cost among four times as many, in percent: a square would make it 400.
const AT_MOST: u64 = 110;

/// The source of a volume.
type Source = fn(usize) -> Value;

fn csi(driver: &str, handle: &str, attributes: &Value) -> Value {
    let identity =
        json!({ "driver": driver, "volumeHandle": handle, "volumeAttributes": attributes });
    json!({ "csi": identity })
}

fn nfs_csi(handle: usize, path: &str) -> Value {
    let attributes = json!({ "server": "nas.example.com", "share": path });
    csi("nfs.csi.k8s.io", &format!("v-{handle}"), &attributes)
}

fn path_on(node: usize) -> Value {
    let name = json!({ "key": "kubernetes.io/hostname", "operator": "In", "values": [format!("node-{node}")] });
    let affinity = json!({ "required": { "nodeSelectorTerms": [{ "matchExpressions": [name] }] } });
    json!({ "local": { "path": "/mnt/disks/ssd0" }, "nodeAffinity": affinity })
}

const MIXES: [(&str, Source); 9] = [
    ("disks", |it| csi("ebs.csi.aws.com", &format!("vol-{it:017x}"), &json!({}))),
    ("access points of one file system", |it| {
        csi("efs.csi.aws.com", &format!("fs-0123456789abcdef0::fsap-{it:017x}"), &json!({}))
    }),
    ("file systems", |it| csi("efs.csi.aws.com", &format!("fs-{it:017x}"), &json!({}))),
    ("directories of one server", |it| nfs_csi(it, &format!("/export/pvc-{it}"))),
    ("one directory", |it| nfs_csi(it, "/export")),
    ("one directory, and access points beside it", |it| match it % 2 {
        0 => nfs_csi(it, "/export"),
        _ => csi("efs.csi.aws.com", &format!("fs-0123456789abcdef0::fsap-{it:017x}"), &json!({})),
    }),
    ("one path on each node", path_on),
    ("handles with one id in common", |it| {
        csi("disk.example.com", &format!("array00123/vol-{it:x}"), &json!({}))
    }),
    (
        "paths of disks",
        |it| json!({ "vsphereVolume": { "volumePath": format!("[store] kubevols/{it}.vmdk") } }),
    ),
];

/// A cluster with so many volumes, half of them Released, of which every third one would be destroyed.
fn cluster(volumes: usize, source: Source) -> Intake {
    let mut text = String::new();
    for index in 0..volumes {
        let (phase, policy) = match index % 6 {
            0 | 1 => ("Released", "Retain"),
            2 => ("Released", "Delete"),
            3 => ("Bound", "Delete"),
            _ => ("Bound", "Retain"),
        };
        let claim =
            json!({ "namespace": "n", "name": format!("c-{index}"), "uid": format!("u-{index}") });
        let mut spec = json!({ "accessModes": ["ReadWriteMany"], "capacity": { "storage": "1Gi" }, "claimRef": claim,
            "persistentVolumeReclaimPolicy": policy });
        for (key, value) in source(index).as_object().into_iter().flatten() {
            spec[key] = value.clone();
        }
        let metadata = json!({ "name": format!("pv-{index:06}"), "creationTimestamp": "2026-01-01T00:00:00Z" });
        let status = json!({ "phase": phase, "lastPhaseTransitionTime": "2026-01-02T00:00:00Z" });
        let volume = json!({ "apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec,
            "status": status });
        writeln!(text, "{volume}").expect("a text takes everything");
    }
    let options = DumpOptions {
        complete: Kind::ALL.into_iter().collect(),
        kinds: Kind::ALL.to_vec(),
        ..DumpOptions::default()
    };
    let mut intake = Intake::new(None);
    documents::read(&[Input::Stdin], &mut text.as_bytes(), &options, &mut intake)
        .map_err(io::Error::other)
        .expect("what was written is read");
    intake
}

/// How many lookups it takes to judge every volume, and to see whether it can be reclaimed, and how many rows are compared
/// for them, for each hundred volumes.
fn effort(volumes: usize, source: Source) -> u64 {
    let intake = cluster(volumes, source);
    let (settings, facts) = (Settings::default(), RefCell::default());
    let cx = Cx::new(&intake.cluster, &settings, &facts);
    assert_eq!(intake.cluster.volumes().count(), volumes);
    for (_, volume) in intake.cluster.volumes() {
        for judge in REGISTRY.iter().flat_map(|rule| rule.judge) {
            if let Judge::Volume(judge) = judge {
                drop(judge(&cx, volume));
            }
        }
        drop(RECLAIM.verdict(&cx, volume));
    }
    cx.take_effort() * 100 / volumes as u64
}

#[test]
#[ignore = "extended suite: a minute and a half"]
fn a_volume_costs_no_more_among_four_times_as_many() {
    for (what, source) in MIXES {
        let (small, large) = (effort(SMALL, source), effort(LARGE, source));
        assert!(small > 100, "{what}: nothing was looked up");
        assert!(
            large <= small * AT_MOST / 100,
            "{what}: a hundred volumes cost {small} among {SMALL}, and {large} among {LARGE}"
        );
    }
}
