//! How much memory the rows of a large cluster take.
//!
//! `cargo bench --bench memory`; docs/benchmarks.md explains what is measured.

mod generate;
mod measure;

use std::{
    io,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use clap::Parser;
use kubectl_storage::{
    dump::Input,
    model::{Claim, Volume},
    sources::{
        documents::{self, DumpOptions},
        intake::Intake,
    },
};

use generate::{Population, write_objects};
use measure::{Verdict, end, mebibytes, resident, say};

/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BYTES_PER_100_000: u64 = 45 << 20;

/// Measures the rows of volumes and claims.
#[derive(Debug, Parser)]
struct Args {
    #[arg(long, default_value_t = 100_000)]
    volumes: usize,
    /// Write the objects of one kind here, in a process of its own
    #[arg(long, hide = true)]
    write: Option<PathBuf>,
    #[arg(long, hide = true, default_value = "")]
    registry: String,
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
    end("memory", done)
}

fn bench(args: &Args) -> io::Result<ExitCode> {
    let folder = tempfile::tempdir()?;
    let mut intake = Intake::new(None);
    let mut verdict = Verdict::default();
    // A few objects first, so that what is needed once is not counted.
    read(&objects(folder.path(), "persistentvolumes", 10)?, &mut intake)?;
    for (registry, bound) in
        [("persistentvolumes", Some(BYTES_PER_100_000)), ("persistentvolumeclaims", None)]
    {
        let file = objects(folder.path(), registry, args.volumes)?;
        let before = resident();
        read(&file, &mut intake)?;
        let grown = resident().saturating_sub(before);
        let count = args.volumes as u64;
        say(&format!("{count} {registry}: {}, {} bytes each", mebibytes(grown), grown / count));
        if let Some(bound) = bound {
            let bound = bound * count / 100_000;
            verdict.bound(&format!("{registry} take at most {}", mebibytes(bound)), grown <= bound);
        }
    }
    say(&format!(
        "of which the rows themselves: {} and {} bytes",
        size_of::<Volume>(),
        size_of::<Claim>()
    ));
    let cluster = &intake.cluster;
    say(&format!(
        "rows: {} volumes, {} claims",
        cluster.volumes().count(),
        cluster.claims().count()
    ));
    Ok(verdict.exit())
}

fn read(file: &Path, intake: &mut Intake) -> io::Result<()> {
    let input = [Input::parse(file)];
    let read = documents::read(&input, &mut io::empty(), &DumpOptions::default(), intake);
    read.map(|_| ()).map_err(io::Error::other)
}

/// Has another process write the objects, so that making them leaves no trace in this one.
fn objects(folder: &Path, registry: &str, count: usize) -> io::Result<PathBuf> {
    let path = folder.join(format!("{registry}-{count}.ndjson"));
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--registry", registry, "--volumes", &count.to_string(), "--write"]).arg(&path);
    match command.status()?.success() {
        true => Ok(path),
        false => Err(io::Error::other("the objects could not be written")),
    }
}

fn write(args: &Args, path: &Path) -> io::Result<()> {
    let count = args.volumes;
    let population = Population { pods: 0, volumes: count, claims: count, ..Population::default() };
    let wanted = population.objects().filter(|made| made.registry == args.registry);
    write_objects(wanted, path)
}
