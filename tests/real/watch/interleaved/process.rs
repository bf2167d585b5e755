//! The process that acts, of which there may be another one, and everybody's way to pause it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::Signal;

use crate::support::{Cluster, Run, Running, kubeconfig_in};

/// Where the processes of a case are.
pub(super) struct Home<'a> {
    cluster: &'a Cluster,
    namespace: &'a str,
    folder: tempfile::TempDir,
}

/// A process that acts, in a name of its own.
pub(super) struct Process(Option<Running>);

impl<'a> Home<'a> {
    /// Everything is in this namespace: the pause, the Lease and the journal.
    pub(super) fn new(cluster: &'a Cluster, namespace: &'a str) -> Self {
        let folder = tempfile::tempdir().expect("because the temporary folder is writable");
        let home = Self { cluster, namespace, folder };
        let text = kubeconfig_in(namespace, cluster.kubeconfig());
        home.write("kubeconfig", &text);
        home
    }

    /// Has the policy announce for so many seconds.
    pub(super) fn announce_for(&self, grace: i32) {
        let namespace = self.namespace;
        let act = "{mode: act}";
        self.write(
            "policy.yaml",
            &format!(
                "apiVersion: storage.kubectl.dev/v1alpha1\nkind: WatchPolicy\n\
                 thresholds: {{older-than: 1s}}\n\
                 scope: {{namespaces: [{namespace}]}}\n\
                 leaderElection: {{namespace: {namespace}}}\n\
                 clusterJournal: {namespace}\n\
                 reconcilers:\n\
                 \x20 rescue: {act}\n\
                 \x20 retention: {act}\n\
                 \x20 finalizers: {act}\n\
                 \x20 reclaim: {{mode: act, olderThan: 1s, grace: {grace}s}}\n\
                 bounds: {{changesPerRun: 50, changesPerHour: 10000, unchangedJudgements: 2, \
                 judgementInterval: 1s, newlyEligiblePercent: 100}}\n"
            ),
        );
    }

    /// Starts the process of this number.
    pub(super) fn start(&self, number: usize) -> Process {
        let user = format!("{}-p{number}", self.namespace);
        let log = File::create(self.log(number)).expect("because the folder is writable");
        let policy = self.path("policy.yaml");
        let run = Run::of(&["watch", "-f", &policy.to_string_lossy()])
            .more(&["--as", &user, "--as-group", "system:masters"])
            .kubeconfig(&self.path("kubeconfig"))
            .env("HOSTNAME", user);
        Process(Some(run.start_into(Stdio::null(), log.into())))
    }

    /// What a process has said.
    pub(super) fn said(&self, number: usize) -> String {
        fs::read_to_string(self.log(number)).unwrap_or_default()
    }

    /// Pauses what acts, or lets it go on: `pause` or `resume`.
    pub(super) fn switch(&self, how: &str) {
        let user = format!("{}-people", self.namespace);
        let run = Run::of(&["watch", how, "-n", self.namespace, "--reason", "tried"]).more(&[
            "--as",
            &user,
            "--as-group",
            "system:masters",
        ]);
        let outcome = run.kubeconfig(&self.path("kubeconfig")).go();
        // Somebody else may have paused it meanwhile.
        let may_be = [Some(0), Some(5)];
        assert!(may_be.contains(&outcome.code), "{how}: {}", outcome.stderr);
    }

    fn log(&self, number: usize) -> PathBuf {
        self.path(&format!("log-{number}"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// At once, as a mounted `ConfigMap` changes.
    fn write(&self, name: &str, text: &str) {
        let next = self.path("next");
        fs::write(&next, text).expect("because the folder is writable");
        fs::rename(Path::new(&next), self.path(name)).expect("because the folder is writable");
    }

    /// The cluster.
    pub(super) fn cluster(&self) -> &Cluster {
        self.cluster
    }
}

impl Process {
    pub(super) fn signal(&self, signal: Signal) {
        if let Some(running) = &self.0 {
            running.signal(signal);
        }
    }
}

/// Ends it as a machine does that goes down, also where a case has failed.
impl Drop for Process {
    fn drop(&mut self) {
        self.0.take().map(Running::kill);
    }
}
