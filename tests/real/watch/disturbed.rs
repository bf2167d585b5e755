//! What is told while the way to the cluster is disturbed: nothing clears unseen, and all of it adds up in the end.

use std::time::Duration;

use super::{ARGS, PAST, Watcher, bind, released};
use crate::support::{Cluster, Fault, Options, Run, Scenario, eventually, never};

#[test]
#[ignore = "extended suite: kills and restarts"]
fn an_api_server_that_restarts_clears_nothing() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let on = Scenario::on(&cluster);
    let kept = released(&on, "kept");
    let watcher = Watcher::start(cluster.kubeconfig(), &ARGS);
    watcher.tells("appeared", PAST, &kept);
    for round in 0..3 {
        cluster.restart_server();
        let other = released(&on, &format!("other-{round}"));
        watcher.tells("appeared", PAST, &other);
        on.delete(&other);
        watcher.tells("cleared", PAST, &other);
    }
    watcher.converges(&cluster);
    assert_eq!(watcher.count("cleared", PAST, &kept), 0);
    let is_whole = || {
        let said = watcher.said();
        said.matches("not read: ").count() == 0 || said.contains("read again: ")
    };
    eventually("everything is read again", is_whole);
    watcher.interrupt();
}

#[test]
#[ignore = "extended suite: kills and restarts"]
fn volumes_that_cannot_be_read_stand_until_they_can() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let on = Scenario::on(&cluster);
    let (kept, deleted) = (released(&on, "kept"), released(&on, "deleted"));
    let proxy = cluster.proxy();
    let watcher = Watcher::start(proxy.kubeconfig(), &ARGS);
    watcher.tells("appeared", PAST, &deleted);
    let lost = Fault::reset_before().on("GET", "^/api/v1/persistentvolumes$");
    proxy.fault(lost);
    // This ends all watches that are open.
    cluster.restart_server();
    watcher.says("not read: persistentvolumes");
    on.delete(&deleted);
    on.wait_gone(&deleted);
    never("cleared unseen", Duration::from_secs(8), || {
        watcher.events().iter().any(|it| it["event"] == "cleared")
    });
    proxy.clear();
    watcher.reads_again("persistentvolumes");
    watcher.tells("cleared", PAST, &deleted);
    watcher.converges(&cluster);
    assert_eq!(watcher.count("cleared", PAST, &kept), 0);
    assert!(!watcher.said().contains("defect"), "{}", watcher.said());
    watcher.interrupt();
}

#[test]
#[ignore = "extended suite: kills and restarts"]
fn what_is_forbidden_is_read_once_it_is_granted() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let on = Scenario::on(&cluster);
    let kept = released(&on, "kept");
    let watcher = Watcher::start(&cluster.kubeconfig_of("user-1"), &ARGS);
    watcher.says("Incomplete: ");
    assert_eq!(watcher.events().len(), 0);
    // Exactly what it says that it needs.
    let role = Run::of(&["rbac", "watch"]).go().stdout;
    cluster.try_kubectl(&["create", "-f", "-"], &role).expect("because it is a role");
    let name = "kubectl-storage-watch";
    bind(&cluster, name, "user-1");
    watcher.reads_again("persistentvolumes");
    watcher.reads_again("pods");
    watcher.tells("appeared", PAST, &kept);
    watcher.converges(&cluster);
    let lacking =
        Run::of(&["rbac", "watch", "--check"]).kubeconfig(&cluster.kubeconfig_of("user-1")).go();
    assert_eq!(lacking.code, Some(0), "{} {}", lacking.stdout, lacking.stderr);
    watcher.interrupt();
}
