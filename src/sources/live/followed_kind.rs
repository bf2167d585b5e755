//! `FollowedKind`: the watches of one kind, and the return to a kind that was not listed whole.

use std::sync::Arc;

use tokio::{sync::watch, task::JoinSet, time::sleep};

use super::kind_lister::{KindLister, ListedKind};
use super::reach_watch::WatchLinks;
use crate::client::{Reader, is_still_unserved};
use crate::model::Kind;

/// Whether what was not listed whole is tried again after a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Return {
    /// It remains a gap: who is about to write decides by what was read. Only a kind that was not
    /// served is looked for, since that it has no objects was read as well.
    Never,
    /// It is tried again: a right may be granted, and a kind may be installed.
    AfterAWhile,
}

/// One kind, and how its list ended.
pub(super) struct FollowedKind {
    pub(super) kind: Kind,
    pub(super) listed: ListedKind,
    /// `--chunk-size`, as [`KindLister`] takes it.
    pub(super) page: Option<u32>,
    /// The only namespace that is listed where neither the cluster nor its namespaces may be.
    pub(super) namespace: String,
}

impl FollowedKind {
    /// Watches, and lists the kind anew where its lists were not complete, or once it is served.
    /// Never returns.
    pub(super) async fn run(mut self, returns: Return, mut links: WatchLinks) {
        let mut tried = 0;
        loop {
            let mut tasks = JoinSet::new();
            match self.listed {
                ListedKind::NotServed => {
                    tried = 0;
                    until_served(&links.reader, self.kind).await;
                }
                ListedKind::Watched(watches) => {
                    let is_whole = watches.iter().any(|it| it.reach().namespace.is_none());
                    for watch in watches {
                        tasks.spawn(watch.run(links.clone()));
                    }
                    if is_whole {
                        tried = 0;
                        // It ends when the kind seems not to be served any more.
                        tasks.join_next().await;
                    } else if returns == Return::Never {
                        while tasks.join_next().await.is_some() {}
                        return;
                    }
                    tried += 1;
                    sleep(links.reader.limits().return_pause(tried)).await;
                }
            }
            // Whatever these watches would still report is in the new lists, and nothing of it may
            // arrive once those have begun.
            tasks.shutdown().await;
            links.begin_list();
            let (_, volumes_listed) = watch::channel(true);
            let outbox = links.outbox.clone();
            let lister =
                KindLister::new(&links.reader, self.page, &self.namespace, outbox, volumes_listed);
            self.listed = Arc::new(lister).list_kind(self.kind).await;
        }
    }
}

/// Waits until the server does not deny any more that it serves a kind. The pause does not grow: what
/// is done meanwhile rests on that there are no objects of the kind.
async fn until_served(reader: &Reader, kind: Kind) {
    loop {
        sleep(reader.limits().first_return).await;
        if !is_still_unserved(reader, kind).await {
            return;
        }
    }
}
