//! False answers: a proxy between the tool and a real API server has one thing go wrong with one path, and no command
//! plans or reports more than without it, except that it did not see everything.
//!
//! `cargo test --test real untrue -- --ignored --nocapture` plays 48 cases, the same ones every time, or as many as fit into 150
//! seconds; with `BUDGET` as many as fit into so many. `SEED=n CASES=1` repeats one case. A long run over cases that
//! nobody has seen: `SEED=$(date +%s)0000 BUDGET=600 cargo test --test real untrue -- --ignored --nocapture`.

mod faults;
mod proxy;

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{
    Bounds, Cases, Cluster, Dice, DriverOptions, Options, Run, Scenario, Tally, claim, eventually,
    pod, say,
};
use faults::{FAULTS, fault};
use proxy::FalseServer;

/// What every run of the tests takes.
const BOUNDS: Bounds = Bounds {
    seed: 29_110_000,
    cases: 48,
    floor: 12,
    budget: 150,
    one_case: Duration::from_secs(15),
};
/// Cases that run at the same time.
const PARALLEL: usize = 4;

/// A driver that none of ours knows.
const DRIVER: &str = "untrue.csi.example";

/// The commands, each with what is found out about it without a fault.
const COMMANDS: [&[&str]; 9] = [
    &["audit", "--older-than", "1s"],
    &["gc", "--older-than", "1s", "--backend-exclusive", DRIVER, "--dry-run"],
    &["explain", "pvc/used"],
    &["delete", "pvc/used", "--destroy-data", "--backend-exclusive", DRIVER, "--dry-run"],
    &["delete", "pvc/owned", "--destroy-data", "--backend-exclusive", DRIVER, "--dry-run"],
    &["delete", "pvc/idle", "--destroy-data", "--backend-exclusive", DRIVER, "--dry-run"],
    &["disown", "pvc/owned", "--dry-run"],
    &["fix-finalizers", "--dry-run"],
    &["retention", "show", "web"],
];

/// What a command said: what it plans, reports or foretells, as texts.
struct Said {
    claims: BTreeSet<String>,
    code: Option<i32>,
    /// What it refuses, and its errors, for whoever reads of a failure.
    stderr: String,
}

impl Said {
    fn of(server: &FalseServer, namespace: &str, command: &[&str]) -> Self {
        let connection =
            ["-s", &server.url, "--kubeconfig", "/dev/null", "--request-timeout", "8s"];
        let run = Run::of(command).more(&["-o", "json", "-n", namespace]).more(&connection);
        let outcome = run.go();
        assert!(!outcome.stderr.contains("panicked"), "{command:?}: {}", outcome.stderr);
        let json: Value = serde_json::from_str(&outcome.stdout).unwrap_or_default();
        let stderr = format!("{} {}", json["refusals"], outcome.stderr);
        Self { claims: claims_of(&json), code: outcome.code, stderr }
    }
}

fn claims_of(json: &Value) -> BTreeSet<String> {
    let listed = |field: &str| json[field].as_array().cloned().unwrap_or_default();
    let findings =
        listed("findings").into_iter().map(|it| format!("{} {}", it["id"], it["object"]));
    let changes = listed("changes").into_iter().map(|it| format!("change {}", it["object"]));
    // What is unknown is no promise.
    let outcomes = listed("outcomes").into_iter().filter(|it| it["then"] != "unknown");
    let outcomes =
        outcomes.map(|it| format!("if {} {} then {}", it["if"], it["object"], it["then"]));
    findings.chain(changes).chain(outcomes).collect()
}

/// A cluster with what is easily given up if it is not seen: the user of a claim, the owner of another, the snapshot of
/// a volume that is left.
fn world(cluster: &Cluster) -> Scenario<'_> {
    cluster.install_snapshot_api();
    let on = Scenario::on(cluster);
    let options = DriverOptions { attach: false, ..DriverOptions::default() };
    let driver = cluster.start_driver(DRIVER, &options);
    let set = on.create(&json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"},
        "spec": {
            "replicas": 0, "serviceName": "none", "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": "none"}]},
            },
        },
    }));
    for name in ["left", "copied"] {
        on.create(&claim(name, &driver.class_retain));
    }
    for name in ["used", "idle"] {
        on.create(&claim(name, &driver.class_delete));
    }
    let mut owned = claim("owned", &driver.class_delete);
    owned["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web",
        "uid": set["metadata"]["uid"],
    }]);
    on.create(&owned);
    on.create(&pod("user", "used"));
    let [left, copied] = ["left", "copied"].map(|name| on.bound(name));
    for name in ["used", "idle", "owned"] {
        on.bound(name);
    }
    eventually("the snapshot API is served", || {
        let list = ["get", "--raw", "/apis/snapshot.storage.k8s.io/v1/volumesnapshotcontents"];
        cluster.try_kubectl(&list, "").is_ok()
    });
    on.create(&json!({
        "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotContent",
        "metadata": {"name": on.named("content")},
        "spec": {
            "deletionPolicy": "Retain", "driver": driver.name,
            "source": {"volumeHandle": on.handle(&copied)},
            "volumeSnapshotRef": {"namespace": on.name, "name": "taken"},
        },
    }));
    for name in ["pvc/left", "pvc/copied"] {
        on.delete(name);
    }
    for volume in [left, copied] {
        on.wait_phase(&format!("pv/{volume}"), "Released");
    }
    thread::sleep(Duration::from_secs(3));
    on
}

/// What each command says without a fault, and the paths that it reads.
fn without_faults(server: &FalseServer, namespace: &str) -> Vec<(Said, Vec<String>)> {
    let baseline = COMMANDS.iter().map(|command| {
        server.plays(&[]);
        let said = Said::of(server, namespace, command);
        let (read, written) = server.asked();
        assert!(written.is_empty(), "{command:?}: {written:?}");
        assert!(!read.is_empty(), "{command:?}: {}", said.stderr);
        (said, read.into_iter().collect())
    });
    baseline.collect()
}

fn play(
    server: &FalseServer,
    namespace: &str,
    baseline: &[(Said, Vec<String>)],
    seed: u64,
) -> (String, String, Vec<String>) {
    let mut dice = Dice::of(seed);
    let index = dice.index(COMMANDS.len());
    let (command, (truth, paths)) = (COMMANDS[index], &baseline[index]);
    let path = &paths[dice.index(paths.len())];
    let fault = &FAULTS[dice.index(FAULTS.len())];
    server.plays(&[(path, fault)]);
    let said = Said::of(server, namespace, command);
    let (_, written) = server.asked();
    let more: Vec<_> = said.claims.difference(&truth.claims).cloned().collect();
    let mut wrong = Vec::new();
    if !more.is_empty() {
        wrong.push(format!("it claims more: {more:?}; {}", said.stderr));
    }
    if !written.is_empty() {
        wrong.push(format!("it wrote: {written:?}"));
    }
    let case = format!("SEED={seed} CASES=1: {command:?}, {:?} on {path}", fault.name);
    let ended = match said.code == truth.code && said.claims == truth.claims {
        true => "as without".to_owned(),
        false => format!("exit {:?}", said.code),
    };
    (case, ended, wrong)
}

#[test]
#[ignore = "extended suite: long random runs"]
fn a_false_answer_is_no_answer() {
    let mut cases = Cases::begin("false answers", BOUNDS);
    let cluster = Cluster::start(Options { nodes: 1, kwok: true, ..Options::CONTROLLERS });
    let on = world(&cluster);
    let servers: Vec<_> = (0..PARALLEL).map(|_| FalseServer::start(cluster.kubeconfig())).collect();
    let baseline = &without_faults(&servers[0], &on.name)[..];
    let namespace = on.name.as_str();
    let of = |index: usize| &baseline[index].0;
    assert!(of(1).claims.len() == 1, "gc plans one volume: {:?} {}", of(1).claims, of(1).stderr);
    assert!(of(3).claims.is_empty() && of(4).claims.is_empty() && of(6).claims.is_empty());
    assert!(!of(5).claims.is_empty(), "the plain case: {}", of(5).stderr);
    cases.start_the_clock();
    let mut tally = Tally::default();
    let mut seeds = cases.seeds();
    loop {
        let batch: Vec<_> = seeds.by_ref().take(PARALLEL).collect();
        if batch.is_empty() {
            break;
        }
        let played = thread::scope(|scope| {
            let run = |(server, seed)| scope.spawn(move || play(server, namespace, baseline, seed));
            let running: Vec<_> = servers.iter().zip(batch).map(run).collect();
            running.into_iter().map(|it| it.join().expect("it does not panic")).collect::<Vec<_>>()
        });
        for (case, ended, wrong) in played {
            tally = tally.with(&case, BTreeMap::from([(ended, 1)]), &wrong, "");
        }
    }
    cases.end(tally.cases, &format!(": {:?}", tally.counts), &tally.divergences);
}

/// A server that has just started lists no custom resources, is not ready, and answers 503 for them; behind a load
/// balancer each of these may come from another server.
#[test]
fn what_a_starting_server_leaves_out_is_not_absent() {
    const GROUP: &str = "/apis/snapshot.storage.k8s.io";
    let lists = ["v1/volumesnapshots", "v1/volumesnapshotcontents", "v1/volumesnapshotclasses"];
    let lists = lists.map(|it| format!("{GROUP}/{it}"));
    let cluster = Cluster::start(Options { nodes: 1, kwok: true, ..Options::CONTROLLERS });
    let on = world(&cluster);
    let server = FalseServer::start(cluster.kubeconfig());
    let gc = |faults: &[(&str, &'static faults::Fault)]| {
        server.plays(faults);
        Said::of(&server, &on.name, COMMANDS[1])
    };
    let truth = gc(&[]);
    assert_eq!(truth.claims.len(), 1, "{:?} {}", truth.claims, truth.stderr);
    let groups = ("/apis", fault("no custom groups"));
    for then in ["503", "404 as of Go", "404 of a gateway", "403"] {
        let mut faults = vec![groups];
        faults.extend(lists.iter().map(|path| (path.as_str(), fault(then))));
        let said = gc(&faults);
        assert!(said.claims.is_subset(&truth.claims), "{then}: {:?} {}", said.claims, said.stderr);
        say(&format!("{then}: exit {:?}", said.code));
    }
    // Ready it was not, and then it answers as if it were: the group itself, which is there by now, is asked last.
    let said = gc(&[groups, ("/readyz", fault("500"))]);
    assert!(said.claims.is_subset(&truth.claims), "{:?} {}", said.claims, said.stderr);

    // A gateway's 404 in the place of the owner.
    for name in ["404 of a gateway", "404 as of Go", "404 Status without details"] {
        let path = format!("/apis/apps/v1/namespaces/{}/statefulsets/web", on.name);
        for index in [4, 6] {
            server.plays(&[(&path, fault(name))]);
            let said = Said::of(&server, &on.name, COMMANDS[index]);
            assert!(said.claims.is_empty(), "{name}: {:?} {}", said.claims, said.stderr);
            assert_eq!(said.code, Some(5), "{name}: {}", said.stderr);
        }
    }
}
