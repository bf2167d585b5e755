//! Tests of lists and watches that a server in this process answers: what watches keep current, and the
//! gaps that they report.

mod current;
mod inventories;
mod returning;
mod unseen;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json as value};
use tokio::time::timeout;

use super::super::intake::Intake;
use super::{LiveOptions, Return, Watches, denial, read, read_and_watch};
use crate::client::test_server::{TestReply, TestServer, begun, chunk, json, quick, reply};
use crate::client::{ReadLimits, Reader};
use crate::model::{Kind, Text};

const CLAIMS: &str = "/api/v1/persistentvolumeclaims";
const VOLUMES: &str = "/api/v1/persistentvolumes";
const PODS: &str = "/api/v1/pods";

/// Returns the answer to the nth list of a collection, or to the nth watch.
type Script = dyn Fn(&str, bool, usize) -> TestReply + Send + Sync;

async fn serving(script: Box<Script>) -> TestServer {
    let asked_before = Mutex::new(BTreeMap::<(String, bool), usize>::new());
    TestServer::start(move |asked| {
        let (path, query) = asked.path.split_once('?').unwrap_or((&asked.path, ""));
        if path == "/version" {
            return json(r#"{"major": "1", "minor": "36", "gitVersion": "v1.36.3"}"#);
        }
        if path == "/readyz" {
            return reply(200, "", "ok");
        }
        let watch = query.contains("watch=1");
        let mut counts = asked_before.lock().expect("because no test panics while holding it");
        let count = counts.entry((path.to_owned(), watch)).or_default();
        *count += 1;
        typed(path, script(path, watch, *count - 1))
    })
    .await
}

/// Gives a list the type that the API server gives a list of this path.
fn typed(path: &str, reply: TestReply) -> TestReply {
    let TestReply::Whole(bytes) = &reply else { return reply };
    let text = String::from_utf8_lossy(bytes);
    let Some((_, body)) = text.split_once("\r\n\r\n").filter(|(_, it)| it.contains(UNTYPED)) else {
        return reply;
    };
    let kind = Kind::parse_resource(path.rsplit('/').next().unwrap_or_default());
    let kind = kind.expect("because it is a collection");
    let body = body.replacen(UNTYPED, &format!(r#""kind":"{kind}List""#), 1);
    json(body.replacen(
        r#""apiVersion":"v1""#,
        &format!(r#""apiVersion":"{}""#, kind.api_version()),
        1,
    ))
}

const UNTYPED: &str = r#""kind":"List""#;

/// A server and the intake that watches it.
struct WatchedCluster {
    server: TestServer,
    reader: Reader,
    intake: Intake,
    watches: Watches,
}

impl WatchedCluster {
    async fn at(
        kinds: &[Kind],
        limits: ReadLimits,
        script: impl Fn(&str, bool, usize) -> TestReply + Send + Sync + 'static,
    ) -> Self {
        Self::following(kinds, limits, Return::Never, script).await
    }

    async fn following(
        kinds: &[Kind],
        limits: ReadLimits,
        returns: Return,
        script: impl Fn(&str, bool, usize) -> TestReply + Send + Sync + 'static,
    ) -> Self {
        let server = serving(Box::new(script)).await;
        let reader = Reader::with_limits(&server.connect().await, limits);
        let options = LiveOptions { kinds: kinds.to_vec(), ..LiveOptions::default() };
        let mut intake = Intake::new(None);
        let watches = read_and_watch(&reader, &options, &mut intake, returns, &mut |_| {})
            .await
            .expect("readable");
        Self { server, reader, intake, watches }
    }

    async fn at_claims(
        list: impl Fn(usize) -> TestReply + Send + Sync + 'static,
        watch: impl Fn(usize) -> TestReply + Send + Sync + 'static,
    ) -> Self {
        Self::at(&[Kind::PersistentVolumeClaim], quick(), move |path, watches, nth| {
            match (path, watches) {
                (CLAIMS, true) => watch(nth),
                (CLAIMS, false) => list(nth),
                _ => reply(404, "", ""),
            }
        })
        .await
    }

    /// Takes in what arrives until a condition holds.
    async fn until(&mut self, what: &str, so: impl Fn(&Self) -> bool) {
        let taking_in = async {
            while !so(self) {
                self.watches.next(&mut self.intake).await.expect("because nothing is saved");
            }
        };
        let taken_in = timeout(Duration::from_secs(20), taking_in).await.is_ok();
        assert!(taken_in, "never: {what}; {:#?} {:?}", self.requests(), self.claims());
    }

    /// Returns the names of the claims, and whether all claims were seen.
    fn claims(&self) -> (Vec<&str>, bool) {
        let claims = self.intake.cluster.claims();
        let mut names: Vec<_> = claims.map(|(_, claim)| &*claim.metadata.name).collect();
        names.sort_unstable();
        (names, self.sees(Kind::PersistentVolumeClaim))
    }

    fn sees(&self, kind: Kind) -> bool {
        self.intake.cluster.reach(kind, None).is_ok()
    }

    /// Returns the requests for a collection: `list`, or the resource version that is watched from.
    fn of(&self, collection: &str) -> Vec<String> {
        let of = |path: &String| path.split('?').next() == Some(collection);
        let version = |path: String| match path.split_once("&resourceVersion=") {
            Some((_, rest)) => rest.split('&').next().unwrap_or_default().to_owned(),
            None => match path.split_once("watch=1&resourceVersion=") {
                Some((_, rest)) => rest.split('&').next().unwrap_or_default().to_owned(),
                None => "list".to_owned(),
            },
        };
        self.requests().into_iter().filter(of).map(version).collect()
    }

    fn requests(&self) -> Vec<String> {
        self.server.asked().into_iter().map(|asked| asked.path).collect()
    }
}

fn claim(name: &str, version: u32) -> Value {
    value!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "shop", "resourceVersion": version.to_string()},
        "spec": {"accessModes": ["ReadWriteOnce"], "volumeName": format!("for-{name}")}, "status": {"phase": "Bound"},
    })
}

fn list(version: u32, items: &[Value]) -> TestReply {
    let version = version.to_string();
    json(
        value!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": version}, "items": items})
            .to_string(),
    )
}

fn event(r#type: &str, object: &Value) -> String {
    format!("{}\n", value!({"type": r#type, "object": object}))
}

fn bookmark(version: u32) -> String {
    event(
        "BOOKMARK",
        &value!({"kind": "PersistentVolumeClaim", "metadata": {"resourceVersion": version.to_string()}}),
    )
}

fn expired() -> Value {
    value!({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"})
}

/// A watch that sends this and then nothing.
fn open(text: &str) -> TestReply {
    TestReply::Hang([begun(), chunk_of(text)].concat())
}

/// A watch that sends this and ends.
fn over(text: &str) -> TestReply {
    TestReply::Whole([begun(), chunk_of(text), chunk("")].concat())
}

/// A watch that sends this and breaks off.
fn cut(text: &str) -> TestReply {
    TestReply::Cut([begun(), chunk_of(text)].concat())
}

fn chunk_of(text: &str) -> Vec<u8> {
    if text.is_empty() { Vec::new() } else { chunk(text) }
}

#[tokio::test]
async fn namespaces_seen_one_by_one_do_not_add_up_to_all() {
    let forbidden = r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403,
        "reason": "Forbidden", "message": "persistentvolumeclaims is forbidden: no"}"#;
    let server = TestServer::start(move |asked| {
        let path = asked.path.split('?').next().unwrap_or_default();
        match path {
            "/version" => json(r#"{"major": "1", "minor": "36", "gitVersion": "v1.36.3"}"#),
            "/api/v1/namespaces" => {
                json(r#"{"kind": "NamespaceList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": [{"metadata": {"name": "shop"}}]}"#)
            }
            "/api/v1/namespaces/shop/persistentvolumeclaims" => {
                json(r#"{"kind": "PersistentVolumeClaimList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []}"#)
            }
            _ => reply(403, "content-type: application/json\r\n", forbidden),
        }
    })
    .await;
    let options = LiveOptions {
        kinds: vec![Kind::PersistentVolumeClaim],
        namespaces: vec!["default".to_owned()],
        ..LiveOptions::default()
    };
    let mut intake = Intake::new(None);
    let reader = server.reader().await;
    read(&reader, &options, &mut intake, &mut |_| {}).await.expect("readable");
    let seen = |namespace: Option<&str>| {
        let namespace = namespace.map(Text::from);
        intake.cluster.reach(Kind::PersistentVolumeClaim, namespace.as_ref()).is_ok()
    };
    assert!(seen(Some("shop")));
    assert!(!seen(Some("new")) && !seen(None));
    // A gap makes the run exit with another code than 0.
    assert_eq!(intake.cluster.gaps().count(), 1);
}

#[test]
fn a_denial_says_who_may_not_do_what() {
    let message = "persistentvolumes is forbidden: User \"u\" cannot list resource \"persistentvolumes\" in API group \"\" at the cluster scope";
    assert_eq!(
        denial(message),
        "User \"u\" cannot list resource \"persistentvolumes\" at the cluster scope"
    );
    assert_eq!(denial("a webhook says no"), "a webhook says no");
}
