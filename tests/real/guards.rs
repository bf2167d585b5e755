//! What stops a Released volume from being reclaimed (D-29, D-30).

use std::thread::sleep;
use std::time::Duration;

use serde_json::json;

use crate::support::{PersistentVolume, Scenario, shared};

const PAST: &str = "pv-released-past-threshold";
const SECRET: &str = "pv-deletion-secret-missing";
const SNAPSHOT: &str = "pv-released-snapshot-dependent";

/// A Released volume of the shared driver that the driver's provisioner would delete.
fn released(on: &Scenario) -> PersistentVolume {
    let driver = shared().driver();
    let name = on.named("pv");
    driver.make(&name);
    let volume = PersistentVolume::csi(&name, &driver.name, &name).left_by(&on.name, "gone");
    volume.provisioned_by(&driver.name)
}

fn create(on: &Scenario, volume: &PersistentVolume) -> String {
    on.create(&volume.0);
    let object = format!("pv/{}", on.named("pv"));
    on.wait_phase(&object, "Released");
    sleep(Duration::from_secs(2));
    object
}

/// Lists of everything that the tool reads, except what is named.
fn rights_without(resources: &[&str]) -> serde_json::Value {
    let all = [
        (
            "",
            "persistentvolumes persistentvolumeclaims pods nodes namespaces events replicationcontrollers",
        ),
        (
            "storage.k8s.io",
            "storageclasses csidrivers csinodes volumeattachments volumeattributesclasses csistoragecapacities",
        ),
        ("apps", "statefulsets deployments replicasets daemonsets"),
        ("batch", "jobs cronjobs"),
        ("coordination.k8s.io", "leases"),
        ("autoscaling", "horizontalpodautoscalers"),
        ("snapshot.storage.k8s.io", "volumesnapshots volumesnapshotcontents volumesnapshotclasses"),
        ("groupsnapshot.storage.k8s.io", "volumegroupsnapshotcontents volumegroupsnapshots"),
    ];
    let rules = all.iter().map(|(group, names)| {
        let left: Vec<_> = names.split(' ').filter(|name| !resources.contains(name)).collect();
        json!({"apiGroups": [group], "resources": left, "verbs": ["get", "list", "watch"]})
    });
    let reviews = json!({"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]});
    rules.chain([reviews]).collect()
}

#[test]
fn d_29_deletion_secret_is_missing() {
    let on = Scenario::on(shared());
    let volume = released(&on)
        .annotated("volume.kubernetes.io/provisioner-deletion-secret-name", "credentials")
        .annotated("volume.kubernetes.io/provisioner-deletion-secret-namespace", &on.name);
    let object = create(&on, &volume);

    let soon = ["--older-than", "1s"];
    let report = on.audit(&soon);
    report
        .finding(SECRET, &object)
        .expect("medium", "report-only")
        .says(&["credentials", &on.name]);
    report.is_fixture(SECRET, &object);
    report.finding(PAST, &object).expect("medium", "blocked").says(&["credentials"]);

    // Who may not ask for the Secret learns nothing about it, and nothing is planned on that.
    shared().grant("user-1", &rights_without(&[]));
    let report = shared().audit_as(&shared().kubeconfig_of("user-1"), &soon);
    assert!(report.gaps().is_empty(), "a Secret that is nobody's business is no gap: {report}");
    report.expect_ids(&object, &[PAST]);
    report.finding(PAST, &object).expect("medium", "unseen");

    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "credentials"}});
    on.create(&secret);
    let before = on.cluster.mark();
    let report = on.audit(&soon);
    report.expect_ids(&object, &[PAST]);
    report.is_near_miss(SECRET, &object);
    report.finding(PAST, &object).expect("medium", "fixable");
    let asked = on.cluster.requests_since(before);
    let mut asked = asked.iter().filter(|event| event["objectRef"]["resource"] == "secrets");
    assert!(asked.all(|event| event["verb"] == "get"), "Secrets are never listed");
}

#[test]
fn d_30_snapshot_of_the_volume() {
    let on = Scenario::on(shared());
    let object = create(&on, &released(&on));
    let content = on.named("content");
    on.create(&json!({
        "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotContent",
        "metadata": {"name": content},
        "spec": {
            "deletionPolicy": "Retain",
            "driver": shared().driver().name,
            "source": {"volumeHandle": on.named("pv")},
            "volumeSnapshotRef": {"namespace": on.name, "name": "snapshot", "uid": "00000000-0000-4000-8000-000000000030"},
        },
    }));
    let ready = |ready: bool| {
        on.patch_status(
            &format!("volumesnapshotcontent/{content}"),
            &json!({"status": {"readyToUse": ready, "snapshotHandle": "snap-30"}}),
        );
    };
    let soon = ["--older-than", "1s"];

    ready(false);
    let report = on.audit(&soon);
    report.finding(SNAPSHOT, &object).expect("high", "report-only").says(&[&content]);
    report.is_fixture(SNAPSHOT, &object);
    report.finding(PAST, &object).expect("medium", "blocked");

    ready(true);
    let report = on.audit(&soon);
    report.finding(SNAPSHOT, &object).expect("medium", "report-only").says(&[&content]);
    report.finding(PAST, &object).expect("medium", "blocked").says(&["--destroy-snapshots"]);

    shared().grant("user-2", &rights_without(&["volumesnapshotcontents"]));
    let report = shared().audit_as(&shared().kubeconfig_of("user-2"), &soon);
    assert_eq!(report.code, Some(4), "{report}");
    assert!(report.has_gap("volumesnapshotcontents", None), "{report}");
    report.finding(PAST, &object).expect("medium", "unseen");
}
