//! Writes to stdout and stderr, where a closed pipe is no error.

use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::sync::OnceLock;
use std::time::Duration;

use super::{Failure, line_queue::LineQueue};
use crate::model::escape_control;

/// Writes to stdout. A reader that went away is no error, and ends it.
///
/// # Errors
/// Whatever else writing failed with.
pub fn print<E: From<io::Error> + ClosedPipe>(
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    print_on(write).map(drop)
}

/// Writes to stdout, and returns whether anybody is still reading.
///
/// # Errors
/// Whatever else writing failed with.
pub fn print_on<E: From<io::Error> + ClosedPipe>(
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<bool, E> {
    let mut out = BufWriter::new(io::stdout().lock());
    let written = write(&mut out).and_then(|()| out.flush().map_err(E::from));
    if written.is_err() {
        // Whatever is still buffered would only fail again when dropped.
        let _ = out.into_parts();
    }
    match written {
        Err(error) if error.is_closed_pipe() => Ok(false),
        other => other.map(|()| true),
    }
}

/// Errors that may be a closed pipe.
pub trait ClosedPipe {
    /// Whether the reader went away.
    fn is_closed_pipe(&self) -> bool;
}

impl ClosedPipe for io::Error {
    fn is_closed_pipe(&self) -> bool {
        self.kind() == io::ErrorKind::BrokenPipe
    }
}

impl ClosedPipe for crate::output::jsonpath::RenderError {
    fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Io(error) if error.is_closed_pipe())
    }
}

/// The lines for stderr of a command that must not wait for whoever reads them.
static QUEUED: OnceLock<LineQueue> = OnceLock::new();

/// How long the end waits for whoever reads stderr.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Has a thread write to stderr from now on. What nobody reads in time is lost, and `tell_lost` tells
/// how many lines were.
///
/// # Errors
/// When no thread can be started.
pub fn queue_notes(tell_lost: fn(usize)) -> Result<(), Failure> {
    let queue = LineQueue::start(io::stderr(), tell_lost).map_err(Failure::error)?;
    // It is set once: by the command that runs.
    let _ = QUEUED.set(queue);
    Ok(())
}

/// Writes a line to stderr; where that is closed, nobody wants to know.
pub fn note(line: &str) {
    let _ = writeln!(Notes, "{line}");
}

/// Waits until what was noted is written, if somebody reads it.
pub fn settle_notes() {
    if let Some(queue) = QUEUED.get() {
        queue.settle(LAST_LINES);
    }
}

/// Writes to stderr as [`note`] does: each write is one line, or several.
#[derive(Debug, Clone, Copy)]
pub struct Notes;

impl Write for Notes {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.write_all(line).map(|()| line.len())
    }

    fn write_all(&mut self, line: &[u8]) -> io::Result<()> {
        match QUEUED.get() {
            None => io::stderr().lock().write_all(line),
            Some(queue) => {
                queue.push(line.to_vec());
                Ok(())
            }
        }
    }

    fn write_fmt(&mut self, line: std::fmt::Arguments<'_>) -> io::Result<()> {
        self.write_all(line.to_string().as_bytes())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Says what went wrong, in one line, and what to do next in another.
pub fn complain(failure: &Failure) {
    note(&format!("error: {}", escape_control(&message(failure))));
    if let Some(hint) = &failure.hint {
        note(&format!("hint: {}", escape_control(hint)));
    }
}

/// What went wrong, with its causes, in one line.
pub fn message(failure: &Failure) -> String {
    let mut message = String::new();
    for (depth, cause) in failure.error.chain().enumerate() {
        let text = cause.to_string();
        // Some libraries repeat their cause in their own message.
        if depth > 0 && message.ends_with(&text) {
            continue;
        }
        if depth > 0 {
            message.push_str(": ");
        }
        message.push_str(&text);
    }
    message
}

/// Whether stdout is a terminal.
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// The width of the terminal that stdout is, if it is one.
pub fn width() -> Option<u16> {
    if !is_terminal() {
        return None;
    }
    terminal_size::terminal_size().map(|(width, _)| width.0)
}

/// Whether stdout is a terminal that shows colours, and the user did not decline them
/// (<https://no-color.org>).
pub fn colour() -> bool {
    let declined = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let plain = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    is_terminal() && !declined && !plain
}
