//! One reach kept current: watched from its list on, and listed again when that no longer helps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use futures::future::select_all;
use tokio::{sync::watch, time::sleep};

use super::denial::reason;
use super::lister::Lists;
use super::message::{Message, Outbox};
use crate::client::{self, ListRequest, ReadError, Reader, Watch, WatchEvent};
use crate::cluster::Reach;
use crate::model::Kind;
use crate::objects::AnyObject;

/// What ties a task that follows to the owner of the cluster.
pub(super) struct Ties {
    /// Not the owner's own: a list that is read again waits in its midst until the owner takes in
    /// what came, and the owner may be asking meanwhile.
    pub(super) reader: Reader,
    pub(super) outbox: Outbox,
    /// Changes when the owner has taken in a new list of all volumes.
    pub(super) volumes: watch::Receiver<u64>,
    /// Whether the owner knows of something within reach that could not be read.
    pub(super) doubtful: Arc<AtomicBool>,
}

/// A list that was complete, and the versions it had.
pub(super) struct Follow {
    lists: Lists,
    versions: Vec<String>,
}

/// How often in a row a watch may be silent before its reach is listed again: then it may be that
/// something between us and the server keeps everything back.
const SILENCES: u32 = 2;

/// Why watching stopped.
enum Ended {
    /// It can go on from where it was, after this trouble, if it was any.
    Over(Option<ReadError>),
    /// Nothing came for too long.
    Silent,
    /// Only a new list tells what became of it.
    Outdated,
    /// It cannot be had now.
    Lost(ReadError),
}

impl Ended {
    /// Whether the server does not let us watch this at all, or has no such thing.
    fn is_refusal(&self) -> bool {
        matches!(self, Self::Lost(ReadError::Api { code: 403..=405, .. }))
    }
}

/// How often in a row it came to nothing.
#[derive(Default)]
struct Troubles {
    /// Watches that ended soon, without a word.
    barren: u32,
    silent: u32,
}

impl Follow {
    pub(super) fn new(lists: Lists, versions: Vec<String>) -> Self {
        Self { lists, versions }
    }

    pub(super) fn reach(&self) -> &Reach {
        &self.lists.reach
    }

    /// Tells what becomes of it, for ever.
    pub(super) async fn follow(mut self, mut ties: Ties) {
        self.run(&mut ties).await;
    }

    async fn run(&mut self, ties: &mut Ties) {
        let limits = *ties.reader.limits();
        let mut troubles = Troubles::default();
        loop {
            let begun = Instant::now();
            let (ended, came) = self.watch(ties).await;
            let silent = matches!(ended, Ended::Silent);
            troubles.silent = match silent {
                true if came => 1,
                true => troubles.silent + 1,
                false => 0,
            };
            let lasted = came || silent || begun.elapsed() >= limits.silence;
            troubles.barren = if lasted { 0 } else { troubles.barren + 1 };
            let lost = match &ended {
                Ended::Lost(error) => Some(reason(error)),
                Ended::Over(error) if troubles.barren >= limits.attempts => {
                    let ends = || "every watch ends as soon as it has begun".to_owned();
                    Some(error.as_ref().map_or_else(ends, reason))
                }
                Ended::Over(_) | Ended::Silent | Ended::Outdated => None,
            };
            let again = lost.is_some()
                || matches!(ended, Ended::Outdated)
                || troubles.silent >= SILENCES
                // Whether what could not be read can be read now, no watch tells.
                || ties.doubtful.load(Ordering::Relaxed);
            if let Some(reason) = lost {
                ties.outbox.lose(&self.lists.reach, reason);
            }
            if ended.is_refusal() {
                // What may be listed but not watched is not listed every few seconds instead.
                sleep(limits.silence).await;
            } else if troubles.barren > 1 {
                // Once is no trouble: the next follows at once.
                sleep(limits.own_pause(troubles.barren - 1)).await;
            }
            if again {
                troubles.silent = 0;
                self.list_again(ties).await;
            }
        }
    }

    /// Lists until that succeeds. What depends on it is unseen meanwhile.
    async fn list_again(&mut self, ties: &mut Ties) {
        let mut failed = 0;
        loop {
            // What volumes name is proven absent only by a list that began after theirs had ended.
            ties.volumes.mark_unchanged();
            match self.lists.read(&ties.reader, &ties.outbox).await {
                Ok(versions) => {
                    self.versions = versions;
                    return;
                }
                Err(error) => {
                    ties.outbox.lose(&self.lists.reach, reason(&error));
                    failed += 1;
                    sleep(ties.reader.limits().own_pause(failed)).await;
                }
            }
        }
    }

    /// Watches from the last versions until there is a reason to stop; also says whether anything
    /// came.
    async fn watch(&mut self, ties: &mut Ties) -> (Ended, bool) {
        let mut watches = match self.open(ties).await {
            Ok(watches) => watches,
            Err(error) if error.is_gone() => return (Ended::Outdated, false),
            Err(error) => return (Ended::Lost(error), false),
        };
        let ordered = is_named_by_volumes(self.lists.reach.kind);
        let mut came = false;
        loop {
            let (event, place) = tokio::select! {
                event = next(&mut watches) => event,
                () = another(&mut ties.volumes), if ordered => return (Ended::Outdated, came),
            };
            let event = match event {
                Ok(Some(event)) => event,
                Ok(None) => return (Ended::Over(None), came),
                Err(error) => return (ended(error), came),
            };
            came = true;
            watches[place].version().clone_into(&mut self.versions[place]);
            self.tell(ties, event);
        }
    }

    async fn open(&self, ties: &Ties) -> Result<Vec<Watch<Box<dyn AnyObject>>>, ReadError> {
        let mut watches = Vec::with_capacity(self.versions.len());
        for (request, version) in self.lists.requests().iter().zip(&self.versions) {
            let request = watched(request, &self.lists.reach);
            let watch =
                client::watch(&ties.reader, &request, self.lists.decoding(), version).await?;
            if let Some(date) = watch.date {
                ties.outbox.tell(Message::Date(date, Instant::now()));
            }
            watches.push(watch);
        }
        Ok(watches)
    }

    fn tell(&self, ties: &Ties, event: WatchEvent<Box<dyn AnyObject>>) {
        let reach = &self.lists.reach;
        match event {
            WatchEvent::Seen(object) => {
                ties.outbox.tell(Message::Seen(reach.clone(), object));
            }
            WatchEvent::Gone { namespace, name } => {
                ties.outbox.tell(Message::Gone(reach.clone(), namespace, name));
            }
            WatchEvent::Bookmark => {}
            WatchEvent::Broken(error) => {
                let reason =
                    format!("{}: an event cannot be decoded: {error}", reach.kind.plural());
                ties.outbox.tell(Message::Broken(reach.clone(), reason.clone()));
                ties.outbox.lose(reach, reason);
            }
        }
    }
}

/// Waits for the next event of any watch, and says of which.
async fn next<T>(watches: &mut [Watch<T>]) -> (Result<Option<WatchEvent<T>>, ReadError>, usize) {
    let (event, place, _) = select_all(watches.iter_mut().map(|it| Box::pin(it.next()))).await;
    (event, place)
}

/// Waits until the volumes have been listed once more.
async fn another(volumes: &mut watch::Receiver<u64>) {
    if volumes.changed().await.is_err() {
        // The owner is gone, and this task with it.
        std::future::pending::<()>().await;
    }
}

/// What the end of a watch that had begun means.
fn ended(error: ReadError) -> Ended {
    match error {
        ReadError::TimedOut { .. } => Ended::Silent,
        error if error.is_gone() => Ended::Outdated,
        // The server could not tell of something, or told what nobody understands.
        ReadError::Api { .. } | ReadError::Undecodable { .. } => Ended::Lost(error),
        error => Ended::Over(Some(error)),
    }
}

/// What [`Cx`](crate::cluster::Cx) takes for absent because it was listed after the volumes.
fn is_named_by_volumes(kind: Kind) -> bool {
    matches!(kind, Kind::PersistentVolumeClaim | Kind::StorageClass | Kind::Node)
}

/// Asks for what the list asked for, less what is looked at least: the leases that kubelets renew
/// every few seconds, of which no row is kept.
fn watched(request: &ListRequest, reach: &Reach) -> ListRequest {
    let mut request = request.clone();
    if reach.kind == Kind::Lease {
        request.field_selector = Some("metadata.namespace!=kube-node-lease".to_owned());
    }
    request
}
