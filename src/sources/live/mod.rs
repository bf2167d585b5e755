//! Lists and watches of a cluster: one list for each kind, in parallel, and watches that keep what
//! was listed current.
//!
//! Claims, nodes and classes are listed after the volumes that reference them, so that what is not
//! in their list does not exist, and need not be asked for one by one.
//!
//! - here: [`read`] and [`read_and_watch`], which own the intake; the messages that its tasks send;
//!   [`list_again`], which reads a list once more before a write; why something was not read.
//! - `kind_lister`: one task for each kind; versions, namespaces, order, requests.
//! - `watches`: the owner's side of all watches, by kind, and how they are doing; `reach_watch`: one
//!   watch task.

mod kind_lister;
mod reach_watch;
mod watches;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinSet;

pub use self::reach_watch::{EVENTS, WatchHealth};
pub use self::watches::{Return, Watches};

use self::kind_lister::KindLister;
use self::watches::FollowedKind;
use super::intake::Intake;
use crate::client::{Discovery, ListEvent, ListRequest, ReadError, Reader, ServerVersion};
use crate::cluster::{Change, Gap, Reach};
use crate::dump::DumpError;
use crate::model::{Kind, Server, Time};
use crate::objects::{AnyObject, Folder, Reduced};
use crate::{client, objects};

/// Options of reading a cluster.
#[derive(Debug, Clone, Default)]
pub struct LiveOptions {
    /// The kinds to list.
    pub kinds: Vec<Kind>,
    /// `--chunk-size`: items per page, zero for no pages; `None` lets the server's version decide.
    pub chunk_size: Option<u32>,
    /// The only namespaces that are listed where neither the cluster nor its namespaces may be.
    pub namespaces: Vec<String>,
    /// The server's URL, for the report.
    pub server: String,
}

/// Reason for which a cluster could not be read at all.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The server cannot be reached, or refuses access.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// What was read cannot be saved.
    #[error(transparent)]
    Save(#[from] DumpError),
}

/// The first version that sends a list while it encodes it, instead of buffering it whole.
const STREAMING_LISTS: (u32, u32) = (1, 33);

/// Reads everything that `options` ask for into `intake`, and calls `progress` after every batch.
///
/// # Errors
/// Only when nothing can be read at all. Whatever else cannot be read becomes a gap.
pub async fn read(
    reader: &Reader,
    options: &LiveOptions,
    intake: &mut Intake,
    progress: &mut dyn FnMut(&Intake),
) -> Result<(), LiveError> {
    list_kinds(reader, options, intake, progress).await.map(drop)
}

/// Reads as [`read`] does, and then watches: what was listed whole is kept current until the
/// watches are dropped. A gap is not watched; whether it remains is what `returns` says.
///
/// # Errors
/// Only when nothing can be read at all.
pub async fn read_and_watch(
    reader: &Reader,
    options: &LiveOptions,
    intake: &mut Intake,
    returns: Return,
    progress: &mut dyn FnMut(&Intake),
) -> Result<Watches, LiveError> {
    let kinds = list_kinds(reader, options, intake, progress).await?;
    Ok(Watches::start(kinds, returns, reader, intake))
}

/// Lists every kind, and returns each with the watches of what was listed whole, not started yet.
async fn list_kinds(
    reader: &Reader,
    options: &LiveOptions,
    intake: &mut Intake,
    progress: &mut dyn FnMut(&Intake),
) -> Result<Vec<FollowedKind>, LiveError> {
    let version = read_version(reader, intake).await?;
    let streams = version.as_ref().is_none_or(|it| (it.major, it.minor) >= STREAMING_LISTS);
    let page = match options.chunk_size {
        Some(size) => Some(size).filter(|size| *size > 0),
        None => (!streams).then_some(client::FALLBACK_PAGE),
    };
    let (outbox, mut receiver) = Outbox::new(intake.is_saving());
    let without_volumes = !options.kinds.contains(&Kind::PersistentVolume);
    let (volumes_listed, receives_listed) = watch::channel(without_volumes);
    let lister =
        Arc::new(KindLister::new(reader, page, &options.namespaces, outbox, receives_listed));
    // Dropped with this future, so that no list goes on that is not taken in.
    let mut lists = JoinSet::new();
    for kind in options.kinds.iter().copied().filter(|kind| kind.is_listed()) {
        let (lister, namespaces) = (Arc::clone(&lister), options.namespaces.clone());
        lists.spawn(async move {
            FollowedKind { kind, listed: lister.list_kind(kind).await, page, namespaces }
        });
    }
    let identity = {
        let reader = reader.clone();
        tokio::spawn(async move { client::cluster_uid(&reader).await })
    };
    drop(lister);
    while let Some(delivery) = receiver.recv().await {
        let ends_volumes = delivery.message.ends(Kind::PersistentVolume);
        delivery.take_in(intake)?;
        if ends_volumes {
            volumes_listed.send_replace(true);
        }
        progress(intake);
    }
    let mut kinds = Vec::new();
    while let Some(kind) = lists.join_next().await {
        kinds.extend(kind);
    }
    let cluster_uid = match identity.await {
        Ok(Ok(uid)) => uid.map(Into::into),
        Ok(Err(_)) | Err(_) => None,
    };
    intake.apply(Change::Server(server(&options.server, version, cluster_uid)));
    Ok(kinds)
}

/// Reads the identity and the clock of a cluster, and no objects.
///
/// # Errors
/// When the server cannot be reached, or refuses access.
pub async fn identify(reader: &Reader, url: &str, intake: &mut Intake) -> Result<(), LiveError> {
    let version = read_version(reader, intake).await?;
    let uid = client::cluster_uid(reader).await?;
    intake.apply(Change::Server(server(url, version, uid.map(Into::into))));
    Ok(())
}

async fn read_version(
    reader: &Reader,
    intake: &mut Intake,
) -> Result<Option<ServerVersion>, LiveError> {
    match client::version(reader).await {
        Ok(answer) => {
            if let Some(date) = answer.date {
                intake.advance(date);
            }
            Ok(Some(answer.value))
        }
        // Some servers hide their version. Any other error would also end every list.
        Err(error) if error.is_forbidden() || error.is_not_served() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn server(url: &str, version: Option<ServerVersion>, cluster_uid: Option<Box<str>>) -> Server {
    Server {
        cluster_uid,
        url: Some(url.into()),
        git_version: version.as_ref().map(|version| version.git.as_str().into()),
        version: version.map(|version| (version.major, version.minor)),
        allowed: None,
    }
}

/// Message of a list or watch task.
enum Message {
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
    fn ends(&self, kind: Kind) -> bool {
        match self {
            Self::Complete(reach, _) => reach.kind == kind,
            Self::Change(Change::Lost(gap)) => gap.kind == kind,
            _ => false,
        }
    }

    /// Hands the contents of the message to the intake.
    fn take_in(self, intake: &mut Intake) -> Result<(), DumpError> {
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
struct Delivery {
    message: Message,
    /// The place that the message takes until it is taken in.
    place: Option<OwnedSemaphorePermit>,
}

impl Delivery {
    /// Hands the contents of the message to the intake, and makes room for another.
    fn take_in(self, intake: &mut Intake) -> Result<(), DumpError> {
        self.message.take_in(intake)?;
        drop(self.place);
        Ok(())
    }
}

/// Sender of messages to the owner of the intake.
///
/// Lists, which may be longer than memory, wait for places. Watches have so many places that the
/// owner finds everything that has arrived; only an owner that takes in nothing for very long, such
/// as one whose output is not read, makes them wait too.
#[derive(Clone)]
struct Outbox {
    sender: mpsc::UnboundedSender<Delivery>,
    /// Whether the intake saves what it reads.
    saving: bool,
    batches: Arc<Semaphore>,
    events: Arc<Semaphore>,
}

/// Number of batches of lists that may wait to be taken in: an owner that is slow slows the lists down.
const BATCHES: usize = 8;
/// Number of events of watches that may wait to be taken in.
const WAITING_EVENTS: usize = 1 << 16;

impl Outbox {
    /// Opens the channel to an owner whose intake may be `saving` what it reads.
    fn new(saving: bool) -> (Self, mpsc::UnboundedReceiver<Delivery>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let batches = Arc::new(Semaphore::new(BATCHES));
        let events = Arc::new(Semaphore::new(WAITING_EVENTS));
        (Self { sender, saving, batches, events }, receiver)
    }

    fn saving(&self) -> bool {
        self.saving
    }

    /// Sends a message at once.
    fn send(&self, message: Message) {
        self.deliver(message, None);
    }

    /// Reports that not everything within reach was read.
    fn send_gap(&self, reach: &Reach, reason: String) {
        let Reach { kind, namespace } = reach.clone();
        self.send(Message::Change(Change::Lost(Gap { kind, namespace, reason })));
    }

    /// Sends a batch of a list as soon as there is a place.
    async fn send_batch(&self, reach: &Reach, batch: Vec<Reduced>) {
        let place = place(&self.batches).await;
        self.deliver(Message::Objects(reach.clone(), batch), Some(place));
    }

    /// Sends the message of a watch as soon as there is a place.
    async fn send_event(&self, message: Message) {
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

/// Objects that were listed just now.
///
/// They add to what is known, and complete nothing: deletions come from the watches, which also
/// decide whether everything was seen.
pub struct FreshList(Vec<Message>);

impl FreshList {
    /// Hands what was listed to the intake.
    ///
    /// # Errors
    /// When it cannot be saved.
    pub fn take_in(self, intake: &mut Intake) -> Result<(), DumpError> {
        self.0.into_iter().try_for_each(|message| message.take_in(intake))
    }
}

/// Lists everything within reach, past every cache of the API server, in this version of its kind.
///
/// # Errors
/// When it cannot be listed. A kind that is not served has no objects.
pub async fn list_again(
    reader: &Reader,
    reach: &Reach,
    version: &str,
) -> Result<FreshList, ReadError> {
    let kind = reach.kind;
    let Some(decoding) = objects::decoding(kind) else { return Ok(FreshList(Vec::new())) };
    let mut request = ListRequest::of(kind, version);
    request.namespace = reach.namespace.as_deref().map(str::to_owned);
    let (mut folder, mut objects, mut broken) = (Folder::default(), Vec::new(), None);
    let mut sink = |event: ListEvent<Box<dyn AnyObject>>| match event {
        ListEvent::Item(object) => objects.push(Reduced::of_watch(&*object, &mut folder)),
        ListEvent::Broken(error) => broken = Some(error.to_string()),
        ListEvent::Restart => objects.clear(),
    };
    let listed = client::list(reader, &request, decoding, &mut sink).await;
    let date = match listed {
        Ok(listed) => listed.date,
        Err(error) if error.is_not_served() && is_not_served(reader, kind).await => None,
        Err(error) => return Err(error),
    };
    let mut messages = vec![Message::Objects(reach.clone(), objects)];
    if let Some(reason) = broken {
        messages.push(Message::Broken(reach.clone(), reason.clone()));
        let Reach { kind, namespace } = reach.clone();
        messages.push(Message::Change(Change::Lost(Gap { kind, namespace, reason })));
    }
    messages.extend(date.map(|date| Message::Date(date, std::time::Instant::now())));
    Ok(FreshList(messages))
}

/// Whether a kind is not served in any version, and not only no longer in the one that was listed.
async fn is_not_served(reader: &Reader, kind: Kind) -> bool {
    matches!(Discovery::new(reader).version_of(kind).await, Ok(None))
}

/// Returns why not everything was read.
pub(in crate::sources) fn gap_reason(error: &ReadError) -> String {
    match error {
        ReadError::Api { code: 403, message, .. } => format!("forbidden: {}", denial(message)),
        _ => error.to_string(),
    }
}

/// Returns the part of an authorizer's denial that matters: which user may not do what, and where.
fn denial(message: &str) -> String {
    let said = message.split_once(" is forbidden: ").map_or(message, |(_, said)| said);
    match said.split_once(" in API group ") {
        // `"" at the cluster scope`, or `"apps" in the namespace "x"`.
        Some((what, rest)) => match rest.split_once("\" ") {
            Some((_, place)) => format!("{what} {place}"),
            None => said.to_owned(),
        },
        None => said.to_owned(),
    }
}
