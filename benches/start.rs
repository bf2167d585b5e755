//! How long it takes to say anything at all, and how large the binary is.

mod measure;

use std::process::{ExitCode, Stdio};

use measure::{BINARY, Runs, Verdict, say, seconds, tool};

const RUNS: usize = 50;
const HELP_MILLISECONDS: u128 = 10;
const BINARY_BYTES: u64 = 12_000_000;

fn main() -> ExitCode {
    let mut verdict = Verdict::default();
    let help = || {
        let mut command = tool(&std::env::temp_dir());
        let run = measure::run(command.arg("--help").stdout(Stdio::null()));
        run.expect("because the binary was just built")
    };
    help();
    let runs = Runs((0..RUNS).map(|_| help()).collect());
    let all_well = runs.0.iter().all(|run| run.status.success());
    verdict.bound("--help succeeds", all_well);
    say(&format!(
        "--help: median of {RUNS} {}, best {}",
        seconds(runs.wall()),
        seconds(runs.fastest())
    ));
    verdict.bound(
        &format!("--help in less than {HELP_MILLISECONDS} ms"),
        runs.wall().as_millis() < HELP_MILLISECONDS,
    );
    let bytes = std::fs::metadata(BINARY).map_or(u64::MAX, |metadata| metadata.len());
    say(&format!("binary: {bytes} bytes"));
    verdict.bound(&format!("binary of at most {BINARY_BYTES} bytes"), bytes <= BINARY_BYTES);
    verdict.exit()
}
