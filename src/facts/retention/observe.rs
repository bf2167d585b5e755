//! Building a `SetSituation` from a cluster.

use crate::cluster::{Cx, Seen};
use crate::facts::data_effect_without_claim;
use crate::model::{
    Answer, Claim, Kind, OwnerKey, OwnerReference, PodPhase, Question, StatefulSet, Text, Volume,
};

use super::{
    Presence, Propagation, Readiness, ReferenceForm, SetClaimState, SetPodState, SetSituation,
    SetState, TemplateClaim, VolumeEffect, is_member, membership, owner_state::owner_states,
};

impl SetSituation {
    /// Builds the situation of a set, with the claims that certainly belong to it.
    ///
    /// # Errors
    /// When sets, pods or claims of the namespace were not read.
    pub fn of(cx: &Cx, set: &StatefulSet) -> Seen<Self> {
        let namespace = &set.namespace;
        let name = &set.metadata.name;
        let mut pods = std::collections::BTreeMap::new();
        for (ordinal, pod) in cx.pods_named_after(namespace, name)? {
            let state = SetPodState {
                uid: pod.uid.clone(),
                member: is_member(set, pod),
                terminating: pod.deleting.is_some(),
                finished: pod.is_finished(),
                readiness: match pod.ready && pod.phase == PodPhase::Running {
                    true => Readiness::Ready,
                    false => Readiness::NotReady,
                },
            };
            pods.insert(ordinal, state);
        }
        let mut claims = Vec::new();
        for template in &set.templates {
            for (_, claim) in cx.claims_of_stem(namespace, &format!("{}-{name}", template.name))? {
                let membership = membership(cx, claim)?;
                let contested = membership.pairs.len() > 1;
                let is_its = |it: &TemplateClaim| {
                    it.set.metadata.name == *name && *it.template == template.name
                };
                if let Some(member) = membership.decided.filter(is_its) {
                    claims.push(SetClaimState {
                        contested,
                        ..observe_claim(cx, set, claim, &member)?
                    });
                }
            }
        }
        let deleting = set.metadata.deleting.map(|_| {
            if set.metadata.has_finalizer("foregroundDeletion") {
                Propagation::Foreground
            } else if set.metadata.has_finalizer("orphan") {
                Propagation::Orphan
            } else {
                Propagation::Background
            }
        });
        let set = SetState {
            name: name.clone(),
            uid: set.metadata.uid.clone(),
            replicas: set.replicas,
            start: set.start,
            policy: set.retention.clone(),
            deleting,
            ordered: set.ordered,
            form: ReferenceForm::of(cx.server()),
        };
        Ok(Self { set, pods, claims })
    }
}

fn observe_claim(
    cx: &Cx,
    set: &StatefulSet,
    claim: &Claim,
    member: &TemplateClaim,
) -> Seen<SetClaimState> {
    let pod_name = member.pod_name();
    let users = cx.pods_of(&claim.key())?;
    let others = users.iter().filter(|pod| *pod.name != *pod_name);
    Ok(SetClaimState {
        template: Text::clone(member.template),
        ordinal: member.ordinal,
        contested: false,
        owners: owner_states(
            cx,
            &claim.namespace,
            set.metadata.uid.as_ref(),
            &claim.metadata.owners,
        ),
        deleting: claim.metadata.deleting.is_some(),
        finalizers: claim.metadata.finalizers.to_vec(),
        other_users: others.map(|pod| pod.name.clone()).collect(),
        volume: volume_effect(cx, claim).0,
    })
}

/// Whether an owner exists, as far as is known; asks if it is not.
///
/// A list proves that it exists. Only an answer, or an object of that name with another uid, proves
/// that it does not.
pub fn presence(cx: &Cx, namespace: &Text, reference: &OwnerReference) -> Presence {
    let Some(uid) = &reference.uid else { return Presence::Absent };
    let listed = match (&*reference.api_version, &*reference.kind) {
        ("apps/v1", "StatefulSet") => {
            cx.set(namespace, &reference.name).ok().flatten().map(|set| &set.metadata.uid)
        }
        ("v1", "Pod") => cx.pod(namespace, &reference.name).ok().flatten().map(|pod| &pod.uid),
        _ => None,
    };
    if let Some(Some(listed)) = listed {
        return if listed == uid { Presence::Present } else { Presence::Absent };
    }
    let question = Question::OwnerExists(OwnerKey {
        api_version: Text::clone(&reference.api_version),
        kind: Text::clone(&reference.kind),
        namespace: Text::clone(namespace),
        name: reference.name.clone(),
    });
    match cx.answer(question) {
        Ok(Answer::Is(found)) if found == *uid => Presence::Present,
        Ok(Answer::Is(_) | Answer::No) => Presence::Absent,
        Ok(
            Answer::Yes
            | Answer::Owner(_)
            | Answer::Users(_)
            | Answer::Announcements(_)
            | Answer::Unanswered(_)
            | Answer::Forbidden
            | Answer::NotServed { .. },
        )
        | Err(_) => Presence::Unknown,
    }
}

/// Whether an owner other than these exists, so that the claim is not deleted with them.
pub fn is_held(cx: &Cx, claim: &Claim, besides: impl Fn(&OwnerReference) -> bool) -> bool {
    let others = claim.metadata.owners.iter().filter(|it| !besides(it));
    others.into_iter().any(|it| presence(cx, &claim.namespace, it) == Presence::Present)
}

/// Returns the effect on the volume of a claim when the claim is deleted, and the volume, if it is
/// really bound to this claim.
pub fn volume_effect<'a>(cx: &Cx<'a>, claim: &Claim) -> (VolumeEffect, Option<&'a Volume>) {
    let Some(name) = &claim.volume_name else { return (VolumeEffect::None, None) };
    let Ok(Some(volume)) = cx.volume(name) else { return (VolumeEffect::Unknown, None) };
    let bound = volume.claim_ref.as_ref().is_some_and(|it| {
        it.key == claim.key() && it.uid.is_some() && it.uid == claim.metadata.uid
    });
    if !bound {
        return (VolumeEffect::Unknown, None);
    }
    (VolumeEffect::of(data_effect_without_claim(cx, volume)), Some(volume))
}

/// The kinds that a [`SetSituation`] is built from.
pub const OBSERVED: &[Kind] = &[
    Kind::PersistentVolumeClaim,
    Kind::StatefulSet,
    Kind::Pod,
    Kind::PersistentVolume,
    Kind::PartialObjectMetadata,
];
