//! A proxy that answers in the place of the API server, as a gateway that broke, or passes on what that answered.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, Request};
use http_body_util::BodyExt as _;
use kube::client::{Body, Client};
use kubectl_storage::client::{ConnectionOptions, connect};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

use super::faults::{Answer, Fault, Play};

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Runtime::new().expect("because the machine has threads"));

/// A proxy. It goes with the process.
pub(super) struct FalseServer {
    pub(super) url: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// What goes wrong, by path.
    faults: Vec<(String, &'static Fault)>,
    /// The paths that were read.
    read: BTreeSet<String>,
    /// What was neither a read nor a review.
    written: Vec<String>,
}

impl FalseServer {
    /// Starts a proxy before the API server of a kubeconfig.
    pub(super) fn start(kubeconfig: &Path) -> Self {
        let kubeconfig = Some(kubeconfig.to_owned());
        let options = ConnectionOptions { kubeconfig, ..ConnectionOptions::default() };
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = Arc::clone(&state);
        let url = RUNTIME.block_on(async {
            let connection = connect(&options, "untrue").await;
            let client = connection.expect("because the testbed wrote it").client;
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("because ports are free");
            let address = listener.local_addr().expect("because it is bound");
            tokio::spawn(async move {
                while let Ok((socket, _)) = listener.accept().await {
                    tokio::spawn(serve(socket, client.clone(), Arc::clone(&shared)));
                }
            });
            format!("http://{address}")
        });
        Self { url, state }
    }

    /// Has this go wrong from now on, and nothing else; forgets what was asked.
    pub(super) fn plays(&self, faults: &[(&str, &'static Fault)]) {
        let faults = faults.iter().map(|(path, fault)| ((*path).to_owned(), *fault)).collect();
        *lock(&self.state) = State { faults, ..State::default() };
    }

    /// The paths that were read since, and what was written.
    pub(super) fn asked(&self) -> (BTreeSet<String>, Vec<String>) {
        let state = lock(&self.state);
        (state.read.clone(), state.written.clone())
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(mut socket: TcpStream, client: Client, state: Arc<Mutex<State>>) {
    while let Some(asked) = read(&mut socket).await {
        let target = asked.uri().to_string();
        let path = target.split('?').next().unwrap_or_default().to_owned();
        let reads = asked.method() == Method::GET;
        if reads && target.contains("watch=1") {
            // Nothing happens meanwhile.
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
            let _ = socket.write_all(head.as_bytes()).await;
            return drain(socket).await;
        }
        let fault = {
            let mut state = lock(&state);
            if reads {
                state.read.insert(path.clone());
            } else if !path.contains("reviews") {
                state.written.push(format!("{} {target}", asked.method()));
            }
            state.faults.iter().find(|(of, _)| reads && *of == path).map(|(_, fault)| *fault)
        };
        let Some(answer) = forward(&client, asked, fault.is_some()).await else { return };
        let play = match fault {
            Some(fault) => (fault.play)(answer),
            None => Play::Whole(answer),
        };
        let (answer, ends_after) = match play {
            Play::Whole(answer) => (answer, None),
            Play::Cut(answer, bytes) => (answer, Some(bytes)),
            Play::Late(answer, wait) => {
                tokio::time::sleep(wait).await;
                (answer, None)
            }
            Play::Reset => {
                let _ = socket.set_zero_linger();
                return;
            }
        };
        let bytes = answer.bytes();
        let end = ends_after.map_or(bytes.len(), |cut| bytes.len().saturating_sub(cut));
        if socket.write_all(&bytes[..end]).await.is_err() || ends_after.is_some() {
            return;
        }
    }
}

/// Waits until the client has gone.
async fn drain(mut socket: TcpStream) {
    let mut rest = [0; 64];
    while socket.read(&mut rest).await.is_ok_and(|read| read > 0) {}
}

/// Has the API server answer. What is to be altered is asked for as JSON.
async fn forward(client: &Client, mut asked: Request<Vec<u8>>, alters: bool) -> Option<Answer> {
    let accept = asked.headers().get(ACCEPT).and_then(|it| it.to_str().ok()).unwrap_or_default();
    if alters && accept.contains("protobuf") {
        asked.headers_mut().insert(ACCEPT, http::HeaderValue::from_static("application/json"));
    }
    let response =
        tokio::time::timeout(Duration::from_secs(30), client.send(asked.map(Body::from)));
    let (head, body) = response.await.ok()?.ok()?.into_parts();
    let body = body.collect().await.ok()?.to_bytes().to_vec();
    let kept = ["content-type", "audit-id", "date", "retry-after"];
    let header = |name: &&str| {
        let value = head.headers.get(*name)?.to_str().ok()?;
        Some(((*name).to_owned(), value.to_owned()))
    };
    let headers = kept.iter().filter_map(header).collect();
    Some(Answer { code: head.status.as_u16(), headers, body })
}

async fn read(socket: &mut TcpStream) -> Option<Request<Vec<u8>>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(socket.read_u8().await.ok()?);
    }
    let text = String::from_utf8_lossy(&head).into_owned();
    let mut lines = text.lines();
    let mut words = lines.next()?.split(' ');
    let mut request = Request::builder().method(words.next()?).uri(words.next()?);
    let mut length = 0;
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        match name.to_ascii_lowercase().as_str() {
            "accept" => request = request.header(ACCEPT, value),
            "content-type" => request = request.header(CONTENT_TYPE, value),
            "content-length" => length = value.parse().ok()?,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await.ok()?;
    request.body(body).ok()
}
