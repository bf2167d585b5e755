//! Function `list`, which reads a whole collection, in one answer or in pages, and begins anew when a list breaks.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use futures::future::{BoxFuture, FutureExt as _};
use serde::de::DeserializeOwned;

use super::api_request::{Accept, METADATA, api_version, collection_path, escape};
use super::decoding::Decoding;
use super::read_error::ReadError;
use super::read_limits::Patience;
use super::reader::{DatedAnswer, Reader};
use super::stream::{ExpectedList, ItemError, ListDecodeError, ListDecoder, ListEnd};
use crate::model::Kind;

/// The page size for servers that buffer a list whole, and for lists that take too long in one
/// answer.
pub const FALLBACK_PAGE: u32 = 2000;

/// Number of times that a list is begun anew before it is given up.
const RESTARTS: u32 = 4;

/// The form in which a collection is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ListForm {
    /// Either encoding: protobuf, or JSON from servers without protobuf.
    #[default]
    Either,
    /// JSON alone.
    Json,
    /// JSON, of a custom resource, whose definition chooses the kind of its lists.
    Custom,
    /// Only the metadata of the objects.
    Metadata,
}

/// A request for a collection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListRequest {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version, such as `v1`.
    pub version: String,
    /// The resource in the plural, such as `persistentvolumes`.
    pub resource: String,
    /// The kind of the objects, such as `PersistentVolume`.
    pub kind: String,
    /// One namespace; `None` for the whole cluster.
    pub namespace: Option<String>,
    /// Items per page; `None` for everything in one answer.
    pub page: Option<u32>,
    /// The field selector.
    pub field_selector: Option<String>,
    /// The label selector.
    pub label_selector: Option<String>,
    /// The form in which the collection is read.
    pub form: ListForm,
}

/// Event handed over while a list is read.
#[derive(Debug, Clone, PartialEq)]
pub enum ListEvent<T> {
    /// An item.
    Item(T),
    /// An item that could not be decoded: an object exists that was not read.
    Broken(ItemError),
    /// The list begins anew: every item so far is invalid.
    Restart,
}

/// Receiver of what a list yields.
pub trait ListSink<T>: Send {
    /// Receives one event, in the order of the list. Often called thousands of times between two
    /// flushes.
    fn event(&mut self, event: ListEvent<T>);

    /// Called after the events of each chunk that arrived, and at the end. May send a batch on, and
    /// wait until there is room for it.
    fn flush(&mut self) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }
}

impl<T, F: FnMut(ListEvent<T>) + Send> ListSink<T> for F {
    fn event(&mut self, event: ListEvent<T>) {
        self(event);
    }
}

/// A list that was read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The resource version that a watch may start from.
    pub resource_version: String,
    /// Number of items, broken ones included.
    pub count: u64,
    /// Number of broken items.
    pub broken: u64,
    /// The server's clock at the first answer of the attempt that succeeded.
    pub date: Option<DateTime<Utc>>,
    /// Number of answers that the list took.
    pub pages: u32,
    /// Number of times that the list was begun anew.
    pub restarts: u32,
}

impl ListRequest {
    /// Builds the request for every object of a kind in the whole cluster, in one answer.
    pub fn of(kind: Kind, version: &str) -> Self {
        Self {
            group: kind.group().name.to_owned(),
            version: version.to_owned(),
            resource: kind.plural().to_owned(),
            kind: kind.name().to_owned(),
            ..Self::default()
        }
    }

    /// Returns the path of the collection.
    pub fn path(&self) -> String {
        let namespace = self.namespace.as_deref();
        collection_path(&self.group, &self.version, namespace, &self.resource)
    }

    /// Returns the path of the collection with its selectors.
    pub(crate) fn selecting_path(&self) -> String {
        self.page_path(None, "")
    }

    /// Returns the kind and version that the answer must have.
    fn expected(&self) -> ExpectedList {
        let of_kind = |api_version: String, item: &str| ExpectedList {
            api_version,
            item: item.to_owned(),
            kind: Some(format!("{item}List")),
        };
        let version = api_version(&self.group, &self.version);
        match self.form {
            ListForm::Either | ListForm::Json => of_kind(version, &self.kind),
            ListForm::Custom => ExpectedList { kind: None, ..of_kind(version, &self.kind) },
            ListForm::Metadata => of_kind(METADATA.0.to_owned(), METADATA.1),
        }
    }

    fn page_path(&self, limit: Option<u32>, token: &str) -> String {
        let limit = limit.map(|limit| limit.to_string());
        let pairs = [
            ("fieldSelector", self.field_selector.as_deref()),
            ("labelSelector", self.label_selector.as_deref()),
            ("limit", limit.as_deref()),
            ("continue", Some(token)),
        ];
        let mut path = self.path();
        let mut separator = '?';
        for (key, value) in pairs {
            let Some(value) = value.filter(|value| !value.is_empty()) else { continue };
            path.push(separator);
            path.push_str(key);
            path.push('=');
            escape(&mut path, value);
            separator = '&';
        }
        path
    }
}

/// Reads a collection and hands its items to `sink` as they arrive.
///
/// A list that breaks, or whose next page has expired (410), begins anew after
/// [`ListEvent::Restart`]. One that takes too long in one answer is read in pages of
/// [`FALLBACK_PAGE`].
///
/// # Errors
///
/// [`ReadError`]. The items that were handed over before are incomplete.
pub async fn list<T>(
    reader: &Reader,
    request: &ListRequest,
    decoding: Decoding<T>,
    sink: &mut dyn ListSink<T>,
) -> Result<Listed, ReadError> {
    let mut page = request.page;
    let mut accept = match request.form {
        ListForm::Either => Accept::Either,
        ListForm::Json | ListForm::Custom => Accept::Json,
        ListForm::Metadata => Accept::MetadataList,
    };
    let mut restarts = 0;
    loop {
        let mut attempt =
            ListAttempt { reader, request, page, accept, handed: 0, broken: 0, streaming: false };
        let error = match attempt.read(decoding, sink).await {
            Ok(listed) => return Ok(Listed { restarts, ..listed }),
            Err(error) => error,
        };
        if error.is_not_acceptable() && accept == Accept::Either {
            accept = Accept::Json;
        } else if page.is_none() && (error.is_timeout() || error.code() == Some(429)) {
            page = Some(FALLBACK_PAGE);
        } else if error.is_gone() {
            // The pages expired before they were read: fewer and larger ones take less time.
            page = page.map(|page| page.saturating_mul(4));
        } else if !(error.is_cut_short() && attempt.streaming) {
            return Err(error);
        }
        restarts += 1;
        if restarts > RESTARTS.min(reader.limits().attempts) {
            return Err(error);
        }
        if attempt.handed > 0 {
            sink.event(ListEvent::Restart);
            sink.flush().await;
        }
        tokio::time::sleep(reader.limits().own_pause(restarts)).await;
    }
}

/// Reads a collection that is served as JSON into memory.
///
/// # Errors
///
/// [`ReadError`], also if an object of it cannot be decoded.
pub async fn list_json<T: DeserializeOwned + Send>(
    reader: &Reader,
    request: &ListRequest,
) -> Result<DatedAnswer<Vec<T>>, ReadError> {
    let (mut items, mut broken) = (Vec::new(), None);
    let mut sink = |event: ListEvent<T>| match event {
        ListEvent::Item(item) => items.push(item),
        ListEvent::Broken(error) => broken = broken.take().or(Some(error)),
        ListEvent::Restart => {
            items.clear();
            broken = None;
        }
    };
    let listed = list(reader, request, Decoding::of_json(), &mut sink).await?;
    match broken {
        None => Ok(DatedAnswer { value: items, date: listed.date }),
        Some(error) => Err(ReadError::undecodable(&request.path(), &error)),
    }
}

/// Attempt at a list, from its beginning.
struct ListAttempt<'a> {
    reader: &'a Reader,
    request: &'a ListRequest,
    page: Option<u32>,
    accept: Accept,
    /// Number of items that were handed over. If there are any, a new beginning has to be announced.
    handed: u64,
    broken: u64,
    /// Whether the answer had begun. If not, the reader has retried already.
    streaming: bool,
}

impl ListAttempt<'_> {
    async fn read<T>(
        &mut self,
        decoding: Decoding<T>,
        sink: &mut dyn ListSink<T>,
    ) -> Result<Listed, ReadError> {
        let mut first_date = None;
        let mut token = String::new();
        let mut tokens = BTreeSet::new();
        let mut pages = 0;
        loop {
            let (end, date) = self.page(&token, decoding, sink).await?;
            pages += 1;
            first_date = first_date.or(date);
            sink.flush().await;
            if end.meta.continue_token.is_empty() {
                return Ok(Listed {
                    resource_version: end.meta.resource_version,
                    count: self.handed,
                    broken: self.broken,
                    date: first_date,
                    pages,
                    restarts: 0,
                });
            }
            token = end.meta.continue_token;
            if !tokens.insert(token.clone()) {
                let path = self.request.path();
                return Err(ReadError::undecodable(&path, &"the token of a page repeats"));
            }
        }
    }

    async fn page<T>(
        &mut self,
        token: &str,
        decoding: Decoding<T>,
        sink: &mut dyn ListSink<T>,
    ) -> Result<(ListEnd, Option<DateTime<Utc>>), ReadError> {
        let path = self.request.page_path(self.page, token);
        // A list that takes too long in one answer is not tried again like that, but in pages.
        let patience = if self.page.is_none() { Patience::Hurried } else { Patience::Full };
        self.streaming = false;
        let mut opened = self.reader.open(&path, self.accept, patience).await?;
        self.streaming = true;
        let mut decoder = ListDecoder::new(opened.encoding, decoding, self.request.expected());
        while let Some(chunk) = opened.next().await? {
            let (handed, broken) = (&mut self.handed, &mut self.broken);
            let pushed = decoder.push(&chunk, &mut |item| {
                *handed += 1;
                match item {
                    Ok(item) => sink.event(ListEvent::Item(item)),
                    Err(error) => {
                        *broken += 1;
                        sink.event(ListEvent::Broken(error));
                    }
                }
            });
            pushed.map_err(|error| undecodable(&error, &path))?;
            sink.flush().await;
        }
        let end = decoder.finish().map_err(|error| undecodable(&error, &path))?;
        Ok((end, opened.date))
    }
}

fn undecodable(error: &ListDecodeError, path: &str) -> ReadError {
    match *error {
        ListDecodeError::Truncated { items, .. } => {
            ReadError::Truncated { path: path.to_owned(), items }
        }
        _ => ReadError::undecodable(path, error),
    }
}

#[cfg(test)]
mod tests {
    use super::ListRequest;
    use crate::model::Kind;

    #[test]
    fn paths_are_encoded() {
        let pods = ListRequest {
            namespace: Some("shop".to_owned()),
            field_selector: Some("status.phase!=Failed,spec.nodeName=a b".to_owned()),
            label_selector: Some("a in (b,c)".to_owned()),
            ..ListRequest::of(Kind::Pod, "v1")
        };
        assert_eq!(pods.path(), "/api/v1/namespaces/shop/pods");
        assert_eq!(
            pods.page_path(Some(5), "a+/="),
            "/api/v1/namespaces/shop/pods?fieldSelector=status.phase%21%3DFailed%2Cspec.nodeName%3Da%20b&labelSelector=a%20in%20%28b%2Cc%29&limit=5&continue=a%2B%2F%3D"
        );
        assert_eq!(
            ListRequest::of(Kind::StatefulSet, "v1").page_path(None, ""),
            "/apis/apps/v1/statefulsets"
        );
    }
}
