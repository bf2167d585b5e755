//! An audit of a dump, against jq answering one question on the same file.
//!
//! `cargo bench --bench dump`; docs/benchmarks.md explains what is compared.

mod generate;
mod measure;

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use clap::Parser;

use generate::{Population, Size, write_list};
use measure::{HEADER, Run, Runs, Verdict, end, mebibytes, run, say, tool};

const JQ_RATIO: f64 = 20.0;
/// Volumes that are Released, retained, and have been so for a week.
const QUESTION: &str = r#"[.items[] | select(.kind == "PersistentVolume"
    and .status.phase == "Released"
    and .spec.persistentVolumeReclaimPolicy == "Retain"
    and (.status.lastPhaseTransitionTime | fromdate) <= ($now | fromdate) - 604800)
    | .metadata.name] | length"#;

/// Audits a dump of a made-up cluster, against jq.
#[derive(Debug, Parser)]
struct Args {
    #[command(flatten)]
    size: Size,
    /// Runs of the audit on each form, after one that does not count
    #[arg(long, default_value_t = 9)]
    runs: usize,
    /// Runs of jq
    #[arg(long, default_value_t = 3)]
    jq_runs: usize,
    /// Keep the dumps in this folder
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    /// What cargo passes to every bench
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    end("dump", bench(&Args::parse()))
}

fn bench(args: &Args) -> io::Result<ExitCode> {
    let temporary = tempfile::tempdir()?;
    let folder = args.keep.as_deref().unwrap_or(temporary.path());
    fs::create_dir_all(folder)?;
    let population = args.size.population();
    let (json, yaml) = (folder.join("list.json"), folder.join("list.yaml"));
    write(&population, &json, false)?;
    write(&population, &yaml, true)?;
    let own = folder.join("own.ndjson.gz");
    let mut save = tool(temporary.path());
    save.arg("dump").arg(&own).args(["--complete", "all", "-f"]).arg(&json);
    checked(save.stdout(Stdio::null()).stderr(Stdio::null()))?;

    let forms =
        [("a list as JSON", &json), ("a list as YAML", &yaml), ("our own dump, gzipped", &own)];
    let mut audits = forms.map(|_| Runs::default());
    let mut jq = Runs::default();
    let mut found = jq_answer(&json, &population)?.1;
    for (_, file) in forms {
        audit(file, temporary.path())?;
    }
    for round in 0..args.runs.max(args.jq_runs) {
        if round < args.jq_runs {
            let (run, answer) = jq_answer(&json, &population)?;
            jq.0.push(run);
            found = answer;
        }
        if round < args.runs {
            for ((_, file), runs) in forms.iter().zip(&mut audits) {
                runs.0.push(audit(file, temporary.path())?);
            }
        }
    }

    say(&format!("\n{HEADER}"));
    for ((what, file), runs) in forms.iter().zip(&audits) {
        let size = fs::metadata(file)?.len();
        say(&runs.line(&format!("audit -f: {what}, {}", mebibytes(size))));
    }
    say(&jq.line("jq, one question on the JSON list"));

    let mut verdict = Verdict::default();
    let counted = count_released(&json, temporary.path())?;
    verdict.bound(&format!("jq and the audit found the same {counted} volumes"), found == counted);
    for ((what, _), runs) in forms.iter().zip(&audits) {
        let ratio = jq.wall().as_secs_f64() / runs.wall().as_secs_f64();
        let best = jq.fastest().as_secs_f64() / runs.fastest().as_secs_f64();
        let line = format!(
            "{what}: {ratio:.1} times faster than jq (medians; of the best runs {best:.1})"
        );
        if *what == forms[0].0 {
            verdict.bound(&format!("{line}, at least {JQ_RATIO}"), ratio.max(best) >= JQ_RATIO);
        } else {
            say(&format!("       {line}"));
        }
    }
    Ok(verdict.exit())
}

fn write(population: &Population, path: &Path, yaml: bool) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let count = write_list(population, yaml, &mut out)?;
    out.flush()?;
    let size = mebibytes(fs::metadata(path)?.len());
    say(&format!("{}: {count} objects, {size}", path.display()));
    Ok(())
}

fn audit_command(file: &Path, state: &Path) -> Command {
    let mut command = tool(state);
    command.args(["audit", "-o", "json", "--complete", "all", "-f"]).arg(file);
    command
}

fn audit(file: &Path, state: &Path) -> io::Result<Run> {
    checked(audit_command(file, state).stdout(Stdio::null()).stderr(Stdio::null()))
}

fn checked(command: &mut Command) -> io::Result<Run> {
    let run = run(command)?;
    if !run.status.success() {
        return Err(io::Error::other(format!("{command:?} ended with {}", run.status)));
    }
    Ok(run)
}

/// Runs jq, and returns the number that it printed.
fn jq_answer(file: &Path, population: &Population) -> io::Result<(Run, usize)> {
    let answer = file.with_extension("answer");
    let mut command = Command::new("jq");
    command.args(["--arg", "now", &population.ago(0), QUESTION]).arg(file);
    let run = checked(command.stdout(File::create(&answer)?))?;
    let text = fs::read_to_string(&answer)?;
    Ok((run, text.trim().parse().map_err(io::Error::other)?))
}

/// How many volumes the audit finds to be Released for too long.
fn count_released(file: &Path, state: &Path) -> io::Result<usize> {
    let output = audit_command(file, state).stderr(Stdio::null()).output()?;
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let findings = report["findings"].as_array().map_or(&[][..], Vec::as_slice);
    Ok(findings.iter().filter(|it| it["id"] == "pv-released-past-threshold").count())
}
