//! Flags in, exit code out. The only module that knows a terminal.

mod args;
mod audit;
mod collect;
mod complete;
mod completion;
mod dump;
mod exit;
mod explain;
mod gaps;
mod progress;
mod rbac;
mod terminal;
mod version;

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};

pub use args::{Cli, Command};
pub use completion::script as completion_script;
pub use exit::{Exit, Failure};

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
    exit.into()
}

/// Builds the command line under the name that it was called by.
pub fn command(called: &str) -> clap::Command {
    let name = args::display_name(called);
    Cli::command().name("kubectl-storage").bin_name(name)
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
    let exit = runtime.block_on(until_signal(cli.run(&called)));
    // A task that still waits for a server must not hold up the end.
    runtime.shutdown_background();
    exit
}

/// How many threads decode lists. The API server is never faster than a few of them, and each
/// keeps memory of its own.
fn workers() -> usize {
    std::thread::available_parallelism().map_or(2, std::num::NonZero::get).min(4)
}

impl Cli {
    async fn run(self, called: &str) -> Result<Exit, Failure> {
        match self.command {
            Command::Audit(args) => args.run(&self.connection).await,
            Command::Dump(args) => args.run(&self.connection).await,
            Command::Explain(args) => args.run(&self.connection).await,
            Command::Rbac(args) => args.run(&self.connection).await,
            Command::Version(args) => args.run(),
            Command::Completion(args) => args.run(called),
        }
    }
}

/// Runs until it is done, or until somebody asks for the end. Nothing here has to be tidied up:
/// reading changes nothing, and an unfinished dump removes itself.
async fn until_signal(work: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    #[cfg(unix)]
    let terminated = async {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminated = std::future::pending::<()>();
    tokio::select! {
        result = work => result,
        _ = tokio::signal::ctrl_c() => Ok(Exit::Interrupted),
        () = terminated => Ok(Exit::Terminated),
    }
}
