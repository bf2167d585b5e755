//! Messages from the list and watch tasks to the task that owns the `Intake`.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::cluster::{Change, Gap, Reach};
use crate::dump::DumpError;
use crate::model::{Kind, Time};
use crate::objects::Reduced;
use crate::sources::intake::Intake;

/// What a list or watch task reports.
pub(super) enum Message {
    /// A change that is not about a decoded object.
    Change(Change),
    /// Objects of a list or of a watch. A list holds a permit until they are taken in.
    Objects(Reach, Vec<Reduced>, Option<OwnedSemaphorePermit>),
    /// An object within reach, of a list or of a watch, could not be decoded.
    Broken(Reach, String),
    /// A list has ended; with the server's clock when it began.
    Complete(Reach, Option<Time>),
    /// The server's clock, and when its answer arrived here.
    Date(Time, Instant),
}

impl Message {
    /// Whether this ends the list of all objects of a kind, successfully or not.
    pub(super) fn ends(&self, kind: Kind) -> bool {
        match self {
            Self::Complete(reach, _) => reach.kind == kind,
            Self::Change(Change::Lost(gap)) => gap.kind == kind,
            _ => false,
        }
    }

    /// Hands its contents to the intake.
    pub(super) fn take_in(self, intake: &mut Intake) -> Result<(), DumpError> {
        match self {
            Self::Change(change) => intake.apply(change),
            Self::Objects(reach, objects, permit) => {
                for object in objects {
                    intake.reduced(&reach, object, &String::new)?;
                }
                drop(permit);
            }
            Self::Broken(reach, reason) => intake.broke(reach, reason),
            Self::Complete(reach, date) => {
                intake.complete(reach);
                if let Some(date) = date {
                    intake.advance(date);
                }
            }
            Self::Date(date, _) => intake.advance(date),
        }
        Ok(())
    }
}

/// Sends messages to the owner of the intake.
///
/// What watches send never waits, so that the owner finds everything that has arrived. Lists, which
/// may be longer than memory, wait for permits.
#[derive(Clone)]
pub(super) struct Outbox {
    sender: mpsc::UnboundedSender<Message>,
    /// Whether the intake saves what it reads.
    saving: bool,
    permits: Arc<Semaphore>,
}

/// How many batches of lists may wait to be taken in: an owner that is slow slows the lists down.
const BATCHES: usize = 8;

impl Outbox {
    /// Opens the channel to an owner whose intake may be `saving` what it reads.
    pub(super) fn new(saving: bool) -> (Self, mpsc::UnboundedReceiver<Message>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self { sender, saving, permits: Arc::new(Semaphore::new(BATCHES)) }, receiver)
    }

    pub(super) fn saving(&self) -> bool {
        self.saving
    }

    /// Sends a message at once.
    pub(super) fn send(&self, message: Message) {
        // The receiver is dropped only when reading is given up.
        let _ = self.sender.send(message);
    }

    /// Reports that not everything within reach was read.
    pub(super) fn send_gap(&self, reach: &Reach, reason: String) {
        let Reach { kind, namespace } = reach.clone();
        self.send(Message::Change(Change::Lost(Gap { kind, namespace, reason })));
    }

    /// Sends a batch of a list as soon as there is a permit.
    pub(super) async fn send_batch(&self, reach: &Reach, batch: Vec<Reduced>) {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let permit = permit.expect("because this semaphore is never closed");
        self.send(Message::Objects(reach.clone(), batch, Some(permit)));
    }
}
