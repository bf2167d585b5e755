//! `ApiRequest`: a request that a reader sends, with the check that it changes nothing, its path, and
//! the check that the answer to a read by name is that object.

use std::borrow::Cow;
use std::fmt::Write as _;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE};
use http::{HeaderValue, Method, Request};
use kube::client::Body;
use prost::Message;
use serde::Deserialize;

use super::decoding::{ProtobufEnvelope, TypeMeta};
use super::read_error::ReadError;
use super::read_limits::Patience;
use crate::model::{Kind, ObjectKey};

/// The content types that a request accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Accept {
    /// Protobuf, or JSON from servers without protobuf.
    Either,
    /// JSON alone.
    Json,
    /// JSON without compression, which would hold events back until there are enough bytes.
    Watch,
    /// Aggregated discovery, or the older documents.
    Discovery,
    /// Only the metadata of an object.
    Metadata,
    /// Only the metadata of a list of objects.
    MetadataList,
}

/// A request of a reader, kept so that it can be sent again.
pub(super) struct ApiRequest {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) accept: Accept,
    pub(super) body: Bytes,
    pub(super) patience: Patience,
}

impl Accept {
    fn header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Either => "application/vnd.kubernetes.protobuf, application/json;q=0.9",
            Self::Json | Self::Watch => "application/json",
            Self::Discovery => {
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                 application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
            }
            Self::Metadata => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            Self::MetadataList => {
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
            }
        })
    }
}

impl ApiRequest {
    pub(super) fn get(path: &str, accept: Accept) -> Self {
        Self {
            method: Method::GET,
            path: path.to_owned(),
            accept,
            body: Bytes::new(),
            patience: Patience::Full,
        }
    }

    /// Refuses every request that could change something.
    pub(super) fn check(&self) -> Result<(), ReadError> {
        if reads_only(&self.method, &self.path) {
            return Ok(());
        }
        Err(ReadError::NotARead { method: self.method.to_string(), path: self.path.clone() })
    }

    /// Builds the HTTP request; `unpacked` asks for an answer without compression.
    pub(super) fn build(&self, unpacked: bool) -> Result<Request<Body>, ReadError> {
        let mut request = Request::builder()
            .method(self.method.clone())
            .uri(&self.path)
            .header(ACCEPT, self.accept.header());
        if self.method == Method::POST {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if unpacked || self.accept == Accept::Watch {
            request = request.header(ACCEPT_ENCODING, "identity");
        }
        request
            .body(Body::from(self.body.clone()))
            .map_err(|error| ReadError::undecodable(&self.path, &error))
    }
}

/// Whether a request can change nothing: GET, except of subresources that reach into containers,
/// and POST of reviews.
fn reads_only(method: &Method, path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    if *method == Method::POST {
        return match segments.as_slice() {
            ["apis", "authorization.k8s.io", _, review] => review.ends_with("accessreviews"),
            ["apis", "authentication.k8s.io", _, review] => *review == "tokenreviews",
            _ => false,
        };
    }
    // A GET of these runs a command, opens a tunnel, or is a request to the pod behind the proxy.
    let acts = match segments.as_slice() {
        ["api", _, "namespaces", _, "pods", _, action, ..] => {
            matches!(*action, "exec" | "attach" | "portforward" | "proxy")
        }
        ["api", _, "namespaces", _, "services", _, action, ..] => *action == "proxy",
        _ => false,
    };
    *method == Method::GET && path.starts_with('/') && !acts && !segments.contains(&"..")
}

/// An object that is asked for by name.
#[derive(Debug, Clone, Copy)]
pub struct ObjectRequest<'a> {
    /// The API group; empty for the core group.
    pub group: &'a str,
    /// The version, such as `v1`.
    pub version: &'a str,
    /// The kind, such as `Pod`.
    pub kind: &'a str,
    /// The resource in the plural, such as `pods`.
    pub resource: &'a str,
    /// Namespace; `None` for kinds without namespaces.
    pub namespace: Option<&'a str>,
    /// Name.
    pub name: &'a str,
}

/// API version and kind of an answer that holds only metadata.
pub(super) const METADATA: (&str, &str) = ("meta.k8s.io/v1", "PartialObjectMetadata");

/// Identity of an object, as its JSON states it.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct JsonIdentity<'a> {
    #[serde(borrow)]
    api_version: Option<Cow<'a, str>>,
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    metadata: Option<JsonNames<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct JsonNames<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    namespace: Option<Cow<'a, str>>,
}

/// The names of an object in protobuf.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ProtobufNamed {
    #[prost(message, optional, tag = "1")]
    pub(super) metadata: Option<ProtobufNames>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ProtobufNames {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "3")]
    pub(super) namespace: String,
}

impl<'a> ObjectRequest<'a> {
    /// Returns the request for an object of a kind, in a version of it.
    pub fn of(key: &'a ObjectKey, version: &'a str) -> Self {
        let namespace = key.namespace.as_deref().filter(|_| key.kind.is_namespaced());
        Self { version, ..Self::named(key.kind, namespace, &key.name) }
    }

    /// Returns the request for an object of a kind, in the version of it that every server serves.
    pub fn named(kind: Kind, namespace: Option<&'a str>, name: &'a str) -> Self {
        let group = kind.group();
        Self {
            group: group.name,
            version: group.version,
            kind: kind.name(),
            resource: kind.plural(),
            namespace,
            name,
        }
    }

    /// Returns the path of the object.
    pub fn path(&self) -> String {
        object_path(self.group, self.version, self.namespace, self.resource, self.name)
    }

    /// Checks that an answer in JSON is this object, or its metadata.
    pub(super) fn check_json(&self, body: &[u8]) -> Result<(), ReadError> {
        let found: JsonIdentity<'_> = serde_json::from_slice(body)
            .map_err(|error| ReadError::undecodable(&self.path(), &error))?;
        let names = found.metadata.unwrap_or_default();
        self.check(
            &found.api_version.unwrap_or_default(),
            &found.kind.unwrap_or_default(),
            &names.namespace.unwrap_or_default(),
            &names.name.unwrap_or_default(),
        )
    }

    /// Checks that an answer in protobuf is this object.
    pub(super) fn check_protobuf(&self, found: &ProtobufEnvelope) -> Result<(), ReadError> {
        let decoded = ProtobufNamed::decode(&found.raw[..])
            .map_err(|error| ReadError::undecodable(&self.path(), &error))?;
        let names = decoded.metadata.unwrap_or_default();
        let TypeMeta { api_version, kind } = &found.r#type;
        self.check(api_version, kind, &names.namespace, &names.name)
    }

    fn check(
        &self,
        version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<(), ReadError> {
        let wanted = api_version(self.group, self.version);
        let is_of_type = (version, kind) == (wanted.as_str(), self.kind);
        let is_metadata = (version, kind) == METADATA;
        let is_named = name == self.name && namespace == self.namespace.unwrap_or_default();
        if (is_of_type || is_metadata) && is_named {
            return Ok(());
        }
        let found = format!(
            "it is {kind:?} of {version:?} with the name {name:?} in namespace {namespace:?}, \
             which was not requested"
        );
        Err(ReadError::undecodable(&self.path(), &found))
    }
}

/// Returns the path of a collection.
pub fn collection_path(
    group: &str,
    version: &str,
    namespace: Option<&str>,
    resource: &str,
) -> String {
    let mut path = match group {
        "" => "/api".to_owned(),
        _ => "/apis".to_owned(),
    };
    let namespace = namespace.map(|namespace| ["namespaces", namespace]);
    let group = Some(group).filter(|group| !group.is_empty());
    let parts = group.into_iter().chain([version]).chain(namespace.into_iter().flatten());
    for part in parts.chain([resource]) {
        path.push('/');
        escape(&mut path, part);
    }
    path
}

/// Returns the path of an object. The name may come from a reference, which no server has checked.
pub fn object_path(
    group: &str,
    version: &str,
    namespace: Option<&str>,
    resource: &str,
    name: &str,
) -> String {
    let mut path = collection_path(group, version, namespace, resource);
    path.push('/');
    escape(&mut path, name);
    path
}

/// Returns `apiVersion` of a group and a version, such as `v1` or `apps/v1`.
pub(super) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// Percent-encodes everything but letters, digits and `-._~`, and a name of dots only, which would
/// lead to another folder of the API.
pub(super) fn escape(path: &mut String, text: &str) {
    let climbs = text.bytes().all(|byte| byte == b'.');
    for byte in text.bytes() {
        let harmless = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if harmless && !climbs {
            path.push(char::from(byte));
        } else {
            write!(path, "%{byte:02X}").expect("because a String grows");
        }
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;

    #[test]
    fn only_reads_pass() {
        for path in
            ["/api/v1/pods?limit=5", "/apis", "/version", "/api/v1/nodes/n/proxy/stats/summary"]
        {
            assert!(reads_only(&Method::GET, path), "{path}");
            for method in [
                Method::POST,
                Method::PUT,
                Method::PATCH,
                Method::DELETE,
                Method::CONNECT,
                Method::HEAD,
            ] {
                assert!(!reads_only(&method, path), "{method} {path}");
            }
        }
        for path in [
            "/api/v1/namespaces/a/pods/b/exec?command=rm",
            "/api/v1/namespaces/a/services/b/proxy/x",
            "api",
        ] {
            assert!(!reads_only(&Method::GET, path), "{path}");
        }
        for review in [
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            "/apis/authentication.k8s.io/v1/tokenreviews",
        ] {
            assert!(reads_only(&Method::POST, review), "{review}");
        }
        for path in [
            "/apis/authorization.k8s.io/v1/roles",
            "/apis/authorization.k8s.io/v1/tokenreviews",
            "/apis/authentication.k8s.io/v1/tokenreviews/x",
            "/apis/authentication.k8s.io/v1/selfsubjectreviews",
            "/apis/x/v1/accessreviews",
            "/apis/authorization.k8s.io/v1/namespaces/shop/../../../api/v1/pods?x=/localsubjectaccessreviews",
            "/api/v1/pods?accessreviews",
        ] {
            assert!(!reads_only(&Method::POST, path), "{path}");
        }
    }

    #[test]
    fn a_name_stays_one_segment_of_the_path() {
        for (name, wanted) in [
            ("web", "/apis/apps/v1/namespaces/shop/statefulsets/web"),
            ("a.b-c_d", "/apis/apps/v1/namespaces/shop/statefulsets/a.b-c_d"),
            ("../../x", "/apis/apps/v1/namespaces/shop/statefulsets/..%2F..%2Fx"),
            ("..", "/apis/apps/v1/namespaces/shop/statefulsets/%2E%2E"),
            ("a?b#c d%", "/apis/apps/v1/namespaces/shop/statefulsets/a%3Fb%23c%20d%25"),
        ] {
            assert_eq!(object_path("apps", "v1", Some("shop"), "statefulsets", name), wanted);
        }
        assert_eq!(object_path("", "v1", None, "nodes", "n0"), "/api/v1/nodes/n0");
    }
}
