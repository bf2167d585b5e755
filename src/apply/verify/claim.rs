//! Waits until a claim is deleted, and its volume Released with its data.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::super::Outcome;
use super::super::current_cluster::CurrentCluster;
use super::deletion::{CHECK_INTERVAL, until_gone};
use crate::facts::EXTERNAL_PROVISIONER;
use crate::model::{ObjectRef, format_duration};

/// How long csi-provisioner is given to remove its finalizer: it acts on the update itself. One that
/// does not remove it leaves it where it should be.
const SETTLING: Duration = Duration::from_secs(10);

/// The deletion of a claim that the API server has accepted.
pub(super) struct ClaimDeletion<'a> {
    pub(super) claim: &'a ObjectRef,
    /// Its volume, which has policy Retain.
    pub(super) released: Option<&'a ObjectRef>,
    /// Whether the change ends with it: otherwise the volume is reclaimed next.
    pub(super) is_last: bool,
}

impl ClaimDeletion<'_> {
    /// Waits until the claim is deleted, then until its volume is Released with policy Retain. Names
    /// the pods that started to use the claim meanwhile: then the volume is not reclaimed.
    pub(super) async fn verify(
        &self,
        cluster: &CurrentCluster,
        wait: Option<Duration>,
    ) -> (Outcome, String) {
        let began = Instant::now();
        let gone = "the claim is deleted";
        let (outcome, detail) = until_gone(cluster, self.claim, wait, gone, false).await;
        if outcome != Outcome::Done {
            let users = self.users(cluster).await;
            let kept = self.released.map_or_else(String::new, |volume| {
                format!("; {volume} has policy Retain, so its data remains")
            });
            return (outcome, format!("{detail}{}{kept}", meanwhile(&users)));
        }
        let (outcome, after) = match self.released {
            None => self.without_volume(cluster),
            Some(volume) => {
                let left = wait.unwrap_or_default().saturating_sub(began.elapsed());
                self.until_released(cluster, volume, left).await
            }
        };
        // Listed after the deletion: whoever began to use the claim before is found.
        let users = self.users(cluster).await;
        let detail = format!("{detail}{after}{}", meanwhile(&users));
        match (self.is_last, outcome, users.as_deref()) {
            (true, outcome, _) | (false, outcome, Ok([])) => (outcome, detail),
            (false, _, Ok(_) | Err(_)) => {
                let again = self.released.map_or_else(String::new, |volume| {
                    format!("; {volume} is not reclaimed, {}", rebound(volume))
                });
                (Outcome::Pending, format!("{detail}{again}"))
            }
        }
    }

    /// The pods that use the claim now, or why they are unknown.
    async fn users(&self, cluster: &CurrentCluster) -> Result<Vec<String>, String> {
        cluster.users_of(self.claim).await
    }

    /// A volume that was bound to the claim in the last moment is reclaimed by its policy.
    fn without_volume(&self, cluster: &CurrentCluster) -> (Outcome, String) {
        let bound = cluster.volumes_bound_to(self.claim);
        if bound.is_empty() {
            return (Outcome::Done, String::new());
        }
        let pv = bound.join(" ");
        let told = format!(
            "; meanwhile {pv} was bound to it, and its policy is applied now: `kubectl storage retain \
             {pv}` keeps its data"
        );
        (Outcome::Pending, told)
    }

    /// Whether csi-provisioner has removed its finalizer, as it does with policy Retain, where the
    /// volume is to be reclaimed next. It removes it by a patch without preconditions
    /// (sig-storage-lib-external-provisioner `controller.go`, `patchPersistentVolumeWithFinalizers`): one that
    /// came after the policy was set to Delete would remove what protects the deletion (R-2644-29).
    fn is_settled(&self, live: &Value, waited: Duration) -> bool {
        let all = live["metadata"]["finalizers"].as_array();
        let has_it = all.is_some_and(|all| all.iter().any(|it| it == EXTERNAL_PROVISIONER));
        self.is_last || !has_it || waited >= SETTLING
    }

    /// Waits until the volume is Released with policy Retain.
    async fn until_released(
        &self,
        cluster: &CurrentCluster,
        volume: &ObjectRef,
        wait: Duration,
    ) -> (Outcome, String) {
        let began = Instant::now();
        let uid = volume.uid.as_ref().map(ToString::to_string).unwrap_or_default();
        loop {
            let seen = match cluster.read_again(volume).await {
                Ok(Some(live)) if live["metadata"]["uid"] != uid => {
                    let told = format!("; another client deleted and recreated {volume}");
                    return (Outcome::Pending, told);
                }
                Ok(Some(live)) => {
                    let policy = live["spec"]["persistentVolumeReclaimPolicy"].as_str();
                    let policy = policy.unwrap_or_default();
                    if policy != "Retain" {
                        let told = format!(
                            "; another client has set the policy of {volume} to {policy}: `kubectl \
                             storage retain {volume}` stops what it does to the data"
                        );
                        return (Outcome::Pending, told);
                    }
                    let phase = live["status"]["phase"].as_str().unwrap_or_default();
                    if phase == "Released" && self.is_settled(&live, began.elapsed()) {
                        let next = match self.is_last {
                            true => format!(", {}", rebound(volume)),
                            false => String::new(),
                        };
                        let told = format!("; {volume} is Released with policy Retain{next}");
                        return (Outcome::Done, told);
                    }
                    format!("its phase is {phase}")
                }
                Ok(None) => {
                    let told = format!(
                        "; another client deleted {volume}: its policy was Retain, so the backend \
                         volume remains, and the journal has its manifest"
                    );
                    return (Outcome::Pending, told);
                }
                Err(error) => error.to_string(),
            };
            if began.elapsed() >= wait {
                let waited = format_duration(wait);
                let told = format!("; {volume} is not Released after {waited}: {seen}");
                return (Outcome::Pending, told);
            }
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
    }
}

/// How to get at the data that remains.
fn rebound(volume: &ObjectRef) -> String {
    format!("and keeps the data; `kubectl storage rebind {volume}` gives it back")
}

fn meanwhile(users: &Result<Vec<String>, String>) -> String {
    match users.as_deref() {
        Ok([]) => String::new(),
        Ok(users) => format!("; meanwhile {} started to use it", users.join(", ")),
        Err(error) => format!("; unknown whether a pod started to use it: {error}"),
    }
}
