//! Claims that are deleted through the tool: what was kept comes back with the same data, and what was to be destroyed is
//! gone, each in the way of its driver.

use std::fs;

use crate::support::{
    Admin, LocalPath, Scenario, Told, claim, eventually, host_path_class, real_drivers, shared,
};

/// Deletes the claim `data` with these flags, as somebody who reads the plan first.
fn delete(on: &Scenario, admin: &Admin, flags: &[&str]) -> (String, Told) {
    let words = [&["delete", "pvc", "data", "-n", &on.name][..], flags].concat();
    let plan = admin.run(&[&words[..], &["--dry-run"]].concat()).ends(0);
    let effect = &plan.listed("changes")[0]["effect"];
    let told = admin.run(&[&words[..], &["--yes", "--timeout", "60s"]].concat()).ends(0);
    assert_eq!(told.outcomes("done"), ["data"], "{:#}", told.json);
    (effect.to_string(), told)
}

/// Deletes the claim `data`, whose policy destroys it, keeps the volume, and gives it back.
fn kept_and_given_back(on: &Scenario, admin: &Admin, volume: &str) {
    let object = format!("pv/{volume}");
    let uid = |it: &str| on.read(it)["metadata"]["uid"].clone();
    let (first, old) = (uid(&object), uid("pvc/data"));
    let (effect, _) = delete(on, admin, &["--keep-data"]);
    assert!(effect.contains("becomes Released with its data"), "{effect}");
    assert!(on.get("pvc/data").is_none());
    let kept = on.read(&object);
    assert_eq!(kept["status"]["phase"], "Released");
    assert_eq!(kept["spec"]["persistentVolumeReclaimPolicy"], "Retain");

    // csi-provisioner may remove its finalizer between the last read and the patch: nothing is written.
    let mut told = admin.run(&["rebind", &object, "--yes", "--timeout", "60s"]);
    if told.outcomes("stale").len() == 1 {
        told = admin.run(&["rebind", &object, "--yes", "--timeout", "60s"]);
    }
    let told = told.ends(0);
    assert_eq!(told.outcomes("done").len(), 1, "{:#}", told.json);
    assert_eq!(on.bound("data"), volume);
    assert_eq!(uid(&object), first, "it is the same volume");
    assert_ne!(uid("pvc/data"), old, "it is another claim");
}

#[test]
#[ignore = "extended suite: drivers that people run"]
fn gce_pd_disk_survives_its_claim_and_comes_back() {
    let world = real_drivers();
    let on = Scenario::on(&world.cluster);
    let (admin, cloud) = (Admin::of(&on), &world.gce_pd);
    on.create(&claim("data", &cloud.class_delete));
    let volume = on.bound("data");
    let disk = on.handle(&volume);
    kept_and_given_back(&on, &admin, &volume);
    assert_eq!(on.handle(&volume), disk);
    assert_eq!(cloud.operations_on(&disk), ["insert"], "the cloud was asked for nothing else");
}

#[test]
#[ignore = "extended suite: drivers that people run"]
fn gce_pd_disk_is_destroyed_with_its_claim() {
    let world = real_drivers();
    let on = Scenario::on(&world.cluster);
    let (admin, cloud) = (Admin::of(&on), &world.gce_pd);
    for name in ["data", "neighbour"] {
        on.create(&claim(name, &cloud.class_delete));
    }
    let (volume, neighbour) = (on.bound("data"), on.bound("neighbour"));
    let (disk, other) = (on.handle(&volume), on.handle(&neighbour));
    let (effect, _) = delete(&on, &admin, &["--destroy-data"]);
    assert!(effect.contains("csi-provisioner of pd.csi.storage.gke.io deletes"), "{effect}");
    on.wait_gone(&format!("pv/{volume}"));
    assert!(!cloud.has(&disk));
    assert_eq!(cloud.operations_on(&disk), ["insert", "delete"]);
    assert!(cloud.has(&other), "its neighbour stays");
}

#[test]
#[ignore = "extended suite: drivers that people run"]
fn local_path_directory_survives_its_claim_and_comes_back() {
    let world = real_drivers();
    let on = Scenario::on(&world.cluster);
    let (admin, driver) = (Admin::of(&on), &world.local_path);
    on.create(&LocalPath::claim("data", &driver.class_delete, "node-1"));
    let volume = on.bound("data");
    let folder = driver.folder(&on.read(&format!("pv/{volume}")));
    fs::write(folder.join("orders"), "all of them").expect("because the directory is there");
    kept_and_given_back(&on, &admin, &volume);
    let read = fs::read_to_string(folder.join("orders")).expect("because it was kept");
    assert_eq!(read, "all of them");
    assert_eq!(driver.folder(&on.read(&format!("pv/{volume}"))), folder);
}

#[test]
#[ignore = "extended suite: drivers that people run"]
fn local_path_directory_is_destroyed_with_its_claim() {
    let world = real_drivers();
    let on = Scenario::on(&world.cluster);
    let (admin, driver) = (Admin::of(&on), &world.local_path);
    on.create(&LocalPath::claim("data", &driver.class_delete, "node-1"));
    let volume = on.bound("data");
    let folder = driver.folder(&on.read(&format!("pv/{volume}")));
    assert!(folder.is_dir());
    // A pod with which the provisioner makes another volume mounts the directory of all.
    let helper = LocalPath::helper(&folder);
    world.cluster.create(&helper);
    let (effect, _) = delete(&on, &admin, &["--destroy-data"]);
    assert!(effect.contains(LocalPath::PROVISIONER), "{effect}");
    on.wait_gone(&format!("pv/{volume}"));
    assert!(!folder.exists());
    let helper = helper["metadata"]["name"].as_str().expect("because it has one");
    world.cluster.delete(LocalPath::NAMESPACE, &format!("pod/{helper}"));
}

#[test]
#[ignore = "extended suite: drivers that people run"]
fn in_tree_folder_survives_its_claim_and_comes_back() {
    let on = Scenario::on(shared());
    let (admin, class) = (Admin::of(&on), on.named("class"));
    on.create(&host_path_class(&class, "Delete"));
    on.create(&claim("data", &class));
    let volume = on.bound("data");
    let folder = on.folder(&volume);
    fs::write(folder.join("orders"), "all of them").expect("because the folder is there");
    kept_and_given_back(&on, &admin, &volume);
    let read = fs::read_to_string(folder.join("orders")).expect("because it was kept");
    assert_eq!(read, "all of them");
}

#[test]
#[ignore = "extended suite: drivers that people run"]
fn in_tree_folder_is_destroyed_with_its_claim() {
    let on = Scenario::on(shared());
    let (admin, class) = (Admin::of(&on), on.named("class"));
    on.create(&host_path_class(&class, "Delete"));
    on.create(&claim("data", &class));
    let volume = on.bound("data");
    let folder = on.folder(&volume);
    let (effect, _) = delete(&on, &admin, &["--destroy-data"]);
    assert!(effect.contains("kube-controller-manager"), "{effect}");
    on.wait_gone(&format!("pv/{volume}"));
    eventually("the folder is gone", || !folder.exists());
}
