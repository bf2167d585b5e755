//! Claims that are deleted while somebody uses them, and those that nothing protects (D-41 to D-51).

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{
    Cluster, Options, PersistentVolume, Scenario, claim, eventually, never, pod, shared,
};

const PROTECTION: &str = "kubernetes.io/pvc-protection";
const SOON: [&str; 8] = [
    "--threshold",
    "detach=1s",
    "--threshold",
    "claim-protection=1s",
    "--threshold",
    "resync=1s",
    "--threshold",
    "stuck=1h",
];

/// A pod with an ephemeral volume.
fn pod_with_ephemeral(name: &str, volume: &str, class: &str) -> Value {
    let mut pod = pod(name, "none");
    let claim = claim("unnamed", class);
    pod["spec"]["volumes"] =
        json!([{"name": volume, "ephemeral": {"volumeClaimTemplate": {"spec": claim["spec"]}}}]);
    pod["spec"]["containers"][0]["volumeMounts"] =
        json!([{"name": volume, "mountPath": "/scratch"}]);
    pod
}

fn is_terminating(on: &Scenario, object: &str) -> bool {
    !on.read(object)["metadata"]["deletionTimestamp"].is_null()
}

/// The claim as reports name it.
fn named(on: &Scenario, claim: &str) -> String {
    format!("pvc/{}/{claim}", on.name)
}

#[test]
fn d_41_a_claim_is_deleted_under_its_pod() {
    let on = Scenario::on(shared());
    let driver = shared().driver_without_attachments();
    on.create(&claim("data", &driver.class_delete));
    let volume = on.bound("data");
    let handle = on.handle(&volume);
    on.create(&pod("user", "data"));
    on.wait_phase("pod/user", "Running");
    let object = named(&on, "data");
    on.audit(&SOON).is_near_miss("pvc-terminating-in-use", &object);

    on.delete("pvc/data");
    never("the claim goes", Duration::from_secs(2), || on.get("pvc/data").is_none());
    assert!(is_terminating(&on, "pvc/data"));
    let report = on.audit(&SOON);
    let finding = report.finding("pvc-terminating-in-use", &object).expect("high", "fixable");
    finding.says(&[
        "user",
        "policy Delete can destroy the data when the last of these pods is deleted",
        "Retain",
    ]);
    report.expect_ids(&object, &["pvc-terminating-in-use"]);
    report.is_fixture("pvc-terminating-in-use", &object);

    on.delete("pod/user");
    on.wait_gone("pvc/data");
    eventually("its data is destroyed", || !driver.has(&handle));
}

#[test]
fn d_45_a_second_pod_is_never_scheduled() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    on.create(&claim("data", &driver.class_retain));
    on.bound("data");
    on.create(&pod("first", "data"));
    on.wait_phase("pod/first", "Running");
    on.delete("pvc/data");

    let second = refused_pod(&on);
    let report = on.audit(&SOON);
    let object = named(&on, "data");
    let finding = report.finding("pvc-terminating-in-use", &object).expect("high", "report-only");
    finding.says(&["first", "the scheduler rejects them", "the volume and its data remain"]);
    let holders = finding.0["related"].to_string();
    assert!(!holders.contains("\"second-"), "it holds nothing: {finding}");

    on.delete(&second);
    on.wait_gone(&second);
    assert!(is_terminating(&on, "pvc/data"));
    on.delete("pod/first");
    on.wait_gone("pvc/data");
}

/// Creates pods of the claim that is being deleted until the scheduler refuses one, which it does once its
/// watch has shown the deletion; returns that pod.
fn refused_pod(on: &Scenario) -> String {
    for number in 0..20 {
        let second = format!("pod/second-{number}");
        on.create(&pod(second.trim_start_matches("pod/"), "data"));
        let is_placed = || !on.read(&second)["spec"]["nodeName"].is_null();
        let is_refused = || {
            let conditions = on.read(&second)["status"]["conditions"].to_string();
            conditions.contains("is being deleted")
        };
        eventually("the scheduler places or refuses it", || is_placed() || is_refused());
        if !is_placed() {
            return second;
        }
        on.delete(&second);
        on.wait_gone(&second);
    }
    panic!("the scheduler never refused a pod of a claim that is being deleted");
}

/// Workloads of all sorts that have no pod now.
fn resting(name: &str, claim: &str) -> Value {
    let spec = pod(name, claim)["spec"].clone();
    let template = json!({"metadata": {"labels": {"app": name}}, "spec": spec});
    let selector = json!({"matchLabels": {"app": name}});
    let mut job = template.clone();
    job["spec"]["restartPolicy"] = json!("Never");
    match name {
        "deployment" => json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {"replicas": 0, "selector": selector, "template": template},
        }),
        "set" => json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name},
            "spec": {"replicas": 0, "serviceName": "", "selector": selector, "template": template},
        }),
        _ => json!({
            "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name},
            "spec": {"schedule": "0 3 * * *", "suspend": true, "jobTemplate": {"spec": {"template": job}}},
        }),
    }
}

#[test]
fn d_46_claims_of_workloads_at_rest() {
    let on = Scenario::on(shared());
    let class = &shared().driver().class_retain;
    let all = ["deployment", "cron", "set", "nobody"];
    for name in all {
        on.create(&claim(name, class));
        on.bound(name);
    }
    for name in &all[..3] {
        on.create(&resting(name, name));
    }
    // Upstream would let each of them go at once.
    let report = on.audit(&[]);
    for name in &all[..3] {
        report.expect_ids(&named(&on, name), &[]);
    }
    report.is_near_miss("pvc-unused", &named(&on, "cron"));
    for name in &all[..3] {
        let said = on.explain(&format!("pvc/{name}"));
        // Of a deployment its replica set is one as well.
        assert!(said.users().iter().all(|it| it.starts_with(name)), "{said:?}");
        assert!(!said.users().is_empty(), "{said:?}");
        // Upstream waits for none of them, and the volume's policy is Retain.
        assert_eq!(said.outcomes("it is deleted"), ["deleted", "released"], "{said:?}");
    }
    let object = named(&on, "nobody");
    let finding = report.finding("pvc-unused", &object).expect("low", "report-only");
    finding.says(&["deployments", "cronjobs", "custom resources not checked"]);
    report.is_fixture("pvc-unused", &object);

    on.delete("pvc/set");
    on.wait_gone("pvc/set");
}

#[test]
fn d_47_an_ephemeral_volume_and_a_namesake_of_one() {
    let on = Scenario::on(shared());
    let class = &shared().driver().class_delete;
    on.create(&claim("other-scratch", class));
    on.bound("other-scratch");
    on.create(&pod_with_ephemeral("own", "scratch", class));
    on.create(&pod_with_ephemeral("other", "scratch", class));
    on.wait_phase("pod/own", "Running");
    on.bound("own-scratch");

    let report = on.audit(&[]);
    let (own, other) = (named(&on, "own-scratch"), named(&on, "other-scratch"));
    report.expect_ids(&own, &[]);
    report.is_near_miss("pvc-ephemeral-name-conflict", &own);
    // It is not in use, as upstream sees it.
    report.expect_ids(&other, &["pvc-ephemeral-name-conflict", "pvc-unused"]);
    let finding = report.finding("pvc-ephemeral-name-conflict", &other);
    finding.expect("medium", "report-only").says(&["po/", "other"]);
    report.is_fixture("pvc-ephemeral-name-conflict", &other);
    assert_eq!(on.read("pod/other")["status"]["phase"], "Pending");

    on.delete("pvc/own-scratch");
    let before = on.read("pvc/other-scratch")["metadata"]["uid"].clone();
    on.delete("pvc/other-scratch");
    // It goes at once, and the name is the pod's from then on.
    eventually("the pod gets a claim of its own", || {
        on.get("pvc/other-scratch").is_some_and(|it| {
            it["metadata"]["uid"] != before
                && it["metadata"]["ownerReferences"][0]["name"] == "other"
        })
    });
    on.wait_phase("pod/other", "Running");
    on.bound("other-scratch");
    assert!(is_terminating(&on, "pvc/own-scratch"));
    let report = on.audit(&SOON);
    let finding = report.finding("pvc-terminating-in-use", &own).expect("high", "fixable");
    finding.says(&["own", "ephemeral"]);
    on.delete("pod/own");
    on.wait_gone("pvc/own-scratch");
}

#[test]
fn d_48_a_pod_that_was_deleted_by_force_and_stays() {
    let on = Scenario::on(shared());
    let class = &shared().driver().class_delete;
    on.create(&claim("data", class));
    on.bound("data");
    let mut user = pod_with_ephemeral("user", "scratch", class);
    user["metadata"]["finalizers"] = json!(["example.com/wait"]);
    let volumes = user["spec"]["volumes"].as_array_mut().expect("because it is one");
    volumes.push(json!({"name": "data", "persistentVolumeClaim": {"claimName": "data"}}));
    on.create(&user);
    on.wait_phase("pod/user", "Running");
    on.bound("user-scratch");
    let force = ["--grace-period=0", "--force", "--wait=false"];
    let delete = ["delete", "pod/user", "-n", &on.name];
    on.cluster.kubectl(&[&delete[..], &force[..]].concat());
    assert_eq!(on.read("pod/user")["metadata"]["deletionGracePeriodSeconds"], 0);

    on.delete("pvc/data");
    on.delete("pvc/user-scratch");
    on.wait_gone("pvc/user-scratch");
    never("the other claim goes", Duration::from_secs(2), || on.get("pvc/data").is_none());
    let report = on.audit(&SOON);
    let object = named(&on, "data");
    let finding = report.finding("pvc-terminating-in-use", &object).expect("high", "fixable");
    finding.says(&["user", "deletionGracePeriodSeconds"]);
    report.expect_ids(&named(&on, "user-scratch"), &[]);

    on.patch("pod/user", &json!({"metadata": {"finalizers": null}}));
    on.wait_gone("pvc/data");
}

#[test]
fn d_49_nothing_protects_a_claim() {
    let cluster = Cluster::start(Options {
        server_args: &["--disable-admission-plugins=StorageObjectInUseProtection"],
        controller_args: &["--controllers=*,-persistentvolumeclaim-protection-controller"],
        ..Options::COMPLETE
    });
    let on = Scenario::on(&cluster);
    let driver = cluster.driver_without_attachments();
    for name in ["bare", "helped", "idle"] {
        on.create(&claim(name, &driver.class_delete));
    }
    let handle = on.handle(&on.bound("bare"));
    on.bound("helped");
    on.bound("idle");
    for (pod_name, claim) in [("one", "bare"), ("two", "helped")] {
        on.create(&pod(pod_name, claim));
        on.wait_phase(&format!("pod/{pod_name}"), "Running");
    }
    std::thread::sleep(Duration::from_secs(1));
    let report = on.audit(&SOON);
    let finding = report.finding("pvc-missing-protection", &named(&on, "bare"));
    finding.expect("high", "fixable").says(&["one", "policy Delete can destroy the data"]);
    report.is_fixture("pvc-missing-protection", &named(&on, "bare"));
    let idle = report.finding("pvc-missing-protection", &named(&on, "idle"));
    idle.expect("medium", "fixable");

    // What it said would happen.
    on.delete("pvc/bare");
    on.wait_gone("pvc/bare");
    assert_eq!(on.read("pod/one")["status"]["phase"], "Running");
    eventually("the data is destroyed under a running pod", || !driver.has(&handle));

    // As it should have been: the deletion waits.
    on.patch("pvc/helped", &json!({"metadata": {"finalizers": [PROTECTION]}}));
    let helped = named(&on, "helped");
    on.audit(&SOON).is_near_miss("pvc-missing-protection", &helped);
    on.delete("pvc/helped");
    never("it goes", Duration::from_secs(2), || on.get("pvc/helped").is_none());
    let report = on.audit(&SOON);
    report.expect_ids(&helped, &["pvc-terminating-in-use"]);
    report.is_near_miss("pvc-terminating-stuck", &helped);

    // Nobody removes it any more when the pod goes.
    on.delete("pod/two");
    on.wait_gone("pod/two");
    let report = on.audit(&SOON);
    report.expect_ids(&helped, &["pvc-terminating-stuck"]);
    let finding = report.finding("pvc-terminating-stuck", &helped).expect("medium", "blocked");
    finding.says(&[
        "kube-controller-manager",
        "policy Delete can destroy the data when its last finalizer is removed",
    ]);
    report.is_fixture("pvc-terminating-stuck", &helped);
    cluster.restart_controllers(&[]);
    on.wait_gone("pvc/helped");
}

#[test]
fn d_50_sources_of_copies() {
    const CLONE: &str = "provisioner.storage.kubernetes.io/cloning-protection";
    const SNAPSHOT: &str = "snapshot.storage.kubernetes.io/pvc-as-source-protection";
    let on = Scenario::on(shared());
    let class = &shared().driver().class_retain;
    for (name, finalizer) in [("x", CLONE), ("y", SNAPSHOT)] {
        on.create(&claim(name, class));
        on.bound(name);
        let finalizers = json!({"metadata": {"finalizers": [PROTECTION, finalizer]}});
        on.patch(&format!("pvc/{name}"), &finalizers);
    }
    // Of a class that does not exist: it stays Pending.
    let mut copy = claim("copy", &on.named("later"));
    copy["spec"]["dataSource"] = json!({"kind": "PersistentVolumeClaim", "name": "x"});
    on.create(&copy);
    on.create(&json!({
        "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
        "metadata": {"name": "shot"},
        "spec": {"volumeSnapshotClassName": "any", "source": {"persistentVolumeClaimName": "y"}},
    }));
    on.delete("pvc/x");
    on.delete("pvc/y");
    std::thread::sleep(Duration::from_secs(2));
    let report = on.audit(&SOON);
    let (x, y) = (named(&on, "x"), named(&on, "y"));
    report.expect_not(&x, "pvc-source-finalizer-stuck");
    report.is_near_miss("pvc-source-finalizer-stuck", &y);
    assert!(is_terminating(&on, "pvc/x") && is_terminating(&on, "pvc/y"));

    on.delete("volumesnapshot/shot");
    on.delete("pvc/copy");
    on.wait_gone("pvc/copy");
    on.wait_gone("volumesnapshot/shot");
    let report = on.audit(&SOON);
    let finding = report.finding("pvc-source-finalizer-stuck", &y);
    finding.expect("medium", "blocked").says(&[SNAPSHOT, "no snapshot of it is in progress"]);
    report.is_fixture("pvc-source-finalizer-stuck", &y);
    on.patch("pvc/y", &json!({"metadata": {"finalizers": null}}));
    // csi-provisioner removes its own.
    on.wait_gone("pvc/x");
}

#[test]
fn d_51_volumes_are_protected_only_while_they_are_bound() {
    let on = Scenario::on(shared());
    let (free, taken) = (on.named("free"), on.named("taken"));
    for name in [&free, &taken] {
        on.create(&PersistentVolume::host_path(name, "/tmp/any").0);
        on.wait_phase(&format!("pv/{name}"), "Available");
    }
    let mut data = claim("data", "");
    data["spec"]["volumeName"] = json!(taken);
    on.create(&data);
    on.bound("data");
    on.create(&pod("user", "data"));
    let report = on.audit(&[]);
    report.expect_ids(&named(&on, "data"), &[]);

    on.delete(&format!("pv/{free}"));
    on.wait_gone(&format!("pv/{free}"));
    on.terminate(&taken);
    let object = format!("pv/{taken}");
    never("it goes", Duration::from_secs(2), || on.get(&object).is_none());
    let report = on.audit(&[]);
    report.finding("pv-terminating-bound", &object).expect("high", "report-only");
    report.expect_ids(&named(&on, "data"), &[]);
    on.delete("pod/user");
    on.delete("pvc/data");
    on.wait_gone(&object);
}
