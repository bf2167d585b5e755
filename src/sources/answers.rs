//! Asking about single objects once the lists are in.

use std::sync::Arc;

use futures::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

use super::{intake::Intake, kept};
use crate::client::{self, ReadError, Reader, Review, Served, ServedKinds};
use crate::dump::DumpError;
use crate::model::{Answer, KeptBackend, Kind, ObjectKey, OwnerKey, Question, Uid};
use crate::objects::{self, AnyObject, PartialObjectMetadata};

/// Questions that are on their way at the same time.
const PARALLEL: usize = 16;

/// What came back.
pub(super) struct Reply {
    pub(super) answer: Answer,
    pub(super) found: Found,
}

/// What was found beside the answer.
pub(super) enum Found {
    Nothing,
    /// The object that was asked about, of a kind that is kept.
    Object(Box<dyn AnyObject>),
    /// What a record says.
    Kept(Vec<KeptBackend>),
}

/// Answers on their way to an intake.
pub struct Replies(Vec<(Question, Reply)>);

impl Replies {
    /// Takes in the answers.
    ///
    /// # Errors
    /// When an answer cannot be saved.
    pub fn take_in(self, intake: &mut Intake) -> Result<(), DumpError> {
        for (question, reply) in self.0 {
            match reply.found {
                Found::Nothing => {}
                Found::Object(object) => intake.object(&*object)?,
                Found::Kept(kept) => kept.into_iter().try_for_each(|it| intake.kept(it))?,
            }
            intake.answer(question, reply.answer)?;
        }
        Ok(())
    }
}

/// Asks every question, and takes in the answers.
///
/// # Errors
/// When an answer cannot be saved. What cannot be answered is an answer too.
pub async fn ask(
    reader: &Reader,
    questions: impl IntoIterator<Item = Question>,
    intake: &mut Intake,
) -> Result<(), DumpError> {
    replies(reader, questions).await.take_in(intake)
}

/// Asks every question.
pub async fn replies(reader: &Reader, questions: impl IntoIterator<Item = Question>) -> Replies {
    let questions: Vec<_> = questions.into_iter().collect();
    let asker = Arc::new(Asker { reader: reader.clone(), served: OnceCell::new() });
    let replies = stream::iter(questions)
        .map(|question| {
            let asker = Arc::clone(&asker);
            async move {
                let reply = asker.reply(&question).await;
                (question, reply)
            }
        })
        .buffer_unordered(PARALLEL);
    Replies(replies.collect().await)
}

struct Asker {
    reader: Reader,
    /// Found out only if a question is about something whose version is not certain.
    served: OnceCell<Result<ServedKinds, String>>,
}

impl Asker {
    async fn reply(&self, question: &Question) -> Reply {
        let answer = match question {
            Question::Exists(key) => return self.object(key).await,
            Question::OwnerExists(key) => self.owner(key).await,
            Question::KeptBackends { namespace } => {
                return kept::ask(&self.reader, namespace).await;
            }
            Question::SecretExists { namespace, name } => {
                let path = path("", "v1", Some(namespace), "secrets", name);
                match self.reader.get_metadata::<PartialObjectMetadata>(&path).await {
                    Ok(_) => Answer::Yes,
                    Err(error) => refusal(&error),
                }
            }
            Question::MayPatchVolumes { namespace, service_account } => {
                let review = AccessReview::patch_volumes(namespace, service_account);
                match self.reader.review::<_, AccessReviewed>(&Review::SubjectAccess, &review).await
                {
                    Ok(answer) if answer.value.status.allowed => Answer::Yes,
                    Ok(_) => Answer::No,
                    // A review that may not be made says nothing about what it would have said.
                    Err(error) if error.is_forbidden() => Answer::Forbidden,
                    Err(error) => Answer::Unanswered(error.to_string().into()),
                }
            }
        };
        Reply { answer, found: Found::Nothing }
    }

    /// Asks for one object of a kind that is kept.
    async fn object(&self, key: &ObjectKey) -> Reply {
        let decoding = match key.kind {
            Kind::PersistentVolume
            | Kind::PersistentVolumeClaim
            | Kind::Pod
            | Kind::Node
            | Kind::StorageClass
            | Kind::VolumeAttachment
            | Kind::StatefulSet
            | Kind::VolumeSnapshot
            | Kind::VolumeAttributesClass => objects::decoding(key.kind),
            Kind::Namespace
            | Kind::CsiDriver
            | Kind::CsiNode
            | Kind::Deployment
            | Kind::ReplicaSet
            | Kind::DaemonSet
            | Kind::ReplicationController
            | Kind::Job
            | Kind::CronJob
            | Kind::HorizontalPodAutoscaler
            | Kind::Lease
            | Kind::Event
            | Kind::VolumeSnapshotContent
            | Kind::VolumeGroupSnapshotContent
            | Kind::Secret
            | Kind::PartialObjectMetadata
            | Kind::SubjectAccessReview => None,
        };
        let kind = key.kind;
        let Some(decoding) = decoding else {
            return unanswered(&format!("nothing asks whether {} exist", kind.plural()));
        };
        let group = kind.group();
        let version = if kind.is_optional() {
            match self.served().await.map(|it| it.served(group.name, kind.plural())) {
                Ok(Served::Versions(versions)) => {
                    versions.first().map_or(group.version, |first| &first.version)
                }
                Ok(Served::Not) => return Reply { answer: Answer::No, found: Found::Nothing },
                Ok(Served::Unseen) => return unanswered("what is served could not be found out"),
                Err(reason) => return unanswered(reason),
            }
        } else {
            group.version
        };
        let path = path(group.name, version, key.namespace.as_deref(), kind.plural(), &key.name);
        match self.reader.get(&path, decoding).await {
            Ok(found) => Reply { answer: Answer::Yes, found: Found::Object(found.value) },
            Err(error) => Reply { answer: refusal(&error), found: Found::Nothing },
        }
    }

    /// Asks for the metadata of an owner of any kind. A kind that cannot be mapped to a resource is
    /// not absent: it was not seen.
    async fn owner(&self, key: &OwnerKey) -> Answer {
        let (group, version) = key.api_version.split_once('/').unwrap_or(("", &key.api_version));
        let served = match self.served().await {
            Ok(served) => served,
            Err(reason) => return Answer::Unanswered(reason.into()),
        };
        let of_kind = served.all().find_map(|(known, resource, versions)| {
            let of = versions.iter().find(|it| it.version == version && *it.kind == *key.kind);
            of.filter(|_| known == group && !resource.contains('/')).map(|it| (resource, it))
        });
        let Some((resource, of)) = of_kind else {
            let reason =
                format!("the server does not say what a {} of {} is", key.kind, key.api_version);
            return Answer::Unanswered(reason.into());
        };
        let namespace = of.namespaced.then_some(&*key.namespace);
        let path = path(group, version, namespace, resource, &key.name);
        match self.reader.get_metadata::<PartialObjectMetadata>(&path).await {
            Ok(found) => match Uid::parse(&found.value.metadata.uid) {
                Some(uid) => Answer::Is(uid),
                None => Answer::Unanswered("it has no uid".into()),
            },
            Err(error) => refusal(&error),
        }
    }

    async fn served(&self) -> Result<&ServedKinds, &str> {
        let served = self.served.get_or_init(|| async {
            client::discover(&self.reader).await.map_err(|error| error.to_string())
        });
        served.await.as_ref().map_err(String::as_str)
    }
}

fn unanswered(reason: &str) -> Reply {
    Reply { answer: Answer::Unanswered(reason.into()), found: Found::Nothing }
}

pub(super) fn refusal(error: &ReadError) -> Answer {
    if error.is_not_found() {
        Answer::No
    } else if error.is_forbidden() {
        Answer::Forbidden
    } else {
        Answer::Unanswered(error.to_string().into())
    }
}

/// The path of one object. Names in references are no names that a server has checked.
/// Returns the path of an object, every part of it escaped.
pub fn path(
    group: &str,
    version: &str,
    namespace: Option<&str>,
    resource: &str,
    name: &str,
) -> String {
    let segment = |text: &str| {
        let mut segment = String::with_capacity(text.len());
        client::encode(&mut segment, text);
        segment
    };
    let root = match group {
        "" => format!("/api/{}", segment(version)),
        _ => format!("/apis/{}/{}", segment(group), segment(version)),
    };
    let place = namespace.map(|it| format!("/namespaces/{}", segment(it))).unwrap_or_default();
    format!("{root}{place}/{}/{}", segment(resource), segment(name))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AccessReview {
    api_version: &'static str,
    kind: &'static str,
    spec: AccessReviewSpec,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AccessReviewSpec {
    user: String,
    groups: Vec<String>,
    resource_attributes: ResourceAttributes,
}

#[derive(Serialize)]
struct ResourceAttributes {
    verb: &'static str,
    group: &'static str,
    resource: &'static str,
}

#[derive(Deserialize)]
struct AccessReviewed {
    status: AccessReviewStatus,
}

#[derive(Deserialize)]
struct AccessReviewStatus {
    #[serde(default)]
    allowed: bool,
}

impl AccessReview {
    fn patch_volumes(namespace: &str, service_account: &str) -> Self {
        Self {
            api_version: "authorization.k8s.io/v1",
            kind: "SubjectAccessReview",
            spec: AccessReviewSpec {
                user: format!("system:serviceaccount:{namespace}:{service_account}"),
                // What the API server adds for a token of that account.
                groups: vec![
                    "system:serviceaccounts".to_owned(),
                    format!("system:serviceaccounts:{namespace}"),
                    "system:authenticated".to_owned(),
                ],
                resource_attributes: ResourceAttributes {
                    verb: "patch",
                    group: "",
                    resource: "persistentvolumes",
                },
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::path;

    #[test]
    fn a_name_stays_one_segment_of_the_path() {
        for (name, wanted) in [
            ("web", "/apis/apps/v1/namespaces/shop/statefulsets/web"),
            ("a.b-c_d", "/apis/apps/v1/namespaces/shop/statefulsets/a.b-c_d"),
            ("../../x", "/apis/apps/v1/namespaces/shop/statefulsets/..%2F..%2Fx"),
            ("..", "/apis/apps/v1/namespaces/shop/statefulsets/%2E%2E"),
            ("a?b#c d%", "/apis/apps/v1/namespaces/shop/statefulsets/a%3Fb%23c%20d%25"),
        ] {
            assert_eq!(path("apps", "v1", Some("shop"), "statefulsets", name), wanted);
        }
        assert_eq!(path("", "v1", None, "nodes", "n0"), "/api/v1/nodes/n0");
    }
}
