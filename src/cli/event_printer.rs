//! `EventPrinter`: prints what becomes of findings in a thread of its own, so that whoever does not
//! read stdout holds up nothing else.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

use super::terminal;
use crate::output::{
    event_backlog::EventBacklog, event_stream::EventStream, jsonpath::RenderError,
    wire::FindingEvent,
};

/// How long to wait for a reader before something else is said, or before the end.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long to wait for a reader where what waits is what the end is about.
const LAST_FINDINGS: Duration = Duration::from_secs(5);

/// Prints events on stdout, as fast as somebody reads them. Clones share it.
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

/// How printing ended.
#[derive(Debug)]
enum PrinterEnd {
    /// Nobody reads any more.
    Closed,
    /// A template does not fit an event, or writing failed. `None` once it was told.
    Failed(Option<RenderError>),
}

impl EventPrinter {
    /// Begins to print on a stream.
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

    /// Waits until everything is printed, or nobody reads any more.
    pub(super) async fn flush(&self) {
        loop {
            let printed = self.0.printed.notified();
            if self.waiting().is_settled() {
                return;
            }
            printed.await;
        }
    }

    /// Waits until everything is printed, if somebody reads it now.
    pub(super) async fn settle(&self) {
        let _ = timeout(PATIENCE, self.flush()).await;
    }

    /// Waits until everything is printed, if somebody still reads: before an end that nobody ordered.
    pub(super) async fn finish(&self) {
        let _ = timeout(LAST_FINDINGS, self.flush()).await;
    }

    /// Waits until nobody reads any more.
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
            let printed = terminal::print_on(|out| stream.print(out, events));
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
