//! Stdout and stderr: a closed pipe is no error, and threads write what goes on, so that a reader who stops reading
//! holds up nothing else.

use std::{
    collections::VecDeque,
    io::{self, BufWriter, IsTerminal as _, Write},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, ThreadId},
    time::Duration,
};

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::{sync::Notify, time::timeout};

use super::Failure;
use crate::{
    model::{escape_control, in_own_name},
    output::{
        event_stream::{EventBacklog, EventStream},
        jsonpath::RenderError,
        wire::FindingEvent,
    },
};

/// Writes to stdout; where its reader has gone away, that is no error, and ends the writing.
///
/// # Errors
/// Whatever else writing failed with.
pub fn print<E: From<io::Error> + ClosedPipe>(
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    print_on(write).map(drop)
}

/// Writes to stdout, and returns whether it is still read.
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

/// Error that may be a closed pipe.
pub trait ClosedPipe {
    /// Whether the reader of the pipe went away.
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

/// Queue of lines for stderr, of a command that must not wait for their reader.
static QUEUED: OnceLock<LineQueue> = OnceLock::new();

/// Longest wait for the reader of stderr at the end.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Starts a thread that writes notes to stderr from now on. Lines that are not read in time are lost, and `tell_lost`
/// tells how many.
///
/// # Errors
/// When no thread can be started.
pub fn queue_notes(tell_lost: fn(usize)) -> Result<(), Failure> {
    let queue = LineQueue::start(io::stderr(), tell_lost).map_err(Failure::error)?;
    // It is set once: by the command that runs.
    let _ = QUEUED.set(queue);
    Ok(())
}

/// Writes a line to stderr, with the name under which the program was called; that it is closed is no error.
pub fn note(line: &str) {
    let _ = writeln!(Notes, "{line}");
}

/// Writes contents of objects to stderr as they are.
pub fn note_contents(text: &str) {
    let _ = write_note(format!("{text}\n").into_bytes());
}

fn write_note(line: Vec<u8>) -> io::Result<()> {
    match QUEUED.get() {
        None => io::stderr().lock().write_all(&line),
        Some(queue) => {
            queue.push(line);
            Ok(())
        }
    }
}

/// Waits until all notes are written, if they are read.
pub fn settle_notes() {
    if let Some(queue) = QUEUED.get() {
        queue.settle(LAST_LINES);
    }
}

/// Writer to stderr as by [`note`]: each write is one line, or several. No name has a character that JSON escapes.
#[derive(Debug, Clone, Copy)]
pub struct Notes;

impl Write for Notes {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.write_all(line).map(|()| line.len())
    }

    fn write_all(&mut self, line: &[u8]) -> io::Result<()> {
        match std::str::from_utf8(line) {
            Ok(text) => write_note(in_own_name(text).into_owned().into_bytes()),
            Err(_) => write_note(line.to_vec()),
        }
    }

    fn write_fmt(&mut self, line: std::fmt::Arguments<'_>) -> io::Result<()> {
        self.write_all(line.to_string().as_bytes())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Prints a failure in one line, and its hint in another.
pub fn complain(failure: &Failure) {
    note(&format!("error: {}", escape_control(&message(failure))));
    if let Some(hint) = &failure.hint {
        note(&format!("hint: {}", escape_control(hint)));
    }
}

/// Returns the message of a failure, with its causes, in one line.
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

/// Whether -v was given.
static IS_VERBOSE: AtomicBool = AtomicBool::new(false);

/// Makes notes be told in full from now on.
pub fn speak_in_full() {
    IS_VERBOSE.store(true, Ordering::Relaxed);
}

/// Whether notes are told in full.
pub fn is_verbose() -> bool {
    IS_VERBOSE.load(Ordering::Relaxed)
}

/// Whether stdout is a terminal.
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// When colours are printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// At a terminal that shows them, unless `NO_COLOR` is set
    #[default]
    Auto,
    /// Also where stdout is no terminal
    Always,
    /// Never
    Never,
}

/// Choice of colours by `--color`.
static COLOURS: OnceLock<ColorChoice> = OnceLock::new();

/// Sets when colours are printed, for as long as the command runs.
pub fn choose_colours(choice: ColorChoice) {
    // It is set once: by the command that runs.
    let _ = COLOURS.set(choice);
}

fn colours() -> ColorChoice {
    COLOURS.get().copied().unwrap_or_default()
}

/// Returns the width of stdout, if that is a terminal. With `--color always` a pipe is to show what a terminal shows:
/// there, `COLUMNS` tells the width.
pub fn width() -> Option<u16> {
    if !is_terminal() {
        let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
        return (colours() == ColorChoice::Always).then(|| columns().unwrap_or(COLUMNS));
    }
    terminal_size::terminal_size().map(|(width, _)| width.0)
}

/// Width where there is no terminal to ask.
const COLUMNS: u16 = 80;

/// Returns a bar that shows itself by this template, and that it lives.
pub fn ticking(bar: ProgressBar, template: &str) -> ProgressBar {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// Whether colours are printed on stdout: as `--color` says, else where it is a terminal that shows them, and the user
/// did not decline them (<https://no-color.org>).
pub fn colour() -> bool {
    shows_colours(is_terminal())
}

/// Whether colours are printed on stderr, where summaries, plans and questions stand.
pub fn colour_of_notes() -> bool {
    shows_colours(io::stderr().is_terminal())
}

fn shows_colours(is_terminal: bool) -> bool {
    match colours() {
        ColorChoice::Always => return true,
        ColorChoice::Never => return false,
        ColorChoice::Auto => {}
    }
    if !is_terminal {
        return false;
    }
    let declined = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    // Consoles of Windows show colours once they are asked to, and set no `TERM`; nothing else is asked.
    let enabled = anstyle_query::windows::enable_ansi_colors() == Some(true);
    let term = std::env::var_os("TERM").filter(|term| !term.is_empty());
    !declined && term.map_or(enabled, |term| term != "dumb")
}

/// Number of waiting bytes from which on there is no room for another line. One line has room however long it is.
const MOST: usize = 1 << 20;

/// Queue of lines that wait to be written. Adding a line never waits: what has no room is lost, and how many lines were
/// is told in their place. Clones share the queue.
#[derive(Debug, Clone)]
pub(super) struct LineQueue(Arc<SharedLines>);

#[derive(Debug, Default)]
struct SharedLines {
    lines: Mutex<WaitingLines>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct WaitingLines {
    lines: VecDeque<WaitingLine>,
    /// Number of bytes in lines that are not written yet.
    bytes: usize,
    /// Whether the thread holds a line that is not written.
    is_writing: bool,
    /// Thread that writes. Its own lines always have room, and are written next.
    writer: Option<ThreadId>,
    own: Vec<Vec<u8>>,
}

#[derive(Debug)]
enum WaitingLine {
    Line(Vec<u8>),
    /// Number of lines that had no room here.
    Lost(usize),
}

impl LineQueue {
    /// Starts a thread that writes lines. It calls `tell_lost`, which may add lines.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(super) fn start(
        into: impl Write + Send + 'static,
        tell_lost: impl Fn(usize) + Send + 'static,
    ) -> io::Result<Self> {
        let queue = Self(Arc::default());
        let writing = queue.clone();
        thread::Builder::new()
            .name("stderr".to_owned())
            .spawn(move || writing.write_all(into, tell_lost))?;
        Ok(queue)
    }

    /// Adds a line, with its line end.
    pub(super) fn push(&self, line: Vec<u8>) {
        let mut waiting = self.waiting();
        if waiting.writer == Some(thread::current().id()) {
            return waiting.own.push(line);
        }
        if waiting.bytes < MOST {
            waiting.bytes += line.len();
            waiting.lines.push_back(WaitingLine::Line(line));
        } else if let Some(WaitingLine::Lost(lost)) = waiting.lines.back_mut() {
            *lost += 1;
        } else {
            waiting.lines.push_back(WaitingLine::Lost(1));
        }
        drop(waiting);
        self.0.changed.notify_all();
    }

    /// Waits for this time until everything is written. Returns whether it is.
    pub(super) fn settle(&self, patience: Duration) -> bool {
        let is_busy = |it: &mut WaitingLines| it.is_writing || !it.lines.is_empty();
        let waited = self.0.changed.wait_timeout_while(self.waiting(), patience, is_busy);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    fn write_all(&self, mut into: impl Write, tell_lost: impl Fn(usize)) {
        self.waiting().writer = Some(thread::current().id());
        loop {
            let waited = self.0.changed.wait_while(self.waiting(), |it| it.lines.is_empty());
            let mut waiting = waited.unwrap_or_else(PoisonError::into_inner);
            let Some(next) = waiting.lines.pop_front() else { continue };
            waiting.is_writing = true;
            drop(waiting);
            let (lines, room) = match next {
                WaitingLine::Line(line) => {
                    let room = line.len();
                    (vec![line], room)
                }
                WaitingLine::Lost(lost) => {
                    tell_lost(lost);
                    (std::mem::take(&mut self.waiting().own), 0)
                }
            };
            for line in lines {
                // That it is closed is no error.
                let _ = into.write_all(&line);
            }
            let _ = into.flush();
            let mut waiting = self.waiting();
            waiting.bytes -= room;
            waiting.is_writing = false;
            drop(waiting);
            self.0.changed.notify_all();
        }
    }

    fn waiting(&self) -> MutexGuard<'_, WaitingLines> {
        self.0.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Longest wait for a reader before something else is said, or before the end.
const PATIENCE: Duration = Duration::from_secs(1);
/// Longest wait for a reader before an end that is about the lines which wait.
const LAST_FINDINGS: Duration = Duration::from_secs(5);

/// Printer of events on stdout, as fast as they are read. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct EventPrinter(Arc<Printing>);

#[derive(Debug, Default)]
struct Printing {
    waiting: Mutex<WaitingEvents>,
    arrived: Condvar,
    /// Notified whenever everything is printed, and when it ends.
    printed: Notify,
}

#[derive(Debug, Default)]
struct WaitingEvents {
    backlog: EventBacklog,
    is_printing: bool,
    end: Option<PrinterEnd>,
}

/// Reason why printing ended.
#[derive(Debug)]
enum PrinterEnd {
    /// Stdout is not read any more.
    Closed,
    /// A template does not fit an event, or writing failed. `None` once it was told.
    Failed(Option<RenderError>),
}

impl EventPrinter {
    /// Starts a thread that prints on a stream.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(super) fn start(stream: EventStream) -> io::Result<Self> {
        let printer = Self(Arc::default());
        let printing = printer.clone();
        thread::Builder::new()
            .name("stdout".to_owned())
            .spawn(move || printing.print_all(stream))?;
        Ok(printer)
    }

    /// Adds events. They are printed when those before them were read.
    pub(super) fn push(&self, events: Vec<FindingEvent>) {
        let mut waiting = self.waiting();
        for event in events {
            waiting.backlog.push(event);
        }
        drop(waiting);
        self.0.arrived.notify_one();
    }

    /// Waits until everything is printed, or stdout is not read any more.
    pub(super) async fn flush(&self) {
        loop {
            let printed = self.0.printed.notified();
            if self.waiting().is_settled() {
                return;
            }
            printed.await;
        }
    }

    /// Waits a moment until everything is printed, if it is read now.
    pub(super) async fn settle(&self) {
        let _ = timeout(PATIENCE, self.flush()).await;
    }

    /// Waits longer until everything is printed, if it is still read: before an end that the user did not order.
    pub(super) async fn finish(&self) {
        let _ = timeout(LAST_FINDINGS, self.flush()).await;
    }

    /// Waits until stdout is not read any more.
    ///
    /// # Errors
    /// When printing failed.
    pub(super) async fn ended(&self) -> Result<(), RenderError> {
        loop {
            let printed = self.0.printed.notified();
            match &mut self.waiting().end {
                None => {}
                Some(PrinterEnd::Failed(error)) => return error.take().map_or(Ok(()), Err),
                Some(PrinterEnd::Closed) => return Ok(()),
            }
            printed.await;
        }
    }

    fn print_all(&self, mut stream: EventStream) {
        loop {
            let is_idle = |it: &mut WaitingEvents| it.backlog.is_empty();
            let waited = self.0.arrived.wait_while(self.waiting(), is_idle);
            let mut waiting = waited.unwrap_or_else(PoisonError::into_inner);
            waiting.is_printing = true;
            let events = waiting.backlog.take();
            drop(waiting);
            let printed = print_on(|out| stream.print(out, events));
            let mut waiting = self.waiting();
            waiting.is_printing = false;
            waiting.end = match printed {
                Ok(true) => None,
                Ok(false) => Some(PrinterEnd::Closed),
                Err(error) => Some(PrinterEnd::Failed(Some(error))),
            };
            let is_over = waiting.end.is_some();
            drop(waiting);
            self.0.printed.notify_waiters();
            if is_over {
                return;
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, WaitingEvents> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WaitingEvents {
    fn is_settled(&self) -> bool {
        self.end.is_some() || (self.backlog.is_empty() && !self.is_printing)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead as _, BufReader},
        sync::OnceLock,
    };

    use super::*;

    /// A queue that writes into a pipe, and says `N lost` there.
    fn piped() -> (LineQueue, io::PipeReader) {
        let (reader, writer) = io::pipe().expect("because there is room for a pipe");
        let own: Arc<OnceLock<LineQueue>> = Arc::default();
        let to = Arc::clone(&own);
        let tell = move |lost: usize| {
            let queue = to.get().expect("because it is set before a line is added");
            queue.push(format!("{lost} lost\n").into_bytes());
        };
        let queue = LineQueue::start(writer, tell).expect("because threads can be started");
        own.set(queue.clone()).expect("because it is set once");
        (queue, reader)
    }

    #[test]
    fn lines_come_in_order() {
        let (queue, reader) = piped();
        for number in 0..100 {
            queue.push(format!("{number}\n").into_bytes());
        }
        assert!(queue.settle(Duration::from_secs(60)));
        let read: Vec<_> = BufReader::new(reader).lines().take(100).map_while(Result::ok).collect();
        assert_eq!(read, (0..100).map(|it| it.to_string()).collect::<Vec<_>>());
    }

    #[test]
    fn a_pipe_that_nobody_reads_holds_up_nobody_and_what_is_lost_is_told() {
        let (queue, reader) = piped();
        let line = |number: usize| format!("{number:0>1023}\n").into_bytes();
        // Far more than a pipe and the queue hold together.
        let all = 4 * (MOST >> 10);
        for number in 0..all {
            queue.push(line(number));
        }
        assert!(!queue.settle(Duration::from_millis(1)));
        let (mut read, mut lost) = (0, 0);
        for text in BufReader::new(reader).lines().map_while(Result::ok) {
            if let Some(count) = text.strip_suffix(" lost") {
                lost += count.parse::<usize>().expect("because it is a number");
            } else {
                assert_eq!(text.parse(), Ok(read + lost), "in order, and so is what was lost");
                read += 1;
                if read == MOST >> 11 {
                    // There is room again, before it is told that there was none.
                    queue.push(line(all));
                }
            }
            if read + lost == all + 1 {
                break;
            }
        }
        assert!(read > MOST >> 10 && lost > 0, "{read} read, {lost} lost");
        // It goes on as if nothing had been.
        assert!(queue.settle(Duration::from_secs(60)));
    }

    #[test]
    fn a_line_is_not_lost_because_it_is_long() {
        let (queue, reader) = piped();
        let mut long = vec![b'a'; 2 * MOST];
        long.push(b'\n');
        queue.push(long);
        // There is no room any more until it is written.
        queue.push(b"no room\n".to_vec());
        let mut lines = BufReader::new(reader).lines().map_while(Result::ok);
        assert_eq!(lines.next().map(|it| it.len()), Some(2 * MOST));
        assert_eq!(lines.next().as_deref(), Some("1 lost"));
        assert!(queue.settle(Duration::from_secs(60)));
        queue.push(b"room\n".to_vec());
        assert_eq!(lines.next().as_deref(), Some("room"));
    }
}
