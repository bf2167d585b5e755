//! Claims whose deletion would leave them Terminating, or lose the last record of their data.

use serde_json::json;

use super::{Admin, Scenario, because, delete, is_untouched, state};
use crate::support::{Cluster, Options, claim, shared};

const PROTECTION: &str = "kubernetes.io/pvc-protection";

#[test]
fn a_finalizer_of_others_would_leave_it_terminating() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    on.create(&claim("data", &driver.class_delete));
    let volume = on.bound("data");
    let finalizers = json!({"metadata": {"finalizers": [PROTECTION, "example.com/backup"]}});
    on.patch("pvc/data", &finalizers);
    let admin = Admin::of(&on);
    for flag in ["--keep-data", "--destroy-data"] {
        let told = admin.refused(5, &delete(&on, &["data"], &[flag]));
        let words = "it would only become Terminating, which cannot be reverted: finalizer example.com/backup";
        because(&told, "data", &[words, "the controller that set it"]);
    }
    is_untouched(&on, "data");
    assert_eq!(state(&on, &volume), ("Delete".to_owned(), "Bound".to_owned()));
    on.patch("pvc/data", &json!({"metadata": {"finalizers": [PROTECTION]}}));
}

#[test]
fn a_claim_that_does_not_exist_is_named_with_its_namesakes() {
    let on = Scenario::on(shared());
    on.create(&claim("nowhere-else", &shared().driver().class_retain));
    let admin = Admin::of(&on);
    let args = ["delete", "pvc", "nowhere-else", "-n", "default", "--yes"];
    let told = admin.refused(5, &args);
    let there = format!("there is one of this name in namespace {}", on.name);
    because(&told, "nowhere-else", &["there is no such claim in namespace default", &there]);
}

#[test]
fn claims_without_a_volume_of_their_own() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    // Nothing makes a volume for it, and none is there.
    on.create(&claim("pending", &on.named("later")));
    on.create(&claim("lost", &driver.class_retain));
    let lost = on.bound("lost");
    on.delete(&format!("pv/{lost}"));
    on.patch(&format!("pv/{lost}"), &json!({"metadata": {"finalizers": null}}));
    on.wait_phase("pvc/lost", "Lost");
    let admin = Admin::of(&on);
    let told = admin.run(&delete(&on, &["pending", "lost"], &[])).ends(6);
    assert_eq!(told.outcomes("done"), ["pending"], "{:#}", told.json);
    because(&told, "lost", &["does not exist", "last record of its data", "--keep-data"]);
    is_untouched(&on, "lost");
    let told = admin.run(&delete(&on, &["lost"], &["--keep-data"])).ends(0);
    assert_eq!(told.outcomes("done"), ["lost"], "{:#}", told.json);
}

#[test]
fn a_volume_that_is_terminating_would_be_lost_with_its_claim() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    on.create(&claim("data", &driver.class_retain));
    let volume = on.bound("data");
    on.terminate(&volume);
    let admin = Admin::of(&on);
    let told = admin.refused(5, &delete(&on, &["data"], &["--keep-data"]));
    let words = format!("pv/{volume} is Terminating: it would be deleted with the claim");
    because(&told, "data", &[&words, "no PersistentVolume would reference its backend volume"]);
    is_untouched(&on, "data");
}

#[test]
fn without_kube_controller_manager_nothing_would_remove_its_protection() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let on = Scenario::on(&cluster);
    let driver = cluster.driver();
    on.create(&claim("data", &driver.class_delete));
    let volume = on.bound("data");
    cluster.stop_component("kcm");
    let old = json!({"spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}});
    cluster.patch("kube-system", "lease/kube-controller-manager", &old);
    let admin = Admin::of(&on);
    std::thread::sleep(std::time::Duration::from_millis(2100));
    let soon = ["--keep-data", "--threshold", "driver-action=1s"];
    let told = admin.refused(5, &delete(&on, &["data"], &soon));
    because(&told, "data", &["it would only become Terminating", "kube-controller-manager"]);
    is_untouched(&on, "data");
    assert_eq!(state(&on, &volume).0, "Delete");
    cluster.start_component("kcm");
}

#[test]
fn d_49_a_claim_that_nothing_protects_is_refused_and_deleted_once_it_is_protected() {
    let cluster = Cluster::start(Options {
        server_args: &["--disable-admission-plugins=StorageObjectInUseProtection"],
        controller_args: &["--controllers=*,-persistentvolumeclaim-protection-controller"],
        ..Options::CONTROLLERS
    });
    let on = Scenario::on(&cluster);
    let driver = cluster.driver();
    on.create(&claim("data", &driver.class_delete));
    let volume = on.bound("data");
    let admin = Admin::of(&on);
    let told = admin.refused(5, &delete(&on, &["data"], &["--keep-data"]));
    because(&told, "data", &[PROTECTION, "is missing", "kubectl storage fix-finalizers"]);
    is_untouched(&on, "data");
    let fix = ["fix-finalizers", "pvc/data", "-n", &*on.name, "--yes"];
    admin.run(&fix).ends(0);
    // No controller removes it: the policy is Retain by then, and the claim remains.
    let wait = ["--keep-data", "--timeout", "3s"];
    let told = admin.run(&delete(&on, &["data"], &wait)).ends(6);
    because(&told, "data", &["it still exists", "has policy Retain, so its data remains"]);
    assert_eq!(state(&on, &volume), ("Retain".to_owned(), "Bound".to_owned()));
}
