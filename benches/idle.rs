//! What a watch of a real API server holds and uses while nothing happens.
//!
//! `cargo bench --bench idle`; docs/benchmarks.md explains what is measured.

mod generate;
mod measure;
#[expect(dead_code, reason = "shared with the bench of live audits")]
mod testbed;

use std::{
    fs,
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, ExitCode, Stdio},
    thread,
    time::{Duration, Instant},
};

use clap::Parser;

use generate::{Population, Size, write_seed_file};
use measure::{Verdict, cpu_of, end, mebibytes, resident_of, say, seconds, tool};
use testbed::Testbed;

const RESIDENT: u64 = 120 << 20;
/// Of one core.
const CPU: f64 = 0.01;
/// How long the first look may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// Leaves a watch of a made-up cluster alone.
#[derive(Debug, Parser)]
struct Args {
    #[command(flatten)]
    size: Size,
    /// Seconds after the first look that do not count
    #[arg(long, default_value_t = 30)]
    settle: u64,
    /// Seconds that count
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// What cargo passes to every bench
    #[arg(long, hide = true)]
    bench: bool,
}

/// A watch; it is killed when this is dropped.
struct Watch(Child);

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn main() -> ExitCode {
    end("idle", bench(&Args::parse()))
}

fn bench(args: &Args) -> io::Result<ExitCode> {
    let folder = tempfile::tempdir()?;
    let seed = folder.path().join("seed.jsonl");
    let Size { pods, volumes, claims, .. } = args.size;
    let population = Population { now: chrono::Utc::now(), ..args.size.population() };
    let objects = write_seed_file(&population, &seed)?;
    say(&format!("{objects} objects: {pods} pods, {volumes} volumes, {claims} claims"));
    let testbed = Testbed::start(&seed, false)?;

    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let policy = folder.path().join("policy.yaml");
    fs::write(
        &policy,
        format!(
            "apiVersion: storage.kubectl.dev/v1alpha1\nkind: WatchPolicy\n\
             report: {{metrics: {{address: '{address}'}}}}\n"
        ),
    )?;
    let began = Instant::now();
    let mut command = tool(folder.path());
    command.arg("--kubeconfig").arg(&testbed.kubeconfig).args(["watch", "-f"]).arg(&policy);
    let watch = Watch(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
    let pid = watch.0.id();
    while !is_ready(address) {
        if began.elapsed() > PATIENCE {
            return Err(io::Error::other("the watch is not ready"));
        }
        thread::sleep(Duration::from_millis(50));
    }
    say(&format!("ready after {}", seconds(began.elapsed())));
    thread::sleep(Duration::from_secs(args.settle));
    let (before, began) = (cpu_of(pid)?, Instant::now());
    thread::sleep(Duration::from_secs(args.seconds));
    let used = cpu_of(pid)?.saturating_sub(before);
    let share = used.as_secs_f64() / began.elapsed().as_secs_f64();
    let resident = resident_of(pid);

    let mut verdict = Verdict::default();
    verdict.bound(
        &format!("resident {}, at most {}", mebibytes(resident), mebibytes(RESIDENT)),
        resident > 0 && resident <= RESIDENT,
    );
    verdict.bound(
        &format!(
            "{} of CPU in {} s: {:.2} % of a core, less than {} %",
            seconds(used),
            args.seconds,
            share * 100.0,
            CPU * 100.0
        ),
        share < CPU,
    );
    Ok(verdict.exit())
}

/// Whether the watch has looked.
fn is_ready(address: std::net::SocketAddr) -> bool {
    let mut answer = String::new();
    let asked = TcpStream::connect(address).and_then(|mut stream| {
        stream
            .write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        stream.read_to_string(&mut answer)
    });
    asked.is_ok() && answer.starts_with("HTTP/1.1 200 ")
}
