//! The clusters beside the one that is changed: what they name is refused (semantics K.4).

use std::{collections::BTreeMap, sync::Arc};

use futures::future::join_all;

use super::{
    Failure,
    args::ConnectionArgs,
    clusters::{ClusterInput, beside},
    collect::{Collected, collect, connect},
    parallel::read_each,
};
use crate::{
    apply::{BesideReader, LiveBeside, SavedBeside, named_storage},
    client::Reader,
    model::{Settings, Text, escape_control, format_time},
};

impl Collected {
    /// Reads the clusters beside this one, if the settings name any.
    ///
    /// # Errors
    /// When one of them does not exist, is this one, or is named twice; or a dump cannot be read. A cluster that cannot
    /// be read is no error: its storage is unknown, and nothing is permitted.
    pub(super) async fn look_beside(
        &mut self,
        connection: &ConnectionArgs,
        settings: &Settings,
    ) -> Result<(), Failure> {
        if settings.beside.clusters.is_empty() {
            return Ok(());
        }
        let own_context = self.live.as_ref().and_then(|it| it.connection.context.clone());
        let inputs = beside(&settings.beside, connection, own_context.as_deref())?;
        let own = self.intake.cluster.server().and_then(|it| it.cluster_uid.clone());
        let (live, dumps): (Vec<_>, Vec<_>) = inputs.into_iter().partition(ClusterInput::is_live);
        let mut dumped: Vec<SavedBeside> = Vec::new();
        for (input, read) in read_each(&dumps, async |it| saved(it, connection).await).await? {
            let dump = read?;
            if own.is_some() && dump.uid.as_deref() == own.as_deref() {
                return Err(is_own(input.name()));
            }
            let is_same = |it: &&SavedBeside| dump.uid.is_some() && it.uid == dump.uid;
            if let Some(first) = dumped.iter().find(is_same) {
                return Err(are_one(&first.name, &dump.name, dump.uid.as_deref()));
            }
            let taken_at = dump.taken_at.as_deref().unwrap_or("an unknown time");
            self.notes.push(format!(
                "cluster {} is read from a dump of {taken_at}: what it names is refused, what it does not name is not \
                 permitted by it",
                dump.name
            ));
            dumped.push(dump);
        }
        // At once: each may have to ask a plugin for its credentials.
        let contexts = live.iter().filter_map(|it| Some(connected(it, it.connection()?)));
        let contexts = join_all(contexts).await;
        let are_all = settings.beside.are_all && own.is_some();
        let namespace = &settings.recording.namespace;
        let reader = BesideReader::new(contexts, dumped, namespace, are_all);
        let look = reader.read().await;
        let mut names: BTreeMap<&Text, &Text> = BTreeMap::new();
        for (name, uid) in &look.uids {
            if own.as_deref() == Some(&**uid) {
                return Err(is_own(name));
            }
            if let Some(first) = names.insert(uid, name) {
                return Err(are_one(first, name, Some(uid)));
            }
        }
        self.intake.cluster.set_beside(look.clusters);
        self.beside = Some(Arc::new(reader));
        Ok(())
    }
}

/// Reads a cluster once, and returns what it names.
pub(super) async fn saved(
    input: &ClusterInput,
    connection: &ConnectionArgs,
) -> Result<SavedBeside, Failure> {
    let (from, _) = input.source(connection, None)?;
    let collected = Box::pin(collect(from, &Settings::default(), None)).await?;
    let cluster = &collected.intake.cluster;
    let uid = cluster.server().and_then(|it| it.cluster_uid.as_deref());
    Ok(SavedBeside {
        name: Text::clone(input.name()),
        uid: uid.map(Text::from),
        taken_at: cluster.clock().as_ref().map(format_time),
        named: named_storage(cluster, input.is_live()),
    })
}

/// Opens the connection to a context. What hinders it is told where it is needed.
async fn connected(input: &ClusterInput, connection: &ConnectionArgs) -> LiveBeside {
    let opened = connect(connection, None).await;
    LiveBeside {
        name: Text::clone(input.name()),
        reader: opened.map(|it| Reader::new(&it)).map_err(|failure| format!("{:#}", failure.error)),
        chunk_size: connection.chunk_size(),
    }
}

fn are_one(first: &str, second: &str, uid: Option<&str>) -> Failure {
    let uid = uid.unwrap_or_default();
    let told = format!("--beside: {first} and {second} are one cluster (uid {uid})");
    Failure::usage(escape_control(&told).into_owned())
}

fn is_own(name: &Text) -> Failure {
    let told = format!("--beside {} is the cluster that is changed", escape_control(name));
    Failure::usage(told).hint(Some(
        "one that was cloned with its uid is compared by audit: save both, then -f A=DUMP -f B=DUMP --distinct A,B",
    ))
}
