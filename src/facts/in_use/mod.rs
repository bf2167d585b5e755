//! Users of a claim, with evidence (semantics#claim-protection).
//!
//! [`upstream_in_use`] returns what the protection controller of Kubernetes waits for: scheduled
//! pods and nothing else. [`unsafe_to_delete`] returns why a claim must not be deleted, which is
//! stricter: everything that will use the data counts, running or not.

mod unsafe_to_delete;

use crate::cluster::{Cluster, Cx, Seen};
use crate::facts::{DataEffect, controller_of, data_effect_without_claim};
use crate::model::{Claim, ClaimKey, Kind, MountedClaim, PodUse, Text, Volume, Workload};

pub use unsafe_to_delete::{SetTemplate, Unsafe, UnsafeReason, template_of, unsafe_to_delete};

/// Describes the kinds that were checked for users, and what was not: custom resources may use a claim without a pod
/// now.
pub fn checked_kinds() -> String {
    let kinds: Vec<_> = [Kind::Pod].into_iter().chain(Kind::WORKLOADS).map(Kind::plural).collect();
    format!("{}; custom resources not checked", kinds.join(", "))
}

/// A pod that uses a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PodUser<'a> {
    /// The pod, in any phase, scheduled or not.
    pub pod: &'a PodUse,
    /// The way in which the pod uses the claim.
    pub usage: PodUsage,
}

/// Way in which a pod uses a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PodUsage {
    /// A volume of the pod references the claim (`persistentVolumeClaim.claimName`).
    Named,
    /// The claim was created for an ephemeral volume of the pod, which controls it.
    Ephemeral,
}

impl PodUser<'_> {
    /// Whether the protection controller of Kubernetes regards the pod as a user: it was scheduled,
    /// and, if the volume is ephemeral, was not shut down. Finished pods count as long as their
    /// objects exist (`pvc_protection_controller.go`, `podUsesPVCForDeletion`).
    pub const fn holds_protection(&self) -> bool {
        self.pod.node.is_some()
            && match self.usage {
                PodUsage::Named => true,
                PodUsage::Ephemeral => !self.pod.is_shut_down(),
            }
    }
}

/// Returns the pods that use a claim, in the order of their names: in any phase, scheduled or not,
/// shut down or not.
///
/// # Errors
/// When pods of its namespace were not read.
pub fn pod_users<'a>(cx: &Cx<'a>, claim: &Claim) -> Seen<Vec<PodUser<'a>>> {
    let pods = cx.pods_of(&claim.key())?;
    Ok(pods.into_iter().filter_map(|pod| user(pod, claim)).collect())
}

/// Returns the pods that block the deletion of a claim in Kubernetes (R-PVCP-3).
///
/// # Errors
/// When pods of its namespace were not read.
pub fn upstream_in_use<'a>(cx: &Cx<'a>, claim: &Claim) -> Seen<Vec<PodUser<'a>>> {
    let mut users = pod_users(cx, claim)?;
    users.retain(PodUser::holds_protection);
    Ok(users)
}

/// Returns the pods that wait for an ephemeral volume whose name is taken by a claim of another
/// owner. A claim of an earlier pod of the same name does not count, since it will be deleted.
///
/// # Errors
/// When pods of its namespace were not read.
pub fn conflicting_pods<'a>(cx: &Cx<'a>, claim: &Claim) -> Seen<Vec<&'a PodUse>> {
    let mut pods = cx.pods_of(&claim.key())?;
    pods.retain(|pod| {
        let names_it = |ephemeral| {
            pod.claims.iter().any(|it| it.claim == claim.metadata.name && it.ephemeral == ephemeral)
        };
        names_it(true) && !names_it(false) && !controls(pod, claim) && !controlled(pod, claim)
    });
    Ok(pods)
}

/// Returns the pod as a user of a claim, if it uses the claim.
fn user<'a>(pod: &'a PodUse, claim: &Claim) -> Option<PodUser<'a>> {
    let mut mounted = pod.claims.iter().filter(|it| it.claim == claim.metadata.name);
    if mounted.clone().any(|it| !it.ephemeral) {
        return Some(PodUser { pod, usage: PodUsage::Named });
    }
    (mounted.next().is_some() && controls(pod, claim))
        .then_some(PodUser { pod, usage: PodUsage::Ephemeral })
}

/// Whether a pod is the managing controller of a claim (component-helpers `storage/ephemeral`,
/// `VolumeIsForPod`). If a dump lacks a uid, the name decides, so that rather one user too many is
/// found.
fn controls(pod: &PodUse, claim: &Claim) -> bool {
    let Some(owner) = controller_of(&claim.metadata) else {
        return false;
    };
    match (&owner.uid, &pod.uid) {
        (Some(owner), Some(pod)) => owner == pod,
        (None, _) | (_, None) => controlled(pod, claim),
    }
}

/// Whether a pod of this name, of whatever uid, is the controller of a claim.
fn controlled(pod: &PodUse, claim: &Claim) -> bool {
    claim
        .metadata
        .owners
        .iter()
        .any(|owner| owner.controller && &*owner.kind == Kind::Pod.name() && owner.name == pod.name)
}

/// The workloads whose templates reference a claim.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimWorkloads<'a> {
    /// Workloads that start pods with the claim, now or when they are scaled up, resumed or triggered.
    pub active: Vec<&'a Workload>,
    /// Workloads that start no such pods: finished Jobs, and `ReplicaSet`s of earlier revisions of a Deployment whose
    /// template does not reference the claim any more. Only a rollback needs these.
    pub dormant: Vec<&'a Workload>,
}

/// Returns the workloads whose templates reference a claim.
///
/// # Errors
/// When a kind of workloads was not read in that namespace, and no active one was found: one user
/// proves use.
pub fn claim_workloads<'a>(cx: &Cx<'a>, claim: &ClaimKey) -> Seen<ClaimWorkloads<'a>> {
    let all = cx.workloads_of(claim)?;
    let (dormant, active): (Vec<_>, Vec<_>) =
        all.iter().partition(|it| it.finished || is_earlier_revision(cx, it, &all));
    if active.is_empty() {
        for kind in Kind::WORKLOADS {
            cx.cluster().reach(kind, Some(&claim.namespace))?;
        }
    }
    Ok(ClaimWorkloads { active, dormant })
}

/// Whether a workload is a `ReplicaSet` without replicas whose Deployment references the claim no more.
fn is_earlier_revision(cx: &Cx, workload: &Workload, all: &[&Workload]) -> bool {
    let Some(owner) = deployment_of(workload) else { return false };
    workload.replicas == Some(0)
        && cx.cluster().reach(Kind::Deployment, Some(&workload.namespace)).is_ok()
        && !all.iter().any(|it| it.kind == Kind::Deployment && &*it.name == owner)
}

/// Returns the name of the Deployment that controls a `ReplicaSet`.
pub fn deployment_of(workload: &Workload) -> Option<&str> {
    let owner = workload.controller.as_ref().filter(|_| workload.kind == Kind::ReplicaSet)?;
    (&*owner.kind == Kind::Deployment.name()).then_some(&*owner.name)
}

impl ClaimWorkloads<'_> {
    /// Describes each dormant workload.
    pub fn notices(&self) -> Vec<String> {
        self.dormant.iter().map(|it| describe(it)).collect()
    }
}

fn describe(workload: &Workload) -> String {
    let object = workload.object();
    match deployment_of(workload) {
        Some(deployment) => format!(
            "a rollback of Deployment {deployment} to the revision of {object} would need the claim"
        ),
        None => format!("{object} references the claim, but is finished: it starts no more pods"),
    }
}

/// Returns what ends the use of a claim by a workload.
fn ended_by(workload: &Workload) -> String {
    match deployment_of(workload) {
        Some(deployment) => {
            format!("remove the claim from the template of Deployment {deployment}")
        }
        // The template of a Job cannot be changed.
        None if workload.kind == Kind::Job => format!("delete {}", workload.object()),
        None => "remove the claim from its template".to_owned(),
    }
}

/// The effect on the data of a claim when the claim is deleted, with its volume as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimDataEffect<'a> {
    /// The data is destroyed, or may be.
    Destroyed(&'a Volume),
    /// The policy is Recycle: the files are removed.
    Scrubbed(&'a Volume),
    /// The data remains: the policy is Retain, or no controller can act on another policy.
    Kept(&'a Volume),
    /// The data remains, and no volume references it any more.
    Forgotten(&'a Volume),
    /// No data is affected: there is no volume, or it belongs to another claim.
    NoVolume,
    /// The volume was not read, for this reason.
    Unseen(String),
}

impl<'a> ClaimDataEffect<'a> {
    /// Returns the claim's volume, where the effect is on one.
    pub const fn volume(&self) -> Option<&'a Volume> {
        match self {
            Self::Destroyed(volume)
            | Self::Scrubbed(volume)
            | Self::Kept(volume)
            | Self::Forgotten(volume) => Some(volume),
            Self::NoVolume | Self::Unseen(_) => None,
        }
    }

    /// Whether data is lost.
    pub const fn loses_data(&self) -> bool {
        matches!(self, Self::Destroyed(_) | Self::Scrubbed(_))
    }

    /// Whether data is lost, or that is unknown.
    pub const fn may_lose_data(&self) -> bool {
        self.loses_data() || matches!(self, Self::Unseen(_))
    }

    /// Describes the effect, with the event that triggers it: "the last of these pods is deleted".
    pub fn words(&self, when: &str) -> String {
        match self {
            Self::Destroyed(volume) => {
                format!("policy {} can destroy the data when {when}", volume.reclaim_policy)
            }
            Self::Scrubbed(_) => format!("policy Recycle scrubs the data when {when}"),
            Self::Kept(_) => format!("the volume and its data remain when {when}"),
            Self::Forgotten(_) => format!(
                "the data remains, and no PersistentVolume references it any more, when {when}"
            ),
            Self::NoVolume => format!("no volume is affected when {when}"),
            Self::Unseen(_) => {
                format!("the effect on the data when {when} is unknown, its volume was not read")
            }
        }
    }
}

/// Returns the effect on the data of a claim when the claim is deleted. A volume that references
/// another claim does not count: Kubernetes compares the uid (`pv_controller.go`, `syncVolume`).
pub fn data_effect<'a>(cx: &Cx<'a>, claim: &Claim) -> ClaimDataEffect<'a> {
    let Some(name) = &claim.volume_name else { return ClaimDataEffect::NoVolume };
    let volume = match cx.volume(name) {
        Ok(Some(volume)) => volume,
        Ok(None) => return ClaimDataEffect::NoVolume,
        Err(unseen) => return ClaimDataEffect::Unseen(unseen.reason),
    };
    let is_its_own = volume.claim_ref.as_ref().is_some_and(|claim_ref| {
        match (&claim_ref.uid, &claim.metadata.uid) {
            (Some(wanted), Some(uid)) => wanted == uid,
            (None, _) | (_, None) => claim_ref.key == claim.key(),
        }
    });
    if !is_its_own {
        return ClaimDataEffect::NoVolume;
    }
    data_effect_with(cx, volume)
}

/// Returns the effect on the data of a claim to which this volume belongs, when the claim is deleted.
pub fn data_effect_with<'a>(cx: &Cx<'a>, volume: &'a Volume) -> ClaimDataEffect<'a> {
    match data_effect_without_claim(cx, volume) {
        // Data that may be destroyed counts as destroyed.
        DataEffect::Destroyed | DataEffect::Waiting | DataEffect::Unknown => {
            ClaimDataEffect::Destroyed(volume)
        }
        DataEffect::Scrubbed => ClaimDataEffect::Scrubbed(volume),
        DataEffect::Forgotten | DataEffect::Leaked => ClaimDataEffect::Forgotten(volume),
        DataEffect::Released | DataEffect::Failed | DataEffect::Unaffected => {
            ClaimDataEffect::Kept(volume)
        }
    }
}

/// Whether a pod may have a volume whose object is gone: that of a claim that is gone, was created again, or has lost it.
pub fn is_bereft(cluster: &Cluster, pod: &PodUse) -> bool {
    let has_lost = |mounted: &MountedClaim| {
        let name = mounted.claim.clone();
        let key = ClaimKey { namespace: Text::clone(&pod.namespace), name };
        let Some(claim) = cluster.claim_named(&key) else { return true };
        // It may have waited for its claim; that of an ephemeral volume is made for it.
        let began = pod.started.or(pod.created.filter(|_| !mounted.ephemeral));
        let is_newer = claim.metadata.created.zip(began).is_some_and(|(new, old)| new > old);
        let volume = claim.volume_name.as_deref();
        is_newer || volume.is_some_and(|it| cluster.volume_named(it).is_none())
    };
    !pod.is_finished() && pod.node.is_some() && pod.claims.iter().any(has_lost)
}

#[cfg(test)]
mod tests;
