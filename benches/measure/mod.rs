//! Running programs, and what they cost.

// Every bench uses a part of it.
#![allow(dead_code, reason = "shared by several benches")]

use std::{
    fs,
    io::{self, Write},
    path::Path,
    process::{Command, ExitCode, ExitStatus, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

/// Returns the exit code of a bench: what it found, or 2 where it failed, which is said.
pub fn end(bench: &str, done: io::Result<ExitCode>) -> ExitCode {
    done.unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "{bench}: {error}");
        ExitCode::from(2)
    })
}

/// What one run cost.
#[derive(Debug, Clone)]
pub struct Run {
    pub wall: Duration,
    /// User and system time, as the kernel counts it: in steps of 10 ms.
    pub cpu: Duration,
    /// The most memory that was resident, in bytes; 0 where the kernel does not tell.
    pub peak: u64,
    pub status: ExitStatus,
}

/// Runs a program to its end. Whatever it writes to stdout must have been sent somewhere else.
pub fn run(command: &mut Command) -> io::Result<Run> {
    let before = cpu_of_children();
    let began = Instant::now();
    let mut child = command.stdin(Stdio::null()).spawn()?;
    let status_file = format!("/proc/{}/status", child.id());
    let ended = AtomicBool::new(false);
    let (status, wall, peak) = thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            // The kernel keeps the maximum, so that only the last moment can be missed.
            let mut peak = 0;
            while !ended.load(Ordering::Relaxed) {
                peak = high_water(&status_file).unwrap_or(0).max(peak);
                thread::sleep(Duration::from_millis(4));
            }
            peak
        });
        let status = child.wait();
        let wall = began.elapsed();
        ended.store(true, Ordering::Relaxed);
        (status, wall, watcher.join().unwrap_or(0))
    });
    Ok(Run { wall, cpu: cpu_of_children().saturating_sub(before), peak, status: status? })
}

/// `VmHWM` of a process, in bytes.
pub fn high_water(status_file: &str) -> Option<u64> {
    field(status_file, "VmHWM:")
}

/// `VmRSS` of this process, in bytes.
pub fn resident() -> u64 {
    field("/proc/self/status", "VmRSS:").unwrap_or(0)
}

/// `VmRSS` of a process, in bytes; 0 where there is none.
pub fn resident_of(pid: u32) -> u64 {
    field(&format!("/proc/{pid}/status"), "VmRSS:").unwrap_or(0)
}

fn field(status_file: &str, name: &str) -> Option<u64> {
    let status = fs::read_to_string(status_file).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// What a process that goes on has used.
pub fn cpu_of(pid: u32) -> io::Result<Duration> {
    Ok(cpu(&fs::read_to_string(format!("/proc/{pid}/stat"))?, 11))
}

/// What all children that have been waited for used.
fn cpu_of_children() -> Duration {
    cpu(&fs::read_to_string("/proc/self/stat").unwrap_or_default(), 13)
}

/// User and system time in a `stat` file; so many fields after the name they begin.
fn cpu(stat: &str, skipped: usize) -> Duration {
    // The name, in parentheses, may hold anything.
    let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let fields = rest.split(' ').skip(skipped).take(2);
    let ticks: u64 = fields.filter_map(|it| it.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// Several runs of the same.
#[derive(Debug, Default)]
pub struct Runs(pub Vec<Run>);

impl Runs {
    pub fn fastest(&self) -> Duration {
        self.0.iter().map(|run| run.wall).min().unwrap_or_default()
    }

    pub fn wall(&self) -> Duration {
        median(self.0.iter().map(|run| run.wall))
    }

    pub fn cpu(&self) -> Duration {
        median(self.0.iter().map(|run| run.cpu))
    }

    /// The worst of all runs.
    pub fn peak(&self) -> u64 {
        self.0.iter().map(|run| run.peak).max().unwrap_or(0)
    }

    pub fn line(&self, what: &str) -> String {
        format!(
            "{what:<42} {:>9} {:>9} {:>9} {:>9}",
            seconds(self.wall()),
            seconds(self.fastest()),
            seconds(self.cpu()),
            mebibytes(self.peak()),
        )
    }
}

pub const HEADER: &str =
    "                                              median      best       CPU  peak RSS";

pub fn median(values: impl Iterator<Item = Duration>) -> Duration {
    let mut values: Vec<_> = values.collect();
    values.sort();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

pub fn seconds(duration: Duration) -> String {
    if duration < Duration::from_millis(100) {
        format!("{:.1} ms", duration.as_secs_f64() * 1000.0)
    } else {
        format!("{:.2} s", duration.as_secs_f64())
    }
}

pub fn mebibytes(bytes: u64) -> String {
    // Nobody measures petabytes here.
    #[expect(clippy::cast_precision_loss, reason = "to be read by people")]
    let bytes = bytes as f64;
    format!("{:.1} MiB", bytes / f64::from(1 << 20))
}

/// Prints a line; a closed pipe is nobody's problem.
pub fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// Checks bounds, and remembers whether all were kept.
#[derive(Debug, Default)]
pub struct Verdict {
    missed: usize,
}

impl Verdict {
    pub fn bound(&mut self, what: &str, kept: bool) {
        say(&format!("{} {what}", if kept { "ok    " } else { "MISSED" }));
        self.missed += usize::from(!kept);
    }

    pub fn exit(&self) -> std::process::ExitCode {
        std::process::ExitCode::from(u8::from(self.missed > 0))
    }
}

/// The release binary that cargo built beside the bench.
pub const BINARY: &str = env!("CARGO_BIN_EXE_kubectl-storage");

/// The binary, with a state folder of its own.
pub fn tool(state: &Path) -> Command {
    let mut command = Command::new(BINARY);
    command.env("XDG_STATE_HOME", state).env("NO_COLOR", "1");
    command
}
