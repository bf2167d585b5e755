//! What is reclaimed is the volume itself, and nothing else: on random clusters of many drivers, `gc` plans no deletion
//! that an independent model of places says touches more, and it plans every plain one.
//!
//! Random, within a budget: `BUDGET` sets another one, `SEED` repeats a run.
//! `SEED=$(date +%s)0000 BUDGET=600 cargo test --test it places -- --nocapture` is the long run.

mod background;
mod chance;
mod cloud;
mod cluster;
mod objects;
mod model;
mod nodes;
mod shares;
mod volumes;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    env,
    io::Write as _,
    time::{Duration, Instant},
};

use kubectl_storage::{
    cluster::{Cluster, Cx},
    dump::Input,
    model::{Settings, VerdictState},
    remedies::{RECLAIM, REMEDIES},
    rules::REGISTRY,
    sources::{
        documents::{self, DumpOptions},
        intake::Intake,
    },
};
use proptest::{
    collection::vec,
    prelude::any,
    prop_assert,
    test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner},
};

use cluster::{Universe, universe};
use model::Ruling;

/// Where nobody says otherwise: a run that fails is the doing of a change, and not of the day.
const USUAL: u64 = 1_795_298_414_278;

/// Fewer cases than this prove nothing, however slow the machine.
const FLOOR: u32 = 800;

/// The families with a plain layout: each has to be planned wherever it is in nobody's way.
const PLAIN: [&str; 16] = [
    "Azure disk",
    "Azure disk in-tree",
    "CephFS",
    "EBS",
    "EBS Auto",
    "EBS in-tree",
    "EFS",
    "Longhorn",
    "PD",
    "PD in-tree",
    "PD, regional",
    "RBD",
    "csi-driver-nfs",
    "local-path",
    "nfs-subdir",
    "unknown",
];

/// By family: how often it had to be planned, must not be, could be and was, could be and was not.
type Tally = BTreeMap<&'static str, [u32; 4]>;

#[test]
fn what_is_reclaimed_is_the_volume_itself() {
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse().ok());
    let budget = Duration::from_secs(number("BUDGET").unwrap_or(10));
    let seed = number("SEED").unwrap_or(USUAL);
    let byte = || vec(any::<u8>(), 12..24);
    let strategy = (byte(), vec(byte(), 1..8));
    let (started, tally) = (Instant::now(), RefCell::new(Tally::new()));
    let (mut cases, mut round) = (0, 0_u64);
    while started.elapsed() < budget || cases < FLOOR {
        let result = runner(seed, round).run(&strategy, |(of_all, of_each)| {
            hold(&universe(&of_all, &of_each), &mut tally.borrow_mut())
        });
        round += 1;
        cases += CASES;
        match result {
            Ok(()) => {}
            Err(TestError::Fail(reason, (of_all, of_each))) => {
                let Universe { objects, usual, .. } = universe(&of_all, &of_each);
                let told = lines(&objects[usual..]);
                panic!("SEED={seed}: {reason}\n{told}");
            }
            Err(TestError::Abort(reason)) => panic!("SEED={seed}: {reason}"),
        }
    }
    let tally = tally.into_inner();
    let row = |(family, [always, never, planned, refused]): (&&str, &[u32; 4])| {
        format!(
            "{family}: always {always}, never {never}, could: {planned} of {}",
            planned + refused
        )
    };
    let rows = tally.iter().map(row).collect::<Vec<_>>().join("\n");
    let said = format!("SEED={seed}: {cases} cases\n{rows}\n");
    std::io::stderr().write_all(said.as_bytes()).expect("stderr is open");
    let never_alone: Vec<_> =
        PLAIN.iter().filter(|it| tally.get(**it).is_none_or(|it| it[0] == 0)).collect();
    assert!(never_alone.is_empty(), "nothing is proven of {never_alone:?}");
}

/// Cases of one generator: proptest's gets slower the more it has generated.
const CASES: u32 = 20;

fn runner(seed: u64, round: u64) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&round.to_le_bytes());
    let config = Config {
        cases: CASES,
        failure_persistence: None,
        max_shrink_iters: 2000,
        max_shrink_time: 20_000,
        ..Config::default()
    };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

/// A dump of these objects.
fn lines(objects: &[serde_json::Value]) -> String {
    objects.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Reads a cluster as any dump is read.
fn read(universe: &Universe) -> Result<Cluster, TestCaseError> {
    let text = lines(&universe.objects);
    let kinds = REGISTRY.iter().flat_map(|rule| rule.looks_at());
    let kinds: BTreeSet<_> =
        kinds.chain(REMEDIES.iter().flat_map(|it| it.needs.iter().copied())).collect();
    let options = DumpOptions { kinds: kinds.into_iter().collect(), ..DumpOptions::default() };
    let mut intake = Intake::new(None);
    let notes = documents::read(&[Input::Stdin], &mut text.as_bytes(), &options, &mut intake);
    let notes = notes.map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert!(notes.notes.is_empty(), "{:?}", notes.notes);
    prop_assert!(intake.complaints().is_empty(), "{:?}", intake.complaints());
    Ok(intake.cluster)
}

/// Holds what the tool would do against what the model says.
fn hold(universe: &Universe, tally: &mut Tally) -> Result<(), TestCaseError> {
    let cluster = read(universe)?;
    let (settings, facts) = (Settings::default(), RefCell::default());
    let cx = Cx::new(&cluster, &settings, &facts);
    for (name, family, ruling) in &universe.rulings {
        let volume = cluster.volumes().map(|(_, it)| it).find(|it| it.name() == name);
        let volume = volume.ok_or_else(|| TestCaseError::fail(format!("{name} was not read")))?;
        let (verdict, _) = RECLAIM.verdict(&cx, volume);
        let (state, reason) = (verdict.state, verdict.reason);
        let planned = state == VerdictState::Fixable;
        let count = tally.entry(family).or_default();
        match ruling {
            Ruling::Never(why) => {
                prop_assert!(!planned, "{family} {name} would be reclaimed, but {why}");
                count[1] += 1;
            }
            Ruling::Always => {
                prop_assert!(planned, "{family} {name} is not reclaimed: {state:?}: {reason}");
                count[0] += 1;
            }
            Ruling::Either => count[if planned { 2 } else { 3 }] += 1,
        }
    }
    Ok(())
}
