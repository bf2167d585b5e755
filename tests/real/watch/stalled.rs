//! What becomes of a watch that nobody reads: it goes on judging, leads, and ends when it is asked to.

use std::io::{BufRead as _, BufReader, Write as _};
use std::io::{PipeReader, pipe};
use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;

use super::reporting::{Reporting, count_of};
use super::{ARGS, PAST, released};
use crate::support::{Cluster, Finding, Options, Run, Running, Scenario, eventually};

/// As much as a pipe holds (pipe(7)).
const PIPE: usize = 1 << 16;

/// Starts a run whose stdout and stderr go into pipes that are full already.
fn start_stalled(args: &[&str], kubeconfig: &Path) -> (Running, [PipeReader; 2]) {
    let [(stdout, mut into_stdout), (stderr, mut into_stderr)] =
        [pipe(), pipe()].map(|it| it.expect("because there is room for pipes"));
    for into in [&mut into_stdout, &mut into_stderr] {
        into.write_all(&vec![b'\n'; PIPE]).expect("because so much fits");
    }
    let run = Run::of(args).kubeconfig(kubeconfig);
    (run.start_into(into_stdout.into(), into_stderr.into()), [stdout, stderr])
}

/// What is read of a pipe until it is closed, without what had filled it.
fn rest(pipe: PipeReader) -> Vec<String> {
    BufReader::new(pipe).lines().map_while(Result::ok).filter(|it| !it.is_empty()).collect()
}

#[test]
fn a_watch_that_nobody_reads_judges_leads_and_ends() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let on = Scenario::on(&cluster);
    let first = released(&on, "first");
    let reporting = Reporting::with(
        "{metrics: {address: '127.0.0.1:PORT'}}",
        "leaderElection: {namespace: default}",
    );
    let policy = reporting.policy();
    let policy = policy.to_string_lossy();
    let args = ["watch", "-o", "json", "--log-format", "json", "-f", &*policy];
    let (watch, [stdout, stderr]) = start_stalled(&args, cluster.kubeconfig());
    let past = || {
        let numbers = reporting.numbers("kubectl_storage_findings");
        count_of(&numbers, &[&format!("id=\"{PAST}\"")])
    };
    let leads = || count_of(&reporting.numbers("kubectl_storage_leader"), &[]) == 1;
    eventually("it judges and leads", || past() == 1 && leads());
    let second = released(&on, "second");
    eventually("it goes on judging", || past() == 2);
    on.delete(&second);
    eventually("it goes on judging", || past() == 1);
    assert!(leads());
    assert_eq!(reporting.get("/healthz").map(|it| it.0), Some(200));
    watch.signal(Signal::TERM);
    assert_eq!(watch.finish().code, Some(143));
    // It has given the Lease back, and nothing stood in the pipes but what had filled them.
    let lease = cluster.get("default", "lease/kubectl-storage-watch").expect("because it led");
    assert_eq!(lease["spec"]["holderIdentity"], "", "{lease}");
    assert_eq!((rest(stdout).len(), rest(stderr).len()), (0, 0));

    // Whoever reads late reads what adds up: what came and went meanwhile is left out.
    let args = ["audit", "-w", "-o", "json", ARGS[0], ARGS[1]];
    let (watch, [stdout, stderr]) = start_stalled(&args, cluster.kubeconfig());
    let begun = cluster.mark();
    eventually("it watches", || {
        cluster.events_since(begun, "watch=1").len()
            + cluster.events_since(begun, "watch=true").len()
            > 0
    });
    let third = released(&on, "third");
    let mut lines =
        BufReader::new(stdout).lines().map_while(Result::ok).filter(|it| !it.is_empty());
    let mut told = Vec::new();
    while !told.iter().any(|it: &(String, String)| it.1 == third) {
        let line = lines.next().expect("because it goes on");
        let event: Value = serde_json::from_str(&line).expect("each line is JSON");
        let name = event["event"].as_str().unwrap_or_default().to_owned();
        told.push((name, Finding(&event).object()));
    }
    assert!(told.contains(&("appeared".to_owned(), first)), "{told:?}");
    assert!(told.iter().all(|it| it.1 != second), "{told:?}");
    drop(lines);
    // Nobody reads any more: the next line ends it.
    released(&on, "fourth");
    assert_eq!(watch.finish().code, Some(0));
    assert_eq!(rest(stderr), Vec::<String>::new());
}
