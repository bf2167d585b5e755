//! One namespace with very many claims and sets: no rule may be quadratic, and `retention` shows them
//! within the bounds of an audit.
//!
//! `cargo bench --bench namespace`; docs/benchmarks.md explains what is measured.

mod measure;

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
    process::{ExitCode, Stdio},
    time::{Duration, Instant},
};

use kubectl_storage::{
    cluster::Dirty,
    dump::Input,
    model::{Kind, Settings},
    rules::Assessor,
    sources::{
        documents::{self, DumpOptions},
        intake::Intake,
    },
};
use serde_json::json;

use measure::{Runs, Verdict, end, say, tool};

/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Claims, with a tenth as many sets each.
const SMALL: usize = 10_000;
const LARGE: usize = 50_000;
/// What a claim may cost more among five times as many. One quadratic rule would make it five.
const GROWTH: f64 = 1.6;
const RUNS: usize = 5;
/// What `retention` may take longer than `audit`: it says of every claim what audit says of a few.
const SHOWN: f64 = 2.0;

fn main() -> ExitCode {
    end("namespace", bench())
}

fn bench() -> io::Result<ExitCode> {
    let folder = tempfile::tempdir()?;
    let mut verdict = Verdict::default();
    for (what, sets_of) in [("a tenth as many sets", 10), ("one set", usize::MAX)] {
        let each = |claims: usize| -> io::Result<f64> {
            let path = folder.path().join(format!("{claims}-{sets_of}.json"));
            write(&path, claims, sets_of)?;
            let (wall, findings) = assess(&path)?;
            let claims_counted = u32::try_from(claims).map_err(io::Error::other)?;
            let micros = wall.as_secs_f64() * 1e6 / f64::from(claims_counted);
            say(&format!(
                "{claims} claims, {what}: {:.0} ms, {micros:.1} µs each, {findings} findings",
                wall.as_secs_f64() * 1e3
            ));
            Ok(micros)
        };
        let (small, large) = (each(SMALL)?, each(LARGE)?);
        let growth = large / small;
        verdict.bound(
            &format!("{what}: a claim costs {growth:.2} times as much among five times as many, at most {GROWTH}"),
            growth <= GROWTH,
        );
        let path = folder.path().join(format!("{LARGE}-{sets_of}.json"));
        shown(&mut verdict, folder.path(), &path, what)?;
    }
    Ok(verdict.exit())
}

/// Compares `retention` with `audit`, both as users run them.
fn shown(verdict: &mut Verdict, state: &Path, path: &Path, what: &str) -> io::Result<()> {
    let runs = |command: &[&str]| -> io::Result<Runs> {
        let one = || {
            let mut tool = tool(state);
            tool.args(command).arg("-f").arg(path).args(["--complete", "all", "-o", "json"]);
            measure::run(tool.stdout(Stdio::null()).stderr(Stdio::null()))
        };
        Ok(Runs((0..RUNS).map(|_| one()).collect::<io::Result<_>>()?))
    };
    let (audit, retention) = (runs(&["audit"])?, runs(&["retention", "-A"])?);
    say(measure::HEADER);
    say(&audit.line(&format!("audit, {what}")));
    say(&retention.line(&format!("retention, {what}")));
    let factor = retention.fastest().as_secs_f64() / audit.fastest().as_secs_f64();
    verdict.bound(
        &format!("{what}: retention takes {factor:.2} times as long as audit, at most {SHOWN}"),
        factor <= SHOWN,
    );
    Ok(())
}

/// The best of a few full passes over everything.
fn assess(path: &Path) -> io::Result<(Duration, usize)> {
    let mut intake = Intake::new(None);
    let options = DumpOptions {
        complete: Kind::ALL.into_iter().collect(),
        kinds: Kind::ALL.to_vec(),
        ..DumpOptions::default()
    };
    documents::read(&[Input::parse(path)], &mut io::empty(), &options, &mut intake)
        .map_err(io::Error::other)?;
    let settings = Settings::default();
    let mut best = (Duration::MAX, 0);
    for _ in 0..RUNS {
        let mut assessor = Assessor::default();
        let began = Instant::now();
        assessor.update(&intake.cluster, &settings, Dirty::everything());
        let wall = began.elapsed();
        let findings = assessor.totals(&intake.cluster, &settings).by_rule.values().sum();
        best = best.min((wall, findings));
    }
    Ok(best)
}

/// Sets of ten ordinals of which eight are wanted; every third set once had another policy.
fn write(path: &Path, claims: usize, of_a_set: usize) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let ordinals = of_a_set.min(claims);
    for set in 0..claims / ordinals {
        let name = format!("set-{set}");
        let uid = format!("00000000-0000-4000-8000-{set:012}");
        let spec = json!({
            "replicas": ordinals * 8 / 10,
            "selector": {"matchLabels": {"app": name}},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
        });
        line(
            &mut out,
            &json!({"apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": name, "namespace": "shop", "uid": uid}, "spec": spec}),
        )?;
        for ordinal in 0..ordinals {
            let stale = ordinal >= ordinals * 9 / 10 && set % 3 == 0;
            let owner = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": name,
                "uid": uid, "controller": true, "blockOwnerDeletion": true}]);
            let metadata = json!({"name": format!("data-{name}-{ordinal}"), "namespace": "shop",
                "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"app": name},
                "finalizers": ["kubernetes.io/pvc-protection"],
                "ownerReferences": if stale { owner } else { json!([]) }});
            line(
                &mut out,
                &json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": metadata, "spec": {}, "status": {"phase": "Pending"}}),
            )?;
            if ordinal < ordinals * 8 / 10 {
                line(
                    &mut out,
                    &json!({"apiVersion": "v1", "kind": "Pod",
                    "metadata": {"name": format!("{name}-{ordinal}"), "namespace": "shop",
                        "labels": {"app": name}},
                    "spec": {"nodeName": "n", "volumes": [{"name": "data",
                        "persistentVolumeClaim": {"claimName": format!("data-{name}-{ordinal}")}}]},
                    "status": {"phase": "Running"}}),
                )?;
            }
        }
    }
    out.flush()
}

fn line(out: &mut impl Write, object: &serde_json::Value) -> io::Result<()> {
    serde_json::to_writer(&mut *out, object)?;
    out.write_all(b"\n")
}
