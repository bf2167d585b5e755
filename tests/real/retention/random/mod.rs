//! Random sets: what `simulate` foretells is what the controllers then do.
//!
//! `cargo test --test real foretold -- --ignored --nocapture` runs 48 cases, the same ones every time, so that a failure is the
//! doing of whoever changed something, or as many as fit into 150 seconds; with `BUDGET` as many as fit into so
//! many. `SEED=n CASES=1` repeats one case.
//! A long run over cases that nobody has seen:
//! `SEED=$(date +%s)0000 BUDGET=600 cargo test --test real foretold -- --ignored --nocapture`.

mod api;
mod case;
mod lives;
mod world;

use std::collections::BTreeMap;
use std::time::Duration;

use futures::{StreamExt, stream};
use kubectl_storage::client::Connection;
use kubectl_storage::facts::retention::ClaimOutcome;
use tokio::runtime::Runtime;

use super::foretell::{connection, differs, foretell, word};
use crate::support::{Bounds, Cases, Cluster, Options};
use api::Api;
use case::Case;
use world::World;

/// Namespaces in which something happens at the same time.
const PARALLEL: usize = 40;
/// What every run of the tests takes.
const BOUNDS: Bounds = Bounds {
    seed: 17_952_798_010_000,
    cases: 48,
    floor: 16,
    budget: 150,
    one_case: Duration::from_secs(20),
};
/// How often the controllers get more time before what they did is called wrong.
const PATIENCE: u32 = 3;

/// What became of a case.
#[derive(Default)]
struct Tally {
    cases: u64,
    /// Claims, by what was foretold about them.
    foretold: BTreeMap<&'static str, u64>,
    unknown: BTreeMap<String, Vec<u64>>,
    divergences: Vec<String>,
}

#[test]
#[ignore = "extended suite: long random runs"]
fn what_is_foretold_is_what_happens() {
    let mut cases = Cases::begin("cases of StatefulSet retention", BOUNDS);
    let cluster = Cluster::start(Options {
        controllers: true,
        kwok: true,
        nodes: 1,
        controller_args: &[
            // Claims stay Pending, and nobody complains of that.
            "--controllers=-persistentvolume-binder-controller",
            "--concurrent-statefulset-syncs=20",
            "--kube-api-qps=2000",
            "--kube-api-burst=4000",
        ],
        ..Options::default()
    });
    let runtime = Runtime::new().expect("because the machine has threads");
    cases.start_the_clock();
    let tally = runtime.block_on(async {
        let connection = &connection(&cluster).await;
        stream::iter(cases.seeds())
            .map(|seed| one(connection, Case::of(seed)))
            .buffer_unordered(PARALLEL)
            .fold(Tally::default(), async |tally, one| tally.with(one))
            .await
    });
    let count = tally.cases;
    let claims = format!("{:?}, for these reasons and seeds {:?}", tally.foretold, tally.unknown);
    cases.end(count, &format!("; claims foretold {claims}"), &tally.divergences);
}

impl Tally {
    fn with(mut self, other: Self) -> Self {
        self.cases += other.cases;
        for (what, count) in other.foretold {
            *self.foretold.entry(what).or_default() += count;
        }
        for (why, seeds) in other.unknown {
            self.unknown.entry(why).or_default().extend(seeds);
        }
        self.divergences.extend(other.divergences);
        self
    }
}

async fn one(connection: &Connection, case: Case) -> Tally {
    let api = Api::make(connection.client.clone(), format!("random-{}", case.seed)).await;
    let world = World::make(api, case.shape).await;
    for act in &case.history {
        world.act(act).await;
    }
    let (before, foretold) = loop {
        if world.api.get("statefulsets", "web").await.is_none() {
            world.leave().await; // its history was its end
            return Tally::default();
        }
        let versions = world.versions().await;
        let before = world.claims().await;
        let namespace = &world.api.namespace;
        let foretold = foretell(connection, namespace, case.shape.ordered, &case.operations).await;
        if world.versions().await == versions {
            break (
                before,
                foretold.unwrap_or_else(|| panic!("{namespace}: the set was not seen")),
            );
        }
    };
    for operation in &case.operations {
        world.operate(operation).await;
    }
    let mut tally = Tally { cases: 1, ..Tally::default() };
    for prediction in &foretold.predictions {
        if let ClaimOutcome::Unknown(why) = &prediction.outcome {
            tally.unknown.entry(why.clone()).or_default().push(case.seed);
        }
        *tally.foretold.entry(word(&prediction.outcome)).or_default() += 1;
    }
    for _ in 0..=PATIENCE {
        let after = world.claims().await;
        let both = foretold.predictions.iter().chain(&foretold.unordered);
        let wrong: Vec<_> =
            both.filter_map(|prediction| differs(prediction, &before, &after)).collect();
        tally.divergences = if wrong.is_empty() {
            Vec::new()
        } else {
            vec![format!("{case}\n  {}\n  {:?}", wrong.join("\n  "), foretold.situation)]
        };
        if wrong.is_empty() {
            break;
        }
        world.settle().await;
    }
    world.leave().await;
    tally
}
