//! Plans: ordered proposals and refusals that can be shown, saved and confirmed.
//!
//! Proposals are made by [`Purpose::propose`], which is called again for every change before the
//! write: only the identical proposal is carried out.

mod adopt;
mod delete;
mod retention;
mod fix_finalizers;
mod gc;
mod orphan;
mod purpose;
mod rebind;
pub(crate) mod teardown;
mod undo;

use std::collections::BTreeSet;

use crate::cluster::{Cx, Gap, Reach, Seen, Subject};
use crate::facts::{
    BlockingFinalizer, finalizers_of_attachment, finalizers_of_claim, finalizers_of_volume,
};
use crate::model::{
    Action, Age, AttachmentSource, BackendKey, Bytes, Kind, Loss, ObjectRef, Proposal, Refusal,
    RuleId, Settings, Text, Time, Undo, Volume, VolumeColumns,
};
use crate::remedies::KEPT_AT_ONCE;
use crate::rules;

pub(crate) use adopt::{AdoptRequest, adopt};
pub(crate) use delete::{ClaimSelection, delete, delete_with_claims};
pub(crate) use fix_finalizers::{
    FINDINGS as FINALIZER_FINDINGS, FinalizerSelection, fix_finalizers,
};
pub(crate) use gc::{GcSelection, RESCUED, WhenReclaimed, gc, rescue, retain};
pub(crate) use orphan::{OrphanSource, orphan};
pub(crate) use purpose::Purpose;
pub(crate) use rebind::{RebindRequest, SavedVolume, rebind};
pub(crate) use retention::{
    COMMAND as RETENTION_RECONCILE, disown, expand, retention_reconcile, set_retention,
};
pub(crate) use undo::{undo, undoable};

/// Plan of a command: proposed changes, and refusals with their reasons.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Command for which the plan was made, such as `gc`.
    pub command: &'static str,
    /// Settings with which the plan was made. Their scope has selected the objects, and is not used again.
    pub settings: Settings,
    /// Uid of the cluster's namespace `kube-system`.
    pub cluster: Option<Box<str>>,
    /// Time at which the plan was made, by the API server's clock.
    pub made: Option<Time>,
    /// What had not been read by then.
    pub unread: BTreeSet<Reach>,
    /// Changes, in the order in which they are made.
    pub changes: Vec<ProposedChange>,
    /// Selected objects that are not changed.
    pub refusals: Vec<RefusedObject>,
}

/// Proposed change of one object.
#[derive(Debug, Clone, PartialEq)]
pub struct ProposedChange {
    /// Purpose of the change.
    pub purpose: Purpose,
    /// Object that is changed.
    pub object: ObjectRef,
    /// Age of the object, its volume and its backend volume.
    pub about: ObjectDetails,
    /// Steps, with their effect, their risk and their undo.
    pub proposal: Proposal,
}

/// Effect of a change on data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataFate {
    /// The data is destroyed.
    Destroyed,
    /// The data may be destroyed.
    AtRisk,
    /// The data is kept.
    Kept,
}

impl DataFate {
    /// Returns the name of the fate in plans.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Destroyed => "destroyed",
            Self::AtRisk => "at-risk",
            Self::Kept => "kept",
        }
    }
}

impl ProposedChange {
    /// Whether the change destroys a backend volume, the data of a claim, or a snapshot.
    pub fn destroys(&self) -> bool {
        let reclaims = |it: &Action| matches!(it, Action::ReclaimBackend { .. });
        self.purpose.destroys()
            || self.proposal.loses.count() > 0
            || self.proposal.steps.iter().any(reclaims)
            || self.proposal.relies_on.contains(&"--destroy-data")
    }

    /// Returns the effect on data; `None` where that depends on what a removed finalizer blocked, on later use of a
    /// policy that is restored, or on a deletion that has begun and is stopped.
    pub fn data_fate(&self) -> Option<DataFate> {
        let loses = self.loses();
        if loses.count() > 0 {
            return Some(if loses.is_certain { DataFate::Destroyed } else { DataFate::AtRisk });
        }
        let Proposal { relies_on, steps, .. } = &self.proposal;
        let is_doubtful =
            |it: &Action| matches!(it, Action::SetReclaimPolicy { doubts_backend: true, .. });
        if steps.iter().any(is_doubtful) {
            return None;
        }
        let keeps = self.gives_up_data()
            || self.purpose.keeps_data()
            || self.only_removes_owners()
            || steps.iter().any(|it| match it {
                Action::DeleteClaim { released, .. } => released.is_some() && !self.destroys(),
                Action::SetReclaimPolicy { .. } => relies_on.contains(&"--keep-data"),
                _ => false,
            });
        keeps.then_some(DataFate::Kept)
    }

    /// Returns how much the change destroys, or may: its own volume, or what is deleted with its object.
    pub fn loses(&self) -> Loss {
        let with_object = matches!(self.object.key.kind, Kind::StatefulSet | Kind::Namespace);
        if with_object || !self.destroys() || self.gives_up_data() {
            return self.proposal.loses;
        }
        Loss { volumes: 1, snapshots: 0, bytes: self.capacity().unwrap_or(0), is_certain: true }
    }

    /// Whether the driver keeps the data of a volume that it gives up.
    fn gives_up_data(&self) -> bool {
        self.destroys() && self.proposal.undo == Undo::Never(KEPT_AT_ONCE)
    }

    /// Whether the change removes something because of its age, so that a plan must not be wrong about the time.
    pub fn rests_on_age(&self) -> bool {
        self.destroys()
            || self.purpose == Purpose::KeepBackend
            || self.proposal.relies_on.contains(&"--delete-leftovers")
    }

    /// Whether no other change reads what this one writes, and no driver acts on it: then the next change need not wait
    /// until its effect has settled. Only the garbage collector and the controller of the owner act on the owner
    /// references of a claim.
    pub fn settles_apart(&self) -> bool {
        let of_owners = |it: &Action| {
            matches!(it, Action::RemoveOwnerReferences { .. } | Action::AddOwnerReference { .. })
        };
        !self.proposal.steps.is_empty() && self.proposal.steps.iter().all(of_owners)
    }

    /// Whether the change only records something about its object, which stays as it is.
    pub fn only_records(&self) -> bool {
        self.purpose == Purpose::RecordVeto
    }

    /// Returns the capacity of the volume that is changed.
    pub fn capacity(&self) -> Option<Bytes> {
        self.about.volume.as_ref().filter(|_| !self.only_records())?.capacity
    }

    /// Whether the change is one patch that only removes owner references, which the API server carries out as a whole
    /// or not at all.
    pub fn only_removes_owners(&self) -> bool {
        matches!(&*self.proposal.steps, [Action::RemoveOwnerReferences { .. }])
    }
}

/// Details that identify an object, for tables and for the journal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectDetails {
    /// Age of the object in its state: Terminating, or its phase. Findings about it have the same age.
    pub age: Option<Age>,
    /// Whether deletion of the object was requested.
    pub terminating: bool,
    /// Columns of the object's volume in tables.
    pub volume: Option<VolumeColumns>,
    /// Backend volume of the object.
    pub backend: Option<BackendKey>,
    /// Finalizers of the object with their controllers, where the change concerns finalizers.
    pub held: Vec<BlockingFinalizer>,
}

/// Selected object that is not changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedObject {
    /// Object that was selected.
    pub object: ObjectRef,
    /// Purpose that was refused.
    pub because: &'static str,
    /// Reason of the refusal.
    pub reason: String,
    /// Whether the decision rests on an object that was not read.
    pub unseen: bool,
    /// Whether the user named the object.
    pub named: bool,
    /// Age of the object, its volume and its backend volume.
    pub about: ObjectDetails,
}

/// Returns the beginning of a refusal of an object that does not exist.
pub(crate) const fn no_such(kind: Kind) -> &'static str {
    match kind {
        Kind::PersistentVolumeClaim => "there is no such claim",
        Kind::StatefulSet => "there is no such StatefulSet",
        Kind::VolumeAttachment => "there is no such attachment",
        _ => "there is no such volume",
    }
}

impl Plan {
    /// Returns a plan without changes.
    pub fn new(command: &'static str, cx: &Cx) -> Self {
        Self {
            command,
            settings: cx.settings().clone(),
            cluster: cx.server().and_then(|server| server.cluster_uid.clone()),
            made: cx.clock(),
            unread: cx.cluster().gaps().map(Gap::reach).collect(),
            changes: Vec::new(),
            refusals: Vec::new(),
        }
    }

    /// Returns the capacity of all volumes that would be changed.
    pub fn bytes(&self) -> Bytes {
        self.changes.iter().filter_map(ProposedChange::capacity).fold(0, Bytes::saturating_add)
    }

    /// Removes the changes of objects for which the user excluded one of these findings.
    pub fn spare(&mut self, cx: &Cx, ids: &[RuleId]) {
        let is_excluded = |object: &ObjectRef| {
            let subject = cx.cluster().subject(&object.key);
            subject.is_some_and(|subject| {
                ids.iter().any(|id| rules::is_left_out(cx.cluster(), cx.settings(), &subject, id))
            })
        };
        self.changes.retain(|it| !is_excluded(&it.object));
    }

    /// Adds a proposed change of a volume, or a refusal.
    fn take(&mut self, cx: &Cx, purpose: Purpose, volume: &Volume, named: bool) {
        let proposed = purpose.propose_for(cx, volume);
        self.add(proposed, purpose, volume.object(), ObjectDetails::of(cx, volume), named);
    }

    /// Adds a proposed change, or a refusal, of an object that need not exist yet.
    fn take_proposed(
        &mut self,
        cx: &Cx,
        purpose: Purpose,
        object: ObjectRef,
        about: ObjectDetails,
        named: bool,
    ) {
        let proposed = purpose.propose(cx, &object);
        self.add(proposed, purpose, object, about, named);
    }

    fn add(
        &mut self,
        proposed: Seen<Result<Proposal, Refusal>>,
        purpose: Purpose,
        object: ObjectRef,
        about: ObjectDetails,
        named: bool,
    ) {
        let because = purpose.id();
        match proposed {
            Ok(Ok(proposal)) => {
                self.changes.push(ProposedChange { purpose, object, about, proposal });
            }
            Ok(Err(refusal)) => {
                let reason = refusal.reason;
                self.refusals.push(RefusedObject {
                    object,
                    because,
                    reason,
                    unseen: false,
                    named,
                    about,
                });
            }
            Err(unseen) => {
                let reason = unseen.reason;
                self.refusals.push(RefusedObject {
                    object,
                    because,
                    reason,
                    unseen: true,
                    named,
                    about,
                });
            }
        }
    }

    /// Adds a change from an earlier plan, if the new proposal passes `check`.
    pub fn take_object(
        &mut self,
        cx: &Cx,
        purpose: Purpose,
        object: &ObjectRef,
        check: impl FnOnce(&ProposedChange) -> Result<(), String>,
    ) {
        let because = purpose.id();
        let mut about = ObjectDetails::of_object(cx, object);
        if matches!(purpose, Purpose::FixFinalizers(_)) {
            about = about.with_holders(cx, object);
        }
        self.take_proposed(cx, purpose, object.clone(), about, true);
        let checked = self.changes.last().filter(|it| it.object == *object).map(check);
        if let Some(Err(reason)) = checked {
            self.changes.pop();
            self.refuse(object.clone(), because, reason, false);
        }
    }

    /// Adds the refusal of an object that does not exist, or cannot be changed.
    pub fn refuse(
        &mut self,
        object: ObjectRef,
        because: &'static str,
        reason: String,
        unseen: bool,
    ) {
        let about = ObjectDetails::default();
        self.refusals.push(RefusedObject { object, because, reason, unseen, named: true, about });
    }

    /// Sorts changes and refusals by their objects.
    fn sorted(mut self) -> Self {
        self.changes.sort_by(|a, b| a.object.cmp(&b.object));
        self.refusals.sort_by(|a, b| a.object.cmp(&b.object));
        self
    }
}

impl ObjectDetails {
    /// Returns the details of an object: for a claim and an attachment, those of their volume.
    pub fn of_object(cx: &Cx, object: &ObjectRef) -> Self {
        let cluster = cx.cluster();
        let (metadata, volume) = match cluster.subject(&object.key) {
            Some(Subject::Volume(id)) => match cluster.volume_at(id) {
                Some(volume) => return Self::of(cx, volume),
                None => return Self::default(),
            },
            Some(Subject::Claim(id)) => {
                let claim = cluster.claim_at(id);
                (claim.map(|it| &it.metadata), claim.and_then(|it| it.volume_name.as_deref()))
            }
            Some(Subject::Attachment(id)) => {
                let attachment = cluster.attachment_at(id);
                let name = attachment.and_then(|it| match &it.source {
                    AttachmentSource::Volume(name) => Some(&**name),
                    AttachmentSource::Inline { .. } | AttachmentSource::None => None,
                });
                (attachment.map(|it| &it.metadata), name)
            }
            _ => return Self::default(),
        };
        let volume = volume.and_then(|name| cluster.volume_named(name));
        Self {
            age: metadata.and_then(|it| it.deleting).map(|time| Age::stamped(Some(time))),
            terminating: metadata.is_some_and(|it| it.deleting.is_some()),
            ..volume.map(|it| Self::of(cx, it)).unwrap_or_default()
        }
    }

    /// Returns the details of a volume that does not exist yet, and has no age.
    pub fn of_created(cx: &Cx, volume: &Volume) -> Self {
        Self { age: None, terminating: false, ..Self::of(cx, volume) }
    }

    /// Returns the details of a volume.
    pub fn of(cx: &Cx, volume: &Volume) -> Self {
        Self {
            age: Some(crate::facts::state_age(cx, volume)),
            terminating: volume.metadata.deleting.is_some(),
            volume: Some(crate::facts::columns(volume)),
            backend: volume.backend.clone(),
            held: Vec::new(),
        }
    }

    /// Adds the finalizers of the object with their controllers.
    fn with_holders(mut self, cx: &Cx, object: &ObjectRef) -> Self {
        let cluster = cx.cluster();
        self.held = match cluster.subject(&object.key) {
            Some(Subject::Volume(id)) => {
                cluster.volume_at(id).map(|it| finalizers_of_volume(cx, it))
            }
            Some(Subject::Claim(id)) => cluster.claim_at(id).map(|it| finalizers_of_claim(cx, it)),
            Some(Subject::Attachment(id)) => {
                cluster.attachment_at(id).map(|it| finalizers_of_attachment(cx, it))
            }
            _ => None,
        }
        .unwrap_or_default();
        self
    }

    /// Returns the driver of the volume: changes of one driver are made one after the other.
    pub fn driver(&self) -> Option<&Text> {
        self.volume.as_ref().and_then(|it| it.driver.as_ref())
    }
}

#[cfg(test)]
mod tests;
