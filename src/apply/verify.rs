//! Verifies the effect of a write: no change counts as done before its effect was read.

mod expansion;
mod waits;

use std::time::{Duration, Instant};

use serde_json::Value;

use super::{
    Outcome,
    current_cluster::{CurrentCluster, claim_of},
};
use crate::client::ReadError;
use crate::facts::{PV_PROTECTION, SNAPSHOT_SOURCE};
use crate::model::{
    Action, Kind, ObjectKey, ObjectRef, OwnerReference, ReclaimPolicy, RetentionPolicy,
    format_duration,
};
use crate::plan::{ProposedChange, Purpose};
use waits::{ASK_INTERVAL, CHECK_INTERVAL, until_gone};

pub(super) use expansion::requests;
pub(super) use waits::{until_bound, until_reclaimed};

/// Message where the deletion-protection finalizer held the object until its driver had answered.
const ANSWERED: &str = "the driver answered OK, and the object is deleted";
/// Message where another client may have deleted the object before the driver was asked.
const UNSEEN: &str = "the object is deleted; unknown whether the driver deleted the backend volume";

/// Waits for the effect of a write that the API server has answered with `written`.
pub(super) async fn verify(
    cluster: &CurrentCluster,
    change: &ProposedChange,
    done: usize,
    written: &Value,
    wait: Option<Duration>,
) -> (Outcome, String) {
    let action = &change.proposal.steps[done];
    let policy = written["spec"]["persistentVolumeReclaimPolicy"].as_str().unwrap_or_default();
    let only_written = matches!(change.purpose, Purpose::Revert(_));
    match action {
        // No controller acts on it.
        Action::SetReclaimPolicy { to, .. } if only_written || *to == ReclaimPolicy::Retain => {
            if policy == to.to_string() {
                let told = cluster.rescue(&change.object.key.name);
                let told = told.filter(|_| matches!(change.purpose, Purpose::Retain));
                let and = told.map_or_else(String::new, |told| format!("; {told}"));
                return (Outcome::Done, format!("its policy is {to}{and}"));
            }
            // A webhook has changed it.
            (Outcome::Pending, format!("the API server shows the policy {policy:?}"))
        }
        Action::CreateVolume { .. } if matches!(change.purpose, Purpose::Adopt(_)) => {
            match (change.proposal.steps.get(done + 1), claim_of(written)) {
                (None, Some(claim)) => {
                    let claim = ObjectRef { key: claim, uid: None };
                    waits::until_bound(cluster, &change.object, &waits::key(&claim), wait).await
                }
                _ => (Outcome::Done, "it is created, and reserved for its claim".to_owned()),
            }
        }
        Action::CreateVolume { .. } => waits::until_settled(cluster, change, wait).await,
        Action::SetReclaimPolicy { .. } | Action::CondemnVolume { .. } => {
            // The watch may not have brought the write yet: Retain is then the earlier policy.
            let taken = cluster.take_in(&change.object.key, Some(written));
            let tracked = taken.is_ok();
            let (outcome, detail) =
                until_gone(cluster, &change.object, wait, UNSEEN, tracked).await;
            if outcome == Outcome::Done && tracked && cluster.driver_answered(&change.object).await
            {
                return (outcome, ANSWERED.to_owned());
            }
            (outcome, detail)
        }
        Action::DeleteVolume { .. } => {
            let gone = "the object is deleted; the backend volume is kept";
            until_gone(cluster, &change.object, wait, gone, false).await
        }
        Action::DeleteAttachment { .. } => {
            let gone = "the VolumeAttachment is deleted: its attacher has detached the volume";
            until_gone(cluster, &change.object, wait, gone, false).await
        }
        Action::DeleteClaim { claim, released } => {
            let is_last = done + 1 == change.proposal.steps.len();
            let deletion = waits::ClaimDeletion { claim, released: released.as_ref(), is_last };
            deletion.verify(cluster, wait).await
        }
        Action::DeleteWithClaims { object, .. } => {
            waits::until_deleted(cluster, object, wait).await
        }
        Action::RemoveFinalizer { object, finalizer, .. } => {
            let following = change.proposal.steps.get(done + 1..).unwrap_or_default();
            let last = !matches!(following.first(), Some(Action::RemoveFinalizer { .. }));
            // The API server keeps a finalizer that is in the list twice.
            let again = |it: &&Action| matches!(it, Action::RemoveFinalizer { finalizer: other, .. } if other == finalizer);
            let removal = RemovedFinalizer {
                object,
                finalizer,
                again: following.iter().filter(again).count(),
            };
            removal.verify(cluster, written, wait.filter(|_| last)).await
        }
        Action::AddFinalizer { finalizer, .. } => added(finalizer, written),
        // Whether they stay so is verified for all claims of the set at once.
        Action::RemoveOwnerReferences { owners, .. }
            if matches!(change.purpose, Purpose::SetRetentionPart(..)) =>
        {
            are_removed(owners, written)
        }
        Action::RemoveOwnerReferences { claim, owners } => {
            stay_removed(cluster, claim, owners, written, wait).await
        }
        Action::SetRetentionPolicy { to, .. } => is_set(to, written),
        Action::RequestStorage { claim, to, .. } => {
            expansion::verify(cluster, change, (claim, *to), written, wait).await
        }
        Action::ScaleWorkload { to, .. } => waits::is_scaled(*to, written),
        // That pods end is awaited for all together.
        Action::DeletePod { .. } => (Outcome::Done, "its deletion has begun".to_owned()),
        Action::DeleteSnapshot { snapshot } => waits::until_deleted(cluster, snapshot, wait).await,
        Action::ReserveVolume { claim, .. } if done + 1 < change.proposal.steps.len() => {
            waits::reserved(claim, written)
        }
        Action::ReserveVolume { claim, .. } => {
            waits::until_bound(cluster, &change.object, claim, wait).await
        }
        Action::BindVolume { claim, .. } | Action::CreateClaim { claim, .. } => {
            waits::until_bound(cluster, &change.object, &waits::key(claim), wait).await
        }
        Action::ReclaimBackend { .. }
        | Action::ReclaimReleased { .. }
        | Action::Announce { .. }
        | Action::RecordVeto { .. }
        | Action::AddOwnerReference { .. }
        | Action::CreateSnapshot { .. } => {
            (Outcome::Done, "the API server confirmed the change".to_owned())
        }
    }
}

/// The time that a controller gets to add a reference again, and the garbage collector to end a deletion that it began:
/// both act on earlier reads.
pub(super) const SETTLING: Duration = Duration::from_secs(2);

/// Verifies the answer to the patch: another client may add the references again.
fn are_removed(owners: &[OwnerReference], written: &Value) -> (Outcome, String) {
    if let Some(owner) = owners.iter().find(|it| is_in(it, written)) {
        let told = format!("the API server still shows the reference to {}", named(owner));
        return (Outcome::Failed, told);
    }
    let removed = match owners {
        [only] => format!("the owner reference to {} is removed", named(only)),
        _ => format!("{} owner references are removed", owners.len()),
    };
    (Outcome::Done, removed)
}

/// Verifies that references remain removed, and that the claim is not deleted all the same.
async fn stay_removed(
    cluster: &CurrentCluster,
    claim: &ObjectRef,
    owners: &[OwnerReference],
    written: &Value,
    wait: Option<Duration>,
) -> (Outcome, String) {
    let (Outcome::Done, removed) = are_removed(owners, written) else {
        return are_removed(owners, written);
    };
    if wait.is_none() {
        return (Outcome::Pending, format!("{removed}; not verified: --wait=false"));
    }
    tokio::time::sleep(SETTLING).await;
    let live = match cluster.read_alone(claim).await {
        Ok(live) => live,
        Err(error) => {
            return (
                Outcome::Pending,
                format!("{removed}; unknown whether it remains so: {error}"),
            );
        }
    };
    let Some(live) = live.filter(|it| is_same(it, claim)) else {
        return (Outcome::Failed, format!("{removed}, but the claim was deleted meanwhile"));
    };
    if !live["metadata"]["deletionTimestamp"].is_null() {
        let told = format!(
            "{removed}, but the claim has been deleted meanwhile and is Terminating: \
             `kubectl storage retain {}` keeps its data",
            in_words(claim)
        );
        return (Outcome::Failed, told);
    }
    if let Some(owner) = owners.iter().find(|it| is_in(it, &live)) {
        let who = manager_of(&live, owner);
        let who = who.map_or_else(
            || "another client".to_owned(),
            |manager| format!("field manager {manager:?}"),
        );
        return (Outcome::Failed, format!("{who} added the reference to {} again", named(owner)));
    }
    let left = live["metadata"]["ownerReferences"].as_array().map_or(&[][..], Vec::as_slice);
    let left: Vec<_> =
        left.iter().filter_map(|it| Some((it["kind"].as_str()?, it["name"].as_str()?))).collect();
    match &*left {
        [] => (Outcome::Done, format!("{removed}; the claim has no owner")),
        left => {
            let left: Vec<_> = left.iter().map(|(kind, name)| format!("{kind} {name}")).collect();
            let unserved = match &*cluster.unserved_owners(claim) {
                [] => String::new(),
                some => format!(
                    "; no version of the kind of {} is served: when it is served again and this owner does not \
                     exist then, the claim is deleted; `kubectl storage disown {} --owner-kind-gone` prevents that",
                    some.join(", "),
                    in_words(claim)
                ),
            };
            (Outcome::Done, format!("{removed}; its owner is {}{unserved}", left.join(", ")))
        }
    }
}

/// Names a claim with its namespace, as commands take it.
pub(super) fn in_words(claim: &ObjectRef) -> String {
    let namespace = claim.key.namespace.as_deref().unwrap_or("default");
    format!("pvc/{} -n {namespace}", claim.key.name)
}

fn named(owner: &OwnerReference) -> String {
    format!("{} {}", owner.kind, owner.name)
}

/// Whether an object in JSON is this claim, by its uid.
pub(super) fn is_same(live: &Value, claim: &ObjectRef) -> bool {
    let uid = claim.uid.as_ref().map(ToString::to_string);
    live["metadata"]["uid"].as_str() == uid.as_deref()
}

/// Whether a claim has this owner reference.
pub(super) fn is_in(owner: &OwnerReference, live: &Value) -> bool {
    let uid = owner.uid.as_ref().map(ToString::to_string);
    let all = live["metadata"]["ownerReferences"].as_array();
    all.into_iter().flatten().any(|it| {
        it["uid"].as_str() == uid.as_deref()
            && it["kind"] == *owner.kind
            && it["name"] == *owner.name
    })
}

/// Returns the field manager that set a reference, by `managedFields`.
pub(super) fn manager_of(live: &Value, owner: &OwnerReference) -> Option<String> {
    let key = format!(r#"k:{{"uid":"{}"}}"#, owner.uid.as_ref()?);
    let entries = live["metadata"]["managedFields"].as_array()?;
    let sets =
        |entry: &&Value| entry["fieldsV1"]["f:metadata"]["f:ownerReferences"].get(&key).is_some();
    Some(entries.iter().rev().find(sets)?["manager"].as_str()?.to_owned())
}

/// The time that a controller gets to add the finalizer again: it acts on the update itself.
const FINALIZER_SETTLING: Duration = Duration::from_secs(2);

/// A finalizer that was removed.
struct RemovedFinalizer<'a> {
    /// The object from which the finalizer was removed.
    object: &'a ObjectRef,
    /// The name of the finalizer.
    finalizer: &'a str,
    /// Number of entries of this name that later steps remove.
    again: usize,
}

impl RemovedFinalizer<'_> {
    /// Whether the object has the finalizer more often than it should.
    fn remains_in(&self, live: &Value) -> bool {
        finalizers(live).iter().filter(|it| **it == self.finalizer).count() > self.again
    }

    /// Verifies the removal, and with `wait` the deletion of the object.
    async fn verify(
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
        tokio::time::sleep(FINALIZER_SETTLING).await;
        match cluster.read_again(self.object).await {
            Ok(Some(live)) if self.remains_in(&live) => {
                let who = finalizer_manager(&live, finalizer);
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
fn added(finalizer: &str, written: &Value) -> (Outcome, String) {
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
fn finalizer_manager(live: &Value, finalizer: &str) -> Option<String> {
    let key = format!("v:{}", Value::from(finalizer));
    let entries = live["metadata"]["managedFields"].as_array()?;
    let sets = |entry: &&Value| entry["fieldsV1"]["f:metadata"]["f:finalizers"].get(&key).is_some();
    Some(entries.iter().rev().find(sets)?["manager"].as_str()?.to_owned())
}

/// Whether an object shows a policy.
pub(super) fn shows(to: &RetentionPolicy, object: &Value) -> bool {
    let policy = &object["spec"]["persistentVolumeClaimRetentionPolicy"];
    policy["whenDeleted"].as_str() == Some(&*to.when_deleted.to_string())
        && policy["whenScaled"].as_str() == Some(&*to.when_scaled.to_string())
}

/// Verifies the answer to the patch of a policy.
fn is_set(to: &RetentionPolicy, written: &Value) -> (Outcome, String) {
    let RetentionPolicy { when_deleted, when_scaled } = to;
    match shows(to, written) {
        true => {
            (Outcome::Done, format!("whenDeleted is {when_deleted}, whenScaled is {when_scaled}"))
        }
        false => (
            Outcome::Failed,
            format!(
                "the API server shows the policy {}",
                written["spec"]["persistentVolumeClaimRetentionPolicy"]
            ),
        ),
    }
}

/// A `VolumeSnapshot` that was created, with the answer of the API server.
pub(super) struct FirstSnapshot<'a> {
    pub(super) snapshot: &'a ObjectRef,
    pub(super) claim: &'a ObjectRef,
    pub(super) written: &'a Value,
}

/// Result of one look at a snapshot.
enum Look {
    /// Both controllers are done with the snapshot, which has this identity at the storage system.
    Ready(String),
    /// The snapshot is not ready, for this reason.
    Waiting(String),
    /// The snapshot will never be ready, for this reason.
    Lost(String),
}

impl FirstSnapshot<'_> {
    /// Waits until a volume can be restored from the snapshot, and snapshot-controller has removed
    /// its finalizer from the claim.
    pub(super) async fn until_ready(
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

    /// Describes the objects that remain, and the command that continues.
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
