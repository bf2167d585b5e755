//! Random races: while `gc` runs, others make the claim again, flip the policy, attach, delete, replace and reserve the
//! volume, and no backend folder goes that should not, or stays that nobody knows of.
//!
//! `cargo test --test real race -- --ignored --nocapture` runs 48 cases, the same ones every time, or as many as fit into 150
//! seconds; with `BUDGET` as many as fit into so many. What a case does is decided by its seed, and some of it is tied
//! to what the tool has just done (read the volume again, rehearsed the patch, sent it); which of two requests comes
//! first is decided by the machine.
//! `SEED=n CASES=1` repeats one case. A long run over cases that nobody has seen:
//! `SEED=$(date +%s)0000 BUDGET=600 cargo test --test real race -- --ignored --nocapture`.

mod api;
mod case;
mod history;
mod taken_back;
mod verdict;
mod world;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::future::join_all;
use futures::{StreamExt, stream};
use kubectl_storage::client::{ConnectionOptions, connect};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::support::{Bounds, Cases, Cluster, Options, Run, Tally};
use api::{Api, NAMESPACE};
use case::{Case, Deed, When};
use history::History;
use verdict::{Evidence, Verdict};
use world::World;

/// Cases that run at the same time.
const PARALLEL: usize = 16;
/// What every run of the tests takes.
const BOUNDS: Bounds = Bounds {
    seed: 17_952_798_020_000,
    cases: 48,
    floor: 16,
    budget: 150,
    one_case: Duration::from_secs(20),
};
/// The audit log and the watch are late where the machine is busy.
const PATIENCE: Duration = Duration::from_secs(180);

/// A deed, and what came of it: nothing where its moment never came.
pub(super) struct Did {
    volume: String,
    deed: Deed,
    result: Option<Result<(), u16>>,
    /// When that was known, by the clock that the API server has too.
    at: DateTime<Utc>,
}

#[test]
#[ignore = "extended suite: long random runs"]
fn whatever_others_do_meanwhile_nothing_is_lost_and_nothing_leaks() {
    let mut cases = Cases::begin("races with gc", BOUNDS);
    // With nodes: a csi-provisioner that runs in no pod is not known to honor the finalizer.
    let cluster = Cluster::start(Options::COMPLETE);
    let driver = cluster.driver();
    let runtime = Runtime::new().expect("because the machine has threads");
    cases.start_the_clock();
    let tally = runtime.block_on(async {
        let options = ConnectionOptions {
            kubeconfig: Some(cluster.kubeconfig().to_owned()),
            ..ConnectionOptions::default()
        };
        let connection = connect(&options, "racing").await.expect("the cluster has started");
        let api = Api(connection.client.clone());
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE},
        });
        api.create("namespaces", &namespace).await.expect("a new cluster has no such namespace");
        let history = History::begin(api.0.clone(), cluster.audit_log_file()).await;
        let world = World { api, driver };
        stream::iter(cases.seeds())
            .map(|seed| one(&cluster, &world, &history, Case::of(seed)))
            .buffer_unordered(PARALLEL)
            .fold(Tally::default(), async |tally, (case, verdict)| {
                let Verdict { mut counts, wrong, story } = verdict;
                counts.insert("volumes".to_owned(), case.volumes.len() as u64);
                tally.with(&case, counts, &wrong, &story)
            })
            .await
    });
    let Tally { cases: count, counts, divergences } = tally;
    cases.end(count, &format!(": {counts:#?}"), &divergences);
    // It would prove nothing if nothing had been reclaimed, or nobody had been in the way.
    for outcome in ["done", "stale", "refused in the plan"] {
        assert!(count < BOUNDS.floor || counts.contains_key(outcome), "never {outcome}");
    }
}

async fn one(
    cluster: &Cluster,
    world: &World<'_>,
    history: &Arc<History>,
    case: Case,
) -> (Case, Verdict) {
    let user = case.user();
    world.make(&case).await;
    let mut did = before(world, &case).await;
    let home = tempfile::tempdir().expect("because the temporary folder is writable");
    let run = gc(cluster, &case, home.path());
    let (over, ended) = watch::channel(false);
    let deeds = deeds(&case).filter(|(_, deed)| deed.when != When::Before);
    let deeds =
        deeds.map(|(name, deed)| meanwhile(world, history, &user, name, deed, ended.clone()));
    let (outcome, others) = tokio::join!(
        async {
            let outcome = tokio::task::spawn_blocking(|| run.go()).await;
            over.send_replace(true);
            outcome.expect("because a run does not panic")
        },
        join_all(deeds)
    );
    did.extend(others);
    let restless = world.settle(&case).await;
    let late = settle_notes(world, history, &user).await;
    let json: Value = serde_json::from_str(&outcome.stdout).unwrap_or_default();
    let journal = json["metadata"]["journal"].as_str();
    let journal = journal.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
    let mut volumes = Vec::new();
    for name in case.names().iter().flat_map(|name| world::all_names(name)) {
        volumes.extend(world.volume(&name).await);
    }
    let requests = history.requests(&user);
    let evidence = Evidence {
        case: &case,
        did: &did,
        outcome: &outcome,
        json: &json,
        journal: &journal,
        volumes: &volumes,
        requests: &requests,
        history,
        driver: world.driver,
    };
    let mut verdict = verdict::judge(&evidence);
    verdict.wrong.extend(late);
    verdict.counts.insert("(never at rest)".to_owned(), restless);
    world.leave(&case).await;
    history.forget(&user);
    (case, verdict)
}

/// One process for the volumes of a case, in a name of its own.
fn gc(cluster: &Cluster, case: &Case, home: &std::path::Path) -> Run {
    let names = case.names();
    let mut run = Run::of(&["gc", "--older-than", "1s", "--yes", "--max", "50", "-o", "json"])
        .more(&["--timeout", "20s", "--as", &case.user(), "--as-group", "system:masters"])
        .more(&names.iter().map(String::as_str).collect::<Vec<_>>())
        .kubeconfig(cluster.kubeconfig())
        .env("XDG_STATE_HOME", home);
    if case.include_recreated {
        run = run.more(&["--include-recreated"]);
    }
    if case.parallel {
        run = run.more(&["--parallel", "4"]);
    }
    run
}

fn deeds(case: &Case) -> impl Iterator<Item = (String, Deed)> {
    let of = |(index, deeds): (usize, &Vec<Deed>)| {
        deeds.iter().map(|deed| (case.volume(index), *deed)).collect::<Vec<_>>()
    };
    case.volumes.iter().enumerate().flat_map(of).collect::<Vec<_>>().into_iter()
}

async fn before(world: &World<'_>, case: &Case) -> Vec<Did> {
    let mut did = Vec::new();
    for (volume, deed) in deeds(case).filter(|(_, deed)| deed.when == When::Before) {
        let result = Some(world.act(&deed, &volume).await);
        did.push(Did { volume, deed, result, at: Utc::now() });
    }
    did
}

/// Waits for a deed's moment, and does it unless the tool has ended before.
async fn meanwhile(
    world: &World<'_>,
    history: &Arc<History>,
    user: &str,
    volume: String,
    deed: Deed,
    mut ended: watch::Receiver<bool>,
) -> Did {
    let moment = async {
        match deed.when {
            When::Before => {}
            When::After(delay) => sleep(Duration::from_millis(delay)).await,
            When::Once(stage, delay) => {
                history.reached(user, &volume, stage).await;
                sleep(Duration::from_millis(delay)).await;
            }
        }
    };
    let came = tokio::select! {
        () = moment => true,
        _ = ended.wait_for(|ended| *ended) => false,
    };
    let result = if came { Some(world.act(&deed, &volume).await) } else { None };
    Did { volume, deed, result, at: Utc::now() }
}

/// Waits until the audit log has what the tool asked, and the watch what became of it; says whether they never did.
async fn settle_notes(world: &World<'_>, history: &Arc<History>, user: &str) -> Option<String> {
    let question = format!("/version?mark={user}");
    world.api.mark(user, &question).await;
    let late = timeout(
        PATIENCE,
        history.until(|it| {
            let requests = it.requests(user);
            requests.iter().any(|it| it["requestURI"] == *question)
                && verdict::patches(&requests).all(|it| verdict::patched(history, it).is_some())
        }),
    );
    late.await.err().map(|_| format!("{user}: the audit log or the watch is late"))
}
