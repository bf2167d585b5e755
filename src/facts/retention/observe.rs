//! Building a `SetSituation` from a cluster: the claims of a set, the owners of each with their own
//! owners, as the garbage collector will find them (`garbagecollector.go`, `classifyReferences`: an owner
//! that is deleted with a set keeps nothing), and the claims that are deleted with a set although
//! [`simulate`](super::simulate) knows nothing of them (`attemptToDeleteItem`: the garbage collector goes
//! by the uids of owners, whatever a claim is called).

use std::collections::HashMap;

use super::{
    ClaimOutcome, OutcomeReason, OwnerDoubt, OwnerState, Prediction, Presence, Propagation,
    Readiness, ReferenceForm, SetClaimState, SetPodState, SetSituation, SetState, TemplateClaim,
    VolumeEffect, is_member, membership,
};
use crate::cluster::{Cx, Seen, Unseen};
use crate::facts::{PodUsage, data_effect_without_claim, pod_users};
use crate::model::{
    Answer, Claim, ClaimKey, Kind, OwnerKey, OwnerReference, PodPhase, PodUse, Question,
    StatefulSet, Text, Uid, Volume, split_ordinal,
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

/// Returns the effect on the volume of a claim when the claim is deleted, with the volume, if it is really bound to
/// this claim.
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

/// Largest distance to which owners of owners are followed.
const DEPTH: usize = 8;
/// Largest number of owners of owners that are followed for one object.
const OWNERS: usize = 100;

/// Knowledge about an owner: whether it exists, its own owners, and why more is not known.
type KnownOwner = (Presence, Vec<OwnerReference>, Option<OwnerDoubt>);

/// Returns the knowledge about an owner that exists.
fn existing(terminating: bool, owners: &[OwnerReference]) -> KnownOwner {
    match terminating {
        true => (Presence::Unknown, owners.to_vec(), Some(OwnerDoubt::Terminating)),
        false => (Presence::Present, owners.to_vec(), None),
    }
}

/// Returns the states of the owners of an object in this namespace, and asks for those that are unknown. The owners of
/// `set` do not matter: it is what is deleted.
pub(super) fn owner_states(
    cx: &Cx,
    namespace: &Text,
    set: Option<&Uid>,
    references: &[OwnerReference],
) -> Vec<OwnerState> {
    let mut walk = OwnerWalk { cx, namespace, set, path: Vec::new(), left: OWNERS };
    references.iter().map(|it| walk.owner(it)).collect()
}

/// A walk from an object to its owners, and on to theirs.
struct OwnerWalk<'w, 'a> {
    cx: &'w Cx<'a>,
    namespace: &'w Text,
    set: Option<&'w Uid>,
    /// The owners on the way to the current one.
    path: Vec<Uid>,
    left: usize,
}

impl OwnerWalk<'_, '_> {
    fn owner(&mut self, reference: &OwnerReference) -> OwnerState {
        let state = |presence| OwnerState::new(reference.clone(), presence);
        let Some(uid) = &reference.uid else { return state(Presence::Absent) };
        // Objects that own each other keep each other.
        if self.set == Some(uid) || self.path.contains(uid) {
            return state(Presence::Present);
        }
        if self.left == 0 || self.path.len() == DEPTH {
            return OwnerState { doubt: Some(OwnerDoubt::TooMany), ..state(Presence::Unknown) };
        }
        self.left -= 1;
        let known = self.listed(reference, uid);
        let (presence, owners, doubt) = known.unwrap_or_else(|| self.asked(reference, uid));
        self.path.push(uid.clone());
        let owners = owners.iter().map(|it| self.owner(it)).collect();
        self.path.pop();
        OwnerState { owners, doubt, ..state(presence) }
    }

    /// Returns what the lists show of an owner. Of a pod they show the managing controller only. That suffices if it
    /// has one: an owner that remains keeps the pod, whichever others it has, and with one that is deleted the pod
    /// counts as deleted.
    fn listed(&self, reference: &OwnerReference, uid: &Uid) -> Option<KnownOwner> {
        let (cx, name) = (self.cx, &reference.name);
        let (found, terminating, owners) = match (&*reference.api_version, &*reference.kind) {
            ("apps/v1", "StatefulSet") => {
                let metadata = &cx.set(self.namespace, name).ok()??.metadata;
                (metadata.uid.as_ref()?, metadata.deleting.is_some(), metadata.owners.to_vec())
            }
            ("v1", "PersistentVolumeClaim") => {
                let key = ClaimKey { namespace: Text::clone(self.namespace), name: name.clone() };
                let metadata = &cx.claim(&key).ok()??.metadata;
                (metadata.uid.as_ref()?, metadata.deleting.is_some(), metadata.owners.to_vec())
            }
            ("v1", "Pod") => {
                let pod = cx.pod(self.namespace, name).ok()??;
                let controller = pod.controller.as_deref().cloned();
                (pod.uid.as_ref()?, pod.deleting.is_some(), vec![controller?])
            }
            _ => return None,
        };
        Some(match found == uid {
            true => existing(terminating, &owners),
            false => (Presence::Absent, Vec::new(), None),
        })
    }

    /// Returns what an answer shows of an owner of any kind.
    fn asked(&self, reference: &OwnerReference, uid: &Uid) -> KnownOwner {
        let key = OwnerKey {
            api_version: Text::clone(&reference.api_version),
            kind: Text::clone(&reference.kind),
            namespace: Text::clone(self.namespace),
            name: reference.name.clone(),
        };
        let doubt = match self.cx.answer(Question::OwnersOf(key)) {
            Ok(Answer::No) => return (Presence::Absent, Vec::new(), None),
            Ok(Answer::Owner(found)) if found.uid != *uid => {
                return (Presence::Absent, Vec::new(), None);
            }
            // Nothing in a namespace can own it (`isDangling`).
            Ok(Answer::Owner(found)) if found.cluster_wide => {
                return existing(found.terminating, &[]);
            }
            Ok(Answer::Owner(found)) => return existing(found.terminating, &found.owners),
            Ok(Answer::Forbidden) => OwnerDoubt::Forbidden,
            Ok(Answer::NotServed { .. }) => OwnerDoubt::NotServed,
            Ok(
                Answer::Yes
                | Answer::Is(_)
                | Answer::Users(_)
                | Answer::Announcements(_)
                | Answer::Unanswered(_),
            )
            | Err(_) => OwnerDoubt::NotRead,
        };
        // An earlier answer may prove that it does not exist.
        match presence(self.cx, self.namespace, reference) {
            Presence::Absent => (Presence::Absent, Vec::new(), None),
            known @ (Presence::Present | Presence::Unknown) => (known, Vec::new(), Some(doubt)),
        }
    }
}

/// A claim that the set owns, or an object that is deleted with the set.
#[derive(Debug, Clone)]
pub struct DependentClaim<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// The fate of the claim.
    pub fate: DependentFate,
    /// Whether every pod that uses the claim has it as an ephemeral volume, so that its data ends with its pod by
    /// design.
    pub ephemeral: bool,
}

impl DependentClaim<'_> {
    /// Returns the reason for the claim's fate, in words that begin a sentence.
    pub fn reason(&self) -> String {
        match (&self.fate, self.ephemeral) {
            (DependentFate::Kept(reason), _) => reason.to_string(),
            (DependentFate::Deleted, true) => {
                "it is an ephemeral volume and is deleted with its pod, by design".to_owned()
            }
            (DependentFate::Deleted, false) => {
                "the set owns it, or an object that is deleted with the set".to_owned()
            }
            (DependentFate::Unknown(why), _) => why.clone(),
        }
    }
}

/// Fate of an object when one of its owners is deleted. The garbage collector deletes what has owners, but none that
/// remains: of several fates of owners the greatest counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum DependentFate {
    /// The object is deleted.
    Deleted,
    /// The object may be deleted: this is unknown.
    Unknown(String),
    /// The object is kept, for this reason.
    Kept(OutcomeReason),
}

/// The set that is deleted, and the fates of claims and pods by their uid.
struct DeletedOwners<'a> {
    set: &'a Uid,
    /// Whether the dependents of the set are orphaned.
    orphans: bool,
    by_uid: HashMap<&'a Uid, DependentFate>,
}

/// Returns the claims of the set's namespace that are deleted with it, or that only another owner
/// or `--cascade=orphan` keeps, besides those that were predicted; in the order of their names.
/// Owners are followed to their own owners, of whatever kind they are.
///
/// # Errors
/// When claims or pods of the namespace were not read, or the uid of the set is unknown.
pub fn dependent_claims<'a>(
    cx: &Cx<'a>,
    set: &StatefulSet,
    propagation: Propagation,
    predicted: &[Prediction],
) -> Seen<Vec<DependentClaim<'a>>> {
    let (cluster, namespace) = (cx.cluster(), &set.namespace);
    for kind in [Kind::PersistentVolumeClaim, Kind::Pod] {
        cluster.reach(kind, Some(namespace))?;
    }
    let Some(uid) = &set.metadata.uid else {
        return Err(Unseen {
            kind: Kind::StatefulSet,
            namespace: Some(namespace.clone()),
            reason: format!("the uid of {} is unknown", set.object()),
        });
    };
    let orphans = propagation == Propagation::Orphan;
    let by_uid = HashMap::from([(uid, DependentFate::Deleted)]);
    let mut deleted = DeletedOwners { set: uid, orphans, by_uid };
    if !orphans {
        for pod in cluster.pods().map(|(_, pod)| pod).filter(|it| it.namespace == *namespace) {
            if let Some(uid) = &pod.uid
                && is_pod_of(set, pod)
            {
                let fate = match pod.controller {
                    Some(_) => DependentFate::Deleted,
                    // It is adopted only if the set lives long enough.
                    None => DependentFate::Unknown(format!(
                        "the set may adopt its owner Pod {} before",
                        pod.name
                    )),
                };
                deleted.by_uid.insert(uid, fate);
            }
        }
    }
    let outcomes: HashMap<&str, &Prediction> =
        predicted.iter().map(|it| (&*it.claim, it)).collect();
    let mut claims: Vec<&Claim> = Vec::new();
    for claim in cluster.claims().map(|(_, it)| it).filter(|it| it.namespace == *namespace) {
        let Some(prediction) = outcomes.get(&*claim.metadata.name) else {
            claims.push(claim);
            continue;
        };
        let fate = match &prediction.outcome {
            ClaimOutcome::Kept | ClaimOutcome::Reowned(_) => DependentFate::Kept(prediction.reason),
            ClaimOutcome::Deleted { .. } => DependentFate::Deleted,
            ClaimOutcome::Unknown(why) => DependentFate::Unknown(why.clone()),
        };
        deleted.by_uid.extend(claim.metadata.uid.as_ref().map(|uid| (uid, fate)));
    }
    claims.sort_by_key(|it| &it.metadata.name);
    let mut dependents = Vec::new();
    for claim in claims {
        let owners = owner_states(cx, namespace, Some(uid), &claim.metadata.owners);
        let Some(fate) = deleted.fate_of_claim(claim, &owners) else { continue };
        let users = pod_users(cx, claim)?;
        let ephemeral = !users.is_empty() && users.iter().all(|it| it.usage == PodUsage::Ephemeral);
        dependents.push(DependentClaim { claim, fate, ephemeral });
    }
    Ok(dependents)
}

/// Whether the set owns a pod, or may adopt it.
fn is_pod_of(set: &StatefulSet, pod: &PodUse) -> bool {
    let is_named_after =
        split_ordinal(&pod.name).is_some_and(|(stem, _)| *stem == *set.metadata.name);
    is_member(set, pod) && (pod.controller.is_some() || is_named_after)
}

impl DeletedOwners<'_> {
    /// Returns the fate of a claim; `None` where the deletion of the set does not concern it.
    fn fate_of_claim(&self, claim: &Claim, owners: &[OwnerState]) -> Option<DependentFate> {
        if !owners.iter().any(|it| self.concerns(it)) {
            return None;
        }
        if claim.metadata.deleting.is_some() {
            return Some(DependentFate::Deleted);
        }
        // Without a reference that is left, the garbage collector does not look at it.
        if owners.iter().all(|it| self.is_orphaned(it)) {
            return Some(DependentFate::Kept(OutcomeReason::Orphaned));
        }
        Some(self.fate_with(owners))
    }

    /// Whether an owner is deleted with the set, or may be, or one of its owners.
    fn concerns(&self, owner: &OwnerState) -> bool {
        let fate = owner.reference.uid.as_ref().and_then(|uid| self.by_uid.get(uid));
        let hidden = owner.doubt.is_some_and(|it| it != OwnerDoubt::Terminating);
        match fate {
            Some(DependentFate::Kept(_)) => false,
            Some(DependentFate::Deleted | DependentFate::Unknown(_)) => true,
            None => hidden || owner.owners.iter().any(|it| self.concerns(it)),
        }
    }

    /// Whether the reference to an owner is removed before the owner is deleted.
    fn is_orphaned(&self, owner: &OwnerState) -> bool {
        self.orphans && owner.reference.uid.as_ref() == Some(self.set)
    }

    /// Returns the fate of an object that has these owners.
    fn fate_with(&self, owners: &[OwnerState]) -> DependentFate {
        let left = owners.iter().filter(|it| !self.is_orphaned(it));
        let fates = left.map(|it| self.fate_of(it));
        fates.max().unwrap_or(DependentFate::Kept(OutcomeReason::Orphaned))
    }

    /// Returns the fate of an object as far as this one of its owners decides it.
    fn fate_of(&self, owner: &OwnerState) -> DependentFate {
        let Some(uid) = &owner.reference.uid else { return DependentFate::Deleted };
        match self.by_uid.get(uid) {
            Some(DependentFate::Kept(_)) => return REMAINS,
            Some(fate) => return fate.clone(),
            None => {}
        }
        let own = match &owner.owners[..] {
            [] => REMAINS,
            owners => self.fate_with(owners),
        };
        match (owner.presence, own) {
            (Presence::Absent, _) | (_, DependentFate::Deleted) => DependentFate::Deleted,
            (Presence::Present | Presence::Unknown, own) => match (owner.doubt, own) {
                (Some(doubt), _) => DependentFate::Unknown(doubt.describe(&owner.reference)),
                (None, DependentFate::Kept(_)) => REMAINS,
                (None, unknown) => unknown,
            },
        }
    }
}

/// Fate of an object one of whose owners is not deleted.
const REMAINS: DependentFate = DependentFate::Kept(OutcomeReason::HeldByOwner);
