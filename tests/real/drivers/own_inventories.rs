//! Disks that lie in the cluster as objects of their storage system: on the real API server, with the real groups,
//! resources and scopes, and without the systems. The definition of Longhorn's is the real one; the others, which cannot
//! be had as Go modules, have open schemas.

use std::fs;

use serde_json::{Value, json};

use super::age;
use crate::support::{Admin, Cluster, Options, Report, Run, Scenario, claim, eventually, program};

/// Group, version, kind, resource and scope of each system.
const KINDS: [[&str; 5]; 7] = [
    ["longhorn.io", "v1beta2", "Volume", "volumes", "Namespaced"],
    ["local.openebs.io", "v1alpha1", "LVMVolume", "lvmvolumes", "Namespaced"],
    ["zfs.openebs.io", "v1", "ZFSVolume", "zfsvolumes", "Namespaced"],
    ["topolvm.io", "v1", "LogicalVolume", "logicalvolumes", "Cluster"],
    ["topolvm.cybozu.com", "v1", "LogicalVolume", "logicalvolumes", "Cluster"],
    ["directpv.min.io", "v1beta1", "DirectPVVolume", "directpvvolumes", "Cluster"],
    ["trident.netapp.io", "v1", "TridentVolume", "tridentvolumes", "Namespaced"],
];

/// Serves the kinds, as the systems define them.
fn define(cluster: &Cluster) {
    cluster.create(&longhorn_definition());
    for [group, version, kind, plural, scope] in &KINDS[1..] {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        cluster.create(&json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}")},
            "spec": {
                "group": group, "scope": scope,
                "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
                "versions": [{
                    "name": version, "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
                }],
            },
        }));
    }
    for [group, version, _, plural, _] in KINDS {
        eventually("the kind is served", || {
            let path = format!("/apis/{group}/{version}/{plural}");
            cluster.try_kubectl(&["get", "--raw", &path], "").is_ok()
        });
    }
}

/// The definition of Longhorn's volumes, without the webhook that converts older ones.
fn longhorn_definition() -> Value {
    let file = program("../share/longhorn-crds/crds.yaml");
    let text =
        fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut documents = text.split("\n---").filter(|it| it.contains("name: volumes.longhorn.io"));
    let document = documents.next().expect("because Longhorn has volumes");
    // Helm fills in labels, and the namespace of the webhook.
    let lines: Vec<_> = document.lines().filter(|it| !it.contains("{{")).collect();
    let mut definition: Value =
        serde_yaml::from_str(&lines.join("\n")).expect("because it is YAML");
    definition["spec"]["conversion"] = json!({"strategy": "None"});
    definition
}

/// An object of a system with this name, which is in no use.
fn disk(kind: usize, name: &str) -> Value {
    let [group, version, api_kind, ..] = KINDS[kind];
    let mut object = match kind {
        0 => json!({"spec": {"size": "1073741824"}, "status": {"state": "detached"}}),
        1 | 2 => json!({
            "spec": {"ownerNodeID": "node-1", "volGroup": "vg", "poolName": "tank", "capacity": "1073741824"},
            "status": {"state": "Ready"},
        }),
        3 | 4 => json!({
            "spec": {"name": name, "nodeName": "node-1", "size": "1Gi"}, "status": {"volumeID": name, "currentSize": "1Gi"},
        }),
        5 => json!({"status": {"totalCapacity": 1_073_741_824, "status": "Ready"}}),
        _ => json!({"config": {"name": name, "size": "1073741824"}, "state": "online"}),
    };
    object["apiVersion"] = json!(format!("{group}/{version}"));
    object["kind"] = json!(api_kind);
    object["metadata"] = json!({"name": name});
    object
}

/// Creates an object of a system, in the namespace of the scenario where its kind has one.
fn make(on: &Scenario, kind: usize, object: &Value) {
    match KINDS[kind][4] {
        "Cluster" => on.cluster.create(object),
        _ => on.create(object),
    };
    if kind == 0 {
        // Its status is written apart.
        let status = json!({"status": object["status"]}).to_string();
        let name = object["metadata"]["name"].as_str().expect("because each has one");
        let args = ["patch", "volumes.longhorn.io", name, "-n", &on.name, "--subresource=status"];
        on.cluster.kubectl(&[&args[..], &["--type=merge", "-p", &status]].concat());
    }
}

/// The orphans of a report: severity, and name with the object that shows it.
fn orphans(report: &Report) -> Vec<(String, String)> {
    let all = report.json["findings"].as_array().cloned().unwrap_or_default();
    let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
    let orphans = all.iter().filter(|it| it["id"] == "backend-volume-orphan");
    let mut found: Vec<_> = orphans
        .map(|it| {
            let shown = it["evidence"].as_array().into_iter().flatten();
            let object = shown.filter(|it| it["field"] == "object").map(|it| text(&it["value"]));
            (text(&it["severity"]), object.collect::<String>())
        })
        .collect();
    found.sort();
    found
}

#[test]
#[ignore = "extended suite: drivers that people run"]
fn disks_that_lie_in_the_cluster_are_found_without_a_flag_and_no_living_one() {
    let cluster = Cluster::start(Options::COMPLETE);
    let on = Scenario::on(&cluster);
    let admin = Admin::of(&on);
    let young = ["--threshold", "backend-gap=1s", "--older-than", "1s"];
    let before = admin.audit(&young);
    assert!(before.json["summary"].get("inventory").is_none(), "{:#}", before.json["summary"]);
    define(&cluster);

    // One orphan of each system.
    let name = |number: usize| format!("pvc-0000000{number}-aaaa-4000-8000-000000000001");
    for kind in 0..KINDS.len() {
        make(&on, kind, &disk(kind, &name(kind)));
    }
    // These live: attached, named by a volume, and with a claim.
    let attached = "pvc-10000000-aaaa-4000-8000-000000000001";
    let mut used = disk(0, attached);
    used["status"]["state"] = json!("attached");
    make(&on, 0, &used);
    let named = "pvc-20000000-aaaa-4000-8000-000000000001";
    on.create(&disk(1, named));
    on.create(&json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": on.named("restored")},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "none",
            "csi": {"driver": "local.csi.openebs.io", "volumeHandle": named},
        },
    }));
    let waiting = on.create(&claim("waiting", "none"));
    let uid = waiting["metadata"]["uid"].as_str().expect("because the API server gives one");
    on.create(&disk(2, &format!("pvc-{uid}")));
    age();

    let report = admin.audit(&young);
    let expected = KINDS.iter().enumerate().map(|(number, [group, _, _, plural, _])| {
        let severity = if *group == "trident.netapp.io" { "medium" } else { "high" };
        (severity.to_owned(), format!("{plural}.{group}/{}", name(number)))
    });
    let mut expected: Vec<_> = expected.collect();
    expected.sort();
    assert_eq!(orphans(&report), expected, "{:#}", report.json["findings"]);
    let counts = &report.json["summary"]["inventory"];
    for (count, number) in
        [("listed", 10), ("orphans", 7), ("attached", 1), ("named", 1), ("claimed", 1)]
    {
        assert_eq!(counts[count], number, "{count}: {counts:#}");
    }

    // A dump has them, and says the same.
    let folder = tempfile::tempdir().expect("the temporary folder is writable");
    let file = folder.path().join("cluster.json").display().to_string();
    let saved = Run::of(&["dump", &file]).kubeconfig(cluster.kubeconfig()).go();
    assert_eq!(saved.code, Some(0), "{}", saved.stderr);
    let text = fs::read_to_string(&file).expect("because it was written");
    let of_trident = text.lines().find(|it| it.contains(r#""kind":"TridentVolume""#));
    let of_trident = of_trident.expect("because the dump has it");
    assert!(!of_trident.contains("managedFields"), "{of_trident}");
    let args = ["audit", "-o", "json", "-f", &file];
    let of_dump = Run::of(&args).more(&young).go().report();
    assert_eq!(orphans(&of_dump), expected);

    // Who may not read them is told so, and misses nothing else.
    let limited = Admin::limited(&on, "limited", &[], &["get"]);
    let with = ["audit", "--threshold", "backend-gap=1s", "--older-than", "1s"];
    let told = limited.run(&with);
    let gaps = told.json["gaps"].to_string();
    for [group, ..] in KINDS {
        assert!(!gaps.contains(group), "{group}: {gaps}");
    }
    let told = told.says(&["volumes.longhorn.io were not read", "rbac audit --inventory"]);
    assert!(told.json["summary"].get("inventory").is_none(), "{:#}", told.json["summary"]);
    let role = Run::of(&["rbac", "audit", "--inventory"]).go().stdout;
    assert!(role.contains("tridentvolumes") && !role.contains("delete"), "{role}");
}
