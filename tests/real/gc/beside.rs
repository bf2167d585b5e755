//! `gc --beside`: a disk that a second control plane names is not reclaimed, and one that it names no more is.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::wait_released;
use crate::support::{
    Admin, Cluster, Driver, DriverOptions, Mark, Options, PersistentVolume, Scenario, Told,
};

/// A driver whose handles are the same disk wherever they are named.
const DRIVER: &str = "ebs.csi.aws.com";
const VELERO: &str = "velero.io/restore-name";

/// One of two control planes, with the same driver and one backend folder between them.
struct Side<'a> {
    on: Scenario<'a>,
    driver: Driver,
}

impl<'a> Side<'a> {
    fn of(cluster: &'a Cluster) -> Self {
        let driver = cluster.start_driver(DRIVER, &DriverOptions::default());
        Self { on: Scenario::on(cluster), driver }
    }

    /// A Released volume of this disk.
    fn names(&self, name: &str, handle: &str) -> PersistentVolume {
        PersistentVolume::csi(name, DRIVER, handle)
            .left_by(&self.on.name, name)
            .provisioned_by(DRIVER)
            .class(&self.driver.class_retain)
    }

    fn create(&self, volumes: &[PersistentVolume]) {
        for volume in volumes {
            self.on.create(&volume.0);
        }
        let name = |it: &PersistentVolume| {
            format!("pv/{}", it.0["metadata"]["name"].as_str().unwrap_or_default())
        };
        let names: Vec<_> = volumes.iter().map(name).collect();
        wait_released(&self.on, &names.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

/// A kubeconfig with contexts `a` and `b`, and `gone`, behind which nothing listens.
fn kubeconfig(a: &Cluster, b: &Cluster) -> tempfile::NamedTempFile {
    let mut whole = json!({"apiVersion": "v1", "kind": "Config", "current-context": "a"});
    let mut lists = [vec![], vec![], vec![]];
    for (name, cluster) in [("a", a), ("b", b), ("gone", a)] {
        let text = fs::read_to_string(cluster.kubeconfig()).expect("because the testbed wrote it");
        let one: Value = serde_yaml::from_str(&text).expect("a kubeconfig is YAML");
        let mut of = one["clusters"][0]["cluster"].clone();
        if name == "gone" {
            of["server"] = json!("https://127.0.0.1:1");
        }
        lists[0].push(json!({"name": name, "cluster": of}));
        lists[1].push(json!({"name": name, "user": one["users"][0]["user"]}));
        lists[2].push(json!({"name": name, "context": {"cluster": name, "user": name}}));
    }
    for (field, list) in ["clusters", "users", "contexts"].into_iter().zip(lists) {
        whole[field] = json!(list);
    }
    let file = tempfile::NamedTempFile::new().expect("because the temporary folder is writable");
    fs::write(file.path(), whole.to_string()).expect("because the file is ours");
    file
}

/// How often volumes were listed.
fn lists(admin: &Admin, since: Mark) -> usize {
    let is_list = |it: &&Value| {
        it["verb"] == "list"
            && it["objectRef"]["resource"] == "persistentvolumes"
            && it["objectRef"]["name"].is_null()
    };
    admin.requests(since).iter().filter(is_list).count()
}

fn reason(told: &Told, name: &str) -> String {
    let refusals = [told.listed("refusals"), told.listed("changes")].concat();
    let its = refusals.iter().find(|it| it["object"]["name"] == name);
    let its = its.unwrap_or_else(|| panic!("nothing is said of {name}: {:#}", told.json));
    [&its["reason"], &its["detail"]].iter().filter_map(|it| it.as_str()).collect()
}

#[test]
#[ignore = "extended suite: further cases"]
fn a_disk_that_another_cluster_names_is_reclaimed_when_it_does_not_any_more() {
    let (a, b) = (Cluster::start(Options::CONTROLLERS), Cluster::start(Options::CONTROLLERS));
    let (a, b) = (Side::of(&a), Side::of(&b));
    // One backend: what either driver deletes is gone for both.
    let [folder, other] = [&a, &b].map(|it| it.driver.folder(""));
    fs::remove_dir(&other).expect("because nothing is in it");
    symlink(&folder, other.as_os_str().to_str().expect("a path is text").trim_end_matches('/'))
        .expect("because it was removed");
    for disk in [
        "vol-0000000000000aaa1",
        "vol-0000000000000aaa2",
        "vol-0000000000000aaa3",
        "vol-0000000000000aaa4",
    ] {
        a.driver.make(disk);
    }
    let mut restored = a.names("restored", "vol-0000000000000aaa3");
    restored.0["metadata"]["labels"] = json!({VELERO: "nightly"});
    a.create(&[
        a.names("shared-a", "vol-0000000000000aaa1"),
        a.names("alone", "vol-0000000000000aaa2"),
        restored,
        a.names("later", "vol-0000000000000aaa4"),
    ]);
    b.create(&[b.names("shared-b", "vol-0000000000000aaa1")]);
    let kubeconfig = kubeconfig(a.on.cluster, b.on.cluster);
    let (in_a, in_b) = (Admin::of(&a.on), Admin::of(&b.on));
    let run = |words: &[&str]| Told::of(in_a.by(kubeconfig.path(), words).go());
    let gc = |words: &[&str]| run(&[&["gc"], words, &["--older-than", "1s", "--yes"]].concat());

    // Found from both sides.
    let report =
        run(&["audit", "--contexts", "a,b", "--rule", "pv-shared-between-clusters"]).ends(0);
    let found = report.listed("findings").iter();
    let found: Vec<_> =
        found.map(|it| (it["cluster"].as_str(), it["object"]["name"].as_str())).collect();
    assert_eq!(found, [(Some("a"), Some("shared-a")), (Some("b"), Some("shared-b"))]);

    // Refused in either, and what the other does not name is reclaimed: the other is read for the plan, and again.
    let (mark_a, mark_b) = (a.on.cluster.mark(), b.on.cluster.mark());
    let told = gc(&["shared-a", "alone", "--context", "a", "--beside", "b"]).ends(6);
    assert_eq!(told.outcomes("done"), ["alone"], "{:#}", told.json);
    assert!(
        reason(&told, "shared-a")
            .contains("pv/shared-b of cluster b references the same backend volume")
    );
    assert!(a.driver.has("vol-0000000000000aaa1") && !a.driver.has("vol-0000000000000aaa2"));
    assert!(lists(&in_b, mark_b) >= 2, "{:#?}", in_b.requests(mark_b));
    assert!(in_b.writes(mark_b).is_empty());
    assert!(in_a.sent(mark_a).iter().all(|it| it.line().contains("alone")));
    let mark_a = a.on.cluster.mark();
    let told = gc(&["shared-b", "--context", "b", "--beside", "a"]).ends(5);
    assert!(reason(&told, "shared-b").contains("pv/shared-a of cluster a"));
    assert!(in_a.writes(mark_a).is_empty());

    // What cannot be read permits nothing, and what is no other cluster is an error.
    let told = gc(&["later", "--context", "a", "--beside", "gone"]).ends(5);
    assert!(reason(&told, "later").contains("unknown whether cluster gone"), "{:#}", told.json);
    gc(&["later", "--context", "a", "--beside", "a"])
        .ends(2)
        .says(&["is the cluster that is changed"]);
    gc(&["later", "--context", "a", "--beside", "c"]).ends(2).says(&["no context is called c"]);
    let server = ["--server", "https://127.0.0.1:1"];
    gc(&[&["later", "--beside", "b"], &server[..]].concat())
        .ends(2)
        .says(&["--beside and --server"]);

    // A restored volume may have its first one anywhere, unless all clusters were read.
    let told = gc(&["restored", "--context", "a", "--beside", "b"]).ends(5);
    assert!(reason(&told, "restored").contains("--backend-exclusive"), "{:#}", told.json);
    let told = gc(&["restored", "--context", "a", "--beside", "b", "--all-clusters"]).ends(0);
    assert_eq!(told.outcomes("done"), ["restored"], "{:#}", told.json);
    assert!(!a.driver.has("vol-0000000000000aaa3"));

    // A saved plan reads the other cluster again: meanwhile it names the disk.
    let plan = in_a.home.path().join("plan.yaml");
    let plan = plan.to_str().expect("a path is text");
    let words = [
        "gc",
        "later",
        "--context",
        "a",
        "--beside",
        "b",
        "--older-than",
        "1s",
        "--plan-out",
        plan,
    ];
    run(&words).ends(0);
    b.create(&[b.names("late", "vol-0000000000000aaa4")]);
    let mark_a = a.on.cluster.mark();
    let told = run(&["apply", plan, "--context", "a", "--yes"]).ends(5);
    assert!(reason(&told, "later").contains("pv/late of cluster b"), "{:#}", told.json);
    assert!(in_a.writes(mark_a).is_empty());
    assert!(a.driver.has("vol-0000000000000aaa4"));

    // Once the other cluster does not name it, it is reclaimed.
    b.on.delete("pv/shared-b");
    let told = gc(&["shared-a", "--context", "a", "--beside", "b"]).ends(0);
    assert_eq!(told.outcomes("done"), ["shared-a"], "{:#}", told.json);
    assert!(!a.driver.has("vol-0000000000000aaa1"));
}
