//! Random lives of sets, with `retention reconcile` between settled steps: no claim that the policy retains is lost after it,
//! no claim that is wanted is deleted by it, and what `simulate` foretells of a step is what happens.
//!
//! `cargo test --test real retained -- --ignored --nocapture` runs 14 lives, the same ones every time, or as many as fit into four
//! minutes; with `BUDGET` as many as fit into so many seconds. `SEED=n CASES=1` repeats one life. A long run over lives
//! that nobody has seen: `SEED=$(date +%s)0000 BUDGET=900 cargo test --test real retained -- --ignored --nocapture`.

mod judge;
mod life;
mod selftest;
mod stage;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::{StreamExt, stream};
use kubectl_storage::facts::retention::Operation;
use serde_json::Value;
use tokio::runtime::Runtime;

use super::super::foretell::{differs, foretell};
use super::api::Api;
use super::case::Act;
use super::world::World;
use crate::support::{Bounds, Cases, Cluster, Run, say};
use judge::{Judge, Look};
use life::{Life, Step};
use stage::Stage;

/// Lives at the same time.
const PARALLEL: usize = 40;
/// What every run of the tests takes.
const BOUNDS: Bounds = Bounds {
    seed: 17_964_380_010_000,
    cases: 14,
    floor: 6,
    budget: 220,
    one_case: Duration::from_secs(100),
};
/// How often the controllers get more time before what they did is called wrong.
const PATIENCE: u32 = 3;

/// Who applies policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hand {
    Tool,
    /// Nobody does, and the judge is told that it was done.
    Nobody,
}

/// What became of all lives.
#[derive(Default)]
struct Tally {
    lives: u64,
    counts: BTreeMap<String, u64>,
    divergences: Vec<String>,
}

#[test]
#[ignore = "extended suite: long random runs"]
fn what_the_policy_retains_is_retained_after_apply() {
    let mut cases = Cases::begin("lives of StatefulSets with retention reconcile", BOUNDS);
    let cluster = Cluster::start(Stage::options());
    let runtime = Runtime::new().expect("because the machine has threads");
    let (tally, restarts) = runtime.block_on(async {
        let stage = Stage::set(cluster).await;
        cases.start_the_clock();
        let tally = stream::iter(cases.seeds())
            .map(|seed| one(&stage, Life::of(seed), Hand::Tool))
            .buffer_unordered(PARALLEL)
            .fold(Tally::default(), async |tally, one| tally.with(one))
            .await;
        (tally, stage.restarts.load(Ordering::SeqCst))
    });
    let Tally { lives, counts, divergences } = tally;
    cases.end(
        lives,
        &format!(", {restarts} restarts of the controllers: {counts:#?}"),
        &divergences,
    );
    // It would prove nothing if nothing had been at stake.
    for what in ["promises", "rescued claims that survived their set", "leftovers deleted"] {
        assert!(lives < BOUNDS.floor || counts.contains_key(what), "never {what}");
    }
    assert!(lives < BOUNDS.floor || restarts > 0, "the controllers were never restarted");
}

impl Tally {
    fn with(mut self, (life, judge, told): (Life, Judge, BTreeMap<String, u64>)) -> Self {
        self.lives += 1;
        let counts = judge.counts.into_iter().map(|(what, count)| (what.to_owned(), count));
        for (what, count) in counts.chain(told) {
            *self.counts.entry(what).or_default() += count;
        }
        if !judge.wrong.is_empty() {
            let text = format!("{}\n{life}", judge.wrong.join("\n"));
            say(&format!("a divergence: {text}"));
            self.divergences.push(text);
        }
        self
    }
}

/// Lives a life, and judges every step of it.
async fn one(stage: &Stage, life: Life, hand: Hand) -> (Life, Judge, BTreeMap<String, u64>) {
    let (mut judge, mut told) = (Judge::default(), BTreeMap::new());
    let world = {
        let _step = stage.step().await;
        let api = Api::make(stage.connection.client.clone(), format!("life-{}", life.seed)).await;
        let world = World::make(api, life.shape).await;
        for act in &life.history {
            world.act(act).await;
        }
        // What hangs may go: only steps that have settled are judged.
        world.operate(&Operation::Wait).await;
        world
    };
    for step in &life.steps {
        if let Step::Restart = step {
            let before = look(&world).await;
            stage.restart().await;
            let _step = stage.step().await;
            world.settle().await;
            judge.stepped(step, &before, &look(&world).await);
            continue;
        }
        let _step = stage.step().await;
        let before = look(&world).await;
        match step {
            Step::Do(operation) => {
                let wrong = foretold(stage, &world, &life, operation).await;
                judge.wrong.extend(wrong);
            }
            Step::Recreate(policy) if before.set.is_none() => world.make_again(*policy).await,
            Step::Break(ordinal) => world.act(&Act::Break(*ordinal)).await,
            Step::Apply { leftovers } => {
                let undone = match hand {
                    Hand::Tool => apply(stage, &world, *leftovers, &mut told).await,
                    Hand::Nobody => Ok(BTreeSet::new()),
                };
                world.settle().await;
                let after = look(&world).await;
                match undone {
                    Ok(undone) => judge.applied(&before, &after, &undone, *leftovers),
                    Err(wrong) => judge.wrong.push(wrong),
                }
                continue;
            }
            Step::Recreate(_) | Step::Restart => {}
        }
        judge.stepped(step, &before, &look(&world).await);
    }
    let _step = stage.step().await;
    world.leave().await;
    (life, judge, told)
}

/// Takes a step, and returns what happened otherwise than it was foretold.
async fn foretold(stage: &Stage, world: &World, life: &Life, operation: &Operation) -> Vec<String> {
    let before = world.claims().await;
    let (namespace, operations) = (&world.api.namespace, std::slice::from_ref(operation));
    let foretold = foretell(&stage.connection, namespace, life.shape.ordered, operations).await;
    world.operate(operation).await;
    let Some(foretold) = foretold else { return Vec::new() };
    for again in 0.. {
        let after = world.claims().await;
        let all = foretold.predictions.iter().chain(&foretold.unordered);
        let wrong: Vec<_> = all
            .filter_map(|it| differs(it, &before, &after))
            .map(|it| format!("{operation:?}: {it}\n  {:?}", foretold.situation))
            .collect();
        if wrong.is_empty() || again == PATIENCE {
            return wrong;
        }
        world.settle().await;
    }
    unreachable!("the loop has no end of its own")
}

/// Runs `retention reconcile`, and returns the claims whose references it said that it did not remove.
async fn apply(
    stage: &Stage,
    world: &World,
    leftovers: bool,
    told: &mut BTreeMap<String, u64>,
) -> Result<BTreeSet<String>, String> {
    let args = ["retention", "reconcile", "-n", &world.api.namespace, "--yes", "--max", "1000"];
    let mut run = Run::of(&args).more(&["--no-events", "-o", "json"]);
    if leftovers {
        run = run.more(&["--delete-leftovers", "--older-than", "1s", "--include-unknown-age"]);
        run = run.more(&["--destroy-data"]);
    }
    let run = run.kubeconfig(stage.cluster.kubeconfig());
    let outcome = tokio::task::spawn_blocking(|| run.go()).await;
    let outcome = outcome.expect("because it does not panic");
    *told.entry(format!("apply: exit {:?}", outcome.code)).or_default() += 1;
    let wrong = |what: &str| format!("apply {what}: {:?} {}", outcome.code, outcome.stderr);
    if !matches!(outcome.code, Some(0 | 6)) {
        return Err(wrong("ended badly"));
    }
    let json: Value =
        serde_json::from_str(&outcome.stdout).map_err(|error| wrong(&error.to_string()))?;
    let listed = |list: &str| json[list].as_array().cloned().unwrap_or_default();
    let mut undone = BTreeSet::new();
    for it in listed("refusals") {
        let id = text(&it["id"]);
        // What is refused otherwise makes no claim less safe.
        if id == "retention-remove-owners" {
            undone.insert(text(&it["object"]["name"]));
        }
        *told.entry(format!("apply: refused {id}")).or_default() += 1;
    }
    for it in listed("changes") {
        let outcome = text(&it["outcome"]);
        if outcome != "done" {
            undone.insert(text(&it["object"]["name"]));
        }
        *told.entry(format!("apply: {outcome}")).or_default() += 1;
    }
    Ok(undone)
}

async fn look(world: &World) -> Look {
    Look {
        set: world.api.get("statefulsets", "web").await,
        rival: world.api.get("statefulsets", "a-web").await,
        pods: world.api.list("pods").await,
        claims: world.claims().await,
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
