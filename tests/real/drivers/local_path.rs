//! local-path-provisioner: directories of a node, made and removed by pods.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::{gc, release};
use crate::support::{Admin, LocalPath, PersistentVolume, Scenario, never, real_drivers};

/// The classes name directories so that one lies in the other, as happens where a pattern leaves out the volume's name.
/// Removing the outer one would erase what a claim is bound to.
#[test]
#[ignore = "extended suite: drivers that people run"]
fn local_path_directory_around_anothers_is_refused() {
    let world = real_drivers();
    let on = Scenario::on(&world.cluster);
    let admin = Admin::of(&on);
    let (outer_class, inner_class) = (on.named("outer"), on.named("inner"));
    on.create(&LocalPath::class(&outer_class, "{{ .PVC.Namespace }}"));
    on.create(&LocalPath::class(&inner_class, "{{ .PVC.Namespace }}/{{ .PVC.Name }}"));
    on.create(&LocalPath::claim("outer", &outer_class, "node-1"));
    on.create(&LocalPath::claim("inner", &inner_class, "node-1"));
    let (outer, inner) = (on.bound("outer"), on.bound("inner"));
    let folder = world.local_path.folder(&on.read(&format!("pv/{outer}")));
    let data = world.local_path.folder(&on.read(&format!("pv/{inner}"))).join("data");
    assert!(data.starts_with(&folder));
    fs::write(&data, "orders").expect("because the directory is there");
    release(&on, "outer", &outer);

    let named = ["gc", &outer, "--older-than", "1s", "--yes"];
    let told = admin.refused(5, &named);
    assert!(told.reason(&outer).contains(&inner), "{:#}", told.json);
    assert_eq!(admin.refused(0, &gc(&on)).refusals(), [&*outer]);
    assert_eq!(on.read(&format!("pv/{outer}"))["spec"]["persistentVolumeReclaimPolicy"], "Retain");
    assert!(data.exists());

    // What that was good for: somebody does by hand what was refused.
    on.set_policy(&outer, "Delete");
    on.wait_gone(&format!("pv/{outer}"));
    assert!(!data.exists());
    assert_eq!(on.read("pvc/inner")["status"]["phase"], "Bound");
}

/// This provisioner keeps no finalizer: whoever deletes the object first leaks the directory, as the report says.
#[test]
#[ignore = "extended suite: drivers that people run"]
fn local_path_volume_deleted_before_its_claim_leaks_its_directory() {
    let world = real_drivers();
    let on = Scenario::on(&world.cluster);
    on.create(&LocalPath::claim("data", &world.local_path.class_delete, "node-2"));
    let volume = on.bound("data");
    let object = format!("pv/{volume}");
    let folder = world.local_path.folder(&on.read(&object));
    let name = format!("{volume}_{}_data", on.name);
    assert!(folder.ends_with(Path::new("node-2").join(name)), "{}", folder.display());
    assert!(folder.is_dir());

    on.terminate(&volume);
    on.audit(&[]).finding("pv-leak-imminent", &object).severe("critical");
    on.delete("pvc/data");
    on.wait_gone(&object);
    never("somebody removes it", Duration::from_secs(3), || !folder.exists());
}

/// A directory that somebody made, and wrote a volume down for in its class: the provisioner does not count it as its own.
#[test]
#[ignore = "extended suite: drivers that people run"]
fn local_path_static_volume_is_refused() {
    let world = real_drivers();
    let on = Scenario::on(&world.cluster);
    let (admin, name) = (Admin::of(&on), on.named("hand"));
    let folder = world.local_path.make("node-1", &name);
    let class = &world.local_path.class_retain;
    on.create(&PersistentVolume::host_path(&name, &folder.display().to_string()).class(class).0);
    let mut wanted = LocalPath::claim("data", class, "node-1");
    wanted["spec"]["volumeName"] = json!(name);
    on.create(&wanted);
    assert_eq!(on.bound("data"), name);
    release(&on, "data", &name);

    let told = admin.refused(5, &["gc", &name, "--older-than", "1s", "--yes"]);
    assert_eq!(told.refusals(), [&*name]);
    assert!(folder.is_dir());
}

/// Deletion is what the scripts of its `ConfigMap` do, and they are anybody's to edit: the provisioner believes a helper pod
/// that reports success.
#[test]
#[ignore = "extended suite: drivers that people run"]
fn local_path_teardown_that_does_nothing_is_believed() {
    let world = real_drivers();
    let on = Scenario::on(&world.cluster);
    on.create(&LocalPath::claim("data", &world.local_path.class_retain, "node-3"));
    let volume = on.bound("data");
    let object = format!("pv/{volume}");
    let folder = world.local_path.folder(&on.read(&object));
    // Other scenarios' directories are removed.
    let script = format!("case $VOL_DIR in *{volume}*) exit 0; esac\nrm -rf \"$VOL_DIR\"\n");
    let config = format!("configmap/{}", LocalPath::CONFIG);
    world.cluster.patch(LocalPath::NAMESPACE, &config, &json!({"data": {"teardown": script}}));
    release(&on, "data", &volume);
    on.set_policy(&volume, "Delete");
    on.wait_gone(&object);
    assert!(folder.is_dir(), "it was removed");
}
