//! `KindLister`, which lists each kind, in the version that is served, and by namespace where only that is allowed.

use std::sync::Arc;

use tokio::sync::{OnceCell, watch};

use super::gap_reason;
use super::reach_watch::{ReachRequests, ReachWatch};
use super::{Message, Outbox};
use crate::client::{Decoding, Discovery, ListEvent, ListRequest, ReadError, Reader};
use crate::cluster::{Change, Coverage, Gap, Reach};
use crate::model::{Kind, Text};
use crate::objects::AnyObject;
use crate::{client, objects};

/// Result of listing a kind.
pub(super) enum ListedKind {
    /// The list ended, with the watches that keep current what was listed. A gap has none.
    Watched(Vec<ReachWatch>),
    /// The server does not serve the kind.
    NotServed,
}

/// Lister of kinds, with one task for each. Discovery and the list of namespaces are shared among the tasks.
pub(super) struct KindLister {
    reader: Reader,
    page: Option<u32>,
    /// The only namespaces that are listed where neither the cluster nor its namespaces may be.
    tried: Vec<String>,
    outbox: Outbox,
    namespaces: OnceCell<Result<Vec<String>, String>>,
    discovery: Discovery,
    /// Whether the list of volumes has ended.
    volumes_listed: watch::Receiver<bool>,
}

impl KindLister {
    /// Returns a lister of the kinds. Until `volumes_listed` is true, only volumes and pods are listed.
    pub(super) fn new(
        reader: &Reader,
        page: Option<u32>,
        tried: &[String],
        outbox: Outbox,
        volumes_listed: watch::Receiver<bool>,
    ) -> Self {
        Self {
            reader: reader.clone(),
            page,
            tried: tried.to_vec(),
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
        if kind.is_inventory() {
            return self.list_inventory(kind).await;
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
        if error.is_forbidden() && (kind.is_of_guard() || kind.is_inventory()) {
            // Only rules about the guard miss it, or nothing but these disks.
            return self.withhold(kind, gap_reason(&error));
        }
        let by_namespace = kind.is_namespaced() && kind != Kind::Lease && kind != Kind::Event;
        if !error.is_forbidden() || !by_namespace {
            return self.gap(kind, None, gap_reason(&error));
        }
        // Who may not list a kind in the whole cluster may still list it in a namespace.
        let (namespaces, all) = match self.all_namespaces().await {
            Ok(namespaces) => (namespaces, true),
            Err(_) => (self.tried.clone(), false),
        };
        // All namespaces do not add up to the cluster: one may be new since they were listed.
        let reason = match all {
            true => format!("{}; only each namespace was listed by itself", gap_reason(&error)),
            false => format!(
                "{}; namespaces may not be listed either, so only {} {} tried",
                gap_reason(&error),
                self.tried.join(", "),
                if self.tried.len() == 1 { "was" } else { "were" }
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

    /// Lists an inventory where it is served. That it is not is never proven: nothing rests on its absence.
    async fn list_inventory(&self, kind: Kind) -> ListedKind {
        ListedKind::Watched(match self.discovery.listed_version_of(kind).await {
            Ok(Some(version)) => {
                if version != kind.group().version {
                    let served = Change::Served(kind, version.as_str().into());
                    self.outbox.send(Message::Change(served));
                }
                match objects::decoding(kind) {
                    Some(decoding) => self.list(kind, decoding, &version).await,
                    None => Vec::new(),
                }
            }
            Ok(None) => return ListedKind::NotServed,
            Err(reason) => self.withhold(kind, reason),
        })
    }

    /// Reports that a kind was not read although nothing else misses it.
    fn withhold(&self, kind: Kind, reason: String) -> Vec<ReachWatch> {
        let gap = Gap { kind, namespace: None, reason };
        let withheld = Change::Covered(Reach::all(kind), Coverage::Withheld(gap));
        self.outbox.send(Message::Change(withheld));
        Vec::new()
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
