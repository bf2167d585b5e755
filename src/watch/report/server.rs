//! Serves `/metrics`, `/healthz` and `/readyz`, at one address or at two.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ALLOW, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::certificate::ServerCertificate;
use super::metrics::Metrics;
use super::metrics_access::{MetricsAccess, MetricsReviewer, ReviewFailure};
use crate::watch::probes::Probes;

/// How many connections are served at a time. One more ends the oldest: whoever opens many and is silent keeps nobody
/// out.
const CONNECTIONS: usize = 256;
/// How long a connection lasts at most.
const LONGEST: Duration = Duration::from_secs(60);
/// How long a client may take to begin: with TLS, or with a request.
const PATIENCE: Duration = Duration::from_secs(10);
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Which paths are served at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Serves {
    Metrics,
    Probes,
    Both,
}

/// What is served.
pub(super) struct Served {
    pub(super) serves: Serves,
    pub(super) metrics: Metrics,
    pub(super) probes: Arc<Probes>,
    /// Who may read the metrics; `None` where everybody may.
    pub(super) reviewer: Option<MetricsReviewer>,
    /// Without one, HTTP is spoken.
    pub(super) certificate: Option<ServerCertificate>,
}

/// Serves until it is dropped.
pub(super) async fn serve(listener: TcpListener, served: Arc<Served>) {
    let mut connections = JoinSet::new();
    let mut open: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        while connections.try_join_next().is_some() {}
        open.retain(|it| !it.is_finished());
        let (socket, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Such as too many open files.
                tracing::warn!(%error, "a connection to the metrics was not accepted");
                sleep(Duration::from_secs(1)).await;
                continue;
            }
        };
        let served = Arc::clone(&served);
        if open.len() >= CONNECTIONS
            && let Some(oldest) = open.pop_front()
        {
            oldest.abort();
        }
        open.push_back(connections.spawn(async move {
            match &served.certificate {
                None => talk(socket, &served, peer.ip()).await,
                Some(certificate) => {
                    let acceptor = TlsAcceptor::from(certificate.current());
                    if let Ok(Ok(socket)) = timeout(PATIENCE, acceptor.accept(socket)).await {
                        talk(socket, &served, peer.ip()).await;
                    }
                }
            }
        }));
    }
}

async fn talk(socket: impl AsyncRead + AsyncWrite + Unpin, served: &Served, peer: IpAddr) {
    let answer = service_fn(|request: Request<Incoming>| async move {
        Ok::<_, Infallible>(answer(served, &request, peer).await)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .serve_connection(TokioIo::new(socket), answer);
    // A client that hangs up is no concern of ours.
    let _ = timeout(LONGEST, connection).await;
}

async fn answer<B>(served: &Served, request: &Request<B>, peer: IpAddr) -> Response<Full<Bytes>> {
    let is_alive = |is: bool, otherwise: &'static str| match is {
        true => plain(StatusCode::OK, "ok"),
        false => plain(StatusCode::SERVICE_UNAVAILABLE, otherwise),
    };
    let path = request.uri().path();
    let is_known = match path {
        "/healthz" | "/readyz" => served.serves != Serves::Metrics,
        "/metrics" => served.serves != Serves::Probes,
        _ => false,
    };
    if is_known && !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut refusal = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET");
        refusal.headers_mut().insert(ALLOW, http::HeaderValue::from_static("GET, HEAD"));
        return refusal;
    }
    match path {
        _ if !is_known => plain(StatusCode::NOT_FOUND, "not found"),
        "/healthz" => is_alive(served.probes.is_alive(), "the loop does not turn"),
        "/readyz" => is_alive(served.probes.is_ready(), "the first look is not over"),
        _ => metrics(served, request.headers(), peer).await,
    }
}

async fn metrics(served: &Served, headers: &HeaderMap, peer: IpAddr) -> Response<Full<Bytes>> {
    if let Some(reviewer) = &served.reviewer {
        let access = match bearer(headers) {
            Some(token) => reviewer.review(token, peer).await,
            None => Ok(MetricsAccess::Unauthorized),
        };
        match access {
            Ok(MetricsAccess::Allowed) => {}
            Ok(MetricsAccess::Unauthorized) => {
                let mut refusal = plain(StatusCode::UNAUTHORIZED, "unauthorized");
                let bearer = http::HeaderValue::from_static("Bearer");
                refusal.headers_mut().insert(WWW_AUTHENTICATE, bearer);
                return refusal;
            }
            Ok(MetricsAccess::Forbidden) => return plain(StatusCode::FORBIDDEN, "forbidden"),
            Err(ReviewFailure::TooMany) => {
                let mut refusal = plain(StatusCode::TOO_MANY_REQUESTS, "too many unknown tokens");
                refusal.headers_mut().insert(RETRY_AFTER, http::HeaderValue::from_static("2"));
                return refusal;
            }
            Err(error) => {
                tracing::warn!(%error, "nobody knows whether the metrics may be read");
                let silent = "the API server does not tell whether you may read this";
                return plain(StatusCode::INTERNAL_SERVER_ERROR, silent);
            }
        }
    }
    let accepts = |it: &http::HeaderValue| {
        it.to_str().is_ok_and(|it| it.contains("application/openmetrics-text"))
    };
    let (text, kind) = match headers.get_all(ACCEPT).iter().any(accepts) {
        true => (served.metrics.open_metrics(), OPEN_METRICS),
        false => (served.metrics.text(), TEXT),
    };
    let mut answer = Response::new(Full::new(Bytes::from(text)));
    answer.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static(kind));
    answer
}

/// The token of a request.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

fn plain(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *answer.status_mut() = status;
    let kind = http::HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(CONTENT_TYPE, kind);
    answer
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::client::test_server::{TestReply, TestServer, json, reply};
    use crate::watch::leader::Leadership;

    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    /// What an API server says of these tokens.
    fn review(path: &str, body: &str) -> TestReply {
        let answer = match path.ends_with("/tokenreviews") {
            true if body.contains("nobody") => r#"{"status": {"authenticated": false}}"#,
            true if body.contains("guest") => {
                r#"{"status": {"authenticated": true, "user": {"username": "guest", "groups": ["g"]}}}"#
            }
            true => {
                r#"{"status": {"authenticated": true, "user": {"username": "prometheus", "uid": "1"}}}"#
            }
            false if body.contains("guest") => r#"{"status": {"allowed": false}}"#,
            false => r#"{"status": {"allowed": true}}"#,
        };
        json(answer)
    }

    fn serving(reviewer: Option<MetricsReviewer>) -> Served {
        let metrics = Metrics::new(Leadership::alone(), Vec::new());
        let serves = Serves::Both;
        Served { serves, metrics, probes: Arc::default(), reviewer, certificate: None }
    }

    async fn asked(served: &Served, path: &str, authorization: &str) -> u16 {
        let request = Request::get(path).header(AUTHORIZATION, authorization).body(());
        answer(served, &request.expect("because it is a request"), PEER).await.status().as_u16()
    }

    #[tokio::test]
    async fn metrics_are_for_those_who_may_read_them() {
        let reviews = TestServer::start(|asked| review(&asked.path, &asked.body)).await;
        let served = serving(Some(MetricsReviewer::new(reviews.reader().await)));
        for (authorization, status) in [
            ("", 401),
            ("Basic YTpi", 401),
            ("Bearer ", 401),
            ("Bearer nobody", 401),
            ("Bearer guest", 403),
            ("Bearer prometheus", 200),
            ("bearer prometheus", 200),
        ] {
            assert_eq!(asked(&served, "/metrics", authorization).await, status, "{authorization}");
        }
        // An answer counts for a while: one request for nobody, two for the others.
        assert_eq!(reviews.asked().len(), 5);
        let body = reviews.asked().pop().expect("it was asked").body;
        assert!(
            body.contains(r#""nonResourceAttributes":{"path":"/metrics","verb":"get"}"#),
            "{body}"
        );
        assert!(body.contains(r#""user":"prometheus""#), "{body}");
    }

    #[tokio::test]
    async fn nobody_reads_what_nobody_may_be_asked_about() {
        let answers = Arc::new(AtomicBool::new(false));
        let may = Arc::clone(&answers);
        let reviews = TestServer::start(move |asked| match may.load(Ordering::Relaxed) {
            true => review(&asked.path, &asked.body),
            false => reply(403, "", "{}"),
        })
        .await;
        let served = serving(Some(MetricsReviewer::new(reviews.reader().await)));
        assert_eq!(asked(&served, "/metrics", "Bearer prometheus").await, 500);
        // A failure is not remembered.
        answers.store(true, Ordering::Relaxed);
        assert_eq!(asked(&served, "/metrics", "Bearer prometheus").await, 200);
    }

    #[tokio::test]
    async fn probes_are_for_everybody() {
        let reviews = TestServer::start(|_| reply(500, "", "{}")).await;
        let served = serving(Some(MetricsReviewer::new(reviews.reader().await)));
        assert_eq!(asked(&served, "/healthz", "").await, 200);
        assert_eq!(asked(&served, "/readyz", "").await, 503);
        served.probes.looked();
        assert_eq!(asked(&served, "/readyz?verbose", "").await, 200);
        assert_eq!(asked(&served, "/", "").await, 404);
        let post = Request::post("/metrics").body(()).expect("because it is a request");
        assert_eq!(answer(&served, &post, PEER).await.status().as_u16(), 405);
        assert!(reviews.asked().is_empty());
    }

    #[tokio::test]
    async fn each_address_serves_its_own_paths() {
        for (serves, metrics, probes) in
            [(Serves::Both, 200, 200), (Serves::Metrics, 200, 404), (Serves::Probes, 404, 200)]
        {
            let served = Served { serves, ..serving(None) };
            assert_eq!(asked(&served, "/metrics", "").await, metrics, "{serves:?}");
            assert_eq!(asked(&served, "/healthz", "").await, probes, "{serves:?}");
        }
    }

    #[tokio::test]
    async fn random_tokens_keep_nobody_out_who_may_read() {
        let reviews = TestServer::start(|asked| review(&asked.path, &asked.body)).await;
        let served = serving(Some(MetricsReviewer::new(reviews.reader().await)));
        assert_eq!(asked(&served, "/metrics", "Bearer prometheus").await, 200);
        let before = reviews.asked().len();
        let mut refused = 0;
        for number in 0..400 {
            let status = asked(&served, "/metrics", &format!("Bearer nobody-{number}")).await;
            assert!([401, 429].contains(&status), "{status}");
            refused += usize::from(status == 429);
        }
        let reviewed = reviews.asked().len() - before;
        assert_eq!(reviewed + refused, 400);
        // It takes a while.
        assert!((9..100).contains(&reviewed), "{reviewed}");
        assert_eq!(asked(&served, "/metrics", "Bearer prometheus").await, 200);
        // Nor one that is new, from another address.
        let request = Request::get("/metrics").header(AUTHORIZATION, "Bearer prometheus-2");
        let request = request.body(()).expect("because it is a request");
        let elsewhere = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 2));
        assert_eq!(answer(&served, &request, elsewhere).await.status().as_u16(), 200);
    }

    #[tokio::test]
    async fn silent_connections_keep_no_probe_out() {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        use tokio::net::TcpStream;

        let listener = TcpListener::bind("127.0.0.1:0").await.expect("because loopback has ports");
        let address = listener.local_addr().expect("because it is bound");
        let server = tokio::spawn(serve(listener, Arc::new(serving(None))));
        let mut silent = Vec::new();
        for _ in 0..CONNECTIONS + 50 {
            silent.push(TcpStream::connect(address).await.expect("because somebody listens"));
        }
        let mut probe = TcpStream::connect(address).await.expect("because somebody listens");
        let request = "GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
        probe.write_all(request.as_bytes()).await.expect("because it is open");
        let mut answer = String::new();
        let read = timeout(PATIENCE / 2, probe.read_to_string(&mut answer)).await;
        assert!(read.is_ok_and(|it| it.is_ok()), "it is not answered in time");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        server.abort();
    }

    #[tokio::test]
    async fn the_text_is_the_one_that_was_asked_for() {
        let served = serving(None);
        for (accept, kind) in [
            ("*/*", TEXT),
            ("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.2", OPEN_METRICS),
        ] {
            let request = Request::get("/metrics").header(ACCEPT, accept).body(());
            let answer = answer(&served, &request.expect("because it is a request"), PEER).await;
            assert_eq!(answer.headers()[CONTENT_TYPE], kind);
        }
    }
}
