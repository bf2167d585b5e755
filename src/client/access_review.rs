//! Access reviews, which ask what a user may do: the only thing that a reader posts.

use serde::{Deserialize, Serialize};

use super::read_error::ReadError;
use super::reader::Reader;

/// Whose rights are asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessReview<'a> {
    /// Those of the current user: a `SelfSubjectAccessReview`.
    SelfSubject,
    /// Those of another user: a `SubjectAccessReview`.
    Subject {
        /// The user's name.
        user: &'a str,
        /// The groups that the API server would add for that user.
        groups: &'a [String],
    },
}

/// A verb, and the resource that it is used on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ResourceAttributes<'a> {
    /// Such as `list`.
    pub verb: &'a str,
    /// The API group; empty for the core group.
    pub group: &'a str,
    /// The plural, such as `persistentvolumes`.
    pub resource: &'a str,
    /// The namespace; `None` for every namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<&'a str>,
    /// The name of one object; `None` for every object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReviewBody<'a> {
    api_version: &'static str,
    kind: &'static str,
    spec: ReviewSpec<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReviewSpec<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    groups: &'a [String],
    resource_attributes: &'a ResourceAttributes<'a>,
}

#[derive(Deserialize)]
struct ReviewAnswer {
    status: ReviewStatus,
}

#[derive(Deserialize)]
struct ReviewStatus {
    #[serde(default)]
    allowed: bool,
}

/// Asks whether a user may do something.
///
/// # Errors
///
/// [`ReadError`], after the retries that [`ReadLimits`](super::read_limits::ReadLimits) allow.
pub async fn is_allowed(
    reader: &Reader,
    review: AccessReview<'_>,
    attributes: &ResourceAttributes<'_>,
) -> Result<bool, ReadError> {
    let (path, kind, user, groups) = match review {
        AccessReview::SelfSubject => (
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            "SelfSubjectAccessReview",
            None,
            &[][..],
        ),
        AccessReview::Subject { user, groups } => (
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            "SubjectAccessReview",
            Some(user),
            groups,
        ),
    };
    let spec = ReviewSpec { user, groups, resource_attributes: attributes };
    let body = ReviewBody { api_version: "authorization.k8s.io/v1", kind, spec };
    let answer = reader.review::<_, ReviewAnswer>(path, &body).await?;
    Ok(answer.value.status.allowed)
}
