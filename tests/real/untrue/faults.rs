//! What can be wrong with an answer, as data: gateways, proxies that filter, servers that have just started.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

/// An answer to a read.
pub(super) struct Answer {
    pub(super) code: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

/// What becomes of an answer.
pub(super) enum Play {
    Whole(Answer),
    /// So many bytes before its end the connection is closed.
    Cut(Answer, usize),
    Late(Answer, Duration),
    Reset,
}

/// Something that is wrong with an answer.
pub(super) struct Fault {
    pub(super) name: &'static str,
    pub(super) play: fn(Answer) -> Play,
}

impl Answer {
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} X\r\n", self.code);
        for (name, value) in &self.headers {
            write!(head, "{name}: {value}\r\n").expect("because a String grows");
        }
        write!(head, "content-length: {}\r\n\r\n", self.body.len())
            .expect("because a String grows");
        [head.as_bytes(), &self.body].concat()
    }

    /// Replaces the type of the body.
    fn typed(mut self, content_type: &str) -> Self {
        self.headers.retain(|(name, _)| name != "content-type");
        self.headers.push(("content-type".to_owned(), content_type.to_owned()));
        self
    }
}

/// The fault of this name.
pub(super) fn fault(name: &str) -> &'static Fault {
    FAULTS.iter().find(|it| it.name == name).unwrap_or_else(|| panic!("no fault is called {name}"))
}

/// An answer of something before the API server.
fn gateway(code: u16, content_type: &str, body: &str) -> Play {
    let headers = vec![("content-type".to_owned(), content_type.to_owned())];
    Play::Whole(Answer { code, headers, body: body.as_bytes().to_vec() })
}

fn status(code: u16, reason: &str, details: &Value) -> Play {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code,
        "reason": reason, "message": format!("a fault: {reason}"), "details": details,
    });
    gateway(code, "application/json", &body.to_string())
}

/// Alters an answer that is JSON; any other passes.
fn altered(mut answer: Answer, alter: impl FnOnce(&mut Value)) -> Play {
    if let Ok(mut value) = serde_json::from_slice::<Value>(&answer.body) {
        alter(&mut value);
        answer.body = value.to_string().into_bytes();
    }
    Play::Whole(answer)
}

/// Alters the items of a list; anything else passes.
fn items(answer: Answer, alter: impl Fn(&mut Vec<Value>)) -> Play {
    altered(answer, |list| {
        if let Some(items) = list["items"].as_array_mut() {
            alter(items);
        }
    })
}

/// Alters each item of a list, or the one object.
fn each(answer: Answer, alter: impl Fn(&mut Value)) -> Play {
    altered(answer, |value| match value["items"].as_array_mut() {
        Some(items) => items.iter_mut().for_each(alter),
        None => alter(value),
    })
}

fn remove(object: &mut Value, field: &str) {
    if let Some(fields) = object.as_object_mut() {
        fields.remove(field);
    }
}

const PAGE: &str = "<html><body>Please log in</body></html>";
const HTML: &str = "text/html";
const TEXT: &str = "text/plain";
const JSON: &str = "application/json";

macro_rules! faults {
    ($($name:literal: |$answer:pat_param| $play:expr;)*) => {
        pub(super) static FAULTS: [Fault; [$($name),*].len()] =
            [$(Fault { name: $name, play: |$answer| $play }),*];
    };
}

faults! {
    "400": |_| gateway(400, TEXT, "bad request");
    "401": |_| status(401, "Unauthorized", &json!({}));
    "403": |_| status(403, "Forbidden", &json!({}));
    "404 of a gateway": |_| gateway(404, TEXT, "default backend - 404");
    "404 as of Go": |_| gateway(404, TEXT, "404 page not found\n");
    "404 page": |_| gateway(404, HTML, PAGE);
    "404 JSON": |_| gateway(404, JSON, r#"{"message":"no Route matched with those values"}"#);
    "404 Status without details": |_| status(404, "NotFound", &json!({}));
    "404 of another object": |_| status(404, "NotFound", &json!({"name": "another", "kind": "x"}));
    "405": |_| gateway(405, TEXT, "");
    "409": |_| status(409, "Conflict", &json!({}));
    "410": |_| status(410, "Expired", &json!({}));
    "429": |_| status(429, "TooManyRequests", &json!({"retryAfterSeconds": 1}));
    "500": |_| gateway(500, TEXT, "[-]poststarthook/crd-informer-synced failed: reason withheld");
    "502": |_| gateway(502, HTML, "<html>Bad Gateway</html>");
    "503": |_| status(503, "ServiceUnavailable", &json!({"retryAfterSeconds": 1}));
    "504": |_| gateway(504, TEXT, "upstream timed out");
    "moved": |_| gateway(301, HTML, PAGE);
    "login": |_| gateway(302, HTML, PAGE);
    "no content": |_| gateway(204, JSON, "");
    "page": |_| gateway(200, HTML, PAGE);
    "nothing": |_| gateway(200, JSON, "");
    "empty object": |_| gateway(200, JSON, "{}");
    "null": |_| gateway(200, JSON, "null");
    "only items": |_| gateway(200, JSON, r#"{"items":[]}"#);
    "other list": |_| gateway(200, JSON, r#"{"kind":"EndpointsList","apiVersion":"v1","metadata":{},"items":[]}"#);
    "resources": |_| gateway(200, JSON, r#"{"kind":"APIResourceList","groupVersion":"v9","resources":[]}"#);
    "success": |_| gateway(200, JSON, r#"{"kind":"Status","apiVersion":"v1","status":"Success"}"#);
    "only metadata": |_| gateway(200, JSON,
        r#"{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{},"items":[]}"#);
    "other version": |it| altered(it, |value| value["apiVersion"] = json!("v9"));
    "no kind": |it| altered(it, |value| remove(value, "kind"));
    "left out": |it| altered(it, |list| {
        if let Some(items) = list["items"].as_array_mut() {
            items.clear();
            list["metadata"]["remainingItemCount"] = json!(99);
        }
    });
    "same page": |it| altered(it, |list| {
        if let Some(items) = list["items"].as_array_mut() {
            items.clear();
            list["metadata"]["continue"] = json!("again");
        }
    });
    "items without spec": |it| each(it, |object| remove(object, "spec"));
    "items without metadata": |it| each(it, |object| remove(object, "metadata"));
    "items of another kind": |it| each(it, |object| object["kind"] = json!("ConfigMap"));
    "items of metadata": |it| each(it, |object| {
        remove(object, "spec");
        object["apiVersion"] = json!("meta.k8s.io/v1");
        object["kind"] = json!("PartialObjectMetadata");
    });
    "items that are null": |it| items(it, |items| items.fill(Value::Null));
    "items that are numbers": |it| items(it, |items| items.fill(json!(7)));
    "another name": |it| altered(it, |object| {
        if object["items"].is_null() {
            object["metadata"]["name"] = json!("another");
        }
    });
    "no custom groups": |it| altered(it, |list| {
        if let Some(groups) = list["items"].as_array_mut() {
            groups.retain(|it| !it["metadata"]["name"].as_str().is_some_and(|it| it.contains("snapshot")));
        }
    });
    "stale groups": |it| items(it, |groups| {
        for group in groups.iter_mut() {
            for version in group["versions"].as_array_mut().into_iter().flatten() {
                version["freshness"] = json!("Stale");
                version["resources"] = json!([]);
            }
        }
    });
    "cut": |it| { let half = it.body.len() / 2; Play::Cut(it, half) };
    "cut at the end": |it| Play::Cut(it, 1);
    "half": |mut it| { it.body.truncate(it.body.len() / 2); Play::Whole(it) };
    "twice": |mut it| { it.body.extend_from_within(..); Play::Whole(it) };
    "garbage": |mut it| {
        it.headers.push(("content-encoding".to_owned(), "gzip".to_owned()));
        it.body = b"\x1f\x8b\x08\0garbage".to_vec();
        Play::Whole(it)
    };
    "not protobuf": |it| Play::Whole(it.typed("application/vnd.kubernetes.protobuf"));
    "reset": |_| Play::Reset;
    "late": |it| Play::Late(it, Duration::from_secs(2));
    "too late": |it| Play::Late(it, Duration::from_secs(20));
}
