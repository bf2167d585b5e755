//! What acts, and ends in the middle of a change: the change is made and recorded, and no other one begins. What may not
//! act says so.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::Watcher;
use super::acting::{left, policy_of, switch};
use super::reporting::Reporting;
use crate::support::{Admin, Fault, Proxy, Run, Scenario, claim, eventually, pod, shared};

const MARK: &str = "storage.kubectl.dev/announced";
const IGNORE: &str = "storage.kubectl.dev/ignore";

/// Returns a kubeconfig by which `watch` runs in the namespace of the scenario, where nobody else pauses it.
pub(super) fn through(on: &Scenario, proxy: &Proxy, reporting: &Reporting) -> PathBuf {
    let text = fs::read_to_string(proxy.kubeconfig()).expect("because the testbed wrote it");
    let mut config: Value = serde_yaml::from_str(&text).expect("because it is YAML");
    config["contexts"][0]["context"]["namespace"] = json!(on.name);
    let kubeconfig = reporting.folder.path().join("kubeconfig");
    fs::write(&kubeconfig, config.to_string()).expect("because the folder is writable");
    kubeconfig
}

/// `watch -o json | head -1`, while a volume is being announced.
#[test]
#[ignore = "extended suite: the rest of what watch does"]
fn a_reader_who_goes_away_ends_no_change() {
    let on = Scenario::on(shared());
    let (admin, proxy) = (Admin::of(&on), on.cluster.proxy());
    let reporting = Reporting::with(
        "{}",
        &format!(
            "scope: {{namespaces: [{0}]}}\nleaderElection: {{}}\nclusterJournal: {0}\n\
             reconcilers: {{reclaim: {{mode: act, olderThan: 1s, grace: 1h}}}}\n\
             bounds: {{changesPerRun: 1, unchangedJudgements: 2, judgementInterval: 1s}}",
            on.name
        ),
    );
    let kubeconfig = through(&on, &proxy, &reporting);
    switch(&on, "resume");

    let volumes = ["one", "two"].map(|it| left(&on, it));
    let third = format!("pv/{}", left(&on, "three"));
    let ignored = |by: Option<&str>| json!({"metadata": {"annotations": {IGNORE: by}}});
    on.patch(&third, &ignored(Some("all tried")));
    let held = proxy.hold(Fault::hold().on("PATCH", "/persistentvolumes/").real());
    let (reader, writer) = std::io::pipe().expect("because there is room for a pipe");
    let policy = reporting.policy();
    let run = Run::of(&["watch", "-o", "json", "-f", &policy.to_string_lossy()]);
    let mut running = run.kubeconfig(&kubeconfig).start_into(writer.into(), Stdio::piped());
    let mut reader = BufReader::new(reader);
    let mut line = String::new();
    reader.read_line(&mut line).expect("because it prints lines");
    assert!(line.contains("appeared"), "{line}");
    held.wait();
    drop(reader);
    // The next finding finds nobody who reads it. An answer is waited for ten seconds.
    on.patch(&third, &ignored(None));
    running.says("ending after the change that is being made");
    assert!(!running.has_ended());
    held.release();
    let outcome = running.finish();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);

    // What had begun is done, and known to be; nothing else was begun.
    let there = format!("--cluster-journal={}", on.name);
    let told = admin.run(&["journal", &there]).ends(0);
    let entries = told.json["journals"][0]["entries"].as_array().cloned().unwrap_or_default();
    let ends: Vec<_> = entries.iter().map(|it| (&it["action"], &it["outcome"])).collect();
    let expected = ["announce", "record-announcement"].map(|it| (json!(it), json!("done")));
    assert_eq!(ends, expected.each_ref().map(|it| (&it.0, &it.1)), "{entries:#?}");
    let marked = volumes.iter().filter(|it| {
        let volume = on.read(&format!("pv/{it}"));
        volume["metadata"]["annotations"][MARK].is_string()
    });
    assert_eq!(marked.count(), 1);
    let records = on.cluster.list("kube-system", "cm");
    let of_ours = |it: &&Value| volumes.iter().any(|name| it["data"].to_string().contains(&**name));
    for record in records.iter().filter(of_ours) {
        let name = record["metadata"]["name"].as_str().unwrap_or_default();
        on.cluster.kubectl(&["delete", "cm", "-n", "kube-system", name]);
    }
}

/// Whoever may not read the announcements, or may not change volumes, is told so, and changes nothing.
#[test]
#[ignore = "extended suite: the rest of what watch does"]
fn who_may_not_announce_is_told_and_changes_nothing() {
    let on = Scenario::on(shared());
    let volume = left(&on, "kept");
    let limited = Admin::limited(&on, "limited", &[], &["get", "list", "watch"]);
    let args = ["gc", "--watch", "--older-than", "1s", "--announce", "1h", "--yes", "-n", &on.name];
    let mark = on.cluster.mark();
    let mut running = limited.by(on.cluster.kubeconfig(), &args).start();
    running.says("unknown what is announced, since you may not list configmaps in namespace");
    running.signal(Signal::INT);
    assert_eq!(running.finish().code, Some(130));

    let user = format!("--user={}", limited.name);
    let (role, in_system) = (on.named("records"), ["-n", "kube-system"]);
    let verbs = "--verb=list,create,get,update";
    let create = ["create", "role", &role, verbs, "--resource=configmaps"];
    on.cluster.kubectl(&[&create[..], &in_system].concat());
    let role_flag = format!("--role={role}");
    let bind = ["create", "rolebinding", &role, &role_flag, &user];
    on.cluster.kubectl(&[&bind[..], &in_system].concat());
    let mut running = limited.by(on.cluster.kubeconfig(), &args).start();
    let (stdout, _stderr) = running.pipes();
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).expect("because it prints lines");
    let receipt: Value = serde_json::from_str(&line).expect("each line is JSON");
    let change = &receipt["changes"][0];
    assert_eq!(
        (&change["object"]["name"], &change["outcome"]),
        (&json!(volume), &json!("refused"))
    );
    assert!(change["detail"].to_string().contains("cannot patch resource"), "{change:#}");
    running.signal(Signal::INT);
    assert_eq!(running.finish().code, Some(130));
    assert!(limited.writes(mark).is_empty());
    for kind in ["rolebinding", "role"] {
        on.cluster.kubectl(&[&["delete", kind, &role][..], &in_system].concat());
    }
}

/// The clock of the API server that answers is days ahead: nothing that an hour or a grace period decides is done.
#[test]
#[ignore = "extended suite: the rest of what watch does"]
fn nothing_is_announced_by_a_clock_that_disagrees() {
    let on = Scenario::on(shared());
    let proxy = on.cluster.proxy();
    let policy = format!(
        "scope: {{namespaces: [{0}]}}\nleaderElection: {{}}\nclusterJournal: {0}\n\
         reconcilers: {{reclaim: {{mode: act, olderThan: 1s, grace: 1h}}}}\n\
         bounds: {{unchangedJudgements: 2, judgementInterval: 1s}}",
        on.name
    );
    let reporting = Reporting::with("{}", &policy);
    let kubeconfig = through(&on, &proxy, &reporting);
    switch(&on, "resume");
    let volume = left(&on, "left");
    proxy.fault(Fault::clock(80 * 3600).on("GET", "/"));
    let watcher = Watcher::by_policy(&kubeconfig, &reporting.policy());
    watcher.says("the clock of the API server is 3d8h ahead of that of this machine");
    watcher.terminate();
    let live = on.read(&format!("pv/{volume}"));
    assert_eq!(live["metadata"]["annotations"][MARK], Value::Null);
}

/// The context, the journal and the Lease are in three namespaces: everybody looks for the record in that of the journal,
/// and one in that of the process pauses too.
#[test]
#[ignore = "extended suite: the rest of what watch does"]
fn a_pause_is_where_the_journal_is_and_of_two_the_one_that_pauses_wins() {
    let on = Scenario::on(shared());
    let namespaces = ["here", "leases"].map(|it| format!("{}-{it}", on.name));
    let [here, leases] = namespaces.each_ref().map(String::as_str);
    for name in [here, leases] {
        on.cluster.kubectl(&["create", "namespace", name]);
    }
    let reporting = Reporting::with(
        "{}",
        &format!(
            "scope: {{namespaces: [{0}]}}\nleaderElection: {{namespace: {leases}}}\nclusterJournal: {0}\n\
             reconcilers: {{rescue: {{mode: act}}}}\n\
             bounds: {{unchangedJudgements: 2, judgementInterval: 1s}}",
            on.name
        ),
    );
    let kubeconfig = reporting.folder.path().join("kubeconfig");
    let text = fs::read_to_string(on.cluster.kubeconfig()).expect("because the testbed wrote it");
    let mut config: Value = serde_yaml::from_str(&text).expect("because it is YAML");
    config["contexts"][0]["context"]["namespace"] = json!(here);
    fs::write(&kubeconfig, config.to_string()).expect("because the folder is writable");
    let policy = reporting.policy();
    let policy = policy.to_string_lossy();
    let told = |args: &[&str]| {
        let outcome = Run::of(&["watch"]).more(args).kubeconfig(&kubeconfig).go();
        assert_eq!(outcome.code, Some(0), "{args:?}: {}", outcome.stderr);
        outcome
    };

    let watcher = Watcher::by_policy(&kubeconfig, &reporting.policy());
    watcher.says("paused: nothing is changed until `watch resume` says that it may be");
    // A record elsewhere lets nothing act, and whoever writes it is told.
    eventually("it leads, and says what it reads", || {
        on.cluster.get(leases, "lease/kubectl-storage-watch").is_some_and(|it| {
            it["metadata"]["annotations"]["storage.kubectl.dev/paused-by"]
                == format!("{},{here}", on.name)
        })
    });
    let elsewhere = told(&["resume", "-n", leases]).stderr;
    let warning = format!("does not read this record: it is paused and resumed by -n {}", on.name);
    assert!(elsewhere.contains(&warning), "{elsewhere}");
    // The policy says where it is.
    told(&["resume", "-f", &policy]);
    watcher.says("resumed: reconcilers may act");
    let on_claim = |name: &str| {
        on.create(&claim(name, &shared().driver().class_delete));
        on.create(&pod(name, name));
        let volume = on.bound(name);
        on.wait_phase(&format!("pod/{name}"), "Running");
        volume
    };
    let saved = on_claim("saved");
    on.delete("pvc/saved");
    eventually("the volume is kept", || policy_of(&on, &saved) == "Retain");

    let lost = on_claim("lost");
    let paused = told(&["pause", "-n", here, "--reason", "a restore"]).stderr;
    assert!(paused.contains("sends nothing after 22s"), "{paused}");
    watcher.says("a restore");
    let status = told(&["status", "-f", &policy, "-o", "json"]);
    let shape: Value = serde_json::from_str(&status.stdout).expect("it is JSON");
    assert_eq!(shape["metadata"]["namespace"], json!(on.name));
    assert_eq!(shape["pause"]["record"], "resumed");
    let note = format!("also reads configmap {here}/kubectl-storage-watch, which is paused");
    assert!(status.stderr.contains(&note), "{}", status.stderr);
    on.delete("pvc/lost");
    // Before the pause, a process without an answer in time may have said it more than once.
    let said = watcher.said();
    let (_, since) = said.split_once("a restore").expect("because it was waited for");
    assert!(!since.contains("resumed: reconcilers may act"), "{since}");
    assert_eq!(policy_of(&on, &lost), "Delete");
    told(&["resume", "-n", here]);
    eventually("the volume is kept", || policy_of(&on, &lost) == "Retain");
    watcher.terminate();
    for name in [here, leases] {
        on.cluster.kubectl(&["delete", "namespace", name, "--wait=false"]);
    }
}

/// A snapshot, a veto, and the snapshot restored: the mark and the record are there as they were, the veto is not, and the
/// Lease was renewed minutes ago. What is due by its record is reclaimed after a whole grace period, and can be vetoed again.
#[test]
#[ignore = "extended suite: kills and restarts"]
fn after_a_restore_whoever_objected_can_object_again() {
    let on = Scenario::on(shared());
    let reporting = Reporting::with(
        "{metrics: {address: '127.0.0.1:PORT'}}",
        &format!(
            "scope: {{namespaces: [{0}]}}\nleaderElection: {{}}\nclusterJournal: {0}\n\
             reconcilers: {{reclaim: {{mode: act, olderThan: 1s, grace: 40s}}}}\n\
             bounds: {{unchangedJudgements: 2, judgementInterval: 1s}}",
            on.name
        ),
    );
    let proxy = on.cluster.proxy();
    let kubeconfig = through(&on, &proxy, &reporting);
    switch(&on, "resume");
    let volume = left(&on, "left");
    let object = format!("pv/{volume}");
    let mark = || on.read(&object)["metadata"]["annotations"][MARK].as_str().map(str::to_owned);
    let watcher = Watcher::by_policy(&kubeconfig, &reporting.policy());
    eventually("it is announced", || mark().is_some());
    let snapshot = mark().expect("it was just seen");
    watcher.kill();
    // The veto, and what the restore makes of it and of the Lease.
    on.cluster.kubectl(&["annotate", "pv", &volume, &format!("{MARK}-")]);
    on.cluster.kubectl(&["annotate", "pv", &volume, &format!("{MARK}={snapshot}")]);
    let renewed = chrono::Utc::now() - chrono::TimeDelta::minutes(40);
    let renewed = renewed.to_rfc3339_opts(chrono::SecondsFormat::Micros, true);
    on.patch("lease/kubectl-storage-watch", &json!({"spec": {"renewTime": renewed}}));
    let shown = snapshot.split(' ').next().unwrap_or_default().to_owned();
    let due = chrono::DateTime::parse_from_rfc3339(&shown).expect("it begins with a time");
    eventually("it is due by its record", || {
        chrono::Utc::now() > due + chrono::TimeDelta::seconds(5)
    });

    let watcher = Watcher::by_policy(&kubeconfig, &reporting.policy());
    eventually("it leads, and counts anew", || {
        on.read("lease/kubectl-storage-watch")["metadata"]["annotations"]
            ["storage.kubectl.dev/counts-from"]
            .as_str()
            .is_some_and(|it| chrono::DateTime::parse_from_rfc3339(it).is_ok_and(|it| it > due))
    });
    eventually("it has looked at what is announced", || {
        let announced = reporting.numbers("kubectl_storage_watch_announced");
        announced.first().map(|it| it.1) == Some(1)
    });
    assert_eq!(policy_of(&on, &volume), "Retain");
    on.cluster.kubectl(&["annotate", "pv", &volume, &format!("{MARK}-")]);
    let uid = on.read(&object)["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    eventually("the veto is recorded", || {
        on.cluster
            .get("kube-system", "configmap/kubectl-storage-vetoes")
            .is_some_and(|it| it["data"][&uid].is_string())
    });
    watcher.terminate();
    assert!(on.cluster.driver().has(&volume), "it was vetoed");
}
