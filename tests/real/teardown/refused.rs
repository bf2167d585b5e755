//! What blocks a teardown: then nothing is written.

use serde_json::{Value, json};

use super::{deployment, set};
use crate::support::{Admin, Scenario, claim, eventually, pod, shared};

fn obstacles(told: &crate::support::Told) -> String {
    let all = told.listed("obstacles").iter().map(ToString::to_string);
    all.collect::<Vec<_>>().join("\n")
}

/// The UID is compared before anything else is read.
#[test]
fn another_cluster_is_not_even_read() {
    let on = Scenario::on(shared());
    let admin = Admin::of(&on);
    let record = admin.home.path().join("record.json").display().to_string();
    let mark = on.cluster.mark();
    let told = admin.refused(
        5,
        &[
            "teardown",
            "--destroy-data",
            "-A",
            "--yes",
            "--max=1",
            "--confirm-cluster=11111111-2222-4333-8444-555555555555",
            "--record",
            &record,
        ],
    );
    told.says(&["this is another cluster"]);
    let asked: Vec<String> = admin
        .requests(mark)
        .iter()
        .filter_map(|it| Some(it["requestURI"].as_str()?.to_owned()))
        .filter(|it| it.starts_with("/api/") || it.starts_with("/apis/"))
        .collect();
    assert!(asked.iter().all(|it| it.contains("/namespaces/kube-system")), "{asked:?}");
}

/// A `DaemonSet`, a workload that is half selected, labels that are kept running, what serves admission, and what an
/// operator controls.
#[test]
fn what_must_not_be_stopped_blocks() {
    let on = Scenario::on(shared());
    let driver = on.cluster.driver_without_attachments();
    let class = &driver.class_delete;
    for name in ["everywhere", "half", "other", "running", "hook", "bare"] {
        let mut claim = claim(name, class);
        if name != "other" {
            claim["metadata"]["labels"] = json!({"torn": "down"});
        }
        on.create(&claim);
        on.bound(name);
    }
    let mut daemon = deployment("everywhere", "everywhere");
    daemon["kind"] = json!("DaemonSet");
    daemon["spec"].as_object_mut().expect("because it is an object").remove("replicas");
    on.create(&daemon);
    let mut half = deployment("half", "half");
    half["spec"]["template"]["spec"]["volumes"] = json!([
        {"name": "one", "persistentVolumeClaim": {"claimName": "half"}},
        {"name": "two", "persistentVolumeClaim": {"claimName": "other"}},
    ]);
    on.create(&half);
    on.create(&deployment("running", "running"));
    on.create(&deployment("hook", "hook"));
    on.create(&json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "hook"},
        "spec": {"selector": {"app": "hook"}, "ports": [{"port": 443}]},
    }));
    let webhook = on.named("hook");
    on.cluster.create(&json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": webhook},
        "webhooks": [{
            "name": "x.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "failurePolicy": "Ignore",
            "clientConfig": {"service": {"namespace": on.name, "name": "hook"}},
            "rules": [{"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nothings"]}],
        }],
    }));
    let mut bare = pod("bare", "bare");
    let running = on.read("deploy/running");
    bare["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "example.com/v1", "kind": "Machine", "name": "m", "controller": true,
        "uid": running["metadata"]["uid"],
    }]);
    on.create(&bare);
    let admin = Admin::of(&on);
    let exclusive = format!("--backend-exclusive={}", driver.name);
    let args = [
        "teardown",
        "--dry-run",
        "-n",
        &on.name,
        "-l",
        "torn=down",
        "--keep-running",
        "app=running",
        &exclusive,
    ];
    let told = admin.refused(5, &args);
    let said = obstacles(&told);
    for words in [
        "a DaemonSet cannot be stopped",
        "it also uses 1 claim that the teardown leaves out",
        "--keep-running selects it",
        "it serves ValidatingWebhookConfiguration",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    // The same without --dry-run writes nothing either.
    let args: Vec<_> =
        args.iter().map(|it| if *it == "--dry-run" { "--destroy-data" } else { it }).collect();
    admin.refused(5, &args).says(&["nothing was changed"]);
    on.cluster.delete("", &format!("validatingwebhookconfiguration/{webhook}"));
}

/// Who may not list claims learns that, and not that there is nothing to tear down.
#[test]
fn what_may_not_be_read_blocks() {
    let on = Scenario::on(shared());
    let driver = on.cluster.driver_without_attachments();
    on.create(&claim("data", &driver.class_delete));
    on.bound("data");
    let admin = Admin::limited(&on, "blind", &["persistentvolumeclaims"], &["patch"]);
    let args = ["teardown", "--destroy-data", "-n", &on.name];
    let told = admin.refused(5, &args).says(&["nothing was changed"]);
    assert!(obstacles(&told).contains("persistentvolumeclaims not read"), "{:#}", told.json);
}

/// Without the provisioner, nothing is stopped: the volumes would only be Released.
#[test]
#[ignore = "extended suite: stops a driver"]
fn a_provisioner_that_is_not_there_blocks() {
    let cluster = crate::support::Cluster::start(crate::support::Options::COMPLETE);
    let on = Scenario::on(&cluster);
    let driver = on.cluster.driver_without_attachments();
    on.create(&set("db", &driver.class_delete, 1));
    eventually("the claim is there", || on.get("pvc/data-db-0").is_some());
    on.bound("data-db-0");
    driver.stop("scale-to-zero");
    let admin = Admin::of(&on);
    let exclusive = format!("--backend-exclusive={}", driver.name);
    eventually("the provisioner is gone", || {
        let told = admin.run(&["teardown", "--dry-run", "-n", &on.name, &exclusive]);
        told.code == Some(5) && obstacles(&told).contains(&driver.name)
    });
    let args = ["teardown", "--destroy-data", "-n", &on.name, &exclusive];
    admin.refused(5, &args).says(&["nothing was changed"]);
    assert_eq!(on.read("sts/db")["spec"]["replicas"], 1);
    let policy = |it: Value| it["spec"]["persistentVolumeReclaimPolicy"].clone();
    let volume = on.bound("data-db-0");
    assert_eq!(policy(on.read(&format!("pv/{volume}"))), "Delete");
}

/// Two exceptions, of which one matches nothing; no reach; no word about the data.
#[test]
fn what_makes_no_sense_is_a_usage_error() {
    let on = Scenario::on(shared());
    let admin = Admin::of(&on);
    for (args, says) in [
        (&["teardown", "--dry-run"][..], "required"),
        (&["teardown", "-A"], "what becomes of the data is not said"),
        (&["teardown", "-A", "--destroy-data", "--yes"], "--confirm-cluster"),
        (
            &["teardown", "-A", "--dry-run", "--except", "ns/nowhere"],
            "--except ns/nowhere matches nothing",
        ),
        (&["teardown", "-A", "--dry-run", "--except", "shop"], "expected ns/NAME"),
        (&["teardown", "-A", "--keep-data", "--released"], "cannot be used with"),
    ] {
        admin.refused(2, args).says(&[says]);
    }
}
