//! What is told when nothing disturbs it.

use std::io::{BufRead as _, BufReader};
use std::time::Duration;

use serde_json::json;

use super::{PAST, Watcher, released};
use crate::support::{Cluster, Options, Run, Scenario, claim, never};

const ARGS: [&str; 4] = ["--older-than", "1s", "--threshold", "pvc-pending=15s"];

#[test]
fn findings_appear_change_and_clear() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let on = Scenario::on(&cluster);
    let before = cluster.mark();
    let first = released(&on, "first");
    let watcher = Watcher::start(cluster.kubeconfig(), &ARGS);
    // What is there at the beginning.
    watcher.tells("appeared", PAST, &first);
    watcher.converges(&cluster);
    assert!(watcher.events().iter().all(|it| it["event"] == "appeared"), "{:?}", watcher.events());

    let second = released(&on, "second");
    watcher.tells("appeared", PAST, &second);
    // The first one changes with it: nothing is known of this driver, and they may share storage.
    watcher.tells("changed", PAST, &first);
    let of_first = watcher.count("changed", PAST, &first);
    // One that changes stays the same finding.
    on.patch(&second, &json!({"spec": {"capacity": {"storage": "7Gi"}}}));
    watcher.tells("changed", PAST, &second);
    let changed = watcher.events();
    let changed = changed.iter().rfind(|it| it["event"] == "changed").expect("it was just told");
    assert_eq!(changed["volume"]["capacity"], "7Gi", "{changed}");
    assert_eq!(watcher.count("changed", PAST, &first), of_first);
    // One that is exempted, and one whose object is deleted.
    let ignore = json!({"metadata": {"annotations": {"storage.kubectl.dev/ignore": PAST}}});
    on.patch(&first, &ignore);
    watcher.tells("cleared", PAST, &first);
    on.delete(&second);
    watcher.tells("cleared", PAST, &second);

    // Nothing happens to a claim for which there is no volume: time makes it a finding.
    on.create(&claim("waits", "no-such-class"));
    let waits = format!("pvc/{}/waits", on.name);
    let pending = "pvc-pending-too-long";
    never("pending for too long", Duration::from_secs(5), || {
        watcher.count("appeared", pending, &waits) > 0
    });
    watcher.tells("appeared", pending, &waits);
    on.delete("pvc/waits");
    watcher.tells("cleared", pending, &waits);

    watcher.converges(&cluster);
    assert_eq!(watcher.said(), "", "nothing was not read, and there was no defect");
    watcher.interrupt();
    cluster.assert_no_write(before);
    cluster.assert_no_dry_run(before);
}

#[test]
fn it_ends_when_nobody_reads_and_when_a_finding_is_bad_enough() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let on = Scenario::on(&cluster);
    let run = |args: &[&str]| {
        Run::of(&["audit", "-w"]).more(&ARGS).more(args).kubeconfig(cluster.kubeconfig())
    };
    let critical = run(&["--fail-on", "critical"]);
    let mut failing = run(&["--fail-on", "medium"]).start();
    failing.says("no findings");
    released(&on, "first");
    let failed = failing.finish();
    assert_eq!(failed.code, Some(3), "{}", failed.stderr);
    assert!(failed.stdout.starts_with("EVENT"), "{}", failed.stdout);
    assert!(failed.stdout.lines().count() > 1, "{}", failed.stdout);
    // It is there already.
    assert_eq!(run(&["--fail-on", "medium"]).go().code, Some(3));

    let mut piped = critical.more(&["-o", "name"]).start();
    let (stdout, _) = piped.pipes();
    let mut line = String::new();
    let mut head = BufReader::new(stdout);
    head.read_line(&mut line).expect("because it is piped");
    assert!(line.starts_with("persistentvolume/"), "{line}");
    drop(head);
    released(&on, "second");
    let outcome = piped.finish();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
}
