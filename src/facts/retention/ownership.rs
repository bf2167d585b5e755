//! Owner references that the `StatefulSet` controller writes to a claim (R-1847-5 to 8), and what they
//! should be by the retention policy of the set.
//!
//! Derived from `isClaimOwnerUpToDate` and `updateClaimOwnerRefForSetAndPod` of
//! `pkg/controller/statefulset/stateful_set_utils.go` in Kubernetes 1.36.3, and of 1.29 for servers
//! whose references carry no flags.

use super::TemplateClaim;
use crate::cluster::{Cx, Seen};
use crate::model::{Claim, OwnerReference, RetentionPolicy, Server, Uid};

/// The form of the owner references that the controller of a server writes (R-1847-6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceForm {
    /// The references have `controller` and `blockOwnerDeletion`, and references of other controllers are not changed:
    /// from 1.31 on.
    Controller,
    /// The references have neither, whatever other controllers wrote: up to 1.29.
    Plain,
    /// The form is unknown: of 1.30, in which a patch release changed it, or of a server whose version was not read.
    Unknown,
}

impl ReferenceForm {
    /// Returns the form that a server uses.
    pub fn of(server: Option<&Server>) -> Self {
        let at_least = |minor| server.and_then(|server| server.at_least(1, minor));
        match (at_least(31), at_least(30)) {
            (Some(true), _) => Self::Controller,
            (_, Some(false)) => Self::Plain,
            _ => Self::Unknown,
        }
    }
}

/// The name and uid of an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnerIdentity<'a> {
    /// The name of the owner.
    pub name: &'a str,
    /// The uid of the owner; `None` if the object does not exist.
    pub uid: Option<&'a Uid>,
}

impl OwnerIdentity<'_> {
    /// Whether the reference is to this object, by uid.
    pub fn is_named_by(&self, reference: &OwnerReference) -> bool {
        self.uid.is_some() && reference.uid.as_ref() == self.uid
    }
}

/// Whether a reference is to a `StatefulSet` of this name, of whatever uid.
pub fn names_set(reference: &OwnerReference, name: &str) -> bool {
    &*reference.api_version == "apps/v1"
        && &*reference.kind == "StatefulSet"
        && *reference.name == *name
}

/// Whether a reference is to a pod of this name, of whatever uid.
pub fn names_pod(reference: &OwnerReference, name: &str) -> bool {
    &*reference.api_version == "v1" && &*reference.kind == "Pod" && *reference.name == *name
}

/// The pod of a claim, in the view of the `StatefulSet` controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimPod<'a> {
    /// The pod does not exist: the controller does not visit the claim (R-1847-8).
    Podless,
    /// The ordinal of the pod is in range.
    InRange(OwnerIdentity<'a>),
    /// The controller does not handle the pod now: it waits until a pod in range that is Terminating or has ended is
    /// deleted (R-1847-12), or has not got this far.
    Leaving(OwnerIdentity<'a>),
    /// The ordinal of the pod is out of range.
    Condemned(OwnerIdentity<'a>),
}

impl<'a> ClaimPod<'a> {
    /// Returns the pod, if there is one.
    pub fn pod(&self) -> Option<OwnerIdentity<'a>> {
        match self {
            Self::Podless => None,
            Self::InRange(pod) | Self::Leaving(pod) | Self::Condemned(pod) => Some(*pod),
        }
    }
}

/// The reservation that the controller may not get as far as a claim: it goes through the pods of a set in order, and
/// stops at the first one that is not ready (R-1847-8).
pub const UNLESS_IT_WAITS: &str = "unless it waits for a pod of the set that is not ready";

/// The next change of the owner references of a claim by the controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReferenceUpdate {
    /// The controller changes nothing, for this reason.
    Leaves(NoUpdateReason),
    /// The controller replaces all references by these.
    Writes(Vec<OwnerReference>),
}

/// The reason for which the controller changes no references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoUpdateReason {
    /// The references are as the policy requires.
    Matches,
    /// The controller does not visit a claim without a pod.
    Podless,
    /// The controller waits until the Terminating pod is deleted.
    Waits,
    /// A reference is to an earlier set or pod of that name.
    Stale,
    /// The claim has another managing controller.
    ForeignController,
    /// The wrong reference has a name or a version that the controller does not recognise as its
    /// own.
    Unrecognised,
}

/// The owners that a policy requires for a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WantedOwners {
    /// Whether a reference to the set is required.
    pub set: bool,
    /// Whether a reference to the pod is required.
    pub pod: bool,
}

/// Whether a policy never deletes claims, so that any managing controller of theirs is accepted.
/// True also without a policy.
pub fn retains(policy: Option<&RetentionPolicy>) -> bool {
    use crate::model::Retention::Retain;
    policy.is_none_or(|it| it.when_deleted == Retain && it.when_scaled == Retain)
}

/// Returns the owners that a policy requires (the matrix of R-1847-5). With one unknown value the
/// whole policy retains.
pub fn wanted_owners(policy: Option<&RetentionPolicy>, condemned: bool) -> WantedOwners {
    use crate::model::Retention::{Delete, Other, Retain};
    let nothing = WantedOwners { set: false, pod: false };
    let Some(policy) = policy else { return nothing };
    match (&policy.when_deleted, &policy.when_scaled) {
        (Other(_), _) | (_, Other(_)) | (Retain, Retain) => nothing,
        (Delete, Retain) => WantedOwners { set: true, pod: false },
        (Retain, Delete) => WantedOwners { set: false, pod: condemned },
        (Delete, Delete) => WantedOwners { set: !condemned, pod: condemned },
    }
}

/// Returns the next change of the owner references of a claim by the `StatefulSet` controller.
pub fn expected_ownership(
    references: &[OwnerReference],
    set: OwnerIdentity,
    policy: Option<&RetentionPolicy>,
    place: &ClaimPod,
    form: ReferenceForm,
) -> ReferenceUpdate {
    let (pod, condemned) = match place {
        ClaimPod::Podless => return ReferenceUpdate::Leaves(NoUpdateReason::Podless),
        ClaimPod::Leaving(_) => return ReferenceUpdate::Leaves(NoUpdateReason::Waits),
        ClaimPod::InRange(pod) => (*pod, false),
        ClaimPod::Condemned(pod) => (*pod, true),
    };
    let wanted = wanted_owners(policy, condemned);
    let owned_by_set = references.iter().any(|it| set.is_named_by(it));
    let owned_by_pod = references.iter().any(|it| pod.is_named_by(it));
    let matches = owned_by_set == wanted.set && owned_by_pod == wanted.pod;
    if form == ReferenceForm::Plain {
        if matches {
            return ReferenceUpdate::Leaves(NoUpdateReason::Matches);
        }
        let ours = |it: &OwnerReference| set.is_named_by(it) || pod.is_named_by(it);
        return write(references, ours, false, wanted, set, pod);
    }
    if is_stale(references, set, pod) {
        return ReferenceUpdate::Leaves(NoUpdateReason::Stale);
    }
    let ours = |it: &OwnerReference| names_set(it, set.name) || names_pod(it, pod.name);
    if foreign_controller(references, set, pod, policy).is_some() {
        if !owned_by_set && !owned_by_pod {
            return ReferenceUpdate::Leaves(NoUpdateReason::ForeignController);
        }
        return write(references, ours, true, WantedOwners { set: false, pod: false }, set, pod);
    }
    let without_flag =
        |it: &OwnerReference| (set.is_named_by(it) || pod.is_named_by(it)) && !it.controller;
    if matches && !references.iter().any(without_flag) {
        return ReferenceUpdate::Leaves(NoUpdateReason::Matches);
    }
    write(references, ours, true, wanted, set, pod)
}

/// Whether the first reference to a set or pod of these names has another uid.
pub fn is_stale(references: &[OwnerReference], set: OwnerIdentity, pod: OwnerIdentity) -> bool {
    let first_set = references.iter().find(|it| names_set(it, set.name));
    let first_pod = references.iter().find(|it| names_pod(it, pod.name));
    first_set.is_some_and(|it| !set.is_named_by(it))
        || first_pod.is_some_and(|it| !pod.is_named_by(it))
}

/// Returns the reference because of which the controller does not update a claim although the
/// policy deletes claims: to another managing controller, or to an earlier set or pod of that name.
pub fn foreign_controller<'a>(
    references: &'a [OwnerReference],
    set: OwnerIdentity,
    pod: OwnerIdentity,
    policy: Option<&RetentionPolicy>,
) -> Option<&'a OwnerReference> {
    if retains(policy) {
        return None;
    }
    references.iter().find(|it| {
        if names_set(it, set.name) {
            !set.is_named_by(it)
        } else if names_pod(it, pod.name) {
            !pod.is_named_by(it)
        } else {
            it.controller
        }
    })
}

fn write(
    references: &[OwnerReference],
    ours: impl Fn(&OwnerReference) -> bool,
    flags: bool,
    wanted: WantedOwners,
    set: OwnerIdentity,
    pod: OwnerIdentity,
) -> ReferenceUpdate {
    let mut kept: Vec<_> = references.iter().filter(|it| !ours(it)).cloned().collect();
    let mut add = |owner: OwnerIdentity, api_version: &str, kind: &str| {
        // A reference with the uid under another name stays, and no second one is added.
        if !kept.iter().any(|it| owner.is_named_by(it)) {
            kept.push(OwnerReference {
                api_version: api_version.into(),
                kind: kind.into(),
                name: owner.name.into(),
                uid: owner.uid.cloned(),
                controller: flags,
                blocks_deletion: flags,
            });
        }
    };
    if wanted.pod {
        add(pod, "v1", "Pod");
    }
    if wanted.set {
        add(set, "apps/v1", "StatefulSet");
    }
    if kept == references {
        return ReferenceUpdate::Leaves(NoUpdateReason::Unrecognised);
    }
    ReferenceUpdate::Writes(kept)
}

/// The owner references of a claim, compared with the policy of its set.
///
/// Removing the [surplus](Self::surplus) never makes a claim more deletable; adding what is
/// [missing](Self::missing) does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerAgreement<'a> {
    /// The owners that the policy requires.
    pub wanted: WantedOwners,
    /// The references because of which the claim is deleted although the policy retains it, or
    /// whose owner is an earlier set or pod; in their order.
    pub surplus: Vec<(&'a OwnerReference, SurplusReason)>,
    /// The owners that the policy requires, and that the claim lacks.
    pub missing: WantedOwners,
    /// The other managing controller, because of which the policy is not applied.
    pub foreign: Option<&'a OwnerReference>,
    /// The next change of the references by the `StatefulSet` controller.
    pub next: ReferenceUpdate,
    /// Whether the policy required the claim's deletion when its pod was scaled away: its ordinal is out of range, it
    /// has no pod, and `whenScaled` is Delete.
    pub outlived: bool,
}

/// The reason for which an owner reference should not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SurplusReason {
    /// The reference is to the set, and `whenDeleted` retains claims (F60).
    SetRetains,
    /// The reference is to the pod, whose ordinal is in range (F67), or `whenScaled` retains claims.
    PodRetains,
    /// The reference is to an earlier set of that name (F65).
    EarlierSet,
    /// The reference is to an earlier pod of that name, or to a pod that does not exist (F65).
    EarlierPod,
}

impl SurplusReason {
    /// Returns the name of the reason in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SetRetains => "set-retains",
            Self::PodRetains => "pod-retains",
            Self::EarlierSet => "earlier-set",
            Self::EarlierPod => "earlier-pod",
        }
    }
}

impl OwnerAgreement<'_> {
    /// Whether every reference is as the policy requires.
    pub fn matches(&self) -> bool {
        self.surplus.is_empty()
            && !self.missing.set
            && !self.missing.pod
            && self.foreign.is_none()
            && !matches!(self.next, ReferenceUpdate::Writes(_))
    }
}

/// Compares the owner references of a claim with what the policy of its set requires.
///
/// # Errors
/// When pods of its namespace were not read.
pub fn owner_agreement<'a>(
    cx: &Cx,
    claim: &'a Claim,
    member: &TemplateClaim,
) -> Seen<OwnerAgreement<'a>> {
    let policy = member.set.retention.as_ref();
    let set = member.owner();
    let name = member.pod_name();
    let pod = member.pod(cx)?;
    let place = member.pod_state(&name, pod);
    let identity = OwnerIdentity { name: &name, uid: pod.and_then(|pod| pod.uid.as_ref()) };
    let in_range = member.is_wanted();
    let wanted = wanted_owners(policy, !in_range);
    let references = &claim.metadata.owners;
    let surplus = |reference: &OwnerReference| {
        if names_set(reference, set.name) {
            return match set.is_named_by(reference) {
                false => Some(SurplusReason::EarlierSet),
                true if wanted_owners(policy, false).set => None,
                true => Some(SurplusReason::SetRetains),
            };
        }
        if !names_pod(reference, &name) {
            return None;
        }
        match identity.is_named_by(reference) {
            false => Some(SurplusReason::EarlierPod),
            true if wanted.pod => None,
            true => Some(SurplusReason::PodRetains),
        }
    };
    let surplus: Vec<_> = references.iter().filter_map(|it| Some((it, surplus(it)?))).collect();
    let stale = surplus
        .iter()
        .any(|(_, why)| matches!(why, SurplusReason::EarlierSet | SurplusReason::EarlierPod));
    let foreign = foreign_controller(references, set, identity, policy)
        .filter(|it| !names_set(it, set.name) && !names_pod(it, &name));
    let lacks = |wanted: bool, owner: OwnerIdentity| {
        wanted && !stale && foreign.is_none() && !references.iter().any(|it| owner.is_named_by(it))
    };
    let podless = place == ClaimPod::Podless;
    Ok(OwnerAgreement {
        wanted,
        missing: WantedOwners {
            set: lacks(wanted.set, set),
            pod: lacks(wanted.pod && !podless, identity),
        },
        next: expected_ownership(references, set, policy, &place, ReferenceForm::of(cx.server())),
        outlived: podless && wanted.pod,
        surplus,
        foreign,
    })
}

#[cfg(test)]
mod tests;
