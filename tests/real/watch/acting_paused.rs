//! A pause that comes when a change has begun, before each kind of write that reconcilers make: that is not sent, and goes on
//! when it is resumed.

use std::thread;

use super::Watcher;
use super::acting::switch;
use super::acting_ends::through;
use super::acting_rights::{Trouble, set};
use super::reporting::Reporting;
use crate::support::{Cluster, Fault, Options, Proxy, Request, Scenario, eventually};

const MARK: &str = "storage.kubectl.dev/announced";

/// A write, and the request before it at which somebody pauses.
struct Write {
    what: &'static str,
    reconciler: &'static str,
    before: Fault,
    method: &'static str,
    path: &'static str,
}

impl Write {
    fn journaled(what: &'static str, reconciler: &'static str, path: &'static str) -> Self {
        let before = Fault::hold().on("PUT", "/configmaps/kubectl-storage-journal").real();
        Self { what, reconciler, before, method: "PATCH", path }
    }

    /// How often the server was asked for it, without rehearsals.
    fn sent(&self, proxy: &Proxy) -> usize {
        let is_it = |it: &&Request| {
            it.method == self.method && it.path.contains(self.path) && !it.dry_run && it.forwarded
        };
        proxy.requests().iter().filter(is_it).count()
    }

    /// Returns whether it was refused because of the pause, and did not give up before.
    fn is_not_sent_while_paused(&self, cluster: &Cluster) -> bool {
        let on = Scenario::part(cluster, &format!("-{}", self.what));
        let proxy = cluster.proxy();
        let reporting = Reporting::with(
            "{}",
            &format!(
                "scope: {{namespaces: [{0}]}}\nleaderElection: {{}}\nclusterJournal: {0}\n\
                 reconcilers: {{{1}: {2}}}\n\
                 bounds: {{unchangedJudgements: 2, judgementInterval: 1s}}",
                on.name,
                self.reconciler,
                match self.reconciler {
                    "reclaim" => "{mode: act, olderThan: 1s, grace: 1h}",
                    _ => "{mode: act}",
                }
            ),
        );
        let kubeconfig = through(&on, &proxy, &reporting);
        switch(&on, "resume");
        if self.reconciler == "retention" {
            set(&on);
        }
        let trouble = Trouble::make(&on, self.reconciler, 0);
        let watcher = Watcher::by_policy(&kubeconfig, &reporting.policy());
        let object = format!("pv/{}", trouble.volume);
        if self.what == "veto" {
            watcher.says("recorded in configmap");
        }
        let held = proxy.hold(self.before.clone());
        if self.what == "veto" {
            cluster.kubectl(&["annotate", &object, &format!("{MARK}-")]);
        }
        held.wait();
        let before = self.sent(&proxy);
        switch(&on, "pause");
        watcher.says("paused: nothing is changed");
        held.release();
        // A slow machine may have given up by itself: what was held is the journal's entry, or its own request.
        watcher.says("not changed, or not known to be");
        let because_of_it = watcher.said().contains("reconcilers are paused");
        drop(held);
        assert_eq!(self.sent(&proxy), before, "{} was sent: {}", self.what, watcher.said());
        switch(&on, "resume");
        eventually(&format!("{} is sent", self.what), || self.sent(&proxy) > before);
        watcher.terminate();
        because_of_it
    }
}

#[test]
fn a_pause_stops_each_kind_of_write_that_has_begun() {
    // Nobody but a reconciler gives a claim its finalizer back.
    let cluster = Cluster::start(Options {
        controller_args: &["--controllers=*,-persistentvolumeclaim-protection-controller"],
        ..Options::COMPLETE
    });
    cluster.driver();
    let volumes = "/persistentvolumes/";
    let claims = "/persistentvolumeclaims/";
    let writes = [
        Write::journaled("mark", "reclaim", volumes),
        Write {
            before: Fault::hold_after().on("PATCH", volumes).real(),
            method: "POST",
            path: "/namespaces/kube-system/configmaps",
            ..Write::journaled("record", "reclaim", volumes)
        },
        Write {
            method: "POST",
            path: "/namespaces/kube-system/configmaps",
            ..Write::journaled("veto", "reclaim", volumes)
        },
        Write::journaled("rescue", "rescue", volumes),
        Write::journaled("owner", "retention", claims),
        Write::journaled("finalizer", "finalizers", claims),
    ];
    thread::scope(|scope| {
        let begun = writes.into_iter().map(|write| {
            let (named, cluster) = (thread::Builder::new().name("paused".to_owned()), &cluster);
            let begun = named.spawn_scoped(scope, move || write.is_not_sent_while_paused(cluster));
            begun.expect("because the machine has threads")
        });
        let ended = begun.collect::<Vec<_>>().into_iter().map(thread::ScopedJoinHandle::join);
        let refused = ended.map(|it| it.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        // All are waited for: each has assertions of its own.
        assert!(refused.filter(|it| *it).count() > 0, "no write was refused because of the pause");
    });
}
