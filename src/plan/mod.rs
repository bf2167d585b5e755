//! Proposals selected, ordered and bounded, as a value that can be shown, saved and confirmed.
//!
//! A plan is made by [`Purpose::propose`], which whoever carries it out asks again for every change
//! at the moment of writing: only the identical proposal is carried out.

mod fix_finalizers;
mod gc;
mod orphan;
mod purpose;
mod retain;
mod undo;

use std::collections::BTreeSet;

use crate::cluster::{Cx, Seen, Subject};
use crate::facts::{
    BlockingFinalizer, finalizers_of_attachment, finalizers_of_claim, finalizers_of_volume,
};
use crate::model::{
    Action, Age, AttachmentSource, BackendKey, Bytes, ObjectRef, Proposal, Refusal, Settings, Text,
    Time, Volume, VolumeColumns,
};

pub use fix_finalizers::{Hanging, fix_finalizers};
pub use gc::{Selection, gc};
pub use orphan::{Which, orphan};
pub use purpose::Purpose;
pub use retain::retain;
pub use undo::{Undoable, undo, undoable};

/// What would be changed, and what would not, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The command that it was made for, such as `gc`.
    pub command: &'static str,
    /// What it was judged under. Its scope selected the objects and means nothing any more.
    pub settings: Settings,
    /// The uid of the cluster's namespace `kube-system`.
    pub cluster: Option<Box<str>>,
    /// When, by the server's clock.
    pub made: Option<Time>,
    /// What would be changed, in this order.
    pub changes: Vec<Change>,
    /// What would not be, although it was named or selected.
    pub refusals: Vec<Refused>,
}

/// What would be done to one object.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// What for.
    pub purpose: Purpose,
    /// The object.
    pub object: ObjectRef,
    /// What tells it apart from others.
    pub about: About,
    /// Every step, with its effect, what it costs if the judgement is wrong, and its undo.
    pub proposal: Proposal,
}

impl Change {
    /// Whether a backend volume, or the data of a claim, is destroyed.
    pub fn destroys(&self) -> bool {
        let reclaims = |it: &Action| matches!(it, Action::ReclaimBackend { .. });
        self.purpose.destroys()
            || self.proposal.steps.iter().any(reclaims)
            || self.proposal.relies_on.contains(&"--destroy-data")
    }
}

/// What tells a volume apart from others, for people and for the journal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct About {
    /// Since when it has been in its phase.
    pub age: Option<Age>,
    /// What tables show of it.
    pub volume: Option<VolumeColumns>,
    /// What it names at the storage backend.
    pub backend: Option<BackendKey>,
    /// Who holds it by a finalizer, where that is what a change is about.
    pub held: Vec<BlockingFinalizer>,
}

/// An object of which nothing is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The object.
    pub object: ObjectRef,
    /// What would have been done, by the remedy's name.
    pub because: &'static str,
    /// Why it is not.
    pub reason: String,
    /// Whether something was not seen that the decision needs.
    pub unseen: bool,
    /// Whether it was named on the command line.
    pub named: bool,
    /// What tells it apart from others.
    pub about: About,
}

impl Plan {
    /// Begins a plan without changes.
    pub fn new(command: &'static str, cx: &Cx) -> Self {
        Self {
            command,
            settings: cx.settings().clone(),
            cluster: cx.server().and_then(|server| server.cluster_uid.clone()),
            made: cx.clock(),
            changes: Vec::new(),
            refusals: Vec::new(),
        }
    }

    /// The capacity of all volumes that would be changed.
    pub fn bytes(&self) -> Bytes {
        let capacity = |change: &Change| change.about.volume.as_ref().and_then(|it| it.capacity);
        self.changes.iter().filter_map(capacity).fold(0, Bytes::saturating_add)
    }

    /// The danger flags on which any change relies, in the order of their names.
    pub fn relies_on(&self) -> BTreeSet<&'static str> {
        self.changes.iter().flat_map(|change| &change.proposal.relies_on).copied().collect()
    }

    /// Takes up a change or a refusal.
    fn take(&mut self, cx: &Cx, purpose: Purpose, volume: &Volume, named: bool) {
        let proposed = purpose.propose_for(cx, volume);
        self.sort_in(proposed, purpose, volume.object(), About::of(cx, volume), named);
    }

    /// Takes up a change, or a refusal, of an object that need not be there yet.
    fn take_proposed(
        &mut self,
        cx: &Cx,
        purpose: Purpose,
        object: ObjectRef,
        about: About,
        named: bool,
    ) {
        let proposed = purpose.propose(cx, &object);
        self.sort_in(proposed, purpose, object, about, named);
    }

    fn sort_in(
        &mut self,
        proposed: Seen<Result<Proposal, Refusal>>,
        purpose: Purpose,
        object: ObjectRef,
        about: About,
        named: bool,
    ) {
        let because = purpose.id();
        match proposed {
            Ok(Ok(proposal)) => self.changes.push(Change { purpose, object, about, proposal }),
            Ok(Err(refusal)) => {
                let reason = refusal.reason;
                self.refusals.push(Refused {
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
                self.refusals.push(Refused { object, because, reason, unseen: true, named, about });
            }
        }
    }

    /// Takes up an object that was named in an earlier plan, if what is proposed now passes `check`.
    pub fn take_object(
        &mut self,
        cx: &Cx,
        purpose: Purpose,
        object: &ObjectRef,
        check: impl FnOnce(&Change) -> Result<(), String>,
    ) {
        let because = purpose.id();
        let mut about = About::of_object(cx, object);
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

    /// Takes up an object that is not there, or about which nothing can be done.
    pub fn refuse(
        &mut self,
        object: ObjectRef,
        because: &'static str,
        reason: String,
        unseen: bool,
    ) {
        let about = About::default();
        self.refusals.push(Refused { object, because, reason, unseen, named: true, about });
    }

    /// Puts everything into the order in which it is shown and done.
    fn sorted(mut self) -> Self {
        self.changes.sort_by(|a, b| a.object.cmp(&b.object));
        self.refusals.sort_by(|a, b| a.object.cmp(&b.object));
        self
    }
}

impl About {
    /// Returns what tells an object apart: a claim and an attachment by their volume.
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
            ..volume.map(|it| Self::of(cx, it)).unwrap_or_default()
        }
    }

    /// Returns what tells a volume apart that is not there yet, and has no age.
    pub fn of_created(cx: &Cx, volume: &Volume) -> Self {
        Self { age: None, ..Self::of(cx, volume) }
    }

    /// Returns what tells a volume apart.
    pub fn of(cx: &Cx, volume: &Volume) -> Self {
        Self {
            age: Some(crate::facts::phase_age(cx, volume)),
            volume: Some(crate::facts::columns(volume)),
            backend: volume.backend.clone(),
            held: Vec::new(),
        }
    }

    /// Adds who holds it.
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

    /// Whoever works at the backend: changes of one driver are made one after the other.
    pub fn driver(&self) -> Option<&Text> {
        self.volume.as_ref().and_then(|it| it.driver.as_ref())
    }
}

#[cfg(test)]
mod tests;
