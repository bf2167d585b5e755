//! Answers to questions about single objects, asked after the lists were read: the requests for each kind of question,
//! and the way of the answers into an [`Intake`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::{StreamExt as _, stream};
use serde::Deserialize;
use tokio::time::{Instant, sleep_until};

use super::intake::Intake;
use super::live::gap_reason;
use crate::client::{
    AccessReview, Decoding, Discovery, ListEvent, ListForm, ListRequest, ObjectRequest,
    OwnerResource, ReadError, Reader, ResourceAttributes, ServedVersion, list_json,
};
use crate::dump::DumpError;
use crate::journal::announcement::{ANNOUNCEMENT, RECORD, ReadBatch, VETO, parse_veto};
use crate::journal::kept_backend::{CONFIG_MAP, KeptBackendRecord};
use crate::model::{
    Announcements, Answer, CUSTOM_KINDS, CustomKind, CustomUser, CustomUsers, KeptBackend, Kind,
    ObjectKey, OwnerKey, Question, UnlistedKind, parse_time,
};
use crate::objects::{AnyObject, CustomObject, PartialObjectMetadata};
use crate::{client, objects};

/// Number of questions that are asked at the same time.
const PARALLEL: usize = 16;

/// An answer, with the content that the server sent with it.
struct Reply {
    answer: Answer,
    content: ReplyContent,
}

/// Content that the server sent with an answer.
enum ReplyContent {
    Nothing,
    /// The object that the question is about.
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

/// Asker of questions, which sends their requests to the API server.
struct QuestionAsker {
    reader: Reader,
    /// Discovery, used only if a question is about a kind whose version is not certain.
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
            Question::KeptBackends { namespace } => read_record(&self.reader, namespace).await,
            Question::Announcements { namespace } => {
                list_announcements(&self.reader, namespace).await.into()
            }
            Question::CustomUsers { namespace } => {
                list_users(&self.reader, &self.discovery, namespace).await.into()
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

/// Returns the answer about an object's existence that follows from the failure to read it.
fn answer_to(error: &ReadError, name: &str) -> Answer {
    if error.is_absence_of(name) {
        Answer::No
    } else if error.is_forbidden() {
        Answer::Forbidden
    } else {
        unanswered(&error.to_string())
    }
}

/// Number of kinds that are listed at the same time.
const PARALLEL_LISTS: usize = 8;
/// Number of items per page: custom resources can be large, and only what they name is kept.
const PAGE: u32 = 100;

/// Lists every kind that uses claims and is served.
async fn list_users(reader: &Reader, discovery: &Discovery, namespace: &str) -> Answer {
    let lists = stream::iter(CUSTOM_KINDS).map(|kind| async move {
        let listed = match discovery.version_of_custom(kind).await {
            Ok(Some(version)) => list_kind(reader, kind, &version, namespace).await,
            Ok(None) => Ok(Vec::new()),
            Err(reason) => Err(reason),
        };
        (kind, listed)
    });
    let mut all = CustomUsers::default();
    let mut lists = lists.buffered(PARALLEL_LISTS);
    while let Some((kind, listed)) = lists.next().await {
        match listed {
            Ok(users) => all.users.extend(users),
            Err(reason) => all.unlisted.push(UnlistedKind { kind, reason: reason.into() }),
        }
    }
    Answer::Users(Arc::new(all))
}

/// Lists the custom resources of one kind. The error is why nothing is known about it: one object that cannot be read
/// may be the one that matters.
async fn list_kind(
    reader: &Reader,
    kind: &'static CustomKind,
    version: &ServedVersion,
    namespace: &str,
) -> Result<Vec<CustomUser>, String> {
    let request = ListRequest {
        namespace: version.namespaced.then(|| namespace.to_owned()),
        page: Some(PAGE),
        form: ListForm::Custom,
        group: kind.group.to_owned(),
        version: version.version.clone(),
        resource: kind.plural.to_owned(),
        kind: kind.kind.to_owned(),
        ..ListRequest::default()
    };
    let (mut users, mut broken) = (Vec::new(), None);
    let mut sink = |event: ListEvent<CustomObject>| match event {
        ListEvent::Item(object) => users.extend(object.user(kind, !version.namespaced)),
        ListEvent::Broken(error) => broken = broken.take().or(Some(error)),
        ListEvent::Restart => {
            users.clear();
            broken = None;
        }
    };
    match client::list(reader, &request, Decoding::of_json(), &mut sink).await {
        Ok(_) => match broken {
            None => Ok(users),
            Some(error) => Err(error.to_string()),
        },
        Err(error) => Err(gap_reason(&error)),
    }
}

/// A `ConfigMap`, of which only `data` is read.
#[derive(Deserialize)]
struct ConfigMapData {
    data: Option<BTreeMap<String, String>>,
}

/// Reads the record of kept backend volumes in a namespace. The answer says whether there is one.
async fn read_record(reader: &Reader, namespace: &str) -> Reply {
    let record = ObjectRequest::named(Kind::ConfigMap, Some(namespace), CONFIG_MAP);
    match reader.get_object::<ConfigMapData>(&record).await {
        Ok(found) => parse_record(found.value.data.unwrap_or_default()),
        Err(error) => answer_to(&error, CONFIG_MAP).into(),
    }
}

fn parse_record(data: BTreeMap<String, String>) -> Reply {
    let (mut kept, mut broken) = (Vec::new(), Vec::new());
    for (key, value) in data {
        match KeptBackendRecord::parse(&value) {
            Ok(record) => kept.push(record.backend()),
            Err(wrong) => broken.push(format!("{key} cannot be read: {wrong}")),
        }
    }
    let answer = match &broken[..] {
        [] => Answer::Yes,
        [one] => Answer::Unanswered(one.as_str().into()),
        [first, rest @ ..] => {
            Answer::Unanswered(format!("{first} (and {} more)", rest.len()).into())
        }
    };
    Reply { answer, content: ReplyContent::KeptBackends(kept) }
}

/// A `ConfigMap`, of which only what the records need is read.
#[derive(Deserialize)]
struct ConfigMap {
    metadata: ConfigMapMeta,
    immutable: Option<bool>,
    data: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfigMapMeta {
    name: String,
    namespace: Option<String>,
    creation_timestamp: Option<String>,
    deletion_timestamp: Option<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

/// Lists the records of announcements in a namespace.
async fn list_announcements(reader: &Reader, namespace: &str) -> Answer {
    let records = ListRequest { namespace: Some(namespace.to_owned()), ..announcement_records() };
    match list_json(reader, &records).await {
        Ok(found) => Answer::Announcements(Arc::new(announcements(found.value))),
        Err(error) if error.is_forbidden() => Answer::Forbidden,
        Err(error) => unanswered(&error.to_string()),
    }
}

/// Returns the other namespaces in which there are records; `None` for a user who may not list the `ConfigMap`s of all
/// namespaces.
pub async fn other_namespaces(reader: &Reader, namespace: &str) -> Option<BTreeSet<String>> {
    let field_selector = Some(format!("metadata.namespace!={namespace}"));
    let besides = ListRequest { field_selector, ..announcement_records() };
    let found = list_json::<ConfigMap>(reader, &besides).await.ok()?.value;
    Some(found.into_iter().filter_map(|it| it.metadata.namespace).collect())
}

/// Returns the request for the records, and not for the segments of a journal, which may be many and large.
fn announcement_records() -> ListRequest {
    ListRequest {
        label_selector: Some(format!("{RECORD} in ({ANNOUNCEMENT},{VETO})")),
        form: ListForm::Json,
        ..ListRequest::of(Kind::ConfigMap, "v1")
    }
}

fn announcements(found: Vec<ConfigMap>) -> Announcements {
    let mut all = Announcements::default();
    for ConfigMap { metadata, immutable, data } in found {
        let data = data.unwrap_or_default();
        match metadata.labels.get(RECORD).map(String::as_str) {
            Some(ANNOUNCEMENT) => {
                let created = metadata.creation_timestamp.as_deref();
                let batch = ReadBatch {
                    created: created.and_then(|it| parse_time(it).ok().flatten()),
                    immutable: immutable == Some(true),
                    deleting: metadata.deletion_timestamp.is_some(),
                    name: metadata.name,
                    data,
                };
                match batch.parse() {
                    Ok(batch) => all.batches.push(batch),
                    Err(wrong) => all.void.push(batch.void(wrong)),
                }
            }
            // A copy under another name can only add vetoes.
            Some(VETO) => {
                all.vetoes.extend(data.iter().filter_map(|(key, value)| parse_veto(key, value)));
            }
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;
    use crate::journal::announcement;
    use crate::journal::announcement::VETOES;
    use crate::model::{AnnouncedVolume, Uid};

    #[test]
    fn a_key_that_cannot_be_read_hides_no_other_and_is_no_silence() {
        let value = |handle: &str| {
            format!(r#"{{"version":1,"driver":"d","handle":"{handle}","volume":"v"}}"#)
        };
        let data = |texts: &[(&str, String)]| {
            texts.iter().map(|(key, text)| ((*key).to_owned(), text.clone())).collect()
        };
        let whole = parse_record(data(&[("a", value("h1")), ("b", value("h2"))]));
        assert_eq!(whole.answer, Answer::Yes);
        let torn =
            parse_record(data(&[("a", value("h1")), ("b", "{}".to_owned()), ("c", String::new())]));
        let Answer::Unanswered(reason) = torn.answer else { panic!("{:?}", torn.answer) };
        assert_eq!(&*reason, "b cannot be read: it has no version (and 1 more)");
        let ReplyContent::KeptBackends(kept) = torn.content else {
            panic!("what can be read counts")
        };
        assert_eq!(kept.len(), 1);
    }

    const UID: &str = "493c02a7-f4e6-5ec4-8e0b-fc87ae581be5";

    fn record(name: &str, kind: &str, immutable: bool, data: &Value) -> Value {
        json!({
            "metadata": {
                "name": name, "creationTimestamp": "2026-11-01T12:00:00Z", "labels": {(RECORD): kind},
            },
            "immutable": immutable, "data": data,
        })
    }

    #[test]
    fn the_segments_of_a_journal_are_not_listed() {
        let one_of = "storage.kubectl.dev%2Frecord%20in%20%28announcement%2Cveto%29";
        let expected = format!("/api/v1/configmaps?labelSelector={one_of}");
        assert_eq!(announcement_records().selecting_path(), expected);
    }

    #[test]
    fn what_cannot_be_read_hides_nothing_else() {
        let volume = AnnouncedVolume {
            name: "pv-1".into(),
            uid: Uid::parse(UID).expect("a uid"),
            claim: None,
            claim_uid: None,
            driver: "d".into(),
            handle: "h".into(),
            place: "p".into(),
            proposal: "q".into(),
            notices: Vec::new(),
            effect: "".into(),
        };
        let data = announcement::data(Duration::from_secs(1), None, [volume.clone()].iter());
        let mut deleted = record("deleted", ANNOUNCEMENT, true, &json!(data));
        deleted["metadata"]["deletionTimestamp"] = json!("2026-11-02T12:00:00Z");
        let list = json!([
            deleted,
            record("whole", ANNOUNCEMENT, true, &json!(data)),
            record("edited", ANNOUNCEMENT, false, &json!(data)),
            record("torn", ANNOUNCEMENT, true, &json!({"batch": "{"})),
            record(VETOES, VETO, false, &json!({(UID): "whatever"})),
            record("journal", "journal", false, &json!({"a": "b"})),
            {"metadata": {"name": "bare", "labels": {(RECORD): ANNOUNCEMENT}}},
        ]);
        let list: Vec<ConfigMap> = serde_json::from_value(list).expect("a list");
        let read = announcements(list);
        assert_eq!(read.batches.len(), 1);
        assert_eq!((&*read.batches[0].name, &read.batches[0].volumes), ("whole", &vec![volume]));
        assert_eq!(read.vetoes.len(), 1);
        let void: Vec<_> = read.void.iter().map(|it| &*it.name).collect();
        assert_eq!(void, ["deleted", "edited", "torn", "bare"]);
    }
}
