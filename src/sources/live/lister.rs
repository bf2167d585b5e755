//! Everything within reach, asked for by one list or by several.

use futures::future::{BoxFuture, FutureExt as _};

use crate::client::{self, Decoding, ListEvent, ListRequest, ListSink, ReadError, Reader};
use crate::cluster::{Change, Reach};
use crate::model::Kind;
use crate::objects::{AnyObject, Folder, Reduced};

use super::message::{Message, Outbox};

/// The events that are looked at.
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

/// How everything within reach is asked for.
#[derive(Clone)]
pub(super) struct Lists {
    pub(super) reach: Reach,
    requests: Vec<ListRequest>,
    decoding: Decoding<Box<dyn AnyObject>>,
}

impl Lists {
    pub(super) fn new(
        reach: Reach,
        version: &str,
        page: Option<u32>,
        decoding: Decoding<Box<dyn AnyObject>>,
    ) -> Self {
        let kind = reach.kind;
        let mut request = ListRequest::new(kind.group().name, version, kind.plural());
        request.namespace = reach.namespace.as_deref().map(str::to_owned);
        request.page = page;
        // Of all events only these are looked at, and there may be very many others.
        let requests = match kind {
            Kind::Event => {
                let selecting = |selector: &str| Some(selector.to_owned());
                let one = |selector| ListRequest {
                    field_selector: selecting(selector),
                    ..request.clone()
                };
                EVENTS.into_iter().map(one).collect()
            }
            _ => vec![request],
        };
        Self { reach, requests, decoding }
    }

    pub(super) fn decoding(&self) -> Decoding<Box<dyn AnyObject>> {
        self.decoding
    }

    pub(super) fn requests(&self) -> &[ListRequest] {
        &self.requests
    }

    /// Reads everything within reach, and returns the versions from which to watch, one a request.
    pub(super) async fn read(
        &self,
        reader: &Reader,
        outbox: &Outbox,
    ) -> Result<Vec<String>, ReadError> {
        outbox.tell(Message::Change(Change::Begin(self.reach.clone())));
        let mut sink = Sink {
            lists: self,
            outbox,
            folder: Folder::default(),
            objects: Vec::with_capacity(BATCH),
            others: Vec::new(),
        };
        let mut versions = Vec::with_capacity(self.requests.len());
        let mut taken = None;
        for request in &self.requests {
            let listed = client::list(reader, request, self.decoding, &mut sink).await?;
            taken = listed.date;
            versions.push(listed.resource_version);
            // What this one told stays true should the next begin anew.
            sink.send_all().await;
        }
        outbox.tell(Message::Complete(self.reach.clone(), taken));
        Ok(versions)
    }
}

/// Collects objects into messages.
struct Sink<'a> {
    lists: &'a Lists,
    outbox: &'a Outbox,
    /// Of its own: what the rows of one list repeat is shared, and nobody waits for another list.
    folder: Folder,
    objects: Vec<Reduced>,
    others: Vec<Message>,
}

impl ListSink<Box<dyn AnyObject>> for Sink<'_> {
    fn event(&mut self, event: ListEvent<Box<dyn AnyObject>>) {
        let reach = &self.lists.reach;
        match event {
            // Reduced where it was decoded: it is forgotten at once, and by the same thread.
            ListEvent::Item(object) => {
                let saving = self.outbox.saving();
                self.objects.push(Reduced::of(&*object, &mut self.folder, saving));
            }
            ListEvent::Broken(error) => {
                let reason = format!("{}: {error}", reach.kind.plural());
                self.others.push(Message::Broken(reach.clone(), reason));
            }
            // What one of several lists said before stays as true as what the others said.
            ListEvent::Restart if self.lists.requests.len() > 1 => self.objects.clear(),
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

impl Sink<'_> {
    async fn send_all(&mut self) {
        for message in std::mem::take(&mut self.others) {
            self.outbox.tell(message);
        }
        if !self.objects.is_empty() {
            let batch = std::mem::replace(&mut self.objects, Vec::with_capacity(BATCH));
            self.outbox.tell_objects(&self.lists.reach, batch).await;
        }
    }
}
