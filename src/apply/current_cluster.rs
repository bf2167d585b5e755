//! The cluster as a run that writes reads it: the lists, the changes that watches brought since, and the objects that
//! are read again for each step.

mod proposing;

use std::{cell::RefCell, collections::BTreeSet, sync::Arc};

use serde_json::Value;

use crate::apply::{
    BesideReader,
    config_map::{self, StoredConfigMap},
};
use crate::client::{ObjectRequest, ReadError, Reader};
use crate::cluster::{Change, Cx, Facts, Reach, Subject};
use crate::dump::{self, DumpError};
use crate::facts;
use crate::model::{
    Announcements, BackendKey, Claim, ControllerRole, Kind, ObjectKey, ObjectRef, Question,
    Recorded, Settings, Text, Time, Uid, Volume, first_of,
};
use crate::objects;
use crate::remedies::snapshot_first;
use crate::sources::{
    intake::Intake,
    live::{Watches, list_again},
};
use proposing::QuestionQueue;

pub(super) use proposing::ExpiredLeases;

/// The cluster as it is now, for the changes of one run. It keeps what was read and judges nothing
/// but the proposal that it is asked for.
///
/// The futures of a run share it within one task: nothing is borrowed across an await.
pub struct CurrentCluster {
    reader: Reader,
    settings: Settings,
    state: RefCell<TrackedState>,
    questions: QuestionQueue,
    /// The controllers whose expired Leases were read twice.
    read_twice: RefCell<BTreeSet<(ControllerRole, Text)>>,
    /// Whether objects that are out of scope by now are refused.
    in_scope: bool,
    /// The clusters that are read beside it.
    beside: Option<Arc<BesideReader>>,
}

/// The cluster that was read so far, with the watches that keep it current.
struct TrackedState {
    intake: Intake,
    /// Facts about drivers that earlier proposals have derived.
    facts: RefCell<Facts>,
    /// Watches that keep the cluster current; `None` where only named objects were read.
    watches: Option<Watches>,
}

impl TrackedState {
    /// Returns the access to the cluster for a proposal.
    fn cx<'a>(&'a self, settings: &'a Settings) -> Cx<'a> {
        Cx::new(&self.intake.cluster, settings, &self.facts)
    }

    /// Removes the facts that may be different now, because of changes or because time has passed: the next proposal
    /// that needs one derives it again. No rule is judged here.
    fn drop_outdated_facts(&mut self) {
        let dirty = std::mem::take(&mut self.intake.dirty);
        let now = self.intake.cluster.clock();
        self.facts.get_mut().retain(|key, (_, wake)| !dirty.outdates(key, *wake, now));
    }
}

/// Reason why nothing can be proposed for an object now.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadAgainError {
    /// The object could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The answer is no object of its kind.
    #[error("it cannot be decoded: {0}")]
    Undecodable(String),
    /// The read object cannot be saved.
    #[error(transparent)]
    Save(#[from] DumpError),
}

/// An object and the objects that it references, as they were just read; `None` where one does not
/// exist.
#[derive(Debug)]
pub(super) struct ReadObjects {
    subject: Option<Value>,
    referenced: Vec<(Option<Value>, ObjectKey)>,
}

/// The objects that are read again with an object.
struct References {
    /// Whether the objects that it references are read again.
    its_own: bool,
    others: Vec<ObjectKey>,
}

impl References {
    const ITS_OWN: Self = Self { its_own: true, others: Vec::new() };
}

impl ReadObjects {
    /// Returns the keys of all objects that were read, the subject last.
    fn keys_with(&self, subject: ObjectKey) -> impl Iterator<Item = ObjectKey> {
        self.referenced.iter().map(|(_, key)| key.clone()).chain([subject])
    }

    /// Returns the object of a step: that of the change, or one that it references.
    pub(super) fn object_of(self, change: &ObjectKey, step: &ObjectKey) -> Option<Value> {
        if change == step {
            return self.subject;
        }
        self.referenced.into_iter().find(|(_, key)| key == step).and_then(|(live, _)| live)
    }
}

impl CurrentCluster {
    /// Starts from everything that was read, with the watches that keep it current.
    pub fn new(
        reader: Reader,
        settings: Settings,
        mut intake: Intake,
        watches: Option<Watches>,
    ) -> Self {
        intake.witness_deletions(crate::facts::EXTERNAL_PROVISIONER);
        let state = TrackedState { intake, facts: RefCell::default(), watches };
        Self {
            reader,
            settings,
            state: RefCell::new(state),
            questions: QuestionQueue::default(),
            read_twice: RefCell::default(),
            in_scope: false,
            beside: None,
        }
    }

    /// Reads these clusters again before each change that loses data.
    pub fn beside(self, beside: Option<Arc<BesideReader>>) -> Self {
        Self { beside, ..self }
    }

    /// Refuses objects that are out of scope by now: their labels selected them, not the user by name.
    pub fn in_scope(self) -> Self {
        Self { in_scope: true, ..self }
    }

    /// Returns everything that was read.
    pub fn into_intake(self) -> Intake {
        self.state.into_inner().intake
    }

    /// Returns the API server's time.
    pub(super) fn clock(&self) -> Option<Time> {
        self.state.borrow().intake.cluster.clock()
    }

    /// Takes in a time that the API server has sent.
    pub(super) fn advance(&self, date: Time) {
        self.state.borrow_mut().intake.advance(date);
    }

    /// Takes in what the watches have brought since the last call.
    pub(super) fn catch_up(&self) -> Result<(), DumpError> {
        let TrackedState { intake, watches, .. } = &mut *self.state.borrow_mut();
        match watches {
            Some(watches) => watches.drain(intake),
            None => Ok(()),
        }
    }

    /// Returns which kinds were read then and cannot be read or watched any more, and why the first of them cannot.
    pub(super) fn lost_since(&self, unread: &BTreeSet<Reach>) -> Option<String> {
        let state = self.state.borrow();
        let mut lost: Vec<_> = state.intake.cluster.gaps().collect();
        lost.retain(|it| !unread.contains(&it.reach()));
        let reason = &lost.first()?.reason;
        let mut kinds: Vec<_> = lost.iter().map(|it| it.kind.plural()).collect();
        kinds.dedup();
        let kinds = first_of(&kinds, 3);
        Some(format!("{kinds} could not be followed since the plan was made: {reason}"))
    }

    /// Looks at a volume as it was last read.
    pub(super) fn volume<T>(&self, name: &str, look: impl FnOnce(Option<&Volume>) -> T) -> T {
        look(self.state.borrow().intake.cluster.volume_named(name))
    }

    /// Returns the outcome for a volume that is kept while its claim is Terminating.
    pub(super) fn rescue(&self, volume: &str) -> Option<String> {
        let state = self.state.borrow();
        let volume = state.intake.cluster.volume_named(volume)?;
        crate::facts::rescue(&state.cx(&self.settings), volume)
    }

    /// Reads an object and the objects that it references again, and takes them in.
    pub(super) async fn read_again(
        &self,
        object: &ObjectRef,
    ) -> Result<Option<Value>, ReadAgainError> {
        Ok(self.read_with_references(object, &[], References::ITS_OWN).await?.subject)
    }

    /// Reads an object and others again, after it has listed again what may use it.
    async fn read_with_references(
        &self,
        object: &ObjectRef,
        lists: &[Reach],
        read: References,
    ) -> Result<ReadObjects, ReadAgainError> {
        let mut listed = Vec::new();
        for reach in lists {
            listed.push(list_again(&self.reader, reach, &self.version_of(reach.kind)).await?);
        }
        let subject = self.read(&object.key).await?;
        let mut referenced = Vec::new();
        let mut keys = read.others;
        if let Some(live) = subject.as_ref().filter(|_| read.its_own) {
            keys.extend(references(object.key.kind, live));
            keys.extend(self.first_snapshot(object, live));
        }
        while let Some(key) = keys.pop() {
            let live = self.read(&key).await?;
            if let Some(live) = live.as_ref().filter(|_| key.kind == Kind::VolumeSnapshot) {
                keys.extend(references(key.kind, live));
            }
            referenced.push((live, key));
        }
        // What the watches bring may be older than what was just read, and is taken in first.
        self.catch_up()?;
        for again in listed {
            again.take_in(&mut self.state.borrow_mut().intake)?;
        }
        for (live, key) in &referenced {
            self.take_in(key, live.as_ref())?;
        }
        self.take_in(&object.key, subject.as_ref())?;
        Ok(ReadObjects { subject, referenced })
    }

    /// Reads an object in the version of its kind that every server serves; `None` when it does not
    /// exist.
    pub(super) async fn get(&self, key: &ObjectKey) -> Result<Option<Value>, ReadError> {
        self.get_in(key, key.kind.group().version).await
    }

    /// Reads an object in a version of its kind; `None` when it does not exist.
    async fn get_in(&self, key: &ObjectKey, version: &str) -> Result<Option<Value>, ReadError> {
        match self.reader.get_object::<Value>(&ObjectRequest::of(key, version)).await {
            Ok(answer) => {
                if let Some(date) = answer.date {
                    self.advance(date);
                }
                Ok(Some(answer.value))
            }
            Err(error) if error.is_absence_of(&key.name) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes in an object as the API server has just returned it; `None` when it does not exist.
    pub(super) fn take_in(
        &self,
        key: &ObjectKey,
        live: Option<&Value>,
    ) -> Result<(), ReadAgainError> {
        let intake = &mut self.state.borrow_mut().intake;
        let exists = Question::Exists(key.clone());
        let Some(live) = live else {
            intake.apply(Change::Gone(key.clone()));
            intake.answer(exists, crate::model::Answer::No)?;
            return Ok(());
        };
        if key.kind.is_custom_workload() {
            // The answer about all users of claims in its namespace has it, and is asked for again.
            return Ok(intake.answer(exists, crate::model::Answer::Yes)?);
        }
        let decoding = match key.kind {
            Kind::PersistentVolume
            | Kind::PersistentVolumeClaim
            | Kind::VolumeAttachment
            | Kind::VolumeSnapshot
            | Kind::VolumeSnapshotContent
            | Kind::StatefulSet
            | Kind::Deployment
            | Kind::ReplicaSet
            | Kind::ReplicationController
            | Kind::Job
            | Kind::CronJob
            | Kind::Pod
            | Kind::Namespace
            | Kind::Node => objects::decoding(key.kind),
            _ => None,
        };
        let decoding = decoding.ok_or_else(|| {
            ReadAgainError::Undecodable(format!(
                "objects of kind {} are not read one by one",
                key.kind
            ))
        })?;
        let text = live.to_string();
        let object = (decoding.json)(&text)
            .map_err(|error| ReadAgainError::Undecodable(dump::explain(&text, &error)))?;
        intake.object(&*object)?;
        intake.answer(exists, crate::model::Answer::Yes)?;
        Ok(())
    }

    /// Whether the record in the cluster lists a backend volume as kept.
    pub(super) fn is_recorded(&self, backend: &BackendKey) -> bool {
        let state = self.state.borrow();
        let kept = state.intake.cluster.kept_backend(backend);
        kept.is_some_and(|it| it.recorded != Recorded::Journal)
    }

    /// Returns the settings of the plan.
    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the uid of the cluster's namespace `kube-system`.
    pub(super) fn cluster_uid(&self) -> Option<Box<str>> {
        self.state.borrow().intake.cluster.server().and_then(|it| it.cluster_uid.clone())
    }

    /// Whether this object, by its uid, is in the state that was last read.
    pub(super) fn exists_as_read(&self, object: &ObjectRef) -> bool {
        let cluster = &self.state.borrow().intake.cluster;
        let uid = match cluster.subject(&object.key) {
            Some(Subject::Volume(id)) => cluster.volume_at(id).map(|it| &it.metadata.uid),
            Some(Subject::Claim(id)) => cluster.claim_at(id).map(|it| &it.metadata.uid),
            Some(Subject::Attachment(id)) => cluster.attachment_at(id).map(|it| &it.metadata.uid),
            _ => None,
        };
        uid.is_some_and(|uid| *uid == object.uid)
    }

    /// Looks at a claim as it was last read.
    pub(super) fn claim<T>(&self, key: &ObjectKey, look: impl FnOnce(Option<&Claim>) -> T) -> T {
        let state = self.state.borrow();
        let claim = match state.intake.cluster.subject(key) {
            Some(Subject::Claim(id)) => state.intake.cluster.claim_at(id),
            _ => None,
        };
        look(claim)
    }

    /// Asks the API server whether an object, by its uid, does not exist any more.
    pub(super) async fn is_deleted(&self, object: &ObjectRef) -> Result<bool, ReadError> {
        let uid = object.uid.as_ref().map(ToString::to_string);
        let live = self.get(&object.key).await?;
        Ok(live.is_none_or(|it| it["metadata"]["uid"].as_str() != uid.as_deref()))
    }
}

impl CurrentCluster {
    /// Returns the last error that a controller reported about an object.
    pub(super) fn last_error(&self, key: &ObjectKey) -> Option<String> {
        let state = self.state.borrow();
        let volume = match state.intake.cluster.subject(key)? {
            Subject::Volume(id) => state.intake.cluster.volume_at(id)?,
            Subject::Attachment(id) => {
                let attachment = state.intake.cluster.attachment_at(id)?;
                return attachment.detach_error.as_ref().map(ToString::to_string);
            }
            Subject::Claim(id) => {
                let claim = state.intake.cluster.claim_at(id)?;
                let cx = state.cx(&self.settings);
                return crate::facts::expansion_error(&cx, claim).ok().flatten();
            }
            _ => return None,
        };
        let cx = state.cx(&self.settings);
        let event = crate::facts::last_event(&cx, volume, &[crate::facts::FAILED_DELETE]);
        event.ok().flatten().map(|series| series.describe_with_reason())
    }

    /// Returns the names of the `VolumeAttachments` of a volume that are Terminating, with the
    /// errors of their attacher.
    pub(super) fn detaching(&self, volume: &str) -> Vec<String> {
        let state = self.state.borrow();
        let cx = state.cx(&self.settings);
        let attachments = cx.attachments_of(volume).unwrap_or_default().into_iter();
        attachments
            .filter(|it| it.metadata.deleting.is_some())
            .map(|it| match &it.detach_error {
                Some(error) => format!("{} ({error})", it.object()),
                None => it.object().to_string(),
            })
            .collect()
    }
}

/// Returns the objects that an object references and that are read again with it, because a
/// decision about it rests on them.
fn references(kind: Kind, live: &Value) -> Vec<ObjectKey> {
    let cluster_wide =
        |kind, name: &Value| name.as_str().map(|name| ObjectKey::cluster_wide(kind, name));
    match kind {
        Kind::PersistentVolume => claim_of(live).into_iter().collect(),
        Kind::PersistentVolumeClaim => {
            cluster_wide(Kind::PersistentVolume, &live["spec"]["volumeName"]).into_iter().collect()
        }
        Kind::VolumeAttachment => {
            let volume = &live["spec"]["source"]["persistentVolumeName"];
            let volume = cluster_wide(Kind::PersistentVolume, volume);
            volume.into_iter().chain(cluster_wide(Kind::Node, &live["spec"]["nodeName"])).collect()
        }
        Kind::VolumeSnapshot => {
            let content = &live["status"]["boundVolumeSnapshotContentName"];
            cluster_wide(Kind::VolumeSnapshotContent, content).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the claim that a volume references.
pub(super) fn claim_of(live: &Value) -> Option<ObjectKey> {
    let claim = live["spec"].get("claimRef")?;
    Some(ObjectKey {
        kind: Kind::PersistentVolumeClaim,
        namespace: Some(claim["namespace"].as_str()?.into()),
        name: claim["name"].as_str()?.into(),
    })
}

impl CurrentCluster {
    /// Reads a `ConfigMap` in the namespace of the records; `None` where it does not exist.
    pub(super) async fn record(&self, name: &str) -> Result<Option<StoredConfigMap>, ReadError> {
        config_map::read(&self.reader, &self.settings.recording.namespace, name).await
    }

    /// Returns a `ConfigMap` from the list of the namespace of the records; `None` where it is not in the list.
    pub(super) async fn listed_record(
        &self,
        name: &str,
    ) -> Result<Option<StoredConfigMap>, ReadError> {
        config_map::find(&self.reader, &self.settings.recording.namespace, name).await
    }

    /// Returns the recorded announcements, as they were last read; none where they were not, and then nothing is
    /// announced either.
    pub(super) fn announcements(&self) -> Arc<Announcements> {
        let state = self.state.borrow();
        facts::announcements(&state.cx(&self.settings)).unwrap_or_default()
    }
}

impl CurrentCluster {
    /// Returns the snapshot that is taken of a claim before it is deleted, and before the data of
    /// its volume is destroyed, whether it exists or not.
    fn first_snapshot(&self, object: &ObjectRef, live: &Value) -> Option<ObjectKey> {
        let wanted = self.settings.snapshot_first.as_ref()?;
        let claim = match object.key.kind {
            Kind::PersistentVolumeClaim => object.clone(),
            Kind::PersistentVolume => ObjectRef {
                key: claim_of(live)?,
                uid: live["spec"]["claimRef"]["uid"].as_str().and_then(Uid::parse),
            },
            _ => return None,
        };
        Some(snapshot_first::key(wanted, &claim))
    }

    /// Reads an object, in the version that the server prefers.
    pub(super) async fn read(&self, key: &ObjectKey) -> Result<Option<Value>, ReadError> {
        self.get_in(key, &self.version_of(key.kind)).await
    }

    /// Reads an object again without those that it references, and takes it in.
    pub(super) async fn read_alone(
        &self,
        object: &ObjectRef,
    ) -> Result<Option<Value>, ReadAgainError> {
        let live = self.read(&object.key).await?;
        // What the watches bring may be older than what was just read, and is taken in first.
        self.catch_up()?;
        self.take_in(&object.key, live.as_ref())?;
        Ok(live)
    }

    /// Returns the version of a kind that the server prefers.
    fn version_of(&self, kind: Kind) -> Text {
        self.state.borrow().intake.cluster.version_of(kind).into()
    }
}
