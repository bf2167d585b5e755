//! What happens until the snapshot is ready, if ever.

use serde_json::json;

use super::{
    as_default, begun, bound, delete, is_untouched, name_of, says, sent, snapshot_class, snapshots,
};
use crate::support::{
    Admin, Cluster, Fault, GcePd, Options, Scenario, Told, claim, eventually, never, pod,
    real_drivers, shared,
};

/// The driver refuses the parameters of the class, for ever.
#[test]
#[ignore = "extended suite: drivers that people run"]
fn snapshot_first_that_fails_leaves_the_claim_as_it_is() {
    let world = real_drivers();
    let on = Scenario::on(&world.cluster);
    let (admin, cloud) = (Admin::of(&on), &world.gce_pd);
    let (volume, disk) = bound(&on, cloud, "data");
    let class = on.named("broken");
    let parameters = json!({"parameters": {"snapshot-type": "nonsense"}});
    on.cluster.create(&snapshot_class(&class, GcePd::DRIVER, &parameters));
    let before = on.cluster.mark();

    let wanted = ["--snapshot-class", &class, "--destroy-data", "--timeout", "15s"];
    let told = admin.run(&delete(&on, "data", &wanted)).ends(6);
    assert_eq!(told.outcomes("pending"), ["data"], "{:#}", told.json);
    let all = snapshots(&on);
    let [snapshot] = all.as_slice() else { panic!("{all:#?}") };
    let name = name_of(snapshot);
    let look = format!("`kubectl describe volumesnapshot {name} -n {}", on.name);
    says(&told, "data", &["; error: ", "nonsense", "its volume are unchanged", &look]);
    let lines = sent(&admin, before);
    let written: Vec<_> = lines.iter().filter(|it| !it.starts_with("dry ")).collect();
    assert_eq!(written, [&format!("create volumesnapshots {name}")]);
    is_untouched(&on, "data", &volume, cloud, &disk);

    // It blocks the deletion until it is given up.
    let told = admin.refused(5, &delete(&on, "data", &wanted));
    says(&told, "data", &[&format!("{name} is not ready"), "delete a VolumeSnapshot"]);
    on.delete(&format!("volumesnapshot/{name}"));
    on.wait_gone(&format!("volumesnapshot/{name}"));
    eventually("the claim is free", || {
        !on.has_finalizer("pvc/data", "snapshot.storage.kubernetes.io/pvc-as-source-protection")
    });
    let wanted = ["--snapshot-class", cloud.snapshot_class, "--keep-data"];
    admin.run(&delete(&on, "data", &wanted)).ends(0);
    assert!(cloud.has(&disk));
    on.cluster.kubectl(&["delete", "volumesnapshotclass", &class]);
}

/// What may happen while a snapshot is taken, which here takes until csi-snapshotter is started again.
#[test]
#[ignore = "extended suite: drivers that people run"]
fn snapshot_first_waits_and_whatever_happens_meanwhile_is_seen() {
    const SNAPSHOTTER: &str = "pd.csi.storage.gke.io/snapshotter";
    let cluster = Cluster::start(Options::COMPLETE);
    let cloud = GcePd::start(&cluster);
    let on = Scenario::on(&cluster);
    let admin = Admin::of(&on);
    let (volume, disk) = bound(&on, &cloud, "data");

    // The default class of the driver; a second one is no help.
    let standard = snapshot_class("standard", GcePd::DRIVER, &as_default("standard"));
    cluster.create(&standard);
    cluster.create(&snapshot_class("second", GcePd::DRIVER, &as_default("second")));
    let told = admin.refused(5, &delete(&on, "data", &["--destroy-data"]));
    says(&told, "data", &["are the default (second, standard)", "requires --snapshot-class"]);
    cluster.kubectl(&["delete", "volumesnapshotclass", "second"]);

    // It is not ready in time.
    cluster.stop_component(SNAPSHOTTER);
    let told = admin.run(&delete(&on, "data", &["--destroy-data", "--timeout", "3s"])).ends(6);
    says(&told, "data", &["is not ready to use", "its volume are unchanged"]);
    is_untouched(&on, "data", &volume, &cloud, &disk);
    let first = name_of(&snapshots(&on)[0]);
    assert_eq!(snapshots(&on)[0]["spec"]["volumeSnapshotClassName"], "standard");
    on.delete(&format!("volumesnapshot/{first}"));
    cluster.start_component(SNAPSHOTTER);
    on.wait_gone(&format!("volumesnapshot/{first}"));

    // The tool is killed. What it had begun blocks the deletion, and is told of.
    cluster.stop_component(SNAPSHOTTER);
    begun(&on, &admin, &["--destroy-data"]).kill();
    let killed = name_of(&snapshots(&on)[0]);
    let told = admin.run(&delete(&on, "data", &["--destroy-data"])).ends(5);
    says(&told, "data", &[&format!("{killed} is not ready")]);
    assert!(
        told.stderr.contains("create-snapshot") || told.stderr.contains(&killed),
        "{}",
        told.stderr
    );
    is_untouched(&on, "data", &volume, &cloud, &disk);
    cluster.start_component(SNAPSHOTTER);
    let ready = || snapshots(&on).iter().all(|it| it["status"]["readyToUse"] == true);
    eventually("it is ready", ready);
    eventually("the claim is free", || {
        !on.has_finalizer("pvc/data", "snapshot.storage.kubernetes.io/pvc-as-source-protection")
    });

    // A pod appears that uses the claim.
    cluster.stop_component(SNAPSHOTTER);
    let before = cluster.mark();
    let running = begun(&on, &admin, &["--destroy-data"]);
    on.create(&pod("late", "data"));
    cluster.start_component(SNAPSHOTTER);
    let told = Told::of(running.finish());
    assert_eq!(told.code, Some(6), "{:#}", told.json);
    says(&told, "data", &["is ready to use", "; then: in use", "late references it"]);
    let lines = sent(&admin, before);
    let written: Vec<_> = lines.iter().filter(|it| !it.starts_with("dry ")).collect();
    assert_eq!(written.len(), 1, "{written:?}");
    never("the claim is deleted", std::time::Duration::from_secs(2), || {
        !on.read("pvc/data")["metadata"]["deletionTimestamp"].is_null()
    });
    assert!(cloud.has(&disk));
    on.delete("pod/late");
    on.wait_gone("pod/late");

    // Once more: it takes another one, and says that the earlier ones remain.
    eventually("it is detached", || cluster.list("", "volumeattachments").is_empty());
    let told = admin.run(&delete(&on, "data", &["--destroy-data"])).ends(0);
    assert_eq!(told.outcomes("done"), ["data"], "{:#}", told.json);
    assert_eq!(snapshots(&on).len(), 3);
    assert!(!cloud.has(&disk));
}

/// Whoever deletes the snapshot between the claim and its data keeps the data from being destroyed.
#[test]
#[ignore = "extended suite: drivers that people run"]
fn snapshot_first_that_is_deleted_after_the_claim_keeps_the_data() {
    let world = real_drivers();
    let on = Scenario::on(&world.cluster);
    let (admin, cloud) = (Admin::of(&on), &world.gce_pd);
    let (volume, disk) = bound(&on, cloud, "data");
    let proxy = world.cluster.proxy();
    let claims = format!("/namespaces/{}/persistentvolumeclaims/data$", on.name);
    let held = proxy.hold(Fault::hold_after().on("DELETE", &claims).after(2));
    let before = on.cluster.mark();
    let wanted = ["--snapshot-class", cloud.snapshot_class, "--destroy-data"];
    let running = admin.by(proxy.kubeconfig(), &delete(&on, "data", &wanted)).start();
    held.wait();
    on.wait_gone("pvc/data");
    let name = name_of(&snapshots(&on)[0]);
    on.delete(&format!("volumesnapshot/{name}"));
    on.wait_gone(&format!("volumesnapshot/{name}"));
    held.release();
    let told = Told::of(running.finish()).ends(6);
    says(&told, "data", &[&name, "does not exist", &format!("pv/{volume} is not reclaimed")]);
    let lines = sent(&admin, before);
    let written: Vec<_> = lines.iter().filter(|it| !it.starts_with("dry ")).collect();
    let flip = format!("patch persistentvolumes {volume}");
    let create = format!("create volumesnapshots {name}");
    let delete = "delete persistentvolumeclaims data".to_owned();
    assert_eq!(written, [&create, &flip, &delete]);
    let left = on.read(&format!("pv/{volume}"));
    assert_eq!(left["spec"]["persistentVolumeReclaimPolicy"], "Retain");
    assert_eq!(left["status"]["phase"], "Released");
    assert!(cloud.has(&disk));
}

/// The CRDs are there, and the controllers are not.
#[test]
#[ignore = "extended suite: drivers that people run"]
fn snapshot_first_without_controllers_is_pending() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    let admin = Admin::of(&on);
    on.create(&claim("data", &driver.class_delete));
    let volume = on.bound("data");
    let class = on.named("class");
    shared().create(&snapshot_class(&class, &driver.name, &json!({})));
    let wanted = ["--snapshot-class", &class];

    // Nobody knows what becomes of snapshots of this driver.
    let told = admin.refused(5, &delete(&on, "data", &[&wanted[..], &["--destroy-data"]].concat()));
    says(&told, "data", &["unknown whether snapshots", "--keep-data keeps both"]);
    let more = [&wanted[..], &["--keep-data", "--timeout", "2s"]].concat();
    let told = admin.run(&delete(&on, "data", &more)).ends(6);
    says(&told, "data", &["has no VolumeSnapshotContent", "its volume are unchanged"]);
    assert_eq!(on.read(&format!("pv/{volume}"))["spec"]["persistentVolumeReclaimPolicy"], "Delete");
    assert!(on.read("pvc/data")["metadata"]["deletionTimestamp"].is_null());
    let name = name_of(&snapshots(&on)[0]);
    on.delete(&format!("volumesnapshot/{name}"));

    // Ctrl-C ends the wait; somebody who deletes the snapshot ends it too.
    let more = [&wanted[..], &["--keep-data"]].concat();
    let running = begun(&on, &admin, &more);
    running.signal(rustix::process::Signal::INT);
    let told = Told::of(running.finish());
    says(&told, "data", &["interrupted while", "its volume are unchanged"]);
    let name = name_of(&snapshots(&on)[0]);
    on.delete(&format!("volumesnapshot/{name}"));
    let running = begun(&on, &admin, &more);
    let name = name_of(&snapshots(&on)[0]);
    on.delete(&format!("volumesnapshot/{name}"));
    let told = Told::of(running.finish());
    assert_eq!((told.code, told.outcomes("failed").len()), (Some(6), 1), "{:#}", told.json);
    says(&told, "data", &["another client has deleted", "nothing else was changed"]);
    assert!(on.read("pvc/data")["metadata"]["deletionTimestamp"].is_null());
    shared().kubectl(&["delete", "volumesnapshotclass", &class]);
}

/// A server of the time before v1. What snapshot-controller would write is written by hand.
#[test]
#[ignore = "extended suite: drivers that people run"]
fn snapshot_first_speaks_the_version_that_is_served() {
    let cluster = Cluster::start(Options::COMPLETE);
    cluster.install_snapshot_api();
    for kind in ["volumesnapshots", "volumesnapshotcontents", "volumesnapshotclasses"] {
        let crd = format!("customresourcedefinition/{kind}.snapshot.storage.k8s.io");
        let mut served = cluster.get("", &crd).expect("because it was installed");
        for version in served["spec"]["versions"].as_array_mut().expect("there is one") {
            version["served"] = json!(version["name"] == "v1beta1");
        }
        cluster.try_kubectl(&["replace", "-f", "-"], &served.to_string()).expect("it is valid");
    }
    eventually("only v1beta1 is served", || {
        let group = cluster.kubectl(&["get", "--raw", "/apis/snapshot.storage.k8s.io"]);
        !group.contains("snapshot.storage.k8s.io/v1\"")
    });
    let on = Scenario::on(&cluster);
    let driver = cluster.driver();
    let admin = Admin::of(&on);
    on.create(&claim("data", &driver.class_delete));
    let volume = on.bound("data");
    let mut class = snapshot_class("old", &driver.name, &as_default("old"));
    class["apiVersion"] = json!("snapshot.storage.k8s.io/v1beta1");
    cluster.create(&class);
    let before = cluster.mark();
    let running = begun(&on, &admin, &["--keep-data"]);
    let snapshot = snapshots(&on).remove(0);
    let (name, content) = (name_of(&snapshot), on.named("content"));
    cluster.create(&json!({
        "apiVersion": "snapshot.storage.k8s.io/v1beta1", "kind": "VolumeSnapshotContent",
        "metadata": {"name": content},
        "spec": {
            "deletionPolicy": "Delete", "driver": driver.name,
            "source": {"volumeHandle": on.handle(&volume)},
            "volumeSnapshotRef": {
                "namespace": on.name, "name": name, "uid": snapshot["metadata"]["uid"],
            },
        },
    }));
    let ready = json!({"status": {"readyToUse": true, "snapshotHandle": "snap-1"}});
    on.patch_status(&format!("volumesnapshotcontent/{content}"), &ready);
    let ready = json!({"status": {"readyToUse": true, "boundVolumeSnapshotContentName": content}});
    on.patch_status(&format!("volumesnapshot/{name}"), &ready);
    let told = Told::of(running.finish()).ends(0);
    says(&told, "data", &["is ready to use", "snap-1"]);
    let sent = admin.requests(before);
    let created = sent.iter().filter(|it| it["verb"] == "create");
    let versions: Vec<_> = created
        .filter(|it| it["objectRef"]["resource"] == "volumesnapshots")
        .map(|it| it["objectRef"]["apiVersion"].clone())
        .collect();
    assert_eq!(versions, ["v1beta1", "v1beta1"]);
    assert!(on.get("pvc/data").is_none());
}
