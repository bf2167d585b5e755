//! What a cluster costs that is twice as large: on every mix, CPU and memory may only double.
//!
//! `cargo bench --bench growth`; docs/benchmarks.md explains what is measured.

mod generate;
mod measure;

use std::{
    io,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::Duration,
};

use clap::{Parser, ValueEnum};

use generate::{Mix, Population, Size, write_objects};
use measure::{Verdict, end, mebibytes, run, seconds, tool};

/// What a doubling may cost.
const DOUBLING: f64 = 2.1;
/// Less than this is counted too coarsely, in steps of 10 ms, and begins with what does not grow.
const FLOOR: Duration = Duration::from_millis(150);
/// The same of memory.
const BASE: u64 = 12 << 20;

/// Runs commands on made-up clusters of growing size.
#[derive(Debug, Parser)]
struct Args {
    /// Volumes and claims of the smallest cluster
    #[arg(long, default_value_t = 5_000)]
    volumes: usize,
    /// How often it is doubled
    #[arg(long, default_value_t = 2)]
    doublings: u32,
    /// Pods for each volume
    #[arg(long, default_value_t = 1.0)]
    pods: f64,
    /// Runs of each command, of which the cheapest counts
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Only these mixes
    #[arg(long, value_enum, value_delimiter = ',')]
    mix: Vec<Mix>,
    /// Only these commands
    #[arg(long, value_delimiter = ',')]
    command: Vec<String>,
    /// Measure another build of the program
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// What cargo passes to every bench
    #[arg(long, hide = true)]
    bench: bool,
}

/// What one command cost on one cluster.
#[derive(Debug, Clone, Copy)]
struct Cost {
    cpu: Duration,
    peak: u64,
}

fn main() -> ExitCode {
    end("growth", bench(&Args::parse()))
}

fn bench(args: &Args) -> io::Result<ExitCode> {
    let folder = tempfile::tempdir()?;
    let mut verdict = Verdict::default();
    let mixes = if args.mix.is_empty() { Mix::value_variants() } else { &args.mix };
    for mix in mixes {
        let name = mix.to_possible_value().map(|it| it.get_name().to_owned()).unwrap_or_default();
        let mut curves: Vec<(&str, Vec<Cost>)> = Vec::new();
        for doubling in 0..=args.doublings {
            let population = population(args, *mix, args.volumes << doubling);
            let file = folder.path().join("cluster.ndjson");
            write_objects(population.objects(), &file)?;
            for (command, more) in commands(&population, folder.path()) {
                if !args.command.is_empty() && !args.command.iter().any(|it| it == command) {
                    continue;
                }
                let cost = cheapest(args, folder.path(), &file, &more)?;
                match curves.iter_mut().find(|(known, _)| *known == command) {
                    Some((_, curve)) => curve.push(cost),
                    None => curves.push((command, vec![cost])),
                }
            }
        }
        for (command, curve) in curves {
            let shown =
                |of: &dyn Fn(&Cost) -> String| curve.iter().map(of).collect::<Vec<_>>().join(" → ");
            let cpu = worst(&curve, |it| it.cpu.as_secs_f64(), FLOOR.as_secs_f64());
            let memory = worst(&curve, |it| megabytes(it.peak), megabytes(BASE));
            verdict.bound(
                &format!(
                    "{name:<12} {command:<9} CPU {} ({cpu:.2}), memory {} ({memory:.2})",
                    shown(&|it| seconds(it.cpu)),
                    shown(&|it| mebibytes(it.peak)),
                ),
                cpu <= DOUBLING && memory <= DOUBLING,
            );
        }
    }
    Ok(verdict.exit())
}

/// The factor of the most expensive doubling, from where it is worth measuring.
fn worst(curve: &[Cost], of: impl Fn(&Cost) -> f64, floor: f64) -> f64 {
    let ratio = |pair: &[Cost]| of(&pair[1]) / of(&pair[0]).max(floor);
    curve.windows(2).map(ratio).fold(0.0, f64::max)
}

fn megabytes(bytes: u64) -> f64 {
    // Nobody measures petabytes here.
    #[expect(clippy::cast_precision_loss, reason = "to be compared")]
    let bytes = bytes as f64;
    bytes / f64::from(1 << 20)
}

fn population(args: &Args, mix: Mix, volumes: usize) -> Population {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of pods"
    )]
    let pods = (volumes as f64 * args.pods) as usize;
    Size { pods, volumes, claims: volumes, mix }.population()
}

/// What is run, and under which name it is told.
fn commands(population: &Population, folder: &Path) -> [(&'static str, Vec<String>); 5] {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect();
    let explained = format!("explain pv/{}", population.volume_name(population.volumes - 1));
    [
        ("audit", words("audit -o json")),
        ("gc", words("gc --older-than 1d -o json")),
        ("retention", words("retention -A -o json")),
        ("explain", words(&explained)),
        ("dump", words(&format!("dump {}", folder.join("saved.gz").display()))),
    ]
}

/// The cheapest of some runs of one command.
fn cheapest(args: &Args, state: &Path, file: &Path, command: &[String]) -> io::Result<Cost> {
    let mut costs = Vec::new();
    for _ in 0..args.runs {
        let mut tool = match &args.binary {
            None => tool(state),
            Some(binary) => {
                let mut other = Command::new(binary);
                other.env("XDG_STATE_HOME", state);
                other
            }
        };
        tool.args(command).args(["--complete", "all", "-f"]).arg(file);
        let run = run(tool.stdout(Stdio::null()).stderr(Stdio::null()))?;
        if run.status.code().is_none_or(|code| code == 1 || code == 2) {
            return Err(io::Error::other(format!("{tool:?} ended with {}", run.status)));
        }
        costs.push(Cost { cpu: run.cpu, peak: run.peak });
    }
    let cpu = costs.iter().map(|it| it.cpu).min().unwrap_or_default();
    Ok(Cost { cpu, peak: costs.iter().map(|it| it.peak).min().unwrap_or_default() })
}
