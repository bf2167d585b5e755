//! Pods that use a claim.

use crate::cluster::{Cx, Seen};
use crate::facts::controller_of;
use crate::model::{Claim, Kind, PodUse};

/// A pod that uses a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PodUser<'a> {
    /// The pod, in any phase, scheduled or not.
    pub pod: &'a PodUse,
    /// How it uses the claim.
    pub usage: PodUsage,
}

/// How a pod uses a claim.
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

/// Returns how a pod uses a claim, if it does.
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
