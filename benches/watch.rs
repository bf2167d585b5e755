//! What a change costs a watch: from the change to the finding, by the size of the cluster; and whether a million of
//! them leave anything behind.
//!
//! `cargo bench --bench watch`; docs/benchmarks.md explains what is measured.

mod generate;
mod measure;

use std::{
    io,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::{Duration, Instant},
};

use clap::Parser;
use kubectl_storage::{
    cluster::Change,
    dump::Input,
    model::{Kind, Phase, PodUse, Row, Settings, Volume},
    rules::Assessor,
    sources::{
        documents::{self, DumpOptions},
        intake::Intake,
    },
    watch::{News, Pace, Reconciler},
};

use generate::{Population, write_objects};
use measure::{Verdict, end, mebibytes, resident, say};

/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// From a change to its finding, in 99 of 100 cases; the wait for more changes is not counted.
const EVENT_TO_FINDING: Duration = Duration::from_millis(10);
/// How many times as much a change may touch in a cluster that is ten times as large.
const TOUCHED: f64 = 1.5;
/// What all changes together may leave behind.
const GROWTH: u64 = 4 << 20;

/// Changes objects of made-up clusters, and has each change judged.
#[derive(Debug, Parser)]
struct Args {
    /// Pods of the largest cluster; it has half as many volumes and claims
    #[arg(long, default_value_t = 20_000)]
    pods: usize,
    /// Changes that are timed in each cluster
    #[arg(long, default_value_t = 20_000)]
    timed: usize,
    /// Changes after that, in the largest cluster
    #[arg(long, default_value_t = 1_000_000)]
    changes: usize,
    /// Write the objects of a cluster here, in a process of its own
    #[arg(long, hide = true)]
    write: Option<PathBuf>,
    /// What cargo passes to every bench
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match &args.write {
        Some(path) => write(&args, path).map(|()| ExitCode::SUCCESS),
        None => bench(&args),
    };
    end("watch", done)
}

fn bench(args: &Args) -> io::Result<ExitCode> {
    let mut verdict = Verdict::default();
    let mut touched = Vec::new();
    for tenths in [1, 3, 10] {
        let pods = args.pods * tenths / 10;
        let mut watched = Watched::read(pods)?;
        let before = watched.reconciler.judgements();
        let mut took: Vec<_> = (0..args.timed).map(|number| watched.change(number)).collect();
        took.sort();
        let at = |percent: usize| took.get(took.len() * percent / 100).copied().unwrap_or_default();
        let judged = watched.reconciler.judgements() - before;
        // Nobody judges 2^52 objects here.
        #[expect(clippy::cast_precision_loss, reason = "to be read by people")]
        let each = judged as f64 / args.timed.max(1) as f64;
        say(&format!(
            "{pods} pods, {} volumes: median {:.1} µs, p99 {:.1} µs, {each:.2} objects judged for a change",
            pods / 2,
            micros(at(50)),
            micros(at(99)),
        ));
        touched.push(each);
        if tenths < 10 {
            continue;
        }
        verdict.bound(
            &format!("a change is a finding within {} ms (p99)", EVENT_TO_FINDING.as_millis()),
            at(99) <= EVENT_TO_FINDING,
        );
        let before = resident();
        let began = Instant::now();
        for number in 0..args.changes {
            watched.change(number);
        }
        let grown = resident().saturating_sub(before);
        say(&format!(
            "{} changes more in {:.1} s; resident {} before, {} more after",
            args.changes,
            began.elapsed().as_secs_f64(),
            mebibytes(before),
            mebibytes(grown),
        ));
        verdict.bound(&format!("they leave at most {}", mebibytes(GROWTH)), grown <= GROWTH);
        let defects = watched.reconciler.full_pass(&watched.intake.cluster, Duration::ZERO);
        verdict.bound("a full pass afterwards changes nothing", defects.is_empty());
    }
    if let [small, _, large] = touched[..] {
        verdict.bound(
            &format!("a change touches at most {TOUCHED} times as much in ten times the cluster"),
            large <= small * TOUCHED,
        );
    }
    Ok(verdict.exit())
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// A cluster that is judged, and what changes in it.
struct Watched {
    intake: Intake,
    reconciler: Reconciler,
    released: Vec<Volume>,
    pods: Vec<PodUse>,
}

impl Watched {
    fn read(pods: usize) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("objects.ndjson");
        // In another process, so that making them leaves no trace in this one.
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--pods", &pods.to_string(), "--write"]).arg(&path);
        if !command.status()?.success() {
            return Err(io::Error::other("the objects could not be written"));
        }
        let mut intake = Intake::new(None);
        let options = DumpOptions {
            complete: Kind::ALL.into_iter().collect(),
            kinds: Kind::ALL.to_vec(),
            ..DumpOptions::default()
        };
        documents::read(&[Input::parse(&path)], &mut io::empty(), &options, &mut intake)
            .map_err(io::Error::other)?;
        intake.advance(Population::default().now);
        let cluster = &intake.cluster;
        let is_released = |it: &&Volume| it.phase == Phase::Released;
        let released: Vec<_> =
            cluster.volumes().map(|it| it.1).filter(is_released).cloned().collect();
        let pods: Vec<_> = cluster.pods().map(|it| it.1).cloned().collect();
        if pods.is_empty() {
            return Err(io::Error::other("no pod of this cluster can change"));
        }
        let assessor = Assessor::default();
        let reconciler = Reconciler::new(Settings::default(), assessor, cluster, Pace::default());
        let mut watched = Self { intake, reconciler, released, pods };
        let began = Instant::now();
        watched.judge();
        say(&format!("everything judged in {:.2} s", began.elapsed().as_secs_f64()));
        watched.keep_those_that_tell();
        match watched.released.is_empty() {
            true => Err(io::Error::other("no volume of this cluster is a finding")),
            false => Ok(watched),
        }
    }

    /// Leaves out volumes that are no finding when they are Released, such as those that have been so for an hour.
    fn keep_those_that_tell(&mut self) {
        for mut volume in std::mem::take(&mut self.released) {
            let mut tells = true;
            for phase in [Phase::Available, Phase::Released] {
                volume.phase = phase;
                let row = Row::Volume(Box::new(volume.clone()));
                tells &= !self.take_in(row).findings.is_empty();
            }
            if tells {
                self.released.push(volume);
            }
        }
    }

    fn take_in(&mut self, row: Row) -> News {
        self.intake.apply(Change::Seen(row));
        self.reconciler.note(&self.intake.dirty, Duration::ZERO);
        self.judge()
    }

    fn judge(&mut self) -> News {
        let dirty = std::mem::take(&mut self.intake.dirty);
        self.reconciler.judge(&self.intake.cluster, dirty);
        self.reconciler.report(&self.intake.cluster)
    }

    /// Makes a change, and returns how long it took until what it means was there. Every other one is of a Released
    /// volume that becomes Available, or Released again, which clears its finding and has it appear; the others are of
    /// pods that become ready or unready.
    fn change(&mut self, number: usize) -> Duration {
        let (turn, is_volume) = (number / 2, number.is_multiple_of(2));
        let row = if is_volume {
            let count = self.released.len();
            let volume = &mut self.released[turn % count];
            volume.phase = match volume.phase {
                Phase::Released => Phase::Available,
                _ => Phase::Released,
            };
            Row::Volume(Box::new(volume.clone()))
        } else {
            let count = self.pods.len();
            let pod = &mut self.pods[turn % count];
            pod.ready = !pod.ready;
            Row::Pod(Box::new(pod.clone()))
        };
        let began = Instant::now();
        let news = self.take_in(row);
        let took = began.elapsed();
        assert!(
            !is_volume || !news.findings.is_empty(),
            "a volume has changed and nothing is told"
        );
        took
    }
}

fn write(args: &Args, path: &Path) -> io::Result<()> {
    let (pods, half) = (args.pods, args.pods / 2);
    let population = Population { pods, volumes: half, claims: half, ..Population::default() };
    write_objects(population.objects(), path)
}
