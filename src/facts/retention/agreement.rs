//! What the owner references of a claim should be, by the retention policy of its `StatefulSet`.

use crate::cluster::{Cx, Seen};
use crate::model::{Claim, OwnerReference};

use super::{
    ClaimPod, OwnerIdentity, ReferenceForm, ReferenceUpdate, TemplateClaim, WantedOwners,
    expected_ownership, foreign_controller, names_pod, names_set, wanted_owners,
};

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
    /// The owners that the policy requires, and that the claim has not.
    pub missing: WantedOwners,
    /// The other managing controller, because of which the policy is not applied.
    pub foreign: Option<&'a OwnerReference>,
    /// What the `StatefulSet` controller does next about it.
    pub next: ReferenceUpdate,
    /// Whether the policy required its deletion when its pod was scaled away: its ordinal is out of
    /// range, it has no pod, and `whenScaled` is Delete.
    pub outlived: bool,
}

/// Why an owner reference should not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SurplusReason {
    /// It is to the set, and `whenDeleted` retains claims (F60).
    SetRetains,
    /// It is to the pod, whose ordinal is in range (F67), or `whenScaled` retains claims.
    PodRetains,
    /// It is to an earlier set of that name (F65).
    EarlierSet,
    /// It is to an earlier pod of that name, or to a pod that does not exist (F65).
    EarlierPod,
}

impl SurplusReason {
    /// As reports write it.
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
