//! Removing a thousand owner references with `disown`, against a bare loop that sends the same JSON patches.
//!
//! `cargo bench --bench disown`; docs/benchmarks.md explains what is compared.

mod measure;
mod requests;
#[expect(dead_code, reason = "shared with the bench of live audits")]
mod testbed;

use std::{
    io,
    process::{ExitCode, Stdio},
    time::{Duration, Instant},
};

use clap::Parser;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::client::Client;
use serde_json::{Value, json};

use measure::{Verdict, end, say, tool};
use requests::{client, send};
use testbed::Testbed;

const RATIO: f64 = 2.0;
const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
/// No set has this uid.
const EARLIER: &str = "00000000-dead-4000-8000-000000000000";

/// Removes owner references from claims, with the tool and with a bare loop.
#[derive(Debug, Parser)]
struct Args {
    /// Claims of each
    #[arg(long, default_value_t = 1000)]
    claims: usize,
    /// Runs of each, in turn
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Changes of both at the same time; without it, the tool as it is by default against patches one
    /// at a time, and eight of both
    #[arg(long)]
    parallel: Option<usize>,
    /// What cargo passes to every bench
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    end("disown", bench(&Args::parse()))
}

fn bench(args: &Args) -> io::Result<ExitCode> {
    // Without controllers: the garbage collector would delete these claims.
    let testbed = Testbed::start_with(&json!({"version": "1.36.3"}), false)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let client = runtime.block_on(client(&testbed.kubeconfig))?;
    // How many patches are sent at the same time, and what is said of it to the tool.
    let side =
        |name: &str, count, (patches, parallel)| -> io::Result<(Duration, Duration, Duration)> {
            let bare = runtime.block_on(bare(&client, &format!("{name}-bare"), count, patches))?;
            let run = |prefix: &str, more: &[&str]| -> io::Result<Duration> {
                let prefix = format!("{name}-{prefix}");
                runtime.block_on(make(&client, &prefix, count))?;
                let took = disown(&testbed, &prefix, count, parallel, more)?;
                runtime.block_on(without_owners(&client, &prefix, count))?;
                Ok(took)
            };
            Ok((bare, run("tool", &[])?, run("sent", &["--wait=false", "--no-events"])?))
        };
    side("warm", (args.claims / 10).max(1), (8, Some(8)))?;
    let mut verdict = Verdict::default();
    let both = |it| (it, Some(it));
    for of in args.parallel.map_or_else(|| vec![(1, None), both(8)], |it| vec![both(it)]) {
        let all = (0..args.runs)
            .map(|run| side(&format!("p{}-r{run}", of.0), args.claims, of))
            .collect::<io::Result<Vec<_>>>()?;
        let best = |of: fn(&(Duration, Duration, Duration)) -> Duration| {
            all.iter().map(of).min().unwrap_or_default()
        };
        let (bare, tool, sent) = (best(|it| it.0), best(|it| it.1), best(|it| it.2));
        let each = |it: Duration| {
            it.as_secs_f64() * 1e3 / f64::from(u32::try_from(args.claims).unwrap_or(u32::MAX))
        };
        let line = |what: &str, took: Duration| {
            say(&format!(
                "{what}: {:.2} s, {:.1} ms a claim (best of {})",
                took.as_secs_f64(),
                each(took),
                args.runs
            ));
        };
        let at_a_time = match of {
            (patches, None) => format!("by default, patches {patches} at a time"),
            (_, Some(parallel)) => format!("{parallel} at a time"),
        };
        say(&format!("\n{at_a_time}"));
        line("bare JSON patches", bare);
        line("disown", tool);
        line("disown --wait=false --no-events", sent);
        let ratio = tool.as_secs_f64() / bare.as_secs_f64();
        verdict.bound(
            &format!("{at_a_time}: {ratio:.2} times the bare patches, at most {RATIO}"),
            ratio <= RATIO,
        );
    }
    Ok(verdict.exit())
}

/// Makes claims of a set that does not exist any more, and returns their uids.
async fn make(client: &Client, prefix: &str, count: usize) -> io::Result<Vec<Value>> {
    stream::iter(0..count)
        .map(|index| async move {
            let claim = json!({
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": {
                    "name": format!("{prefix}-{index}"),
                    "ownerReferences": [{
                        "apiVersion": "apps/v1", "kind": "StatefulSet", "name": prefix, "uid": EARLIER,
                        "controller": true, "blockOwnerDeletion": true,
                    }],
                },
                "spec": {
                    "accessModes": ["ReadWriteOnce"], "storageClassName": "none",
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            });
            let mut made = send(client, "POST", CLAIMS, "application/json", &claim).await?;
            Ok::<_, io::Error>(made["metadata"]["uid"].take())
        })
        .buffered(16)
        .try_collect()
        .await
}

/// The patches that the tool sends, and nothing looked at.
async fn bare(
    client: &Client,
    prefix: &str,
    count: usize,
    parallel: usize,
) -> io::Result<Duration> {
    let uids = make(client, prefix, count).await?;
    let began = Instant::now();
    stream::iter(uids.iter().enumerate())
        .map(|(index, uid)| {
            let (patch, claim) = (patch(uid), format!("{CLAIMS}/{prefix}-{index}"));
            async move { send(client, "PATCH", &claim, "application/json-patch+json", &patch).await }
        })
        .buffer_unordered(parallel)
        .try_collect::<Vec<_>>()
        .await?;
    let took = began.elapsed();
    without_owners(client, prefix, count).await?;
    Ok(took)
}

fn patch(uid: &Value) -> Value {
    json!([
        {"op": "test", "path": "/metadata/uid", "value": uid},
        {"op": "test", "path": "/metadata/ownerReferences/0/uid", "value": EARLIER},
        {"op": "remove", "path": "/metadata/ownerReferences/0"},
    ])
}

fn disown(
    testbed: &Testbed,
    prefix: &str,
    count: usize,
    parallel: Option<usize>,
    more: &[&str],
) -> io::Result<Duration> {
    let home = tempfile::tempdir()?;
    let began = Instant::now();
    let output = tool(home.path())
        .arg("disown")
        .args((0..count).map(|index| format!("pvc/{prefix}-{index}")))
        .args(["-n", "default", "--yes", "--max", &count.to_string(), "-o", "json"])
        .args(parallel.map(|it| format!("--parallel={it}")))
        .arg("--kubeconfig")
        .arg(&testbed.kubeconfig)
        .args(more)
        .stdin(Stdio::null())
        .output()?;
    let took = began.elapsed();
    // What is not verified is pending.
    let expected = if more.is_empty() { Some(0) } else { Some(6) };
    if output.status.code() != expected {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(format!("disown ended with {}: {said}", output.status)));
    }
    Ok(took)
}

/// Fails unless no claim of the prefix has an owner.
async fn without_owners(client: &Client, prefix: &str, count: usize) -> io::Result<()> {
    let list = send(client, "GET", CLAIMS, "application/json", &Value::Null).await?;
    let start = format!("{prefix}-");
    let claims = list["items"].as_array().into_iter().flatten().filter(|it| {
        it["metadata"]["name"].as_str().is_some_and(|name| name.starts_with(&start))
            && it["metadata"]["ownerReferences"].is_null()
    });
    match claims.count() {
        found if found == count => Ok(()),
        found => Err(io::Error::other(format!("{found} of {count} claims have no owner"))),
    }
}
