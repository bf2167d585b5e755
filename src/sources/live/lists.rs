//! The lists of one look at a cluster: which versions, in which order, and in which namespaces.

use std::sync::Arc;

use tokio::sync::{OnceCell, watch};

use super::denial::reason;
use super::follow::{Follow, Following};
use super::lister::Lists;
use super::message::{Message, Outbox};
use crate::cluster::{Change, Reach};
use crate::model::{Kind, Text};
use crate::sources::{
    client::{self, ListEvent, ListRequest, ReadError, Reader, Served, ServedKinds},
    objects::{self, Object},
};

/// What can be watched from the end of its list on.
pub(super) type Found = Vec<Box<dyn Following>>;

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
        match kind {
            Kind::PersistentVolume => self.list::<objects::PersistentVolume>(&version).await,
            Kind::PersistentVolumeClaim => {
                self.list::<objects::PersistentVolumeClaim>(&version).await
            }
            Kind::Pod => self.list::<objects::Pod>(&version).await,
            Kind::Node => self.list::<objects::Node>(&version).await,
            Kind::StorageClass => self.list::<objects::StorageClass>(&version).await,
            Kind::CsiDriver => self.list::<objects::CsiDriver>(&version).await,
            Kind::CsiNode => self.list::<objects::CsiNode>(&version).await,
            Kind::VolumeAttachment => self.list::<objects::VolumeAttachment>(&version).await,
            Kind::StatefulSet => self.list::<objects::StatefulSet>(&version).await,
            Kind::Deployment => self.list::<objects::Deployment>(&version).await,
            Kind::ReplicaSet => self.list::<objects::ReplicaSet>(&version).await,
            Kind::DaemonSet => self.list::<objects::DaemonSet>(&version).await,
            Kind::ReplicationController => {
                self.list::<objects::ReplicationController>(&version).await
            }
            Kind::Job => self.list::<objects::Job>(&version).await,
            Kind::CronJob => self.list::<objects::CronJob>(&version).await,
            Kind::HorizontalPodAutoscaler => {
                self.list::<objects::HorizontalPodAutoscaler>(&version).await
            }
            Kind::Lease => self.list::<objects::Lease>(&version).await,
            Kind::Event => self.list::<objects::Event>(&version).await,
            Kind::VolumeSnapshot => self.list::<objects::VolumeSnapshot>(&version).await,
            Kind::VolumeAttributesClass => {
                self.list::<objects::VolumeAttributesClass>(&version).await
            }
            Kind::VolumeSnapshotContent => {
                self.list::<objects::VolumeSnapshotContent>(&version).await
            }
            Kind::VolumeGroupSnapshotContent => {
                self.list::<objects::VolumeGroupSnapshotContent>(&version).await
            }
            // Listed for their names only, or not at all.
            Kind::Namespace
            | Kind::Secret
            | Kind::PartialObjectMetadata
            | Kind::SubjectAccessReview => Vec::new(),
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

    async fn list<T: Object + 'static>(&self, version: &str) -> Found {
        let kind = T::KIND;
        let error = match self.list_within::<T>(version, None).await {
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
            match self.list_within::<T>(version, Some(&namespace)).await {
                Ok(follow) => found.push(follow),
                Err(error) => {
                    found.extend(self.lose(kind, Some(namespace.as_str().into()), reason(&error)));
                }
            }
        }
        found
    }

    async fn list_within<T: Object + 'static>(
        &self,
        version: &str,
        namespace: Option<&str>,
    ) -> Result<Box<dyn Following>, ReadError> {
        let reach = Reach { kind: T::KIND, namespace: namespace.map(Text::from) };
        let lists = Lists::new(reach, version, self.page);
        let versions = lists.read::<T>(&self.reader, &self.outbox).await?;
        Ok(Box::new(Follow::<T>::new(lists, versions)))
    }

    async fn all_namespaces(&self) -> Result<Vec<String>, String> {
        let list = || async {
            let mut names = Vec::new();
            let mut sink = |event: ListEvent<objects::Namespace>| match event {
                ListEvent::Item(namespace) => names.push(namespace.metadata.name),
                ListEvent::Restart => names.clear(),
                ListEvent::Broken(_) => {}
            };
            let request = ListRequest::new("", "v1", "namespaces");
            let listed = client::list(&self.reader, &request, &mut sink).await;
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
