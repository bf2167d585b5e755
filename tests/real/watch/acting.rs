//! `watch` with reconcilers that act: what they change, and what they leave alone. What was sent is read in the audit
//! log, and what became of the backend volumes in the folder of the driver.

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::Duration;

use chrono::{SecondsFormat, TimeDelta, Utc};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::Watcher;
use super::reporting::{Reporting, count_of};
use crate::support::{
    Admin, Cluster, Options, PersistentVolume, Run, Scenario, claim, eventually, pod,
};

const MARK: &str = "storage.kubectl.dev/announced";
/// Longer than two looks and all judgements of them.
const A_WHILE: Duration = Duration::from_secs(8);

/// A cluster, and what acts in it.
struct Acting<'a> {
    on: &'a Scenario<'a>,
    reporting: Reporting,
    watcher: Watcher,
}

impl<'a> Acting<'a> {
    /// Starts a process whose reconcilers do this.
    fn start(on: &'a Scenario<'a>, reconcilers: &str) -> Self {
        Self::in_pod("actor", on, reconcilers)
    }

    /// The same, in a pod of this name.
    fn in_pod(name: &'static str, on: &'a Scenario<'a>, reconcilers: &str) -> Self {
        let namespace = &on.name;
        let reporting = Reporting::with(
            "{metrics: {address: '127.0.0.1:PORT'}}",
            &format!(
                "scope: {{namespaces: [{namespace}]}}\n\
                 leaderElection: {{namespace: {namespace}}}\n\
                 clusterJournal: {namespace}\n\
                 reconcilers: {reconcilers}\n\
                 bounds: {{unchangedJudgements: 2, judgementInterval: 1s}}"
            ),
        );
        let watcher = Watcher::in_pod(name, on.cluster.kubeconfig(), &reporting.policy(), &[]);
        Self { on, reporting, watcher }
    }

    /// The number of a metric without labels.
    fn number(&self, metric: &str) -> Option<u64> {
        let name = format!("kubectl_storage_watch_{metric}");
        self.reporting.numbers(&name).first().map(|it| it.1)
    }

    fn waits_for(&self, metric: &str, number: u64) {
        eventually(&format!("{metric} is {number}"), || self.number(metric) == Some(number));
    }

    /// How many changes ended so.
    fn changes(&self, reconciler: &str, outcome: &str) -> u64 {
        let labels = [format!("reconciler=\"{reconciler}\""), format!("outcome=\"{outcome}\"")];
        let labels: Vec<_> = labels.iter().map(String::as_str).collect();
        count_of(&self.reporting.numbers("kubectl_storage_watch_changes_total"), &labels)
    }

    fn mark(&self, volume: &str) -> Option<String> {
        let live = self.on.get(&format!("pv/{volume}"))?;
        live["metadata"]["annotations"][MARK].as_str().map(str::to_owned)
    }

    fn is_announced(&self, volume: &str) {
        eventually(&format!("{volume} is announced"), || self.mark(volume).is_some());
    }

    /// The records of what was announced.
    fn records(&self) -> Vec<Value> {
        let all = self.on.cluster.list("kube-system", "cm").into_iter();
        let is_one =
            |it: &Value| it["metadata"]["labels"]["storage.kubectl.dev/record"] == "announcement";
        all.filter(is_one).collect()
    }
}

/// A volume of the cluster's driver whose claim is gone.
pub(super) fn left(on: &Scenario, name: &str) -> String {
    let driver = on.cluster.driver();
    let name = on.named(name);
    driver.make(&name);
    let volume = PersistentVolume::csi(&name, &driver.name, &name).left_by(&on.name, &name);
    on.create(&volume.provisioned_by(&driver.name).class(&driver.class_retain).0);
    on.wait_phase(&format!("pv/{name}"), "Released");
    name
}

/// Pauses what acts, or lets it go on.
pub(super) fn switch(on: &Scenario, how: &str) {
    let run = Run::of(&["watch", how, "-n", &on.name, "--reason", "tried"]);
    let outcome = run.kubeconfig(on.cluster.kubeconfig()).go();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
}

/// Deletes a claim under its pod, and waits until whoever watches has set its volume to Retain.
pub(super) fn rescued(on: &Scenario, class: &str) {
    on.create(&claim("orders", class));
    on.create(&pod("shop", "orders"));
    let orders = on.bound("orders");
    on.wait_phase("pod/shop", "Running");
    on.delete("pvc/orders");
    eventually("the volume is kept", || policy_of(on, &orders) == "Retain");
}

pub(super) fn policy_of(on: &Scenario, volume: &str) -> String {
    let live = on.read(&format!("pv/{volume}"));
    live["spec"]["persistentVolumeReclaimPolicy"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn what_was_announced_is_reclaimed_unless_somebody_objects_and_data_in_danger_is_kept() {
    let cluster = Cluster::start(Options::COMPLETE);
    let on = Scenario::on(&cluster);
    let (admin, driver) = (Admin::of(&on), cluster.driver());
    let [plain, vetoed, kept, reused] =
        ["plain", "vetoed", "kept", "reused"].map(|it| left(&on, it));
    let begun = cluster.mark();
    let acting = Acting::start(
        &on,
        "{reclaim: {mode: act, olderThan: 1s, grace: 20s}, rescue: {mode: act}}",
    );

    // Nobody has said that it may act.
    acting.waits_for("paused", 1);
    acting.watcher.says("paused: nothing is changed");
    sleep(A_WHILE);
    let of_lease = |it: &Value| it["objectRef"]["resource"] == "leases";
    cluster.assert_no_write_but(begun, &|it| of_lease(it));
    assert_eq!(acting.records().len(), 0);

    switch(&on, "resume");
    for volume in [&plain, &vetoed, &kept, &reused] {
        acting.is_announced(volume);
    }
    eventually("they are counted", || acting.changes("reclaim", "done") == 4);
    for record in acting.records() {
        assert_eq!(record["immutable"], true, "{record:#}");
    }
    // One objects, one postpones, and one is needed again.
    cluster.kubectl(&["annotate", "pv", &vetoed, &format!("{MARK}-")]);
    let until = "storage.kubectl.dev/keep-until=2099-01-01";
    cluster.kubectl(&["annotate", "pv", &kept, until]);
    admin.run(&["rebind", &format!("pv/{reused}"), "--yes"]).ends(0);

    on.wait_gone(&format!("pv/{plain}"));
    assert!(!driver.has(&plain), "the backend volume is still there");
    acting.waits_for("vetoed", 1);
    sleep(A_WHILE);
    for volume in [&vetoed, &kept, &reused] {
        assert!(driver.has(volume), "the backend volume of {volume} is gone");
        assert_eq!(policy_of(&on, volume), "Retain");
        assert_eq!(driver.delete_calls(volume), 0, "{volume}");
    }
    assert!(driver.delete_calls(&plain) > 0);
    assert!(acting.number("last_change_timestamp_seconds").is_some());

    // A claim is deleted under its pod.
    rescued(&on, &driver.class_delete);
    assert!(on.get("pod/shop").is_some());

    // What is paused does nothing, from whenever that was said.
    switch(&on, "pause");
    acting.waits_for("paused", 1);
    let paused = cluster.mark();
    let late = left(&on, "late");
    sleep(A_WHILE);
    assert_eq!(acting.mark(&late), None);
    let is_of_actor = |it: &Value| {
        it["userAgent"].as_str().is_some_and(|it| it.starts_with("kubectl-storage"))
            && !of_lease(it)
    };
    let sent = cluster.requests_since(paused);
    let sent: Vec<_> = sent.iter().filter(|it| is_of_actor(it) && writes(it)).collect();
    assert_eq!(sent, Vec::<&Value>::new());
    let status = admin
        .run(&["watch", "status", "-n", "default", &format!("--cluster-journal={}", on.name)])
        .ends(0);
    assert_eq!(status.json["pause"]["paused"], true, "{:#}", status.json);
    switch(&on, "resume");
    acting.is_announced(&late);

    // A flood is more likely a mistake than garbage. It is made during a pause, since nobody waits for the whole of it.
    switch(&on, "pause");
    acting.waits_for("paused", 1);
    let flood: Vec<_> = (0..8).map(|number| left(&on, &format!("flood-{number}"))).collect();
    switch(&on, "resume");
    acting.watcher.says("breaker open");
    acting.waits_for("breaker_open", 1);
    acting.waits_for("due", 1);
    sleep(A_WHILE);
    for volume in &flood {
        assert_eq!(acting.mark(volume), None, "{volume}");
    }
    assert!(driver.has(&late), "reclaimed although the breaker was open");

    // Whatever was changed is in the journal, with the term of who led.
    let journal = admin.run(&["journal", &format!("--cluster-journal={}", on.name)]);
    let entries =
        journal.ends(0).json["journals"][0]["entries"].as_array().cloned().unwrap_or_default();
    let commands: BTreeSet<_> =
        entries.iter().filter_map(|it| it["command"].as_str().map(str::to_owned)).collect();
    for command in ["watch-announce", "watch-reclaim", "watch-rescue"] {
        assert!(commands.contains(command), "{commands:?}");
    }
    for entry in entries.iter().filter(|it| it["command"] != "rebind") {
        assert!(entry["term"]["transitions"].is_u64(), "{entry:#}");
    }
    acting.watcher.terminate();
}

/// Whether a request changes something, and is no rehearsal.
fn writes(request: &Value) -> bool {
    let verb = request["verb"].as_str().unwrap_or_default();
    let uri = request["requestURI"].as_str().unwrap_or_default();
    let is_review =
        request["objectRef"]["resource"].as_str().is_some_and(|it| it.ends_with("reviews"));
    ["create", "update", "patch", "delete"].contains(&verb) && !uri.contains("dryRun") && !is_review
}

#[test]
fn what_only_reports_says_what_it_would_do_and_does_nothing() {
    let cluster = Cluster::start(Options::COMPLETE);
    let on = Scenario::on(&cluster);
    let volume = left(&on, "reported");
    let begun = cluster.mark();
    let acting = Acting::start(&on, "{reclaim: {mode: report, olderThan: 1s, grace: 1s}}");
    acting.watcher.says("would change");
    acting.watcher.says(&volume);
    cluster.assert_no_write_but(begun, &|it| it["objectRef"]["resource"] == "leases");
    assert_eq!(acting.mark(&volume), None);
    assert_eq!(json!(acting.number("paused")), json!(null));
    acting.watcher.terminate();
}

/// Whether it says that it leads; nothing while it is stopped.
fn leads(acting: &Acting) -> Option<bool> {
    let numbers = acting.reporting.numbers("kubectl_storage_leader");
    (!numbers.is_empty()).then(|| count_of(&numbers, &[]) == 1)
}

#[test]
#[ignore = "extended suite: kills and restarts"]
fn a_leader_that_was_stopped_changes_nothing_when_it_wakes() {
    const RECLAIM: &str = "{reclaim: {mode: act, olderThan: 1s, grace: 10s}}";
    let cluster = Cluster::start(Options::COMPLETE);
    let on = Scenario::on(&cluster);
    let driver = cluster.driver();
    // Nobody has led for two hours: that may be the Lease of a backup from which this cluster was restored.
    let renewed = (Utc::now() - TimeDelta::hours(2)).to_rfc3339_opts(SecondsFormat::Micros, true);
    on.create(&json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "kubectl-storage-watch", "namespace": on.name},
        "spec": {
            "holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 3, "renewTime": renewed,
        },
    }));
    switch(&on, "resume");
    let first = left(&on, "first");
    let one = Acting::in_pod("one", &on, RECLAIM);
    one.watcher.says("there was no leader from");
    one.waits_for("breaker_open", 1);
    assert_eq!((one.mark(&first), one.records()), (None, Vec::new()));
    switch(&on, "resume");
    one.is_announced(&first);
    // It leads, and has a volume in its hands.
    one.watcher.signal(Signal::STOP);
    let two = Acting::in_pod("two", &on, RECLAIM);
    eventually("the other one leads", || leads(&two) == Some(true));
    on.wait_gone(&format!("pv/{first}"));
    let woken = cluster.mark();
    one.watcher.signal(Signal::CONT);
    eventually("it knows that it leads no more", || leads(&one) == Some(false));
    let second = left(&on, "second");
    on.wait_gone(&format!("pv/{second}"));
    assert!(!driver.has(&first) && !driver.has(&second));
    // The mark and the patch that reclaims: each once, and whoever woke up has sent nothing.
    let sent = cluster.requests_since(woken);
    let of_tool = |it: &&Value| {
        it["userAgent"].as_str().is_some_and(|it| it.starts_with("kubectl-storage"))
            && it["objectRef"]["resource"] == "persistentvolumes"
            && writes(it)
            && it["responseStatus"]["code"] == 200
    };
    let patches: Vec<_> = sent.iter().filter(of_tool).collect();
    assert_eq!(patches.len(), 2, "{patches:#?}");
    // On a busy machine it is not known in time that a volume is gone.
    let counted = || two.changes("reclaim", "done") + two.changes("reclaim", "pending");
    eventually("the other one has counted these", || counted() > 1);
    // Of what it had in its hands, at most that.
    assert!(one.changes("reclaim", "done") < 2);

    // Somebody takes a volume back after it was reclaimed, while its driver cannot delete it: that holds.
    driver
        .fault(&json!({"DeleteVolume": {"fail": {"code": "INTERNAL", "message": "disk is busy"}}}));
    let third = left(&on, "third");
    eventually("it is reclaimed", || policy_of(&on, &third) == "Delete");
    on.set_policy(&third, "Retain");
    driver.fault(&json!({}));
    two.watcher.says("its reclaim policy was set back after it was reclaimed");
    assert_eq!(policy_of(&on, &third), "Retain");
    assert!(driver.has(&third));
    one.watcher.terminate();
    two.watcher.terminate();
}

#[test]
#[ignore = "extended suite: the rest of what watch does"]
fn gc_goes_on_announcing_and_reclaiming_until_somebody_ends_it() {
    let cluster = Cluster::start(Options::COMPLETE);
    let on = Scenario::on(&cluster);
    let volume = left(&on, "left");
    let home = tempfile::tempdir().expect("because the temporary folder is writable");
    let args = ["gc", "--watch", "--older-than", "1s", "--announce", "2s", "--yes", "-o", "json"];
    let run = Run::of(&args).more(&["-n", &on.name]).kubeconfig(cluster.kubeconfig());
    let running = run.env("XDG_STATE_HOME", home.path()).start();
    on.wait_gone(&format!("pv/{volume}"));
    assert!(!cluster.driver().has(&volume), "the backend volume is still there");
    running.signal(Signal::INT);
    let outcome = running.finish();
    assert_eq!(outcome.code, Some(130), "{}", outcome.stderr);
    // A receipt a line: one that announces, and one that reclaims, unless it was ended before that was verified.
    let receipts: Vec<Value> = outcome
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("each line is JSON"))
        .collect();
    assert_eq!(receipts[0]["metadata"]["command"], "watch-announce", "{receipts:#?}");
    assert!(receipts.len() < 3, "{receipts:#?}");
    let name = &receipts[0]["changes"][0]["object"]["name"];
    assert_eq!(name.as_str(), Some(&*volume));
}
