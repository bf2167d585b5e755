//! What could be done, one file per thing, each with all its checks.
//!
//! A remedy looks at the cluster and either proposes writes or refuses with the check that did not
//! pass. The report's verdict, the plan and the moment of writing ask the same function.
//! Checks always look at the whole cluster: no scope, selector or exemption narrows them, and
//! exemptions can only add a refusal.

mod add_protection;
mod checks;
mod condemn;
mod keep_backend;
mod manifest;
mod reclaim;
pub mod recreate;
mod released;
mod remove_finalizer;
mod reserve;
mod retain;
pub mod revert;
pub mod tombstone;

use crate::cluster::{Cx, Seen};
use crate::model::{Kind, Offer, Proposal, Refusal, Verdict, VerdictState, Volume};

pub use add_protection::REMEDY as ADD_PROTECTION;
pub use condemn::REMEDY as CONDEMN;
pub use keep_backend::REMEDY as KEEP_BACKEND;
pub use manifest::Manifest;
pub use reclaim::REMEDY as RECLAIM;
pub use recreate::Recreation;
pub use remove_finalizer::{
    ATTACHER as REMOVE_ATTACHER_FINALIZER, EXTERNAL as REMOVE_EXTERNAL_FINALIZER,
    IN_TREE_FINALIZER as REMOVE_IN_TREE_FINALIZER,
};
pub use reserve::REMEDY as RESERVE;
pub use retain::REMEDY as RETAIN;
pub use revert::Reversal;
pub use tombstone::Orphan;

/// One thing that can be done about a volume.
#[derive(Debug)]
pub struct Remedy {
    /// Its name, as plans and journals write it.
    pub id: &'static str,
    /// What its checks look at.
    pub needs: &'static [Kind],
    /// What it writes: verb and resource.
    pub writes: &'static [(&'static str, &'static str)],
    /// The command that does it to one volume, without the name of the program; `None` where this
    /// build has none.
    pub command: fn(&Cx, &Volume) -> Option<String>,
    /// Proposes or refuses.
    pub propose: fn(&Cx, &Volume) -> Seen<Result<Proposal, Refusal>>,
}

/// All remedies.
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

impl Remedy {
    /// Asks what it would do about a volume, in the words of a report.
    pub fn verdict(&self, cx: &Cx, volume: &Volume) -> (Verdict, Option<Offer>) {
        let verdict = |state, reason: String| Verdict { state, reason };
        let command =
            || (self.command)(cx, volume).map(|command| format!("kubectl storage {command}"));
        match (self.propose)(cx, volume) {
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
