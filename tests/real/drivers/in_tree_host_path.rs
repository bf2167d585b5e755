//! The in-tree plugin kubernetes.io/host-path, whose volumes the controller manager makes and deletes.

use std::fs;

use serde_json::json;

use super::{gc, only_the_policy_was_sent, release};
use crate::support::{
    Admin, HOST_PATHS, PersistentVolume, Scenario, claim, eventually, host_folder, host_path_class,
    shared,
};

#[test]
#[ignore = "extended suite: drivers that people run"]
fn in_tree_released_volume_is_destroyed_by_the_controller_manager() {
    let on = Scenario::on(shared());
    let (admin, class) = (Admin::of(&on), on.named("class"));
    on.create(&host_path_class(&class, "Retain"));
    for name in ["data", "used"] {
        on.create(&claim(name, &class));
    }
    let (volume, used) = (on.bound("data"), on.bound("used"));
    let (folder, folder_in_use) = (on.folder(&volume), on.folder(&used));
    assert!(folder.is_dir());
    release(&on, "data", &volume);
    let before = on.cluster.mark();

    let told = admin.run(&gc(&on)).ends(0);
    assert_eq!(told.outcomes("done"), [&*volume], "{:#}", told.json);
    only_the_policy_was_sent(&admin, before, &volume);
    eventually("the folder is gone", || !folder.exists());
    assert!(folder_in_use.is_dir());
}

/// A folder that somebody made, and wrote a volume down for. The controller manager deletes what lies in /tmp, whoever made
/// it; the tool does not rely on that.
#[test]
#[ignore = "extended suite: drivers that people run"]
fn in_tree_static_volume_is_refused() {
    let on = Scenario::on(shared());
    let (admin, name) = (Admin::of(&on), on.named("made-by-hand"));
    let folder = host_folder(&name);
    fs::create_dir_all(&folder).expect("because the temporary folder is writable");
    on.create(&PersistentVolume::host_path(&name, &folder.display().to_string()).0);
    let mut wanted = claim("data", "");
    wanted["spec"]["volumeName"] = json!(name);
    on.create(&wanted);
    assert_eq!(on.bound("data"), name);
    assert!(folder.starts_with(HOST_PATHS), "it goes with the scenario");
    release(&on, "data", &name);

    let told = admin.refused(5, &["gc", &name, "--older-than", "1s", "--yes"]);
    assert!(
        told.reason(&name).contains("no controller deletes static in-tree volumes"),
        "{:#}",
        told.json
    );
    assert!(folder.is_dir());

    on.set_policy(&name, "Delete");
    on.wait_gone(&format!("pv/{name}"));
    assert!(!folder.exists());
}

/// A volume that somebody wrote down for a folder within that of another.
#[test]
#[ignore = "extended suite: drivers that people run"]
fn in_tree_folder_around_anothers_is_refused() {
    let on = Scenario::on(shared());
    let (admin, class) = (Admin::of(&on), on.named("class"));
    on.create(&host_path_class(&class, "Retain"));
    on.create(&claim("outer", &class));
    let outer = on.bound("outer");
    let within = on.folder(&outer).join("within");
    fs::create_dir(&within).expect("because the folder is there");
    let inner = on.named("inner");
    on.create(&PersistentVolume::host_path(&inner, &within.display().to_string()).0);
    let mut wanted = claim("inner", "");
    wanted["spec"]["volumeName"] = json!(inner);
    on.create(&wanted);
    assert_eq!(on.bound("inner"), inner);
    release(&on, "outer", &outer);

    let told = admin.refused(5, &["gc", &outer, "--older-than", "1s", "--yes"]);
    assert!(told.reason(&outer).contains(&inner), "{:#}", told.json);
    assert!(within.is_dir());
    on.set_policy(&outer, "Delete");
    eventually("the data is gone", || !within.exists());
    assert_eq!(on.read("pvc/inner")["status"]["phase"], "Bound");
}
