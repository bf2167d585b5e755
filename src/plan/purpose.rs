//! What a change is for, and the one place that decides whether it may be.

use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{ObjectRef, Proposal, Refusal, Threshold, Trust, Volume, format_duration};
use crate::remedies::{self, Remedy};

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
}

impl Purpose {
    /// Returns the purpose of this name.
    pub fn parse(id: &str) -> Option<Self> {
        let all = [Self::Reclaim, Self::KeepBackend, Self::Condemn, Self::Retain];
        all.into_iter().find(|purpose| purpose.id() == id)
    }

    /// The remedy that it asks for.
    pub fn remedy(&self) -> &'static Remedy {
        match self {
            Self::Reclaim => &remedies::RECLAIM,
            Self::KeepBackend => &remedies::KEEP_BACKEND,
            Self::Condemn => &remedies::CONDEMN,
            Self::Retain => &remedies::RETAIN,
        }
    }

    /// Its name, which is that of the remedy.
    pub fn id(&self) -> &'static str {
        self.remedy().id
    }

    /// Whether a backend volume is destroyed.
    pub const fn destroys(&self) -> bool {
        matches!(self, Self::Reclaim | Self::Condemn)
    }

    /// Whether a backend volume is left behind on purpose, with our record as all that names it.
    pub const fn keeps_backend(&self) -> bool {
        matches!(self, Self::KeepBackend)
    }

    /// The entry of the journal that it reverses.
    pub const fn undoes(&self) -> Option<u64> {
        None
    }

    /// The object that has to be there before anything is written.
    pub const fn subject<'a>(&self, object: &'a ObjectRef) -> Option<&'a ObjectRef> {
        Some(object)
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
        let proposed = (self.remedy().propose)(cx, volume);
        match self {
            Self::Reclaim | Self::KeepBackend => match proposed? {
                Ok(proposal) => Ok(old_enough(cx, volume, proposal)),
                refused @ Err(_) => Ok(refused),
            },
            Self::Condemn | Self::Retain => proposed,
        }
    }
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
