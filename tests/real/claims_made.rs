//! Claims that lost what belongs to them, do not get it, or are about to go (D-70, D-72).

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{
    Cluster, DriverOptions, Options, PersistentVolume, Scenario, claim, eventually, never, pod,
    shared,
};

const SOON: [&str; 6] =
    ["--threshold", "pvc-pending=1s", "--threshold", "resync=1s", "--threshold", "detach=1s"];

fn named(on: &Scenario, claim: &str) -> String {
    format!("pvc/{}/{claim}", on.name)
}

/// A set of one pod, with a claim template, whose pod can never be scheduled.
fn waiting_set(class: &str) -> Value {
    let mut spec = pod("web", "none")["spec"].clone();
    spec.as_object_mut().expect("because it is one").remove("volumes");
    spec["nodeSelector"] = json!({"nowhere": "true"});
    let mut template = claim("data", class);
    template["metadata"] = json!({"name": "data"});
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"},
        "spec": {
            "replicas": 1, "serviceName": "",
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": spec},
            "volumeClaimTemplates": [template],
        },
    })
}

#[test]
fn d_70_the_claim_of_a_sets_pending_pod_is_made_again_empty() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    on.create(&waiting_set(&driver.class_delete));
    eventually("there is a claim", || on.get("pvc/data-web-0").is_some());
    let volume = on.bound("data-web-0");
    let handle = on.handle(&volume);
    let uid = || on.get("pvc/data-web-0").map(|it| it["metadata"]["uid"].clone());
    let before = uid();
    assert_eq!(on.read("pod/web-0")["status"]["phase"], "Pending");
    on.audit(&SOON).expect_ids(&named(&on, "data-web-0"), &[]);

    // A pod that is not scheduled does not hold it, as upstream sees it.
    on.delete("pvc/data-web-0");
    eventually("it goes at once", || uid() != before);
    // The set's controller does not listen to claims: it notices when it looks at the set again.
    on.patch("statefulset/web", &json!({"metadata": {"annotations": {"looked": "at"}}}));
    eventually("it is made again", || uid().is_some_and(|now| Some(now) != before));
    eventually("the data is destroyed", || !driver.has(&handle));
    assert_ne!(on.bound("data-web-0"), volume);
    on.audit(&SOON).expect_not(&named(&on, "data-web-0"), "pvc-unused");

    // Also without the pod for a moment, or for ever: it is the set's.
    on.patch("statefulset/web", &json!({"spec": {"replicas": 0}}));
    on.wait_gone("pod/web-0");
    on.audit(&SOON).expect_not(&named(&on, "data-web-0"), "pvc-unused");
}

/// As restored from a backup: the owner's uid is that of another life.
fn orphan(name: &str, class: &str) -> Value {
    let mut claim = claim(name, class);
    claim["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "apps/v1", "kind": "Deployment", "name": "restored",
        "uid": "00000000-dead-4000-8000-000000000000", "controller": true,
    }]);
    claim
}

#[test]
fn d_72_the_garbage_collector_is_about_to_delete_a_claim() {
    let cluster = Cluster::start(Options {
        controller_args: &["--controllers=*,-garbage-collector-controller"],
        ..Options::COMPLETE
    });
    let on = Scenario::on(&cluster);
    let driver = cluster.driver();
    let mut spec = pod("restored", "kept")["spec"].clone();
    spec["nodeSelector"] = json!({"nowhere": "true"});
    on.create(&json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "restored"},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": "a"}},
            "template": {"metadata": {"labels": {"app": "a"}}, "spec": spec},
        },
    }));
    let deployment = on.read("deployment/restored")["metadata"]["uid"].clone();
    let mut owned = orphan("owned", &driver.class_delete);
    owned["metadata"]["ownerReferences"][0]["uid"] = deployment;
    on.create(&owned);
    for name in ["kept", "doomed", "retained"] {
        on.create(&orphan(name, &driver.class_delete));
    }
    let [_, doomed, retained] = ["kept", "doomed", "retained"].map(|name| on.bound(name));
    on.bound("owned");
    let (handle, kept_handle) = (on.handle(&doomed), on.handle(&retained));

    let report = on.audit(&SOON);
    for name in ["kept", "doomed", "retained"] {
        let finding = report.finding("pvc-doomed-by-gc", &named(&on, name));
        finding
            .expect("critical", "fixable")
            .says(&["restored", "policy Delete can destroy the data"]);
    }
    report.is_fixture("pvc-doomed-by-gc", &named(&on, "doomed"));
    report.is_near_miss("pvc-doomed-by-gc", &named(&on, "owned"));

    // Two ways to save what matters: the claim, or its data.
    on.patch("pvc/kept", &json!({"metadata": {"ownerReferences": null}}));
    on.set_policy(&retained, "Retain");
    cluster.restart_controllers(&[]);
    on.wait_gone("pvc/doomed");
    on.wait_gone("pvc/retained");
    eventually("its data is destroyed", || !driver.has(&handle));
    never("the others go", Duration::from_secs(3), || {
        on.get("pvc/kept").is_none() || on.get("pvc/owned").is_none()
    });
    on.wait_phase(&format!("pv/{retained}"), "Released");
    assert!(driver.has(&kept_handle));
    on.audit(&SOON).expect_not(&named(&on, "kept"), "pvc-doomed-by-gc");
}

#[test]
fn a_claim_whose_volume_was_taken_away() {
    let on = Scenario::on(shared());
    let name = on.named("pv");
    let object = format!("pv/{name}");
    on.create(&PersistentVolume::csi(&name, "any.csi.example", &name).0);
    let mut data = claim("data", "");
    data["spec"]["volumeName"] = json!(name);
    on.create(&data);
    on.bound("data");
    on.create(&pod("user", "data"));
    on.audit(&SOON).is_near_miss("pvc-lost", &named(&on, "data"));

    on.terminate(&name);
    on.patch(&object, &json!({"metadata": {"finalizers": null}}));
    on.wait_gone(&object);
    on.wait_phase("pvc/data", "Lost");
    eventually("it is told", || {
        on.cluster.kubectl(&["get", "events", "-n", &on.name]).contains("ClaimLost")
    });
    let report = on.audit(&SOON);
    let finding = report.finding("pvc-lost", &named(&on, "data"));
    finding.expect("critical", "report-only").says(&["ClaimLost", &name, "user"]);
    report.is_fixture("pvc-lost", &named(&on, "data"));
}

/// As restored from a backup, with all its annotations, while the volume has found another claim.
#[test]
fn a_claim_that_was_restored_as_bound() {
    let on = Scenario::on(shared());
    let name = on.named("pv");
    on.create(&PersistentVolume::csi(&name, "any.csi.example", &name).0);
    let claim_of = |claim_name: &str| {
        let mut claim = claim(claim_name, "");
        claim["spec"]["volumeName"] = json!(name);
        claim
    };
    on.create(&claim_of("first"));
    on.bound("first");
    on.create(&pod("user", "first"));
    on.audit(&SOON).is_near_miss("pvc-misbound", &named(&on, "first"));

    let mut restored = claim_of("restored");
    restored["metadata"]["annotations"] = json!({"pv.kubernetes.io/bind-completed": "yes"});
    on.create(&restored);
    on.wait_phase("pvc/restored", "Lost");
    let report = on.audit(&SOON);
    let finding = report.finding("pvc-misbound", &named(&on, "restored"));
    finding.expect("critical", "report-only").says(&["first", &name]);
    report.is_fixture("pvc-misbound", &named(&on, "restored"));
    report.finding("pvc-misbound", &named(&on, "first")).says(&["restored"]);
    report.finding("pvc-lost", &named(&on, "restored"));
    report.expect_not(&named(&on, "first"), "pvc-lost");
}

#[test]
fn claims_that_stay_pending() {
    let on = Scenario::on(shared());
    let (lazy, missing) = (on.named("lazy"), on.named("missing"));
    on.create(&json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": lazy},
        "provisioner": "nobody.example.com", "volumeBindingMode": "WaitForFirstConsumer",
    }));
    on.create(&claim("no-class", &missing));
    on.create(&claim("no-pod", &lazy));
    let mut placed = claim("placed", &lazy);
    placed["metadata"]["annotations"] = json!({"volume.kubernetes.io/selected-node": "node-gone"});
    on.create(&placed);
    placed["metadata"] = json!({"name": "placed-well", "annotations": {"volume.kubernetes.io/selected-node": "node-1"}});
    on.create(&placed);
    on.create(&claim("bound", &shared().driver().class_delete));
    on.bound("bound");
    sleep(Duration::from_secs(2));

    let report = on.audit(&SOON);
    let pending = |claim: &str| report.finding("pvc-pending-too-long", &named(&on, claim));
    pending("no-class").expect("medium", "report-only").says(&[&missing, "does not exist"]);
    report.is_fixture("pvc-pending-too-long", &named(&on, "no-class"));
    pending("no-pod").expect("info", "report-only").says(&["waits for the first pod"]);
    // Its selected node is the cause.
    report.expect_not(&named(&on, "placed"), "pvc-pending-too-long");
    report.is_near_miss("pvc-pending-too-long", &named(&on, "bound"));
    let stale = report.finding("pvc-stale-selected-node", &named(&on, "placed"));
    stale.expect("medium", "report-only").says(&["node-gone", "does not exist", "annotation"]);
    report.is_fixture("pvc-stale-selected-node", &named(&on, "placed"));
    report.is_near_miss("pvc-stale-selected-node", &named(&on, "placed-well"));
    on.cluster.kubectl(&["delete", "storageclass", &lazy]);
}

/// What its provisioner says, and that it says nothing any more.
#[test]
fn a_claim_that_nobody_can_provision() {
    let on = Scenario::on(shared());
    let driver = shared().start_driver("pending.csi.example", &DriverOptions::default());
    driver
        .fault(&json!({"CreateVolume": {"fail": {"code": "INTERNAL", "message": "disk on fire"}}}));
    on.create(&claim("data", &driver.class_delete));
    eventually("it is told", || {
        on.cluster.kubectl(&["get", "events", "-n", &on.name]).contains("disk on fire")
    });
    sleep(Duration::from_secs(1));
    let object = named(&on, "data");
    let report = on.audit(&SOON);
    let finding = report.finding("pvc-pending-too-long", &object).expect("medium", "report-only");
    finding.says(&["pending.csi.example fails to provision it", "disk on fire"]);

    driver.stop("scale-to-zero");
    on.create(&claim("later", &driver.class_delete));
    sleep(Duration::from_secs(2));
    let later = named(&on, "later");
    let report = on.audit(&[&SOON[..], &["--threshold", "driver-action=1s"]].concat());
    report.finding("pvc-pending-too-long", &later).says(&["pending.csi.example"]);

    driver.fault(&json!({}));
    driver.resume();
    on.bound("data");
    on.bound("later");
    on.audit(&SOON).expect_not(&object, "pvc-pending-too-long");
}

/// The condition `Unused` of 1.36 is evidence of idle time, and no proof that nobody needs a claim.
#[test]
fn what_the_condition_unused_means() {
    let gate = "--feature-gates=PersistentVolumeClaimUnusedSinceTime=true";
    let cluster = Cluster::start(Options {
        server_args: &[gate],
        controller_args: &[gate],
        ..Options::COMPLETE
    });
    let on = Scenario::on(&cluster);
    for name in ["idle", "done", "used"] {
        on.create(&claim(name, &cluster.driver().class_retain));
        on.bound(name);
    }
    on.create(&pod("used", "used"));
    let mut spec = pod("done", "done")["spec"].clone();
    spec["restartPolicy"] = json!("Never");
    on.create(&json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "done"},
        "spec": {"template": {"spec": spec}},
    }));
    let unused = |claim: &str| {
        let conditions = on.read(&format!("pvc/{claim}"))["status"]["conditions"].clone();
        let all = conditions.as_array().cloned().unwrap_or_default();
        all.iter().find(|it| it["type"] == "Unused").map(|it| it["status"] == "True")
    };
    eventually("a pod that has ended is none", || {
        on.cluster.kubectl(&["get", "pods", "-n", &on.name]).contains("Completed")
            && unused("done") == Some(true)
    });
    eventually("the others", || (unused("idle"), unused("used")) == (Some(true), Some(false)));
    let report = on.audit(&SOON);
    let finding = report.finding("pvc-unused", &named(&on, "idle"));
    finding.trusted("corroborated").says(&["by the condition Unused"]);
    report.expect_not(&named(&on, "done"), "pvc-unused");
    report.expect_not(&named(&on, "used"), "pvc-unused");
}

#[test]
fn a_claim_held_by_the_pod_of_a_job_that_is_done() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    on.create(&claim("data", &driver.class_delete));
    on.bound("data");
    let mut spec = pod("import", "data")["spec"].clone();
    spec["restartPolicy"] = json!("Never");
    on.create(&json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "import"},
        "spec": {"template": {"spec": spec}},
    }));
    on.cluster.kubectl(&[
        "wait",
        "job/import",
        "-n",
        &on.name,
        "--for=condition=Complete",
        "--timeout=45s",
    ]);
    let report = on.audit(&SOON);
    report.expect_ids(&named(&on, "data"), &[]);
    report.is_near_miss("pvc-held-by-completed-pods", &named(&on, "data"));

    on.delete("pvc/data");
    never("the claim goes", Duration::from_secs(3), || on.get("pvc/data").is_none());
    let report = on.audit(&SOON);
    let object = named(&on, "data");
    report.expect_ids(&object, &["pvc-held-by-completed-pods"]);
    let finding = report.finding("pvc-held-by-completed-pods", &object);
    finding.expect("medium", "report-only").says(&["Succeeded", "Job import", "destroys the data"]);
    report.is_fixture("pvc-held-by-completed-pods", &object);

    on.delete("job/import");
    on.wait_gone("pvc/data");
}
