//! What a change is for, and the one place that decides whether it may be.

use crate::cluster::{Cx, Reach, Seen, Subject};
use crate::facts;
use crate::model::{
    Effect, Kind, ObjectKey, ObjectRef, Proposal, Refusal, Threshold, Trust, Uid, Volume,
    format_duration,
};
use crate::remedies::finalizers::{self, Asked};
use crate::remedies::{self, Orphan, Recreation, Reversal};

/// What a change is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    /// `gc`: reclaim a Released volume.
    Reclaim,
    /// `gc --keep-backend`: drop its object only.
    KeepBackend,
    /// `gc --destroy-data`: destroy one that is Available.
    Condemn,
    /// `retain`: stop whatever would destroy it.
    Retain,
    /// `fix-finalizers`: remove what nobody is left to remove, or add a missing protection.
    FixFinalizers(Box<Asked>),
    /// `undo`, `fix-finalizers --from`: create the object of a kept backend volume again.
    Recreate(Box<Recreation>),
    /// `undo`: give a volume the reclaim policy back that it had before `retain`.
    Revert(Box<Reversal>),
    /// `destroy-orphan`: have a driver delete a backend volume that no volume names.
    Tombstone(Box<Orphan>),
}

impl Purpose {
    /// Returns the purpose of this name, where it is the whole purpose: what rests on the journal
    /// is planned anew from it.
    pub fn parse(id: &str) -> Option<Self> {
        // It names its object, whoever chose it.
        let asked = Asked { named: true, ..Asked::default() };
        let all = [
            Self::Reclaim,
            Self::KeepBackend,
            Self::Condemn,
            Self::Retain,
            Self::FixFinalizers(Box::new(asked)),
        ];
        all.into_iter().find(|purpose| purpose.id() == id)
    }

    /// Its name, which is that of the remedy.
    pub fn id(&self) -> &'static str {
        match self {
            Self::Reclaim => remedies::RECLAIM.id,
            Self::KeepBackend => remedies::KEEP_BACKEND.id,
            Self::Condemn => remedies::CONDEMN.id,
            Self::Retain => remedies::RETAIN.id,
            Self::FixFinalizers(_) => finalizers::ID,
            Self::Recreate(_) => remedies::recreate::ID,
            Self::Revert(_) => remedies::revert::ID,
            Self::Tombstone(_) => remedies::tombstone::ID,
        }
    }

    /// Whether a backend volume is destroyed.
    pub const fn destroys(&self) -> bool {
        matches!(self, Self::Reclaim | Self::Condemn | Self::Tombstone(_))
    }

    /// Whether nothing is left behind any more when it is done: the backend volume is destroyed, or
    /// a volume names it again.
    pub const fn ends_keeping(&self) -> bool {
        self.destroys() || matches!(self, Self::Recreate(_))
    }

    /// The entry of the journal that it reverses.
    pub fn undoes(&self) -> Option<u64> {
        match self {
            Self::Recreate(it) => it.undoes,
            Self::Revert(it) => Some(it.undoes),
            Self::Tombstone(it) => it.undoes,
            Self::Reclaim
            | Self::KeepBackend
            | Self::Condemn
            | Self::Retain
            | Self::FixFinalizers(_) => None,
        }
    }

    /// The object that has to be there before anything is written; `None` where it is created.
    pub const fn subject<'a>(&self, object: &'a ObjectRef) -> Option<&'a ObjectRef> {
        match self {
            Self::Recreate(_) | Self::Tombstone(_) => None,
            _ => Some(object),
        }
    }

    /// What has to be read anew before an object is created: itself, and the claim that gets it.
    pub fn counterparts(&self, object: &ObjectRef) -> Vec<ObjectKey> {
        let mut keys = vec![object.key.clone()];
        if let Self::Recreate(it) = self
            && let Some(claim) = &it.volume().claim_ref
        {
            keys.push(ObjectKey {
                kind: Kind::PersistentVolumeClaim,
                namespace: Some(claim.key.namespace.clone()),
                name: claim.key.name.clone(),
            });
        }
        keys
    }

    /// What is listed once more right before anything is written: users that a watch may not have
    /// brought yet (R-PVCP-7, SEMANTICS F31, F48).
    pub fn listed_again(&self, object: &ObjectRef) -> Vec<Reach> {
        let within = |kind| Reach { kind, namespace: object.key.namespace.clone() };
        match (self, object.key.kind) {
            (Self::FixFinalizers(_), Kind::PersistentVolumeClaim) => {
                vec![
                    within(Kind::Pod),
                    within(Kind::PersistentVolumeClaim),
                    within(Kind::VolumeSnapshot),
                ]
            }
            (Self::FixFinalizers(_) | Self::Tombstone(_), Kind::PersistentVolume) => {
                vec![Reach::all(Kind::VolumeAttachment)]
            }
            _ => Vec::new(),
        }
    }

    /// Whether an object of that name, which is there already, is what would be created: an earlier
    /// run has done so.
    pub const fn resumes(&self) -> bool {
        matches!(self, Self::Tombstone(_))
    }

    /// Proposes or refuses it for an object, as it is seen now.
    ///
    /// # Errors
    /// When something was not seen that the decision needs.
    pub fn propose(&self, cx: &Cx, object: &ObjectRef) -> Seen<Result<Proposal, Refusal>> {
        match self {
            Self::Recreate(it) => return remedies::recreate::propose(cx, it),
            Self::Tombstone(it) => return remedies::tombstone::propose(cx, it),
            Self::FixFinalizers(asked) if object.key.kind != Kind::PersistentVolume => {
                return repair(cx, object, asked);
            }
            _ => {}
        }
        let found = cx.volume(&object.key.name)?;
        Ok(match the_one(object, found, |it| it.metadata.uid.as_ref()) {
            Ok(volume) => self.propose_for(cx, volume)?,
            Err(refusal) => Err(refusal),
        })
    }

    /// The same, for a volume that was found.
    pub(super) fn propose_for(&self, cx: &Cx, volume: &Volume) -> Seen<Result<Proposal, Refusal>> {
        match self {
            Self::Reclaim => aged(cx, volume, (remedies::RECLAIM.propose)(cx, volume)),
            Self::KeepBackend => aged(cx, volume, (remedies::KEEP_BACKEND.propose)(cx, volume)),
            Self::Condemn => (remedies::CONDEMN.propose)(cx, volume),
            Self::Retain => (remedies::RETAIN.propose)(cx, volume),
            Self::Revert(it) => remedies::revert::propose(cx, volume, it),
            Self::FixFinalizers(asked) => finalizers::volume(cx, volume, asked),
            Self::Recreate(it) => remedies::recreate::propose(cx, it),
            Self::Tombstone(it) => remedies::tombstone::propose(cx, it),
        }
    }
}

/// The repair of a claim or an attachment.
fn repair(cx: &Cx, object: &ObjectRef, asked: &Asked) -> Seen<Result<Proposal, Refusal>> {
    let cluster = cx.cluster();
    match cluster.subject(&object.key) {
        Some(Subject::Claim(id)) => {
            match the_one(object, cluster.claim_at(id), |it| it.metadata.uid.as_ref()) {
                Ok(claim) => finalizers::claim(cx, claim, asked),
                Err(refusal) => Ok(Err(refusal)),
            }
        }
        Some(Subject::Attachment(id)) => {
            match the_one(object, cluster.attachment_at(id), |it| it.metadata.uid.as_ref()) {
                Ok(attachment) => finalizers::attachment(cx, attachment, asked),
                Err(refusal) => Ok(Err(refusal)),
            }
        }
        _ => {
            cluster.reach(object.key.kind, object.key.namespace.as_ref())?;
            Ok(Err(gone()))
        }
    }
}

/// The object that was meant, and no other of its name.
fn the_one<'a, T>(
    object: &ObjectRef,
    found: Option<&'a T>,
    uid: impl Fn(&T) -> Option<&Uid>,
) -> Result<&'a T, Refusal> {
    match found {
        None => Err(gone()),
        Some(it) if object.uid.is_some() && uid(it) != object.uid.as_ref() => {
            Err(refusal("it was deleted and created again under the same name"))
        }
        Some(it) => Ok(it),
    }
}

fn gone() -> Refusal {
    refusal("it is gone")
}

fn refusal(reason: &str) -> Refusal {
    let effect = Effect { what: String::new(), risk: String::new() };
    Refusal { reason: reason.to_owned(), effect }
}

fn aged(
    cx: &Cx,
    volume: &Volume,
    proposed: Seen<Result<Proposal, Refusal>>,
) -> Seen<Result<Proposal, Refusal>> {
    Ok(match proposed? {
        Ok(proposal) => old_enough(cx, volume, proposal),
        refused @ Err(_) => refused,
    })
}

/// `--older-than`. Of an unknown age there is only the user's word, which the remedy has asked for.
fn old_enough(cx: &Cx, volume: &Volume, proposal: Proposal) -> Result<Proposal, Refusal> {
    let age = facts::phase_age(cx, volume);
    if age.trust == Trust::Unknown || cx.older_than(&age, Threshold::OlderThan) {
        return Ok(proposal);
    }
    let least = format_duration(cx.settings().thresholds.get(Threshold::OlderThan));
    let reason = format!("it has been Released for less than {least}");
    Err(Refusal { reason, effect: proposal.effect })
}
