//! Tests of `Reader`: retries, error responses, broken connections, compression.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::server::{
    TestReply, TestServer, absent, bytes, json as json_reply, protobuf, quick, reply, unserved,
};
use super::stream::{decoding, envelope, object};
use crate::client::{ConnectionOptions, ObjectRequest, ReadError, ReadLimits, Reader, connect};

type Check = fn(&ReadError) -> bool;

const POD: &str = "/api/v1/namespaces/shop/pods/a";
const A_POD: ObjectRequest<'_> = ObjectRequest {
    group: "",
    version: "v1",
    kind: "Pod",
    resource: "pods",
    namespace: Some("shop"),
    name: "a",
};
const SELF_REVIEW: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

async fn get(server: &TestServer) -> Result<Value, ReadError> {
    server.reader().await.get_json(POD).await.map(|answer| answer.value)
}

#[tokio::test]
async fn the_servers_clock_and_our_name_are_carried() {
    let server = TestServer::start(|_| json_reply(r#"{"a":1}"#)).await;
    let answer = server.reader().await.get_json::<Value>(POD).await.expect("because it was served");
    assert_eq!(answer.value, json!({"a": 1}));
    assert_eq!(
        answer.date.map(|date| date.to_rfc3339()).as_deref(),
        Some("2026-11-21T01:02:03+00:00")
    );
    let asked = server.asked();
    assert_eq!((asked[0].method.as_str(), asked[0].path.as_str()), ("GET", POD));
    assert!(asked[0].head.contains("user-agent: kubectl-storage/test\r\n"), "{}", asked[0].head);
    assert!(asked[0].head.contains("accept-encoding: gzip\r\n"), "{}", asked[0].head);
}

/// Answers are compressed unless the server runs on this machine and is not reached through a
/// tunnel.
#[tokio::test]
async fn a_server_at_hand_need_not_pack() {
    const EVER: Duration = Duration::from_secs(3600);
    for (here, at_hand, wanted) in [
        (true, EVER, ["gzip", "identity", "identity"]),
        (true, Duration::ZERO, ["gzip"; 3]),
        (false, EVER, ["gzip"; 3]),
    ] {
        let server = TestServer::start(|_| json_reply("{}")).await;
        let mut connection = server.connect().await;
        assert!(connection.here);
        connection.here = here;
        let reader = Reader::with_limits(&connection, ReadLimits { at_hand, ..quick() });
        for _ in wanted {
            reader.get_json::<Value>(POD).await.expect("because it was served");
        }
        for (asked, coding) in server.asked().iter().zip(wanted) {
            let header = format!("accept-encoding: {coding}\r\n");
            assert!(asked.head.contains(&header), "{here} {at_hand:?} {coding}: {}", asked.head);
        }
        assert_eq!(server.asked().len(), wanted.len());
    }
}

#[tokio::test]
async fn objects_come_in_either_encoding() {
    use prost::Message;
    let server = TestServer::start(|asked| {
        assert!(
            asked
                .head
                .contains("accept: application/vnd.kubernetes.protobuf, application/json;q=0.9")
        );
        match asked.nth {
            0 => protobuf(envelope("v1", "Pod", object("a").encode_to_vec())),
            _ => json_reply(super::stream::json_object("a").replacen(
                '{',
                r#"{"kind":"Pod","apiVersion":"v1","#,
                1,
            )),
        }
    })
    .await;
    let reader = server.reader().await;
    for _ in 0..2 {
        assert_eq!(
            reader.get(&A_POD, decoding()).await.map(|answer| answer.value).ok(),
            Some(object("a"))
        );
    }
}

#[tokio::test]
async fn retry_after_is_honoured_within_bounds() {
    let server = TestServer::start(|asked| match asked.nth {
        0 => reply(429, "retry-after: 1000\r\n", "slow down"),
        _ => json_reply("{}"),
    })
    .await;
    let begun = Instant::now();
    assert!(get(&server).await.is_ok());
    assert!(
        begun.elapsed() >= quick().longest_retry_after && begun.elapsed() < Duration::from_secs(5)
    );
    assert_eq!(server.asked().len(), 2);
}

#[tokio::test]
async fn what_persists_is_told_after_five_attempts() {
    for (code, attempts) in
        [(503, 5), (429, 5), (502, 5), (504, 5), (500, 1), (404, 1), (403, 1), (401, 1)]
    {
        let server = TestServer::start(move |_| reply(code, "", "not now")).await;
        let error = get(&server).await.expect_err("because nothing else is served");
        assert_eq!((error.code(), server.asked().len()), (Some(code), attempts), "{code}");
        assert!(
            error.to_string().contains("not now") && error.to_string().contains(POD),
            "{error}"
        );
    }
}

#[tokio::test]
async fn with_the_default_limits_giving_up_takes_seconds() {
    let limits = ReadLimits::default();
    let total: Duration = (1..limits.attempts).map(|done| limits.own_pause(done)).sum();
    assert!(total < Duration::from_secs(10), "{total:?}");
}

#[tokio::test]
async fn broken_connections_are_tried_again() {
    let server = TestServer::start(|asked| match asked.nth {
        0 => TestReply::Reset(Vec::new()),
        1 => TestReply::Cut(b"HTTP/1.1 200 OK\r\n".to_vec()),
        2 => TestReply::Cut(bytes(200, "", 50, b"{")),
        3 => TestReply::Reset(bytes(200, "", 50, b"{")),
        _ => json_reply("{}"),
    })
    .await;
    assert!(get(&server).await.is_ok());
    assert_eq!(server.asked().len(), 5);
}

#[tokio::test]
async fn silence_is_a_timeout() {
    for head in [Vec::new(), bytes(200, "", 50, b"{")] {
        let server = TestServer::start(move |_| TestReply::Hang(head.clone())).await;
        let limits = ReadLimits { attempts: 1, idle: Duration::from_millis(50), ..quick() };
        let idle =
            Reader::with_limits(&server.connect().await, limits).get_json::<Value>(POD).await;
        assert!(
            matches!(idle, Err(ReadError::TimedOut { after, .. }) if after == limits.idle),
            "{idle:?}"
        );
        let limits = ReadLimits {
            whole: Some(Duration::from_millis(70)),
            idle: Duration::from_secs(60),
            ..limits
        };
        let whole =
            Reader::with_limits(&server.connect().await, limits).get_json::<Value>(POD).await;
        assert!(
            matches!(whole, Err(ReadError::TimedOut { after, .. }) if Some(after) == limits.whole),
            "{whole:?}"
        );
    }
}

#[tokio::test]
async fn refusals_are_read_in_every_form() {
    let status = [&[0x1a, 3][..], b"nay", &[0x22, 9], b"Forbidden"].concat();
    let server = TestServer::start(move |asked| match asked.nth {
        0 => reply(
            403,
            "content-type: application/vnd.kubernetes.protobuf\r\n",
            envelope("v1", "Status", status.clone()),
        ),
        1 => reply(403, "", r#"{"kind":"Status","message":"nay","reason":"Forbidden"}"#),
        2 => reply(410, "", r#"{"kind":"Status","message":"too old","reason":"Expired"}"#),
        3 => reply(406, "", "only JSON"),
        _ => reply(401, "", "who?"),
    })
    .await;
    for _ in 0..2 {
        let error = get(&server).await.expect_err("because it is forbidden");
        assert!(error.is_forbidden(), "{error}");
        assert_eq!(error.to_string(), format!("{POD} was answered with 403 Forbidden: nay"));
    }
    let checks: [Check; 3] =
        [ReadError::is_gone, ReadError::is_not_acceptable, |error| error.code() == Some(401)];
    for check in checks {
        let error = get(&server).await.expect_err("because it is refused");
        assert!(check(&error), "{error:?}");
    }
}

#[tokio::test]
async fn a_404_counts_only_where_an_api_server_has_written_it() {
    let server = TestServer::start(|asked| match asked.nth {
        0 => absent(POD),
        1 => absent("/api/v1/namespaces/a"),
        2 => unserved(),
        3 => reply(404, "content-type: text/plain\r\n", "default backend - 404"),
        4 => reply(404, "content-type: text/plain\r\n", "404 page not found\n"),
        _ => absent("/api/v1/namespaces/shop/pods/b"),
    })
    .await;
    for (object, path) in [
        (true, false),
        // A namespace of the same name would be told the same way, and is never asked for here.
        (true, false),
        (false, true),
        (false, false),
        (false, false),
        (false, false),
    ] {
        let error = get(&server).await.expect_err("because nothing is there");
        assert_eq!(error.code(), Some(404));
        assert_eq!((error.is_absence_of("a"), error.is_not_served()), (object, path), "{error:?}");
    }
}

#[tokio::test]
async fn only_the_object_that_was_requested_is_an_answer() {
    use prost::Message;
    let pod = super::stream::json_object("a");
    let of = |head: &str| pod.replacen('{', &format!("{{{head},"), 1);
    let (kind, version) = (r#""kind":"Pod""#, r#""apiVersion":"v1""#);
    for (body, fits) in [
        (of(&format!("{kind},{version}")), true),
        (of(kind), false),
        (of(version), false),
        (of(&format!(r#"{kind},"apiVersion":"v2""#)), false),
        (of(&format!(r#""kind":"ConfigMap",{version}"#)), false),
        (of(&format!("{kind},{version}")).replace("shop", "other"), false),
        (of(&format!("{kind},{version}")).replace(r#""name":"a""#, r#""name":"b""#), false),
        (r#"{"kind":"Status","apiVersion":"v1","status":"Success"}"#.to_owned(), false),
        ("{}".to_owned(), false),
    ] {
        let answer = body.clone();
        let server = TestServer::start(move |_| json_reply(&answer)).await;
        let reader = server.reader().await;
        assert_eq!(reader.get(&A_POD, decoding()).await.is_ok(), fits, "{body}");
        assert_eq!(reader.get_object::<Value>(&A_POD).await.is_ok(), fits, "{body}");
        assert_eq!(reader.get_metadata::<Value>(&A_POD).await.is_ok(), fits, "{body}");
    }
    for (version, kind, name) in [("v2", "Pod", "a"), ("v1", "Node", "a"), ("v1", "Pod", "b")] {
        let raw = envelope(version, kind, object(name).encode_to_vec());
        let server = TestServer::start(move |_| protobuf(&raw)).await;
        assert!(server.reader().await.get(&A_POD, decoding()).await.is_err(), "{version} {kind}");
    }
}

#[tokio::test]
async fn a_refused_connection_is_told_at_once() {
    let server = TestServer::start(|_| json_reply("{}")).await;
    let listener =
        std::net::TcpListener::bind("127.0.0.1:0").expect("because loopback has free ports");
    let url = format!("http://{}", listener.local_addr().expect("because it is bound"));
    drop(listener);
    let options = ConnectionOptions { server: Some(url.clone()), ..server.options() };
    let connection = connect(&options, "test").await.expect("because nothing is sent yet");
    let begun = Instant::now();
    let error = Reader::new(&connection)
        .get_json::<Value>("/version")
        .await
        .expect_err("because nobody listens");
    assert!(begun.elapsed() < Duration::from_secs(1));
    assert_eq!(error.to_string(), format!("the connection to the server {url} was refused"));
    assert!(error.hint().is_some());
}

#[tokio::test]
async fn an_unknown_host_and_a_server_without_tls_are_named() {
    let server = TestServer::start(|_| json_reply("{}")).await;
    for (url, expected) in [
        ("https://no-such-host.invalid".to_owned(), "no such host"),
        (server.url.replace("http:", "https:"), "does not speak TLS"),
    ] {
        let options = ConnectionOptions {
            server: Some(url),
            insecure_skip_tls_verify: true,
            ..server.options()
        };
        let connection = connect(&options, "test").await.expect("because nothing is sent yet");
        let reader = Reader::with_limits(&connection, quick());
        let error = reader
            .get_json::<Value>("/version")
            .await
            .expect_err("because there is no such server");
        assert!(error.to_string().contains(expected), "{error:?}");
    }
}

#[tokio::test]
async fn reviews_are_posted_and_nothing_else_is() {
    let server = TestServer::start(|asked| match asked.nth {
        0 => reply(503, "", ""),
        _ => reply(201, "content-type: application/json\r\n", r#"{"status":{"allowed":true}}"#),
    })
    .await;
    let reader = server.reader().await;
    let question = json!({"spec": {"resourceAttributes": {"verb": "get"}}});
    let answer = reader.review::<_, Value>(SELF_REVIEW, &question).await;
    assert_eq!(
        answer.map(|answer| answer.value["status"]["allowed"].clone()).ok(),
        Some(json!(true))
    );
    let asked = server.asked();
    assert_eq!(
        (asked[1].method.as_str(), asked[1].body.as_str()),
        ("POST", question.to_string().as_str())
    );
    assert_eq!(asked[1].path, SELF_REVIEW);
    let sneaky = "/apis/authorization.k8s.io/v1/namespaces/shop/../../../api/v1/pods?x=/localsubjectaccessreviews";
    let error = reader.review::<_, Value>(sneaky, &question).await;
    assert!(matches!(error, Err(ReadError::NotARead { .. })), "{error:?}");
    let exec = reader.get_json::<Value>("/api/v1/namespaces/shop/pods/a/exec?command=rm").await;
    assert!(matches!(exec, Err(ReadError::NotARead { .. })), "{exec:?}");
    assert_eq!(server.asked().len(), 2);
}
