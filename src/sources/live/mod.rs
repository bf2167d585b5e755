//! Reading a cluster: one list per kind, in parallel, in an order that proves absence; and watches
//! that keep what was read current.
//!
//! What is named (claims, nodes, classes) is listed after the volumes that name it, so that
//! "not in the list" means "not there" without asking for each one.

mod again;
mod denial;
mod follow;
mod lister;
mod lists;
mod message;
#[cfg(test)]
mod tests;
mod watches;

use std::sync::Arc;

use tokio::{sync::watch, task::JoinSet};

pub use again::{Again, list_again};
pub use lister::EVENTS;
pub use watches::Watches;

use self::lists::{Context, Found};
use self::message::Outbox;
use super::intake::Intake;
use crate::client::{self, ReadError, Reader, ServerVersion};
use crate::cluster::Change;
use crate::dump::DumpError;
use crate::model::{Kind, Server};

/// What to read, and how.
#[derive(Debug, Clone, Default)]
pub struct LiveOptions {
    /// The kinds to list.
    pub kinds: Vec<Kind>,
    /// `--chunk-size`: items per page, zero for no pages; `None` leaves it to the server's version.
    pub chunk_size: Option<u32>,
    /// The namespace to fall back on where nothing wider may be listed.
    pub namespace: String,
    /// The server's URL, for the report.
    pub server: String,
}

/// Why a cluster could not be read at all.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The server cannot be reached, or does not let us in.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// What was read cannot be saved.
    #[error(transparent)]
    Save(#[from] DumpError),
}

/// The first minor version that sends a list as it is encoded, instead of buffering it whole.
const STREAMING_LISTS: (u32, u32) = (1, 33);

/// Reads everything that was asked for into `intake`, telling `progress` after every batch.
///
/// # Errors
/// Only when nothing can be read at all; what is missing otherwise becomes a gap.
pub async fn read(
    reader: &Reader,
    options: &LiveOptions,
    intake: &mut Intake,
    progress: &mut dyn FnMut(&Intake),
) -> Result<(), LiveError> {
    gather(reader, options, intake, progress).await.map(drop)
}

/// Reads as [`read`] does, and watches from there: what was listed whole is kept current for as long
/// as the watches are kept. A gap is not watched, and stays one.
///
/// # Errors
/// Only when nothing can be read at all.
pub async fn read_and_watch(
    reader: &Reader,
    options: &LiveOptions,
    intake: &mut Intake,
    progress: &mut dyn FnMut(&Intake),
) -> Result<Watches, LiveError> {
    let found = gather(reader, options, intake, progress).await?;
    Ok(Watches::start(found, reader, intake))
}

/// Lists everything, and returns what can be watched from there.
async fn gather(
    reader: &Reader,
    options: &LiveOptions,
    intake: &mut Intake,
    progress: &mut dyn FnMut(&Intake),
) -> Result<Found, LiveError> {
    let version = asked_version(reader, intake).await?;
    let streams = version.as_ref().is_none_or(|it| (it.major, it.minor) >= STREAMING_LISTS);
    let page = match options.chunk_size {
        Some(size) => Some(size).filter(|size| *size > 0),
        None => (!streams).then_some(client::FALLBACK_PAGE),
    };
    let (outbox, mut receiver) = Outbox::new(intake.is_saving());
    let (volumes_done, gate) = watch::channel(!options.kinds.contains(&Kind::PersistentVolume));
    let context = Arc::new(Context::new(reader, page, &options.namespace, outbox, gate));
    // Given up with this function: what nobody takes in is not read to its end.
    let mut lists = JoinSet::new();
    for kind in options.kinds.iter().copied().filter(|kind| kind.is_listed()) {
        lists.spawn(Arc::clone(&context).list_kind(kind));
    }
    let identity = {
        let reader = reader.clone();
        tokio::spawn(async move { client::cluster_uid(&reader).await })
    };
    drop(context);
    while let Some(message) = receiver.recv().await {
        let volumes = message.ends(Kind::PersistentVolume);
        message.take_in(intake)?;
        if volumes {
            volumes_done.send_replace(true);
        }
        progress(intake);
    }
    let mut found = Found::new();
    while let Some(followed) = lists.join_next().await {
        found.extend(followed.into_iter().flatten());
    }
    let cluster_uid = match identity.await {
        Ok(Ok(uid)) => uid.map(Into::into),
        Ok(Err(_)) | Err(_) => None,
    };
    intake.apply(Change::Server(server(&options.server, version, cluster_uid)));
    Ok(found)
}

/// Finds out which cluster it is, and what time it is there, without reading anything else.
///
/// # Errors
/// When the server cannot be reached, or does not let us in.
pub async fn identify(reader: &Reader, url: &str, intake: &mut Intake) -> Result<(), LiveError> {
    let version = asked_version(reader, intake).await?;
    let uid = client::cluster_uid(reader).await?;
    intake.apply(Change::Server(server(url, version, uid.map(Into::into))));
    Ok(())
}

async fn asked_version(
    reader: &Reader,
    intake: &mut Intake,
) -> Result<Option<ServerVersion>, LiveError> {
    match client::version(reader).await {
        Ok(answer) => {
            if let Some(date) = answer.date {
                intake.advance(date);
            }
            Ok(Some(answer.value))
        }
        // Some servers hide their version; whatever else is wrong would be wrong for every list.
        Err(error) if error.is_forbidden() || error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn server(url: &str, version: Option<ServerVersion>, cluster_uid: Option<Box<str>>) -> Server {
    Server {
        cluster_uid,
        url: Some(url.into()),
        git_version: version.as_ref().map(|version| version.git.as_str().into()),
        version: version.map(|version| (version.major, version.minor)),
    }
}
