//! Attachments and the classes, snapshots and pods around them, with the real external-attacher (D-34).

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{
    Cluster, Driver, DriverOptions, Options, PersistentVolume, STILL, Scenario, claim, eventually,
    never, pod, shared,
};

/// Whatever counts as long after ten minutes does after a second.
const SOON: [&str; 2] = ["--threshold", "detach=1s"];

const ATTACHED: DriverOptions = DriverOptions {
    rbac_without: &[],
    attach: true,
    attacher: true,
    resizer: false,
    provisioner_image: None,
    provisioner_args: &[],
};

/// A pod that uses a claim on a node.
fn pod_on(name: &str, claim: &str, node: &str) -> Value {
    let mut pod = pod(name, claim);
    pod["spec"]["nodeName"] = json!(node);
    pod
}

/// The only attachment of a volume, if there is one.
fn attachment(on: &Scenario, volume: &str) -> Option<Value> {
    let mut all = on.cluster.list("", "volumeattachments").into_iter();
    all.find(|it| it["spec"]["source"]["persistentVolumeName"] == *volume)
}

/// Waits until a volume is attached, and returns its name with that of its attachment.
fn attached(on: &Scenario, claim: &str) -> (String, String) {
    let volume = on.bound(claim);
    let is_attached = || attachment(on, &volume).is_some_and(|it| it["status"]["attached"] == true);
    eventually("the volume is attached", is_attached);
    let found = attachment(on, &volume).expect("because it was just there");
    let name = found["metadata"]["name"].as_str().expect("because every object has a name");
    let object = format!("volumeattachment/{name}");
    (volume, object)
}

/// A claim of the driver, and a pod that has its volume attached.
fn in_use(on: &Scenario, driver: &Driver, node: &str) -> (String, String) {
    on.create(&claim("data", &driver.class_retain));
    on.create(&pod_on("user", "data", node));
    attached(on, "data")
}

fn detach_error(on: &Scenario, object: &str) -> String {
    let attachment = on.get(object).unwrap_or_default();
    attachment["status"]["detachError"]["message"].as_str().unwrap_or_default().to_owned()
}

/// Somebody gets rid of a volume that hangs, by removing all of its finalizers at once (T11).
#[test]
#[ignore = "extended suite: csi-attacher"]
fn d_34_a_volume_that_is_gone_while_attached() {
    let on = Scenario::on(shared());
    let driver = shared().start_driver("d34.csi.example", &ATTACHED);
    let (volume, object) = in_use(&on, &driver, "node-1");
    let report = on.audit(&SOON);
    report.is_near_miss("va-orphan-pv-missing", &object);
    report.is_near_miss("va-node-missing", &object);
    report.expect_not(&object, "va-not-referenced");
    let copy = on.read(&format!("pv/{volume}"));

    on.terminate(&volume);
    on.patch(&format!("pv/{volume}"), &json!({"metadata": {"finalizers": null}}));
    on.wait_gone(&format!("pv/{volume}"));
    let report = on.audit(&[]);
    report.finding("va-orphan-pv-missing", &object).expect("high", "blocked").says(&["node-1"]);

    // With the volume gone, the controller notices the pod's end a minute late: somebody is faster.
    on.delete("pod/user");
    on.delete(&object);
    eventually("the attacher cannot detach it", || {
        detach_error(&on, &object).contains("not found")
    });
    let report = on.audit(&[]);
    let finding = report.finding("va-orphan-pv-missing", &object);
    finding.expect("high", "blocked").says(&["not found", ".yaml`", "external-attacher"]);
    report.is_fixture("va-orphan-pv-missing", &object);
    never("somebody detaches it", Duration::from_secs(3), || on.get(&object).is_none());

    // What the report advises: the object is made again, and the attacher detaches the disk.
    let mut again = PersistentVolume::csi(&volume, &driver.name, "").0;
    again["spec"]["csi"] = copy["spec"]["csi"].clone();
    on.create(&again);
    on.wait_gone(&object);
}

/// The storage system does not let go of a disk.
#[test]
#[ignore = "extended suite: csi-attacher"]
fn a_disk_that_cannot_be_detached() {
    let on = Scenario::on(shared());
    let driver = shared().start_driver("busy.csi.example", &ATTACHED);
    let (_, object) = in_use(&on, &driver, "node-2");
    driver.fault(&json!({"ControllerUnpublishVolume": {"fail": {"code": "INTERNAL", "message": "disk is busy"}}}));
    on.delete("pod/user");
    eventually("detaching fails", || detach_error(&on, &object).contains("disk is busy"));

    on.audit(&[]).is_near_miss("va-stuck-detaching", &object);
    sleep(Duration::from_secs(1));
    let report = on.audit(&SOON);
    let finding = report.finding("va-stuck-detaching", &object);
    finding.expect("medium", "blocked").says(&["disk is busy", "running", "node-2", "Ready"]);
    report.is_fixture("va-stuck-detaching", &object);
    report.expect_not(&object, "va-not-referenced");

    driver.fault(&json!({}));
    on.wait_gone(&object);
}

/// A second pod wants a volume that only one node may have; then the first goes, and its node too,
/// while nobody controls attachments.
#[test]
#[ignore = "extended suite: csi-attacher"]
fn a_volume_that_is_held_elsewhere() {
    let cluster = Cluster::start(Options { scheduler: false, ..Options::COMPLETE });
    let on = Scenario::on(&cluster);
    let driver = cluster.start_driver("held.csi.example", &ATTACHED);
    let (volume, object) = in_use(&on, &driver, "node-1");
    cluster.stop_component("kwok"); // it would call the next pod running, volume or not
    on.create(&pod_on("next", "data", "node-2"));
    let events = || {
        let about = "--field-selector=involvedObject.name=next,reason=FailedAttachVolume";
        on.cluster.kubectl(&["get", "events", "-n", &on.name, about, "-o", "json"])
    };
    eventually("the second pod waits", || events().contains("Multi-Attach error"));
    let waiting = format!("po/{}/next", on.name);
    on.audit(&[]).is_near_miss("pod-waiting-for-volume", &waiting);
    sleep(Duration::from_secs(1));
    let report = on.audit(&SOON);
    let finding = report.finding("pod-waiting-for-volume", &waiting);
    finding.expect("medium", "report-only").says(&["Multi-Attach", "node-1", "user"]);
    report.is_fixture("pod-waiting-for-volume", &waiting);
    report.is_near_miss("va-not-referenced", &object);

    cluster.stop_component("kcm");
    on.cluster.kubectl(&["delete", "pod/user", "-n", &on.name, "--force", "--grace-period=0"]);
    let report = on.audit(&SOON);
    let finding = report.finding("va-not-referenced", &object);
    finding.expect("low", "report-only").says(&["node-1", &volume, "next"]);
    report.is_fixture("va-not-referenced", &object);
    report.finding("pod-waiting-for-volume", &waiting).says(&["where no pod uses it"]);

    on.delete("node/node-1");
    on.wait_gone("node/node-1");
    let report = on.audit(&[]);
    report.finding("va-node-missing", &object).expect("medium", "fixable").says(&["node-1"]);
    report.is_fixture("va-node-missing", &object);
}

/// Who may not list volumes is told so, and no attachment is called an orphan.
#[test]
fn volumes_that_may_not_be_listed() {
    let on = Scenario::on(&STILL);
    let (name, user) = (on.named("of-a-volume"), "user-19");
    on.create(&json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
        "metadata": {"name": name},
        "spec": {"attacher": "any.csi.example", "nodeName": "any", "source": {"persistentVolumeName": "gone"}},
    }));
    let object = &format!("volumeattachment/{name}");
    on.audit(&[]).finding("va-orphan-pv-missing", object).expect("low", "blocked");
    let all = |groups: &[&str], resources: &[&str]| json!({"apiGroups": groups, "resources": resources, "verbs": ["get", "list"]});
    let core = ["persistentvolumeclaims", "pods", "events", "nodes", "namespaces"];
    let core = [&core[..], &["replicationcontrollers"]].concat();
    let others = ["storage.k8s.io", "apps", "batch", "coordination.k8s.io", "autoscaling"];
    STILL.grant(user, &json!([all(&[""], &core), all(&others, &["*"])]));
    let audit = || STILL.audit_as(&STILL.kubeconfig_of(user), &[]);
    eventually("the authorizer knows the new role", || audit().gaps().len() == 1);
    let report = audit();
    assert!(report.has_gap("persistentvolumes", None), "{report}");
    report.expect_not(object, "va-orphan-pv-missing");
    report.finding("va-node-missing", object); // that was seen
}

#[test]
fn an_attributes_class_that_is_named() {
    let on = Scenario::on(shared());
    let class = on.named("gold");
    let object = format!("vac/{class}");
    on.create(&json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttributesClass",
        "metadata": {"name": class}, "driverName": "any.csi.example", "parameters": {"iops": "3000"},
    }));
    on.wait_finalizer(&object, "kubernetes.io/vac-protection", true);
    let mut claim = claim("data", "");
    claim["spec"]["volumeAttributesClassName"] = json!(class);
    on.create(&claim);
    on.audit(&[]).expect_not(&object, "vac-terminating-in-use");
    sleep(Duration::from_secs(1)); // until the controller has seen the claim
    on.delete(&object);
    never("it goes", Duration::from_secs(2), || on.get(&object).is_none());
    let report = on.audit(&[]);
    report.finding("vac-terminating-in-use", &object).expect("low", "report-only").says(&["data"]);
    report.is_fixture("vac-terminating-in-use", &object);

    on.delete("pvc/data");
    on.wait_gone(&object);
}

fn class(name: &str) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": name, "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": "any.csi.example",
    })
}

/// The controller gives a claim the newest default class; until then the claim waits.
#[test]
fn default_classes() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let on = Scenario::on(&cluster);
    let mut claim = claim("data", "");
    claim["spec"].as_object_mut().expect("because it is one").remove("storageClassName");
    on.create(&claim);
    on.wait_phase("pvc/data", "Pending");
    let waiting = format!("pvc/{}/data", on.name);
    on.audit(&[]).finding("class-default-count", &waiting).expect("low", "report-only");

    cluster.stop_component("kcm");
    on.create(&class("b-old"));
    let report = on.audit(&[]);
    report.is_near_miss("class-default-count", &waiting);
    report.expect_not("sc/b-old", "class-default-count");
    sleep(Duration::from_millis(1100)); // times of creation are of seconds
    on.create(&class("c-new"));
    let report = on.audit(&[]);
    report.expect_not(&waiting, "class-default-count");
    report.expect_not("sc/b-old", "class-default-count");
    let finding = report.finding("class-default-count", "sc/c-new");
    finding.expect("low", "report-only").says(&["b-old", "data"]);
    report.is_fixture("class-default-count", "sc/c-new");

    cluster.start_component("kcm");
    eventually("the claim gets the newest default", || {
        on.read("pvc/data")["spec"]["storageClassName"] == "c-new"
    });
    on.audit(&[]).expect_not("sc/c-new", "class-default-count");
}

#[test]
fn a_snapshot_that_outlived_its_volume_snapshot() {
    let on = Scenario::on(shared());
    let name = on.named("content");
    let object = format!("vsc/{name}");
    let snapshot = on.create(&json!({
        "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
        "metadata": {"name": "nightly"},
        "spec": {"source": {"persistentVolumeClaimName": "data"}},
    }));
    on.create(&json!({
        "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotContent",
        "metadata": {"name": name},
        "spec": {
            "deletionPolicy": "Retain", "driver": shared().driver().name, "source": {"volumeHandle": "vol-1"},
            "volumeSnapshotRef": {"namespace": on.name, "name": "nightly", "uid": snapshot["metadata"]["uid"]},
        },
    }));
    on.patch_status(&object, &json!({"status": {"snapshotHandle": "snap-1", "restoreSize": 1_073_741_824, "readyToUse": true}}));
    on.audit(&[]).expect_not(&object, "snapshot-content-orphan");
    on.delete("volumesnapshot/nightly");
    on.wait_gone("volumesnapshot/nightly");
    let report = on.audit(&[]);
    let finding = report.finding("snapshot-content-orphan", &object);
    finding.expect("low", "report-only").says(&["snap-1", "1073741824"]);
    report.is_fixture("snapshot-content-orphan", &object);
    on.delete(&object);
}
