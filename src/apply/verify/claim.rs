//! Waits until a claim is deleted, and for what becomes of its volume then.

use std::time::{Duration, Instant};

use super::super::Outcome;
use super::super::current_cluster::CurrentCluster;
use super::deletion::{CHECK_INTERVAL, until_gone};
use super::{ANSWERED, UNSEEN};
use crate::model::{ClaimKey, ClaimVolumeEnd, ObjectRef, format_duration};

/// Waits until a claim is deleted, then until its volume is Released with policy Retain, or deleted.
/// Names the pods that started to use the claim meanwhile.
pub(super) async fn until_gone_with(
    cluster: &CurrentCluster,
    claim: &ObjectRef,
    volume: &ClaimVolumeEnd,
    wait: Option<Duration>,
) -> (Outcome, String) {
    let began = Instant::now();
    let (outcome, detail) = until_gone(cluster, claim, wait, "the claim is deleted", false).await;
    let users = users(cluster, claim).await;
    if outcome != Outcome::Done {
        return (outcome, remaining(claim, volume, &detail, &users));
    }
    let left = wait.map(|wait| wait.saturating_sub(began.elapsed()));
    let (outcome, rest) = match volume {
        ClaimVolumeEnd::None => match cluster.volumes_bound_to(claim) {
            bound if bound.is_empty() => (Outcome::Done, String::new()),
            bound => {
                let pv = bound.join(", ");
                let told = format!(
                    "; meanwhile {pv} was bound to it, and its policy is applied now: `kubectl \
                     storage retain {pv}` keeps its data"
                );
                (Outcome::Pending, told)
            }
        },
        ClaimVolumeEnd::Kept(volume) => until_released(cluster, volume, left).await,
        ClaimVolumeEnd::Destroyed(volume) => destroyed(cluster, volume, left).await,
    };
    (outcome, format!("{detail}{rest}{}", meanwhile(&users)))
}

/// The pods that use the claim now, or why they are unknown.
async fn users(cluster: &CurrentCluster, claim: &ObjectRef) -> Result<Vec<String>, String> {
    let Some(namespace) = &claim.key.namespace else { return Ok(Vec::new()) };
    let key = ClaimKey { namespace: namespace.clone(), name: claim.key.name.clone() };
    cluster.pods_using(&key).await.map_err(|error| error.to_string())
}

fn meanwhile(users: &Result<Vec<String>, String>) -> String {
    match users {
        Ok(users) if users.is_empty() => String::new(),
        Ok(users) => format!("; meanwhile {} started to use it", users.join(", ")),
        Err(error) => format!("; unknown whether a pod started to use it: {error}"),
    }
}

/// What to do about a claim that is Terminating and not deleted.
fn remaining(
    claim: &ObjectRef,
    volume: &ClaimVolumeEnd,
    detail: &str,
    users: &Result<Vec<String>, String>,
) -> String {
    let in_use = users.as_ref().map_or(true, |users| !users.is_empty());
    let (name, namespace) = (&claim.key.name, claim.key.namespace.as_deref().unwrap_or_default());
    let next = match volume {
        ClaimVolumeEnd::Kept(volume) => {
            format!("; {volume} has policy Retain, so its data remains")
        }
        ClaimVolumeEnd::Destroyed(_) if in_use => format!(
            "; the data is destroyed when the claim is deleted: `kubectl storage retain pvc/{name} \
             -n {namespace}` stops that"
        ),
        ClaimVolumeEnd::None | ClaimVolumeEnd::Destroyed(_) => String::new(),
    };
    format!("{detail}{}{next}", meanwhile(users))
}

/// Waits until the volume is Released with policy Retain.
async fn until_released(
    cluster: &CurrentCluster,
    volume: &ObjectRef,
    wait: Option<Duration>,
) -> (Outcome, String) {
    let began = Instant::now();
    let wait = wait.unwrap_or_default();
    loop {
        let seen = match cluster.read_again(volume).await {
            Ok(Some(live)) if live["metadata"]["uid"] != volume_uid(volume) => {
                let told = format!("; {volume} was deleted and recreated by another client");
                return (Outcome::Pending, told);
            }
            Ok(Some(live)) => {
                let policy = live["spec"]["persistentVolumeReclaimPolicy"].as_str();
                let policy = policy.unwrap_or_default();
                let phase = live["status"]["phase"].as_str().unwrap_or_default();
                if policy != "Retain" {
                    let told = format!(
                        "; but another client changed the policy of {volume} to {policy}: `kubectl \
                         storage retain {volume}` stops what it does to the data"
                    );
                    return (Outcome::Pending, told);
                }
                if phase == "Released" {
                    let told = format!(
                        "; {volume} is Released with policy Retain and its data; `kubectl storage \
                         rebind {volume}` gives it back"
                    );
                    return (Outcome::Done, told);
                }
                format!("its phase is {phase}")
            }
            Ok(None) => {
                let told = format!(
                    "; but another client deleted {volume}: with policy Retain, its backend volume \
                     remains, and the journal has its volume handle"
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

fn volume_uid(volume: &ObjectRef) -> String {
    volume.uid.as_ref().map(ToString::to_string).unwrap_or_default()
}

/// Waits until the volume is deleted, which its controller does after the driver has answered OK.
async fn destroyed(
    cluster: &CurrentCluster,
    volume: &ObjectRef,
    wait: Option<Duration>,
) -> (Outcome, String) {
    let (outcome, detail) = until_gone(cluster, volume, wait, UNSEEN, true).await;
    let told = match outcome {
        Outcome::Done if cluster.driver_answered(volume).await => ANSWERED.to_owned(),
        _ => detail,
    };
    (outcome, format!("; {volume}: {told}"))
}
