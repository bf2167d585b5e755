//! What a run sees while it writes: the lists, what has changed since, and the objects that are
//! read anew for each step.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::Value;

use super::request;
use crate::client::{ReadError, Reader};
use crate::cluster::{Change as Seen_, Lookup, Reach, Seen, Subject};
use crate::dump::{self, DumpError};
use crate::model::{
    BackendKey, Claim, ClaimKey, Kind, ObjectKey, ObjectRef, Proposal, Question, Recorded, Refusal,
    Settings, Text, Time, Volume,
};
use crate::objects;
use crate::plan::Purpose;
use crate::rules::Assessor;
use crate::sources::answers;
use crate::sources::intake::Intake;
use crate::sources::live::{Watches, list_again};

/// Rounds of questions about one object: an answer may raise another question, but not for ever.
const ROUNDS: usize = 3;

/// The eyes of a run. Its futures share it within one task: nothing is borrowed across an await.
pub struct View {
    reader: Reader,
    settings: Settings,
    state: RefCell<State>,
}

struct State {
    intake: Intake,
    assessor: Assessor,
    /// What keeps it current; `None` where only named objects are looked at.
    watches: Option<Watches>,
}

/// Why an object cannot be judged now.
#[derive(Debug, thiserror::Error)]
pub(super) enum LookError {
    /// It could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It is not what it should be.
    #[error("it cannot be decoded: {0}")]
    Undecodable(String),
    /// What was read cannot be kept.
    #[error(transparent)]
    Save(#[from] DumpError),
}

/// An object as it was just read: `None` when it is gone.
pub(super) type Live = Option<Value>;

/// An object, and what it names, as they were just read.
#[derive(Debug)]
pub(super) struct Looked {
    pub(super) subject: Live,
    others: Vec<(Live, ObjectKey)>,
}

impl Looked {
    /// The object that a step is about: the change's own, or one that it names.
    pub(super) fn of(self, change: &ObjectKey, step: &ObjectKey) -> Live {
        if change == step {
            return self.subject;
        }
        self.others.into_iter().find(|(_, key)| key == step).and_then(|(live, _)| live)
    }
}

impl View {
    /// Begins with what was read, and what keeps it current.
    pub fn new(
        reader: Reader,
        settings: Settings,
        intake: Intake,
        assessor: Assessor,
        watches: Option<Watches>,
    ) -> Self {
        Self { reader, settings, state: RefCell::new(State { intake, assessor, watches }) }
    }

    /// Gives back everything that was seen.
    pub fn into_intake(self) -> Intake {
        self.state.into_inner().intake
    }

    /// The server's clock.
    pub(super) fn clock(&self) -> Option<Time> {
        self.state.borrow().intake.cluster.clock()
    }

    /// Takes in what the server's clock showed.
    pub(super) fn advance(&self, date: Time) {
        self.state.borrow_mut().intake.advance(date);
    }

    /// Takes in what the watches have brought.
    pub(super) fn catch_up(&self) -> Result<(), DumpError> {
        let State { intake, watches, .. } = &mut *self.state.borrow_mut();
        match watches {
            Some(watches) => watches.drain(intake),
            None => Ok(()),
        }
    }

    /// Looks at a volume as it was last seen.
    pub(super) fn volume<T>(&self, name: &str, look: impl FnOnce(Option<&Volume>) -> T) -> T {
        look(self.state.borrow().intake.cluster.volume_named(name))
    }

    /// Reads an object, and what it names, anew.
    pub(super) async fn look(&self, object: &ObjectRef) -> Result<Live, LookError> {
        Ok(self.look_around(object, &[]).await?.subject)
    }

    /// Reads an object, and what it names, anew, and lists again whoever may use it.
    async fn look_around(&self, object: &ObjectRef, lists: &[Reach]) -> Result<Looked, LookError> {
        let mut listed = Vec::new();
        for reach in lists {
            listed.push(list_again(&self.reader, reach).await?);
        }
        let subject = self.read(&object.key).await?;
        let mut others = Vec::new();
        for key in subject.as_ref().map(|live| named_by(object.key.kind, live)).unwrap_or_default()
        {
            others.push((self.read(&key).await?, key));
        }
        // What the watches bring may be older than what was just read: it comes first.
        self.catch_up()?;
        for again in listed {
            again.take_in(&mut self.state.borrow_mut().intake)?;
        }
        for (other, key) in &others {
            self.take_in(key, other.as_ref())?;
        }
        self.take_in(&object.key, subject.as_ref())?;
        Ok(Looked { subject, others })
    }

    async fn read(&self, key: &ObjectKey) -> Result<Live, LookError> {
        Ok(self.get(&request::path(key)).await?)
    }

    /// Reads whatever is at a path.
    pub(super) async fn get(&self, path: &str) -> Result<Live, ReadError> {
        match self.reader.get_json::<Value>(path).await {
            Ok(answer) => {
                if let Some(date) = answer.date {
                    self.advance(date);
                }
                Ok(Some(answer.value))
            }
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes in an object as the server has just shown it.
    pub(super) fn take_in(&self, key: &ObjectKey, live: Option<&Value>) -> Result<(), LookError> {
        let intake = &mut self.state.borrow_mut().intake;
        let exists = Question::Exists(key.clone());
        let Some(live) = live else {
            intake.apply(Seen_::Gone(key.clone()));
            intake.answer(exists, crate::model::Answer::No)?;
            return Ok(());
        };
        let decoding = match key.kind {
            Kind::PersistentVolume
            | Kind::PersistentVolumeClaim
            | Kind::VolumeAttachment
            | Kind::Node => objects::decoding(key.kind),
            _ => None,
        };
        let decoding = decoding.ok_or_else(|| {
            LookError::Undecodable(format!("nobody reads {} by itself", key.kind))
        })?;
        let text = live.to_string();
        let object = (decoding.json)(&text)
            .map_err(|error| LookError::Undecodable(dump::explain(&text, &error)))?;
        intake.object(&*object)?;
        intake.answer(exists, crate::model::Answer::Yes)?;
        Ok(())
    }

    /// Proposes anew what is to be done to an object, from the object as it was just read.
    ///
    /// Questions come first: other changes are made meanwhile, and what they take in may be older
    /// than what is read here. Between the last read and the judgement nothing else is taken in.
    pub(super) async fn judge(
        &self,
        purpose: &Purpose,
        object: &ObjectRef,
    ) -> Result<(Looked, Seen<Result<Proposal, Refusal>>), LookError> {
        let lists = purpose.listed_again(object);
        let mut rounds = ROUNDS;
        loop {
            self.ask_again(purpose, object).await?;
            let looked = if let Some(subject) = purpose.subject(object) {
                self.look_around(subject, &lists).await?
            } else {
                for (index, key) in purpose.counterparts(object).into_iter().enumerate() {
                    let lists = if index == 0 { &lists[..] } else { &[] };
                    self.look_around(&ObjectRef { key, uid: None }, lists).await?;
                }
                Looked { subject: Some(Value::Null), others: Vec::new() }
            };
            let (proposed, questions) = self.propose(purpose, object, false);
            rounds -= 1;
            // What was just read may raise a question that nobody has asked yet.
            if questions.is_empty() || rounds == 0 {
                return Ok((looked, proposed));
            }
        }
    }

    /// Asks every question that bears on what is to be done, whether it was answered or not.
    async fn ask_again(&self, purpose: &Purpose, object: &ObjectRef) -> Result<(), DumpError> {
        let (_, questions) = self.propose(purpose, object, true);
        if questions.is_empty() {
            return Ok(());
        }
        let replies = answers::replies(&self.reader, questions).await;
        replies.take_in(&mut self.state.borrow_mut().intake)
    }

    /// Proposes what is to be done, as it is seen now; with the questions that came up, `answered`
    /// or not.
    fn propose(
        &self,
        purpose: &Purpose,
        object: &ObjectRef,
        answered: bool,
    ) -> (Seen<Result<Proposal, Refusal>>, BTreeSet<Question>) {
        let State { intake, assessor, .. } = &mut *self.state.borrow_mut();
        let dirty = std::mem::take(&mut intake.dirty);
        assessor.update(&intake.cluster, &self.settings, dirty);
        let cx = assessor.cx(&intake.cluster, &self.settings);
        cx.listen();
        let proposed = purpose.propose(&cx, object);
        let mut questions = cx.take_questions();
        if answered {
            let (looked, _) = cx.take_notes();
            questions.extend(looked.into_iter().filter_map(|it| match it {
                // Whether this object and its claim exist is seen when they are read.
                Lookup::Answer(question) if !matches!(question, Question::Exists(_)) => {
                    Some(question)
                }
                _ => None,
            }));
        }
        (proposed, questions)
    }

    /// Whether the record in the cluster has a backend volume as left behind.
    pub(super) fn is_recorded(&self, backend: &BackendKey) -> bool {
        let state = self.state.borrow();
        let kept = state.intake.cluster.kept_backend(backend);
        kept.is_some_and(|it| it.recorded != Recorded::Journal)
    }

    /// What its controllers last complained of.
    pub(super) fn last_complaint(&self, key: &ObjectKey) -> Option<String> {
        let state = self.state.borrow();
        let volume = match state.intake.cluster.subject(key)? {
            Subject::Volume(id) => state.intake.cluster.volume_at(id)?,
            Subject::Attachment(id) => {
                let attachment = state.intake.cluster.attachment_at(id)?;
                return attachment.detach_error.as_ref().map(ToString::to_string);
            }
            _ => return None,
        };
        let cx = state.assessor.cx(&state.intake.cluster, &self.settings);
        let event = crate::facts::last_event(&cx, volume, &[crate::facts::FAILED_DELETE]);
        event.ok().flatten().map(|event| format!("{}: {}", event.reason, event.message))
    }

    /// What it was judged under.
    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The cluster's identity.
    pub(super) fn cluster_uid(&self) -> Option<Box<str>> {
        self.state.borrow().intake.cluster.server().and_then(|it| it.cluster_uid.clone())
    }

    /// Whether this very object is there, as it was last seen.
    pub(super) fn is_seen(&self, object: &ObjectRef) -> bool {
        let cluster = &self.state.borrow().intake.cluster;
        let uid = match cluster.subject(&object.key) {
            Some(Subject::Volume(id)) => cluster.volume_at(id).map(|it| &it.metadata.uid),
            Some(Subject::Claim(id)) => cluster.claim_at(id).map(|it| &it.metadata.uid),
            Some(Subject::Attachment(id)) => cluster.attachment_at(id).map(|it| &it.metadata.uid),
            _ => None,
        };
        uid.is_some_and(|uid| *uid == object.uid)
    }

    /// The attachments of a volume that are being deleted, with what their attacher complains of.
    pub(super) fn detaching(&self, volume: &str) -> Vec<String> {
        let state = self.state.borrow();
        let cx = state.assessor.cx(&state.intake.cluster, &self.settings);
        let attachments = cx.attachments_of(volume).unwrap_or_default().into_iter();
        attachments
            .filter(|it| it.metadata.deleting.is_some())
            .map(|it| match &it.detach_error {
                Some(error) => format!("{} ({error})", it.object()),
                None => it.object().to_string(),
            })
            .collect()
    }

    /// The pods that use a claim, by a list made now.
    pub(super) async fn users_now(&self, key: &ClaimKey) -> Result<Vec<String>, LookError> {
        let reach = Reach { kind: Kind::Pod, namespace: Some(Text::clone(&key.namespace)) };
        let again = list_again(&self.reader, &reach).await?;
        let state = &mut *self.state.borrow_mut();
        again.take_in(&mut state.intake)?;
        let cx = state.assessor.cx(&state.intake.cluster, &self.settings);
        let pods = cx.pods_of(key).unwrap_or_default();
        Ok(pods.into_iter().map(|pod| pod.object().to_string()).collect())
    }

    /// Looks at a claim as it was last seen.
    pub(super) fn claim<T>(&self, key: &ObjectKey, look: impl FnOnce(Option<&Claim>) -> T) -> T {
        let state = self.state.borrow();
        let claim = match state.intake.cluster.subject(key) {
            Some(Subject::Claim(id)) => state.intake.cluster.claim_at(id),
            _ => None,
        };
        look(claim)
    }

    /// Whether an object of this key, or another one of its name, is there now, by asking.
    pub(super) async fn is_gone(&self, object: &ObjectRef) -> Result<bool, ReadError> {
        let uid = object.uid.as_ref().map(ToString::to_string);
        let live = self.get(&request::path(&object.key)).await?;
        Ok(live.is_none_or(|it| it["metadata"]["uid"].as_str() != uid.as_deref()))
    }
}

/// What has to be seen anew with an object, because a decision about it rests on it.
fn named_by(kind: Kind, live: &Value) -> Vec<ObjectKey> {
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
        _ => Vec::new(),
    }
}

/// The claim that a volume names.
pub(super) fn claim_of(live: &Value) -> Option<ObjectKey> {
    let claim = live["spec"].get("claimRef")?;
    Some(ObjectKey {
        kind: Kind::PersistentVolumeClaim,
        namespace: Some(claim["namespace"].as_str()?.into()),
        name: claim["name"].as_str()?.into(),
    })
}
