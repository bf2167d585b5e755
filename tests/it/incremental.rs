//! One judgement, however it is reached: what was judged again after changes is what a full pass
//! over everything would find, and nothing unseen or in use is ever called fixable.
//!
//! Random, within a budget: `BUDGET` sets another one, `SEED` repeats a run.
//! `SEED=$(date +%s)0000 BUDGET=600 cargo test --test it incremental -- --nocapture` is the long run.

mod mirror;
mod owners;
mod reconciled;
mod universe;
mod users;

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    env,
    io::Write as _,
    sync::Arc,
    time::{Duration, Instant},
};

use kubectl_storage::{
    cluster::{Change, Cluster, Cx, Dirty, Facts, Gap, Lookup, Subject},
    facts,
    model::{Kind, NodeAffinity, Row, Settings, VerdictState},
    remedies::{RECLAIM, REMEDIES},
    rules::{Assessor, REGISTRY, subjects},
};
use mirror::Mirror;
use proptest::{
    collection::vec,
    prelude::any,
    prop_assert, prop_assert_eq,
    test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner},
};
use universe::{Dice, beginning, change, settings};

/// Where nobody says otherwise: a run that fails is the doing of a change, and not of the day.
const USUAL: u64 = 1_795_298_414_278;

/// Fewer cases than this prove nothing, however slow the machine.
const FLOOR: u32 = 40;

/// Whether a promise was kept.
type Held<T = ()> = Result<T, TestCaseError>;

/// What chance decides: of each batch, of each change in it.
type Case = (Vec<u8>, Vec<Vec<Vec<u8>>>);

#[derive(Default)]
struct Count {
    cases: u32,
    batches: u32,
    looks: u64,
    fixable: u32,
    /// Findings that another one explains.
    caused: usize,
}

#[test]
fn incremental_judgement_is_full_judgement() {
    let (seed, count) = play(hold);
    let Count { cases, batches, looks, fixable, caused } = count;
    say(&format!(
        "SEED={seed}: {cases} cases, {batches} batches, {looks} looks, {fixable} fixable volumes, {caused} findings with a cause"
    ));
    assert!(caused > 0, "no finding had a cause: nothing is proven");
    assert!(fixable > cases / 40, "only {fixable} fixable volumes: nothing is proven");
}

/// What is counted while cases are played.
trait Cases: Default {
    /// How many were played.
    fn cases(&self) -> u32;
}

impl Cases for Count {
    fn cases(&self) -> u32 {
        self.cases
    }
}

/// Plays cases until the budget is spent, and returns the seed and what was counted.
fn play<T: Cases>(hold: impl Fn(&Case, &mut T) -> Held) -> (u64, T) {
    let budget = env::var("BUDGET").ok().and_then(|text| text.parse().ok()).unwrap_or(10);
    let seed = env::var("SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(USUAL);
    let byte = || vec(any::<u8>(), 24..64);
    let strategy = (byte(), vec(vec(byte(), 1..5), 1..14));
    let (started, count) = (Instant::now(), RefCell::new(T::default()));
    let mut round = 0_u64;
    while started.elapsed() < Duration::from_secs(budget) || count.borrow().cases() < FLOOR {
        let mut runner = runner(seed, round);
        round += 1;
        match runner.run(&strategy, |case| hold(&case, &mut count.borrow_mut())) {
            Ok(()) => {}
            Err(TestError::Fail(reason, (setting, batches))) => {
                panic!("SEED={seed}: {reason}\n{}", story(&setting, &batches));
            }
            Err(TestError::Abort(reason)) => panic!("SEED={seed}: {reason}"),
        }
    }
    (seed, count.into_inner())
}

/// Tells what was played, also where the output of tests that pass is not shown.
fn say(text: &str) {
    writeln!(std::io::stderr(), "{text}").expect("stderr is open");
}

/// A new one every few cases: proptest's generator gets slower the more it has generated.
fn runner(seed: u64, round: u64) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&round.to_le_bytes());
    let config = Config {
        cases: 5,
        failure_persistence: None,
        max_shrink_iters: 2000,
        max_shrink_time: 20_000,
        ..Config::default()
    };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

/// What a failing case did, for whoever reads it.
fn story(setting: &[u8], batches: &[Vec<Vec<u8>>]) -> String {
    let (mut now, _) = beginning();
    let mut text = format!("{:?}\n", settings(&mut Dice::new(setting, now)));
    for batch in batches {
        text.push_str("--- batch\n");
        for bytes in batch {
            let mut dice = Dice::new(bytes, now);
            for change in change(&mut dice) {
                text.extend([format!("{change:?}"), "\n".to_owned()]);
            }
            now = dice.now;
        }
    }
    text
}

/// Plays one case, and holds every promise after every batch.
fn hold(case: &Case, count: &mut Count) -> Held {
    let (mut now, changes) = beginning();
    let settings = settings(&mut Dice::new(&case.0, now));
    let (mut cluster, mut assessor, mut mirror) =
        (Cluster::default(), Assessor::default(), Mirror::default());
    let mut dirty = Dirty::everything();
    let mut log = changes.clone();
    for change in changes {
        mirror.apply(&change);
        cluster.apply(change, &mut dirty);
    }
    assessor.update(&cluster, &settings, dirty);
    for batch in &case.1 {
        let looks = Looks::take(&cluster, &settings);
        let (mut dirty, before) = (Dirty::default(), now);
        for bytes in batch {
            let mut dice = Dice::new(bytes, now);
            for change in change(&mut dice) {
                log.push(change.clone());
                mirror.apply(&change);
                cluster.apply(change, &mut dirty);
            }
            now = dice.now;
        }
        looks.hold(&cluster, &settings, &dirty, before == now)?;
        assessor.update(&cluster, &settings, dirty);
        same_as_full_pass(&assessor, &cluster, &settings)?;
        count.batches += 1;
        count.looks += looks.count();
        count.caused += assessor.totals(&cluster, &settings).caused;
        count.fixable += nothing_in_use_is_reclaimed(&cluster, &settings, &mirror)?;
    }
    count.cases += 1;
    what_is_not_seen_is_not_fixable(&log, &cluster, &settings)
}

/// Everything that a report says of every finding.
fn report(assessor: &Assessor, cluster: &Cluster, settings: &Settings) -> BTreeSet<String> {
    assessor.findings(cluster, settings).map(|finding| format!("{finding:?}")).collect()
}

fn same_as_full_pass(assessor: &Assessor, cluster: &Cluster, settings: &Settings) -> Held {
    let mut full = Assessor::default();
    full.update(cluster, settings, Dirty::everything());
    let (found, expected) = (report(assessor, cluster, settings), report(&full, cluster, settings));
    let difference: Vec<_> = found.symmetric_difference(&expected).collect();
    prop_assert!(difference.is_empty(), "not what a full pass finds: {difference:#?}");
    // Findings are judged again when printed; what was kept of them is what the tally counts.
    prop_assert_eq!(assessor.totals(cluster, settings), full.totals(cluster, settings));
    // Waking too early is harmless: a fact may be kept that nobody looks at any more.
    let wakes = full.wake().is_none_or(|due| assessor.wake().is_some_and(|it| it <= due));
    prop_assert!(wakes, "wakes at {:?}, not at {:?}", assessor.wake(), full.wake());
    let missing: Vec<_> = full.questions().difference(assessor.questions()).collect();
    prop_assert!(missing.is_empty(), "nobody would ask {missing:?}");
    Ok(())
}

/// What every subject looked at, and what it saw there.
struct Looks(BTreeMap<Subject, Looked>);

/// The affinity that looks at nodes are about, and what was seen by each look.
type Looked = (Option<Arc<NodeAffinity>>, BTreeMap<Lookup, String>);

impl Looks {
    fn take(cluster: &Cluster, settings: &Settings) -> Self {
        let (assessor, facts) = (Assessor::default(), RefCell::default());
        let of = |subject: Subject| {
            let affinity = match &subject {
                Subject::Volume(id) => {
                    cluster.volume_at(*id).and_then(|it| it.node_affinity.clone())
                }
                _ => None,
            };
            let rules = REGISTRY.iter();
            let looks = rules.flat_map(|rule| assessor.lookups(cluster, settings, &subject, rule));
            let saw = looks.map(|look| {
                let saw = see(cluster, settings, &facts, &look, affinity.as_ref());
                (look, saw)
            });
            let saw = saw.collect();
            (subject, (affinity, saw))
        };
        Self(subjects(cluster).into_iter().map(of).collect())
    }

    fn count(&self) -> u64 {
        self.0.values().map(|(_, looks)| looks.len() as u64).sum()
    }

    /// Whoever would see something else now is to be judged again.
    fn hold(&self, cluster: &Cluster, settings: &Settings, dirty: &Dirty, timeless: bool) -> Held {
        if dirty.everything {
            return Ok(());
        }
        let facts = RefCell::default();
        for (subject, (affinity, looks)) in &self.0 {
            let touched = match subject {
                Subject::Driver(name) => dirty.all_drivers || dirty.drivers.contains(name),
                _ => false,
            };
            if touched || dirty.subjects.contains(subject) {
                continue;
            }
            for (look, saw) in looks {
                let sees = see(cluster, settings, &facts, look, affinity.as_ref());
                let told = match look {
                    // Through the fact, and only if it differs; time has its own way.
                    Lookup::Fact(key) => !timeless || dirty.outdates(key, None, None),
                    _ => false,
                };
                prop_assert!(
                    told || sees == *saw,
                    "{subject:?} looked at {look:?}\n saw {saw}\n sees {sees}\n and is not dirty: {dirty:?}"
                );
            }
        }
        Ok(())
    }
}

/// Looks again.
fn see(
    cluster: &Cluster,
    settings: &Settings,
    facts: &RefCell<Facts>,
    look: &Lookup,
    affinity: Option<&Arc<NodeAffinity>>,
) -> String {
    let cx = Cx::new(cluster, settings, facts);
    match look {
        Lookup::VolumesAt(places) => format!("{:?}", cx.volumes_at(places)),
        Lookup::PodsAt(places) => format!("{:?}", cx.pods_at(places)),
        Lookup::WorkloadsAt(places) => format!("{:?}", cx.workloads_at(places)),
        Lookup::Namesake(name) => {
            let volume = cluster.volume_named(name);
            format!("{:?}", volume.map(|it| cx.namesakes(it, &|_| true, &|_| true)))
        }
        Lookup::Recognition(driver) => format!("{:?}", cx.recognition(driver)),
        Lookup::KeptAt(places) => format!("{:?}", cx.kept_at(places)),
        Lookup::Claim(key) => format!("{:?}", cx.claim(key)),
        Lookup::ClaimsNaming(name) => format!("{:?}", cx.claims_naming(name)),
        Lookup::VolumesOf(key) => format!("{:?}", cx.volumes_of(key)),
        Lookup::VolumeNamed(name) => format!("{:?}", cx.volume(name)),
        Lookup::Pod(namespace, name) => format!("{:?}", cx.pod(namespace, name)),
        Lookup::PodsOfSet(namespace, set) => format!("{:?}", cx.pods_named_after(namespace, set)),
        Lookup::WorkloadsOf(key) => format!("{:?}", cx.workloads_of(key)),
        Lookup::Set(namespace, name) => format!("{:?}", cx.set(namespace, name)),
        Lookup::SetsOfStem(namespace, stem) => format!("{:?}", cx.sets_of_stem(namespace, stem)),
        Lookup::ClaimsOfStem(namespace, stem) => {
            format!("{:?}", cx.claims_of_stem(namespace, stem))
        }
        Lookup::ClaimsFrom(key) => format!("{:?}", cx.claims_from(key)),
        Lookup::ClaimsRestoredFrom(namespace, name) => {
            format!("{:?}", cx.claims_restored_from(namespace, name))
        }
        Lookup::ClasslessClaims => format!("{:?}", cx.classless_claims()),
        Lookup::AutoscalersOf(namespace, set) => {
            format!("{:?}", cx.autoscalers_of(namespace, set))
        }
        Lookup::VolumeSnapshot(namespace, name) => {
            format!("{:?}", cx.volume_snapshot(namespace, name))
        }
        Lookup::VolumeSnapshotsOf(key) => format!("{:?}", cx.volume_snapshots_of(key)),
        Lookup::UsersOfAttributes(name) => format!("{:?}", cx.users_of_attributes(name)),
        Lookup::AttachedVolume(name) => format!("{:?}", cx.attached_volume(name)),
        Lookup::Node(name, named_by) => format!("{:?}", cx.node(name, *named_by)),
        Lookup::ClaimedClass(name) => format!("{:?}", cx.claimed_class(name)),
        Lookup::Classes => format!("{:?}", cx.all_classes()),
        Lookup::SnapshotClasses => format!("{:?}", cx.snapshot_classes()),
        Lookup::PodsOf(key) => format!("{:?}", cx.pods_of(key)),
        Lookup::AttachmentsOf(name) => format!("{:?}", cx.attachments_of(name)),
        Lookup::InlineAttachmentsAt(places) => format!("{:?}", cx.inline_attachments_at(places)),
        Lookup::SnapshotsAt(places) => format!("{:?}", cx.snapshots_at(places)),
        Lookup::NodesAt(places) => format!("{:?}", cx.nodes_at(places)),
        Lookup::Nodes => format!("{:?}", affinity.map(|it| cx.any_node_matches(it))),
        Lookup::Class(name) => format!("{:?}", cx.class(name)),
        Lookup::EventsOf(key) => format!("{:?}", cx.events_of(key)),
        Lookup::Answer(question) => format!("{:?}", cx.answer(question.clone())),
        Lookup::Fact(key) => format!("{:?}", facts::derive(&cx, key)),
        Lookup::CsiDriver(name) => format!("{:?}", cx.csi_driver(name)),
        Lookup::Whole(kind) => format!("{:?}", cx.all_of(*kind)),
    }
}

/// Returns the names of volumes about which a remedy would do something.
fn fixable(cluster: &Cluster, settings: &Settings) -> BTreeSet<(&'static str, String)> {
    let facts = RefCell::default();
    let cx = Cx::new(cluster, settings, &facts);
    let mut fixable = BTreeSet::new();
    for (_, volume) in cluster.volumes() {
        for remedy in REMEDIES {
            if remedy.verdict(&cx, volume).0.state == VerdictState::Fixable {
                fixable.insert((remedy.id, volume.name().to_owned()));
            }
        }
    }
    fixable
}

fn nothing_in_use_is_reclaimed(
    cluster: &Cluster,
    settings: &Settings,
    mirror: &Mirror,
) -> Held<u32> {
    let mut count = 0;
    for (remedy, volume) in fixable(cluster, settings) {
        if remedy == RECLAIM.id {
            count += 1;
            let use_of_it = mirror.use_of(&volume, settings);
            prop_assert!(use_of_it.is_none(), "{volume} would be reclaimed: {use_of_it:?}");
        }
    }
    Ok(count)
}

/// A kind that a remedy needs and that was never seen makes nothing fixable that was not.
fn what_is_not_seen_is_not_fixable(log: &[Change], cluster: &Cluster, settings: &Settings) -> Held {
    let seen = fixable(cluster, settings);
    let kinds: BTreeSet<Kind> = REMEDIES.iter().flat_map(|it| it.needs).copied().collect();
    for kind in kinds {
        let (mut blind, mut dirty) = (Cluster::default(), Dirty::default());
        for change in log {
            if !tells_of(change, kind) {
                blind.apply(change.clone(), &mut dirty);
            }
        }
        let gap = Gap { kind, namespace: None, reason: "forbidden".to_owned() };
        blind.apply(Change::Lost(gap), &mut dirty);
        for (remedy, volume) in fixable(&blind, settings) {
            let needs = REMEDIES.iter().any(|it| it.id == remedy && it.needs.contains(&kind));
            let before = seen.contains(&(remedy, volume.clone()));
            prop_assert!(!needs || before, "without {kind}, {remedy} became possible on {volume}");
        }
    }
    Ok(())
}

/// Whether a change tells anything of a kind.
fn tells_of(change: &Change, kind: Kind) -> bool {
    match change {
        Change::Seen(Row::Answer(question, _)) | Change::Forgotten(question) => {
            kind == mirror::asks_about(question)
        }
        Change::Seen(row) => row.key().is_some_and(|key| key.kind == kind),
        Change::Odd(_, odd) => odd.key.kind == kind,
        Change::Gone(key) => key.kind == kind,
        Change::Begin(reach)
        | Change::Complete(reach)
        | Change::Whole(reach)
        | Change::Covered(reach, _) => reach.kind == kind,
        Change::NotServed(it) | Change::Served(it, _) => *it == kind,
        Change::Lost(gap) => gap.kind == kind,
        Change::Clock(_)
        | Change::ClockAtLeast(_)
        | Change::Server(_)
        | Change::IdentityLeftOut
        | Change::Figures(_)
        | Change::Traced(..) => false,
    }
}
