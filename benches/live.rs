//! An audit of a real API server, against the cheapest way to fetch the same lists and throw them away.
//!
//! `cargo bench --bench live [-- --peers]`; docs/benchmarks.md explains what is compared.

mod floor;
mod generate;
mod measure;
mod testbed;

use std::{
    collections::BTreeSet,
    io,
    path::PathBuf,
    process::{Command, ExitCode, Stdio},
    time::Instant,
};

use clap::Parser;

use generate::{Population, Size, write_seed_file};
use measure::{HEADER, Run, Runs, Verdict, end, mebibytes, run, say, seconds, tool};
use testbed::Testbed;

const WALL_RATIO: f64 = 1.15;
const PEAK_BYTES: u64 = 64 << 20;

/// Audits a made-up cluster on a real API server, against the floor.
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
#[derive(Debug, Parser)]
struct Args {
    #[command(flatten)]
    size: Size,
    /// Claims of a stateful set
    #[arg(long, default_value_t = 3)]
    claims_of_set: usize,
    /// Also run `retention -A`
    #[arg(long)]
    retention: bool,
    /// Runs of each, after one that does not count
    #[arg(long, default_value_t = 9)]
    runs: usize,
    /// Also run kubectl and, where the testbed has it, popeye
    #[arg(long)]
    peers: bool,
    /// Keep the cluster until Enter is pressed
    #[arg(long)]
    hold: bool,
    /// Be the floor: fetch the lists of this kubeconfig's cluster
    #[arg(long, hide = true, value_name = "KUBECONFIG")]
    floor: Option<PathBuf>,
    /// The content coding that the floor asks for
    #[arg(long, hide = true, value_parser = ["gzip", "identity"], default_value = "gzip")]
    coding: String,
    /// What cargo passes to every bench
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match &args.floor {
        Some(kubeconfig) => floor::fetch(kubeconfig, &args.coding).map(|()| ExitCode::SUCCESS),
        None => bench(&args),
    };
    end("live", done)
}

fn bench(args: &Args) -> io::Result<ExitCode> {
    let folder = tempfile::tempdir()?;
    let seed = folder.path().join("seed.jsonl");
    let population = Population {
        claims_of_set: args.claims_of_set,
        now: chrono::Utc::now(),
        ..args.size.population()
    };
    let objects = write_seed_file(&population, &seed)?;
    say(&format!(
        "{objects} objects: {} pods, {} volumes, {} claims, what goes with them",
        args.size.pods, args.size.volumes, args.size.claims
    ));

    let began = Instant::now();
    let testbed = Testbed::start(&seed, args.peers)?;
    say(&format!("API server 1.36.3 after {}", seconds(began.elapsed())));
    let kubeconfig = testbed.kubeconfig.as_path();
    let floor = |coding| {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--coding", coding]).arg("--floor").arg(kubeconfig);
        checked(command.stdout(Stdio::null()))
    };
    let read = |words: &[&str]| {
        let mut command = tool(folder.path());
        command.arg("--kubeconfig").arg(kubeconfig).args(words).args(["-o", "json"]);
        checked(command.stdout(Stdio::null()).stderr(Stdio::null()))
    };
    let audit = || read(&["audit"]);
    floor("gzip")?;
    audit()?;
    let (mut floors, mut unpacked, mut audits) = <(Runs, Runs, Runs)>::default();
    for _ in 0..args.runs {
        floors.0.push(floor("gzip")?);
        audits.0.push(audit()?);
        unpacked.0.push(floor("identity")?);
    }

    say(&format!("\n{} runs of each, in turn\n{HEADER}", args.runs));
    say(&floors.line("floor: the same lists, thrown away"));
    say(&unpacked.line("the same without gzip"));
    say(&audits.line("kubectl-storage audit -o json"));
    if args.peers {
        peers(&testbed)?;
    }

    let mut verdict = Verdict::default();
    if args.retention {
        // After the audits: it makes the same lists, and fewer.
        let mut shown = Runs::default();
        for _ in 0..args.runs {
            shown.0.push(read(&["retention", "-A"])?);
        }
        say(&shown.line("kubectl-storage retention -A -o json"));
        let best = shown.fastest().as_secs_f64() / floors.fastest().as_secs_f64();
        let ratio = shown.wall().as_secs_f64() / floors.wall().as_secs_f64();
        verdict.bound(
            &format!(
                "retention: wall {ratio:.2} of the floor of an audit (medians; of the best runs {best:.2}), at most \
                 {WALL_RATIO}"
            ),
            ratio.min(best) <= WALL_RATIO,
        );
        let (peak, bound) = (shown.peak(), PEAK_BYTES.max(audits.peak()));
        verdict.bound(
            &format!("retention: peak RSS {}, at most {}", mebibytes(peak), mebibytes(bound)),
            peak > 0 && peak <= bound,
        );
    }
    let (asked_floor, asked_audit) = testbed.lists()?;
    verdict.bound("the floor made the same list requests as the audit", asked_floor == asked_audit);
    if asked_floor != asked_audit {
        let difference: BTreeSet<_> = asked_floor.symmetric_difference(&asked_audit).collect();
        say(&format!("       not by both: {difference:?}"));
    }
    let ratio = audits.wall().as_secs_f64() / floors.wall().as_secs_f64();
    let best = audits.fastest().as_secs_f64() / floors.fastest().as_secs_f64();
    verdict.bound(
        &format!("wall {ratio:.2} of the floor (medians; of the best runs {best:.2}), at most {WALL_RATIO}"),
        ratio.min(best) <= WALL_RATIO,
    );
    let unpacked = audits.fastest().as_secs_f64() / unpacked.fastest().as_secs_f64();
    say(&format!(
        "       {unpacked:.2} of the same lists without gzip (best runs), for which there is no bound"
    ));
    let peak = audits.peak();
    verdict.bound(
        &format!("peak RSS {}, at most {}", mebibytes(peak), mebibytes(PEAK_BYTES)),
        peak > 0 && peak <= PEAK_BYTES,
    );
    if args.hold {
        say(&format!("KUBECONFIG={}", kubeconfig.display()));
        io::stdin().read_line(&mut String::new())?;
    }
    Ok(verdict.exit())
}

/// Runs a program that has to succeed.
fn checked(command: &mut Command) -> io::Result<Run> {
    let run = run(command)?;
    if !run.status.success() {
        return Err(io::Error::other(format!("{command:?} ended with {}", run.status)));
    }
    Ok(run)
}

/// What others need to show the same objects.
fn peers(testbed: &Testbed) -> io::Result<()> {
    let kubectl = run(Command::new(testbed.binary("kubectl"))
        .arg("--kubeconfig")
        .arg(&testbed.kubeconfig)
        .args(["get", "pods,pv,pvc,volumeattachments,storageclasses", "-A", "-o", "json"])
        .stdout(Stdio::null())
        .stderr(Stdio::null()))?;
    let kubectl = Runs(vec![kubectl]);
    say(&kubectl.line("kubectl get pods,pv,pvc,va,sc -A -o json"));
    let popeye = testbed.binary("popeye");
    if !popeye.exists() {
        say("popeye: tests/testbed/build --with popeye did not provide it");
        return Ok(());
    }
    let popeye = run(Command::new(popeye)
        .arg("--kubeconfig")
        .arg(&testbed.kubeconfig)
        .args(["-A", "-s", "pv,pvc", "-o", "json", "--force-exit-zero"])
        .stdout(Stdio::null())
        .stderr(Stdio::null()))?;
    say(&Runs(vec![popeye]).line("popeye -A -s pv,pvc"));
    Ok(())
}
