//! Lists and watches of a cluster: one list for each kind, in parallel, and watches that keep what
//! was listed current.
//!
//! Claims, nodes and classes are listed after the volumes that reference them, so that what is not
//! in their list does not exist, and need not be asked for one by one.
//!
//! - here: [`read`] and [`read_and_watch`], which own the intake.
//! - `kind_lister`: one task for each kind; versions, namespaces, order.
//! - `reach_requests`: the list requests of one reach.
//! - `message`: what these tasks send to the owner.
//! - `watches`: the owner's side of all watches; `followed_kind`: the watches of one kind, and when
//!   it is listed anew; `reach_watch`: one watch task.
//! - `watch_health`: how the watches are doing.
//! - `fresh_list`: a list that is read once more before a write.
//! - `gap_reason`: why something was not read, for the report.

mod followed_kind;
mod fresh_list;
pub(super) mod gap_reason;
mod kind_lister;
mod message;
mod reach_requests;
mod reach_watch;
#[cfg(test)]
mod tests;
mod watch_health;
mod watches;

use std::sync::Arc;

use tokio::{sync::watch, task::JoinSet};

pub use followed_kind::Return;
pub use fresh_list::list_again;
pub use reach_requests::EVENTS;
pub use watch_health::WatchHealth;
pub use watches::Watches;

use self::followed_kind::FollowedKind;
use self::kind_lister::KindLister;
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
    /// `--chunk-size`: items per page, zero for no pages; `None` lets the server's version decide.
    pub chunk_size: Option<u32>,
    /// The only namespace that is listed where neither the cluster nor its namespaces may be.
    pub namespace: String,
    /// The server's URL, for the report.
    pub server: String,
}

/// Why a cluster could not be read at all.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The server cannot be reached, or refuses access.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// What was read cannot be saved.
    #[error(transparent)]
    Save(#[from] DumpError),
}

/// The first version that sends a list while it encodes it, instead of buffering it whole.
const STREAMING_LISTS: (u32, u32) = (1, 33);

/// Reads everything that `options` ask for into `intake`, and calls `progress` after every batch.
///
/// # Errors
/// Only when nothing can be read at all. Whatever else cannot be read becomes a gap.
pub async fn read(
    reader: &Reader,
    options: &LiveOptions,
    intake: &mut Intake,
    progress: &mut dyn FnMut(&Intake),
) -> Result<(), LiveError> {
    list_kinds(reader, options, intake, progress).await.map(drop)
}

/// Reads as [`read`] does, and then watches: what was listed whole is kept current until the
/// watches are dropped. A gap is not watched; whether it remains is what `returns` says.
///
/// # Errors
/// Only when nothing can be read at all.
pub async fn read_and_watch(
    reader: &Reader,
    options: &LiveOptions,
    intake: &mut Intake,
    returns: Return,
    progress: &mut dyn FnMut(&Intake),
) -> Result<Watches, LiveError> {
    let kinds = list_kinds(reader, options, intake, progress).await?;
    Ok(Watches::start(kinds, returns, reader, intake))
}

/// Lists every kind, and returns each with the watches of what was listed whole, not started yet.
async fn list_kinds(
    reader: &Reader,
    options: &LiveOptions,
    intake: &mut Intake,
    progress: &mut dyn FnMut(&Intake),
) -> Result<Vec<FollowedKind>, LiveError> {
    let version = read_version(reader, intake).await?;
    let streams = version.as_ref().is_none_or(|it| (it.major, it.minor) >= STREAMING_LISTS);
    let page = match options.chunk_size {
        Some(size) => Some(size).filter(|size| *size > 0),
        None => (!streams).then_some(client::FALLBACK_PAGE),
    };
    let (outbox, mut receiver) = Outbox::new(intake.is_saving());
    let without_volumes = !options.kinds.contains(&Kind::PersistentVolume);
    let (volumes_listed, receives_listed) = watch::channel(without_volumes);
    let lister =
        Arc::new(KindLister::new(reader, page, &options.namespace, outbox, receives_listed));
    // Dropped with this future, so that no list goes on that is not taken in.
    let mut lists = JoinSet::new();
    for kind in options.kinds.iter().copied().filter(|kind| kind.is_listed()) {
        let (lister, namespace) = (Arc::clone(&lister), options.namespace.clone());
        lists.spawn(async move {
            FollowedKind { kind, listed: lister.list_kind(kind).await, page, namespace }
        });
    }
    let identity = {
        let reader = reader.clone();
        tokio::spawn(async move { client::cluster_uid(&reader).await })
    };
    drop(lister);
    while let Some(delivery) = receiver.recv().await {
        let ends_volumes = delivery.message.ends(Kind::PersistentVolume);
        delivery.take_in(intake)?;
        if ends_volumes {
            volumes_listed.send_replace(true);
        }
        progress(intake);
    }
    let mut kinds = Vec::new();
    while let Some(kind) = lists.join_next().await {
        kinds.extend(kind);
    }
    let cluster_uid = match identity.await {
        Ok(Ok(uid)) => uid.map(Into::into),
        Ok(Err(_)) | Err(_) => None,
    };
    intake.apply(Change::Server(server(&options.server, version, cluster_uid)));
    Ok(kinds)
}

/// Reads the identity and the clock of a cluster, and no objects.
///
/// # Errors
/// When the server cannot be reached, or refuses access.
pub async fn identify(reader: &Reader, url: &str, intake: &mut Intake) -> Result<(), LiveError> {
    let version = read_version(reader, intake).await?;
    let uid = client::cluster_uid(reader).await?;
    intake.apply(Change::Server(server(url, version, uid.map(Into::into))));
    Ok(())
}

async fn read_version(
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
        // Some servers hide their version. Any other error would also end every list.
        Err(error) if error.is_forbidden() || error.is_not_served() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn server(url: &str, version: Option<ServerVersion>, cluster_uid: Option<Box<str>>) -> Server {
    Server {
        cluster_uid,
        url: Some(url.into()),
        git_version: version.as_ref().map(|version| version.git.as_str().into()),
        version: version.map(|version| (version.major, version.minor)),
        allowed: None,
    }
}
