//! Purpose of a change, and the one function that proposes or refuses it, for the object as it was last read.

mod judged;

use crate::cluster::{Cx, Reach, Seen};
use crate::facts;
use crate::model::{
    Action, Bytes, Cascade, Claim, ClaimKey, Kind, ObjectKey, ObjectRef, Proposal, Refusal,
    Retention, StatefulSet, Text, Volume, Workload,
};
use crate::remedies::{
    self, AddedOwner, Adoption, Announcing, ClaimDeletionProgress, Growth, LoweredRequest, Orphan,
    Rebinding, Recreation, Restart, RetentionChange, RetentionPart, RetentionRequest, Reversal,
    delete_with_claims,
    finalizers::{self, FinalizerRequest},
    retention_set, teardown,
};
use judged::{
    aged, announce, fix_finalizers, missing, reclaim, reclaim_announced, refusal, rescued,
    same_object,
};

/// Purpose of a change, by the command that makes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    /// `gc`: reclaim a Released volume.
    Reclaim,
    /// `gc --announce`: announce that a volume will be reclaimed.
    Announce(Announcing),
    /// `gc --announced`: reclaim a volume after that was announced.
    ReclaimAnnounced,
    /// `gc --announce`, `gc --announced`: record that the announcement of a volume was vetoed.
    RecordVeto,
    /// `gc --keep-backend`: delete only the object of a volume.
    KeepBackend,
    /// `gc --destroy-data`: destroy an Available volume.
    Condemn,
    /// `retain`: keep the backend volume of a volume.
    Retain,
    /// `delete pvc`: delete a claim that nothing uses.
    DeleteClaim(ClaimDeletionProgress),
    /// `delete pvc --destroy-data`: reclaim the volume of this claim after the claim is deleted.
    ReclaimReleased(Box<ObjectKey>),
    /// `delete sts`, `delete ns`: delete a set or a namespace with its claims.
    DeleteWithClaims(Cascade),
    /// `disown`: remove references to owners that do not exist.
    Disown,
    /// `teardown`: stop a workload.
    Stop,
    /// `teardown`: delete a pod that no controller creates again.
    EndPod,
    /// `teardown --destroy-snapshots`: delete a snapshot.
    DeleteSnapshot,
    /// `undo`: start a workload again.
    Restart(Box<Restart>),
    /// `expand`: request a larger size for a claim.
    Expand(Growth),
    /// `undo`: lower the request of a claim whose expansion has failed.
    LowerRequest(Box<LoweredRequest>),
    /// `retention reconcile`: have a claim follow the retention policy of its set.
    ReconcileRetention(RetentionChange),
    /// `undo`: remove an owner reference that was added.
    TakeBackOwner(Box<AddedOwner>),
    /// `fix-finalizers`: remove finalizers of absent controllers, or add a missing protection.
    FixFinalizers(Box<FinalizerRequest>),
    /// `undo`, `rebind`, `fix-finalizers`: recreate the object of a kept backend volume.
    Recreate(Box<Recreation>),
    /// `undo`: restore the reclaim policy that a volume had before `retain`.
    Revert(Box<Reversal>),
    /// `destroy-orphan`: have a driver delete a backend volume that no volume references.
    DestroyOrphan(Box<Orphan>),
    /// `adopt`: give a disk that no volume references to a claim.
    Adopt(Box<Adoption>),
    /// `rebind`, `undo`: give a volume back to a claim.
    Rebind(Box<Rebinding>),
    /// `retention set`, `undo`: change the retention policy of a set.
    SetRetention(Box<RetentionRequest>),
    /// `retention set`, `undo`: make one write of such a change, or look at what remains to be written.
    SetRetentionPart(Box<RetentionRequest>, Box<RetentionPart>),
}

impl Purpose {
    /// Returns the purpose of this name; `None` for one that needs more than a saved plan has, such as the journal.
    pub fn parse(id: &str) -> Option<Self> {
        // A saved plan names its objects.
        let request = FinalizerRequest::named();
        let all = [
            Self::Reclaim,
            Self::ReclaimAnnounced,
            Self::RecordVeto,
            Self::KeepBackend,
            Self::Condemn,
            Self::Retain,
            Self::DeleteClaim(ClaimDeletionProgress::default()),
            Self::DeleteWithClaims(Cascade::Background),
            Self::DeleteWithClaims(Cascade::Foreground),
            Self::DeleteWithClaims(Cascade::Orphan),
            Self::Disown,
            Self::Expand(Growth::To(0)),
            Self::FixFinalizers(Box::new(request)),
            Self::Rebind(Box::default()),
            Self::SetRetention(Box::default()),
        ];
        let retention = RetentionChange::ALL.into_iter().map(Self::ReconcileRetention);
        all.into_iter().chain(retention).find(|purpose| purpose.id() == id)
    }

    /// Returns the name of the purpose, which is that of the remedy.
    pub fn id(&self) -> &'static str {
        match self {
            Self::Reclaim | Self::ReclaimReleased(_) => remedies::RECLAIM.id,
            Self::Announce(_) => remedies::ANNOUNCE_ID,
            Self::ReclaimAnnounced => remedies::RECLAIM_ANNOUNCED_ID,
            Self::RecordVeto => remedies::RECORD_VETO_ID,
            Self::KeepBackend => remedies::KEEP_BACKEND.id,
            Self::Condemn => remedies::CONDEMN.id,
            Self::Retain => remedies::RETAIN.id,
            Self::DeleteClaim(_) => remedies::DELETE_CLAIM.id,
            Self::DeleteWithClaims(cascade) => delete_with_claims::id(*cascade),
            Self::Disown => remedies::DISOWN.id,
            Self::Stop => remedies::STOP.id,
            Self::EndPod => teardown::END_POD_ID,
            Self::DeleteSnapshot => teardown::DELETE_SNAPSHOT_ID,
            Self::Restart(_) => teardown::RESTART_ID,
            Self::Expand(_) => remedies::EXPAND.id,
            Self::LowerRequest(_) => remedies::lower_request::ID,
            Self::ReconcileRetention(change) => change.id(),
            Self::TakeBackOwner(_) => remedies::retention::ID,
            Self::FixFinalizers(_) => finalizers::ID,
            Self::Recreate(_) => remedies::recreate::ID,
            Self::Revert(_) => remedies::revert::ID,
            Self::DestroyOrphan(_) => remedies::placeholder::ID,
            Self::Adopt(_) => remedies::adopt::ID,
            Self::Rebind(_) => remedies::REBIND.id,
            Self::SetRetention(_) | Self::SetRetentionPart(..) => retention_set::ID,
        }
    }

    /// Sets the claim to which a saved plan gives a volume.
    #[must_use]
    pub fn given_to(self, claim: Option<ClaimKey>) -> Self {
        match self {
            Self::Rebind(it) => Self::Rebind(Box::new(Rebinding { to: claim, ..*it })),
            other => other,
        }
    }

    /// Sets the policy that a saved plan gives to a set.
    #[must_use]
    pub fn with_policy(
        self,
        when_deleted: Option<Retention>,
        when_scaled: Option<Retention>,
    ) -> Self {
        match self {
            Self::SetRetention(it) => {
                Self::SetRetention(Box::new(RetentionRequest { when_deleted, when_scaled, ..*it }))
            }
            other => other,
        }
    }

    /// Sets the size that a saved plan requests for a claim.
    #[must_use]
    pub fn with_size(self, size: Option<Bytes>) -> Self {
        match (self, size) {
            (Self::Expand(_), Some(size)) => Self::Expand(Growth::To(size)),
            (other, _) => other,
        }
    }

    /// Whether the purpose needs more than a saved plan has: the journal or a file of this machine.
    pub fn rests_on_this_machine(&self) -> bool {
        match self {
            Self::Rebind(it) => it.former.is_some() || it.undoes.is_some(),
            Self::SetRetention(it) => it.undoes.is_some(),
            other => Self::parse(other.id()).is_none(),
        }
    }

    /// Whether the change destroys a backend volume.
    pub const fn destroys(&self) -> bool {
        matches!(
            self,
            Self::Reclaim
                | Self::ReclaimAnnounced
                | Self::Condemn
                | Self::DestroyOrphan(_)
                | Self::ReclaimReleased(_)
        )
    }

    /// Whether data may be lost if something was overlooked: the change destroys a backend volume, deletes a claim, or
    /// lets a deletion go on.
    pub const fn loses_data(&self) -> bool {
        self.destroys()
            || matches!(
                self,
                // A disk that is in use elsewhere is written to from two sides, or formatted.
                Self::Adopt(_)
                    | Self::DeleteClaim(_)
                    | Self::DeleteWithClaims(_)
                    | Self::DeleteSnapshot
                    | Self::ReconcileRetention(RetentionChange::DeleteLeftover(_))
                    | Self::FixFinalizers(_)
            )
    }

    /// Whether the change only makes sure that data is kept.
    pub fn keeps_data(&self) -> bool {
        let is_delete = |it: &Option<Retention>| *it == Some(Retention::Delete);
        match self {
            Self::Retain | Self::KeepBackend | Self::Disown | Self::Rebind(_) => true,
            Self::SetRetention(it) => {
                it.retains() && !is_delete(&it.when_deleted) && !is_delete(&it.when_scaled)
            }
            _ => false,
        }
    }

    /// Whether the backend volume is not kept any more after the change: it is destroyed, or a volume references it
    /// again.
    pub const fn ends_keeping(&self) -> bool {
        self.destroys() || matches!(self, Self::Recreate(_))
    }

    /// Returns the journal entry that the change undoes.
    pub fn undoes(&self) -> Option<u64> {
        match self {
            Self::Recreate(it) => it.undoes,
            Self::Revert(it) => Some(it.undoes),
            Self::TakeBackOwner(it) => Some(it.undoes),
            Self::DestroyOrphan(it) => it.undoes,
            Self::Rebind(it) => it.undoes,
            Self::LowerRequest(it) => Some(it.undoes),
            Self::Restart(it) => Some(it.undoes),
            Self::SetRetention(it) => it.undoes,
            Self::SetRetentionPart(it, part) => {
                it.undoes.filter(|_| **part == RetentionPart::Policy)
            }
            Self::Reclaim
            | Self::Announce(_)
            | Self::ReclaimAnnounced
            | Self::RecordVeto
            | Self::KeepBackend
            | Self::Condemn
            | Self::Adopt(_)
            | Self::Retain
            | Self::DeleteClaim(_)
            | Self::ReclaimReleased(_)
            | Self::DeleteWithClaims(_)
            | Self::Disown
            | Self::Stop
            | Self::EndPod
            | Self::DeleteSnapshot
            | Self::Expand(_)
            | Self::ReconcileRetention(_)
            | Self::FixFinalizers(_) => None,
        }
    }

    /// Returns the object that must exist before the write; `None` where it is created.
    pub const fn subject<'a>(&self, object: &'a ObjectRef) -> Option<&'a ObjectRef> {
        match self {
            Self::Recreate(_) | Self::DestroyOrphan(_) | Self::Adopt(_) => None,
            _ => Some(object),
        }
    }

    /// Whether the objects that the changed one references are read again with it. The volume of a claim does not
    /// matter for its owners, and few users may read volumes.
    pub const fn rests_on_references(&self) -> bool {
        !matches!(self, Self::Disown | Self::ReconcileRetention(RetentionChange::RemoveOwners))
    }

    /// Returns the object that is read again before the changed one, which does not reference it.
    pub fn read_before(&self) -> Option<ObjectKey> {
        match self {
            Self::Rebind(it) => it.to.as_ref().map(ObjectKey::claim),
            _ => None,
        }
    }

    /// Returns the objects that are read again before an object is created: the object, and the claim to which it is
    /// bound.
    pub fn counterparts(&self, object: &ObjectRef) -> Vec<ObjectKey> {
        let mut keys = vec![object.key.clone()];
        let volume = match self {
            Self::Recreate(it) => Some(it.volume()),
            Self::Adopt(it) => Some(it.volume()),
            _ => None,
        };
        if let Some(claim) = volume.and_then(|it| it.claim_ref.as_ref()) {
            keys.push(ObjectKey::claim(&claim.key));
        }
        keys
    }

    /// Returns the lists that are read again right before the write: users that a watch may not have brought yet
    /// (R-PVCP-7, F31, F48).
    pub fn listed_again(&self, object: &ObjectRef) -> Vec<Reach> {
        let within = |kind| Reach { kind, namespace: object.key.namespace.clone() };
        match (self, object.key.kind) {
            // What can use a claim, or is copied from it.
            (Self::DeleteClaim(_), _) => users(object.key.namespace.as_ref()),
            (Self::DeleteWithClaims(_), _) => delete_with_claims::lists(object),
            (Self::ReconcileRetention(RetentionChange::DeleteLeftover(_)), _) => {
                let mut lists = vec![within(Kind::HorizontalPodAutoscaler)];
                lists.extend(users(object.key.namespace.as_ref()));
                lists
            }
            (Self::ReclaimReleased(claim), _) => users(claim.namespace.as_ref()),
            // What ends with it.
            (Self::Stop, _) => [Kind::PersistentVolumeClaim, Kind::Pod].map(within).to_vec(),
            (Self::SetRetention(_) | Self::SetRetentionPart(..), Kind::StatefulSet) => {
                let kinds = [Kind::PersistentVolumeClaim, Kind::HorizontalPodAutoscaler, Kind::Pod];
                kinds.map(within).to_vec()
            }
            (Self::FixFinalizers(_), Kind::PersistentVolumeClaim) => {
                vec![
                    within(Kind::Pod),
                    within(Kind::PersistentVolumeClaim),
                    within(Kind::VolumeSnapshot),
                ]
            }
            (
                Self::FixFinalizers(_) | Self::DestroyOrphan(_) | Self::Adopt(_),
                Kind::PersistentVolume,
            ) => {
                vec![Reach::all(Kind::VolumeAttachment)]
            }
            _ => Vec::new(),
        }
    }

    /// Returns the objects that are read again because the decision rests on them, although the changed one does not
    /// reference them: the sets whose claim it may be, and their pods; the volumes of the claims that are deleted with
    /// it.
    ///
    /// # Errors
    /// When that is unknown, because sets, claims or volumes were not read.
    pub fn rests_on(&self, cx: &Cx, object: &ObjectRef) -> Seen<Vec<ObjectKey>> {
        match (self, object.key.as_claim()) {
            (Self::ReconcileRetention(_) | Self::SetRetentionPart(..), Some(claim)) => {
                remedies::sets_and_pods(cx, &claim)
            }
            (Self::DeleteWithClaims(cascade), _) => {
                delete_with_claims::volumes(cx, object, *cascade)
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Returns the purpose of the rest of a change of which these steps were carried out.
    pub fn after(&self, done: &[Action]) -> Self {
        match self {
            Self::DeleteClaim(progress) => Self::DeleteClaim(progress.after(done)),
            Self::ReconcileRetention(change) => Self::ReconcileRetention(change.after(done)),
            _ => self.clone(),
        }
    }

    /// Whether an existing object of that name is the one that would be created: an earlier run has
    /// created it, or another client a claim of that name, for which the volume is reserved.
    pub const fn resumes(&self) -> bool {
        matches!(self, Self::DestroyOrphan(_) | Self::Rebind(_))
    }

    /// Proposes or refuses the change of an object as it was last read.
    ///
    /// # Errors
    /// When an object was not read on which the decision rests.
    pub fn propose(&self, cx: &Cx, object: &ObjectRef) -> Seen<Result<Proposal, Refusal>> {
        let ObjectKey { kind, namespace, name } = &object.key;
        cx.cluster().legible(*kind, namespace.as_deref().unwrap_or_default(), name)?;
        match self {
            Self::Recreate(it) => return remedies::recreate::propose(cx, it),
            Self::DestroyOrphan(it) => return remedies::placeholder::propose(cx, it),
            Self::Adopt(it) => return remedies::adopt::propose(cx, it),
            Self::FixFinalizers(request) if object.key.kind != Kind::PersistentVolume => {
                return fix_finalizers(cx, object, request);
            }
            Self::DeleteClaim(progress) => {
                let delete = |cx: &Cx, claim: &Claim| remedies::delete_claim(cx, claim, *progress);
                return of_claim(cx, object, delete);
            }
            Self::DeleteWithClaims(cascade) => {
                return delete_with_claims::propose(cx, object, *cascade);
            }
            Self::Stop => {
                return of_workload(cx, object, |it| (remedies::STOP.propose)(cx, it));
            }
            Self::Restart(it) => {
                return of_workload(cx, object, |found| teardown::restart(cx, found, it));
            }
            Self::EndPod => {
                let found = cx.cluster().pod_named(&object.key);
                return match same_object(object, found, |it| it.uid.as_ref()) {
                    Ok(pod) => teardown::end_pod(cx, pod),
                    Err(refusal) => Ok(Err(refusal)),
                };
            }
            Self::DeleteSnapshot => {
                let namespace = object.key.namespace.clone().unwrap_or_default();
                let found = cx.volume_snapshot(&namespace, &object.key.name)?;
                return match same_object(object, found, |it| it.metadata.uid.as_ref()) {
                    Ok(snapshot) => teardown::delete_snapshot(cx, snapshot),
                    Err(refusal) => Ok(Err(refusal)),
                };
            }
            Self::Disown => return of_claim(cx, object, remedies::DISOWN.propose),
            Self::Expand(growth) => {
                let expand = remedies::expand::propose;
                return of_claim(cx, object, |cx, claim| expand(cx, claim, *growth));
            }
            Self::LowerRequest(lowered) => {
                let lower = remedies::lower_request::propose;
                return of_claim(cx, object, |cx, claim| lower(cx, claim, lowered));
            }
            Self::SetRetention(request) => {
                return of_set(cx, object, |set| retention_set::propose(cx, set, request));
            }
            Self::SetRetentionPart(_, part) if object.key.kind == Kind::PersistentVolumeClaim => {
                let release =
                    |cx: &Cx, claim: &Claim| retention_set::propose_for_claim(cx, claim, part);
                return of_claim(cx, object, release);
            }
            Self::SetRetentionPart(request, part) => {
                return of_set(cx, object, |set| {
                    retention_set::propose_part(cx, set, request, part)
                });
            }
            Self::ReconcileRetention(change) => {
                return of_claim(cx, object, |cx, claim| change.propose(cx, claim));
            }
            Self::TakeBackOwner(added) => {
                let take_back = remedies::retention::propose;
                return of_claim(cx, object, |cx, claim| take_back(cx, claim, added));
            }
            _ => {}
        }
        let found = cx.volume(&object.key.name)?;
        Ok(match same_object(object, found, |it| it.metadata.uid.as_ref()) {
            Ok(volume) => self.propose_for(cx, volume)?,
            Err(refusal) => Err(refusal),
        })
    }

    /// Proposes or refuses the change of a volume.
    pub(super) fn propose_for(&self, cx: &Cx, volume: &Volume) -> Seen<Result<Proposal, Refusal>> {
        match self {
            Self::Reclaim => reclaim(cx, volume),
            Self::Announce(announcing) => announce(cx, volume, announcing),
            Self::ReclaimAnnounced => reclaim_announced(cx, volume),
            Self::RecordVeto => remedies::record_veto(cx, volume),
            Self::KeepBackend => aged(cx, volume, (remedies::KEEP_BACKEND.propose)(cx, volume)),
            Self::Condemn => (remedies::CONDEMN.propose)(cx, volume),
            Self::Retain => Ok(rescued(cx, volume, (remedies::RETAIN.propose)(cx, volume)?)),
            Self::DeleteWithClaims(_) => Ok(Err(refusal("it has no claims"))),
            Self::SetRetention(_) | Self::SetRetentionPart(..) => {
                Ok(Err(refusal("it is no StatefulSet")))
            }
            Self::Stop | Self::EndPod | Self::DeleteSnapshot | Self::Restart(_) => {
                Ok(Err(refusal("it is a volume")))
            }
            Self::DeleteClaim(_)
            | Self::Disown
            | Self::Expand(_)
            | Self::LowerRequest(_)
            | Self::ReconcileRetention(_)
            | Self::TakeBackOwner(_) => Ok(Err(refusal("it is no claim"))),
            Self::ReclaimReleased(_) => remedies::reclaim_released(cx, volume),
            Self::Revert(it) => remedies::revert::propose(cx, volume, it),
            Self::FixFinalizers(request) => finalizers::volume(cx, volume, request),
            Self::Recreate(it) => remedies::recreate::propose(cx, it),
            Self::DestroyOrphan(it) => remedies::placeholder::propose(cx, it),
            Self::Adopt(it) => remedies::adopt::propose(cx, it),
            Self::Rebind(it) => remedies::rebind::propose(cx, volume, it),
        }
    }
}

/// Returns the kinds that can use claims of a namespace, or are copied from them.
fn users(namespace: Option<&Text>) -> Vec<Reach> {
    let within = |kind| Reach { kind, namespace: namespace.cloned() };
    let copies = [Kind::PersistentVolumeClaim, Kind::VolumeSnapshot];
    // Pods last: controllers create them, and they begin to use a claim at once.
    copies.into_iter().chain(Kind::WORKLOADS).chain([Kind::Pod]).map(within).collect()
}

/// Proposes or refuses a change of a claim.
fn of_claim(
    cx: &Cx,
    object: &ObjectRef,
    propose: impl Fn(&Cx, &Claim) -> Seen<Result<Proposal, Refusal>>,
) -> Seen<Result<Proposal, Refusal>> {
    let Some(key) = object.key.as_claim() else { return Ok(Err(missing())) };
    match same_object(object, cx.claim(&key)?, |it| it.metadata.uid.as_ref()) {
        Ok(claim) => propose(cx, claim),
        Err(refusal) => Ok(Err(refusal)),
    }
}

/// Proposes or refuses a change of a set.
fn of_set(
    cx: &Cx,
    object: &ObjectRef,
    propose: impl Fn(&StatefulSet) -> Seen<Result<Proposal, Refusal>>,
) -> Seen<Result<Proposal, Refusal>> {
    let Some(namespace) = &object.key.namespace else { return Ok(Err(missing())) };
    match same_object(object, cx.set(namespace, &object.key.name)?, |it| it.metadata.uid.as_ref()) {
        Ok(set) => propose(set),
        Err(refusal) => Ok(Err(refusal)),
    }
}

/// Proposes or refuses a change of a workload.
fn of_workload(
    cx: &Cx,
    object: &ObjectRef,
    propose: impl Fn(&Workload) -> Seen<Result<Proposal, Refusal>>,
) -> Seen<Result<Proposal, Refusal>> {
    let found = facts::workload_named(cx, &object.key);
    match same_object(object, found.as_deref(), |it| it.uid.as_ref()) {
        Ok(workload) => propose(workload),
        Err(refusal) => Ok(Err(refusal)),
    }
}
