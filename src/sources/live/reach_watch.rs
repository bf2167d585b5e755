//! `ReachWatch`, which watches what was listed, and lists it again when a watch is not enough; the list requests that
//! together cover a reach, and the health of the watches.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use chrono::Utc;
use futures::future::{BoxFuture, FutureExt as _, select_all};
use tokio::sync::watch;
use tokio::time::sleep;

use super::gap_reason;
use super::{Message, Outbox};
use crate::client;
use crate::client::{
    Decoding, ListEvent, ListRequest, ListSink, ReadError, Reader, Watch, WatchEvent,
};
use crate::cluster::{Change, Reach};
use crate::model::{Kind, ObjectKey, Text, Time};
use crate::objects::{AnyObject, Folder, Reduced};

/// Links of a watch task to the owner of the intake.
#[derive(Clone)]
pub(super) struct WatchLinks {
    /// A reader with a request limit of its own: a list that is read again waits until the owner
    /// takes in its batches, and the owner may be asking questions meanwhile.
    pub(super) reader: Reader,
    pub(super) outbox: Outbox,
    /// Counter that changes when the owner has taken in a new list of all volumes.
    pub(super) volume_lists: watch::Receiver<u64>,
    /// The reaches that the intake holds to be broken, because an object could not be read.
    pub(super) broken: watch::Receiver<BTreeSet<Reach>>,
    /// Counter that changes when everything is to be listed again.
    pub(super) all_lists: watch::Receiver<u64>,
    /// The health of the watches.
    pub(super) health: WatchHealth,
}

impl WatchLinks {
    /// Notes that a list begins now: it is not outdated by what happened before.
    pub(super) fn begin_list(&mut self) {
        // An object that volumes reference is proven absent only by a list that began after the
        // list of volumes had ended.
        self.volume_lists.mark_unchanged();
        self.all_lists.mark_unchanged();
    }

    fn is_broken(&self, reach: &Reach) -> bool {
        let broken = self.broken.borrow();
        broken.contains(reach) || broken.contains(&Reach::all(reach.kind))
    }
}

/// The requests of a list that was complete, and the resource versions to watch from.
pub(super) struct ReachWatch {
    requests: ReachRequests,
    versions: Vec<String>,
}

/// Number of times in a row that a watch may be silent before its reach is listed again: a proxy may be keeping all
/// events back.
const SILENCES: u32 = 2;

/// End of a watch.
enum WatchEnd {
    /// Another one can begin at the same version.
    Over,
    /// Nothing arrived for too long.
    Silent,
    /// Only a new list shows what has changed.
    Outdated,
    /// The watch failed, and another one may fail too.
    Failed(ReadError),
}

impl WatchEnd {
    /// Whether the server forbids this watch, or does not serve it.
    fn is_refusal(&self) -> bool {
        matches!(self, Self::Failed(error)
            if error.is_forbidden() || error.is_not_served() || error.code() == Some(405))
    }
}

/// Number of times in a row that a watch was of no use.
#[derive(Default)]
struct WatchTroubles {
    /// Number of watches that did not last, whatever they sent: an event before each error would have everything listed
    /// again and again.
    barren: u32,
    silent: u32,
}

impl ReachWatch {
    pub(super) fn new(requests: ReachRequests, versions: Vec<String>) -> Self {
        Self { requests, versions }
    }

    pub(super) fn reach(&self) -> &Reach {
        &self.requests.reach
    }

    /// Watches, and reports what happens within reach. Returns when the kind seems not to be served
    /// any more, which is a gap until discovery proves it.
    pub(super) async fn run(mut self, mut links: WatchLinks) {
        let limits = *links.reader.limits();
        let mut troubles = WatchTroubles::default();
        // Kept from watch to watch, so that rows share what they repeat.
        let mut folder = Folder::default();
        let mut restarts = false;
        loop {
            if restarts {
                links.health.restarted(self.requests.reach.kind);
            }
            restarts = true;
            let begun = Instant::now();
            let (end, came) = self.watch(&mut links, &mut folder).await;
            let silent = matches!(end, WatchEnd::Silent);
            troubles.silent = match silent {
                true if came => 1,
                true => troubles.silent + 1,
                false => 0,
            };
            let lasted = begun.elapsed() >= limits.lasting;
            troubles.barren = if lasted { 0 } else { troubles.barren + 1 };
            let again = matches!(end, WatchEnd::Outdated | WatchEnd::Failed(_))
                // Where no watch lasts, lists show what changes: nothing is unseen while they succeed.
                || troubles.barren >= limits.attempts
                || troubles.silent >= SILENCES
                // No watch shows whether an object that could not be read can be read now.
                || links.is_broken(&self.requests.reach);
            if let WatchEnd::Failed(error) = &end {
                links.outbox.send_gap(&self.requests.reach, gap_reason(error));
            }
            if end.is_refusal() {
                // What may be listed but not watched is not listed every few seconds instead.
                sleep(limits.silence).await;
            } else if troubles.barren > 1 {
                // After the first one the next watch begins without a pause.
                sleep(limits.own_pause(troubles.barren - 1)).await;
            }
            if again {
                troubles.silent = 0;
                if !self.list_again(&mut links).await {
                    return;
                }
            }
        }
    }

    /// Lists until that succeeds. Everything within reach is unseen meanwhile. Returns whether the
    /// kind is still served.
    async fn list_again(&mut self, links: &mut WatchLinks) -> bool {
        let mut failed = 0;
        loop {
            links.begin_list();
            match self.requests.list(&links.reader, &links.outbox).await {
                Ok(versions) => {
                    self.versions = versions;
                    return true;
                }
                Err(error) => {
                    links.outbox.send_gap(&self.requests.reach, gap_reason(&error));
                    if error.is_not_served() && self.requests.reach.kind.is_optional() {
                        return false;
                    }
                    failed += 1;
                    sleep(links.reader.limits().own_pause(failed)).await;
                }
            }
        }
    }

    /// Watches from the last versions until that ends. Also returns whether any event came.
    async fn watch(&mut self, links: &mut WatchLinks, folder: &mut Folder) -> (WatchEnd, bool) {
        let mut watches = match self.open(links).await {
            Ok(watches) => watches,
            Err(error) if error.is_gone() => return (WatchEnd::Outdated, false),
            Err(error) => return (WatchEnd::Failed(error), false),
        };
        let after_volumes = is_referenced_by_volumes(self.requests.reach.kind);
        let mut came = false;
        loop {
            let (event, index) = tokio::select! {
                event = next_event(&mut watches) => event,
                () = next_list(&mut links.volume_lists), if after_volumes => {
                    return (WatchEnd::Outdated, came);
                }
                () = next_list(&mut links.all_lists) => return (WatchEnd::Outdated, came),
            };
            let event = match event {
                Ok(Some(event)) => event,
                Ok(None) => return (WatchEnd::Over, came),
                Err(error) => return (end_of(error), came),
            };
            came = true;
            links.health.heard(self.requests.reach.kind);
            watches[index].version().clone_into(&mut self.versions[index]);
            self.send(&links.outbox, folder, event).await;
        }
    }

    async fn open(&self, links: &WatchLinks) -> Result<Vec<Watch<Box<dyn AnyObject>>>, ReadError> {
        let mut watches = Vec::with_capacity(self.versions.len());
        for (request, version) in self.requests.requests().iter().zip(&self.versions) {
            let request = watch_request(request, &self.requests.reach);
            let decoding = self.requests.decoding();
            let watch = client::watch(&links.reader, &request, decoding, version).await?;
            if let Some(date) = watch.date {
                links.outbox.send(Message::Date(date, Instant::now()));
            }
            watches.push(watch);
        }
        links.health.heard(self.requests.reach.kind);
        Ok(watches)
    }

    async fn send(
        &self,
        outbox: &Outbox,
        folder: &mut Folder,
        event: WatchEvent<Box<dyn AnyObject>>,
    ) {
        let reach = &self.requests.reach;
        let message = match event {
            WatchEvent::Seen(object) => {
                Message::Objects(reach.clone(), vec![Reduced::of_watch(&*object, folder)])
            }
            WatchEvent::Gone { namespace, name } => {
                let namespace = reach.kind.is_namespaced().then(|| Text::from(namespace));
                let key = ObjectKey { kind: reach.kind, namespace, name: name.into() };
                Message::Change(Change::Gone(key))
            }
            WatchEvent::Bookmark => return,
            WatchEvent::Broken(error) => {
                let reason =
                    format!("{}: an event cannot be decoded: {error}", reach.kind.plural());
                outbox.send(Message::Broken(reach.clone(), reason.clone()));
                return outbox.send_gap(reach, reason);
            }
        };
        outbox.send_event(message).await;
    }
}

/// Waits for the next event of any watch, and returns it with the index of the watch.
async fn next_event<T>(
    watches: &mut [Watch<T>],
) -> (Result<Option<WatchEvent<T>>, ReadError>, usize) {
    let (event, index, _) = select_all(watches.iter_mut().map(|it| Box::pin(it.next()))).await;
    (event, index)
}

/// Waits until a list that outdates this one is counted.
async fn next_list(lists: &mut watch::Receiver<u64>) {
    if lists.changed().await.is_err() {
        // The owner was dropped, and drops this task.
        std::future::pending::<()>().await;
    }
}

/// Returns the end of a watch that an error brought after it had begun.
fn end_of(error: ReadError) -> WatchEnd {
    match error {
        ReadError::TimedOut { .. } => WatchEnd::Silent,
        error if error.is_gone() => WatchEnd::Outdated,
        // The server could not send an event, or sent one that cannot be read.
        ReadError::Api { .. } | ReadError::NotFound { .. } | ReadError::Undecodable { .. } => {
            WatchEnd::Failed(error)
        }
        _ => WatchEnd::Over,
    }
}

/// Whether [`Cx`](crate::cluster::Cx) takes objects of a kind for absent because they were listed
/// after the volumes.
fn is_referenced_by_volumes(kind: Kind) -> bool {
    matches!(kind, Kind::PersistentVolumeClaim | Kind::StorageClass | Kind::Node)
}

/// Returns the request of a list without the leases that kubelets renew every few seconds, which
/// have no rows.
fn watch_request(request: &ListRequest, reach: &Reach) -> ListRequest {
    let mut request = request.clone();
    if reach.kind == Kind::Lease {
        request.field_selector = Some("metadata.namespace!=kube-node-lease".to_owned());
    }
    request
}

/// The field selectors of the events that are read.
pub const EVENTS: [&str; 5] = [
    "involvedObject.kind=PersistentVolume",
    "involvedObject.kind=PersistentVolumeClaim",
    "involvedObject.kind=StatefulSet",
    "involvedObject.kind=Pod,reason=FailedAttachVolume",
    "involvedObject.kind=Pod,reason=FailedMount",
];
/// Number of objects per message: enough to make messages rare, few enough to keep memory flat. One chunk of bytes may
/// hold a few more.
const BATCH: usize = 64;

/// The requests that list everything within a reach.
#[derive(Clone)]
pub(super) struct ReachRequests {
    pub(super) reach: Reach,
    version: String,
    requests: Vec<ListRequest>,
    decoding: Decoding<Box<dyn AnyObject>>,
}

impl ReachRequests {
    pub(super) fn new(
        reach: Reach,
        version: &str,
        page: Option<u32>,
        decoding: Decoding<Box<dyn AnyObject>>,
    ) -> Self {
        let kind = reach.kind;
        let mut request = ListRequest::of(kind, version);
        request.namespace = reach.namespace.as_deref().map(str::to_owned);
        request.page = page;
        // Only these events are read, and there may be very many others.
        let requests = match kind {
            Kind::Event => {
                let select = |selector: &str| ListRequest {
                    field_selector: Some(selector.to_owned()),
                    ..request.clone()
                };
                EVENTS.into_iter().map(select).collect()
            }
            _ => vec![request],
        };
        Self { reach, version: version.to_owned(), requests, decoding }
    }

    pub(super) fn decoding(&self) -> Decoding<Box<dyn AnyObject>> {
        self.decoding
    }

    pub(super) fn requests(&self) -> &[ListRequest] {
        &self.requests
    }

    /// Lists everything within reach, and returns the resource versions to watch from, one for each
    /// request.
    pub(super) async fn list(
        &self,
        reader: &Reader,
        outbox: &Outbox,
    ) -> Result<Vec<String>, ReadError> {
        outbox.send(Message::Change(Change::Begin(self.reach.clone())));
        let mut sink = ObjectBatches {
            requests: self,
            outbox,
            folder: Folder::default(),
            objects: Vec::with_capacity(BATCH),
            others: Vec::new(),
        };
        let mut versions = Vec::with_capacity(self.requests.len());
        let mut date = None;
        for request in &self.requests {
            let listed = client::list(reader, request, self.decoding, &mut sink).await?;
            date = listed.date;
            versions.push(listed.resource_version);
            // These objects stay valid if the next request has to begin anew.
            sink.send_all().await;
        }
        outbox.send(Message::Complete(self.reach.clone(), date));
        Ok(versions)
    }
}

/// Collects the objects of a list into messages.
struct ObjectBatches<'a> {
    requests: &'a ReachRequests,
    outbox: &'a Outbox,
    /// Folder of this list alone: its rows share what they repeat, and no list waits for another.
    folder: Folder,
    objects: Vec<Reduced>,
    others: Vec<Message>,
}

impl ListSink<Box<dyn AnyObject>> for ObjectBatches<'_> {
    fn event(&mut self, event: ListEvent<Box<dyn AnyObject>>) {
        let reach = &self.requests.reach;
        match event {
            // Reduced where it was decoded, so that the same thread frees it at once.
            ListEvent::Item(object) => {
                let saving = self.outbox.saving().then_some(&*self.requests.version);
                self.objects.push(Reduced::of(&*object, &mut self.folder, saving));
            }
            ListEvent::Broken(error) => {
                let reason = format!("{}: {error}", reach.kind.plural());
                self.others.push(Message::Broken(reach.clone(), reason));
            }
            // Of several requests only this one begins anew; what the others sent stays valid.
            ListEvent::Restart if self.requests.requests.len() > 1 => self.objects.clear(),
            ListEvent::Restart => {
                self.objects.clear();
                self.others.clear();
                self.others.push(Message::Change(Change::Begin(reach.clone())));
            }
        }
    }

    fn flush(&mut self) -> BoxFuture<'_, ()> {
        if self.objects.len() >= BATCH || !self.others.is_empty() {
            return self.send_all().boxed();
        }
        std::future::ready(()).boxed()
    }
}

impl ObjectBatches<'_> {
    async fn send_all(&mut self) {
        for message in std::mem::take(&mut self.others) {
            self.outbox.send(message);
        }
        if !self.objects.is_empty() {
            let batch = std::mem::replace(&mut self.objects, Vec::with_capacity(BATCH));
            self.outbox.send_batch(&self.requests.reach, batch).await;
        }
    }
}

/// Health of the watches of one intake. Cheap to clone; clones share what they know.
#[derive(Debug, Clone, Default)]
pub struct WatchHealth(Arc<Mutex<WatchCounts>>);

#[derive(Debug, Default)]
struct WatchCounts {
    /// Number of times that a watch began anew, by kind.
    restarts: BTreeMap<Kind, u64>,
    /// Time at which a watch heard from the server last, by kind: by the stopwatch, which stands still while the
    /// machine is suspended, and by the date.
    heard: BTreeMap<Kind, (Instant, Time)>,
}

impl WatchHealth {
    /// Notes that a watch of a kind heard from the server.
    pub(super) fn heard(&self, kind: Kind) {
        self.counts().heard.insert(kind, (Instant::now(), Utc::now()));
    }

    /// Whether nothing was heard of a kind for this long, not even a bookmark: the connection may be dead, or the
    /// machine was suspended.
    pub(super) fn is_silent(&self, kind: Kind, bound: Duration) -> bool {
        let Some((at, date)) = self.counts().heard.get(&kind).copied() else { return true };
        let by_date = (Utc::now() - date).to_std().unwrap_or_default();
        at.elapsed().max(by_date) > bound
    }

    /// Notes that a watch of a kind begins anew.
    pub(super) fn restarted(&self, kind: Kind) {
        *self.counts().restarts.entry(kind).or_default() += 1;
    }

    /// Returns how often a watch began anew, by kind.
    pub fn restarts(&self) -> BTreeMap<Kind, u64> {
        self.counts().restarts.clone()
    }

    /// Returns how long ago a watch heard from the server, an event or a bookmark, by kind.
    pub fn silences(&self) -> BTreeMap<Kind, Duration> {
        self.counts().heard.iter().map(|(kind, (at, _))| (*kind, at.elapsed())).collect()
    }

    fn counts(&self) -> MutexGuard<'_, WatchCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_what_they_know() {
        let health = WatchHealth::default();
        let seen = health.clone();
        health.restarted(Kind::Pod);
        health.restarted(Kind::Pod);
        health.heard(Kind::Node);
        assert_eq!(seen.restarts(), [(Kind::Pod, 2)].into());
        assert_eq!(seen.silences().into_keys().collect::<Vec<_>>(), [Kind::Node]);
    }

    #[test]
    fn a_kind_of_which_nothing_was_heard_for_long_is_silent() {
        let health = WatchHealth::default();
        let bound = Duration::from_secs(90);
        assert!(health.is_silent(Kind::Pod, bound), "nothing was heard at all");
        health.heard(Kind::Pod);
        assert!(!health.is_silent(Kind::Pod, bound));
        let now = Instant::now();
        let Some(earlier) = now.checked_sub(Duration::from_secs(91)) else {
            panic!("just started")
        };
        let dated = |seconds: i64| Utc::now() - chrono::Duration::seconds(seconds);
        // The machine was suspended over night, by the date alone; the date was set back; neither.
        for (at, date, silent) in [
            (now, dated(8 * 3600), true),
            (earlier, dated(-3600), true),
            (now, dated(-3600), false),
        ] {
            health.counts().heard.insert(Kind::Pod, (at, date));
            assert_eq!(health.is_silent(Kind::Pod, bound), silent, "{date}");
        }
    }
}
