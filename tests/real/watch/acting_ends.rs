//! What acts, and ends in the middle of a change: the change is made and recorded, and no other one begins. What may not
//! act says so.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::acting::left;
use super::reporting::Reporting;
use crate::support::{Admin, Fault, Run, Scenario, shared};

const MARK: &str = "storage.kubectl.dev/announced";

/// `watch -o json | head -1`, while a volume is being announced.
#[test]
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
    // It runs in the namespace of the scenario, and nobody else pauses it.
    let text = fs::read_to_string(proxy.kubeconfig()).expect("because the testbed wrote it");
    let mut config: Value = serde_yaml::from_str(&text).expect("because it is YAML");
    config["contexts"][0]["context"]["namespace"] = json!(on.name);
    let kubeconfig = reporting.folder.path().join("kubeconfig");
    fs::write(&kubeconfig, config.to_string()).expect("because the folder is writable");
    let resumed = Run::of(&["watch", "resume", "-n", &on.name]);
    let resumed = resumed.kubeconfig(on.cluster.kubeconfig()).go();
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);

    let volumes = ["one", "two"].map(|it| left(&on, it));
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
    // The next finding finds nobody who reads it.
    left(&on, "three");
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
fn who_may_not_announce_is_told_and_changes_nothing() {
    let on = Scenario::on(shared());
    let volume = left(&on, "kept");
    let limited = Admin::limited(&on, "limited", &[], &["get", "list", "watch"]);
    let args = ["gc", "-w", "--older-than", "1s", "--announce", "1h", "--yes", "-n", &on.name];
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
