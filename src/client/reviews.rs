//! Reviews, the only requests that a reader posts: they ask for the rights of a user, and for the user of a token.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::read_error::ReadError;
use super::reader::Reader;

/// User whose rights are asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessReview<'a> {
    /// Rights of the current user: a `SelfSubjectAccessReview`.
    SelfSubject,
    /// Rights of another user: a `SubjectAccessReview`.
    Subject {
        /// The user's name.
        user: &'a str,
        /// The groups that the API server would add for that user.
        groups: &'a [String],
    },
}

/// Verb, and the resource on which it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ResourceAttributes<'a> {
    /// The verb, such as `list`.
    pub verb: &'a str,
    /// The API group; empty for the core group.
    pub group: &'a str,
    /// The resource in the plural, such as `persistentvolumes`.
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

/// User of a token.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUser {
    /// The user's name.
    #[serde(default, rename(serialize = "user"))]
    pub username: String,
    /// The user's uid.
    #[serde(default)]
    pub uid: String,
    /// The user's groups.
    #[serde(default)]
    pub groups: Vec<String>,
    /// Further attributes that the authenticator knows.
    #[serde(default)]
    pub extra: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
struct TokenAnswer {
    status: TokenStatus,
}

#[derive(Deserialize)]
struct TokenStatus {
    #[serde(default)]
    authenticated: bool,
    #[serde(default)]
    user: TokenUser,
}

#[derive(Deserialize)]
struct AccessAnswer {
    status: AccessStatus,
}

#[derive(Deserialize)]
struct AccessStatus {
    #[serde(default)]
    allowed: bool,
}

/// Returns the user of a token (`TokenReview`); `None` if it has none.
///
/// # Errors
///
/// [`ReadError`], after the retries that [`ReadLimits`](super::read_limits::ReadLimits) allow.
pub async fn review_token(reader: &Reader, token: &str) -> Result<Option<TokenUser>, ReadError> {
    let body = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token},
    });
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    let status = reader.review::<_, TokenAnswer>(path, &body).await?.value.status;
    Ok(status.authenticated.then_some(status.user))
}

/// Asks whether a user may GET a path that is no resource (`SubjectAccessReview`).
///
/// # Errors
///
/// [`ReadError`], after the retries that [`ReadLimits`](super::read_limits::ReadLimits) allow.
pub async fn may_get(reader: &Reader, user: &TokenUser, path: &str) -> Result<bool, ReadError> {
    let undecodable = |error| ReadError::undecodable(path, &error);
    let mut spec = serde_json::to_value(user).map_err(undecodable)?;
    spec["nonResourceAttributes"] = json!({"verb": "get", "path": path});
    let body = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec,
    });
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    Ok(reader.review::<_, AccessAnswer>(path, &body).await?.value.status.allowed)
}
