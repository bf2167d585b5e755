//! The journal in the cluster, and what pauses those who act by it. Each scenario has the journal in its own
//! namespace.

mod leaders;
mod pause;
mod slow;

use kubectl_storage::journal::{Backend, Intent, JournalRecord, Log, SentRequest};
use kubectl_storage::model::{Kind, ObjectKey, ObjectRef};
use serde_json::{Value, json};

use crate::support::{
    Admin, Fault, Mark, Run, Running, Scenario, Told, Write, claim, eventually, shared,
};

const FIRST: &str = "configmaps kubectl-storage-journal-000001";

/// A scenario with a bound volume, whose policy is Delete.
fn bound(on: &Scenario, claimed: &str) -> String {
    on.create(&claim(claimed, &shared().driver().class_delete));
    on.bound(claimed)
}

fn policy(on: &Scenario, volume: &str) -> Value {
    on.read(&format!("pv/{volume}"))["spec"]["persistentVolumeReclaimPolicy"].clone()
}

/// The flag of the journal in the namespace of a scenario.
fn there(on: &Scenario) -> String {
    format!("--cluster-journal={}", on.name)
}

/// What was written, a line each.
fn written(admin: &Admin, since: Mark) -> Vec<String> {
    admin.sent(since).iter().filter(|it| !it.dry).map(Write::line).collect()
}

/// The entries that `journal` lists.
fn entries(told: &Told) -> Vec<Value> {
    assert_eq!(told.json["journals"][0]["notes"], json!([]), "{:#}", told.json);
    told.json["journals"][0]["entries"].as_array().cloned().unwrap_or_default()
}

/// The same person on a machine that has no journal of its own.
fn elsewhere(admin: &Admin, args: &[&str]) -> Told {
    let home = tempfile::tempdir().expect("because the temporary folder is writable");
    let told = admin.run_at(home.path(), args);
    let folders = std::fs::read_dir(home.path().join("kubectl-storage")).into_iter().flatten();
    let journals = folders
        .filter(|it| it.as_ref().is_ok_and(|folder| folder.path().join("journal.jsonl").exists()));
    assert_eq!(journals.count(), 0, "it wrote to the file of this machine");
    told
}

#[test]
fn what_a_killed_run_began_is_seen_and_undone_from_anywhere() {
    let on = Scenario::on(shared());
    let (admin, volume, proxy) = (Admin::of(&on), bound(&on, "data"), on.cluster.proxy());
    let (object, there) = (format!("pv/{volume}"), there(&on));
    let start = || -> Running {
        let args = ["retain", &object, "--yes", &there];
        let run: Run = admin.by(proxy.kubeconfig(), &args);
        run.env("XDG_STATE_HOME", admin.home.path()).start()
    };

    // Killed before the intent is stored: nothing is sent, nothing is recorded.
    let mark = on.cluster.mark();
    let held = proxy.hold(Fault::hold().on("POST", "/configmaps$").real());
    let running = start();
    held.wait();
    running.kill();
    held.lose();
    proxy.clear();
    assert_eq!(written(&admin, mark), [""; 0]);
    assert_eq!(entries(&elsewhere(&admin, &["journal", &there]).ends(0)).len(), 0);

    // Killed between the intent and the request: the entry is open, wherever one looks from.
    let held = proxy.hold(Fault::hold().on("PATCH", "/persistentvolumes/").real());
    let running = start();
    held.wait();
    running.kill();
    held.lose();
    proxy.clear();
    assert_eq!(written(&admin, mark), [format!("create {FIRST}")]);
    let open = entries(&elsewhere(&admin, &["journal", "--open", &there]).ends(0));
    assert_eq!((open.len(), &open[0]["entry"]), (1, &json!(1)), "{open:#?}");
    let look = open[0]["look"].as_str().unwrap_or_default();
    assert!(look.contains("its policy is now Delete"), "{look}");
    // The file of this machine knows nothing of it.
    assert_eq!(entries(&elsewhere(&admin, &["journal"]).ends(0)).len(), 0);

    // Another machine does it, and says what is open.
    let mark = on.cluster.mark();
    let told = elsewhere(&admin, &["retain", &object, "--yes", &there]).ends(0);
    assert_eq!(told.outcomes("done"), [&*volume], "{:#}", told.json);
    assert!(told.stderr.contains("entry c1 of the journal"), "{}", told.stderr);
    let place = format!("configmaps {}/kubectl-storage-journal-*", on.name);
    assert_eq!(told.json["metadata"]["journal"], json!(place));
    let update = format!("update {FIRST}");
    let patch = format!("patch persistentvolumes {volume}");
    assert_eq!(written(&admin, mark), [&*update, &*patch, &*update, &*update]);
    assert_eq!(policy(&on, &volume), "Retain");
    let all = entries(&elsewhere(&admin, &["journal", &there]).ends(0));
    let ends: Vec<_> = all.iter().map(|it| (&it["entry"], &it["outcome"])).collect();
    assert_eq!(ends, [(&json!(1), &json!("open")), (&json!(2), &json!("done"))]);
    assert!(all[1].get("term").is_none(), "a person leads nothing: {:#}", all[1]);

    // And a third one undoes it; without the flag there is nothing to undo.
    let told = elsewhere(&admin, &["undo", "--yes"]).ends(0);
    assert!(told.stderr.contains("no entry of the journal can be undone"), "{}", told.stderr);
    // A number of the one journal names nothing in the other.
    elsewhere(&admin, &["undo", "2", "--yes", &there]).ends(2).says(&["c2"]);
    elsewhere(&admin, &["undo", "c2", "--yes"]).ends(2).says(&["--cluster-journal"]);
    let told = elsewhere(&admin, &["undo", "c2", "--yes", &there]).ends(0);
    assert_eq!(told.outcomes("done"), [&*volume], "{:#}", told.json);
    eventually("the policy is as it was", || policy(&on, &volume) == "Delete");
    let all = entries(&elsewhere(&admin, &["journal", &there]).ends(0));
    assert_eq!((&all[1]["undone"], &all[2]["undoes"]), (&json!(true), &json!(2)));
}

#[test]
fn an_append_that_fails_forbids_the_write_and_one_without_an_answer_is_looked_up() {
    let on = Scenario::on(shared());
    let (admin, volume, proxy) = (Admin::of(&on), bound(&on, "data"), on.cluster.proxy());
    let (object, there) = (format!("pv/{volume}"), there(&on));
    let retain = ["retain", &object, "--yes", &there];

    // Who may not write the ConfigMap writes nothing, and is not even asked.
    let reads = Admin::limited(&on, "reads", &[], &["get", "list", "watch", "patch"]);
    let user = format!("--user={}", reads.name);
    let looks =
        ["create", "role", "looks", "-n", &on.name, "--verb=get,list", "--resource=configmaps"];
    on.cluster.kubectl(&looks);
    let bind = ["create", "rolebinding", "looks", "-n", &on.name, "--role=looks", &user];
    on.cluster.kubectl(&bind);
    reads.refused(5, &retain).says(&["nothing was sent", "requires get, list, create and update"]);
    // What is printed as the role is enough for the journal.
    let role = Run::of(&["rbac", "retain", &there]).go().stdout;
    on.cluster.try_kubectl(&["apply", "-f", "-"], &role).expect("it is a ClusterRole and a Role");
    let role = "--role=kubectl-storage-retain";
    on.cluster.kubectl(&["create", "rolebinding", "journal", "-n", &on.name, role, &user]);
    let check = ["rbac", "retain", "--check", &there];
    let missing = Run::of(&check).more(&["--as", &reads.name]).kubeconfig(on.cluster.kubeconfig());
    let missing = missing.go().stdout;
    assert!(!missing.contains("configmaps"), "{missing}");

    // A namespace that does not exist is told before anything is sent.
    let nowhere = format!("--cluster-journal={}-none", on.name);
    admin
        .refused(5, &["retain", &object, "--yes", &nowhere])
        .says(&["nothing was sent", "not found"]);

    // Refused when the intent is to be appended: the volume is not touched.
    let mark = on.cluster.mark();
    proxy.fault(Fault::status(403).on("POST", "/configmaps$").real());
    let told = admin.run_through(&proxy, &retain);
    assert_eq!((told.code, told.outcomes("failed")), (Some(1), vec![&*volume]), "{:#}", told.json);
    assert!(told.reason(&volume).contains("nothing was sent"), "{:#}", told.json);
    assert_eq!(written(&admin, mark), [""; 0]);
    proxy.clear();

    // Carried out without an answer: it is found, and recorded once.
    proxy.fault(Fault::reset_after().on("POST", "/configmaps$").real().times(1));
    proxy.fault(Fault::reset_after().on("PUT", "/configmaps/").real().times(1));
    admin.run_through(&proxy, &retain).ends(0);
    let update = format!("update {FIRST}");
    assert_eq!(
        written(&admin, mark),
        [
            format!("create {FIRST}"),
            format!("patch persistentvolumes {volume}"),
            update.clone(),
            update
        ]
    );
    let all = entries(&elsewhere(&admin, &["journal", &there]).ends(0));
    assert_eq!((all.len(), &all[0]["outcome"]), (1, &json!("done")), "{all:#?}");
    assert_eq!(all[0]["outcomes"].as_array().map(Vec::len), Some(2), "{all:#?}");
    proxy.clear();

    // Two at once: neither line is lost. The one has read the volume before the other's line is under way: an answer
    // about a segment is awaited for seconds, which a loaded machine needs to start a program.
    let other = bound(&on, "other");
    let second = on.cluster.proxy();
    let judging =
        second.hold(Fault::hold().on("GET", &format!("/persistentvolumes/{volume}$")).real());
    let undo = ["undo", "c1", "--yes", &there];
    let home = tempfile::tempdir().expect("because the temporary folder is writable");
    let undo = admin.by(second.kubeconfig(), &undo).env("XDG_STATE_HOME", home.path()).start();
    judging.wait();
    let held = proxy.hold(Fault::hold().on("PUT", "/configmaps/").real());
    let args = ["retain", &format!("pv/{other}"), "--yes", &there];
    let slow = admin.by(proxy.kubeconfig(), &args).env("XDG_STATE_HOME", admin.home.path()).start();
    held.wait();
    judging.release();
    Told::of(undo.finish()).ends(0);
    held.release();
    Told::of(slow.finish()).ends(0);
    let all = entries(&elsewhere(&admin, &["journal", &there]).ends(0));
    let done = all.iter().filter(|it| it["outcome"] == "done").count();
    assert_eq!((all.len(), done), (3, 3), "{all:#?}");
    assert_eq!((policy(&on, &volume), policy(&on, &other)), (json!("Delete"), json!("Retain")));
}

#[test]
fn what_the_journal_of_a_machine_says_was_destroyed_is_not_recreated_by_that_of_the_cluster() {
    let on = Scenario::on(shared());
    let (admin, there) = (Admin::of(&on), there(&on));
    on.create(&claim("data", &shared().driver().class_retain));
    let volume = on.bound("data");
    let handle = on.handle(&volume);
    on.delete("pvc/data");
    eventually("it is Released", || {
        on.read(&format!("pv/{volume}"))["status"]["phase"] == "Released"
    });
    let keep =
        ["gc", &volume, "--older-than", "1s", "--keep-backend", "--journal-only", "--yes", &there];
    eventually("it was Released for long enough", || {
        elsewhere(&admin, &keep).outcomes("done") == [&*volume]
    });

    // On another machine somebody had it destroyed, and recorded that there.
    let home = tempfile::tempdir().expect("because the temporary folder is writable");
    let folder = home.path().join("kubectl-storage").join(on.cluster.uid());
    let log = Log::open(&folder).expect("because the temporary folder is writable");
    let destroyed = Intent {
        command: "destroy-orphan".to_owned(),
        object: ObjectRef {
            key: ObjectKey::cluster_wide(Kind::PersistentVolume, "kubectl-storage-reclaim"),
            uid: None,
        },
        action: "create-volume".to_owned(),
        because: "destroy-orphan".to_owned(),
        request: SentRequest {
            method: "POST".to_owned(),
            path: "/api/v1/persistentvolumes".to_owned(),
            content_type: "application/json".to_owned(),
            body: json!({"spec": {"persistentVolumeReclaimPolicy": "Delete"}}),
        },
        pre_image: None,
        backend: Some(Backend { driver: shared().driver().name.clone(), handle }),
        capacity: None,
        keeps: false,
        adds_finalizer: None,
        removes_finalizer: None,
        undoes: None,
    };
    let run = "run".to_owned();
    let record = JournalRecord::Intent { run, at: None, intent: Box::new(destroyed) };
    log.append_all(&[record]).remove(0).expect("because there is room");

    let mark = on.cluster.mark();
    let told = admin.run_at(home.path(), &["undo", "c1", "--yes", &there]).ends(5);
    let why = "entry 1 of the journal of this machine may have had its backend volume deleted";
    assert!(told.reason(&volume).contains(why), "{:#}", told.json);
    assert!(admin.sent(mark).is_empty(), "neither a dry run nor a record is sent");
    // Whoever does not have that record undoes it.
    let told = elsewhere(&admin, &["undo", "c1", "--yes", &there]).ends(0);
    assert_eq!(told.outcomes("done"), [&*volume], "{:#}", told.json);
}
