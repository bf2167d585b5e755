//! The clusters beside the one that is changed: read for the plan, and again before each change that loses data.

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use futures::{StreamExt as _, stream};
use tokio::sync::Mutex;

use crate::client::Reader;
use crate::cluster::{Cluster, ClustersBeside, NamedClusters, NamedStorage, Unseen};
use crate::model::{Kind, Question, Text};
use crate::rules;
use crate::sources::{
    answers,
    intake::Intake,
    live::{self, LiveOptions},
};

/// How many clusters are read at once.
const AT_ONCE: usize = 8;

/// The kinds whose objects name storage.
const NAMING: [Kind; 4] =
    [Kind::PersistentVolume, Kind::VolumeAttachment, Kind::VolumeSnapshotContent, Kind::Pod];

/// A cluster that is read live beside the one that is changed.
pub struct LiveBeside {
    /// What the user calls it.
    pub name: Text,
    /// The connection; or why there is none.
    pub reader: Result<Reader, String>,
    /// The items per page, as the user wants them.
    pub chunk_size: Option<u32>,
}

/// What a cluster that was read once, such as a dump, says to others.
pub struct SavedBeside {
    /// What the user calls it.
    pub name: Text,
    /// The uid of the cluster, if it is known.
    pub uid: Option<Text>,
    /// Its clock, as text.
    pub taken_at: Option<String>,
    /// What it names of storage.
    pub named: NamedStorage,
}

/// Reads the clusters beside the one that is changed.
pub struct BesideReader {
    live: Vec<LiveBeside>,
    saved: Arc<NamedClusters>,
    /// The uids of the dumps; `None` where one does not hold it.
    saved_uids: Vec<Option<Text>>,
    record_namespace: Text,
    are_all: bool,
    last: Mutex<Option<(Instant, BesideLook)>>,
}

/// What clusters named when they were read, and the uids of those that were ever read live.
#[derive(Debug, Clone)]
pub struct BesideLook {
    /// What they name.
    pub clusters: ClustersBeside,
    /// Their uids, by name.
    pub uids: BTreeMap<Text, Text>,
}

impl BesideReader {
    /// Reads these clusters, and takes what dumps say as it is. `are_all` is the user's word that there are no others.
    pub fn new(
        live: Vec<LiveBeside>,
        saved: Vec<SavedBeside>,
        record_namespace: &Text,
        are_all: bool,
    ) -> Self {
        let saved_uids = saved.iter().map(|it| it.uid.clone()).collect();
        let named = saved.into_iter().map(|it| (it.name, it.named));
        let saved = Arc::new(NamedClusters::new(named));
        let (record_namespace, last) = (Text::clone(record_namespace), Mutex::default());
        Self { live, saved, saved_uids, record_namespace, are_all, last }
    }

    /// Reads them. Changes that wait for it at the same time share what is read after all of them asked.
    pub async fn read(&self) -> BesideLook {
        let asked = Instant::now();
        let mut last = self.last.lock().await;
        if let Some((_, look)) = last.as_ref().filter(|(began, _)| *began >= asked) {
            return look.clone();
        }
        let began = Instant::now();
        let looks = stream::iter(&self.live).map(async |it| (it, self.look(it).await));
        let looks: Vec<_> = looks.buffered(AT_ONCE).collect().await;
        let mut uids = last.as_ref().map(|it| it.1.uids.clone()).unwrap_or_default();
        let named = looks.into_iter().map(|(cluster, look)| {
            let named = look.and_then(|(named, uid)| {
                is_as_before(&mut uids, &cluster.name, &uid)?;
                Ok(named)
            });
            (Text::clone(&cluster.name), named.unwrap_or_else(NamedStorage::unread))
        });
        let live = NamedClusters::new(named);
        let are_read = live.are_read();
        let is_live =
            |uid: &Option<Text>| uid.as_ref().is_some_and(|it| uids.values().any(|uid| uid == it));
        let clusters = ClustersBeside {
            groups: vec![Arc::clone(&self.saved), Arc::new(live)],
            own: None,
            are_all: self.are_all && are_read && self.saved_uids.iter().all(is_live),
        };
        let look = BesideLook { clusters, uids };
        *last = Some((began, look.clone()));
        look
    }

    async fn look(&self, cluster: &LiveBeside) -> Result<(NamedStorage, Text), String> {
        let reader = cluster.reader.as_ref().map_err(String::clone)?;
        let options = LiveOptions {
            kinds: NAMING.to_vec(),
            chunk_size: cluster.chunk_size,
            ..LiveOptions::default()
        };
        let mut intake = Intake::new(None);
        let read = live::read(reader, &options, &mut intake, &mut |_| {}).await;
        read.map_err(|error| format!("{:#}", anyhow::Error::new(error)))?;
        let kept = Question::KeptBackends { namespace: Text::clone(&self.record_namespace) };
        let answered = answers::ask(reader, [kept], &mut intake).await;
        answered.map_err(|error| error.to_string())?;
        let uid = intake.cluster.server().and_then(|it| it.cluster_uid.as_deref());
        let uid = uid.ok_or("its uid, that of namespace kube-system, could not be read")?.into();
        Ok((named_storage(&intake.cluster, true), uid))
    }
}

/// Holds that the cluster is the one that was read first: another one at its address names nothing of what that has.
fn is_as_before(uids: &mut BTreeMap<Text, Text>, name: &Text, uid: &Text) -> Result<(), String> {
    let first = uids.entry(Text::clone(name)).or_insert_with(|| Text::clone(uid));
    match first == uid {
        true => Ok(()),
        false => Err(format!(
            "another cluster answers at its address: its uid was {first}, and is {uid}"
        )),
    }
}

/// Returns what a cluster names of storage. A dump permits nothing: what else it lacks than volumes is no matter.
pub fn named_storage(cluster: &Cluster, is_live: bool) -> NamedStorage {
    let kinds = if is_live { &NAMING[..] } else { &[Kind::PersistentVolume] };
    let (references, read) = rules::named_storage(cluster, kinds);
    let why = |it: Unseen| format!("{} were not read: {}", it.kind.plural(), it.reason);
    NamedStorage { references, unread: read.err().map(why) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_cluster_at_the_address_of_one_permits_nothing() {
        let mut uids = BTreeMap::new();
        let [name, one, other] = ["b", "1", "2"].map(Text::from);
        for uid in [&one, &one] {
            assert_eq!(is_as_before(&mut uids, &name, uid), Ok(()));
        }
        let told = is_as_before(&mut uids, &name, &other).expect_err("because it is another");
        assert!(told.contains("its uid was 1, and is 2"), "{told}");
        assert_eq!(is_as_before(&mut uids, &name, &one), Ok(()));
    }
}
