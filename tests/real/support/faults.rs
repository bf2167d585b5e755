//! A proxy in front of a cluster's API server that misbehaves where a test tells it to.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde::Deserialize;
use serde_json::{Value, json};

use super::Cluster;
use super::testbed::testbed;

/// A proxy. Until it is told of faults, it passes on everything as it is; it goes when the test is done with it.
pub(crate) struct Proxy {
    name: String,
    /// What the supervisor said about it.
    reply: Value,
    faults: AtomicU32,
}

/// A request that came to a proxy, and what became of it.
#[derive(Debug, Deserialize)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    /// As it was sent, without the question mark.
    pub(crate) query: String,
    /// Whether nothing was to be written, as the query or a deletion's options say.
    pub(crate) dry_run: bool,
    pub(crate) user_agent: String,
    pub(crate) content_type: String,
    /// JSON, or a string where the body is none; `Null` without one.
    pub(crate) body: Value,
    /// The name of the fault that it met, or nothing.
    pub(crate) fault: String,
    /// Whether it reached the server, as far as the proxy can tell.
    pub(crate) forwarded: bool,
    /// What the server answered; 0 where it did not.
    pub(crate) server_status: u16,
    /// What the client was answered; 0 where it was not.
    pub(crate) status: u16,
    /// Whether the exchange is over. A watch that goes on has a `status`, and is not done.
    pub(crate) done: bool,
}

impl Request {
    /// `VERB path`, for lists of what happened.
    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// Something that goes wrong, and with which requests: all of them, unless it says more.
///
/// Faults are asked in the order in which they were given to the proxy; one sees only what those before it let pass.
#[derive(Clone)]
pub(crate) struct Fault {
    matched: Value,
    what: Value,
    after: u32,
    times: u32,
}

impl Fault {
    fn of(kind: &str) -> Self {
        Self { matched: json!({}), what: json!({"kind": kind}), after: 0, times: 0 }
    }

    /// Answers with a code and a `Status`; the server never sees the request.
    pub(crate) fn status(code: u16) -> Self {
        Self::of("status").with("code", json!(code))
    }

    /// Answers with a code and a `Status` after the server has done what it was asked for.
    pub(crate) fn status_after(code: u16) -> Self {
        Self::of("status-after").with("code", json!(code))
    }

    /// Closes the connection; the server never sees the request.
    pub(crate) fn reset_before() -> Self {
        Self::of("reset-before")
    }

    /// Closes the connection after the server has done what it was asked for.
    pub(crate) fn reset_after() -> Self {
        Self::of("reset-after")
    }

    /// Breaks off in the middle of the server's answer.
    pub(crate) fn cut_after() -> Self {
        Self::of("cut-after")
    }

    /// Lets the server carry out what was sent as a dry run.
    pub(crate) fn dry_is_real() -> Self {
        Self::of("dry-is-real")
    }

    /// Holds one request, or `times` many, before the server sees it: for [`Proxy::hold`].
    pub(crate) fn hold() -> Self {
        Self::of("hold").times(1)
    }

    /// Holds the server's answer to one request, or to `times` many: for [`Proxy::hold`].
    pub(crate) fn hold_after() -> Self {
        Self::of("hold-after").times(1)
    }

    /// Moves the `Date` of answers, as if the clock of the server were ahead by so many seconds; below zero, behind.
    pub(crate) fn clock(ahead: i64) -> Self {
        Self::of("clock").with("ahead", json!(ahead))
    }

    /// Only requests of this method whose path matches this regular expression, which is not anchored.
    pub(crate) fn on(mut self, method: &str, path: &str) -> Self {
        self.matched["method"] = json!(method);
        self.matched["path"] = json!(path);
        self
    }

    /// Only requests whose query, as it is sent, matches a regular expression.
    pub(crate) fn query(mut self, expression: &str) -> Self {
        self.matched["query"] = json!(expression);
        self
    }

    /// Only requests whose body matches a regular expression.
    pub(crate) fn body(mut self, expression: &str) -> Self {
        self.matched["body"] = json!(expression);
        self
    }

    /// Only dry runs.
    pub(crate) fn dry(mut self) -> Self {
        self.matched["dry_run"] = json!(true);
        self
    }

    /// No dry runs.
    pub(crate) fn real(mut self) -> Self {
        self.matched["dry_run"] = json!(false);
        self
    }

    /// Lets so many of these requests pass before.
    pub(crate) fn after(mut self, passing: u32) -> Self {
        self.after = passing;
        self
    }

    /// Meets so many of these requests, then lets them pass; 0 is for ever.
    pub(crate) fn times(mut self, meeting: u32) -> Self {
        self.times = meeting;
        self
    }

    /// The reason in the `Status`, where it is not the usual one of the code.
    pub(crate) fn reason(self, reason: &str) -> Self {
        self.with("reason", json!(reason))
    }

    pub(crate) fn message(self, message: &str) -> Self {
        self.with("message", json!(message))
    }

    /// The object that a 404 says does not exist, as an API server does.
    pub(crate) fn absent(self, name: &str) -> Self {
        self.with("absent", json!(name))
    }

    /// The header Retry-After.
    pub(crate) fn retry_after(self, seconds: u32) -> Self {
        self.with("retry_after", json!(seconds))
    }

    /// Plain text in the place of a `Status`, as load balancers and the server's own queue send it.
    pub(crate) fn text(self, text: &str) -> Self {
        self.with("text", json!(text))
    }

    fn with(mut self, field: &str, value: Value) -> Self {
        self.what[field] = value;
        self
    }
}

impl Cluster {
    /// Puts a proxy in front of the API server.
    pub(crate) fn proxy(&self) -> Proxy {
        let reply = testbed().request("proxy.start", json!({"cluster": self.name()}));
        Proxy {
            name: reply["proxy"].as_str().expect("because the supervisor names it").to_owned(),
            reply,
            faults: AtomicU32::new(1),
        }
    }

    /// Kills the API server and starts it anew, on its port and with its arguments.
    pub(crate) fn restart_server(&self) {
        testbed().request("cluster.restart-apiserver", json!({"cluster": self.name()}));
        self.api().reconnect();
    }
}

impl Proxy {
    /// The kubeconfig of the administrator, by way of the proxy.
    pub(crate) fn kubeconfig(&self) -> &Path {
        Path::new(self.reply["kubeconfig"].as_str().expect("because every proxy has one"))
    }

    /// The kubeconfig of a user who has no rights until somebody grants them, by way of the proxy.
    pub(crate) fn kubeconfig_of(&self, user: &str) -> PathBuf {
        let path = self.reply["users"][user].as_str();
        PathBuf::from(path.unwrap_or_else(|| panic!("the testbed has no user {user:?}")))
    }

    /// Has something go wrong from now on.
    pub(crate) fn fault(&self, fault: Fault) {
        let kind = fault.what["kind"].as_str().unwrap_or_default();
        assert!(!kind.starts_with("hold"), "nobody could release it: use Proxy::hold");
        self.set(fault);
    }

    /// Holds requests from now on: made of [`Fault::hold`] or [`Fault::hold_after`].
    pub(crate) fn hold(&self, fault: Fault) -> Held<'_> {
        let kind = fault.what["kind"].as_str().unwrap_or_default();
        assert!(kind.starts_with("hold"), "{kind} holds nothing: use Proxy::fault");
        Held { proxy: self, fault: self.set(fault) }
    }

    fn set(&self, fault: Fault) -> String {
        let Fault { matched, what, after, times } = fault;
        let number = self.faults.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}", what["kind"].as_str().unwrap_or_default());
        let fields =
            json!({"fault": name, "match": matched, "what": what, "after": after, "times": times});
        self.request("fault", fields);
        name
    }

    /// Nothing goes wrong any more. Whatever is held is lost.
    pub(crate) fn clear(&self) {
        self.request("clear", json!({}));
    }

    /// All requests that came so far, in their order.
    pub(crate) fn requests(&self) -> Vec<Request> {
        requests(self.request("requests", json!({})))
    }

    fn request(&self, verb: &str, fields: Value) -> Value {
        self.try_request(verb, fields)
            .unwrap_or_else(|error| panic!("testbed: proxy.{verb}: {error}"))
    }

    fn try_request(&self, verb: &str, fields: Value) -> Result<Value, String> {
        let mut request = fields;
        request["proxy"] = json!(self.name);
        testbed().try_request(&format!("proxy.{verb}"), request)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Should it fail, the end of the cluster does it.
        let _ = self.try_request("stop", json!({}));
    }
}

/// Requests that a proxy holds, or will. What is not released is lost when the test is done with it.
pub(crate) struct Held<'a> {
    proxy: &'a Proxy,
    fault: String,
}

impl Held<'_> {
    /// Waits until a request is held, and returns the first of them.
    pub(crate) fn wait(&self) -> Request {
        let mut held = requests(self.proxy.request("held", json!({"fault": self.fault})));
        held.swap_remove(0)
    }

    /// Lets all that are held now go on, also those whose senders have gone meanwhile.
    pub(crate) fn release(&self) {
        self.proxy.request("release", json!({"fault": self.fault}));
    }

    /// Closes the connections of all that are held: before the server saw the request, or the client the answer.
    pub(crate) fn lose(self) {
        drop(self);
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // It may be cleared already.
        let _ = self.proxy.try_request("clear", json!({"fault": self.fault}));
    }
}

fn requests(mut reply: Value) -> Vec<Request> {
    serde_json::from_value(reply["requests"].take())
        .unwrap_or_else(|error| panic!("the supervisor said {reply}: {error}"))
}
