//! Asks who the user is (`SelfSubjectReview`).

use http::Method;
use serde_json::json;

use super::request::WriteRequest;
use super::writer::Writer;
use crate::model::Time;

const PATH: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const JSON: &str = "application/json";

/// Who the user is, as the API server knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WhoAmI {
    /// The username.
    pub(crate) username: String,
    /// The groups.
    pub(crate) groups: Vec<String>,
    /// The API server's time.
    pub(crate) now: Option<Time>,
}

/// Asks who the user is: the username and the groups.
///
/// # Errors
/// Why it is not known: the review is served since Kubernetes 1.28.
pub(super) async fn who_am_i(writer: &Writer) -> Result<WhoAmI, String> {
    let request = WriteRequest {
        method: Method::POST,
        path: PATH.to_owned(),
        content_type: JSON,
        body: json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}),
    };
    let answer = writer.send(&request, true).await.map_err(|error| error.to_string())?;
    let user = &answer.value["status"]["userInfo"];
    let groups = user["groups"].as_array().into_iter().flatten();
    let groups = groups.filter_map(|it| it.as_str().map(str::to_owned)).collect();
    let username = user["username"].as_str().unwrap_or_default().to_owned();
    Ok(WhoAmI { username, groups, now: answer.date })
}
