//! `ReachRequests`: the list requests that together cover a reach, and the batches that they send.

use futures::future::{BoxFuture, FutureExt as _};

use crate::client::{self, Decoding, ListEvent, ListRequest, ListSink, ReadError, Reader};
use crate::cluster::{Change, Reach};
use crate::model::Kind;
use crate::objects::{AnyObject, Folder, Reduced};

use super::message::{Message, Outbox};

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
