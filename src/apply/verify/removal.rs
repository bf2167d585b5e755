//! Verifies that a finalizer is removed, or added, and stays so.

use std::time::Duration;

use serde_json::Value;

use super::super::Outcome;
use super::super::current_cluster::CurrentCluster;
use super::deletion::until_gone;
use crate::facts::PV_PROTECTION;
use crate::model::{Kind, ObjectRef};

/// How long a controller is given to add the finalizer again: it acts on the update itself.
const SETTLING: Duration = Duration::from_secs(2);

/// A finalizer that was removed.
pub(super) struct RemovedFinalizer<'a> {
    /// The object.
    pub(super) object: &'a ObjectRef,
    /// The name of the finalizer.
    pub(super) finalizer: &'a str,
    /// How many more entries of this name later steps remove.
    pub(super) again: usize,
}

impl RemovedFinalizer<'_> {
    /// Whether the object has it more often than it should.
    fn remains_in(&self, live: &Value) -> bool {
        finalizers(live).iter().filter(|it| **it == self.finalizer).count() > self.again
    }

    /// Verifies the removal, and with `wait` the deletion of the object.
    pub(super) async fn verify(
        &self,
        cluster: &CurrentCluster,
        written: &Value,
        wait: Option<Duration>,
    ) -> (Outcome, String) {
        let Self { object, finalizer, .. } = self;
        let left = finalizers(written);
        if self.remains_in(written) {
            return (Outcome::Failed, format!("the API server still shows finalizer {finalizer}"));
        }
        let done = format!("finalizer {finalizer} is removed");
        if written["metadata"]["deletionTimestamp"].is_null() {
            return self.stays_removed(cluster, done).await;
        }
        let protected_only = object.key.kind == Kind::PersistentVolume
            && left == [PV_PROTECTION]
            && written["status"]["phase"] != "Bound";
        if !left.is_empty() && !protected_only {
            return (
                Outcome::Done,
                format!("{done}; {} still blocks the deletion", left.join(", ")),
            );
        }
        let Some(wait) = wait else { return (Outcome::Done, done) };
        let gone = format!("{done}, and the object is deleted");
        let (outcome, mut detail) = until_gone(cluster, object, Some(wait), &gone, false).await;
        if object.key.kind == Kind::PersistentVolumeClaim {
            match cluster.users_of(object).await {
                Ok(users) if users.is_empty() => {}
                Ok(users) => {
                    detail = format!("{detail}; meanwhile {} started to use it", users.join(", "));
                }
                Err(error) => {
                    detail = format!("{detail}; unknown whether a pod started to use it: {error}");
                }
            }
        }
        (outcome, detail)
    }

    /// Verifies that the finalizer is not added again: its controller can do so where the object is
    /// not Terminating.
    async fn stays_removed(&self, cluster: &CurrentCluster, done: String) -> (Outcome, String) {
        let finalizer = self.finalizer;
        tokio::time::sleep(SETTLING).await;
        match cluster.read_again(self.object).await {
            Ok(Some(live)) if self.remains_in(&live) => {
                let who = manager_of(&live, finalizer);
                let who = who.map_or_else(
                    || "another client".to_owned(),
                    |manager| format!("field manager {manager:?}"),
                );
                let told = format!(
                    "{who} added finalizer {finalizer} again: its controller seems to be \
                             running"
                );
                (Outcome::Failed, told)
            }
            Ok(_) => (Outcome::Done, done),
            Err(error) => {
                (Outcome::Pending, format!("{done}; unknown whether it remains so: {error}"))
            }
        }
    }
}

/// Verifies that a finalizer was added.
pub(super) fn added(finalizer: &str, written: &Value) -> (Outcome, String) {
    if finalizers(written).contains(&finalizer) {
        return (Outcome::Done, format!("finalizer {finalizer} is set"));
    }
    (Outcome::Failed, format!("the API server does not show finalizer {finalizer}"))
}

fn finalizers(live: &Value) -> Vec<&str> {
    let all = live["metadata"]["finalizers"].as_array();
    all.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Returns the field manager that set a finalizer, by `managedFields`.
fn manager_of(live: &Value, finalizer: &str) -> Option<String> {
    let key = format!("v:{}", Value::from(finalizer));
    let entries = live["metadata"]["managedFields"].as_array()?;
    let sets = |entry: &&Value| entry["fieldsV1"]["f:metadata"]["f:finalizers"].get(&key).is_some();
    Some(entries.iter().rev().find(sets)?["manager"].as_str()?.to_owned())
}
