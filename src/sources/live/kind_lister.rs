//! `KindLister`: lists each kind, in the version that is served, and by namespace where only that
//! is allowed: the list requests that together cover a reach.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use tokio::sync::{OnceCell, watch};

use super::reach_watch::ReachWatch;
use super::{Message, Outbox, gap_reason};
use crate::client::{Decoding, Discovery, ListEvent, ListRequest, ListSink, ReadError, Reader};
use crate::cluster::{Change, Coverage, Gap, Reach};
use crate::model::{Kind, Text};
use crate::objects::{AnyObject, Folder, Reduced};
use crate::{client, objects};

/// How the list of a kind ended.
pub(super) enum ListedKind {
    /// With the watches that keep current what was listed. A gap has none.
    Watched(Vec<ReachWatch>),
    /// The server does not serve the kind.
    NotServed,
}

/// Lists kinds, one task each. Discovery and the list of namespaces are shared among the tasks.
pub(super) struct KindLister {
    reader: Reader,
    page: Option<u32>,
    namespace: String,
    outbox: Outbox,
    namespaces: OnceCell<Result<Vec<String>, String>>,
    discovery: Discovery,
    /// Whether the list of volumes has ended.
    volumes_listed: watch::Receiver<bool>,
}

impl KindLister {
    /// Prepares to list. Until `volumes_listed` is true, only volumes and pods are listed.
    pub(super) fn new(
        reader: &Reader,
        page: Option<u32>,
        namespace: &str,
        outbox: Outbox,
        volumes_listed: watch::Receiver<bool>,
    ) -> Self {
        Self {
            reader: reader.clone(),
            page,
            namespace: namespace.to_owned(),
            outbox,
            namespaces: OnceCell::new(),
            discovery: Discovery::new(reader),
            volumes_listed,
        }
    }

    /// Lists a kind.
    pub(super) async fn list_kind(self: Arc<Self>, kind: Kind) -> ListedKind {
        // What volumes reference has to be listed after them. The rest waits as well, so that the
        // server is not busy with other lists while it sends the volumes: only pods, by far the
        // longest list, begin beside them.
        if !matches!(kind, Kind::PersistentVolume | Kind::Pod) {
            let mut volumes_listed = self.volumes_listed.clone();
            // The sender is dropped only when reading is given up.
            let _ = volumes_listed.wait_for(|listed| *listed).await;
        }
        let version = match self.discovery.version_of(kind).await {
            Ok(Some(version)) => {
                if version != kind.group().version {
                    let served = Change::Served(kind, version.as_str().into());
                    self.outbox.send(Message::Change(served));
                }
                version
            }
            Ok(None) => {
                self.outbox.send(Message::Change(Change::NotServed(kind)));
                return ListedKind::NotServed;
            }
            Err(reason) => return ListedKind::Watched(self.gap(kind, None, reason)),
        };
        ListedKind::Watched(match objects::decoding(kind) {
            Some(decoding) => self.list(kind, decoding, &version).await,
            // Kinds without rows are not listed.
            None => Vec::new(),
        })
    }

    async fn list(
        &self,
        kind: Kind,
        decoding: Decoding<Box<dyn AnyObject>>,
        version: &str,
    ) -> Vec<ReachWatch> {
        let error = match self.list_reach(Reach::all(kind), decoding, version).await {
            Ok(watch) => return vec![watch],
            Err(error) => error,
        };
        if error.is_forbidden() && kind.is_of_guard() {
            // Only rules about the guard miss it.
            let gap = Gap { kind, namespace: None, reason: gap_reason(&error) };
            let withheld = Change::Covered(Reach::all(kind), Coverage::Withheld(gap));
            self.outbox.send(Message::Change(withheld));
            return Vec::new();
        }
        let by_namespace = kind.is_namespaced() && kind != Kind::Lease && kind != Kind::Event;
        if !error.is_forbidden() || !by_namespace {
            return self.gap(kind, None, gap_reason(&error));
        }
        // Who may not list a kind in the whole cluster may still list it in a namespace.
        let (namespaces, all) = match self.all_namespaces().await {
            Ok(namespaces) => (namespaces, true),
            Err(_) => (vec![self.namespace.clone()], false),
        };
        // All namespaces do not add up to the cluster: one may be new since they were listed.
        let reason = match all {
            true => format!("{}; only each namespace was listed by itself", gap_reason(&error)),
            false => format!(
                "{}; namespaces may not be listed either, so only {} was tried",
                gap_reason(&error),
                self.namespace
            ),
        };
        let mut watches = self.gap(kind, None, reason);
        let within = |namespace: String| Reach { kind, namespace: Some(namespace.into()) };
        let reaches: Vec<_> = namespaces.into_iter().map(within).collect();
        // What was not read in a namespace stands until its turn has come; what was not read in one
        // that does not exist any more is forgotten at once.
        for reach in &reaches {
            self.outbox.send(Message::Change(Change::Begin(reach.clone())));
        }
        for reach in reaches {
            match self.list_reach(reach.clone(), decoding, version).await {
                Ok(watch) => watches.push(watch),
                Err(error) => {
                    watches.extend(self.gap(kind, reach.namespace, gap_reason(&error)));
                }
            }
        }
        watches
    }

    async fn list_reach(
        &self,
        reach: Reach,
        decoding: Decoding<Box<dyn AnyObject>>,
        version: &str,
    ) -> Result<ReachWatch, ReadError> {
        let requests = ReachRequests::new(reach, version, self.page, decoding);
        let versions = requests.list(&self.reader, &self.outbox).await?;
        Ok(ReachWatch::new(requests, versions))
    }

    async fn all_namespaces(&self) -> Result<Vec<String>, String> {
        let list = || async {
            let mut names = Vec::new();
            let mut sink = |event: ListEvent<Box<dyn AnyObject>>| match event {
                ListEvent::Item(namespace) => names.push(namespace.identity().name.to_owned()),
                ListEvent::Restart => names.clear(),
                ListEvent::Broken(_) => {}
            };
            let request = ListRequest::of(Kind::Namespace, "v1");
            let decoding = objects::decoding_of::<objects::Namespace>();
            let listed = client::list(&self.reader, &request, decoding, &mut sink).await;
            listed.map(|_| names).map_err(|error| error.to_string())
        };
        self.namespaces.get_or_init(list).await.clone()
    }

    /// Reports a gap, which is not watched.
    fn gap(&self, kind: Kind, namespace: Option<Text>, reason: String) -> Vec<ReachWatch> {
        self.outbox.send_gap(&Reach { kind, namespace }, reason);
        Vec::new()
    }
}

/// The field selectors of the events that are read.
pub const EVENTS: [&str; 5] = [
    "involvedObject.kind=PersistentVolume",
    "involvedObject.kind=PersistentVolumeClaim",
    "involvedObject.kind=StatefulSet",
    "involvedObject.kind=Pod,reason=FailedAttachVolume",
    "involvedObject.kind=Pod,reason=FailedMount",
];
/// Objects per message: enough to make messages rare, few enough to keep memory flat. One chunk
/// of bytes may hold a few more.
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
    /// One for each list: its rows share what they repeat, and no list waits for another.
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
