//! What the tasks that list and watch tell the owner of the cluster, and the way it takes.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::cluster::{Change, Gap, Reach};
use crate::dump::DumpError;
use crate::model::{Kind, ObjectKey, Text, Time};
use crate::objects::{AnyObject, Reduced};
use crate::sources::intake::Intake;

/// What a task tells.
pub(super) enum Message {
    Change(Change),
    /// Some of what a list holds, and the room that they take.
    Objects(Reach, Vec<Reduced>, OwnedSemaphorePermit),
    /// Something within reach that a list or a watch told of could not be decoded.
    Broken(Reach, String),
    /// A list has ended; the server's clock when it began.
    Complete(Reach, Option<Time>),
    /// An object as a watch tells of it.
    Seen(Reach, Box<dyn AnyObject>),
    /// An object that a watch says is gone: its namespace and name.
    Gone(Reach, String, String),
    /// The server's clock, and when it was told.
    Date(Time, Instant),
}

impl Message {
    /// Whether the list of all objects of a kind ends with this, well or not.
    pub(super) fn ends(&self, kind: Kind) -> bool {
        match self {
            Self::Complete(reach, _) => reach.kind == kind,
            Self::Change(Change::Lost(gap)) => gap.kind == kind,
            _ => false,
        }
    }

    /// Takes in what it tells. Of the times of several answers the latest counts.
    pub(super) fn take_in(self, intake: &mut Intake) -> Result<(), DumpError> {
        match self {
            Self::Change(change) => intake.apply(change),
            Self::Objects(reach, batch, room) => {
                batch.into_iter().try_for_each(|it| intake.reduced_within(&reach, it))?;
                drop(room);
            }
            Self::Broken(reach, reason) => intake.broke(reach, reason),
            Self::Complete(reach, date) => {
                intake.complete(reach);
                advance(intake, date);
            }
            Self::Seen(reach, object) => intake.watched(&reach, &*object),
            Self::Gone(reach, namespace, name) => {
                let namespace = reach.kind.is_namespaced().then(|| Text::from(namespace));
                let key = ObjectKey { kind: reach.kind, namespace, name: name.into() };
                intake.apply(Change::Gone(key));
            }
            Self::Date(date, _) => advance(intake, Some(date)),
        }
        Ok(())
    }
}

fn advance(intake: &mut Intake, date: Option<Time>) {
    if let Some(date) = intake.cluster.clock().max(date) {
        intake.apply(Change::Clock(date));
    }
}

/// The way to the owner.
///
/// What watches tell is never held up, so that everything that has arrived is there when the owner
/// looks; lists, which may be longer than memory, wait for room.
#[derive(Clone)]
pub(super) struct Outbox {
    sender: mpsc::UnboundedSender<Message>,
    /// Whether the owner saves what it is told.
    saving: bool,
    room: Arc<Semaphore>,
}

/// Batches on their way: a slow reader of messages slows the lists down.
const ROOM: usize = 8;

impl Outbox {
    /// Opens a way to an owner, who may be `saving` what is told.
    pub(super) fn new(saving: bool) -> (Self, mpsc::UnboundedReceiver<Message>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self { sender, saving, room: Arc::new(Semaphore::new(ROOM)) }, receiver)
    }

    pub(super) fn saving(&self) -> bool {
        self.saving
    }

    pub(super) fn tell(&self, message: Message) {
        // Nobody listens only when reading was given up.
        let _ = self.sender.send(message);
    }

    pub(super) fn lose(&self, reach: &Reach, reason: String) {
        let Reach { kind, namespace } = reach.clone();
        self.tell(Message::Change(Change::Lost(Gap { kind, namespace, reason })));
    }

    pub(super) async fn tell_objects(&self, reach: &Reach, batch: Vec<Reduced>) {
        let room = Arc::clone(&self.room).acquire_owned().await;
        let room = room.expect("because this semaphore is never closed");
        self.tell(Message::Objects(reach.clone(), batch, room));
    }
}
