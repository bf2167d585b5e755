//! Server of `/metrics`, `/healthz` and `/readyz`, at one address or at two: its certificate, and the readers of the
//! metrics, who need the right to `get` the path `/metrics` of the API server.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{ACCEPT, ALLOW, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::super::policy::report::TlsPolicy;
use super::super::run::Probes;
use super::metrics::Metrics;
use super::queue::TokenBucket;
use crate::client::{ReadError, Reader, may_get, review_token};

/// Largest number of connections that are served at a time. One more ends the oldest: a silent client that opens many
/// keeps no other one out.
const CONNECTIONS: usize = 256;
/// Longest time that a connection lasts.
const LONGEST: Duration = Duration::from_secs(60);
/// Longest time for a client to begin, with TLS or with a request, and for the API server to answer a review.
const PATIENCE: Duration = Duration::from_secs(10);
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Paths that are served at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Serves {
    Metrics,
    Probes,
    Both,
}

/// Content that is served.
pub(super) struct Served {
    pub(super) serves: Serves,
    pub(super) metrics: Metrics,
    pub(super) probes: Arc<Probes>,
    /// Reviewer of the readers of the metrics; `None` where all may read them.
    pub(super) reviewer: Option<MetricsReviewer>,
    /// Certificate of the server; without one, HTTP is spoken.
    pub(super) certificate: Option<ServerCertificate>,
}

/// Serves the paths until it is dropped.
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
                tracing::warn!(%error, "unknown whether the metrics may be read");
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

/// Returns the token of a request.
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

/// Time for which the answer of a review counts.
const COUNTS: Duration = Duration::from_secs(60);
/// Time for which a token that was allowed to read is reviewed again without delay.
const WELCOME: Duration = Duration::from_secs(3600);
/// Largest number of tokens that are remembered.
const MOST: usize = 256;
/// Number of unknown tokens of one address that are reviewed at once, and then one in each [`EVERY`]: the API server
/// has other things to answer, such as who leads.
const STRANGERS: u32 = 10;
const EVERY: Duration = Duration::from_secs(2);
const PATH: &str = "/metrics";

/// Answer of a review: whether the user of a token may read the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MetricsAccess {
    /// The user may read.
    Allowed,
    /// The token is unknown.
    Unauthorized,
    /// The token is of a user who may not read.
    Forbidden,
}

/// Reviewer that asks the API server, and remembers its answers for a while.
pub(super) struct MetricsReviewer {
    reader: Reader,
    known: Mutex<KnownTokens>,
}

/// Answers about tokens that are remembered.
struct KnownTokens {
    /// The answers, by the digest of the token.
    answers: BTreeMap<[u8; 32], (Instant, MetricsAccess)>,
    /// Rate limits, by the address of the client: one that sends many tokens keeps no other one out.
    strangers: BTreeMap<IpAddr, TokenBucket>,
}

impl KnownTokens {
    /// Returns the answer that counts of this token now; `Err` where it may not be asked about now.
    fn look(
        &mut self,
        digest: &[u8; 32],
        peer: IpAddr,
        now: Instant,
    ) -> Result<Option<MetricsAccess>, ()> {
        match self.answers.get(digest) {
            Some((at, access)) if now.duration_since(*at) < COUNTS => return Ok(Some(*access)),
            Some((_, MetricsAccess::Allowed)) => return Ok(None),
            Some(_) | None => {}
        }
        if self.strangers.len() >= MOST && !self.strangers.contains_key(&peer) {
            // Whoever has not asked for a while may ask at once again.
            self.strangers.retain(|_, bucket| !bucket.is_full(now));
            if self.strangers.len() >= MOST {
                return Err(());
            }
        }
        let bucket =
            self.strangers.entry(peer).or_insert_with(|| TokenBucket::new(STRANGERS, EVERY));
        if bucket.take(now).is_zero() {
            return Ok(None);
        }
        bucket.give_back();
        Err(())
    }

    /// Remembers an answer. Those who may not read make room for those who may.
    fn remember(&mut self, digest: [u8; 32], now: Instant, access: MetricsAccess) {
        let counts = |access| if access == MetricsAccess::Allowed { WELCOME } else { COUNTS };
        self.answers.retain(|_, (at, access)| now.duration_since(*at) < counts(*access));
        if self.answers.len() >= MOST && access == MetricsAccess::Allowed {
            let refused = |it: &(&[u8; 32], &(Instant, MetricsAccess))| it.1.1 != access;
            let refused = self.answers.iter().find(refused).map(|(digest, _)| *digest);
            refused.and_then(|it| self.answers.remove(&it));
        }
        if self.answers.len() < MOST || self.answers.contains_key(&digest) {
            self.answers.insert(digest, (now, access));
        }
    }
}

/// Reason for which a review has no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReviewFailure {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("the API server does not answer")]
    Silent,
    #[error("the API server was asked about too many unknown tokens")]
    TooMany,
}

impl MetricsReviewer {
    /// Returns a reviewer that asks with this reader.
    pub(super) fn new(reader: Reader) -> Self {
        let known = KnownTokens { answers: BTreeMap::new(), strangers: BTreeMap::new() };
        Self { reader, known: Mutex::new(known) }
    }

    /// Whether the user of this token may read the metrics, from an address.
    ///
    /// # Errors
    /// When the API server does not tell, such as for want of the right to ask it.
    pub(super) async fn review(
        &self,
        token: &str,
        peer: IpAddr,
    ) -> Result<MetricsAccess, ReviewFailure> {
        let digest: [u8; 32] = Sha256::digest(token).into();
        let now = Instant::now();
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(access) =
            known().look(&digest, peer, now).map_err(|()| ReviewFailure::TooMany)?
        {
            return Ok(access);
        }
        let asked = timeout(PATIENCE, self.ask(token)).await;
        let access = asked.map_err(|_| ReviewFailure::Silent)??;
        known().remember(digest, now, access);
        Ok(access)
    }

    async fn ask(&self, token: &str) -> Result<MetricsAccess, ReadError> {
        let Some(user) = review_token(&self.reader, token).await? else {
            return Ok(MetricsAccess::Unauthorized);
        };
        Ok(match may_get(&self.reader, &user, PATH).await? {
            true => MetricsAccess::Allowed,
            false => MetricsAccess::Forbidden,
        })
    }
}

/// Reason for which there is no certificate.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CertificateError {
    /// A file cannot be read.
    #[error("failed to read {file}: {reason}")]
    File { file: String, reason: String },
    /// Certificate and key do not fit together.
    #[error("the certificate cannot be used: {0}")]
    Unfit(#[from] rustls::Error),
    /// No self-signed certificate could be made.
    #[error("no certificate could be made: {0}")]
    Unmade(#[from] rcgen::Error),
}

/// Certificate of the server, from files or self-signed.
pub(super) struct ServerCertificate {
    files: Option<TlsPolicy>,
    /// Content of the files when they were read last, in use or not; `None` while they cannot be read.
    current: Mutex<(Option<PemFiles>, Arc<ServerConfig>)>,
}

/// Contents of the files of certificate and key.
type PemFiles = [Vec<u8>; 2];

impl ServerCertificate {
    /// Takes the certificate of these files; without files, makes a self-signed one that
    /// ends with this process.
    ///
    /// # Errors
    /// [`CertificateError`]
    pub(super) fn new(files: Option<&TlsPolicy>) -> Result<Self, CertificateError> {
        let (pem, config) = match files {
            Some(files) => {
                let pem = read(files)?;
                let config = parse(files, &pem)?;
                (Some(pem), config)
            }
            None => (None, own()?),
        };
        Ok(Self { files: files.cloned(), current: Mutex::new((pem, Arc::new(config))) })
    }

    /// Returns the certificate that is in use. Files that hold something else are taken, whatever their time is; those
    /// that are broken or gone are told once, and what was in use stays.
    pub(super) fn current(&self) -> Arc<ServerConfig> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(files) = &self.files {
            let pem = read(files);
            if pem.as_ref().ok() != current.0.as_ref() {
                let parsed = pem.as_ref().map_err(ToString::to_string);
                let parsed = parsed.and_then(|it| parse(files, it).map_err(|it| it.to_string()));
                match parsed {
                    Ok(config) => current.1 = Arc::new(config),
                    Err(error) => tracing::warn!(%error, "the earlier certificate stays in use"),
                }
                current.0 = pem.ok();
            }
        }
        Arc::clone(&current.1)
    }
}

fn read(files: &TlsPolicy) -> Result<PemFiles, CertificateError> {
    let of = |file: &Path| std::fs::read(file).map_err(|error| failed(file, &error));
    Ok([of(&files.cert_file)?, of(&files.key_file)?])
}

fn parse(files: &TlsPolicy, [chain, key]: &PemFiles) -> Result<ServerConfig, CertificateError> {
    let chain = CertificateDer::pem_slice_iter(chain).collect::<Result<_, _>>();
    let chain = chain.map_err(|error| failed(&files.cert_file, &error))?;
    let key = PrivateKeyDer::from_pem_slice(key);
    config(chain, key.map_err(|error| failed(&files.key_file, &error))?)
}

fn failed(file: &Path, reason: &dyn std::fmt::Display) -> CertificateError {
    CertificateError::File { file: file.display().to_string(), reason: reason.to_string() }
}

fn own() -> Result<ServerConfig, CertificateError> {
    let names = vec!["localhost".to_owned()];
    let made = rcgen::generate_simple_self_signed(names)?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    config(vec![made.cert.der().clone()], key.into())
}

fn config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, CertificateError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(config.with_no_client_auth().with_single_cert(chain, key)?)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustls::pki_types::ServerName;
    use tokio_rustls::{TlsAcceptor, TlsConnector};

    use super::super::tests::TestAuthority;
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

    /// Whether whoever trusts an authority is served.
    async fn is_served(certificate: &ServerCertificate, authority: &TestAuthority) -> bool {
        let (client, server) = tokio::io::duplex(1 << 16);
        let acceptor = TlsAcceptor::from(certificate.current());
        let serving = tokio::spawn(async move { acceptor.accept(server).await.map(drop) });
        let name = ServerName::try_from("localhost").expect("because it is a name");
        let connector = TlsConnector::from(Arc::new(authority.trusted()));
        let is_served = connector.connect(name, client).await.is_ok();
        let _ = serving.await;
        is_served
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_secret_that_is_replaced_is_taken_and_a_broken_one_is_not() {
        use std::os::unix::fs::symlink;

        let authorities = ["one", "two", "three"].map(TestAuthority::new);
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        // As a kubelet does (`atomic_writer.go`): the files are links into a folder that is replaced.
        let replace = |generation: &str, [chain, key]: [&str; 2]| {
            std::fs::create_dir(at(generation)).expect("a folder");
            std::fs::write(at(generation).join("tls.crt"), chain).expect("a file");
            std::fs::write(at(generation).join("tls.key"), key).expect("a file");
            symlink(generation, at("..data_tmp")).expect("a link");
            std::fs::rename(at("..data_tmp"), at("..data")).expect("it is replaced");
        };
        let pem: Vec<_> = authorities.iter().map(|it| it.sign("localhost", false).pem()).collect();
        let both = |number: usize| [&*pem[number][0], &*pem[number][1]];
        replace("..1", both(0));
        for name in ["tls.crt", "tls.key"] {
            symlink(format!("..data/{name}"), at(name)).expect("a link");
        }
        let files = TlsPolicy { cert_file: at("tls.crt"), key_file: at("tls.key") };
        let certificate = ServerCertificate::new(Some(&files)).expect("because it is one");
        let served = async || {
            let mut served = Vec::new();
            for (number, authority) in authorities.iter().enumerate() {
                if is_served(&certificate, authority).await {
                    served.push(number);
                }
            }
            served
        };
        assert_eq!(served().await, [0]);
        replace("..2", both(1));
        assert_eq!(served().await, [1]);
        // The key of another one, none at all, and no files.
        replace("..3", [&pem[2][0], &pem[1][1]]);
        assert_eq!(served().await, [1]);
        replace("..4", ["", ""]);
        assert_eq!(served().await, [1]);
        std::fs::remove_file(at("..data")).expect("it is there");
        assert_eq!(served().await, [1]);
        replace("..5", both(2));
        assert_eq!(served().await, [2]);
    }

    #[test]
    fn what_cannot_serve_is_refused_at_the_beginning() {
        let [chain, key] = TestAuthority::new("one").sign("localhost", false).pem();
        let [_, other] = TestAuthority::new("one").sign("localhost", false).pem();
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let files = TlsPolicy { cert_file: at("tls.crt"), key_file: at("tls.key") };
        for (chain, key, why) in [
            (None, None, "failed to read"),
            (Some(&*chain), None, "tls.key"),
            (Some(&*chain), Some(""), "tls.key"),
            (Some(&*chain), Some(&*other), "the certificate cannot be used"),
            (Some(""), Some(&*key), "the certificate cannot be used"),
        ] {
            for (name, text) in [("tls.crt", chain), ("tls.key", key)] {
                let _ = std::fs::remove_file(at(name));
                if let Some(text) = text {
                    std::fs::write(at(name), text).expect("a file");
                }
            }
            let error = ServerCertificate::new(Some(&files)).err().expect(why).to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
