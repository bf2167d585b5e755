//! How full volumes are, by the kubelets of the nodes that mount them (`/stats/summary`, through the API server).

use std::{
    io::{self, Read},
    time::Duration,
};

use bytes::{Buf as _, Bytes};
use futures::{StreamExt as _, stream};
use tokio::{sync::mpsc, task};

use crate::{
    client::{ReadError, Reader},
    model::{Text, escape_control, shorten},
    usage::{UsageFigures, read_summary},
};

/// How many kubelets are asked at once.
const AT_ONCE: usize = 8;
/// How long one may take.
const WITHIN: Duration = Duration::from_secs(10);
/// Number of pieces of an answer that wait to be decoded.
const PIECES: usize = 4;
/// What the API server writes before why it does not reach a kubelet (apimachinery, `proxy.go`).
const UNREACHED: &str = "error trying to reach service: ";

/// Asks the kubelets of these nodes. Those that do not answer are known as such.
///
/// # Errors
/// When every one is forbidden.
pub(crate) async fn read(
    reader: &Reader,
    nodes: Vec<Text>,
    mut progress: impl FnMut(usize),
) -> Result<UsageFigures, ReadError> {
    let asked = nodes.len();
    let mut figures = UsageFigures::default();
    let (mut done, mut forbidden) = (0, Vec::new());
    let mut answers = stream::iter(nodes)
        .map(async |node| {
            let answer = ask(reader, &node).await;
            (node, answer)
        })
        .buffer_unordered(AT_ONCE);
    while let Some((node, answer)) = answers.next().await {
        done += 1;
        progress(done);
        match answer {
            Ok(of_node) => figures.join(of_node),
            Err(error) => {
                figures.join(UsageFigures::without(node, error.brief().into()));
                if let KubeletError::Read(error) = error
                    && error.is_forbidden()
                {
                    forbidden.push(error);
                }
            }
        }
    }
    match forbidden.pop() {
        Some(error) if forbidden.len() + 1 == asked => Err(error),
        _ => Ok(figures),
    }
}

/// Why a kubelet did not tell.
enum KubeletError {
    /// There was no answer, or not all of it.
    Read(ReadError),
    /// The answer is no summary.
    Foreign(String),
}

impl KubeletError {
    /// Returns the reason in a few words.
    fn brief(&self) -> String {
        let told = match self {
            Self::Foreign(why) => why.clone(),
            Self::Read(error) if error.is_timeout() => "timeout".to_owned(),
            Self::Read(error) if error.is_forbidden() => "forbidden".to_owned(),
            Self::Read(ReadError::Api { code, message, .. }) => {
                match message.strip_prefix(UNREACHED) {
                    Some(why) => why.rsplit_once(": ").map_or(why, |it| it.1).to_owned(),
                    None => format!("HTTP {code}: {message}"),
                }
            }
            Self::Read(ReadError::NotFound { .. }) => "not found".to_owned(),
            Self::Read(ReadError::Broken { .. }) => "its answer was cut off".to_owned(),
            Self::Read(error) => error.to_string(),
        };
        escape_control(&shorten(told.trim(), 120)).into_owned()
    }
}

async fn ask(reader: &Reader, node: &Text) -> Result<UsageFigures, KubeletError> {
    let answer = reader.of_kubelet(node, "stats/summary", WITHIN).await;
    let mut answer = answer.map_err(KubeletError::Read)?;
    let (pieces, arriving) = mpsc::channel(PIECES);
    let content = ArrivingContent { arriving, piece: Bytes::new() };
    let node = Text::clone(node);
    let decoded = task::spawn_blocking(move || read_summary(node, content));
    while let Some(piece) = answer.next().await.map_err(KubeletError::Read)? {
        // What cannot be decoded is not read to its end.
        if pieces.send(piece).await.is_err() {
            break;
        }
    }
    drop(pieces);
    match decoded.await {
        Ok(figures) => figures.map_err(KubeletError::Foreign),
        Err(error) => Err(KubeletError::Foreign(error.to_string())),
    }
}

/// Content that another task leaves here piece by piece.
struct ArrivingContent {
    arriving: mpsc::Receiver<Bytes>,
    piece: Bytes,
}

impl Read for ArrivingContent {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.arriving.blocking_recv() {
                Some(piece) => self.piece = piece,
                None => return Ok(0),
            }
        }
        let length = self.piece.len().min(buffer.len());
        self.piece.copy_to_slice(&mut buffer[..length]);
        Ok(length)
    }
}
