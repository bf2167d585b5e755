//! Answers to questions about single objects, asked after the lists were read.
//!
//! - here: what the API server is asked for each kind of question, and how the answers reach an
//!   [`Intake`].
//! - `announcements`: the records of announcements and vetoes.
//! - `custom_users`: the custom resources of a namespace that use claims.
//! - `kept_record`: the record of kept backend volumes.

mod announcements;
mod custom_users;
mod kept_record;

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::{StreamExt as _, stream};
use tokio::time::{Instant, sleep_until};

pub use announcements::other_namespaces;

use super::intake::Intake;
use crate::client::{
    self, AccessReview, Discovery, ObjectRequest, OwnerResource, ReadError, Reader,
    ResourceAttributes,
};
use crate::dump::DumpError;
use crate::model::{Answer, KeptBackend, Kind, ObjectKey, OwnerKey, Question};
use crate::objects::{self, AnyObject, PartialObjectMetadata};

/// How many questions are asked at the same time.
const PARALLEL: usize = 16;

/// An answer, and what the server sent with it.
struct Reply {
    answer: Answer,
    content: ReplyContent,
}

/// What the server sent with an answer.
enum ReplyContent {
    Nothing,
    /// The object that was asked about.
    Object(Box<dyn AnyObject>),
    /// The kept backend volumes of a record.
    KeptBackends(Vec<KeptBackend>),
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Self { answer, content: ReplyContent::Nothing }
    }
}

/// Questions with their answers, which no intake has taken in yet.
pub struct Replies(Vec<(Question, Reply)>);

impl Replies {
    /// Whether the server answered every question: what it did not answer, or refused to, proves
    /// nothing.
    pub fn are_answers(&self) -> bool {
        let silence =
            |reply: &Reply| matches!(reply.answer, Answer::Unanswered(_) | Answer::Forbidden);
        !self.0.iter().any(|(_, reply)| silence(reply))
    }

    /// Takes in the answers.
    ///
    /// # Errors
    /// When an answer cannot be saved.
    pub fn take_in(self, intake: &mut Intake) -> Result<(), DumpError> {
        for (question, reply) in self.0 {
            match reply.content {
                ReplyContent::Nothing => {}
                ReplyContent::Object(object) => intake.object(&*object)?,
                ReplyContent::KeptBackends(kept) => {
                    kept.into_iter().try_for_each(|it| intake.kept(it))?;
                }
            }
            intake.answer(question, reply.answer)?;
        }
        Ok(())
    }
}

/// Asks every question, and takes in the answers.
///
/// # Errors
/// When an answer cannot be saved. A question that the server does not answer is answered with
/// [`Answer::Unanswered`] or [`Answer::Forbidden`].
pub async fn ask(
    reader: &Reader,
    questions: impl IntoIterator<Item = Question>,
    intake: &mut Intake,
) -> Result<(), DumpError> {
    replies(reader, questions).await.take_in(intake)
}

/// Asks every question, and returns the answers.
pub async fn replies(reader: &Reader, questions: impl IntoIterator<Item = Question>) -> Replies {
    replies_by(reader, questions, None).await
}

/// Asks every question, and returns the answers that arrive by `end`, if there is one. What the
/// server was asked and has not answered by then is unanswered. What it was not asked yet, because
/// others were waiting, has no reply: it is asked first the next time.
pub(crate) async fn replies_by(
    reader: &Reader,
    questions: impl IntoIterator<Item = Question>,
    end: Option<Instant>,
) -> Replies {
    let end = async move {
        match end {
            Some(end) => sleep_until(end).await,
            None => std::future::pending().await,
        }
    };
    let questions: Vec<_> = questions.into_iter().collect();
    let discovery = Discovery::new(reader);
    let asker = Arc::new(QuestionAsker { reader: reader.clone(), discovery });
    let mut waiting = BTreeSet::new();
    let replies = stream::iter(questions)
        .map(|question| {
            waiting.insert(question.clone());
            let asker = Arc::clone(&asker);
            async move {
                let reply = asker.reply(&question).await;
                (question, reply)
            }
        })
        .buffer_unordered(PARALLEL)
        .take_until(end);
    let mut replies: Vec<_> = replies.collect().await;
    for (question, _) in &replies {
        waiting.remove(question);
    }
    let silent = || unanswered("no answer in time").into();
    replies.extend(waiting.into_iter().map(|question| (question, silent())));
    Replies(replies)
}

/// Asks the API server what a question is about.
struct QuestionAsker {
    reader: Reader,
    /// Asked only if a question is about a kind whose version is not certain.
    discovery: Discovery,
}

impl QuestionAsker {
    async fn reply(&self, question: &Question) -> Reply {
        match question {
            Question::Exists(key) => self.object(key).await,
            Question::OwnerExists(key) => match self.owner(key).await {
                Answer::Owner(found) => Answer::Is(found.uid.clone()),
                answer => answer,
            }
            .into(),
            Question::OwnersOf(key) => self.owner(key).await.into(),
            Question::KeptBackends { namespace } => {
                kept_record::read_record(&self.reader, namespace).await
            }
            Question::Announcements { namespace } => {
                announcements::list(&self.reader, namespace).await.into()
            }
            Question::CustomUsers { namespace } => {
                custom_users::list_users(&self.reader, &self.discovery, namespace).await.into()
            }
            Question::SecretExists { namespace, name } => self.secret(namespace, name).await.into(),
            Question::MayPatchVolumes { namespace, service_account } => {
                self.may_patch_volumes(namespace, service_account).await.into()
            }
        }
    }

    /// Reads one object of a kind that has rows.
    async fn object(&self, key: &ObjectKey) -> Reply {
        let kind = key.kind;
        let Some(decoding) = objects::decoding(kind) else {
            return unanswered(&format!("existence of {} is never checked", kind.plural())).into();
        };
        let version = match self.discovery.version_of(kind).await {
            Ok(Some(version)) => version,
            Ok(None) => return Answer::No.into(),
            Err(reason) => return unanswered(&reason).into(),
        };
        match self.reader.get(&ObjectRequest::of(key, &version), decoding).await {
            Ok(found) => Reply { answer: Answer::Yes, content: ReplyContent::Object(found.value) },
            Err(error) => answer_to(&error, &key.name).into(),
        }
    }

    /// Reads the metadata of an owner of any kind. A kind that cannot be mapped to a resource is
    /// unanswered, not absent.
    async fn owner(&self, key: &OwnerKey) -> Answer {
        let (group, version) = key.api_version.split_once('/').unwrap_or(("", &key.api_version));
        if let Some(answer) = self.well_known_owner(group, version, key).await {
            return answer;
        }
        let (resource, namespaced) =
            match self.discovery.resource_of(group, version, &key.kind).await {
                Ok(OwnerResource::Served { resource, namespaced }) => (resource, namespaced),
                Ok(OwnerResource::Elsewhere { version }) => {
                    let elsewhere = match group {
                        "" => version.into(),
                        _ => format!("{group}/{version}").into(),
                    };
                    return Answer::NotServed { elsewhere: Some(elsewhere) };
                }
                Ok(OwnerResource::NotServed) => return Answer::NotServed { elsewhere: None },
                Err(reason) => return unanswered(&reason),
            };
        let owner = ObjectRequest {
            group,
            version,
            kind: &key.kind,
            resource: &resource,
            namespace: namespaced.then_some(&*key.namespace),
            name: &key.name,
        };
        self.owner_at(&owner).await.unwrap_or_else(|error| answer_to(&error, &key.name))
    }

    /// Reads the metadata of an owner of a kind that every server serves, without discovery: many
    /// owners are `StatefulSet`s and pods. `None` unless the answer is about an object of this name.
    async fn well_known_owner(&self, group: &str, version: &str, key: &OwnerKey) -> Option<Answer> {
        let known = |kind: &Kind| {
            kind.is_namespaced() && !kind.is_optional() && kind.group().version == version
        };
        let kind = Kind::parse(group, &key.kind).filter(known)?;
        let owner = ObjectRequest::named(kind, Some(&key.namespace), &key.name);
        match self.owner_at(&owner).await {
            Ok(answer) => Some(answer),
            Err(error) if error.is_absence_of(&key.name) => Some(Answer::No),
            Err(_) => None,
        }
    }

    /// Reads the metadata of an object.
    async fn owner_at(&self, owner: &ObjectRequest<'_>) -> Result<Answer, ReadError> {
        let found = self.reader.get_metadata::<PartialObjectMetadata>(owner).await?;
        Ok(match found.value.owner_object() {
            Some(object) => Answer::Owner(Arc::new(object)),
            None => unanswered("it has no uid"),
        })
    }

    /// Reads the metadata of a `Secret`, never its contents.
    async fn secret(&self, namespace: &str, name: &str) -> Answer {
        let secret = ObjectRequest::named(Kind::Secret, Some(namespace), name);
        match self.reader.get_metadata::<PartialObjectMetadata>(&secret).await {
            Ok(_) => Answer::Yes,
            Err(error) => answer_to(&error, name),
        }
    }

    /// Asks whether a `ServiceAccount` may patch volumes.
    async fn may_patch_volumes(&self, namespace: &str, service_account: &str) -> Answer {
        let user = format!("system:serviceaccount:{namespace}:{service_account}");
        // What the API server adds for a token of that account.
        let groups = [
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{namespace}"),
            "system:authenticated".to_owned(),
        ];
        let review = AccessReview::Subject { user: &user, groups: &groups };
        let attributes = ResourceAttributes {
            verb: "patch",
            group: "",
            resource: "persistentvolumes",
            namespace: None,
            name: None,
        };
        match client::is_allowed(&self.reader, review, &attributes).await {
            Ok(true) => Answer::Yes,
            Ok(false) => Answer::No,
            // A review that the current user may not create does not say whether the account may
            // patch.
            Err(error) if error.is_forbidden() => Answer::Forbidden,
            Err(error) => unanswered(&error.to_string()),
        }
    }
}

fn unanswered(reason: &str) -> Answer {
    Answer::Unanswered(reason.into())
}

/// Returns what the failure to read an object says about its existence.
fn answer_to(error: &ReadError, name: &str) -> Answer {
    if error.is_absence_of(name) {
        Answer::No
    } else if error.is_forbidden() {
        Answer::Forbidden
    } else {
        unanswered(&error.to_string())
    }
}
