//! Whether anything may be changed now: this process leads, nobody has paused it, and nobody has ended it.

use std::convert::Infallible;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

use crate::apply::RecordWriter;
use crate::cli::writing::Interrupt;
use crate::client::Connection;
use crate::watch::{
    Leadership,
    pause::{PAUSE, Pause},
};

/// How often it is read whether somebody has paused it.
const LOOK: Duration = Duration::from_secs(3);
/// How long one answer about that may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether anything may be changed now.
#[derive(Clone)]
pub(in crate::cli) struct Permit {
    /// Whether this process leads.
    pub(in crate::cli) leadership: Leadership,
    /// Whether somebody has paused it; `None` where nobody can, as at a terminal.
    pub(in crate::cli) pause: Option<watch::Receiver<Pause>>,
    /// Whether somebody has ended it.
    pub(in crate::cli) interrupt: Interrupt,
}

impl Permit {
    /// Whether it leads.
    pub(super) fn leads(&self) -> bool {
        self.leadership.leads()
    }

    /// Whether a change may begin now.
    pub(super) fn allows(&self) -> bool {
        let paused = self.pause.as_ref().is_some_and(|it| !it.borrow().may_act());
        self.leads() && !paused && !self.interrupt.asked()
    }
}

/// Whether changes are being made. Clones share it.
#[derive(Clone)]
pub(in crate::cli) struct Busy(watch::Sender<bool>);

impl Default for Busy {
    fn default() -> Self {
        Self(watch::channel(false).0)
    }
}

/// Changes are being made until this is dropped.
pub(super) struct Making<'a>(&'a Busy);

impl Drop for Making<'_> {
    fn drop(&mut self) {
        self.0.0.send_replace(false);
    }
}

impl Busy {
    /// Says that changes are being made.
    pub(super) fn begin(&self) -> Making<'_> {
        self.0.send_replace(true);
        Making(self)
    }

    /// Whether changes are being made.
    pub(in crate::cli) fn is_busy(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until none are.
    pub(in crate::cli) async fn wait(&self) {
        let _ = self.0.subscribe().wait_for(|it| !it).await;
    }
}

/// Follows the record by which everybody can pause what acts.
pub(in crate::cli) struct PauseFollower {
    record: RecordWriter,
    tell: watch::Sender<Pause>,
}

impl PauseFollower {
    /// Begins with doubt: paused.
    pub(in crate::cli) fn new(
        connection: &Connection,
        namespace: &str,
    ) -> (Self, watch::Receiver<Pause>) {
        let (tell, pause) = watch::channel(Pause::of(Err("not read yet".to_owned())));
        let record = RecordWriter::new(connection, "kubectl-storage", (namespace, PAUSE));
        (Self { record, tell }, pause)
    }

    /// Goes on to.
    pub(in crate::cli) async fn follow(self) -> Infallible {
        loop {
            let pause = is_paused(&self.record).await;
            self.tell.send_if_modified(|known| {
                let is_new = *known != pause;
                *known = pause;
                is_new
            });
            sleep(LOOK).await;
        }
    }
}

/// Reads the record. What is not answered in time may have changed.
pub(in crate::cli) async fn is_paused(record: &RecordWriter) -> Pause {
    let read = tokio::time::timeout(PATIENCE, record.read()).await;
    Pause::of(match &read {
        Ok(Ok(stored)) => Ok(stored.as_ref()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("not answered within {} s", PATIENCE.as_secs())),
    })
}
