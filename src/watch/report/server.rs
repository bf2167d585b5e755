//! Serves `/metrics`, `/healthz` and `/readyz`.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ALLOW, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::certificate::ServerCertificate;
use super::metrics::Metrics;
use super::metrics_access::{MetricsAccess, MetricsReviewer};
use crate::watch::probes::Probes;

/// How many connections are served at a time.
const CONNECTIONS: usize = 256;
/// How long a connection lasts at most: whoever holds them all keeps the kubelet out no longer.
const LONGEST: Duration = Duration::from_secs(60);
/// How long a client may take to begin: with TLS, or with a request.
const PATIENCE: Duration = Duration::from_secs(10);
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What is served.
pub(super) struct Served {
    pub(super) metrics: Metrics,
    pub(super) probes: Arc<Probes>,
    /// Who may read the metrics; `None` where everybody may.
    pub(super) reviewer: Option<MetricsReviewer>,
    /// Without one, HTTP is spoken.
    pub(super) certificate: Option<ServerCertificate>,
}

/// Serves until it is dropped.
pub(super) async fn serve(listener: TcpListener, served: Arc<Served>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let socket = match listener.accept().await {
            Ok((socket, _)) => socket,
            Err(error) => {
                // Such as too many open files.
                tracing::warn!(%error, "a connection to the metrics was not accepted");
                sleep(Duration::from_secs(1)).await;
                continue;
            }
        };
        let served = Arc::clone(&served);
        connections.spawn(async move {
            match &served.certificate {
                None => talk(socket, &served).await,
                Some(certificate) => {
                    let acceptor = TlsAcceptor::from(certificate.current());
                    if let Ok(Ok(socket)) = timeout(PATIENCE, acceptor.accept(socket)).await {
                        talk(socket, &served).await;
                    }
                }
            }
            drop(place);
        });
    }
}

async fn talk(socket: impl AsyncRead + AsyncWrite + Unpin, served: &Served) {
    let answer = service_fn(|request: Request<Incoming>| async move {
        Ok::<_, Infallible>(answer(served, &request).await)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .serve_connection(TokioIo::new(socket), answer);
    // A client that hangs up is no concern of ours.
    let _ = timeout(LONGEST, connection).await;
}

async fn answer<B>(served: &Served, request: &Request<B>) -> Response<Full<Bytes>> {
    let is_alive = |is: bool, otherwise: &'static str| match is {
        true => plain(StatusCode::OK, "ok"),
        false => plain(StatusCode::SERVICE_UNAVAILABLE, otherwise),
    };
    let path = request.uri().path();
    let is_known = matches!(path, "/healthz" | "/readyz" | "/metrics");
    if is_known && !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut refusal = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET");
        refusal.headers_mut().insert(ALLOW, http::HeaderValue::from_static("GET, HEAD"));
        return refusal;
    }
    match path {
        "/healthz" => is_alive(served.probes.is_alive(), "the loop does not turn"),
        "/readyz" => is_alive(served.probes.is_ready(), "the first look is not over"),
        "/metrics" => metrics(served, request.headers()).await,
        _ => plain(StatusCode::NOT_FOUND, "not found"),
    }
}

async fn metrics(served: &Served, headers: &HeaderMap) -> Response<Full<Bytes>> {
    if let Some(reviewer) = &served.reviewer {
        let access = match bearer(headers) {
            Some(token) => reviewer.review(token).await,
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
        Served { metrics, probes: Arc::default(), reviewer, certificate: None }
    }

    async fn asked(served: &Served, path: &str, authorization: &str) -> u16 {
        let request = Request::get(path).header(AUTHORIZATION, authorization).body(());
        answer(served, &request.expect("because it is a request")).await.status().as_u16()
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
        assert_eq!(answer(&served, &post).await.status().as_u16(), 405);
        assert!(reviews.asked().is_empty());
    }

    #[tokio::test]
    async fn the_text_is_the_one_that_was_asked_for() {
        let served = serving(None);
        for (accept, kind) in [
            ("*/*", TEXT),
            ("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.2", OPEN_METRICS),
        ] {
            let request = Request::get("/metrics").header(ACCEPT, accept).body(());
            let answer = answer(&served, &request.expect("because it is a request")).await;
            assert_eq!(answer.headers()[CONTENT_TYPE], kind);
        }
    }
}
