//! The GCE PD CSI driver: disks, attachments and snapshots of a cloud.

use serde_json::{Value, json};

use super::{age, gc, only_the_policy_was_sent, release};
use crate::support::{
    Admin, GcePd, PersistentVolume, RealDrivers, Scenario, claim, eventually, pod, real_drivers,
};

/// A bound volume, and the handle of its disk.
fn provisioned(on: &Scenario, world: &RealDrivers, claimed: &str) -> (String, String) {
    on.create(&claim(claimed, &world.gce_pd.class_retain));
    let volume = on.bound(claimed);
    let disk = on.handle(&volume);
    assert!(world.gce_pd.has(&disk), "no disk {disk}");
    (volume, disk)
}

/// Takes a snapshot of a claim, and returns its handle.
fn snapshot(on: &Scenario, world: &RealDrivers, name: &str, claimed: &str) -> String {
    on.create(&json!({
        "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
        "metadata": {"name": name},
        "spec": {
            "volumeSnapshotClassName": world.gce_pd.snapshot_class,
            "source": {"persistentVolumeClaimName": claimed},
        },
    }));
    let object = format!("volumesnapshot/{name}");
    eventually("the snapshot is ready", || on.read(&object)["status"]["readyToUse"] == true);
    let taken = on.read(&object);
    let content = taken["status"]["boundVolumeSnapshotContentName"].as_str();
    let content = on.read(&format!("vsc/{}", content.expect("because it is ready")));
    content["status"]["snapshotHandle"].as_str().expect("because it is ready").to_owned()
}

fn claim_from(name: &str, class: &str, snapshot: &str) -> Value {
    let mut claim = claim(name, class);
    claim["spec"]["dataSource"] =
        json!({"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": snapshot});
    claim
}

fn attachments_of(on: &Scenario, volume: &str) -> usize {
    let all = on.cluster.list("", "volumeattachments").into_iter();
    all.filter(|it| it["spec"]["source"]["persistentVolumeName"] == *volume).count()
}

#[test]
#[ignore = "extended suite: drivers that people run"]
fn gce_pd_released_volume_is_destroyed_and_its_snapshot_stays() {
    let world = real_drivers();
    let on = Scenario::on(&world.cluster);
    let (admin, cloud) = (Admin::of(&on), &world.gce_pd);
    let (volume, disk) = provisioned(&on, &world, "data");
    let (used, disk_in_use) = provisioned(&on, &world, "used");
    let description = cloud.disk(&disk)["description"].to_string();
    for part in [&volume, "data", &on.name] {
        assert!(description.contains(part), "{description}");
    }
    let taken = snapshot(&on, &world, "nightly", "data");
    let report = on.audit(&[]);
    for name in [&volume, &used] {
        report.expect_ids(&format!("pv/{name}"), &[]);
    }
    release(&on, "data", &volume);
    let before = on.cluster.mark();

    let told = admin.run(&gc(&on)).ends(0);
    assert_eq!(told.outcomes("done"), [&*volume], "{:#}", told.json);
    only_the_policy_was_sent(&admin, before, &volume);
    assert!(on.get(&format!("pv/{volume}")).is_none());
    assert!(!cloud.has(&disk));
    assert_eq!(cloud.operations_on(&disk), ["insert", "delete"]);
    assert!(cloud.has(&disk_in_use));
    assert_eq!(on.read(&format!("pv/{used}"))["status"]["phase"], "Bound");

    // A snapshot of this driver needs no disk.
    assert_eq!(cloud.snapshot(&taken)["status"], "READY");
    on.create(&claim_from("restored", &cloud.class_delete, "nightly"));
    let restored = on.handle(&on.bound("restored"));
    let source = cloud.disk(&restored)["sourceSnapshot"].to_string();
    assert!(source.contains(&taken), "{source}");
    assert_eq!(cloud.operations_on(&taken), ["createSnapshot"]);
}

/// A disk that somebody made, and wrote a volume down for. The driver would delete it all the same.
#[test]
#[ignore = "extended suite: drivers that people run"]
fn gce_pd_static_volume_is_refused_without_a_word_for_it() {
    let world = real_drivers();
    let on = Scenario::on(&world.cluster);
    let (admin, cloud) = (Admin::of(&on), &world.gce_pd);
    let name = on.named("hand");
    let (disk, neighbour) = (cloud.make(&name), cloud.make(&format!("{name}-too")));
    on.create(&PersistentVolume::csi(&name, GcePd::DRIVER, &disk).0);
    let mut wanted = claim("data", "");
    wanted["spec"]["volumeName"] = json!(name);
    on.create(&wanted);
    assert_eq!(on.bound("data"), name);
    release(&on, "data", &name);

    let told = admin.refused(5, &["gc", &name, "--older-than", "1s", "--yes"]);
    let flag = format!("--backend-exclusive pv/{name}");
    assert!(told.reason(&name).contains(&flag), "{:#}", told.json);
    assert!(cloud.has(&disk));

    on.set_policy(&name, "Delete");
    on.wait_gone(&format!("pv/{name}"));
    assert!(!cloud.has(&disk));
    assert!(cloud.has(&neighbour), "its name only begins like the other's");
}

/// Somebody attached the disk in the cloud's console. No object shows it; the cloud does not delete a disk in use.
#[test]
#[ignore = "extended suite: drivers that people run"]
fn gce_pd_disk_attached_out_of_band_stays_until_it_is_detached() {
    let world = real_drivers();
    let on = Scenario::on(&world.cluster);
    let (admin, cloud) = (Admin::of(&on), &world.gce_pd);
    let (volume, disk) = provisioned(&on, &world, "data");
    let object = format!("pv/{volume}");
    release(&on, "data", &volume);
    cloud.attach(&disk, "node-2");
    let before = on.cluster.mark();

    let told = admin.run(&[&gc(&on)[..], &["--timeout", "5s"]].concat()).ends(6);
    assert_eq!(told.outcomes("pending"), [&*volume], "{:#}", told.json);
    only_the_policy_was_sent(&admin, before, &volume);
    let about = format!("--field-selector=involvedObject.name={volume},reason=VolumeFailedDelete");
    let events = || on.cluster.kubectl(&["get", "events", "-n", "default", &about, "-o", "json"]);
    eventually("the driver says why", || events().contains("already being used by"));
    assert_eq!(on.read(&object)["status"]["phase"], "Released");
    assert!(cloud.has(&disk));

    cloud.detach(&disk, "node-2");
    on.wait_gone(&object);
    assert!(!cloud.has(&disk));
}

/// The pod and its claim are gone, and nobody has detached the disk yet, as the attacher is down.
#[test]
#[ignore = "extended suite: drivers that people run"]
fn gce_pd_attached_volume_is_refused_until_it_is_detached() {
    let world = real_drivers();
    let on = Scenario::on(&world.cluster);
    let (admin, cloud) = (Admin::of(&on), &world.gce_pd);
    let (volume, disk) = provisioned(&on, &world, "data");
    let mut user = pod("user", "data");
    user["spec"]["nodeName"] = json!("node-1");
    on.create(&user);
    eventually("the disk is attached", || cloud.nodes_of(&disk) == ["node-1"]);
    world.cluster.stop_component(GcePd::ATTACHER);
    on.delete("pod/user");
    on.wait_gone("pod/user");
    release(&on, "data", &volume);

    let named = ["gc", &volume, "--older-than", "1s", "--yes"];
    let told = admin.refused(5, &named);
    assert!(told.reason(&volume).contains("references it on node node-1"), "{:#}", told.json);
    assert_eq!(cloud.nodes_of(&disk), ["node-1"]);

    world.cluster.start_component(GcePd::ATTACHER);
    eventually("it is detached", || attachments_of(&on, &volume) == 0);
    assert_eq!(cloud.nodes_of(&disk), [""; 0]);
    let told = admin.run(&named).ends(0);
    assert_eq!(told.outcomes("done"), [&*volume], "{:#}", told.json);
    assert!(!cloud.has(&disk));
    assert_eq!(cloud.operations_on(&disk), ["insert", "attachDisk", "detachDisk", "delete"]);
}

/// One volume names the zone of its disk, the other, as a migration from the in-tree plugin leaves it, does not.
#[test]
#[ignore = "extended suite: drivers that people run"]
fn gce_pd_disk_of_an_unspecified_zone_is_the_same_disk() {
    let world = real_drivers();
    let on = Scenario::on(&world.cluster);
    let (admin, cloud) = (Admin::of(&on), &world.gce_pd);
    let (used, left) = (on.named("used"), on.named("left"));
    let disk = cloud.make(&used);
    let anywhere = format!("projects/UNSPECIFIED/zones/UNSPECIFIED/disks/{used}");
    on.create(&PersistentVolume::csi(&used, GcePd::DRIVER, &anywhere).0);
    let mut wanted = claim("data", "");
    wanted["spec"]["volumeName"] = json!(used);
    on.create(&wanted);
    on.bound("data");
    let left_over = PersistentVolume::csi(&left, GcePd::DRIVER, &disk).left_by(&on.name, "gone");
    on.create(&left_over.provisioned_by(GcePd::DRIVER).0);
    on.wait_phase(&format!("pv/{left}"), "Released");
    age();

    let told = admin.refused(5, &["gc", &left, "--older-than", "1s", "--yes"]);
    assert!(told.reason(&left).contains(&used), "{:#}", told.json);
    assert!(cloud.has(&disk));

    on.set_policy(&left, "Delete");
    eventually("the disk of the claim is gone", || !cloud.has(&disk));
    assert_eq!(on.read("pvc/data")["status"]["phase"], "Bound");
}
