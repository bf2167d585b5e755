//! What a sceptical reader tried against `--reclaim`: every way in which a folder would go that somebody still wants,
//! or would stay and be forgotten. On Kubernetes 1.32.2, whose controller manager was rolled back.

use std::path::PathBuf;
use std::sync::LazyLock;

use super::{Admin, EXTERNAL, IN_TREE, PV_PROTECTION, STILL, because, finalizers, fix, grow_old};
use crate::support::{Cluster, Fault, Options, PersistentVolume, Scenario};

const OFF: &str = "--feature-gates=HonorPVReclaimPolicy=false";

static ROLLED_BACK: LazyLock<Cluster> = LazyLock::new(|| start(&[OFF]));

fn start(controller_args: &'static [&'static str]) -> Cluster {
    Cluster::start(Options { version: "1.32.2", controller_args, ..Options::CONTROLLERS })
}

const RECLAIM: [&str; 3] = ["--rolled-back", "--reclaim", "--yes"];

/// A volume as the rollback leaves it, with these finalizers, and its folder.
fn hang(on: &Scenario, name: &str, left: &[&str]) -> (String, PathBuf) {
    let name = on.named(name);
    let folder = crate::support::host_folder(&name);
    std::fs::create_dir_all(&folder).expect("because the folder is ours");
    let path = folder.display().to_string();
    let volume = PersistentVolume::host_path(&name, &path).left_by(&on.name, "gone");
    let volume = volume.provisioned_by("kubernetes.io/host-path");
    on.create(&volume.0);
    let object = format!("pv/{name}");
    on.wait_phase(&object, "Released");
    super::set_finalizers(on, &object, left);
    on.terminate(&name);
    // The controller manager leaves what is terminating alone.
    on.set_policy(&name, "Delete");
    grow_old();
    (name, folder)
}

/// While the object is still there, somebody says that the data is to be kept: nothing is begun that this could not
/// stop. Nobody removes `kubernetes.io/pv-protection` in that cluster.
#[test]
#[ignore = "extended suite: Kubernetes 1.32"]
fn who_says_retain_before_the_object_is_gone_keeps_the_data() {
    let cluster = start(&[OFF, "--controllers=*,-persistentvolume-protection-controller"]);
    let on = Scenario::on(&cluster);
    let admin = Admin::of(&on);
    let (name, folder) = hang(&on, "pv", &[PV_PROTECTION, IN_TREE]);
    let object = format!("pv/{name}");
    let told = admin.refused(5, &fix(&[&[&*object][..], &RECLAIM].concat()));
    because(&told, &name, &[PV_PROTECTION]);
    on.set_policy(&name, "Retain");
    super::set_finalizers(&on, &object, &[]);
    assert!(on.get(&object).is_none() && folder.is_dir());
    std::fs::remove_dir_all(folder).expect("because it is there");
}

/// What watches tell may come late: that the object is gone was asked.
#[test]
#[ignore = "extended suite: Kubernetes 1.32"]
fn a_late_watch_does_not_leave_the_folder_behind() {
    let on = Scenario::on(&ROLLED_BACK);
    let (admin, proxy) = (Admin::of(&on), ROLLED_BACK.proxy());
    let (name, folder) = hang(&on, "pv", &[IN_TREE]);
    let object = format!("pv/{name}");
    let watch = Fault::hold().on("GET", "/api/v1/persistentvolumes$").query("watch=(true|1)");
    let held = proxy.hold(watch);
    let args = fix(&[&[&*object][..], &RECLAIM].concat());
    let told = super::Told::of(admin.by(proxy.kubeconfig(), &args).start().finish());
    held.lose();
    assert_eq!(told.outcomes("done"), [&*name], "{}\n{:#}", told.stderr, told.json);
    assert!(!folder.exists());
}

/// Whoever applies manifests creates the volume again as soon as it is gone.
#[test]
#[ignore = "extended suite: Kubernetes 1.32"]
fn a_volume_that_is_created_again_at_once_keeps_its_folder() {
    let on = Scenario::on(&ROLLED_BACK);
    let (admin, proxy) = (Admin::of(&on), ROLLED_BACK.proxy());
    let (name, folder) = hang(&on, "pv", &[IN_TREE]);
    let object = format!("pv/{name}");
    let watch = Fault::hold().on("GET", "/api/v1/persistentvolumes$").query("watch=(true|1)");
    let late = proxy.hold(watch);
    let path = format!("^/api/v1/persistentvolumes/{name}$");
    let held = proxy.hold(Fault::hold_after().on("PATCH", &path).real());
    let args = fix(&[&[&*object][..], &RECLAIM].concat());
    let running = admin.by(proxy.kubeconfig(), &args).start();
    held.wait();
    let again = PersistentVolume::host_path(&name, &folder.display().to_string());
    on.create(&again.policy("Retain").0);
    held.release();
    let told = super::Told::of(running.finish());
    late.lose();
    assert!(folder.is_dir(), "{}\n{:#}", told.stderr, told.json);
    because(&told, &name, &["the same backend volume"]);
    assert!(finalizers(&on, &object).contains(&PV_PROTECTION.to_owned()));
    std::fs::remove_dir_all(folder).expect("because it is there");
}

/// The record of a leak that took two steps names an entry of the journal that can be gone on with.
#[test]
#[ignore = "extended suite: Kubernetes 1.32"]
fn the_record_of_a_leak_in_two_steps_names_the_entry_that_has_it() {
    // Of other drivers, other scenarios leave attachments that could be of the volume.
    const DRIVER: &str = "leaking.csi.example";
    const ATTACHER: &str = "external-attacher/leaking-csi-example";
    let on = Scenario::on(&STILL);
    let (admin, name) = (Admin::of(&on), on.named("pv"));
    let volume = PersistentVolume::csi(&name, DRIVER, &name).left_by(&on.name, "gone");
    let volume = volume.provisioned_by(DRIVER).policy("Delete");
    let object = super::hang(&on, &volume, &[EXTERNAL, ATTACHER]);
    let args = fix(&[&object, "--accept-leak", "--yes", "--driver-absent", DRIVER]);
    admin.run(&args).ends(0);
    let record = on.cluster.get("kube-system", "cm/kubectl-storage-kept-backends");
    let data = record.unwrap_or_default()["data"].clone();
    let all = data.as_object().cloned().unwrap_or_default();
    let kept = all.values().filter_map(|it| it.as_str()).find(|it| it.contains(&name));
    let kept: serde_json::Value =
        serde_json::from_str(kept.expect("because it was left behind")).expect("it is JSON");
    let entry = kept["entry"].to_string();
    let told =
        admin.refused(5, &["destroy-orphan", "--from-journal", &entry, "--no-secret", "--yes"]);
    let why = format!("{:#}", told.json);
    assert!(!why.contains("kept no backend volume"), "{why}");
    assert!(why.contains("csi-provisioner"), "{why}");
}
