//! Reading a cluster once: one list per kind, in parallel, in an order that proves absence.
//!
//! What is named (claims, nodes, classes) is listed after the volumes that name it, so that
//! "not in the list" means "not there" without asking for each one.

use std::sync::Arc;

use tokio::sync::{OnceCell, mpsc, watch};

use super::{
    client::{self, ListEvent, ListRequest, ListSink, ReadError, Reader, Served, ServedKinds},
    dump::DumpError,
    intake::Intake,
    objects::{self, Object},
};
use crate::cluster::{Change, Gap, Reach};
use crate::model::{Kind, Server, Text};

/// What to read, and how.
#[derive(Debug, Clone, Default)]
pub struct LiveOptions {
    /// The kinds to list.
    pub kinds: Vec<Kind>,
    /// `--chunk-size`: items per page, zero for no pages; `None` leaves it to the server's version.
    pub chunk_size: Option<u32>,
    /// The namespace to fall back on where nothing wider may be listed.
    pub namespace: String,
    /// The server's URL, for the report.
    pub server: String,
}

/// Why a cluster could not be read at all.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The server cannot be reached, or does not let us in.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// What was read cannot be saved.
    #[error(transparent)]
    Save(#[from] DumpError),
}

/// What a list task tells the owner of the cluster.
enum Message {
    Change(Change),
    Objects(Box<dyn Batch>),
    Broken(Reach, String),
    Complete(Reach, Option<crate::model::Time>),
}

/// Decoded objects of one kind on their way.
trait Batch: Send {
    fn take_in(self: Box<Self>, intake: &mut Intake) -> Result<(), DumpError>;
}

impl<T: Object + 'static> Batch for Vec<T> {
    fn take_in(self: Box<Self>, intake: &mut Intake) -> Result<(), DumpError> {
        self.iter().try_for_each(|object| intake.object(object))
    }
}

/// Objects per message: enough to make messages rare, few enough to keep memory flat. One chunk
/// of bytes may hold a few more.
const BATCH: usize = 64;
/// Messages on their way: a slow reader of messages slows the lists down.
const CHANNEL: usize = 8;
/// The events that are looked at.
pub const EVENTS: [&str; 5] = [
    "involvedObject.kind=PersistentVolume",
    "involvedObject.kind=PersistentVolumeClaim",
    "involvedObject.kind=StatefulSet",
    "involvedObject.kind=Pod,reason=FailedAttachVolume",
    "involvedObject.kind=Pod,reason=FailedMount",
];
/// The first minor version that sends a list as it is encoded, instead of buffering it whole.
const STREAMING_LISTS: (u32, u32) = (1, 33);

/// Reads everything that was asked for into `intake`, telling `progress` after every batch.
///
/// # Errors
/// Only when nothing can be read at all; what is missing otherwise becomes a gap.
pub async fn read(
    reader: &Reader,
    options: &LiveOptions,
    intake: &mut Intake,
    progress: &mut dyn FnMut(&Intake),
) -> Result<(), LiveError> {
    let version = client::version(reader).await;
    let version = match version {
        Ok(version) => Some(version),
        // Some servers hide their version; whatever else is wrong would be wrong for every list.
        Err(error) if error.is_forbidden() || error.is_not_found() => None,
        Err(error) => return Err(error.into()),
    };
    let streams = version.as_ref().is_none_or(|it| (it.major, it.minor) >= STREAMING_LISTS);
    let page = match options.chunk_size {
        Some(size) => Some(size).filter(|size| *size > 0),
        None => (!streams).then_some(client::FALLBACK_PAGE),
    };
    let (sender, mut receiver) = mpsc::channel(CHANNEL);
    let (volumes_done, gate) = watch::channel(!options.kinds.contains(&Kind::PersistentVolume));
    let context = Arc::new(Context {
        reader: reader.clone(),
        page,
        namespace: options.namespace.clone(),
        sender,
        namespaces: OnceCell::new(),
        served: OnceCell::new(),
        gate,
    });
    for kind in options.kinds.iter().copied().filter(|kind| kind.is_listed()) {
        tokio::spawn(Arc::clone(&context).list_kind(kind));
    }
    let identity = {
        let reader = reader.clone();
        tokio::spawn(async move { client::cluster_uid(&reader).await })
    };
    drop(context);
    while let Some(message) = receiver.recv().await {
        match message {
            Message::Change(change) => {
                let lost_volumes =
                    matches!(&change, Change::Lost(gap) if gap.kind == Kind::PersistentVolume);
                intake.apply(change);
                if lost_volumes {
                    volumes_done.send_replace(true);
                }
            }
            Message::Objects(batch) => batch.take_in(intake)?,
            Message::Broken(reach, reason) => intake.broke(reach, reason),
            Message::Complete(reach, date) => {
                let volumes = reach.kind == Kind::PersistentVolume;
                intake.complete(reach);
                if let Some(date) = intake.cluster.clock().max(date) {
                    intake.apply(Change::Clock(date));
                }
                if volumes {
                    volumes_done.send_replace(true);
                }
            }
        }
        progress(intake);
    }
    let cluster_uid = match identity.await {
        Ok(Ok(uid)) => uid.map(Into::into),
        Ok(Err(_)) | Err(_) => None,
    };
    intake.apply(Change::Server(Server {
        cluster_uid,
        url: Some(options.server.as_str().into()),
        git_version: version.as_ref().map(|version| version.git.as_str().into()),
        version: version.map(|version| (version.major, version.minor)),
    }));
    Ok(())
}

struct Context {
    reader: Reader,
    page: Option<u32>,
    namespace: String,
    sender: mpsc::Sender<Message>,
    namespaces: OnceCell<Result<Vec<String>, String>>,
    served: OnceCell<Result<ServedKinds, String>>,
    /// Opens when the volumes are in.
    gate: watch::Receiver<bool>,
}

impl Context {
    async fn list_kind(self: Arc<Self>, kind: Kind) {
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
            Ok(None) => return self.tell(Message::Change(Change::NotServed(kind))).await,
            Err(reason) => return self.lose(kind, None, reason).await,
        };
        match kind {
            Kind::PersistentVolume => self.list::<objects::PersistentVolume>(&version).await,
            Kind::PersistentVolumeClaim => {
                self.list::<objects::PersistentVolumeClaim>(&version).await;
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
                self.list::<objects::ReplicationController>(&version).await;
            }
            Kind::Job => self.list::<objects::Job>(&version).await,
            Kind::CronJob => self.list::<objects::CronJob>(&version).await,
            Kind::HorizontalPodAutoscaler => {
                self.list::<objects::HorizontalPodAutoscaler>(&version).await;
            }
            Kind::Lease => self.list::<objects::Lease>(&version).await,
            Kind::Event => self.list::<objects::Event>(&version).await,
            Kind::VolumeSnapshot => self.list::<objects::VolumeSnapshot>(&version).await,
            Kind::VolumeAttributesClass => {
                self.list::<objects::VolumeAttributesClass>(&version).await;
            }
            Kind::VolumeSnapshotContent => {
                self.list::<objects::VolumeSnapshotContent>(&version).await;
            }
            Kind::VolumeGroupSnapshotContent => {
                self.list::<objects::VolumeGroupSnapshotContent>(&version).await;
            }
            // Listed for their names only, or not at all.
            Kind::Namespace
            | Kind::Secret
            | Kind::PartialObjectMetadata
            | Kind::SubjectAccessReview => {}
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

    async fn list<T: Object + 'static>(&self, version: &str) {
        let kind = T::KIND;
        let error = match self.list_within::<T>(version, None).await {
            Ok(()) => return,
            Err(error) => error,
        };
        let by_namespace = kind.is_namespaced() && kind != Kind::Lease && kind != Kind::Event;
        if !error.is_forbidden() || !by_namespace {
            return self.lose(kind, None, reason(&error)).await;
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
        self.lose(kind, None, reason_of_whole).await;
        for namespace in namespaces {
            if let Err(error) = self.list_within::<T>(version, Some(&namespace)).await {
                self.lose(kind, Some(namespace.as_str().into()), reason(&error)).await;
            }
        }
    }

    async fn list_within<T: Object + 'static>(
        &self,
        version: &str,
        namespace: Option<&str>,
    ) -> Result<(), ReadError> {
        let kind = T::KIND;
        let mut request = ListRequest::new(kind.group().name, version, kind.plural());
        request.namespace = namespace.map(str::to_owned);
        request.page = self.page;
        let reach = Reach { kind, namespace: namespace.map(Text::from) };
        self.tell(Message::Change(Change::Begin(reach.clone()))).await;
        let mut sink = Sink::<T> {
            reach: reach.clone(),
            sender: self.sender.clone(),
            objects: Vec::with_capacity(BATCH),
            others: Vec::new(),
        };
        let mut taken = None;
        if kind == Kind::Event {
            // Of all events only these are looked at, and there may be very many others.
            for selector in EVENTS {
                request.field_selector = Some(selector.to_owned());
                taken = client::list(&self.reader, &request, &mut sink).await?.date;
            }
        } else {
            taken = client::list(&self.reader, &request, &mut sink).await?.date;
        }
        sink.send_all().await;
        self.tell(Message::Complete(reach, taken)).await;
        Ok(())
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

    async fn lose(&self, kind: Kind, namespace: Option<Text>, reason: String) {
        self.tell(Message::Change(Change::Lost(Gap { kind, namespace, reason }))).await;
    }

    async fn tell(&self, message: Message) {
        // Nobody listens only when reading was given up.
        let _ = self.sender.send(message).await;
    }
}

/// Collects decoded objects into messages.
struct Sink<T> {
    reach: Reach,
    sender: mpsc::Sender<Message>,
    objects: Vec<T>,
    others: Vec<Message>,
}

impl<T: Object + 'static> ListSink<T> for Sink<T> {
    fn event(&mut self, event: ListEvent<T>) {
        match event {
            ListEvent::Item(object) => self.objects.push(object),
            ListEvent::Broken(error) => {
                let reason = format!("{}: {error}", self.reach.kind.plural());
                self.others.push(Message::Broken(self.reach.clone(), reason));
            }
            // What one of several lists said before stays as true as what the others said.
            ListEvent::Restart if self.reach.kind == Kind::Event => self.objects.clear(),
            ListEvent::Restart => {
                self.objects.clear();
                self.others.clear();
                self.others.push(Message::Change(Change::Begin(self.reach.clone())));
            }
        }
    }

    async fn flush(&mut self) {
        if self.objects.len() >= BATCH || !self.others.is_empty() {
            self.send_all().await;
        }
    }
}

impl<T: Object + 'static> Sink<T> {
    async fn send_all(&mut self) {
        for message in std::mem::take(&mut self.others) {
            let _ = self.sender.send(message).await;
        }
        if !self.objects.is_empty() {
            let batch = std::mem::replace(&mut self.objects, Vec::with_capacity(BATCH));
            let _ = self.sender.send(Message::Objects(Box::new(batch))).await;
        }
    }
}

fn reason(error: &ReadError) -> String {
    match error {
        ReadError::Api { code: 403, message, .. } => format!("forbidden: {}", denial(message)),
        _ => error.to_string(),
    }
}

/// The part of an authorizer's denial that a reader needs: who may not do what, and where.
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

#[cfg(test)]
mod tests {
    use super::denial;

    #[test]
    fn a_denial_says_who_may_not_do_what() {
        let message = "persistentvolumes is forbidden: User \"u\" cannot list resource \"persistentvolumes\" in API group \"\" at the cluster scope";
        assert_eq!(
            denial(message),
            "User \"u\" cannot list resource \"persistentvolumes\" at the cluster scope"
        );
        assert_eq!(denial("a webhook says no"), "a webhook says no");
    }
}
// TEMPORARY STUB
/// Stub.
pub struct Watches {}
impl Watches {
    /// Stub.
    pub fn drain(&mut self, _intake: &mut Intake) -> Result<(), DumpError> {
        Ok(())
    }
}
/// Stub.
pub async fn read_and_watch(
    reader: &Reader,
    options: &LiveOptions,
    intake: &mut Intake,
    progress: &mut dyn FnMut(&Intake),
) -> Result<Watches, LiveError> {
    read(reader, options, intake, progress).await?;
    Ok(Watches {})
}
/// Stub.
pub async fn server(reader: &Reader, url: &str) -> Result<Server, LiveError> {
    let version = client::version(reader).await?;
    let uid = client::cluster_uid(reader).await.ok().flatten();
    Ok(Server {
        cluster_uid: uid.map(Into::into),
        url: Some(url.into()),
        git_version: Some(version.git.as_str().into()),
        version: Some((version.major, version.minor)),
    })
}
