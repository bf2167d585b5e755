//! What a run sees while it writes: the lists, what has changed since, and the objects that are
//! read anew for each step.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::Value;

use super::request;
use crate::cluster::{Change as Seen_, Lookup, Seen, Subject};
use crate::model::{
    BackendKey, Claim, Kind, ObjectKey, ObjectRef, Proposal, Question, Recorded, Refusal, Settings,
    Time, Volume,
};
use crate::plan::Purpose;
use crate::rules::Assessor;
use crate::sources::client::{ReadError, Reader};
use crate::sources::dump::DumpError;
use crate::sources::intake::Intake;
use crate::sources::live::Watches;
use crate::sources::{answers, objects};

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

    /// Reads an object, and the claim that it names, anew.
    pub(super) async fn look(&self, object: &ObjectRef) -> Result<Live, LookError> {
        let live = self.read(&object.key).await?;
        let claim = live.as_ref().and_then(claim_of);
        let claim = match claim {
            Some(key) => Some((self.read(&key).await?, key)),
            None => None,
        };
        // What the watches bring may be older than what was just read: it comes first.
        self.catch_up()?;
        if let Some((claim, key)) = claim {
            self.take_in(&key, claim.as_ref())?;
        }
        self.take_in(&object.key, live.as_ref())?;
        Ok(live)
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
        let undecodable = |error: serde_json::Error| LookError::Undecodable(error.to_string());
        let value = live.clone();
        match key.kind {
            Kind::PersistentVolume => intake.object(
                &serde_json::from_value::<objects::PersistentVolume>(value).map_err(undecodable)?,
            )?,
            Kind::PersistentVolumeClaim => intake.object(
                &serde_json::from_value::<objects::PersistentVolumeClaim>(value)
                    .map_err(undecodable)?,
            )?,
            other => return Err(LookError::Undecodable(format!("nobody writes {other}"))),
        }
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
    ) -> Result<(Live, Seen<Result<Proposal, Refusal>>), LookError> {
        let mut rounds = ROUNDS;
        loop {
            self.ask_again(purpose, object).await?;
            let live = if let Some(subject) = purpose.subject(object) {
                self.look(subject).await?
            } else {
                for key in purpose.counterparts(object) {
                    self.look(&ObjectRef { key, uid: None }).await?;
                }
                Some(Value::Null)
            };
            let (proposed, questions) = self.propose(purpose, object, false);
            rounds -= 1;
            // What was just read may raise a question that nobody has asked yet.
            if questions.is_empty() || rounds == 0 {
                return Ok((live, proposed));
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
    pub(super) fn last_complaint(&self, name: &str) -> Option<String> {
        let state = self.state.borrow();
        let volume = state.intake.cluster.volume_named(name)?;
        let cx = state.assessor.cx(&state.intake.cluster, &self.settings);
        let event = crate::facts::last_event(&cx, volume, &[crate::facts::FAILED_DELETE]);
        event.ok().flatten().map(|event| format!("{}: {}", event.reason, event.message))
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

/// The claim that a volume names.
pub(super) fn claim_of(live: &Value) -> Option<ObjectKey> {
    let claim = live["spec"].get("claimRef")?;
    Some(ObjectKey {
        kind: Kind::PersistentVolumeClaim,
        namespace: Some(claim["namespace"].as_str()?.into()),
        name: claim["name"].as_str()?.into(),
    })
}
