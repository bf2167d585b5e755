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
    /// Objects of a list or of a watch.
    Objects(Reach, Vec<Reduced>),
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
            Self::Objects(reach, objects) => {
                for object in objects {
                    intake.reduced(&reach, object, &String::new)?;
                }
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

/// A message on its way to the owner of the intake.
pub(super) struct Delivery {
    pub(super) message: Message,
    /// The place that it takes until it is taken in.
    place: Option<OwnedSemaphorePermit>,
}

impl Delivery {
    /// Hands its contents to the intake, and makes room for another.
    pub(super) fn take_in(self, intake: &mut Intake) -> Result<(), DumpError> {
        self.message.take_in(intake)?;
        drop(self.place);
        Ok(())
    }
}

/// Sends messages to the owner of the intake.
///
/// Lists, which may be longer than memory, wait for places. Watches have so many places that the
/// owner finds everything that has arrived; only an owner that takes in nothing for very long, such
/// as one whose output nobody reads, makes them wait too.
#[derive(Clone)]
pub(super) struct Outbox {
    sender: mpsc::UnboundedSender<Delivery>,
    /// Whether the intake saves what it reads.
    saving: bool,
    batches: Arc<Semaphore>,
    events: Arc<Semaphore>,
}

/// How many batches of lists may wait to be taken in: an owner that is slow slows the lists down.
const BATCHES: usize = 8;
/// How many events of watches may wait to be taken in.
const EVENTS: usize = 1 << 16;

impl Outbox {
    /// Opens the channel to an owner whose intake may be `saving` what it reads.
    pub(super) fn new(saving: bool) -> (Self, mpsc::UnboundedReceiver<Delivery>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let batches = Arc::new(Semaphore::new(BATCHES));
        let events = Arc::new(Semaphore::new(EVENTS));
        (Self { sender, saving, batches, events }, receiver)
    }

    pub(super) fn saving(&self) -> bool {
        self.saving
    }

    /// Sends a message at once.
    pub(super) fn send(&self, message: Message) {
        self.deliver(message, None);
    }

    /// Reports that not everything within reach was read.
    pub(super) fn send_gap(&self, reach: &Reach, reason: String) {
        let Reach { kind, namespace } = reach.clone();
        self.send(Message::Change(Change::Lost(Gap { kind, namespace, reason })));
    }

    /// Sends a batch of a list as soon as there is a place.
    pub(super) async fn send_batch(&self, reach: &Reach, batch: Vec<Reduced>) {
        let place = place(&self.batches).await;
        self.deliver(Message::Objects(reach.clone(), batch), Some(place));
    }

    /// Sends what a watch reports as soon as there is a place.
    pub(super) async fn send_event(&self, message: Message) {
        let place = place(&self.events).await;
        self.deliver(message, Some(place));
    }

    fn deliver(&self, message: Message, place: Option<OwnedSemaphorePermit>) {
        // The receiver is dropped only when reading is given up.
        let _ = self.sender.send(Delivery { message, place });
    }
}

async fn place(places: &Arc<Semaphore>) -> OwnedSemaphorePermit {
    let place = Arc::clone(places).acquire_owned().await;
    place.expect("because this semaphore is never closed")
}
