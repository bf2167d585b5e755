//! `kill -9` at many places: run again, every teardown comes to the same end.

use serde_json::Value;

use super::{DESTROYED, Town};
use crate::support::{Fault, Scenario, shared};

/// Kills the tool before or after the request number `after` of a method arrives, and runs it again.
fn killed(end: &str, method: &str, after: u32, arrives: bool) {
    let on = Scenario::part(shared(), end);
    let town = Town::of(&on);
    let proxy = town.on.cluster.proxy();
    let fault = if arrives { Fault::hold_after() } else { Fault::hold() };
    // Events are created, not patched or deleted.
    let held = proxy.hold(fault.on(method, "/api").real().after(after));
    let args = town.destroying();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let running = town.admin.by(proxy.kubeconfig(), &args).start();
    held.wait();
    running.kill();
    if arrives {
        held.release();
    }
    drop(held);
    proxy.clear();
    let told = town.destroy();
    assert_eq!(told.code, Some(0), "{method} {after}: {}\n{:#}", told.stderr, told.json);
    assert_eq!(town.outcomes("destroyed"), DESTROYED, "{method} {after}: {:#}", town.record());
    assert_eq!(town.outcomes("kept"), ["kept", "spared"], "{method} {after}");
    town.is_as_recorded();
    let replicas = |it: &str| town.on.read(it)["spec"]["replicas"].clone();
    assert_eq!((replicas("sts/db"), replicas("deploy/web")), (Value::from(0), Value::from(0)));
}

#[test]
fn while_a_workload_is_stopped() {
    killed("", "PATCH", 8, true);
}

/// Policies are held by the first patches, workloads stopped by the next, policies given back by the last.
#[test]
#[ignore = "extended suite: kills fifteen times"]
fn at_fifteen_places() {
    let patches = [12, 13, 0, 1, 4, 6, 7, 9, 10].map(|after| ("PATCH", after));
    let deletions = [0, 1, 2, 4, 5, 6].map(|after| ("DELETE", after));
    for (number, (method, after)) in patches.into_iter().chain(deletions).enumerate() {
        killed(&format!("-{number}"), method, after, number % 2 == 0);
    }
}
