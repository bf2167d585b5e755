//! What a change is for, and the one place that decides whether it may be.

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{
    Kind, ObjectKey, ObjectRef, Proposal, Refusal, Threshold, Trust, Volume, format_duration,
};
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
    /// `undo`: create the object of a kept backend volume again.
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
        let all = [Self::Reclaim, Self::KeepBackend, Self::Condemn, Self::Retain];
        all.into_iter().find(|purpose| purpose.id() == id)
    }

    /// Its name, which is that of the remedy.
    pub fn id(&self) -> &'static str {
        match self {
            Self::Reclaim => remedies::RECLAIM.id,
            Self::KeepBackend => remedies::KEEP_BACKEND.id,
            Self::Condemn => remedies::CONDEMN.id,
            Self::Retain => remedies::RETAIN.id,
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
            Self::Reclaim | Self::KeepBackend | Self::Condemn | Self::Retain => None,
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
        let gone = |reason: &str| {
            let effect = crate::model::Effect { what: String::new(), risk: String::new() };
            Ok(Err(Refusal { reason: reason.to_owned(), effect }))
        };
        match self {
            Self::Recreate(it) => return remedies::recreate::propose(cx, it),
            Self::Tombstone(it) => return remedies::tombstone::propose(cx, it),
            _ => {}
        }
        match cx.volume(&object.key.name)? {
            None => gone("it is gone"),
            Some(volume) if object.uid.is_some() && volume.metadata.uid != object.uid => {
                gone("it was deleted and created again under the same name")
            }
            Some(volume) => self.propose_for(cx, volume),
        }
    }

    /// The same, for a volume that was found.
    pub(super) fn propose_for(&self, cx: &Cx, volume: &Volume) -> Seen<Result<Proposal, Refusal>> {
        match self {
            Self::Reclaim => aged(cx, volume, (remedies::RECLAIM.propose)(cx, volume)),
            Self::KeepBackend => aged(cx, volume, (remedies::KEEP_BACKEND.propose)(cx, volume)),
            Self::Condemn => (remedies::CONDEMN.propose)(cx, volume),
            Self::Retain => (remedies::RETAIN.propose)(cx, volume),
            Self::Revert(it) => remedies::revert::propose(cx, volume, it),
            Self::Recreate(it) => remedies::recreate::propose(cx, it),
            Self::Tombstone(it) => remedies::tombstone::propose(cx, it),
        }
    }
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
