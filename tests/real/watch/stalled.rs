//! What becomes of a watch that nobody reads: it goes on judging, leads, and ends when it is asked to.

use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::io::{PipeReader, PipeWriter, pipe};
use std::path::Path;

use rustix::io::ioctl_fionbio;
use rustix::process::Signal;
use serde_json::Value;

use super::reporting::{Reporting, count_of};
use super::{ARGS, PAST, Watcher, released};
use crate::support::{Cluster, Finding, Options, Run, Running, Scenario, eventually};

/// Fills a pipe, however much it holds: less than usual where a user has many of them (pipe(7)).
fn fill(mut pipe: &PipeWriter) {
    ioctl_fionbio(pipe, true).expect("because pipes can");
    for block in [4096, 1] {
        let full = loop {
            if let Err(error) = pipe.write(&vec![b'\n'; block]) {
                break error;
            }
        };
        assert_eq!(full.kind(), ErrorKind::WouldBlock, "{full}");
    }
    ioctl_fionbio(pipe, false).expect("because pipes can");
}

/// Starts a run whose stdout and stderr go into pipes that are full already.
fn start_stalled(args: &[&str], kubeconfig: &Path) -> (Running, [PipeReader; 2]) {
    let [(stdout, into_stdout), (stderr, into_stderr)] =
        [pipe(), pipe()].map(|it| it.expect("because there is room for pipes"));
    fill(&into_stdout);
    fill(&into_stderr);
    let run = Run::of(args).kubeconfig(kubeconfig);
    (run.start_into(into_stdout.into(), into_stderr.into()), [stdout, stderr])
}

#[test]
#[ignore = "extended suite: the rest of what watch does"]
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
    let (watch, _pipes) = start_stalled(&args, cluster.kubeconfig());
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
    // It has given the Lease back.
    let lease = cluster.get("default", "lease/kubectl-storage-watch").expect("because it led");
    assert_eq!(lease["spec"]["holderIdentity"], "", "{lease}");

    // Whoever asked for an end has it, although nobody reads why.
    let args = ["audit", "-w", "-o", "json", ARGS[0], ARGS[1], "--fail-on", "info"];
    let (mut watch, _pipes) = start_stalled(&args, cluster.kubeconfig());
    eventually("it ends", || watch.has_ended());
    assert_eq!(watch.finish().code, Some(3));

    // Whoever reads late reads what adds up: what came and went meanwhile is left out.
    let args = ["audit", "-w", "-o", "json", ARGS[0], ARGS[1]];
    let begun = cluster.mark();
    let (watch, [stdout, _stderr]) = start_stalled(&args, cluster.kubeconfig());
    eventually("it watches", || {
        let requests = cluster.requests_since(begun);
        let is_watch = |it: &Value| {
            it["stage"] == "ResponseStarted"
                && it["verb"] == "watch"
                && it["objectRef"]["resource"] == "persistentvolumes"
        };
        requests.iter().any(is_watch)
    });
    // One that is read tells how far both must be by now.
    let other = Watcher::start(cluster.kubeconfig(), &ARGS);
    other.tells("appeared", PAST, &first);
    let passing = released(&on, "passing");
    other.tells("appeared", PAST, &passing);
    on.delete(&passing);
    other.tells("cleared", PAST, &passing);
    let third = released(&on, "third");
    other.tells("appeared", PAST, &third);
    other.interrupt();
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
    assert!(told.iter().all(|it| it.1 != passing), "{told:?}");
    drop(lines);
    // Nobody reads any more: the next line ends it.
    released(&on, "fourth");
    assert_eq!(watch.finish().code, Some(0));
}
