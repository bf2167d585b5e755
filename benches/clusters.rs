//! What an audit of many dumps costs: as much as the audits of each, and little memory beside.
//!
//! `cargo bench --bench clusters`; docs/benchmarks.md explains what is measured.

mod generate;
mod measure;

use std::{
    fs, io,
    path::Path,
    process::{ExitCode, Stdio},
    thread,
    time::Duration,
};

use clap::{Parser, ValueEnum};

use generate::{Mix, Population, Size, write_objects};
use measure::{Run, Verdict, end, mebibytes, run, seconds, tool};

/// How much longer all may take than each on a core of its own.
const LONGER: f64 = 1.1;
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

#[expect(clippy::cast_precision_loss, reason = "a number of cores")]
fn hold(mix: Mix, clusters: usize, volumes: usize, verdict: &mut Verdict) -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let mut single = Vec::new();
    for seed in 0..clusters {
        let size = Size { pods: volumes, volumes, claims: volumes, mix };
        let population = Population { seed: seed as u64, ..size.population() };
        let file = folder.path().join(format!("cluster-{seed:03}.ndjson"));
        write_objects(population.objects(), &file)?;
        single.push(audit("-f", &file)?);
    }
    let all = audit("--each", folder.path())?;
    let cores = thread::available_parallelism()?.get();
    // On a core of its own, each takes as long as its threads together.
    let sum: Duration = single.iter().map(|it| it.cpu).sum();
    let fair = sum.as_secs_f64() / cores as f64;
    let peak = single.iter().map(|it| it.peak).max().unwrap_or(0);
    let bound = peak * cores as u64 * MORE / 100 + OF_VOLUME * (clusters * volumes) as u64;
    let bytes: u64 = fs::read_dir(folder.path())?
        .map(|entry| entry.and_then(|it| it.metadata()).map_or(0, |it| it.len()))
        .sum();
    let name = mix.to_possible_value().map(|it| it.get_name().to_owned()).unwrap_or_default();
    let ratio = all.wall.as_secs_f64() / fair;
    verdict.bound(
        &format!(
            "{name:<8} {clusters:>4} of {volumes:>6} volumes, {}: {} of CPU in {}, {ratio:.2} of {fair:.2} s",
            mebibytes(bytes),
            seconds(all.cpu),
            seconds(all.wall),
        ),
        ratio <= LONGER,
    );
    verdict.bound(
        &format!("{name:<8} memory {} of {}", mebibytes(all.peak), mebibytes(bound)),
        all.peak <= bound,
    );
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
