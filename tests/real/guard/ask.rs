//! Requests in somebody's name, with what the API server says besides the answer.

use std::sync::LazyLock;

use http::{Method, Request};
use http_body_util::BodyExt as _;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::support::Cluster;

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Runtime::new().expect("because the machine has threads"));

pub(super) const JSON: &str = "application/json";
pub(super) const MERGE: &str = "application/merge-patch+json";
pub(super) const APPLY: &str = "application/apply-patch+yaml";

/// Somebody who asks.
#[derive(Clone)]
pub(super) struct Actor {
    pub(super) user: String,
    pub(super) groups: Vec<String>,
    /// Whether the guard is for them.
    pub(super) guarded: bool,
}

impl Actor {
    pub(super) fn new(user: &str, groups: &[&str], guarded: bool) -> Self {
        let groups = groups.iter().map(|it| (*it).to_owned()).collect();
        Self { user: user.to_owned(), groups, guarded }
    }

    /// A person without any right of their own.
    pub(super) fn person() -> Self {
        Self::new("ann@example.com", &["system:masters", "system:authenticated"], true)
    }
}

/// A request.
#[derive(Clone)]
pub(super) struct Asked {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) content: &'static str,
    pub(super) body: Value,
}

/// What the API server answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) code: u16,
    pub(super) text: String,
    pub(super) warnings: Vec<String>,
}

/// What the guard did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Seen {
    Refused,
    Warned,
    Passed,
}

impl Seen {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Warned => "warned",
            Self::Passed => "passes",
        }
    }
}

impl Answer {
    /// What the guard did; the request must have failed for no other reason.
    #[track_caller]
    pub(super) fn seen(&self) -> Seen {
        let guard = "ValidatingAdmissionPolicy 'kubectl-storage-guard-";
        match self.code {
            403 if self.text.contains(guard) => {
                assert!(self.text.contains("\"reason\":\"Forbidden\""), "{}", self.text);
                Seen::Refused
            }
            200..300 if self.warnings.iter().any(|it| it.contains(guard)) => Seen::Warned,
            200..300 => Seen::Passed,
            code => panic!("answered {code}: {}", self.text),
        }
    }
}

/// The way to an API server, in anybody's name.
pub(super) struct Asker(Client);

impl Asker {
    pub(super) fn of(cluster: &Cluster) -> Self {
        let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig()).expect("the testbed wrote it");
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options);
        let config = RUNTIME.block_on(config).expect("the testbed wrote it");
        let _inside = RUNTIME.enter();
        Self(Client::try_from(config).expect("the testbed wrote it"))
    }

    pub(super) fn ask(&self, actor: &Actor, asked: &Asked) -> Answer {
        self.ask_by("scenario", actor, asked)
    }

    /// Asks by a program that calls itself so.
    pub(super) fn ask_by(&self, agent: &str, actor: &Actor, asked: &Asked) -> Answer {
        let Asked { method, path, content, body } = asked;
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let mut request = Request::builder()
            .method(method.clone())
            .uri(path)
            .header("Content-Type", *content)
            .header("Accept", JSON)
            .header("User-Agent", agent)
            .header("Impersonate-User", &actor.user);
        for group in &actor.groups {
            request = request.header("Impersonate-Group", group);
        }
        let request = request.body(Body::from(body)).expect("because paths are plain");
        RUNTIME.block_on(async {
            let response = self.0.send(request).await.expect("the API server answers");
            let (head, body) = response.into_parts();
            let body = body.collect().await.expect("the answer is whole").to_bytes();
            let warnings = head.headers.get_all("warning").iter();
            Answer {
                code: head.status.as_u16(),
                text: String::from_utf8_lossy(&body).into_owned(),
                warnings: warnings
                    .map(|it| String::from_utf8_lossy(it.as_bytes()).into())
                    .collect(),
            }
        })
    }
}
