//! What an audit of many dumps costs: as much as the audits of each, and little memory beside.
//!
//! `cargo bench --bench clusters`; docs/benchmarks.md explains what is measured.

mod generate;
mod measure;

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{ExitCode, Stdio},
    thread,
    time::{Duration, Instant},
};

use clap::{Parser, ValueEnum};

use generate::{Mix, Population, Size, write_objects};
use measure::{Run, Runs, Verdict, end, mebibytes, run, seconds, tool};

/// How much longer all may take than each on a core of its own.
const LONGER: f64 = 1.1;
/// The same where up to two of five volumes have a finding: all of them are kept, packed, until the worst of all clusters
/// can be printed first.
const LONGER_WITH_FINDINGS: f64 = 1.25;
/// How much more memory may be used than by as many audits as run at once, in percent.
const MORE: u64 = 130;
/// Bytes beside that for each volume.
const OF_VOLUME: u64 = 200;

/// Audits dumps of many made-up clusters.
#[derive(Debug, Parser)]
struct Args {
    /// Clusters, and volumes of each
    #[arg(
        long,
        value_name = "CLUSTERS:VOLUMES",
        value_delimiter = ',',
        default_value = "200:2000,20:20000"
    )]
    sizes: Vec<String>,
    /// Only these mixes
    #[arg(long, value_enum, value_delimiter = ',', default_value = "usual,efs,nfs,unknown")]
    mix: Vec<Mix>,
    /// What cargo passes to every bench
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    end("clusters", bench(&Args::parse()))
}

fn bench(args: &Args) -> io::Result<ExitCode> {
    let mut verdict = Verdict::default();
    for size in &args.sizes {
        let (clusters, volumes) = size.split_once(':').ok_or(io::ErrorKind::InvalidInput)?;
        let parse = |text: &str| text.parse::<usize>().map_err(io::Error::other);
        let (clusters, volumes) = (parse(clusters)?, parse(volumes)?);
        for mix in &args.mix {
            hold(*mix, clusters, volumes, &mut verdict)?;
        }
    }
    Ok(verdict.exit())
}

/// How often each is run: the fastest counts, as others use the machine, too.
const ROUNDS: usize = 3;
/// How many dumps are audited on all cores, for their memory.
const SINGLE: usize = 4;

fn hold(mix: Mix, clusters: usize, volumes: usize, verdict: &mut Verdict) -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut files = Vec::new();
    for seed in 0..clusters {
        let size = Size { pods: volumes, volumes, claims: volumes, mix };
        let population = Population { seed: seed as u64, ..size.population() };
        let file = folder.path().join(format!("cluster-{seed:03}.ndjson"));
        write_objects(population.objects(), &file)?;
        files.push(file);
    }
    let cores = thread::available_parallelism()?.get();
    let (mut fair, mut all) = (Duration::MAX, Vec::new());
    for _ in 0..ROUNDS {
        fair = fair.min(side_by_side(&files, cores)?);
        all.push(audit("--each", folder.path())?);
    }
    let single = files.iter().take(SINGLE).map(|it| audit("-f", it));
    let peak = single.map(|it| it.map(|it| it.peak)).collect::<io::Result<Vec<_>>>()?;
    let peak = peak.into_iter().max().unwrap_or(0);
    let bound = peak * cores as u64 * MORE / 100 + OF_VOLUME * (clusters * volumes) as u64;
    let bytes: u64 = fs::read_dir(folder.path())?
        .map(|entry| entry.and_then(|it| it.metadata()).map_or(0, |it| it.len()))
        .sum();
    let name = mix.to_possible_value().map(|it| it.get_name().to_owned()).unwrap_or_default();
    let all = Runs(all);
    let ratio = all.fastest().as_secs_f64() / fair.as_secs_f64();
    let longer = if mix == Mix::Usual { LONGER } else { LONGER_WITH_FINDINGS };
    verdict.bound(
        &format!(
            "{name:<8} {clusters:>4} of {volumes:>6} volumes, {}: {}, {ratio:.2} of {} (at most {longer})",
            mebibytes(bytes),
            seconds(all.fastest()),
            seconds(fair),
        ),
        ratio <= longer,
    );
    verdict.bound(
        &format!("{name:<8} memory {} of {}", mebibytes(all.peak()), mebibytes(bound)),
        all.peak() <= bound,
    );
    Ok(())
}

/// How long single audits take, each on a core of its own and as many at once as there are cores.
fn side_by_side(files: &[PathBuf], cores: usize) -> io::Result<Duration> {
    let began = Instant::now();
    let share = |core: usize| {
        pin(core)?;
        files.iter().skip(core).step_by(cores).try_for_each(|it| audit("-f", it).map(drop))
    };
    thread::scope(|scope| {
        let shares: Vec<_> = (0..cores).map(|core| scope.spawn(move || share(core))).collect();
        let ended = shares.into_iter().map(|it| it.join().expect("because it does not panic"));
        ended.collect::<io::Result<()>>()
    })?;
    Ok(began.elapsed())
}

/// Keeps this thread, and what it starts, on one core.
#[cfg(target_os = "linux")]
fn pin(core: usize) -> io::Result<()> {
    let mut cores = rustix::thread::CpuSet::new();
    cores.set(core);
    Ok(rustix::thread::sched_setaffinity(None, &cores)?)
}

#[cfg(not(target_os = "linux"))]
fn pin(_: usize) -> io::Result<()> {
    Ok(())
}

fn audit(flag: &str, path: &Path) -> io::Result<Run> {
    let state = tempfile::tempdir()?;
    let mut command = tool(state.path());
    command.args(["audit", "-o", "json", "--complete", "all", flag]).arg(path);
    let run = run(command.stdout(Stdio::null()).stderr(Stdio::null()))?;
    match run.status.code() {
        Some(0 | 4) => Ok(run),
        _ => Err(io::Error::other(format!("{command:?} ended with {}", run.status))),
    }
}
