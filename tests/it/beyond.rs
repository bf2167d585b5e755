//! Two clusters say what one says: a pair of volumes of which one cluster reclaims neither is not reclaimed where each is
//! in a cluster of its own (semantics K.4). `tests/beyond.yaml` has the pairs.

use std::{cell::RefCell, collections::BTreeSet, sync::Arc};

use kubectl_storage::{
    cluster::{Cluster, ClustersBeside, Cx, NamedClusters, NamedStorage},
    dump::Input,
    model::{Kind, Settings, VerdictState},
    remedies::RECLAIM,
    rules::{REGISTRY, named_storage},
    sources::{
        documents::{self, DumpOptions},
        intake::Intake,
    },
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::root;

/// Two volumes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    pair: String,
    /// What made the first.
    provisioner: Option<String>,
    /// From where they can be named, if only `cluster`.
    reach: Option<String>,
    /// Whether they are two for certain.
    #[serde(default)]
    apart: bool,
    mine: Value,
    theirs: Value,
}

/// A Released volume `a` of this source, or a bound `b`.
fn volume(name: &str, source: &Value, provisioner: Option<&str>) -> Value {
    let driver = source["csi"]["driver"].as_str().or(provisioner);
    let (uid, claim) =
        ("5f1e4c1a-0000-4000-8000-00000000000", "5f1e4c1a-0000-4000-8000-00000000001");
    let mut volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {
            "name": name, "uid": format!("{uid}{name}"), "resourceVersion": "1",
            "creationTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["kubernetes.io/pv-protection"],
        },
        "spec": {
            "capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "standard",
            "claimRef": {
                "namespace": "shop", "name": name, "uid": format!("{claim}{name}"), "resourceVersion": "1",
            },
        },
        "status": {
            "phase": if name == "a" { "Released" } else { "Bound" },
            "lastPhaseTransitionTime": "2026-02-01T00:00:00Z",
        },
    });
    for (key, value) in source.as_object().expect("because a source has a type") {
        volume["spec"][key] = value.clone();
    }
    if let Some(driver) = driver {
        volume["metadata"]["annotations"]["pv.kubernetes.io/provisioned-by"] = json!(driver);
        if source["csi"].is_object() {
            let identity = json!(format!("1-1-{driver}"));
            volume["spec"]["csi"]["volumeAttributes"]["storage.kubernetes.io/csiProvisionerIdentity"] =
                identity;
        }
    }
    volume
}

/// What the other cluster has: a bound volume, or a snapshot that was made known to it.
fn object(theirs: &Value) -> Value {
    let Some(snapshot) = theirs.get("snapshot") else { return volume("b", theirs, None) };
    json!({
        "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotContent",
        "metadata": {"name": "b", "uid": "s", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {
            "deletionPolicy": "Retain", "driver": snapshot["driver"],
            "source": {"snapshotHandle": snapshot["handle"]},
            "volumeSnapshotRef": {"name": "b", "namespace": "shop"},
        },
        "status": {"readyToUse": true, "snapshotHandle": snapshot["handle"]},
    })
}

/// A cluster with these objects and whatever the driver of the first volume needs.
fn cluster(volumes: &[Value]) -> Cluster {
    let mut drivers = volumes.iter().filter_map(|it| it["spec"]["csi"]["driver"].as_str());
    let driver = drivers.next_back().unwrap_or("none");
    let objects = [
        json!({
            "apiVersion": "storage.kubectl.dev/v1alpha1", "kind": "Excerpt", "complete": ["all"],
            "metadata": {"takenAt": "2026-06-01T00:00:00Z", "cluster": {"version": "v1.34.1"}},
        }),
        json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver",
            "metadata": {"name": driver, "uid": "d"}, "spec": {"attachRequired": true},
        }),
        json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": driver.replace('.', "-"), "namespace": "kube-system", "uid": "l"},
            "spec": {
                "holderIdentity": "p", "leaseDurationSeconds": 15,
                "renewTime": "2026-06-01T00:00:00.000000Z",
            },
        }),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "uid": "n"}}),
    ];
    let lines: Vec<_> = objects.iter().chain(volumes).map(ToString::to_string).collect();
    let text = lines.join("\n");
    let kinds = REGISTRY.iter().flat_map(|rule| rule.looks_at());
    let kinds: BTreeSet<_> = kinds.chain(RECLAIM.needs.iter().copied()).collect();
    let options = DumpOptions { kinds: kinds.into_iter().collect(), ..DumpOptions::default() };
    let mut intake = Intake::new(None);
    documents::read(&[Input::Stdin], &mut text.as_bytes(), &options, &mut intake)
        .expect("because it is a dump");
    intake.cluster
}

/// Whether gc would reclaim `a`, and what it says of it.
fn verdict(cluster: &Cluster) -> (bool, String) {
    // Without this, the age is one reason more.
    let settings = Settings { include_unknown_age: true, ..Settings::default() };
    let facts = RefCell::default();
    let cx = Cx::new(cluster, &settings, &facts);
    let volume = cluster.volumes().map(|(_, it)| it).find(|it| it.name() == "a");
    let (verdict, _) = RECLAIM.verdict(&cx, volume.expect("because it is in the dump"));
    (verdict.state == VerdictState::Fixable, verdict.reason)
}

/// A cluster beside.
fn beside(named: NamedStorage, are_all: bool) -> ClustersBeside {
    let group = NamedClusters::new([("other".into(), named)].into_iter());
    ClustersBeside { groups: vec![Arc::new(group)], own: None, are_all }
}

#[test]
fn what_was_restored_is_settled_by_a_comparison_only() {
    let ebs =
        json!({"csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-0aaaaaaaaaaaaaaa1"}});
    let longhorn = json!({"csi": {"driver": "driver.longhorn.io", "volumeHandle": "pvc-1"}});
    for (source, are_all, is_settled) in [
        (&ebs, false, false),
        (&ebs, true, true),
        (&longhorn, false, false),
        (&longhorn, true, false),
    ] {
        let mut mine = volume("a", source, None);
        mine["metadata"]["labels"] = json!({"velero.io/restore-name": "nightly"});
        let mut own = cluster(&[mine]);
        own.set_beside(beside(NamedStorage::default(), are_all));
        let (_, told) = verdict(&own);
        assert_eq!(told.contains("Velero restored it"), !is_settled, "{source} {are_all}: {told}");
    }
}

#[test]
fn what_one_cluster_refuses_two_refuse() {
    let path = root().join("tests/beyond.yaml");
    let text = std::fs::read_to_string(path).expect("because it is there");
    let pairs: Vec<Pair> = serde_yaml::from_str(&text).expect("because it has that shape");
    let mut refused = 0;
    let mut faults = Vec::new();
    for Pair { pair, provisioner, reach, apart, mine, theirs } in &pairs {
        let (mine, theirs) = (volume("a", mine, provisioner.as_deref()), object(theirs));
        let (_, alone) = verdict(&cluster(&[mine.clone(), theirs.clone()]));
        let (references, read) = named_storage(&cluster(&[theirs]), &[Kind::PersistentVolume]);
        assert!(read.is_ok(), "{pair}: {read:?}");
        let named = NamedStorage { references, unread: None };
        let mut own = cluster(&[mine]);
        let (planned, _) = verdict(&own);
        own.set_beside(beside(named, false));
        let (still_planned, together) = verdict(&own);
        let is_compared = together.contains("/b of cluster other");
        match (apart, reach.is_some()) {
            (true, _) | (false, true) if is_compared => {
                faults.push(format!("{pair}: refused: {together}"));
            }
            (true, _) if planned && !still_planned => {
                faults.push(format!("{pair}: no longer planned: {together}"));
            }
            (false, false) if alone.contains("/b ") => {
                refused += 1;
                if !is_compared || still_planned {
                    faults.push(format!("{pair}: one cluster: {alone}\n  two: {together}"));
                }
            }
            _ => {}
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(refused > 35, "only {refused} pairs are refused by one cluster");
}
