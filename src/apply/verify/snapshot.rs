//! Waits until a snapshot that was created before a deletion is ready to use.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::super::Outcome;
use super::super::current_cluster::CurrentCluster;
use super::deletion::{ASK_INTERVAL, CHECK_INTERVAL};
use crate::client::ReadError;
use crate::facts::SNAPSHOT_SOURCE;
use crate::model::{Kind, ObjectKey, ObjectRef, format_duration};

/// A `VolumeSnapshot` that was created, and what the API server answered.
pub(in crate::apply) struct FirstSnapshot<'a> {
    pub(in crate::apply) snapshot: &'a ObjectRef,
    pub(in crate::apply) claim: &'a ObjectRef,
    pub(in crate::apply) written: &'a Value,
}

/// What one look at a snapshot showed.
enum Look {
    /// Both controllers are done with it; which snapshot it is at the storage system.
    Ready(String),
    /// What is missing.
    Waiting(String),
    /// It will never be ready.
    Lost(String),
}

impl FirstSnapshot<'_> {
    /// Waits until a volume can be restored from the snapshot, and snapshot-controller has removed
    /// its finalizer from the claim.
    pub(in crate::apply) async fn until_ready(
        &self,
        cluster: &CurrentCluster,
        wait: Option<Duration>,
        interrupted: &dyn Fn() -> bool,
    ) -> (Outcome, String) {
        let Some(wait) = wait else {
            return (Outcome::Pending, self.left("it was not waited for: --wait=false"));
        };
        let began = Instant::now();
        let mut pause = CHECK_INTERVAL;
        loop {
            let seen = match self.look(cluster).await {
                Ok(Look::Ready(handle)) => {
                    let told = format!("{} is ready to use ({handle})", self.snapshot);
                    return (Outcome::Done, told);
                }
                Ok(Look::Lost(why)) => {
                    return (Outcome::Failed, format!("{why}; nothing else was changed"));
                }
                Ok(Look::Waiting(why)) => why,
                Err(error) => error.to_string(),
            };
            if began.elapsed() >= wait {
                let waited = format_duration(wait);
                return (Outcome::Pending, self.left(&format!("after {waited} {seen}")));
            }
            if interrupted() {
                return (Outcome::Pending, self.left(&format!("interrupted while {seen}")));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(ASK_INTERVAL);
        }
    }

    async fn look(&self, cluster: &CurrentCluster) -> Result<Look, ReadError> {
        let key = &self.snapshot.key;
        let uid = &self.written["metadata"]["uid"];
        let live = cluster.read(key).await?;
        let Some(live) = live.filter(|it| it["metadata"]["uid"] == *uid) else {
            return Ok(Look::Lost(format!("another client has deleted {}", self.snapshot)));
        };
        if !live["metadata"]["deletionTimestamp"].is_null() {
            return Ok(Look::Lost(format!("another client has deleted {}", self.snapshot)));
        }
        let status = &live["status"];
        let error = status["error"]["message"].as_str();
        let waiting = |what: String| {
            let error = error.map_or_else(String::new, |it| format!("; error: {it}"));
            Ok(Look::Waiting(format!("{what}{error}")))
        };
        let Some(bound) = status["boundVolumeSnapshotContentName"].as_str() else {
            return waiting(format!("{} has no VolumeSnapshotContent", self.snapshot));
        };
        if status["readyToUse"] != true {
            return waiting(format!("{} is not ready to use", self.snapshot));
        }
        let content = ObjectKey::cluster_wide(Kind::VolumeSnapshotContent, bound);
        let Some(content) = cluster.read(&content).await? else {
            return waiting(format!("VolumeSnapshotContent {bound} does not exist"));
        };
        let handle = content["status"]["snapshotHandle"].as_str().filter(|it| !it.is_empty());
        let bound_back = content["spec"]["volumeSnapshotRef"]["uid"] == *uid;
        let Some(handle) = handle.filter(|_| bound_back) else {
            return waiting(format!("VolumeSnapshotContent {bound} references no snapshot of it"));
        };
        if content["status"]["readyToUse"] != true {
            return waiting(format!("VolumeSnapshotContent {bound} is not ready to use"));
        }
        // Whether the claim is still the one, the next step checks.
        let claim = cluster.read(&self.claim.key).await?.unwrap_or_default();
        let mut finalizers = claim["metadata"]["finalizers"].as_array().into_iter().flatten();
        if finalizers.any(|it| it == SNAPSHOT_SOURCE) {
            return waiting(format!(
                "snapshot-controller has not removed finalizer {SNAPSHOT_SOURCE} from {}",
                self.claim
            ));
        }
        Ok(Look::Ready(format!("VolumeSnapshotContent {bound}, snapshot handle {handle}")))
    }

    /// What is left behind, and how to go on.
    fn left(&self, why: &str) -> String {
        let (name, snapshot) = (&self.snapshot.key.name, &self.snapshot);
        let namespace = self.snapshot.key.namespace.as_deref().unwrap_or_default();
        let claim = self.claim;
        format!(
            "{why}; {claim} and its volume are unchanged, and {snapshot} remains: `kubectl \
             describe volumesnapshot {name} -n {namespace}` shows its state; once it is ready, the \
             same command without --snapshot-first deletes the claim, and with it takes another \
             snapshot"
        )
    }
}
