//! Waits until a volume and a claim are bound to each other.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::super::Outcome;
use super::super::current_cluster::{CurrentCluster, claim_of};
use super::created::unwaited;
use super::deletion::CHECK_INTERVAL;
use crate::model::{ClaimKey, ClaimPhase, ObjectKey, ObjectRef, Uid, format_duration};

/// Returns the key of a claim.
pub(super) fn key(claim: &ObjectRef) -> ClaimKey {
    let namespace = claim.key.namespace.clone().unwrap_or_default();
    ClaimKey { namespace, name: claim.key.name.clone() }
}

/// Verifies that a volume is reserved for a claim, by what the API server has answered.
pub(super) fn reserved(claim: &ClaimKey, written: &Value) -> (Outcome, String) {
    let claim_ref = &written["spec"]["claimRef"];
    let named = claim_of(written) == Some(ObjectKey::claim(claim));
    if named && claim_ref["uid"].as_str().is_none_or(str::is_empty) {
        return (Outcome::Done, format!("it is reserved for claim {claim}"));
    }
    (Outcome::Failed, "the API server shows another spec.claimRef".to_owned())
}

/// What was seen of a volume and of the claim that it is to be bound to.
enum Sight {
    /// Both are bound to each other.
    Bound(String),
    /// They will not be.
    Never(String),
    NotYet(String),
}

/// Waits until a volume and a claim are bound to each other, by name and by uid.
pub(in crate::apply) async fn until_bound(
    cluster: &CurrentCluster,
    volume: &ObjectRef,
    claim: &ClaimKey,
    wait: Option<Duration>,
) -> (Outcome, String) {
    let Some(wait) = wait else { return unwaited() };
    let began = Instant::now();
    loop {
        let seen = match look(cluster, volume, claim).await {
            Ok(Sight::Bound(told)) => return (Outcome::Done, told),
            Ok(Sight::Never(told)) => return (Outcome::Failed, told),
            Ok(Sight::NotYet(told)) => told,
            Err(error) => error,
        };
        if began.elapsed() >= wait {
            let waited = format_duration(wait);
            let told = format!(
                "after {waited} {seen}; kube-controller-manager binds both, and the same command \
                 continues to wait"
            );
            return (Outcome::Pending, told);
        }
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}

async fn look(
    cluster: &CurrentCluster,
    volume: &ObjectRef,
    claim: &ClaimKey,
) -> Result<Sight, String> {
    let object = ObjectKey::claim(claim);
    let named = ObjectRef { key: object.clone(), uid: None };
    let read = cluster.read_again(&named).await.map_err(|error| error.to_string())?;
    let live = cluster.read_again(volume).await.map_err(|error| error.to_string())?;
    let same = |live: &Value| {
        let uid = live["metadata"]["uid"].as_str().and_then(Uid::parse);
        volume.uid.is_none() || uid == volume.uid
    };
    let Some(live) = live.filter(same) else {
        return Ok(Sight::Never("the PersistentVolume was deleted".to_owned()));
    };
    if claim_of(&live).as_ref() != Some(&object) {
        let told = "another client has changed its spec.claimRef".to_owned();
        return Ok(Sight::Never(told));
    }
    if read.is_none() {
        return Ok(Sight::NotYet(format!("claim {claim} does not exist")));
    }
    let name = &volume.key.name;
    let uid = live["spec"]["claimRef"]["uid"].as_str().and_then(Uid::parse);
    let phase = live["status"]["phase"].as_str().unwrap_or_default().to_owned();
    Ok(cluster.claim(&object, |seen| {
        let Some(seen) = seen else {
            return Sight::NotYet(format!("claim {claim} does not exist"));
        };
        let its_own = seen.volume_name.as_deref() == Some(name);
        match &seen.phase {
            ClaimPhase::Bound if its_own && uid.is_some() && seen.metadata.uid == uid => {
                match phase.as_str() {
                    "Bound" => Sight::Bound(format!(
                        "{} is bound to it: spec.volumeName and spec.claimRef.uid reference each \
                         other",
                        seen.object()
                    )),
                    phase => Sight::NotYet(format!("its phase is {phase:?}")),
                }
            }
            ClaimPhase::Bound if !its_own => Sight::Never(format!(
                "another client created {}, which is bound to pv/{}; the volume remains reserved for \
                 a claim of this name",
                seen.object(),
                seen.volume_name.as_deref().unwrap_or_default()
            )),
            phase => Sight::NotYet(format!("{} is {phase}", seen.object())),
        }
    }))
}
