//! Waits for effects of controllers after a write: that a volume and a claim are bound to each other, that a claim is
//! deleted and its volume Released with its data, the effects of the creation of a volume object, and that an object is
//! deleted.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::super::{
    Outcome,
    current_cluster::{CurrentCluster, claim_of},
};
use crate::facts::EXTERNAL_PROVISIONER;
use crate::model::{
    Claim, ClaimKey, ClaimPhase, JournalEntryNumber, ObjectKey, ObjectRef, ReclaimPolicy, Uid,
    WorkloadScale, format_duration,
};
use crate::plan::ProposedChange;

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

/// Result of one look at a volume and the claim to which it is to be bound.
enum Sight {
    /// Both are bound to each other.
    Bound(String),
    /// Volume and claim will not be bound to each other.
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

/// The time that csi-provisioner gets to remove its finalizer: it acts on the update itself. One that does not remove
/// it leaves it where it should be.
const SETTLING: Duration = Duration::from_secs(10);

/// The deletion of a claim that the API server has accepted.
pub(super) struct ClaimDeletion<'a> {
    pub(super) claim: &'a ObjectRef,
    /// The volume of the claim, which has policy Retain.
    pub(super) released: Option<&'a ObjectRef>,
    /// Whether the change ends with the deletion: otherwise the volume is reclaimed next.
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

    /// Returns the pods that use the claim now, or why they are unknown.
    async fn users(&self, cluster: &CurrentCluster) -> Result<Vec<String>, String> {
        cluster.users_of(self.claim).await
    }

    /// Returns the outcome without a volume: one bound in the last moment is reclaimed by its policy.
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

    /// Whether csi-provisioner has removed its finalizer, as it does with policy Retain, or need not have: the volume
    /// is not reclaimed next, or the time is over. Its patch has no preconditions (sig-storage-lib-external-provisioner
    /// `controller.go`, `patchPersistentVolumeWithFinalizers`): one that came after the policy was set to Delete would
    /// remove what protects the deletion (R-2644-29).
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

/// Returns advice about access to the data that remains.
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

/// Waits until a recreated volume object is Bound, or Released where its claim does not exist.
pub(super) async fn until_settled(
    cluster: &CurrentCluster,
    change: &ProposedChange,
    wait: Option<Duration>,
) -> (Outcome, String) {
    let Some(wait) = wait else { return unwaited() };
    let began = Instant::now();
    let object = ObjectRef { key: change.object.key.clone(), uid: None };
    loop {
        let seen = match cluster.read_again(&object).await {
            Ok(Some(live)) => {
                let phase = live["status"]["phase"].as_str().unwrap_or_default().to_owned();
                let uid = live["spec"]["claimRef"]["uid"].as_str().map(str::to_owned);
                let its_own = |claim: &&Claim| {
                    let found = claim.metadata.uid.as_ref().map(ToString::to_string);
                    found == uid && uid.is_some()
                };
                let claim = claim_of(&live).and_then(|key| {
                    cluster.claim(&key, |it| it.filter(its_own).map(|it| it.phase.clone()))
                });
                let claimed = claim.is_some();
                // The volume controller sets the phase of the volume first.
                let waits = claim.is_some_and(|it| it != ClaimPhase::Bound);
                // Its attacher can detach it now.
                let detaching = cluster.detaching(&object.key.name);
                match (phase.as_str(), claimed) {
                    ("Bound", true) if waits => "its claim is not Bound".to_owned(),
                    ("Bound", true) if detaching.is_empty() => {
                        return (Outcome::Done, "it is bound to its claim again".to_owned());
                    }
                    ("Released", false) if detaching.is_empty() => {
                        let told = "it is Released with policy Retain, and references the same \
                                    backend volume";
                        return (Outcome::Done, told.to_owned());
                    }
                    ("Bound", true) | ("Released", false) => {
                        format!("{} is not detached", detaching.join(", "))
                    }
                    ("Available", _) => {
                        let told = "it is Available: its spec.claimRef was removed, and any \
                                    matching claim can bind it";
                        return (Outcome::Pending, told.to_owned());
                    }
                    (phase, _) => format!("its phase is {phase:?}"),
                }
            }
            Ok(None) => return (Outcome::Pending, "it was deleted again".to_owned()),
            Err(error) => error.to_string(),
        };
        if began.elapsed() >= wait {
            let waited = format_duration(wait);
            return (Outcome::Pending, format!("it was created, and after {waited} {seen}"));
        }
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}

/// Waits until a provisioner has deleted a placeholder volume, after its driver has deleted the
/// backend volume. `entry` is the journal entry that kept the backend volume.
pub(in crate::apply) async fn until_reclaimed(
    cluster: &CurrentCluster,
    change: &ProposedChange,
    entry: Option<JournalEntryNumber>,
    wait: Option<Duration>,
) -> (Outcome, String) {
    let Some(wait) = wait else { return unwaited() };
    let began = Instant::now();
    let name = &change.object.key.name;
    let object = ObjectRef { key: change.object.key.clone(), uid: None };
    let mut pause = CHECK_INTERVAL;
    loop {
        let seen = match cluster.read_again(&object).await {
            // Its provisioner deletes it only after the driver's answer.
            Ok(None) => {
                let told = "the placeholder volume is deleted; its provisioner removes it only \
                            after DeleteVolume succeeded";
                return (Outcome::Done, told.to_owned());
            }
            Ok(Some(live)) => {
                let policy = live["spec"]["persistentVolumeReclaimPolicy"].as_str();
                let policy = policy.unwrap_or_default();
                if policy != "Delete" {
                    let told = format!(
                        "the policy of pv/{name} was changed to {policy}: the backend volume may \
                         be partly deleted"
                    );
                    return (Outcome::Pending, told);
                }
                let complaint = cluster.last_error(&object.key);
                let last = complaint.map_or_else(String::new, |it| format!("; last error: {it}"));
                format!("pv/{name} still exists{last}")
            }
            Err(error) => error.to_string(),
        };
        if began.elapsed() >= wait {
            let again = match entry {
                Some(entry) => {
                    format!("`kubectl storage destroy-orphan --from-journal {}`", entry.arguments())
                }
                None => "the same command".to_owned(),
            };
            let waited = format_duration(wait);
            return (Outcome::Pending, format!("after {waited} {seen}; {again} continues to wait"));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(ASK_INTERVAL);
    }
}

pub(super) fn unwaited() -> (Outcome, String) {
    (Outcome::Pending, "not verified: --wait=false".to_owned())
}

/// The pause between checks of the changes that watches brought.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// The pause between reads from the API server where a watch brings nothing.
pub(super) const ASK_INTERVAL: Duration = Duration::from_secs(2);

/// Waits until an object is deleted. `by_policy`: its backend volume is deleted with it, because of the policy Delete.
/// Where another client changes the policy meanwhile, the provisioner may or may not have begun, and the deletion of
/// the object proves nothing.
pub(super) async fn until_gone(
    cluster: &CurrentCluster,
    object: &ObjectRef,
    wait: Option<Duration>,
    gone: &str,
    by_policy: bool,
) -> (Outcome, String) {
    let Some(wait) = wait else {
        return (Outcome::Pending, "not verified: --wait=false".to_owned());
    };
    let (began, mut asked) = (Instant::now(), Instant::now());
    let name = &object.key.name;
    let (mut trouble, mut changed_policy) = (None, None);
    loop {
        if let Err(error) = cluster.catch_up() {
            trouble = Some(error.to_string());
        }
        let policy = cluster.volume(name, |it| {
            let volume = it.filter(|volume| volume.metadata.uid == object.uid)?;
            Some(volume.reclaim_policy.clone())
        });
        let seen = cluster.exists_as_read(object);
        if let Some(policy) = policy.filter(|_| by_policy) {
            changed_policy = Some(policy).filter(|it| *it != ReclaimPolicy::Delete);
        }
        let over = began.elapsed() >= wait;
        // That the object does not exist is confirmed by the API server, whatever the watch says.
        if !seen || over || asked.elapsed() >= ASK_INTERVAL {
            asked = Instant::now();
            match cluster.is_deleted(object).await {
                Ok(true) => return deleted(changed_policy.as_ref(), gone),
                Ok(false) => trouble = None,
                Err(error) => trouble = Some(error.to_string()),
            }
        }
        if over {
            break;
        }
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
    let last = trouble.or_else(|| cluster.last_error(&object.key));
    let last = last.map_or_else(String::new, |last| format!("; last error: {last}"));
    let waited = format_duration(wait);
    (Outcome::Pending, format!("it still exists after {waited}{last}"))
}

/// Verifies that the API server shows the scale of a workload. That its pods end is awaited for all together.
pub(super) fn is_scaled(to: WorkloadScale, written: &Value) -> (Outcome, String) {
    let shown = match to {
        WorkloadScale::Replicas(count) => written["spec"]["replicas"] == count,
        WorkloadScale::Suspended(is_suspended) => {
            written["spec"]["suspend"].as_bool().unwrap_or(false) == is_suspended
        }
    };
    match shown {
        true => (Outcome::Done, format!("it is set: {to}")),
        // A webhook has changed it.
        false => (Outcome::Failed, "the API server shows another scale".to_owned()),
    }
}

/// Waits until an object that no watch covers is deleted.
pub(super) async fn until_deleted(
    cluster: &CurrentCluster,
    object: &ObjectRef,
    wait: Option<Duration>,
) -> (Outcome, String) {
    let Some(wait) = wait else {
        return (Outcome::Pending, "not verified: --wait=false".to_owned());
    };
    let began = Instant::now();
    loop {
        let trouble = match cluster.is_deleted(object).await {
            Ok(true) => return (Outcome::Done, "it is deleted".to_owned()),
            Ok(false) => String::new(),
            Err(error) => format!("; last error: {error}"),
        };
        if began.elapsed() >= wait {
            let waited = format_duration(wait);
            return (Outcome::Pending, format!("it still exists after {waited}{trouble}"));
        }
        tokio::time::sleep(ASK_INTERVAL).await;
    }
}

fn deleted(changed_policy: Option<&ReclaimPolicy>, gone: &str) -> (Outcome, String) {
    let Some(policy) = changed_policy else { return (Outcome::Done, gone.to_owned()) };
    let detail = format!(
        "the object is deleted, but its policy was changed to {policy} before: unknown whether \
         the backend volume was deleted; check the storage system"
    );
    (Outcome::Pending, detail)
}
