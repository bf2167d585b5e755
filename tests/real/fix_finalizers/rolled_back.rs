//! `HonorPVReclaimPolicy` was switched on, used and switched off again: KEP-2644 with a real rollback.

use std::fs;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use super::{Admin, IN_TREE, because, finalizers, fix, is_one_removal, lines, tested};
use crate::support::{Cluster, Mark, Options, Scenario, Write, claim, eventually, host_path_class};

const OFF: [&str; 1] = ["--feature-gates=HonorPVReclaimPolicy=false"];
const ON: [&str; 1] = ["--feature-gates=HonorPVReclaimPolicy=true"];

/// A bound volume of the in-tree provisioner, with somebody's file.
struct Volume {
    claim: String,
    name: String,
    object: String,
    folder: PathBuf,
}

impl Volume {
    fn provisioned(on: &Scenario, claimed: &str, class: &str) -> Self {
        on.create(&claim(claimed, class));
        let name = on.bound(claimed);
        let folder = on.folder(&name);
        fs::write(folder.join("ledger"), claimed).expect("because the folder is there");
        Self { claim: claimed.to_owned(), object: format!("pv/{name}"), name, folder }
    }

    fn delete_claim(&self, on: &Scenario) {
        let claim = format!("pvc/{}", self.claim);
        on.delete(&claim);
        on.wait_gone(&claim);
    }

    /// Deleted in the order that the feature is about, and half way.
    fn hangs(&self, on: &Scenario) -> bool {
        let Some(live) = on.get(&self.object) else { return false };
        !live["metadata"]["deletionTimestamp"].is_null() && live["status"]["phase"] == "Released"
    }
}

fn cluster(args: &'static [&str]) -> Cluster {
    let options = Options { version: "1.32.2", controller_args: args, ..Options::CONTROLLERS };
    Cluster::start(options)
}

fn classes(on: &Scenario) {
    on.create(&host_path_class("delete", "Delete"));
    on.create(&host_path_class("retain", "Retain"));
}

/// What was sent besides the record of backend volumes that are left behind: it holds one while its object is gone and
/// nobody has deleted it yet, and nothing afterwards.
fn but_the_record(admin: &Admin, since: Mark) -> Vec<Write> {
    let mut sent = admin.sent(since);
    let is_record =
        |it: &Write| (&*it.resource, &*it.name) == ("configmaps", "kubectl-storage-kept-backends");
    assert!(sent.iter().any(is_record), "{:#?}", lines(&sent));
    sent.retain(|it| !is_record(it));
    let record = admin.on.cluster.get("kube-system", "cm/kubectl-storage-kept-backends");
    let left = record.map(|it| it["data"].clone()).unwrap_or_default();
    assert!(left.as_object().is_none_or(serde_json::Map::is_empty), "{left:#}");
    sent
}

#[test]
#[ignore = "extended suite: Kubernetes 1.32"]
fn d_84_after_a_rollback_the_folder_is_reclaimed_by_word() {
    let cluster = cluster(&ON);
    let on = Scenario::on(&cluster);
    classes(&on);
    let volume = Volume::provisioned(&on, "data", "delete");
    on.wait_finalizer(&volume.object, IN_TREE, true);
    on.terminate(&volume.name);
    cluster.restart_controllers(&OFF);
    on.delete("pvc/data");
    eventually("it hangs", || volume.hangs(&on));
    sleep(Duration::from_secs(3));

    let admin = Admin::of(&on);
    let report = admin.audit(&super::SOON);
    report.finding("pv-intree-finalizer-rolled-back", &volume.object).severe("high");
    let refused = |more: &[&'static str], words: &[&str]| {
        let told = admin.refused(5, &fix(&[&[&*volume.object, "--yes"], more].concat()));
        because(&told, &volume.name, words);
    };
    refused(&[], &["--rolled-back"]);
    refused(&["--reclaim"], &["--rolled-back"]);
    refused(&["--accept-leak"], &["--rolled-back"]);
    refused(&["--rolled-back"], &["--accept-leak", "--reclaim"]);
    assert!(volume.folder.is_dir());

    let (before, mark) = (on.read(&volume.object), cluster.mark());
    let args = fix(&[&volume.object, "--rolled-back", "--reclaim", "--yes"]);
    let told = admin.run(&args).ends(0);
    assert_eq!(told.outcomes("done"), [&*volume.name], "{:#}", told.json);
    let sent = but_the_record(&admin, mark);
    let [dry, rehearsed, real, made_dry, made] = &sent[..] else { panic!("{:#?}", lines(&sent)) };
    assert_eq!(dry.line(), format!("dry patch persistentvolumes {}", volume.name));
    assert_eq!(real.line(), format!("patch persistentvolumes {}", volume.name));
    is_one_removal(&real.body, &before, IN_TREE);
    let policy = tested(&real.body, "/spec/persistentVolumeReclaimPolicy");
    assert_eq!(policy, Some(&serde_json::json!("Delete")));
    for rehearsed in [rehearsed, made_dry] {
        assert_eq!(rehearsed.line(), format!("dry create persistentvolumes {}", made.name));
    }
    assert_eq!(made.line(), format!("create persistentvolumes {}", made.name));
    assert!(made.name.starts_with("kubectl-storage-reclaim-"), "{}", made.name);
    let path = volume.folder.display().to_string();
    assert_eq!(made.body["spec"]["hostPath"]["path"], path);
    assert!(!volume.folder.exists());
    for gone in [&volume.object, &format!("pv/{}", made.name)] {
        assert!(on.get(gone).is_none(), "{gone} is there");
    }
    admin.refused(5, &args);
}

/// Upgrade, use, roll back, hang, repair, upgrade again. Of five folders those are left that somebody wanted to keep.
#[test]
#[ignore = "extended suite: Kubernetes 1.32"]
fn the_whole_chain_of_an_upgrade_that_was_taken_back() {
    let cluster = cluster(&OFF);
    let on = Scenario::on(&cluster);
    classes(&on);
    let early = Volume::provisioned(&on, "early", "delete");
    let retained = Volume::provisioned(&on, "retained", "retain");
    assert!(!on.has_finalizer(&early.object, IN_TREE));

    // Upgraded, and used.
    cluster.restart_controllers(&ON);
    on.wait_finalizer(&early.object, IN_TREE, true);
    let late = ["first", "second", "living"].map(|it| Volume::provisioned(&on, it, "delete"));
    let [first, second, living] = &late;
    for volume in &late {
        on.wait_finalizer(&volume.object, IN_TREE, true);
    }
    let all = [&early, &retained, first, second, living];
    let folders = || all.map(|it| it.folder.is_dir());
    on.terminate(&first.name);

    // Taken back. One volume was deleted before its claim, the other one after.
    cluster.restart_controllers(&OFF);
    first.delete_claim(&on);
    second.delete_claim(&on);
    for volume in [first, second] {
        eventually("it hangs", || volume.hangs(&on));
    }
    eventually("of the second only the object is left", || !second.folder.exists());
    sleep(Duration::from_secs(3));
    assert_eq!(folders(), [true, true, true, false, true]);
    assert_eq!(on.read(&early.object)["status"]["phase"], "Bound");

    repair(&on, first, second, living);
    assert_eq!(folders(), [true, true, false, false, true]);

    // Upgraded again: what lives is protected anew, and deleted in either order nothing hangs and nothing leaks.
    cluster.restart_controllers(&ON);
    for volume in [&early, living] {
        on.wait_finalizer(&volume.object, IN_TREE, true);
    }
    on.terminate(&early.name);
    early.delete_claim(&on);
    living.delete_claim(&on);
    retained.delete_claim(&on);
    on.wait_gone(&early.object);
    on.wait_gone(&living.object);
    on.wait_phase(&retained.object, "Released");
    assert_eq!(folders(), [false, true, false, false, false]);
    let ledger = fs::read_to_string(retained.folder.join("ledger"));
    assert_eq!(ledger.ok().as_deref(), Some("retained"));
}

/// All that hang at once, and one that lives by its name.
fn repair(on: &Scenario, first: &Volume, second: &Volume, living: &Volume) {
    let admin = Admin::of(on);
    let mut hanging = [&*first.name, &*second.name];
    hanging.sort_unstable();
    let told = admin.refused(0, &fix(&["-n", &on.name, "--yes"]));
    assert!(hanging.iter().all(|it| told.refusals().contains(it)), "{:#}", told.json);
    let mark = on.cluster.mark();
    let args = fix(&["-n", &on.name, "--rolled-back", "--reclaim", "--yes"]);
    let told = admin.run(&args).ends(0);
    assert_eq!(told.outcomes("done"), hanging, "{:#}", told.json);
    let mut written = but_the_record(&admin, mark);
    written.retain(|it| !it.dry);
    let of = |verb: &str| written.iter().filter(|it| it.verb == verb).count();
    assert_eq!((of("patch"), of("create"), written.len()), (2, 2, 4), "{:#?}", lines(&written));
    assert!(on.get(&first.object).is_none() && on.get(&second.object).is_none());

    // One that is not terminating would hang when it is deleted: its finalizer goes by its name.
    assert!(!told.changes().contains(&&*living.name));
    because(&admin.refused(5, &fix(&[&living.object, "--yes"])), &living.name, &["--rolled-back"]);
    let told = admin.run(&fix(&[&living.object, "--rolled-back", "--yes"])).ends(0);
    assert_eq!(told.outcomes("done"), [&*living.name], "{:#}", told.json);
    assert!(!finalizers(on, &living.object).contains(&IN_TREE.to_owned()));
    assert_eq!(on.read(&living.object)["status"]["phase"], "Bound");
}
