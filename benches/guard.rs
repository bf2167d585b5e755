//! A DELETE of a claim that passes the guard, against the same DELETE without the guard.
//!
//! `cargo bench --bench guard`; docs/benchmarks.md explains what is compared.

mod measure;
mod requests;
#[expect(dead_code, reason = "shared with the bench of live audits")]
mod testbed;

use std::{
    io,
    path::Path,
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::Parser;
use kube::client::Client;
use kubectl_storage::guard::{GUARD_LABEL, GuardMode, GuardObject, GuardOptions, objects};
use serde_json::{Value, json};

use measure::{end, say};
use requests::{client, send};
use testbed::Testbed;

/// What the median of a DELETE may take longer.
const ADDED: Duration = Duration::from_millis(1);
const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const CLAIMS: &str = "/api/v1/namespaces/strict/persistentvolumeclaims";

/// Deletes a claim with and without the guard, as dry runs.
#[derive(Debug, Parser)]
struct Args {
    /// Requests in each round
    #[arg(long, default_value_t = 500)]
    requests: usize,
    /// Rounds without the guard, and as many with it, in turn
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// What cargo passes to every bench
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    end("guard", bench(&Args::parse()))
}

fn bench(args: &Args) -> io::Result<ExitCode> {
    let testbed = Testbed::start_with(&json!({"version": "1.36.3"}), false)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(compare(args, &testbed.kubeconfig))
}

async fn compare(args: &Args, kubeconfig: &Path) -> io::Result<ExitCode> {
    let client = client(kubeconfig).await?;
    let delete = bound_claim(&client).await?;
    let guard = objects(&GuardOptions { volumes: GuardMode::Deny, ..GuardOptions::default() });
    // One round that does not count.
    round(&client, &delete, args.requests).await?;
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..args.rounds {
        without.push(round(&client, &delete, args.requests).await?);
        install(&client, &guard).await?;
        with.push(round(&client, &delete, args.requests).await?);
        remove(&client, &guard).await?;
    }
    let of = |name: &str, rounds: &[Times]| {
        let (median, most) = (middle(rounds, |it| it.median), middle(rounds, |it| it.ninety_ninth));
        say(&format!(
            "{name}: median {:.2} ms, 99th percentile {:.2} ms, best round {:.2} ms",
            milliseconds(median),
            milliseconds(most),
            milliseconds(best(rounds)),
        ));
        median
    };
    let (before, after) = (of("without the guard", &without), of("with the guard", &with));
    let added = after.saturating_sub(before).min(best(&with).saturating_sub(best(&without)));
    say(&format!(
        "added to a DELETE: {:.2} ms (bound {:.1} ms)",
        milliseconds(added),
        milliseconds(ADDED)
    ));
    Ok(if added <= ADDED { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// How long the requests of a round took.
struct Times {
    median: Duration,
    ninety_ninth: Duration,
}

fn best(rounds: &[Times]) -> Duration {
    rounds.iter().map(|it| it.median).min().unwrap_or_default()
}

fn middle(rounds: &[Times], of: impl Fn(&Times) -> Duration) -> Duration {
    let mut all: Vec<_> = rounds.iter().map(of).collect();
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or_default()
}

/// Makes a bound claim in a namespace in which the guard refuses, and returns the options of a DELETE that
/// passes: all rules about it are evaluated.
async fn bound_claim(client: &Client) -> io::Result<Value> {
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "strict", "labels": {GUARD_LABEL: "deny"}},
    });
    send(client, "POST", "/api/v1/namespaces", JSON, &namespace).await?;
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "", "volumeName": "data",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    });
    send(client, "POST", CLAIMS, JSON, &claim).await?;
    let status = json!({"status": {"phase": "Bound"}});
    let path = format!("{CLAIMS}/data/status");
    let live = send(client, "PATCH", &path, MERGE, &status).await?;
    let (uid, version) = (&live["metadata"]["uid"], &live["metadata"]["resourceVersion"]);
    Ok(json!({
        "apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"],
        "preconditions": {"uid": uid, "resourceVersion": version},
    }))
}

async fn round(client: &Client, delete: &Value, requests: usize) -> io::Result<Times> {
    let path = format!("{CLAIMS}/data");
    let mut times = Vec::with_capacity(requests);
    for _ in 0..requests {
        let began = Instant::now();
        send(client, "DELETE", &path, JSON, delete).await?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    let at = |part: usize| times.get(requests * part / 100).copied().unwrap_or_default();
    Ok(Times { median: at(50), ninety_ninth: at(99) })
}

fn collection(object: &GuardObject) -> String {
    format!("/apis/admissionregistration.k8s.io/v1/{}", object.kind.kind().plural())
}

async fn install(client: &Client, guard: &[GuardObject]) -> io::Result<()> {
    for object in guard {
        send(client, "POST", &collection(object), JSON, &object.manifest).await?;
    }
    until(client, true).await
}

async fn remove(client: &Client, guard: &[GuardObject]) -> io::Result<()> {
    for object in guard.iter().rev() {
        let path = format!("{}/{}", collection(object), object.name);
        send(client, "DELETE", &path, JSON, &json!({})).await?;
    }
    until(client, false).await
}

/// Waits until a DELETE without preconditions is refused, or is not any more.
async fn until(client: &Client, refused: bool) -> io::Result<()> {
    let plain = json!({"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"]});
    let path = format!("{CLAIMS}/data");
    for _ in 0..600 {
        if send(client, "DELETE", &path, JSON, &plain).await.is_err() == refused {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err(io::Error::other("the guard does not begin or end to refuse a DELETE"))
}
