//! Reconcilers with the roles that are printed for them, under the API server's own authorizer: without them nothing is
//! changed, with them they act, and ask for nothing else.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use super::Watcher;
use super::acting::{left, policy_of};
use super::installed::{NAMESPACE, USER, apply, in_pod};
use super::reporting::{Reporting, count_of};
use crate::support::{Cluster, Mark, Options, Run, Scenario, claim, eventually, pod};

const MARK: &str = "storage.kubectl.dev/announced";
const PROTECTION: &str = "kubernetes.io/pvc-protection";
const RECONCILERS: [&str; 4] = ["rescue", "retention", "finalizers", "reclaim"];

/// A policy in whose scope these reconcilers act.
fn policy(on: &Scenario, reconcilers: &str) -> Reporting {
    Reporting::with(
        "{metrics: {address: '127.0.0.1:PORT'}}",
        &format!(
            "scope: {{namespaces: [{}]}}\nleaderElection: {{}}\nreconcilers: {reconcilers}\n\
             bounds: {{unchangedJudgements: 2, judgementInterval: 1s}}",
            on.name
        ),
    )
}

fn print(args: &[&str]) -> String {
    Run::of(&["watch", "print"]).more(args).go().stdout
}

/// Something that a reconciler answers.
pub(super) struct Trouble<'a> {
    on: &'a Scenario<'a>,
    reconciler: &'static str,
    name: String,
    /// The volume, where it is about one.
    pub(super) volume: String,
}

impl<'a> Trouble<'a> {
    /// Makes it.
    pub(super) fn make(on: &'a Scenario<'a>, reconciler: &'static str, number: u32) -> Self {
        let driver = on.cluster.driver();
        let name = match reconciler {
            "retention" => format!("data-web-{number}"),
            _ => format!("{reconciler}-{number}"),
        };
        let volume = match reconciler {
            // A claim is deleted under its pod.
            "rescue" => {
                on.create(&claim(&name, &driver.class_delete));
                on.create(&pod(&name, &name));
                let volume = on.bound(&name);
                on.wait_phase(&format!("pod/{name}"), "Running");
                on.delete(&format!("pvc/{name}"));
                volume
            }
            // A set that retains its claims owns one that its controller does not visit.
            "retention" => {
                let mut owned = claim(&name, &driver.class_retain);
                owned["metadata"]["labels"] = json!({"app": "web"});
                owned["metadata"]["ownerReferences"] = json!([{
                    "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web",
                    "uid": on.read("sts/web")["metadata"]["uid"],
                    "controller": true, "blockOwnerDeletion": true,
                }]);
                on.create(&owned);
                on.bound(&name)
            }
            "finalizers" => {
                on.create(&claim(&name, &driver.class_retain));
                let volume = on.bound(&name);
                let bare = json!({"metadata": {"finalizers": null}});
                on.patch(&format!("pvc/{name}"), &bare);
                volume
            }
            _ => left(on, &name),
        };
        Self { on, reconciler, name, volume }
    }

    /// Whether it is mended.
    fn is_over(&self) -> bool {
        let Self { on, reconciler, name, volume } = self;
        let claim = || on.read(&format!("pvc/{name}"));
        match *reconciler {
            "rescue" => policy_of(on, volume) == "Retain",
            "retention" => claim()["metadata"]["ownerReferences"].is_null(),
            "finalizers" => claim()["metadata"]["finalizers"] == json!([PROTECTION]),
            _ => on.get(&format!("pv/{volume}")).is_none(),
        }
    }

    fn ends(&self) {
        eventually(&format!("{} has done its work", self.reconciler), || self.is_over());
    }
}

/// A set without pods, which retains its claims.
pub(super) fn set(on: &Scenario) {
    on.create(&json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"},
        "spec": {
            "replicas": 0, "serviceName": "web",
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": "none"}]},
            },
            "volumeClaimTemplates": [{
                "metadata": {"name": "data"},
                "spec": {
                    "accessModes": ["ReadWriteOnce"], "storageClassName": on.cluster.driver().class_retain,
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }],
        },
    }));
}

#[test]
#[ignore = "extended suite: the rest of what watch does"]
fn reconcilers_act_with_the_roles_that_are_printed_for_them_and_not_without() {
    // The API server gives claims their finalizer, and nobody gives it back.
    let options = Options {
        controller_args: &["--controllers=*,-persistentvolumeclaim-protection-controller"],
        ..Options::COMPLETE
    };
    let cluster = Cluster::start(options);
    let on = Scenario::on(&cluster);
    let driver = cluster.driver();
    set(&on);
    let reporting = policy(
        &on,
        "{rescue: {mode: act}, retention: {mode: act}, finalizers: {mode: act}, \
         reclaim: {mode: act, olderThan: 1s, grace: 15s}}",
    );
    let path = reporting.policy();
    let path = path.to_string_lossy();

    // The policy lets all of them act, and nobody has given them roles.
    apply(&cluster, &print(&[]));
    let folder = tempfile::tempdir().expect("because the temporary folder is writable");
    let kubeconfig = in_pod(&cluster, folder.path());
    let check = || Run::of(&["rbac", "watch", "-f", &path, "--check"]).kubeconfig(&kubeconfig).go();
    let lacks = check();
    assert_eq!(lacks.code, Some(4), "{}", lacks.stderr);
    for right in ["patch persistentvolumes", "patch persistentvolumeclaims", "create configmaps"] {
        assert!(lacks.stdout.contains(&format!("missing: {right}\n")), "{}", lacks.stdout);
    }
    let begun = cluster.mark();
    let volume = left(&on, "left");
    let watcher = Watcher::by_policy(&kubeconfig, &reporting.policy());
    watcher.says("it is not certain that anything may be changed");
    // Whoever says that they may act gives them no right to.
    let resumed =
        Run::of(&["watch", "resume", "-n", NAMESPACE]).kubeconfig(cluster.kubeconfig()).go();
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    let is_forbidden = |it: &Value| {
        it["user"]["username"] == USER
            && it["responseStatus"]["code"] == 403
            && it["objectRef"]["name"] == "kubectl-storage-watch"
    };
    eventually("it asked twice whether it is paused", || {
        cluster.requests_since(begun).iter().filter(|it| is_forbidden(it)).count() > 2
    });
    assert_eq!(
        written(&cluster, begun),
        BTreeSet::from(["create leases", "update leases"].map(str::to_owned))
    );

    // With their roles they go on, and nobody need start them again.
    apply(&cluster, &print(&["-f", &path]));
    watcher.says("resumed: reconcilers may act");
    let lacks = check();
    assert_eq!(lacks.code, Some(0), "{}{}", lacks.stdout, lacks.stderr);
    let allowed = cluster.mark();
    // A reclaim that takes long, since the driver does not delete, keeps nobody else waiting.
    driver
        .fault(&json!({"DeleteVolume": {"fail": {"code": "INTERNAL", "message": "disk is busy"}}}));
    eventually("it is being reclaimed", || policy_of(&on, &volume) == "Delete");
    for reconciler in ["rescue", "retention", "finalizers"] {
        Trouble::make(&on, reconciler, 0).ends();
    }
    assert_eq!(policy_of(&on, &volume), "Delete", "the reclaim still waits");
    driver.fault(&json!({}));
    on.wait_gone(&format!("pv/{volume}"));
    assert!(!driver.has(&volume), "the backend volume is still there");
    // Somebody else's right is asked for a veto too.
    let vetoed = left(&on, "vetoed");
    let mark = |it: &str| {
        on.get(&format!("pv/{it}"))
            .and_then(|it| it["metadata"]["annotations"][MARK].as_str().map(str::to_owned))
    };
    eventually("it is announced", || mark(&vetoed).is_some());
    cluster.kubectl(&["annotate", "pv", &vetoed, &format!("{MARK}-")]);
    eventually("the veto is recorded", || {
        cluster.get("kube-system", "configmap/kubectl-storage-vetoes").is_some()
    });
    watcher.terminate();
    assert!(driver.has(&vetoed), "it was vetoed");

    // All that was asked was allowed, and only what the roles are for was written.
    let mut requests = cluster.requests_since(allowed);
    requests.retain(|it| it["user"]["username"] == USER);
    nothing_was_forbidden(&cluster, allowed);
    let expected = [
        "create configmaps",
        "create events",
        "patch persistentvolumeclaims",
        "patch persistentvolumes",
        "update configmaps",
        "update leases",
    ];
    assert_eq!(written(&cluster, allowed), expected.map(str::to_owned).into());
    for request in requests.iter().filter(|it| it["objectRef"]["resource"] == "configmaps") {
        let namespace = request["objectRef"]["namespace"].as_str().unwrap_or_default();
        assert!([NAMESPACE, "kube-system"].contains(&namespace), "{request:#}");
    }
    its_journal_is_found(&cluster);
    for reconciler in RECONCILERS {
        alone(&on, &kubeconfig, reconciler);
    }
}

/// Who looks from elsewhere finds what was done, without a flag.
fn its_journal_is_found(cluster: &Cluster) {
    let run = |args: &[&str]| Run::of(args).kubeconfig(cluster.kubeconfig()).go();
    let listed = run(&["journal", "-o", "json"]);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    let listed: Value = serde_json::from_str(&listed.stdout).expect("it is JSON");
    let journals = listed["journals"].as_array().cloned().unwrap_or_default();
    let place = format!("configmaps {NAMESPACE}/kubectl-storage-journal-*");
    assert_eq!(journals.len(), 2, "{listed:#}");
    assert_eq!(journals[1]["file"], json!(place));
    let entries = journals[1]["entries"].as_array().cloned().unwrap_or_default();
    assert!(entries.iter().any(|it| it["command"] == "watch-reclaim"), "{entries:#?}");
    let status = run(&["watch", "status", "-o", "json"]);
    let status: Value = serde_json::from_str(&status.stdout).expect("it is JSON");
    assert_eq!(status["journal"]["place"], json!(place));
    assert_eq!(status["journal"]["entries"], json!(entries.len()));
    let undone = run(&["undo", "--yes"]);
    let hint = format!("--cluster-journal={NAMESPACE}` reverts the last one of the journal");
    assert!(undone.stderr.contains(&hint), "{}", undone.stderr);

    // One that is where nobody looks by default is named.
    cluster.kubectl(&["create", "namespace", "elsewhere"]);
    let copied = cluster.get(NAMESPACE, "cm/kubectl-storage-journal-000001").expect("it is there");
    cluster.create(&json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "kubectl-storage-journal-000001", "namespace": "elsewhere",
            "labels": copied["metadata"]["labels"],
        },
        "data": copied["data"],
    }));
    for args in [&["journal"][..], &["watch", "status"]] {
        let told = run(args);
        assert!(told.stderr.contains("namespace elsewhere holds another"), "{}", told.stderr);
    }
}

/// A reconciler that acts alone does so with its own role, and not without it.
fn alone(on: &Scenario, kubeconfig: &Path, reconciler: &'static str) {
    let cluster = on.cluster;
    unbind(cluster, &["clusterrolebinding"], &RECONCILERS);
    for namespace in [NAMESPACE, "kube-system"] {
        unbind(cluster, &["rolebinding", "-n", namespace], &RECONCILERS);
    }
    let times = if reconciler == "reclaim" { ", olderThan: 1s, grace: 1s" } else { "" };
    let reporting = policy(on, &format!("{{{reconciler}: {{mode: act{times}}}}}"));
    let printed = print(&["-f", &reporting.policy().to_string_lossy()]);
    cluster.try_kubectl(&["apply", "-f", "-"], &printed).expect("it was accepted before");
    let mark = cluster.mark();
    let watcher = Watcher::by_policy(kubeconfig, &reporting.policy());
    watcher.says("resumed: reconcilers may act");
    Trouble::make(on, reconciler, 1).ends();
    nothing_was_forbidden(cluster, mark);

    // Without its role in the cluster it can record what it would do, and is refused what it does.
    unbind(cluster, &["clusterrolebinding"], &[reconciler]);
    let kind = match reconciler {
        "rescue" | "reclaim" => "persistentvolumes",
        _ => "persistentvolumeclaims",
    };
    eventually("the right is gone", || {
        let asked = ["auth", "can-i", "patch", kind, "-A", "--as", USER];
        cluster.try_kubectl(&asked, "").is_err()
    });
    let mark = cluster.mark();
    let trouble = Trouble::make(on, reconciler, 2);
    let labels = [format!("reconciler=\"{reconciler}\""), "outcome=\"refused\"".to_owned()];
    let labels: Vec<_> = labels.iter().map(String::as_str).collect();
    eventually(&format!("{reconciler} is refused"), || {
        count_of(&reporting.numbers("kubectl_storage_watch_changes_total"), &labels) > 0
    });
    watcher.terminate();
    assert!(!trouble.is_over(), "{reconciler}");
    let forbidden = cluster.requests_since(mark).into_iter().filter(|it| {
        it["user"]["username"] == USER
            && it["verb"] == "patch"
            && it["responseStatus"]["code"] == 403
            && it["objectRef"]["resource"] == kind
    });
    assert!(forbidden.count() > 0, "{reconciler}");
    let wrote = cluster.requests_since(mark).into_iter().find(|it| {
        let changes = ["create", "update", "patch", "delete"];
        it["user"]["username"] == USER
            && changes.iter().any(|verb| it["verb"] == **verb)
            && ["persistentvolumes", "persistentvolumeclaims"]
                .iter()
                .any(|it_is| it["objectRef"]["resource"] == **it_is)
            && it["responseStatus"]["code"] != 403
    });
    assert!(wrote.is_none(), "{reconciler}: {wrote:#?}");
}

/// Takes roles away from reconcilers.
fn unbind(cluster: &Cluster, kind: &[&str], reconcilers: &[&str]) {
    let names: Vec<_> =
        reconcilers.iter().map(|it| format!("kubectl-storage-watch:{it}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    cluster.kubectl(&[&["delete", "--ignore-not-found"], kind, &names].concat());
}

/// Panics if the API server has forbidden the process anything since then.
#[track_caller]
fn nothing_was_forbidden(cluster: &Cluster, since: Mark) {
    let requests = cluster.requests_since(since);
    let forbidden = requests
        .iter()
        .find(|it| it["user"]["username"] == USER && it["responseStatus"]["code"] == 403);
    assert!(forbidden.is_none(), "{forbidden:#?}");
}

/// What the process has written since then: verbs and resources, without reviews.
fn written(cluster: &Cluster, since: Mark) -> BTreeSet<String> {
    let requests = cluster.requests_since(since);
    let of_process = requests.iter().filter(|it| it["user"]["username"] == USER);
    let writes = of_process.filter_map(|it| {
        let verb = it["verb"].as_str().unwrap_or_default();
        let resource = it["objectRef"]["resource"].as_str().unwrap_or_default();
        let is_read = ["get", "list", "watch"].contains(&verb) || resource.ends_with("reviews");
        (!is_read).then(|| format!("{verb} {resource}"))
    });
    writes.collect()
}
