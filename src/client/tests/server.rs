//! `TestServer`: an API server that answers each request with the bytes that a function returns.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::client::{Connection, ConnectionOptions, ReadLimits, Reader, connect};

/// A request that the server has received.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    /// The head in lower case.
    pub(crate) head: String,
    pub(crate) body: String,
    /// How many requests came before it.
    pub(crate) nth: usize,
}

/// The bytes of an answer, and what happens after them.
pub(crate) enum TestReply {
    Whole(Vec<u8>),
    /// The connection is closed after these bytes.
    Cut(Vec<u8>),
    /// The connection is reset after these bytes.
    Reset(Vec<u8>),
    /// These bytes, and then nothing.
    Hang(Vec<u8>),
    /// These bytes, one piece at a time, and then nothing.
    Pieces(Vec<Vec<u8>>),
}

pub(crate) const DATE: &str = "Sat, 21 Nov 2026 01:02:03 GMT";

/// A whole answer.
pub(crate) fn reply(code: u16, headers: &str, body: impl AsRef<[u8]>) -> TestReply {
    TestReply::Whole(bytes(code, headers, body.as_ref().len(), body.as_ref()))
}

pub(crate) fn json(body: impl AsRef<[u8]>) -> TestReply {
    reply(200, "content-type: application/json\r\n", body)
}

pub(crate) fn protobuf(body: impl AsRef<[u8]>) -> TestReply {
    reply(200, "content-type: application/vnd.kubernetes.protobuf\r\n", body)
}

/// What an API server answers about an object that does not exist.
pub(crate) fn absent(path: &str) -> TestReply {
    let name = path.rsplit('/').next().unwrap_or_default();
    let status = serde_json::json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound",
        "message": format!("things \"{name}\" not found"), "details": {"name": name},
    });
    reply(404, "content-type: application/json\r\n", status.to_string())
}

/// What an API server answers about a path that it does not serve.
pub(crate) fn unserved() -> TestReply {
    let marked = "content-type: text/plain; charset=utf-8\r\naudit-id: 5d3e\r\n";
    reply(404, marked, "404 page not found\n")
}

/// An answer whose headers announce `length` bytes.
pub(crate) fn bytes(code: u16, headers: &str, length: usize, body: &[u8]) -> Vec<u8> {
    let head =
        format!("HTTP/1.1 {code} X\r\ndate: {DATE}\r\n{headers}content-length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// The beginning of an answer in chunks, without its end.
pub(crate) fn chunked(headers: &str, body: &[u8]) -> Vec<u8> {
    let head =
        format!("HTTP/1.1 200 OK\r\ndate: {DATE}\r\n{headers}transfer-encoding: chunked\r\n\r\n");
    [head.as_bytes(), format!("{:x}\r\n", body.len()).as_bytes(), body, b"\r\n"].concat()
}

/// The head of an answer in chunks.
pub(crate) fn begun() -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ndate: {DATE}\r\ntransfer-encoding: chunked\r\n\r\n").into_bytes()
}

/// A chunk; the empty one ends the answer.
pub(crate) fn chunk(body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    [format!("{:x}\r\n", body.len()).as_bytes(), body, b"\r\n"].concat()
}

pub(crate) struct TestServer {
    pub(crate) url: String,
    log: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl TestServer {
    pub(crate) async fn start(
        answer: impl Fn(&ReceivedRequest) -> TestReply + Send + Sync + 'static,
    ) -> Self {
        let listener =
            TcpListener::bind("127.0.0.1:0").await.expect("because loopback has free ports");
        let url = format!("http://{}", listener.local_addr().expect("because it is bound"));
        let log = Arc::new(Mutex::new(Vec::new()));
        let (shared, answer) = (Arc::clone(&log), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, Arc::clone(&shared), Arc::clone(&answer)));
            }
        });
        Self { url, log }
    }

    pub(crate) fn asked(&self) -> Vec<ReceivedRequest> {
        self.log.lock().expect("because no test panics while holding it").clone()
    }

    pub(crate) fn options(&self) -> ConnectionOptions {
        let kubeconfig = Some("/dev/null".into());
        ConnectionOptions {
            server: Some(self.url.clone()),
            kubeconfig,
            ..ConnectionOptions::default()
        }
    }

    pub(crate) async fn connect(&self) -> Connection {
        connect(&self.options(), "kubectl-storage/test")
            .await
            .expect("because the options are complete")
    }

    pub(crate) async fn reader(&self) -> Reader {
        Reader::with_limits(&self.connect().await, quick())
    }
}

/// The default limits, a hundred times shorter.
pub(crate) fn quick() -> ReadLimits {
    ReadLimits {
        first_pause: Duration::from_millis(2),
        longest_pause: Duration::from_millis(80),
        longest_retry_after: Duration::from_millis(300),
        idle: Duration::from_millis(600),
        silence: Duration::from_millis(600),
        lasting: Duration::from_millis(10),
        first_return: Duration::from_millis(100),
        longest_return: Duration::from_secs(3),
        ..ReadLimits::default()
    }
}

async fn serve<A: Fn(&ReceivedRequest) -> TestReply>(
    mut socket: TcpStream,
    log: Arc<Mutex<Vec<ReceivedRequest>>>,
    answer: Arc<A>,
) {
    while let Some(mut asked) = read(&mut socket).await {
        {
            let mut log = log.lock().expect("because no test panics while holding it");
            asked.nth = log.len();
            log.push(asked.clone());
        }
        let (bytes, reset) = match answer(&asked) {
            TestReply::Whole(bytes) => {
                if socket.write_all(&bytes).await.is_err() {
                    return;
                }
                continue;
            }
            TestReply::Hang(bytes) => {
                let _ = socket.write_all(&bytes).await;
                return std::future::pending().await;
            }
            TestReply::Pieces(pieces) => {
                let _ = socket.set_nodelay(true);
                for piece in pieces {
                    let _ = socket.write_all(&piece).await;
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                return std::future::pending().await;
            }
            TestReply::Cut(bytes) => (bytes, false),
            TestReply::Reset(bytes) => (bytes, true),
        };
        let _ = socket.write_all(&bytes).await;
        let _ = socket.flush().await;
        if reset {
            // Long enough for the client to read the bytes.
            tokio::time::sleep(Duration::from_millis(30)).await;
            let _ = socket.set_zero_linger();
        }
        return;
    }
}

async fn read(socket: &mut TcpStream) -> Option<ReceivedRequest> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(socket.read_u8().await.ok()?);
        // This is the first byte of a TLS handshake, which a server without TLS answers like this.
        if head == [0x16] {
            let _ = socket.write_all(b"HTTP/1.0 400 Bad Request\r\n\r\n").await;
            return None;
        }
    }
    let text = String::from_utf8_lossy(&head).into_owned();
    let mut words = text.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let lower = text.to_lowercase();
    let length = lower
        .split("content-length: ")
        .nth(1)
        .and_then(|rest| rest.split('\r').next()?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    socket.read_exact(&mut body).await.ok()?;
    Some(ReceivedRequest {
        method,
        path,
        head: lower,
        body: String::from_utf8_lossy(&body).into_owned(),
        nth: 0,
    })
}
