//! A repair of two steps that ends after the first: the object is gone, and its backend volume is not. On Kubernetes
//! 1.32.2, whose controller manager was rolled back.

use std::path::PathBuf;
use std::sync::LazyLock;

use serde_json::json;

use super::{Admin, IN_TREE, Told, because, finalizers, fix, grow_old, lines};
use crate::support::{Cluster, Fault, Options, PersistentVolume, Scenario, eventually};

static ROLLED_BACK: LazyLock<Cluster> = LazyLock::new(|| {
    Cluster::start(Options {
        version: "1.32.2",
        controller_args: &["--feature-gates=HonorPVReclaimPolicy=false"],
        ..Options::CONTROLLERS
    })
});

const RECLAIM: [&str; 3] = ["--rolled-back", "--reclaim", "--yes"];

/// A volume as the rollback leaves it, and its folder.
fn hang(on: &Scenario, name: &str) -> (String, PathBuf) {
    let name = on.named(name);
    let folder = crate::support::host_folder(&name);
    std::fs::create_dir_all(&folder).expect("because the folder is ours");
    let path = folder.display().to_string();
    let volume = PersistentVolume::host_path(&name, &path).left_by(&on.name, "gone");
    let volume = volume.provisioned_by("kubernetes.io/host-path").finalizers(&[IN_TREE]);
    on.create(&volume.0);
    let object = format!("pv/{name}");
    on.wait_phase(&object, "Released");
    assert_eq!(on.folder(&name), folder);
    on.terminate(&name);
    on.wait_finalizer(&object, super::PV_PROTECTION, false);
    // The controller manager leaves what is terminating alone.
    on.set_policy(&name, "Delete");
    grow_old();
    (name, folder)
}

/// Whoever may do the first step and not the second is told so before the first.
#[test]
#[ignore = "extended suite: Kubernetes 1.32"]
fn who_may_not_create_volumes_reclaims_none() {
    let on = Scenario::on(&ROLLED_BACK);
    let (name, folder) = hang(&on, "pv");
    let object = format!("pv/{name}");
    let patcher = Admin::limited(&on, "patcher", &[], &["patch"]);
    eventually("the authorizer knows the new role", || {
        let who = ["auth", "can-i", "patch", "persistentvolumes", "--as", &patcher.name];
        on.cluster.try_kubectl(&who, "").is_ok()
    });
    let args = fix(&[&[&*object, "--journal-only"][..], &RECLAIM].concat());
    let told = patcher.refused(5, &args);
    because(&told, &name, &["403"]);
    // Whoever may do both is told that, and nothing is done.
    let (admin, mark) = (Admin::of(&on), on.cluster.mark());
    admin.run(&[&args[..], &["--dry-run=server"]].concat()).ends(0);
    let sent = admin.sent(mark);
    assert!(sent.len() >= 2 && sent.iter().all(|it| it.dry), "{:#?}", lines(&sent));
    assert_eq!(finalizers(&on, &object), [IN_TREE]);
    assert!(folder.is_dir());
}

/// The tool is killed between the two: what is left is written down twice, and can be gone on with.
#[test]
#[ignore = "extended suite: Kubernetes 1.32"]
fn a_run_that_is_killed_between_its_steps_leaves_a_record() {
    let on = Scenario::on(&ROLLED_BACK);
    let (admin, proxy) = (Admin::of(&on), ROLLED_BACK.proxy());
    let (name, folder) = hang(&on, "pv");
    let object = format!("pv/{name}");
    let held = proxy.hold(Fault::hold().on("POST", "/persistentvolumes$").real());
    let args = fix(&[&[&*object][..], &RECLAIM].concat());
    let running = admin.by(proxy.kubeconfig(), &args).start();
    held.wait();
    running.kill();
    held.lose();
    assert!(on.get(&object).is_none() && folder.is_dir());
    let kept = |admin: &Admin| {
        let report = admin.audit(&[]);
        let mut all = report.findings().filter(|it| it.id() == "journal-kept-backend");
        all.any(|it| it.0.to_string().contains(&name))
    };
    assert!(kept(&admin) && kept(&Admin::of(&on)));

    let mark = on.cluster.mark();
    let orphan = ["destroy-orphan", "--from-journal", "1", "--yes"];
    admin.run(&orphan).ends(0);
    assert!(!folder.exists() && !kept(&admin));
    let made = admin.sent(mark).into_iter().filter(|it| it.verb == "create" && !it.dry);
    assert_eq!(made.filter(|it| it.resource == "persistentvolumes").count(), 1);
}

/// The second step is refused by the server: the receipt says what is left, and how to go on.
#[test]
#[ignore = "extended suite: Kubernetes 1.32"]
fn a_second_step_that_fails_says_how_to_go_on() {
    let on = Scenario::on(&ROLLED_BACK);
    let (admin, proxy) = (Admin::of(&on), ROLLED_BACK.proxy());
    let (name, folder) = hang(&on, "pv");
    let denied = Fault::status(403).reason("Forbidden").message("not today");
    proxy.fault(denied.on("POST", "/persistentvolumes$").real());
    let object = format!("pv/{name}");
    let args = fix(&[&[&*object][..], &RECLAIM].concat());
    let mark = on.cluster.mark();
    let told: Told = admin.run_through(&proxy, &args).ends(6);
    assert!(told.outcomes("done").is_empty(), "{:#}", told.json);
    because(&told, &name, &["not today", "destroy-orphan --from-journal"]);
    assert!(folder.is_dir());
    let record = on.cluster.get("kube-system", "cm/kubectl-storage-kept-backends");
    let record = record.unwrap_or_default();
    assert!(record["data"].to_string().contains(&name), "{:#?}", lines(&admin.sent(mark)));
    assert_ne!(record["data"], json!({}));
    std::fs::remove_dir_all(folder).expect("because it is there");
}

/// Another volume names the same folder: it is not destroyed under it, whoever asks.
#[test]
#[ignore = "extended suite: Kubernetes 1.32"]
fn what_another_volume_names_is_not_reclaimed() {
    let on = Scenario::on(&ROLLED_BACK);
    let (admin, twin) = (Admin::of(&on), on.named("twin"));
    let (name, folder) = hang(&on, "pv");
    let path = folder.display().to_string();
    on.create(&PersistentVolume::host_path(&twin, &path).0);
    on.wait_phase(&format!("pv/{twin}"), "Available");
    let object = format!("pv/{name}");
    let args = fix(&[&[&*object][..], &RECLAIM].concat());
    because(&admin.refused(5, &args), &name, &[&*twin]);

    // One that comes when the plan was made counts as well.
    on.delete(&format!("pv/{twin}"));
    on.wait_gone(&format!("pv/{twin}"));
    let file = admin.home.path().join("plan.yaml").display().to_string();
    assert_eq!(admin.refused(0, &[&args[..], &["--plan-out", &file]].concat()).changes(), [&*name]);
    on.create(&PersistentVolume::host_path(&twin, &path).0);
    let told = admin.refused(5, &["apply", &file, "--yes"]);
    because(&told, &name, &[&*twin]);
    assert!(folder.is_dir());
    assert_eq!(finalizers(&on, &object), [IN_TREE]);
    std::fs::remove_dir_all(folder).expect("because it is there");
}
