//! The run is killed, is overtaken, or waits for a controller that does not run.

use super::{PATCH, Set, patch_of, sent};
use crate::retention::set::DELETE_WITH_SET;
use crate::support::{Admin, Cluster, Fault, Options, Told, shared};

/// Killed before the policy is patched: no claim is more deletable than before, and another run goes on.
#[test]
#[ignore = "extended suite: kills and restarts"]
fn a_run_that_is_killed_between_its_steps_is_gone_on_with() {
    let set = Set::start(shared(), DELETE_WITH_SET, 2);
    set.owned(&[0, 1]);
    set.scale(1);
    let (admin, proxy) = (Admin::of(&set.on), shared().proxy());
    let held = proxy.hold(Fault::hold().on("PATCH", "/statefulsets/web$").real());
    let args = set.call(&["--when-deleted", "Retain"]);
    let running = admin.by(proxy.kubeconfig(), &args).start();
    held.wait();
    running.kill();
    held.lose();
    assert_eq!(set.policy().0, "Delete", "it promises nothing yet");
    set.unowned(&[1]);
    let (mark, claims) = (shared().mark(), set.claims());
    let told = set.run(&admin, &["--when-deleted", "Retain"]).ends(0);
    told.says(&["is open"]);
    assert_eq!(sent(&admin, mark), [PATCH], "what was done is not done again");
    set.survives(&claims);
}

/// Two at once: one patches the set, and the other is told, which cannot tell its own request from that of the first.
#[test]
#[ignore = "extended suite: kills and restarts"]
fn of_two_at_once_one_is_told() {
    let set = Set::start(shared(), DELETE_WITH_SET, 2);
    set.owned(&[0, 1]);
    let (first, second) =
        (Admin::of(&set.on), Admin::named(&set.on, "second", &["--as-group", "system:masters"]));
    let proxy = shared().proxy();
    let held = proxy.hold(Fault::hold().on("PATCH", "/statefulsets/web$").real());
    let args = set.call(&["--when-deleted", "Retain"]);
    let running = first.by(proxy.kubeconfig(), &args).start();
    held.wait();
    let (mark, claims) = (shared().mark(), set.claims());
    set.run(&second, &["--when-deleted", "Retain"]).ends(0);
    assert_eq!(sent(&second, mark), [PATCH]);
    held.release();
    let told = Told::of(running.finish()).ends(6);
    let reason = told.reason("web");
    assert!(reason.contains("another client"), "{:#}", told.json);
    assert!(reason.contains("a proxy has sent it twice"), "{:#}", told.json);
    assert!(sent(&first, mark).iter().all(|it| it.ends_with(" 422")), "{:?}", sent(&first, mark));
    set.survives(&claims);
}

/// While kube-controller-manager is down nothing observes the change: what contradicts it is removed by the tool alone.
#[test]
#[ignore = "extended suite: kills and restarts"]
fn without_a_controller_the_tool_says_what_is_pending() {
    let cluster = Cluster::start(Options::COMPLETE);
    let set = Set::start(&cluster, DELETE_WITH_SET, 3);
    set.owned(&[0, 1, 2]);
    set.scale(2);
    cluster.stop_component("kcm");
    let (admin, mark, claims) = (Admin::of(&set.on), cluster.mark(), set.claims());
    let told = set.run(&admin, &["--when-deleted", "Retain", "--timeout", "5s"]).ends(6);
    assert_eq!(told.outcomes("pending"), ["web"], "{:#}", told.json);
    let reason = told.reason("web");
    assert!(reason.contains("the StatefulSet controller has not observed the change"), "{reason}");
    assert!(reason.contains("kube-controller-manager is running"), "{reason}");
    let expected = [patch_of(2), PATCH.to_owned(), patch_of(0), patch_of(1)];
    assert_eq!(sent(&admin, mark), expected);
    cluster.start_component("kcm");
    set.rolled_out(2);
    set.survives(&claims);
}

/// `--wait=false` sets the policy, and does not say that it is done.
#[test]
#[ignore = "extended suite: kills and restarts"]
fn without_waiting_nothing_is_called_done() {
    let set = Set::start(shared(), DELETE_WITH_SET, 2);
    set.owned(&[0, 1]);
    let (admin, mark, claims) = (Admin::of(&set.on), shared().mark(), set.claims());
    let told = set.run(&admin, &["--when-deleted", "Retain", "--wait=false"]).ends(6);
    assert!(told.reason("web").contains("--wait=false"), "{:#}", told.json);
    assert_eq!(sent(&admin, mark), [PATCH]);
    set.unowned(&[0, 1]);
    set.survives(&claims);
}
