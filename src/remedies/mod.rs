//! What could be done, one file per thing, each with all its checks.
//!
//! A remedy looks at the cluster and either proposes writes or refuses with the check that did not
//! pass. The report's verdict, the plan and the moment of writing ask the same function.
//! Checks always look at the whole cluster: no scope, selector or exemption narrows them, and
//! exemptions can only add a refusal.

mod checks;
mod condemn;
pub mod finalizers;
mod keep_backend;
mod manifest;
mod reclaim;
pub mod recreate;
mod released;
mod reserve;
mod retain;
pub mod revert;
pub mod tombstone;

use std::fmt;

use crate::cluster::{Cx, Seen};
use crate::model::{Kind, Offer, Proposal, Refusal, Verdict, VerdictState, Volume};

pub use condemn::REMEDY as CONDEMN;
pub use finalizers::{
    ADD_PROTECTION, FIX_ATTACHMENT, FIX_CLAIM, PROTECT_CLAIM, REMOVE_ATTACHER_FINALIZER,
    REMOVE_EXTERNAL_FINALIZER, REMOVE_IN_TREE_FINALIZER,
};
pub use keep_backend::REMEDY as KEEP_BACKEND;
pub use manifest::Manifest;
pub use reclaim::REMEDY as RECLAIM;
pub use recreate::Recreation;
pub use reserve::REMEDY as RESERVE;
pub use retain::REMEDY as RETAIN;
pub use revert::Reversal;
pub use tombstone::Orphan;

/// One thing that can be done about a volume, a claim or an attachment.
#[derive(Debug)]
pub struct Remedy<T: 'static = Volume> {
    /// Its name, as plans and journals write it.
    pub id: &'static str,
    /// What its checks look at.
    pub needs: &'static [Kind],
    /// What it writes: verb and resource.
    pub writes: &'static [(&'static str, &'static str)],
    /// The command that does it to one volume, without the name of the program; `None` where this
    /// build has none.
    pub command: fn(&Cx, &T) -> Option<String>,
    /// Proposes or refuses.
    pub propose: fn(&Cx, &T) -> Seen<Result<Proposal, Refusal>>,
}

/// What a remedy declares of itself, whatever it is about.
pub trait Declared: Sync {
    /// Its name.
    fn id(&self) -> &'static str;
    /// What its checks look at.
    fn needs(&self) -> &'static [Kind];
    /// What it writes: verb and resource.
    fn writes(&self) -> &'static [(&'static str, &'static str)];
}

impl<T> Declared for Remedy<T> {
    fn id(&self) -> &'static str {
        self.id
    }

    fn needs(&self) -> &'static [Kind] {
        self.needs
    }

    fn writes(&self) -> &'static [(&'static str, &'static str)] {
        self.writes
    }
}

impl fmt::Debug for dyn Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// All remedies for volumes.
pub static REMEDIES: [&Remedy; 9] = [
    &RECLAIM,
    &KEEP_BACKEND,
    &CONDEMN,
    &RETAIN,
    &RESERVE,
    &ADD_PROTECTION,
    &REMOVE_EXTERNAL_FINALIZER,
    &REMOVE_IN_TREE_FINALIZER,
    &REMOVE_ATTACHER_FINALIZER,
];

impl<T> Remedy<T> {
    /// Asks what it would do about an object, in the words of a report.
    pub fn verdict(&self, cx: &Cx, object: &T) -> (Verdict, Option<Offer>) {
        let verdict = |state, reason: String| Verdict { state, reason };
        let command =
            || (self.command)(cx, object).map(|command| format!("kubectl storage {command}"));
        match (self.propose)(cx, object) {
            Ok(Ok(proposal)) => {
                let offer = Offer {
                    command: command(),
                    effect: proposal.effect.what,
                    risk: proposal.effect.risk,
                };
                (verdict(VerdictState::Fixable, proposal.notices.join("; ")), Some(offer))
            }
            Ok(Err(refusal)) => {
                let offer =
                    Offer { command: None, effect: refusal.effect.what, risk: refusal.effect.risk };
                (verdict(VerdictState::Blocked, refusal.reason), Some(offer))
            }
            Err(unseen) => (verdict(VerdictState::Unseen, unseen.reason), None),
        }
    }
}

#[cfg(test)]
mod tests;
