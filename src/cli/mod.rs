//! The command line: flags in, exit code out. The only module that knows a terminal.

mod acting;
mod args;
mod audit;
mod collect;
mod commands;
mod complete;
mod completion;
mod connecting;
mod dump;
mod event_printer;
mod examples;
mod exit;
mod explain;
mod follow;
mod gaps;
mod line_queue;
mod policy;
mod progress;
mod rbac;
mod retention;
mod reading;
mod terminal;
mod version;
mod watch;
mod writing;

use std::process::ExitCode;

use clap::FromArgMatches as _;

use commands::Cli;
pub use commands::command;
pub use completion::script as completion_script;
pub use exit::{Exit, Failure};
use writing::{Ending, Interrupt};

/// Runs the command line, and returns the exit code.
pub fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    if let Some(code) = complete::answer(&arguments) {
        return code;
    }
    let exit = match run(arguments) {
        Ok(exit) => exit,
        Err(failure) => {
            terminal::complain(&failure);
            failure.exit
        }
    };
    terminal::settle_notes();
    exit.into()
}

fn run(arguments: Vec<std::ffi::OsString>) -> Result<Exit, Failure> {
    let called = arguments.first().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let parsed = command(&called).try_get_matches_from(arguments);
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors, and go to stdout.
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Done };
            return match error.print() {
                Ok(()) => Ok(exit),
                Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(exit),
                Err(error) => Err(Failure::error(error)),
            };
        }
    };
    // Two providers in one tree would make the first connection panic.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers())
        .enable_all()
        .build()
        .map_err(Failure::error)?;
    let interrupt = Interrupt::default();
    let exit = runtime.block_on(until_signal(cli.run(&called, &interrupt), &interrupt));
    // A task that still waits for a server must not hold up the end.
    runtime.shutdown_background();
    exit
}

/// How many threads decode lists. The API server is never faster than a few of them, and each
/// keeps memory of its own. Half the cores: on two of them, two threads that wake each other for every
/// chunk took a fifth more CPU than one.
fn workers() -> usize {
    (std::thread::available_parallelism().map_or(2, std::num::NonZero::get) / 2).clamp(1, 4)
}

/// Runs until it is done, or until somebody asks for the end.
///
/// What only reads ends at once: nothing has to be tidied up, and an unfinished dump removes
/// itself. What writes finishes its step first; a second signal ends that too, and leaves an open
/// entry in the journal.
async fn until_signal(
    work: impl Future<Output = Result<Exit, Failure>>,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let mut work = std::pin::pin!(work);
    let mut asked = None;
    loop {
        let signal = tokio::select! {
            // The signals first: before they are asked about, nothing listens for them, and one that comes while the
            // work begins would end us as if we had never started.
            biased;
            _ = tokio::signal::ctrl_c() => Exit::Interrupted,
            () = terminated() => Exit::Terminated,
            result = &mut work => return match (result, asked) {
                // Whatever became of it, it ended because somebody wished so.
                (Ok(Exit::Interrupted), Some(exit)) => Ok(exit),
                (result, _) => result,
            },
        };
        match interrupt.signal() {
            Ending::Now => return Ok(signal),
            Ending::Ordered => {}
            Ending::AfterStep => terminal::note(
                "finishing the current step; a second interrupt ends at once and leaves an open \
                 entry in the journal",
            ),
        }
        asked = Some(signal);
    }
}

#[cfg(unix)]
async fn terminated() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut signal) => {
            signal.recv().await;
        }
        Err(_) => std::future::pending().await,
    }
}

#[cfg(not(unix))]
async fn terminated() {
    std::future::pending().await
}
