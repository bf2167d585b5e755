//! `kill -9` at each step of what acts: of announcing a volume, and of reclaiming it. Another process goes on from what is: nothing
//! is done twice, and the journal says what is not known of. And what people say while a step takes long.

use std::cell::Cell;
use std::fs;
use std::thread::{self, sleep};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::Watcher;
use super::acting::{left, switch};
use super::reporting::Reporting;
use crate::support::{
    Admin, Cluster, Fault, Options, Proxy, Scenario, Told, Write, eventually, kubeconfig_in,
};

/// A volume that is announced and reclaimed by one process after the other, by way of a proxy.
struct Chain<'a> {
    on: Scenario<'a>,
    proxy: Proxy,
    reporting: Reporting,
    volume: String,
    processes: Cell<usize>,
}

/// What the server has carried out of what the tool has sent: marks, records, and patches that destroy.
type Done = [usize; 3];

/// Longer than what was judged may be acted on.
const OLD: Duration = Duration::from_secs(6);
/// Longer than it may act on what it read of the pause.
const UNHEARD: Duration = Duration::from_secs(13);

/// What the journal does not know the end of.
type Open = [&'static str; 2];
const MARKED: Open = ["announce", "open"];
const SENT: Open = ["announce", "sent"];
const RECORDED: Open = ["record-announcement", "open"];
const DESTROYED: Open = ["set-reclaim-policy", "open"];

/// A step at which a process is killed.
struct Step {
    what: &'static str,
    fault: Fault,
    /// What is done in the end.
    done: Done,
}

impl<'a> Chain<'a> {
    fn begin(cluster: &'a Cluster) -> Self {
        let on = Scenario::on(cluster);
        let namespace = &on.name;
        let reporting = Reporting::with(
            "{metrics: {address: '127.0.0.1:PORT'}}",
            &format!(
                "scope: {{namespaces: [{namespace}]}}\n\
                 leaderElection: {{namespace: {namespace}}}\n\
                 clusterJournal: {namespace}\n\
                 reconcilers: {{reclaim: {{mode: act, olderThan: 1s, grace: 2s}}}}\n\
                 bounds: {{unchangedJudgements: 2, judgementInterval: 1s}}"
            ),
        );
        let (proxy, volume) = (cluster.proxy(), left(&on, "left"));
        let kubeconfig = kubeconfig_in(namespace, proxy.kubeconfig());
        fs::write(reporting.folder.path().join("kubeconfig"), kubeconfig)
            .expect("because the folder is writable");
        let chain = Self { on, proxy, reporting, volume, processes: Cell::new(0) };
        switch(&chain.on, "resume");
        chain
    }

    fn start(&self) -> Watcher {
        self.processes.update(|it| it + 1);
        let name = format!("process-{}", self.processes.get());
        let kubeconfig = self.reporting.folder.path().join("kubeconfig");
        Watcher::in_pod(&name, &kubeconfig, &self.reporting.policy(), &[])
    }

    /// The process is gone for good: nobody waits until its Lease expires.
    fn buried(&self) {
        self.on.delete("lease/kubectl-storage-watch");
    }

    /// Kills a process at a step, and has the request lost, or the answer where the fault holds that.
    fn killed(&self, step: Step) {
        let Step { what, fault, done } = step;
        let held = self.proxy.hold(fault);
        let process = self.start();
        held.wait();
        process.kill();
        held.lose();
        self.buried();
        assert_eq!(self.done(), done, "{what}");
    }

    /// What the server has carried out so far.
    fn done(&self) -> Done {
        let volume = &self.volume;
        let writes = self.on.writes().into_iter().filter(|it| !it.dry && it.code < 300);
        let mut done = [0; 3];
        for it in writes {
            let body = it.body.to_string();
            if it.resource == "persistentvolumes" && it.name == *volume {
                done[if body.contains("\"Delete\"") { 2 } else { 0 }] += 1;
            } else if is_record(&it) && body.contains(volume.as_str()) {
                done[1] += 1;
            }
        }
        done
    }

    /// The name of the record of its announcement.
    fn record(&self) -> String {
        let mark = self.on.read(&format!("pv/{}", self.volume));
        let mark = mark["metadata"]["annotations"]["storage.kubectl.dev/announced"].as_str();
        let named = mark.and_then(|it| it.rsplit('/').next());
        named.expect("because it is announced").to_owned()
    }

    fn patch(&self, fault: Fault) -> Fault {
        fault.on("PATCH", &format!("^/api/v1/persistentvolumes/{}$", self.volume))
    }

    /// What the last process does: the volume is gone, by one patch, and so is another one that was left later.
    fn ends(self, done: Done, open: &[Open]) {
        let process = self.start();
        self.on.wait_gone(&format!("pv/{}", self.volume));
        let later = left(&self.on, "later");
        self.on.wait_gone(&format!("pv/{later}"));
        for volume in [&self.volume, &later] {
            assert!(!self.on.cluster.driver().has(volume), "the backend of {volume} is there");
        }
        assert_eq!(self.done(), done);
        process.terminate();
        let admin = Admin::of(&self.on);
        let there = format!("--cluster-journal={}", self.on.name);
        let all = entries(&admin.run(&["journal", &there]).ends(0));
        let of_later: Vec<_> = all
            .iter()
            .filter(|it| it["object"]["name"] == *later)
            .map(|it| [&it["action"], &it["outcome"]].map(|it| it.as_str().unwrap_or_default()))
            .collect();
        let whole = [["announce", "done"], ["set-reclaim-policy", "done"]];
        assert_eq!(of_later, whole, "{all:#?}");
        // What nobody knows of is said to be open, and how it is now.
        let told = entries(&admin.run(&["journal", "--open", &there]).ends(0));
        let shown: Vec<_> = told
            .iter()
            .map(|it| [&it["action"], &it["outcome"]].map(|it| it.as_str().unwrap_or_default()))
            .collect();
        assert_eq!(shown, open, "{told:#?}");
        for entry in &told {
            assert!(entry["look"].as_str().is_some_and(|it| !it.is_empty()), "{entry:#}");
        }
    }
}

fn is_record(write: &Write) -> bool {
    write.verb == "create" && write.name.starts_with("kubectl-storage-announced-")
}

/// The entries that `journal` lists; it finds nothing wrong.
fn entries(told: &Told) -> Vec<Value> {
    assert_eq!(told.json["journals"][0]["notes"].to_string(), "[]", "{:#}", told.json);
    told.json["journals"][0]["entries"].as_array().cloned().unwrap_or_default()
}

/// The writes of the journal: that a leader has begun, that something is about to be sent, that it was sent.
fn journal(fault: Fault, earlier: u32) -> Fault {
    fault.on("PUT", "/configmaps/kubectl-storage-journal-").real().after(earlier)
}

fn record(fault: Fault) -> Fault {
    fault.on("POST", "^/api/v1/namespaces/kube-system/configmaps$").real()
}

/// Whatever is held never comes to the server.
fn lost(cluster: &Cluster) {
    let chain = Chain::begin(cluster);
    let [dry, sent, destroys] = [
        chain.patch(Fault::hold()).dry(),
        chain.patch(Fault::hold()).real(),
        chain.patch(Fault::hold()).real().body("Delete"),
    ];
    let rehearsed = dry.clone().body("Delete");
    for (what, fault, done) in [
        ("the dry run of the mark", dry, [0, 0, 0]),
        ("the journal of the mark", journal(Fault::hold(), 1), [0, 0, 0]),
        ("the mark", sent, [0, 0, 0]),
        ("the record", record(Fault::hold()), [1, 0, 0]),
        // It is annotated anew: the first mark is ignored.
        ("the outcome of the record", journal(Fault::hold(), 4), [2, 1, 0]),
        ("the dry run of the patch", rehearsed, [2, 1, 0]),
        ("the journal of the patch", journal(Fault::hold(), 1), [2, 1, 0]),
        ("the patch", destroys, [2, 1, 0]),
        ("the outcome of the patch", journal(Fault::hold(), 2), [2, 1, 1]),
    ] {
        chain.killed(Step { what, fault, done });
    }
    let open = [MARKED, SENT, RECORDED, SENT, RECORDED, DESTROYED, DESTROYED];
    chain.ends([2, 1, 1], &open);
}

/// Whatever is held has been done by the server, and nobody hears of it.
fn unheard(cluster: &Cluster) {
    let chain = Chain::begin(cluster);
    let [dry, sent] =
        [chain.patch(Fault::hold_after()).dry(), chain.patch(Fault::hold_after()).real()];
    let rehearsed = dry.clone().body("Delete");
    for (what, fault, done) in [
        ("the dry run of the mark", dry, [0, 0, 0]),
        ("the journal of the mark", journal(Fault::hold_after(), 1), [0, 0, 0]),
        ("the mark", sent, [1, 0, 0]),
        ("the record", record(Fault::hold_after()), [2, 1, 0]),
        ("the dry run of the patch", rehearsed, [2, 1, 0]),
        ("the journal of the patch", journal(Fault::hold_after(), 1), [2, 1, 0]),
    ] {
        chain.killed(Step { what, fault, done });
    }
    // The patch arrives when another process has done it.
    let patch = chain.patch(Fault::hold()).real();
    let held = chain.proxy.hold(patch);
    let process = chain.start();
    held.wait();
    process.kill();
    chain.buried();
    let next = chain.start();
    chain.on.wait_gone(&format!("pv/{}", chain.volume));
    held.release();
    let late = |it: &Write| it.name == chain.volume && !it.dry && it.code == 404;
    eventually("what was held has arrived", || chain.on.writes().iter().any(late));
    next.terminate();
    drop(held);
    // What the other process has done is not open.
    chain.ends([2, 1, 1], &[MARKED, MARKED, SENT, RECORDED, DESTROYED, DESTROYED]);
}

/// What is said while a request is held for long, or while the process is stopped, is heeded before the next write.
fn held(cluster: &Cluster) {
    let chain = Chain::begin(cluster);
    let rehearsed = || chain.patch(Fault::hold_after()).dry().body("Delete");
    let process = chain.start();
    // Somebody takes all of it back.
    let held = chain.proxy.hold(rehearsed());
    held.wait();
    chain.on.cluster.kubectl(&["delete", "cm", "-n", "kube-system", &chain.record()]);
    sleep(OLD);
    held.release();
    process.says("nothing was sent: ");
    assert_eq!(chain.done(), [1, 1, 0]);
    drop(held);
    // It is announced anew. A process that was stopped hears of the pause before it sends anything.
    let held = chain.proxy.hold(rehearsed());
    held.wait();
    process.signal(Signal::STOP);
    switch(&chain.on, "pause");
    sleep(UNHEARD);
    held.release();
    process.signal(Signal::CONT);
    // It hears of the pause, or that its term has ended while it slept: either way it says that this one was not changed.
    eventually("it has ended what it had begun", || {
        process.said().matches(r#""action":"reclaim-announced","outcome""#).count() == 2
    });
    process.says("paused: nothing is changed");
    assert_eq!(chain.done(), [2, 2, 0]);
    drop(held);
    process.terminate();
    chain.buried();
    switch(&chain.on, "resume");
    chain.ends([2, 2, 1], &[]);
}

#[test]
#[ignore = "extended suite: kills and restarts"]
fn whoever_comes_after_a_process_that_was_killed_or_stopped_finishes_and_does_nothing_twice() {
    let cluster = Cluster::start(Options::COMPLETE);
    cluster.driver();
    thread::scope(|scope| {
        let begin = |name: &str, chain: fn(&Cluster)| {
            let (named, cluster) = (thread::Builder::new().name(name.to_owned()), &cluster);
            let begun = named.spawn_scoped(scope, move || chain(cluster));
            begun.expect("because the machine has threads");
        };
        begin("killed_lost", lost);
        begin("killed_unheard", unheard);
        begin("held", held);
    });
}
