//! Reclaiming a thousand volumes with `gc --parallel 8`, against a bare loop that sends the same patches and waits.
//!
//! `cargo bench --bench apply`; docs/benchmarks.md explains what is compared.

mod measure;
mod requests;
#[expect(dead_code, reason = "shared with the bench of live audits")]
mod testbed;

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{ExitCode, Stdio},
    time::{Duration, Instant},
};

use clap::Parser;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::client::Client;
use serde_json::{Value, json};

use measure::{end, say, tool};
use requests::{client, send};
use testbed::Testbed;

const RATIO: f64 = 2.0;
const DRIVER: &str = "bench.csi.example";
const VOLUMES: &str = "/api/v1/persistentvolumes";

/// Reclaims volumes of a real driver, with the tool and with a bare loop.
#[derive(Debug, Parser)]
struct Args {
    /// Volumes of each
    #[arg(long, default_value_t = 1000)]
    volumes: u32,
    /// Changes at the same time
    #[arg(long, default_value_t = 8)]
    parallel: usize,
    /// What cargo passes to every bench
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    end("apply", bench(&Args::parse()))
}

fn bench(args: &Args) -> io::Result<ExitCode> {
    let mut testbed = Testbed::start_with(&json!({"version": "1.36.3", "kcm": true}), false)?;
    let driver = testbed.request("driver.start", json!({"driver": DRIVER}))?;
    let folder = PathBuf::from(driver["volumes"].as_str().unwrap_or_default());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let client = runtime.block_on(client(&testbed.kubeconfig))?;
    // One run of each that does not count, of a tenth; then both, each on volumes of its own.
    let all = args.volumes as usize;
    let few = (all / 10).max(1);
    runtime.block_on(bare(&client, &folder, "warm-bare", few, args.parallel))?;
    gc(&runtime, &client, &testbed, &folder, "warm-gc", few, args.parallel)?;
    let bare = runtime.block_on(bare(&client, &folder, "bare", all, args.parallel))?;
    let gc = gc(&runtime, &client, &testbed, &folder, "gc", all, args.parallel)?;
    let ratio = gc.as_secs_f64() / bare.as_secs_f64();
    let each = |it: Duration| it.as_secs_f64() * 1000.0 / f64::from(args.volumes);
    say(&format!("bare loop: {:.1} s, {:.1} ms a volume", bare.as_secs_f64(), each(bare)));
    say(&format!(
        "gc --parallel {}: {:.1} s, {:.1} ms a volume",
        args.parallel,
        gc.as_secs_f64(),
        each(gc)
    ));
    say(&format!("ratio {ratio:.2} (bound {RATIO:.1})"));
    Ok(if ratio <= RATIO { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Makes volumes that Retain keeps after their claim is gone, and waits until all are Released.
async fn make(client: &Client, folder: &Path, prefix: &str, count: usize) -> io::Result<()> {
    stream::iter((0..count).map(Ok::<_, io::Error>))
        .try_for_each_concurrent(16, async |index| {
            let name = format!("{prefix}-{index}");
            fs::create_dir(folder.join(&name))?;
            let volume = json!({
                "apiVersion": "v1", "kind": "PersistentVolume",
                "metadata": {"name": name},
                "spec": {
                    "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                    "persistentVolumeReclaimPolicy": "Retain",
                    "csi": {"driver": DRIVER, "volumeHandle": name},
                    "claimRef": {
                        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "default",
                        "name": name, "uid": "00000000-dead-4000-8000-000000000000",
                    },
                },
            });
            send(client, "POST", VOLUMES, "application/json", &volume).await.map(drop)
        })
        .await?;
    until(client, |volumes| volumes.iter().all(|it| it["status"]["phase"] == "Released")).await
}

async fn until(client: &Client, done: impl Fn(&[Value]) -> bool) -> io::Result<()> {
    loop {
        let list = send(client, "GET", VOLUMES, "application/json", &Value::Null).await?;
        if done(list["items"].as_array().map_or(&[][..], Vec::as_slice)) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// What the driver and the controllers need: the same patch for each volume, and nothing looked at.
async fn bare(
    client: &Client,
    folder: &Path,
    prefix: &str,
    count: usize,
    parallel: usize,
) -> io::Result<Duration> {
    make(client, folder, prefix, count).await?;
    let began = Instant::now();
    let patch = json!([{"op": "replace", "path": "/spec/persistentVolumeReclaimPolicy", "value": "Delete"}]);
    stream::iter(0..count)
        .map(|index| {
            let (body, volume) = (&patch, format!("{VOLUMES}/{prefix}-{index}"));
            async move { send(client, "PATCH", &volume, "application/json-patch+json", body).await }
        })
        .buffer_unordered(parallel)
        .try_collect::<Vec<_>>()
        .await?;
    until(client, <[Value]>::is_empty).await?;
    emptied(folder)?;
    Ok(began.elapsed())
}

fn gc(
    runtime: &tokio::runtime::Runtime,
    client: &Client,
    testbed: &Testbed,
    folder: &Path,
    prefix: &str,
    count: usize,
    parallel: usize,
) -> io::Result<Duration> {
    runtime.block_on(make(client, folder, prefix, count))?;
    std::thread::sleep(Duration::from_secs(2)); // older than a second
    let home = tempfile::tempdir()?;
    let began = Instant::now();
    let output = tool(home.path())
        .args(["gc", "--older-than", "1s", "--yes", "--max", &count.to_string()])
        .args(["--parallel", &parallel.to_string(), "-o", "json", "--kubeconfig"])
        .arg(&testbed.kubeconfig)
        .stdin(Stdio::null())
        .output()?;
    let took = began.elapsed();
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stdout);
        return Err(io::Error::other(format!("gc ended with {}: {said}", output.status)));
    }
    emptied(folder)?;
    Ok(took)
}

/// Nothing is left at the backend.
fn emptied(folder: &Path) -> io::Result<()> {
    match fs::read_dir(folder)?.count() {
        0 => Ok(()),
        left => Err(io::Error::other(format!("{left} folders are left"))),
    }
}
