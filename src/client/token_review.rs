//! Reviews of others: whose a token is, and whether that user may read a path of ours.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::read_error::ReadError;
use super::reader::Reader;

/// Whose a token is.
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
    /// What else the authenticator knows.
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

/// Asks whose a token is (`TokenReview`); `None` if it is nobody's.
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
