//! A look at a cluster that goes on: what `audit --watch` and `watch` have in common. Where the settings
//! come from, and where the news go, is theirs.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::{
    Failure,
    args::ConnectionArgs,
    collect::{ClusterSource, Collected, collect},
};
use crate::model::Settings;
use crate::watch::{News, Pace, Reconciler, Records, Watching, policy::WatchPolicy};

/// Looks for the first time.
pub(super) async fn look(
    connection: &ConnectionArgs,
    namespace: Option<&str>,
    settings: &Settings,
    save: Option<&Path>,
) -> Result<Collected, Failure> {
    collect(ClusterSource::Followed { connection, namespace }, settings, save).await
}

/// Begins to follow what was looked at: everything that was found has appeared.
pub(super) fn begin(collected: &mut Collected, settings: Settings) -> (Reconciler, News) {
    let assessor = std::mem::take(&mut collected.assessor);
    let cluster = &collected.intake.cluster;
    let mut reconciler = Reconciler::new(settings, assessor, cluster, Pace::default());
    let news = reconciler.report(cluster);
    (reconciler, news)
}

/// What goes on after the first look.
pub(super) fn go_on(
    collected: Collected,
    reconciler: Reconciler,
    policies: Option<mpsc::Receiver<Arc<WatchPolicy>>>,
) -> Result<Watching, Failure> {
    let Collected { intake, journal, live, .. } = collected;
    let live = live.and_then(|live| Some((live.reader, live.watches?)));
    let Some((reader, watches)) = live else {
        return Err(Failure::usage("a dump cannot be watched"));
    };
    let namespace = reconciler.settings().recording.namespace.clone();
    let records = Records { folder: journal, namespace };
    Ok(Watching { reader, watches, intake, reconciler, records, policies })
}
