//! The command line: flags in, exit code out. The only module that knows a terminal.
//!
//! Signals: during writes the first ends the run after the current step, the second at once; what watches is told first.

mod acting;
mod args;
mod audit;
mod beside;
mod clusters;
mod collect;
mod commands;
mod completion;
mod df;
mod dump;
mod explain;
mod listed;
mod name;
mod named;
mod namespaces;
mod parallel;
mod rbac;
mod retention;
mod reading;
mod start;
mod table;
mod terminal;
mod usage;
mod version;
mod watch;
mod writing;

use std::{
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

pub use commands::command;
pub use completion::script as completion_script;
use tokio::sync::Notify;

use crate::{
    model::{call_program, escape_control},
    platform::terminated,
    watch::policy::PolicyError,
};

/// Runs the command line, and returns the exit code.
pub fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    if let Some(code) = completion::answer(&arguments) {
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
    let told = std::env::var_os(name::VARIABLE).map(|it| it.to_string_lossy().into_owned());
    let (name, is_ignored) = name::decide(&called, told.as_deref());
    call_program(&name);
    if is_ignored {
        terminal::note(name::IGNORED);
    }
    let cli = match commands::parse(arguments) {
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

/// Returns the number of threads that decode lists. The API server is never faster than a few of them, and each keeps
/// memory of its own. Half the cores: on two of them, two threads that wake each other for every chunk took a fifth
/// more CPU than one.
fn workers() -> usize {
    (std::thread::available_parallelism().map_or(2, std::num::NonZero::get) / 2).clamp(1, 4)
}

/// Runs a command until it is done, or until a signal ends it.
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
                // Whatever became of it, a signal ended it.
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

/// Exit codes; part of the public interface. Of several that apply, the first: 130 and 143, 2, 1, 6, 5, 3, 4, 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// Success.
    Done = 0,
    /// An error that no other code is for.
    Error = 1,
    /// The command line makes no sense.
    Usage = 2,
    /// Findings at or above `--fail-on`.
    Findings = 3,
    /// Something was not read, which `--allow-gaps` allows.
    Incomplete = 4,
    /// Refused or not confirmed; nothing changed.
    Refused = 5,
    /// Applied in part, pending, or outcome unknown.
    Unfinished = 6,
    /// Ctrl-C.
    Interrupted = 130,
    /// SIGTERM.
    Terminated = 143,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Failure of a command, with the exit code and what to do next.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// Error with its causes.
    pub error: anyhow::Error,
    /// Advice what to do next.
    pub hint: Option<String>,
}

impl Failure {
    /// Returns a failure that is no mistake on the command line.
    pub fn error(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::Error, error: error.into(), hint: None }
    }

    /// Returns the failure for a mistake on the command line.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, error: anyhow::anyhow!(message.into()), hint: None }
    }

    /// Adds advice what to do next.
    #[must_use]
    pub fn hint(mut self, hint: Option<impl Into<String>>) -> Self {
        self.hint = hint.map(Into::into);
        self
    }
}

/// Tells all that is wrong with a policy on stderr, but for the last line, which it returns as the failure.
fn policy_refused(error: &PolicyError) -> Failure {
    let mut lines = error.lines();
    let last = lines.pop().unwrap_or_default();
    for line in lines {
        terminal::note(&format!("error: {}", escape_control(&line)));
    }
    Failure { exit: policy_exit(error), ..Failure::usage(last) }
}

/// Returns the exit code for a refused policy: a file that cannot be read is no mistake in it.
fn policy_exit(error: &PolicyError) -> Exit {
    match error {
        PolicyError::Unreadable { .. } => Exit::Error,
        PolicyError::Refused(_) => Exit::Usage,
    }
}

/// State that signals share with commands that do not end at once. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<Flags>);

#[derive(Debug, Default)]
struct Flags {
    writing: AtomicBool,
    ordered: AtomicBool,
    asked: AtomicBool,
    stopped: AtomicBool,
    signals: Notify,
}

/// Way in which a command ends after a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The command is ended at once.
    Now,
    /// The command waits for signals, and ends by itself without delay.
    Ordered,
    /// The command ends after the current step.
    AfterStep,
}

impl Interrupt {
    /// Marks that writing begins: from now on the first signal lets the current step end.
    fn begin(&self) {
        self.0.writing.store(true, Ordering::SeqCst);
    }

    /// Marks that writing has ended: a signal need not wait for anything.
    fn finish(&self) {
        self.0.writing.store(false, Ordering::SeqCst);
    }

    /// Whether a signal came, or the command ends without one.
    fn asked(&self) -> bool {
        self.0.asked.load(Ordering::SeqCst) || self.0.stopped.load(Ordering::SeqCst)
    }

    /// Marks that the command ends without a signal: nothing else is to begin. The first signal is still the first.
    fn stop(&self) {
        self.0.stopped.store(true, Ordering::SeqCst);
    }

    /// Marks that the command waits for [signals](Self::ordered) and ends by itself.
    fn order(&self) {
        self.0.ordered.store(true, Ordering::SeqCst);
    }

    /// Waits for a signal.
    async fn ordered(&self) {
        self.0.signals.notified().await;
    }

    /// Takes a signal, and returns how the command ends.
    pub fn signal(&self) -> Ending {
        let first = !self.0.asked.swap(true, Ordering::SeqCst);
        self.0.signals.notify_one();
        match first {
            true if self.0.writing.load(Ordering::SeqCst) => Ending::AfterStep,
            true if self.0.ordered.load(Ordering::SeqCst) => Ending::Ordered,
            _ => Ending::Now,
        }
    }
}
