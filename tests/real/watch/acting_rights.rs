//! Reconcilers with the roles that are printed for them, under the API server's own authorizer: without them nothing is
//! changed, with them they act, and ask for nothing else.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Watcher;
use super::acting::{left, policy_of};
use super::installed::{NAMESPACE, USER, apply, in_pod};
use super::reporting::Reporting;
use crate::support::{Cluster, Mark, Options, Run, Scenario, claim, eventually, pod};

const MARK: &str = "storage.kubectl.dev/announced";

#[test]
fn reconcilers_act_with_the_roles_that_are_printed_for_them_and_not_without() {
    let cluster = Cluster::start(Options::COMPLETE);
    let on = Scenario::on(&cluster);
    let driver = cluster.driver();
    let reporting = Reporting::with(
        "{metrics: {address: '127.0.0.1:PORT'}}",
        &format!(
            "scope: {{namespaces: [{}]}}\nleaderElection: {{}}\n\
             reconcilers: {{rescue: {{mode: act}}, retention: {{mode: act}}, finalizers: {{mode: act}}, \
             reclaim: {{mode: act, olderThan: 1s, grace: 15s}}}}\n\
             bounds: {{unchangedJudgements: 2, judgementInterval: 1s}}",
            on.name
        ),
    );
    let path = reporting.policy();
    let path = path.to_string_lossy();
    let print = |args: &[&str]| Run::of(&["watch", "print"]).more(args).go().stdout;

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
    on.wait_gone(&format!("pv/{volume}"));
    assert!(!driver.has(&volume), "the backend volume is still there");
    on.create(&claim("orders", &driver.class_delete));
    on.create(&pod("shop", "orders"));
    let orders = on.bound("orders");
    on.wait_phase("pod/shop", "Running");
    on.delete("pvc/orders");
    eventually("the volume is kept", || policy_of(&on, &orders) == "Retain");
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
    let forbidden = requests.iter().find(|it| it["responseStatus"]["code"] == 403);
    assert!(forbidden.is_none(), "{forbidden:#?}");
    let expected = [
        "create configmaps",
        "create events",
        "patch persistentvolumes",
        "update configmaps",
        "update leases",
    ];
    assert_eq!(written(&cluster, allowed), expected.map(str::to_owned).into());
    for request in requests.iter().filter(|it| it["objectRef"]["resource"] == "configmaps") {
        let namespace = request["objectRef"]["namespace"].as_str().unwrap_or_default();
        assert!([NAMESPACE, "kube-system"].contains(&namespace), "{request:#}");
    }
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
