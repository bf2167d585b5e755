//! Writes a made-up cluster: `cargo bench --bench generate -- --pods 20000 --dump FILE`.

mod generate;

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Parser;

use generate::{Population, Size, write_list, write_seed_file};

/// Writes a made-up cluster of any size, the same one every time.
#[derive(Debug, Parser)]
struct Args {
    #[command(flatten)]
    size: Size,
    /// Claims of a stateful set
    #[arg(long)]
    claims_of_set: Option<usize>,
    /// Of a hundred volumes, how many are Released and retained
    #[arg(long)]
    released_percent: Option<usize>,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The moment as of which everything is true; `now` for the present
    #[arg(long, default_value = "2026-09-21T13:33:20Z")]
    now: String,
    /// Write what kubectl get would print; .yaml, .yml and .gz are understood, everything else is JSON
    #[arg(long, value_name = "FILE")]
    dump: Option<PathBuf>,
    /// Write what the testbed's `etcd_seed` takes
    #[arg(long, value_name = "FILE")]
    etcd_seed: Option<PathBuf>,
    /// What cargo passes to every bench
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "generate: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> io::Result<()> {
    let now = match args.now.as_str() {
        "now" => chrono::Utc::now(),
        text => text.parse().map_err(io::Error::other)?,
    };
    let usual = args.size.population();
    let population = Population {
        claims_of_set: args.claims_of_set.unwrap_or(usual.claims_of_set),
        released_percent: args.released_percent.unwrap_or(usual.released_percent),
        seed: args.seed,
        now,
        ..usual
    };
    if args.dump.is_none() && args.etcd_seed.is_none() {
        return Err(io::Error::other("nothing to do: pass --dump FILE or --etcd-seed FILE"));
    }
    if let Some(path) = &args.dump {
        let (mut out, yaml) = create(path)?;
        told(write_list(&population, yaml, &mut out)?, path)?;
        out.flush()?;
    }
    if let Some(path) = &args.etcd_seed {
        told(write_seed_file(&population, path)?, path)?;
    }
    Ok(())
}

fn create(path: &Path) -> io::Result<(Box<dyn Write>, bool)> {
    let file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let name = path.to_string_lossy();
    let plain = name.strip_suffix(".gz");
    let inner = plain.unwrap_or(&name);
    let yaml = Path::new(inner).extension().is_some_and(|it| it == "yaml" || it == "yml");
    let out: Box<dyn Write> = match plain {
        Some(_) => Box::new(flate2::write::GzEncoder::new(file, flate2::Compression::default())),
        None => Box::new(file),
    };
    Ok((out, yaml))
}

fn told(count: usize, path: &Path) -> io::Result<()> {
    writeln!(io::stdout(), "{count} objects in {}", path.display())
}
