use std::net::SocketAddr;
use std::sync::Mutex;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::super::queue::tests::{cleared, finding};
use super::super::tests::{TestAuthority, TestCertificate};
use super::*;
use crate::client::test_server::{TestReply, TestServer, reply};
use crate::model::Severity;

async fn posted(text: &str) -> PostError {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("url");
    std::fs::write(&file, text).expect("a file");
    post(&file, "{}", Duration::from_secs(20)).await.expect_err("because it is wrong")
}

#[tokio::test]
async fn a_wrong_url_is_named_by_its_file_only() {
    for (text, reason) in [
        ("", "the file is empty"),
        ("\n", "the file is empty"),
        ("secret", "it does not begin with https://"),
        ("ftp://secret.example/x", "it does not begin with https://"),
        ("https://user:secret@host/x", "it holds a password"),
        ("https://secret example/x", "it is no URL"),
    ] {
        let error = posted(text).await;
        assert!(error.to_string().contains(reason), "{error}");
        assert!(!format!("{error:?} {error}").contains("secret"), "{error:?}");
        assert_eq!(error.retry(), Some(None));
    }
}

#[tokio::test]
async fn no_error_holds_the_url() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    for scheme in ["http", "https"] {
        let error = posted(&format!("{scheme}://{address}/services/T0/B0/secret")).await;
        assert!(matches!(error, PostError::Unanswered(_)), "{error:?}");
        let text = format!("{error:?} {error}");
        assert!(!text.contains("secret") && !text.contains("127.0.0.1"), "{text}");
    }
    let url: Uri = "https://hooks.example/a/secret?b".parse().expect("a URL");
    let text = "hooks.example: GET https://hooks.example/a/secret?b: /a/secret?b";
    assert_eq!(redact(text, &url), "<host>: GET <url>: <path>");
}

const HOST: &str = "hooks.example";
const PATIENCE: Duration = Duration::from_secs(20);

/// What servers have heard, a line each.
type Heard = Arc<Mutex<Vec<String>>>;

fn hear(heard: &Heard, line: String) {
    heard.lock().expect("because no test panics while holding it").push(line);
}

fn heard(heard: &Heard) -> Vec<String> {
    heard.lock().expect("because no test panics while holding it").clone()
}

/// Reads until a request is there: its head, and `ends` at the end.
async fn read_until(socket: &mut (impl AsyncRead + Unpin), ends: &str) -> Option<String> {
    let mut text = String::new();
    while !text.ends_with(ends) {
        text.push(char::from(socket.read_u8().await.ok()?));
    }
    Some(text)
}

/// A webhook that speaks HTTPS with this certificate.
async fn serve(certificate: &TestCertificate, to: &Heard) -> SocketAddr {
    let acceptor = TlsAcceptor::from(Arc::new(certificate.served()));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let to = Arc::clone(to);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let Ok(mut socket) = acceptor.accept(socket).await else { continue };
            let Some(request) = read_until(&mut socket, "{}").await else { continue };
            hear(&to, request.lines().next().unwrap_or_default().to_owned());
            answer(&mut socket, "200 OK").await;
            let _ = socket.shutdown().await;
        }
    });
    address
}

async fn answer(socket: &mut (impl AsyncWrite + Unpin), status: &str) {
    let text = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
    let _ = socket.write_all(text.as_bytes()).await;
}

/// A proxy that connects to a webhook, whatever host it is asked for.
async fn proxy(webhook: SocketAddr, to: &Heard) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let to = Arc::clone(to);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let Some(head) = read_until(&mut socket, "\r\n\r\n").await else { continue };
            hear(&to, head.lines().next().unwrap_or_default().to_owned());
            let Ok(mut server) = TcpStream::connect(webhook).await else { continue };
            let _ = socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
            tokio::spawn(async move { copy_bidirectional(&mut socket, &mut server).await });
        }
    });
    address
}

/// Posts to a URL by a proxy, trusting one authority.
async fn post_to(
    url: &str,
    proxies: &ProxyEnv,
    authority: &TestAuthority,
) -> Result<(), PostError> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("url");
    std::fs::write(&file, url).expect("a file");
    post_by(proxies, &|| Ok(authority.trusted()), &file, "{}", PATIENCE).await
}

#[tokio::test]
async fn a_certificate_of_an_own_authority_is_trusted_and_no_other() {
    let (own, other) = (TestAuthority::new("own"), TestAuthority::new("other"));
    for (authority, name, is_over, why) in [
        (&own, "127.0.0.1", false, ""),
        (&other, "127.0.0.1", false, "UnknownIssuer"),
        (&own, "other.example", false, "not valid for name"),
        (&own, "127.0.0.1", true, "expired"),
    ] {
        let calls = Heard::default();
        let address = serve(&authority.sign(name, is_over), &calls).await;
        let posted =
            post_to(&format!("https://{address}/secret"), &ProxyEnv::default(), &own).await;
        let Err(error) = posted else {
            assert_eq!((why, heard(&calls)), ("", vec!["POST /secret HTTP/1.1".to_owned()]));
            continue;
        };
        // Somebody may be about to mend it; and nothing was told to whoever it is.
        assert_eq!(error.retry(), Some(None), "{error}");
        let text = format!("{error:?} {error}");
        assert!(!why.is_empty() && text.contains(why), "{why}: {text}");
        assert!(!text.contains("secret") && !text.contains("127.0.0.1"), "{text}");
        assert!(heard(&calls).is_empty(), "{calls:?}");
    }
}

#[tokio::test]
async fn a_proxy_is_asked_for_what_is_not_excluded_and_learns_no_more_than_the_host() {
    let authority = TestAuthority::new("own");
    let (calls, connects) = (Heard::default(), Heard::default());
    let webhook = serve(&authority.sign(HOST, false), &calls).await;
    let proxy = proxy(webhook, &connects).await;
    let proxies = |none_for: &str| ProxyEnv {
        https: Some(format!("http://{proxy}")),
        http: Some(format!("http://{proxy}")),
        none_for: none_for.to_owned(),
    };
    let url = format!("https://{HOST}/secret");
    assert_eq!(post_to(&url, &proxies("other.example"), &authority).await, Ok(()));
    assert_eq!(heard(&connects), [format!("CONNECT {HOST}:443 HTTP/1.1")]);
    assert_eq!(heard(&calls), ["POST /secret HTTP/1.1"]);
    // The certificate is looked at behind a proxy too.
    let refused = post_to(&url, &proxies(""), &TestAuthority::new("other")).await;
    assert!(refused.is_err_and(|it| it.to_string().contains("UnknownIssuer")));
    assert_eq!((heard(&connects).len(), heard(&calls).len()), (2, 1));
    // Excluded, and this host does not exist; `http://` goes by no proxy.
    for url in [&url, &format!("http://{HOST}/secret")] {
        let direct = post_to(url, &proxies(HOST), &authority).await;
        let error = direct.expect_err("because .example is reserved").to_string();
        assert!(!error.contains("secret") && !error.contains(HOST), "{error}");
    }
    assert_eq!((heard(&connects).len(), heard(&calls).len()), (2, 1));
}

const QUICK: WebhookPace = WebhookPace {
    timeout: Duration::from_millis(300),
    pause: Duration::from_millis(5),
    longest_pause: Duration::from_millis(50),
    give_up: Duration::from_secs(60),
};

struct Hook {
    server: TestServer,
    reporter: WebhookReporter,
    counts: Arc<SinkCounts>,
    folder: tempfile::TempDir,
}

impl Hook {
    async fn start(
        pace: WebhookPace,
        answer: impl Fn(usize) -> TestReply + Send + Sync + 'static,
    ) -> Self {
        let server = TestServer::start(move |asked| answer(asked.nth)).await;
        let folder = tempfile::tempdir().expect("a folder");
        let url_file = folder.path().join("url");
        std::fs::write(&url_file, format!("{}/secret/path\n", server.url)).expect("a file");
        let counts = Arc::default();
        let policy = WebhookPolicy { url_file, severity: Severity::High };
        let reporter =
            WebhookReporter::start(&policy, "c", pace, Arc::clone(&counts), Leadership::alone());
        Self { server, reporter, counts, folder }
    }

    fn tell(&mut self, names: std::ops::Range<usize>) {
        let found = names.map(|it| finding(&it.to_string(), Severity::High));
        let events: Vec<_> = found.map(FindingEvent::Appeared).collect();
        self.reporter.hear(&events, None, false);
    }

    async fn until(&self, expected: [u64; 3]) {
        let numbers = || self.counts.by_outcome().map(|(_, count)| count);
        for _ in 0..3000 {
            if numbers() == expected {
                return;
            }
            sleep(Duration::from_millis(10)).await;
        }
        panic!("{:?} instead of {expected:?}", numbers());
    }
}

#[tokio::test]
async fn nothing_is_lost_while_the_server_is_in_trouble() {
    let mut hook = Hook::start(QUICK, |nth| match nth {
        0 => reply(500, "", ""),
        1 => TestReply::Hang(Vec::new()),
        2 => TestReply::Cut(Vec::new()),
        3 => reply(429, "retry-after: 1\r\n", ""),
        _ => reply(200, "", "ok"),
    })
    .await;
    hook.tell(0..1);
    hook.until([0, 0, 0]).await;
    hook.tell(1..3);
    hook.until([3, 0, 0]).await;
    let asked = hook.server.asked();
    assert!(asked.iter().all(|it| it.path == "/secret/path"), "{asked:?}");
    let bodies = asked.iter().map(|it| it.body.as_str()).collect::<Vec<_>>().join("\n");
    assert!(["pv/0", "pv/1", "pv/2"].iter().all(|it| bodies.contains(it)), "{bodies}");
    // What waited meanwhile came in one message.
    assert!((5..=6).contains(&asked.len()), "{}", asked.len());
}

#[tokio::test]
async fn no_redirect_is_followed_and_a_refusal_is_final() {
    let other = TestServer::start(|_| reply(200, "", "")).await;
    let location = format!("location: {}\r\n", other.url);
    let mut hook = Hook::start(QUICK, move |nth| match nth {
        0 => reply(302, &location, ""),
        1 => reply(404, "", ""),
        _ => reply(200, "", ""),
    })
    .await;
    for number in 0..3 {
        hook.tell(number..number + 1);
        hook.until(if number < 2 { [0, number as u64 + 1, 0] } else { [1, 2, 0] }).await;
    }
    assert_eq!(hook.server.asked().len(), 3);
    assert!(other.asked().is_empty());
}

#[tokio::test]
async fn a_server_that_stays_away_costs_nothing_but_messages() {
    let pace = WebhookPace { give_up: Duration::from_millis(200), ..QUICK };
    let mut hook = Hook::start(pace, |_| reply(503, "", "")).await;
    hook.tell(0..1200);
    hook.until([0, 1000, 200]).await;
}

#[tokio::test]
async fn what_waits_when_the_policy_changes_is_sent_where_the_new_one_says() {
    let mut hook = Hook::start(QUICK, |_| reply(503, "", "")).await;
    hook.tell(0..3);
    hook.until([0, 0, 0]).await;
    let other = TestServer::start(|_| reply(200, "", "")).await;
    let url_file = hook.folder.path().join("other");
    std::fs::write(&url_file, format!("{}/other", other.url)).expect("a file");
    hook.reporter.follow(&WebhookPolicy { url_file, severity: Severity::Critical });
    hook.until([3, 0, 0]).await;
    let bodies: String = other.asked().iter().map(|it| it.body.as_str()).collect();
    assert!(["pv/0", "pv/1", "pv/2"].iter().all(|it| bodies.contains(it)), "{bodies}");
    // What comes now is looked at by the new policy, and what was told stays told.
    hook.tell(0..4);
    let worse = FindingEvent::Changed(finding("4", Severity::Critical));
    hook.reporter.hear(&[worse], None, false);
    hook.until([4, 0, 0]).await;
    let last = other.asked().pop().expect("it was asked").body;
    assert!(last.contains("pv/4") && !last.contains("pv/3"), "{last}");
}

#[tokio::test]
async fn the_url_is_read_again_when_it_changes() {
    let mut hook = Hook::start(QUICK, |_| reply(200, "", "")).await;
    let file = hook.folder.path().join("url");
    std::fs::remove_file(&file).expect("it is there");
    hook.tell(0..1);
    sleep(Duration::from_millis(50)).await;
    std::fs::write(&file, format!("{}/other", hook.server.url)).expect("a file");
    hook.until([1, 0, 0]).await;
    assert_eq!(hook.server.asked()[0].path, "/other");
}

#[test]
fn a_message_is_for_people_and_for_programs() {
    let mut hostile = finding("a", Severity::High);
    hostile.summary = "<!channel> & \u{1b}[2J".to_owned();
    let items = [
        WebhookItem::of(FindingEvent::Appeared(hostile), None, false),
        WebhookItem::of(cleared("b", Severity::High), None, false),
    ];
    let message = render("https://c", &items);
    assert_eq!(
        message["text"],
        "kubectl storage, https://c: findings: 1 appeared, 1 cleared\n\
             • high pv-failed pv/a: &lt;!channel&gt; &amp; \\u{1b}[2J\n\
             • cleared: high pv-failed pv/b"
    );
    assert_eq!(message["findings"][0]["event"], "appeared");
    assert_eq!(message["findings"][1]["id"], "pv-failed");
    assert_eq!(message["omitted"], 0);
}

#[test]
fn a_long_message_counts_the_rest() {
    let items: Vec<_> = (0..150)
        .map(|it| finding(&it.to_string(), Severity::High))
        .map(|it| WebhookItem::of(FindingEvent::Appeared(it), None, true))
        .collect();
    let message = render("c", &items);
    let text = message["text"].as_str().expect("a text");
    assert!(text.starts_with("kubectl storage, c: findings: 150 there at the start\n"));
    assert!(text.ends_with("\nand 130 more"), "{text}");
    assert_eq!(message["findings"].as_array().map(Vec::len), Some(100));
    assert_eq!(message["omitted"], 50);
}
