//! `ApiRequest`: a request that a reader sends, and the check that it changes nothing.

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE};
use http::{HeaderValue, Method, Request};
use kube::client::Body;

use super::read_error::ReadError;
use super::read_limits::Patience;

/// The content types that a request accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Accept {
    /// Protobuf, or JSON from servers without protobuf.
    Either,
    /// JSON.
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

/// A request, kept so that it can be sent again.
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

#[cfg(test)]
mod tests {
    use http::Method;

    use super::reads_only;

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
}
