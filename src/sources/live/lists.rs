//! The lists of one look at a cluster: which versions, in which order, and in which namespaces.

use std::sync::Arc;

use tokio::sync::{OnceCell, watch};

use super::denial::reason;
use super::follow::Follow;
use super::lister::Lists;
use super::message::{Message, Outbox};
use crate::client::{
    self, Decoding, ListEvent, ListRequest, ReadError, Reader, Served, ServedKinds,
};
use crate::cluster::{Change, Reach};
use crate::model::{Kind, Text};
use crate::objects::{self, AnyObject};

/// What can be watched from the end of its list on.
pub(super) type Found = Vec<Follow>;

/// What the tasks that list share.
pub(super) struct Context {
    reader: Reader,
    page: Option<u32>,
    namespace: String,
    outbox: Outbox,
    namespaces: OnceCell<Result<Vec<String>, String>>,
    served: OnceCell<Result<ServedKinds, String>>,
    /// Opens when the volumes are in.
    gate: watch::Receiver<bool>,
}

impl Context {
    /// Prepares to list; only volumes and pods before `gate` opens.
    pub(super) fn new(
        reader: &Reader,
        page: Option<u32>,
        namespace: &str,
        outbox: Outbox,
        gate: watch::Receiver<bool>,
    ) -> Self {
        Self {
            reader: reader.clone(),
            page,
            namespace: namespace.to_owned(),
            outbox,
            namespaces: OnceCell::new(),
            served: OnceCell::new(),
            gate,
        }
    }

    pub(super) async fn list_kind(self: Arc<Self>, kind: Kind) -> Found {
        // What volumes name has to be asked for after them. The rest is let in with it, so that the
        // server does not take its time over volumes while everything else is asked for: only pods,
        // the longest list by far, begin beside them.
        if !matches!(kind, Kind::PersistentVolume | Kind::Pod) {
            let mut gate = self.gate.clone();
            // The owner is gone only when reading was given up.
            let _ = gate.wait_for(|open| *open).await;
        }
        let version = match self.version_of(kind).await {
            Ok(Some(version)) => version,
            Ok(None) => {
                self.outbox.tell(Message::Change(Change::NotServed(kind)));
                return Vec::new();
            }
            Err(reason) => return self.lose(kind, None, reason),
        };
        match objects::decoding(kind) {
            Some(decoding) => self.list(kind, decoding, &version).await,
            // Listed for their names only, or not at all.
            None => Vec::new(),
        }
    }

    /// The version under which a kind is to be read; `None` when it is not served.
    async fn version_of(&self, kind: Kind) -> Result<Option<String>, String> {
        if !kind.is_optional() {
            return Ok(Some(kind.group().version.to_owned()));
        }
        let served = self
            .served
            .get_or_init(|| async {
                client::discover(&self.reader).await.map_err(|error| error.to_string())
            })
            .await
            .as_ref()
            .map_err(|error| format!("what is served could not be found out: {error}"))?;
        match served.served(kind.group().name, kind.plural()) {
            Served::Versions(versions) => Ok(versions.first().map(|first| first.version.clone())),
            Served::Not => Ok(None),
            Served::Unseen => Err("whether it is served could not be found out".to_owned()),
        }
    }

    async fn list(
        &self,
        kind: Kind,
        decoding: Decoding<Box<dyn AnyObject>>,
        version: &str,
    ) -> Found {
        let whole = Reach::all(kind);
        let error = match self.list_within(whole, decoding, version).await {
            Ok(follow) => return vec![follow],
            Err(error) => error,
        };
        let by_namespace = kind.is_namespaced() && kind != Kind::Lease && kind != Kind::Event;
        if !error.is_forbidden() || !by_namespace {
            return self.lose(kind, None, reason(&error));
        }
        // What may not be seen as a whole may still be seen in parts.
        let (namespaces, all) = match self.all_namespaces().await {
            Ok(namespaces) => (namespaces, true),
            Err(_) => (vec![self.namespace.clone()], false),
        };
        // Parts do not add up to the whole: a namespace may be new since they were listed.
        let reason_of_whole = match all {
            true => format!("{}; only each namespace by itself was", reason(&error)),
            false => format!(
                "{}; namespaces may not be listed either, so only {} was tried",
                reason(&error),
                self.namespace
            ),
        };
        let mut found = self.lose(kind, None, reason_of_whole);
        for namespace in namespaces {
            let part = Reach { kind, namespace: Some(Text::from(namespace.as_str())) };
            match self.list_within(part, decoding, version).await {
                Ok(follow) => found.push(follow),
                Err(error) => {
                    found.extend(self.lose(kind, Some(namespace.as_str().into()), reason(&error)));
                }
            }
        }
        found
    }

    async fn list_within(
        &self,
        reach: Reach,
        decoding: Decoding<Box<dyn AnyObject>>,
        version: &str,
    ) -> Result<Follow, ReadError> {
        let lists = Lists::new(reach, version, self.page, decoding);
        let versions = lists.read(&self.reader, &self.outbox).await?;
        Ok(Follow::new(lists, versions))
    }

    async fn all_namespaces(&self) -> Result<Vec<String>, String> {
        let list = || async {
            let mut names = Vec::new();
            let mut sink = |event: ListEvent<Box<dyn AnyObject>>| match event {
                ListEvent::Item(namespace) => names.push(namespace.identity().name.to_owned()),
                ListEvent::Restart => names.clear(),
                ListEvent::Broken(_) => {}
            };
            let request = ListRequest::new("", "v1", "namespaces");
            let decoding = objects::decoding_of::<objects::Namespace>();
            let listed = client::list(&self.reader, &request, decoding, &mut sink).await;
            listed.map(|_| names).map_err(|error| error.to_string())
        };
        self.namespaces.get_or_init(list).await.clone()
    }

    /// Tells of a gap, which nobody watches.
    fn lose(&self, kind: Kind, namespace: Option<Text>, reason: String) -> Found {
        self.outbox.lose(&Reach { kind, namespace }, reason);
        Vec::new()
    }
}
