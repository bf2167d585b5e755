//! A watch that is left running, and what it has told so far.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Cluster, Finding, Run, Running, eventually, happens};

/// A running `audit --watch -o json`, or `watch -o json`.
pub(super) struct Watcher {
    running: Running,
    args: Vec<String>,
    events: Arc<Mutex<Vec<Value>>>,
    said: Arc<Mutex<String>>,
}

impl Watcher {
    /// Starts it, with more arguments.
    pub(super) fn start(kubeconfig: &Path, args: &[&str]) -> Self {
        let run = Run::of(&["audit", "--watch", "-o", "json"]).more(args).kubeconfig(kubeconfig);
        Self::of(run.start(), args)
    }

    /// Starts `watch` with a policy. It believes what no audit need find.
    pub(super) fn by_policy(kubeconfig: &Path, policy: &Path) -> Self {
        let policy = policy.to_string_lossy();
        let run = Run::of(&["watch", "-o", "json", "--log-format", "json", "-f", &policy]);
        Self::of(run.kubeconfig(kubeconfig).start(), &[])
    }

    /// The same, on a machine that trusts the certificates in a file.
    pub(super) fn trusting(certificates: &Path, kubeconfig: &Path, policy: &Path) -> Self {
        let policy = policy.to_string_lossy();
        let run = Run::of(&["watch", "-o", "json", "--log-format", "json", "-f", &policy]);
        let run = run.kubeconfig(kubeconfig).env("SSL_CERT_FILE", certificates);
        Self::of(run.start(), &[])
    }

    /// Starts `watch` with a policy that believes what an audit with these arguments finds, in a pod of this name.
    pub(super) fn in_pod(name: &str, kubeconfig: &Path, policy: &Path, args: &[&str]) -> Self {
        let policy = policy.to_string_lossy();
        let run = Run::of(&["watch", "-o", "json", "--log-format", "json", "-f", &policy]);
        Self::of(run.kubeconfig(kubeconfig).env("HOSTNAME", name).start(), args)
    }

    fn of(mut running: Running, args: &[&str]) -> Self {
        let events: Arc<Mutex<Vec<Value>>> = Arc::default();
        let said: Arc<Mutex<String>> = Arc::default();
        let (stdout, mut stderr) = running.pipes();
        let (into, heard) = (Arc::clone(&events), Arc::clone(&said));
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let event: Value = serde_json::from_str(&line).expect("each line is JSON");
                into.lock().expect("nobody panics while holding it").push(event);
            }
        });
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = stderr.read(&mut bytes) {
                let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
                heard.lock().expect("nobody panics while holding it").push_str(&text);
            }
        });
        let args = args.iter().map(|&it| it.to_owned()).collect();
        Self { running, args, events, said }
    }

    /// Everything that it has told of findings.
    pub(super) fn events(&self) -> Vec<Value> {
        self.events.lock().expect("nobody panics while holding it").clone()
    }

    /// Everything that it has said on stderr.
    pub(super) fn said(&self) -> String {
        self.said.lock().expect("nobody panics while holding it").clone()
    }

    /// How often it has told this of a finding.
    pub(super) fn count(&self, event: &str, id: &str, object: &str) -> usize {
        let is_it =
            |it: &&Value| it["event"] == event && it["id"] == id && Finding(it).object() == object;
        self.events().iter().filter(is_it).count()
    }

    /// Waits until it has told this of a finding.
    #[track_caller]
    pub(super) fn tells(&self, event: &str, id: &str, object: &str) {
        eventually(&format!("{event}: {id} {object}"), || self.count(event, id, object) > 0);
    }

    /// Waits until it has said something on stderr.
    #[track_caller]
    pub(super) fn says(&self, text: &str) {
        assert!(happens(|| self.said().contains(text)), "never says {text:?}: {}", self.said());
    }

    /// Waits until it has said that a kind is read again.
    #[track_caller]
    pub(super) fn reads_again(&self, kind: &str) {
        eventually(&format!("reads {kind} again"), || {
            let said = self.said();
            let mut lines = said.lines().filter_map(|line| line.strip_prefix("read again: "));
            lines.any(|kinds| kinds == "all kinds" || kinds.split(", ").any(|it| it == kind))
        });
    }

    /// The findings that are there, as far as it has told: ids and objects.
    pub(super) fn believed(&self) -> BTreeSet<(String, String)> {
        let mut believed = BTreeSet::new();
        for event in self.events() {
            let finding = Finding(&event);
            let pair = (finding.id().to_owned(), finding.object());
            let known = match event["event"].as_str() {
                Some("appeared") => believed.insert(pair),
                Some("changed") => believed.contains(&pair),
                Some("cleared") => believed.remove(&pair),
                other => panic!("told {other:?}"),
            };
            assert!(known, "does not follow from what was told before: {event}");
        }
        believed
    }

    /// Waits until it believes what an audit finds that is made now.
    #[track_caller]
    pub(super) fn converges(&self, cluster: &Cluster) {
        self.converges_beside(cluster, &|_| false);
    }

    /// The same, while somebody writes what is of others.
    #[track_caller]
    pub(super) fn converges_beside(
        &self,
        cluster: &Cluster,
        is_of_others: &dyn Fn(&Value) -> bool,
    ) {
        let args: Vec<_> = self.args.iter().map(String::as_str).collect();
        eventually("it believes what an audit finds", || {
            self.believed() == cluster.audit_beside(&args, is_of_others).pairs()
        });
    }

    /// Ends it by Ctrl-C.
    pub(super) fn interrupt(self) {
        self.end(Signal::INT, 130);
    }

    /// Ends it as whoever supervises it does.
    pub(super) fn terminate(self) {
        self.end(Signal::TERM, 143);
    }

    /// Ends it as a machine does that goes down.
    pub(super) fn kill(self) {
        assert_eq!(self.running.kill().code, None);
    }

    /// Sends it a signal, such as `STOP` and `CONT`.
    pub(super) fn signal(&self, signal: Signal) {
        self.running.signal(signal);
    }

    fn end(self, signal: Signal, code: i32) {
        self.running.signal(signal);
        let outcome = self.running.finish();
        assert_eq!(outcome.code, Some(code));
    }
}
