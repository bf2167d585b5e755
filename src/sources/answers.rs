//! Asking about single objects once the lists are in.

use std::sync::Arc;

use futures::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};

use super::{
    client::{ReadError, Reader, Review},
    dump::DumpError,
    intake::Intake,
    objects::{PartialObjectMetadata, PersistentVolumeClaim},
};
use crate::model::{Answer, Question};

/// Questions that are on their way at the same time.
const PARALLEL: usize = 16;

enum Reply {
    Answer(Answer),
    Claim(Box<PersistentVolumeClaim>),
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
    let questions: Vec<_> = questions.into_iter().collect();
    let reader = Arc::new(reader.clone());
    let mut replies = stream::iter(questions)
        .map(|question| {
            let reader = Arc::clone(&reader);
            async move {
                let reply = reply(&reader, &question).await;
                (question, reply)
            }
        })
        .buffer_unordered(PARALLEL);
    while let Some((question, reply)) = replies.next().await {
        match reply {
            Reply::Answer(answer) => intake.answer(question, answer)?,
            Reply::Claim(claim) => {
                intake.object(&*claim)?;
                intake.answer(question, Answer::Yes)?;
            }
        }
    }
    Ok(())
}

async fn reply(reader: &Reader, question: &Question) -> Reply {
    let answer = match question {
        Question::ClaimExists(key) => {
            let path =
                format!("/api/v1/namespaces/{}/persistentvolumeclaims/{}", key.namespace, key.name);
            match reader.get::<PersistentVolumeClaim>(&path).await {
                Ok(answer) => return Reply::Claim(Box::new(answer.value)),
                Err(error) => refusal(&error),
            }
        }
        Question::SecretExists { namespace, name } => {
            let path = format!("/api/v1/namespaces/{namespace}/secrets/{name}");
            match reader.get_metadata::<PartialObjectMetadata>(&path).await {
                Ok(_) => Answer::Yes,
                Err(error) => refusal(&error),
            }
        }
        Question::MayPatchVolumes { namespace, service_account } => {
            let review = AccessReview::patch_volumes(namespace, service_account);
            match reader.review::<_, AccessReviewed>(&Review::SubjectAccess, &review).await {
                Ok(answer) if answer.value.status.allowed => Answer::Yes,
                Ok(_) => Answer::No,
                // A review that may not be made says nothing about what it would have answered.
                Err(error) if error.is_forbidden() => Answer::Forbidden,
                Err(error) => Answer::Unanswered(error.to_string().into()),
            }
        }
    };
    Reply::Answer(answer)
}

fn refusal(error: &ReadError) -> Answer {
    if error.is_not_found() {
        Answer::No
    } else if error.is_forbidden() {
        Answer::Forbidden
    } else {
        Answer::Unanswered(error.to_string().into())
    }
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
