//! Tests of lists and discovery, with a server in this process.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use futures::future::BoxFuture;
use prost::Message;

use super::server::{
    ReceivedRequest, TestReply, TestServer, bytes, chunked, json, protobuf, quick, reply,
};
use super::stream::{
    Object, decoding, envelope, json_list, json_object, left_out, object, protobuf_list,
};
use crate::client::list::Listed;
use crate::client::{
    ListEvent, ListRequest, ListSink, ReadError, ReadLimits, Reader, cluster_uid, discover, list,
    version,
};
use crate::model::Kind;

const PROTOBUF: &str = "content-type: application/vnd.kubernetes.protobuf\r\n";

/// Reads a list, and returns its events as text: names, `!` for a broken item, `--` for a restart.
async fn read(reader: &Reader, page: Option<u32>) -> (String, Result<Listed, ReadError>) {
    let request = ListRequest { page, ..ListRequest::of(Kind::Pod, "v1") };
    let mut seen = String::new();
    let listed = list(reader, &request, decoding(), &mut |event| match event {
        ListEvent::Item(Object { metadata, .. }) => {
            seen.push_str(&metadata.unwrap_or_default().name);
        }
        ListEvent::Broken(_) => seen.push('!'),
        ListEvent::Restart => seen.push_str("--"),
    })
    .await;
    (seen, listed)
}

fn pods(token: &str, names: &[&str]) -> Vec<u8> {
    protobuf_list(token, names.iter().map(|name| object(name).encode_to_vec()).collect())
}

fn json_pods(names: &[&str]) -> Vec<u8> {
    json_list("", &names.iter().map(|name| json_object(name)).collect::<Vec<_>>())
}

#[tokio::test]
async fn a_list_is_read_in_one_answer() {
    let server = TestServer::start(|_| protobuf(pods("", &["a", "b"]))).await;
    let (seen, listed) = read(&server.reader().await, None).await;
    let listed = listed.expect("because it was served");
    assert_eq!((seen.as_str(), listed.resource_version.as_str()), ("ab", "42"));
    assert_eq!((listed.count, listed.broken, listed.pages, listed.restarts), (2, 0, 1, 0));
    assert!(listed.date.is_some());
    assert_eq!(server.asked()[0].path, "/api/v1/pods");
}

#[tokio::test]
async fn json_gzip_and_chunks_are_understood() {
    for gzip in [false, true] {
        for as_json in [false, true] {
            let body = if as_json { json_pods(&["a", "b"]) } else { pods("", &["a", "b"]) };
            let kind =
                if as_json { "content-type: application/json;charset=utf-8\r\n" } else { PROTOBUF };
            let (headers, body) = if gzip {
                (format!("{kind}content-encoding: gzip\r\n"), zip(&body))
            } else {
                (kind.to_owned(), body)
            };
            let server = TestServer::start(move |_| {
                let end = b"0\r\n\r\n".to_vec();
                TestReply::Whole([chunked(&headers, &body), end].concat())
            })
            .await;
            let (seen, listed) = read(&server.reader().await, None).await;
            assert!(
                seen == "ab" && listed.is_ok(),
                "gzip {gzip}, JSON {as_json}: {seen} {listed:?}"
            );
        }
    }
}

fn zip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).expect("because a Vec grows");
    encoder.finish().expect("because a Vec grows")
}

#[tokio::test]
async fn a_broken_item_does_not_end_the_list() {
    let server = TestServer::start(|_| {
        protobuf(protobuf_list(
            "",
            vec![object("a").encode_to_vec(), vec![0x12, 1, 0xff], object("c").encode_to_vec()],
        ))
    })
    .await;
    let (seen, listed) = read(&server.reader().await, None).await;
    assert_eq!(
        (seen.as_str(), listed.map(|listed| (listed.count, listed.broken)).ok()),
        ("a!c", Some((3, 1)))
    );
}

#[tokio::test]
async fn pages_follow_each_other() {
    let server = TestServer::start(|asked| match asked.path.as_str() {
        "/api/v1/pods?limit=2" => protobuf(pods("t/1", &["a", "b"])),
        "/api/v1/pods?limit=2&continue=t%2F1" => protobuf(pods("", &["c"])),
        other => panic!("{other}"),
    })
    .await;
    let (seen, listed) = read(&server.reader().await, Some(2)).await;
    assert_eq!(
        (seen.as_str(), listed.map(|listed| (listed.count, listed.pages)).ok()),
        ("abc", Some((3, 2)))
    );
}

#[tokio::test]
async fn a_forgotten_page_begins_the_list_anew() {
    let server = TestServer::start(|asked| match asked.path.as_str() {
        "/api/v1/pods?limit=2" => protobuf(pods("old", &["a", "b"])),
        "/api/v1/pods?limit=2&continue=old" => {
            reply(410, "", r#"{"kind":"Status","reason":"Expired"}"#)
        }
        "/api/v1/pods?limit=8" => protobuf(pods("", &["c"])),
        other => panic!("{other}"),
    })
    .await;
    let (seen, listed) = read(&server.reader().await, Some(2)).await;
    assert_eq!(seen, "ab--c");
    assert_eq!(
        listed.map(|listed| (listed.count, listed.pages, listed.restarts)).ok(),
        Some((1, 1, 1))
    );
}

#[tokio::test]
async fn a_list_that_breaks_begins_anew_or_fails() {
    let body = pods("", &["a", "b"]);
    let broken: Vec<fn(&[u8]) -> TestReply> = vec![
        |body| TestReply::Cut(bytes(200, PROTOBUF, body.len(), &body[..body.len() - 20])),
        |body| TestReply::Reset(bytes(200, PROTOBUF, body.len(), &body[..body.len() - 20])),
        |body| TestReply::Cut(chunked(PROTOBUF, &body[..body.len() - 20])),
        // A proxy that ends the answer without an error, but too early.
        |body| reply(200, PROTOBUF, &body[..body.len() - 20]),
        |body| reply(200, &format!("{PROTOBUF}content-encoding: gzip\r\n"), &zip(body)[..40]),
        |body| TestReply::Hang(bytes(200, PROTOBUF, body.len(), &body[..body.len() - 20])),
    ];
    for (index, breaks) in broken.into_iter().enumerate() {
        let (first, whole) = (body.clone(), body.clone());
        let server =
            TestServer::start(
                move |asked| if asked.nth == 0 { breaks(&first) } else { protobuf(&whole) },
            )
            .await;
        let (seen, listed) = read(&server.reader().await, None).await;
        let listed = listed.unwrap_or_else(|error| panic!("{index}: {error}"));
        assert!(seen == "a--ab" || seen == "ab", "{index}: {seen}");
        assert_eq!((listed.count, listed.restarts), (2, 1), "{index}");
        let always = body.clone();
        let server = TestServer::start(move |_| breaks(&always)).await;
        let limits = ReadLimits { idle: Duration::from_millis(100), ..quick() };
        let error = read(&Reader::with_limits(&server.connect().await, limits), None).await.1;
        assert!(error.as_ref().is_err_and(ReadError::is_cut_short), "{index}: {error:?}");
    }
}

#[tokio::test]
async fn what_takes_too_long_is_read_in_pages() {
    for slow in [|| reply(504, "", "timeout"), || TestReply::Hang(Vec::new())] {
        let server = TestServer::start(move |asked: &ReceivedRequest| match asked.path.as_str() {
            "/api/v1/pods" => slow(),
            "/api/v1/pods?limit=2000" => protobuf(pods("", &["a"])),
            other => panic!("{other}"),
        })
        .await;
        let (seen, listed) = read(&server.reader().await, None).await;
        assert!(seen == "a" && listed.is_ok(), "{listed:?}");
        assert_eq!(server.asked().len(), 2);
    }
}

#[tokio::test]
async fn a_list_is_the_whole_list_that_was_requested_or_an_error() {
    let list = |kind: &str, version: &str, metadata: &str, items: &str| {
        format!(
            r#"{{"kind":"{kind}","apiVersion":"{version}","metadata":{metadata},"items":[{items}]}}"#
        )
    };
    let whole = r#"{"resourceVersion":"42"}"#;
    let pod = json_object("a");
    let typed = |kind: &str, version: &str| {
        pod.replacen('{', &format!(r#"{{"kind":"{kind}","apiVersion":"{version}","#), 1)
    };
    for (body, wanted) in [
        (list("PodList", "v1", whole, &pod), ("a", true)),
        (list("PodList", "v1", whole, &typed("Pod", "v1")), ("a", true)),
        (list("PodList", "v1", whole, ""), ("", true)),
        (list("PodList", "v1", r#"{"remainingItemCount":0}"#, &pod), ("a", true)),
        (list("ConfigMapList", "v1", whole, ""), ("", false)),
        (list("PodList", "v2", whole, ""), ("", false)),
        (list("List", "v1", whole, ""), ("", false)),
        (list("PartialObjectMetadataList", "meta.k8s.io/v1", whole, ""), ("", false)),
        (
            r#"{"kind":"APIResourceList","groupVersion":"v1","resources":[]}"#.to_owned(),
            ("", false),
        ),
        (r#"{"items":[]}"#.to_owned(), ("", false)),
        ("<html></html>".to_owned(), ("", false)),
        (list("PodList", "v1", r#"{"remainingItemCount":99}"#, &pod), ("a", false)),
        (
            list("PodList", "v1", whole, &typed("PartialObjectMetadata", "meta.k8s.io/v1")),
            ("!", true),
        ),
        (list("PodList", "v1", whole, &typed("Node", "v1")), ("!", true)),
    ] {
        let server = TestServer::start({
            let body = body.clone();
            move |_| json(&body)
        })
        .await;
        let (seen, listed) = read(&server.reader().await, None).await;
        assert_eq!((seen.as_str(), listed.is_ok()), wanted, "{body}: {listed:?}");
        assert_eq!(server.asked().len(), 1, "{body}");
    }
    for (kind, version) in [("ConfigMapList", "v1"), ("PodList", "v2"), ("Status", "v1")] {
        let server =
            TestServer::start(move |_| protobuf(envelope(version, kind, vec![0x0a, 0]))).await;
        assert!(read(&server.reader().await, None).await.1.is_err(), "{kind} {version}");
    }
    // Protobuf says how many are left as well.
    let server = TestServer::start(|_| protobuf(left_out(&["a"]))).await;
    assert!(read(&server.reader().await, None).await.1.is_err());
}

#[tokio::test]
async fn a_page_that_leads_to_itself_is_an_error() {
    let server = TestServer::start(|asked| match asked.path.as_str() {
        "/api/v1/pods?limit=2" => protobuf(pods("one", &["a", "b"])),
        "/api/v1/pods?limit=2&continue=one" => protobuf(pods("two", &["c"])),
        "/api/v1/pods?limit=2&continue=two" => protobuf(pods("one", &["d"])),
        other => panic!("{other}"),
    })
    .await;
    let (_, listed) = read(&server.reader().await, Some(2)).await;
    assert!(matches!(listed, Err(ReadError::Undecodable { .. })), "{listed:?}");
    assert_eq!(server.asked().len(), 3);
}

#[tokio::test]
async fn who_does_not_speak_protobuf_is_asked_for_json() {
    let server = TestServer::start(|asked| {
        if asked.head.contains("protobuf") {
            reply(406, "", "only JSON")
        } else {
            json(json_pods(&["a"]))
        }
    })
    .await;
    let (seen, listed) = read(&server.reader().await, None).await;
    assert!(seen == "a" && listed.is_ok(), "{listed:?}");
}

#[tokio::test]
async fn what_is_forbidden_is_not_asked_twice() {
    let server = TestServer::start(|_| {
        reply(403, "", r#"{"kind":"Status","reason":"Forbidden","message":"nay"}"#)
    })
    .await;
    let (seen, listed) = read(&server.reader().await, None).await;
    assert!(seen.is_empty() && listed.is_err_and(|error| error.is_forbidden()));
    assert_eq!(server.asked().len(), 1);
}

/// A slow sink, which the list has to wait for.
struct Slow {
    waiting: usize,
    most: Arc<AtomicUsize>,
}

impl ListSink<Object> for Slow {
    fn event(&mut self, _: ListEvent<Object>) {
        self.waiting += 1;
        self.most.fetch_max(self.waiting, Ordering::Relaxed);
    }

    fn flush(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            self.waiting = 0;
        })
    }
}

#[tokio::test]
async fn a_slow_sink_holds_the_list_back() {
    let names: Vec<String> = (0..20_000).map(|index| format!("pod-{index}")).collect();
    let body = pods("", &names.iter().map(String::as_str).collect::<Vec<_>>());
    let server = TestServer::start(move |_| protobuf(&body)).await;
    let most = Arc::new(AtomicUsize::new(0));
    let mut sink = Slow { waiting: 0, most: Arc::clone(&most) };
    let listed =
        list(&server.reader().await, &ListRequest::of(Kind::Pod, "v1"), decoding(), &mut sink)
            .await;
    assert_eq!(listed.map(|listed| listed.count).ok(), Some(20_000));
    assert!(most.load(Ordering::Relaxed) < 20_000);
}

#[tokio::test]
async fn aggregated_discovery_takes_three_requests() {
    let server = TestServer::start(|asked| {
        if asked.path == "/readyz" {
            return reply(200, "", "ok");
        }
        assert!(asked.head.contains("as=apigroupdiscoverylist"), "{}", asked.head);
        let body = match asked.path.as_str() {
            "/api" => r#"{"items":[{"metadata":{"name":""},"versions":[{"version":"v1","freshness":"Current","resources":[
                {"resource":"pods","scope":"Namespaced","verbs":["list"],"responseKind":{"group":"","version":"v1","kind":"Pod"}}]}]}]}"#,
            _ => r#"{"items":[{"metadata":{"name":"apps"},"versions":[
                {"version":"v2","resources":[{"resource":"statefulsets"}]},{"version":"v1","resources":[{"resource":"statefulsets"}]}]},
                {"metadata":{"name":"metrics.k8s.io"},"versions":[{"version":"v1","freshness":"Stale"}]}]}"#,
        };
        reply(200, "content-type: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList\r\n", body)
    })
    .await;
    let kinds = discover(&server.reader().await).await.expect("because it was served");
    let asked: Vec<_> = server.asked().into_iter().map(|it| it.path).collect();
    assert_eq!(asked, ["/readyz", "/api", "/apis"]);
    let Some([pod]) = kinds.versions("", "pods") else { panic!("{kinds:?}") };
    assert!(pod.version == "v1" && pod.kind == "Pod" && pod.namespaced);
    let Some(sets) = kinds.versions("apps", "statefulsets") else { panic!("{kinds:?}") };
    assert_eq!(
        sets.iter().map(|version| version.version.as_str()).collect::<Vec<_>>(),
        ["v2", "v1"]
    );
    assert_eq!(kinds.versions("snapshot.storage.k8s.io", "volumesnapshots"), None);
    assert_eq!(kinds.doubt("snapshot.storage.k8s.io"), None);
    assert!(kinds.doubt("metrics.k8s.io").is_some());
}

#[tokio::test]
async fn old_servers_are_asked_group_by_group() {
    let server = TestServer::start(|asked| match asked.path.as_str() {
        "/readyz" => reply(200, "", "ok"),
        "/api" => json(r#"{"kind":"APIVersions","versions":["v1"]}"#),
        "/apis" => json(
            r#"{"groups":[{"name":"storage.k8s.io","versions":[{"groupVersion":"storage.k8s.io/v1beta1"},
            {"groupVersion":"storage.k8s.io/v1"}],"preferredVersion":{"groupVersion":"storage.k8s.io/v1"}},
            {"name":"metrics.k8s.io","versions":[{"groupVersion":"metrics.k8s.io/v1"}]}]}"#,
        ),
        "/apis/metrics.k8s.io/v1" => reply(503, "", "down"),
        path => json(format!(
            r#"{{"groupVersion":"{}","resources":[{{"name":"things","kind":"Thing","namespaced":false,"verbs":["get"]}},
            {{"name":"things/status","kind":"Thing","namespaced":false}}]}}"#,
            path.trim_start_matches("/apis/").trim_start_matches("/api/")
        )),
    })
    .await;
    let kinds = discover(&server.reader().await).await.expect("because it was served");
    let Some(versions) = kinds.versions("storage.k8s.io", "things") else { panic!("{kinds:?}") };
    assert_eq!(
        versions.iter().map(|version| version.version.as_str()).collect::<Vec<_>>(),
        ["v1", "v1beta1"]
    );
    assert!(matches!(kinds.versions("", "things"), Some([_])));
    assert!(kinds.doubt("metrics.k8s.io").is_some());
    assert_eq!(kinds.all().count(), 2);
}

#[tokio::test]
async fn the_server_introduces_itself() {
    let server = TestServer::start(|asked| match (asked.nth, asked.path.as_str()) {
        (0, "/version") => json(r#"{"major":"1","minor":"36","gitVersion":"v1.36.3"}"#),
        (1, "/api/v1/namespaces/kube-system") => json(
            r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"kube-system","uid":"1-2-3"}}"#,
        ),
        _ => reply(403, "", ""),
    })
    .await;
    let reader = server.reader().await;
    assert_eq!(version(&reader).await.map(|version| version.value.minor).ok(), Some(36));
    assert_eq!(cluster_uid(&reader).await.ok(), Some(Some("1-2-3".to_owned())));
    assert_eq!(cluster_uid(&reader).await.ok(), Some(None));
    assert!(server.asked()[1].head.contains("as=partialobjectmetadata"));
}
