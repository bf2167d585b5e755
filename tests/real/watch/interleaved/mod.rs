//! Random interleavings of reconcilers that act and of people: volumes are announced and reclaimed while people veto, postpone and
//! forge announcements, edit and delete their records, use volumes again, make them anew, revert policies, pause, and
//! while the process that acts is killed, stopped and woken.
//!
//! `cargo test --test real interleaved -- --ignored --nocapture` plays 3 cases at once, the same ones every time, each with 20 volumes of which
//! each has a life of its own: an interleaving. What a case does is decided by its seed, and some of it is tied to
//! what the tool has just done to the volume (announced it, rehearsed its end, sent it); which of two requests comes first is
//! decided by the machine. `SEED=n CASES=1` repeats one case.
//! 10,000 interleavings that nobody has seen: `SEED=$(date +%s)0000 CASES=500 cargo test --test real interleaved -- --ignored --nocapture`.

mod case;
mod model;
mod process;
mod selftest;
mod verdict;
mod world;

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use futures::future::join_all;
use futures::{StreamExt, stream};
use kube::Client;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::block_in_place;
use tokio::time::{sleep, timeout};

use crate::support::history::{History, Noted, is_by, namespace_of, text};
use crate::support::{Bounds, Cases, Cluster, Options, Tally, mark};
use case::{Case, Ill, PREFIX, When};
use process::{Home, Process};
use verdict::{Did, Evidence, Verdict};
use world::World;

/// Cases that are played at the same time.
const PARALLEL: usize = 3;
/// What every run of the tests takes.
const BOUNDS: Bounds = Bounds {
    // Three whose processes are killed, paused, and told of another grace period.
    seed: 17_958_420_022_437,
    cases: 3,
    floor: 3,
    budget: 180,
    one_case: Duration::from_secs(60),
};
/// Whatever is due is done by then, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(150);
/// Everything has begun by then that waits for nothing.
const ALL_BEGUN: Duration = Duration::from_secs(14);
/// Nothing begins after that which waits for the tool.
const ALL_OVER: Duration = Duration::from_secs(45);
/// How often it is looked whether everything is done.
const GLANCE: Duration = Duration::from_secs(1);

/// A case is over by then.
const REMEMBERED: TimeDelta = TimeDelta::minutes(20);

const NOTED: Noted = Noted {
    watched: &["pods", "persistentvolumeclaims", "persistentvolumes", "configmaps"],
    prefix: PREFIX,
    case: case_of,
    // A journal has a line for each change in it, and is read in the end.
    line: |it| !it.contains("/configmaps/kubectl-storage-journal-"),
};

/// Of which case an object is. Records of announcements are, by the volumes in them; that of vetoes is of all.
fn case_of(object: &Value) -> Option<String> {
    let name = text(&object["metadata"]["name"]);
    if name == model::VETOES {
        return Some(model::VETOES.to_owned());
    }
    if name.starts_with("kubectl-storage-journal-") {
        return None;
    }
    if namespace_of(object).starts_with(PREFIX) {
        return Some(namespace_of(object).to_owned());
    }
    let named = match name.starts_with(PREFIX) {
        true => name.to_owned(),
        false if name.starts_with(model::NAME) => object["data"].to_string(),
        false => return None,
    };
    let (_, rest) = named.split_once(PREFIX)?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some(format!("{PREFIX}{digits}"))
}

/// A cluster in which cases are played.
struct Stage {
    cluster: Cluster,
    client: Client,
    history: Arc<History>,
}

#[test]
#[ignore = "extended suite: long random runs"]
fn whatever_people_do_only_what_was_announced_and_is_still_so_is_destroyed_and_nothing_leaks() {
    let mut cases = Cases::begin("interleavings", BOUNDS);
    let runtime = Runtime::new().expect("because the machine has threads");
    let tally = runtime.block_on(async {
        let stage = Stage::set().await;
        cases.start_the_clock();
        stream::iter(cases.seeds())
            .map(|seed| one(&stage, Case::of(seed)))
            .buffer_unordered(PARALLEL)
            .fold(Tally::default(), async |tally, (case, verdict)| {
                let Verdict { counts, wrong, story } = verdict;
                tally.with(&case, counts, &wrong, &story)
            })
            .await
    });
    let Tally { cases: count, counts, divergences } = tally;
    cases.end(count, &format!(": {counts:#?}"), &divergences);
    // It would prove nothing if nothing had been destroyed. What else comes about is not in the seed alone.
    assert!(counts.contains_key("reclaimed"), "nothing was reclaimed in {count} cases");
}

impl Stage {
    async fn set() -> Self {
        let cluster = tokio::task::spawn_blocking(|| {
            let cluster = Cluster::start(Options::COMPLETE);
            cluster.driver();
            cluster
        });
        let cluster = cluster.await.expect("the cluster starts");
        let (client, history) = History::begin(&cluster, NOTED).await;
        Self { cluster, client, history }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.history.end();
    }
}

async fn one(stage: &Stage, case: Case) -> (Case, Verdict) {
    let (evidence, late) = play(stage, &case).await;
    let mut verdict = verdict::judge(&evidence);
    verdict.wrong.extend(late);
    (case, verdict)
}

/// Plays a case; says whether the notes of it never came.
async fn play(stage: &Stage, case: &Case) -> (Evidence, Option<String>) {
    let (name, driver) = (case.name(), stage.cluster.driver());
    let world = World {
        client: stage.client.clone(),
        driver,
        history: &stage.history,
        case,
        name: name.clone(),
    };
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    world.create("namespaces", &namespace).await.expect("a new name");
    let home = Home::new(&stage.cluster, &name);
    home.announce_for(case.grace);
    let (over, ended) = watch::channel(false);
    let lives = async {
        let lives = (0..case.volumes.len()).map(|index| live(&world, index, ended.clone()));
        join_all(lives).await.into_iter().flatten().collect::<Vec<_>>()
    };
    let acting = async {
        let begin = Instant::now();
        let processes = trouble(&home, case).await;
        sleep(ALL_BEGUN.saturating_sub(begin.elapsed())).await;
        // What waits for the tool to do what it never does has no moment.
        while begin.elapsed() < ALL_OVER && !model::has_settled(&stage.history, &name) {
            sleep(GLANCE).await;
        }
        over.send_replace(true);
        processes
    };
    let (did, processes) = tokio::join!(lives, acting);
    let settled = settle(&world).await;
    let late = settle_notes(&world).await;
    let mut evidence = Evidence::of(&world, did).await;
    evidence.settled = settled;
    for number in 0..processes.started {
        evidence.said.push(home.said(number));
    }
    block_in_place(|| drop(processes));
    world.leave(&evidence).await;
    stage.history.forget(&name);
    stage.history.forget_until(model::VETOES, chrono::Utc::now() - REMEMBERED);
    (evidence, late)
}

/// A volume from its beginning until nobody does anything to it any more.
async fn live(world: &World<'_>, index: usize, ended: watch::Receiver<bool>) -> Vec<Did> {
    let life = &world.case.volumes[index];
    sleep(Duration::from_millis(life.begin)).await;
    let volume = world.make(index).await;
    let deeds = life.deeds.iter().map(|deed| {
        let (volume, mut ended) = (volume.clone(), ended.clone());
        async move {
            let moment = async {
                match deed.when {
                    When::After(delay) => sleep(Duration::from_millis(delay)).await,
                    When::Once(stage, delay) => {
                        world.reached(&volume, stage).await;
                        sleep(Duration::from_millis(delay)).await;
                    }
                }
            };
            let came = tokio::select! {
                () = moment => true,
                _ = ended.wait_for(|ended| *ended) => false,
            };
            let result = match came {
                true => Some(world.act(deed.act, index, &volume).await),
                false => None,
            };
            Did { volume, act: deed.act, result, at: chrono::Utc::now() }
        }
    });
    join_all(deeds).await
}

/// The processes of a case.
struct Processes {
    running: Vec<Process>,
    started: usize,
}

/// Starts the process that acts, and has it suffer what is to befall it. In the end it may act, and one does.
async fn trouble(home: &Home<'_>, case: &Case) -> Processes {
    let switch = |how: &'static str| block_in_place(|| home.switch(how));
    let mut all = Processes { running: vec![home.start(0)], started: 1 };
    switch("resume");
    let begin = Instant::now();
    let mut troubles = case.troubles.clone();
    troubles.sort_by_key(|it| it.after);
    for trouble in troubles {
        sleep(Duration::from_millis(trouble.after).saturating_sub(begin.elapsed())).await;
        let start = |all: &mut Processes| {
            all.running.push(home.start(all.started));
            all.started += 1;
        };
        match trouble.what {
            Ill::Kill => {
                let last = all.running.pop();
                block_in_place(|| drop(last));
                start(&mut all);
            }
            Ill::Freeze(time) => {
                let last = all.running.len() - 1;
                all.running[last].signal(Signal::STOP);
                start(&mut all);
                sleep(Duration::from_millis(time)).await;
                all.running[last].signal(Signal::CONT);
            }
            Ill::Pause(time) => {
                switch("pause");
                sleep(Duration::from_millis(time)).await;
                switch("resume");
            }
            Ill::LosePause(time) => {
                let object = "configmap/kubectl-storage-watch";
                block_in_place(|| home.cluster().delete(&case.name(), object));
                sleep(Duration::from_millis(time)).await;
                switch("resume");
            }
            Ill::Grace(grace) => home.announce_for(grace),
        }
    }
    all
}

/// Waits until all that has to go is gone; says whether it went.
async fn settle(world: &World<'_>) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        if model::has_settled(world.history, &world.name) {
            return true;
        }
        sleep(GLANCE).await;
    }
    false
}

/// Waits until the audit log has what was asked; says whether it never did.
async fn settle_notes(world: &World<'_>) -> Option<String> {
    let user = format!("{}-people", world.name);
    let question = format!("/version?mark={}", world.name);
    mark(&world.client, &user, &question).await;
    let is_it = |it: &Value| is_by(it, &user) && it["requestURI"] == *question;
    let late = timeout(PATIENCE, world.history.request(&world.name, is_it)).await;
    late.err().map(|_| format!("{}: the audit log is late", world.name))
}
