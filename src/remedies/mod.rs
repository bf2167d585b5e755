//! Remedies, one file for each, with all its checks.
//!
//! A remedy reads the cluster and either proposes writes or refuses with the check that did not
//! pass. The verdict of a finding, the plan and the code that writes call the same function. Checks
//! always read the whole cluster: no scope or selector narrows them, and exemptions can only add a
//! refusal.

pub(crate) mod adopt;
mod announced;
mod checks;
mod condemn;
mod delete_claim;
pub(crate) mod delete_with_claims;
pub(crate) mod disown;
pub(crate) mod expand;
mod exclusive;
pub(crate) mod finalizers;
mod keep_backend;
pub(crate) mod lower_request;
pub(crate) mod recreate;
pub(crate) mod placeholder;
pub(crate) mod rebind;
mod reclaim;
mod released;
mod reserve;
mod retain;
pub(crate) mod retention_set;
pub(crate) mod retention;
pub(crate) mod revert;
pub(crate) mod snapshot_first;
pub(crate) mod teardown;

use std::fmt;

use crate::cluster::{Cx, Seen};
use crate::model::{Kind, Offer, Proposal, Refusal, Verdict, VerdictState, Volume};

pub(crate) use adopt::{Adoption, VolumeUse};
pub(crate) use announced::{
    ANNOUNCE_ID, Announcing, RECLAIM_ANNOUNCED_ID, RECORD_VETO_ID, announce, record_veto, still_due,
};
pub(crate) use condemn::REMEDY as CONDEMN;
pub(crate) use delete_claim::{
    ClaimDeletionProgress, REMEDY as DELETE_CLAIM, propose as delete_claim, survives,
};
pub(crate) use disown::REMEDY as DISOWN;
pub(crate) use exclusive::KEPT_AT_ONCE;
pub(crate) use expand::{Growth, REMEDY as EXPAND};
pub(crate) use finalizers::{
    ADD_PROTECTION, FIX_ATTACHMENT, FIX_CLAIM, PROTECT_CLAIM, REMOVE_ATTACHER_FINALIZER,
    REMOVE_EXTERNAL_FINALIZER, REMOVE_IN_TREE_FINALIZER, REMOVE_THIRD_PARTY_FINALIZER,
};
pub(crate) use keep_backend::REMEDY as KEEP_BACKEND;
pub(crate) use lower_request::LoweredRequest;
pub(crate) use placeholder::Orphan;
pub(crate) use rebind::{FormerClaim, REMEDY as REBIND, Rebinding, quantity};
pub use reclaim::REMEDY as RECLAIM;
pub(crate) use reclaim::{DELETED_AT_ONCE, propose_released as reclaim_released};
pub(crate) use recreate::{Manifest, Recreation};
pub(crate) use released::unless_custom_resources_want;
pub(crate) use retain::REMEDY as RETAIN;
pub(crate) use retention::{
    ADD_OWNER, AddedOwner, DELETE_LEFTOVER, REMOVE_OWNERS, RetentionChange, sets_and_pods,
};
pub(crate) use retention_set::{REMEDY as SET_RETENTION, RetentionPart, RetentionRequest};
pub(crate) use revert::Reversal;
pub(crate) use teardown::{Restart, STOP};

/// A remedy for one kind of object: a volume, a claim, an attachment or a `StatefulSet`.
#[derive(Debug)]
pub struct Remedy<T: 'static = Volume> {
    /// The name of the remedy in plans and in the journal.
    pub id: &'static str,
    /// The kinds that the checks read.
    pub needs: &'static [Kind],
    /// The writes: verb and resource.
    pub writes: &'static [(&'static str, &'static str)],
    /// Returns the command that carries out the remedy for one object, without the name of the program; `None` where
    /// there is none.
    pub command: fn(&Cx, &T) -> Option<String>,
    /// Proposes or refuses the remedy for an object.
    pub propose: fn(&Cx, &T) -> Seen<Result<Proposal, Refusal>>,
}

/// The declarations of a remedy, for any kind of object.
pub trait RemedyDeclaration: Sync {
    /// Returns the name of the remedy.
    fn id(&self) -> &'static str;
    /// Returns the kinds that the checks read.
    fn needs(&self) -> &'static [Kind];
    /// Returns the writes: verb and resource.
    fn writes(&self) -> &'static [(&'static str, &'static str)];
}

impl<T> RemedyDeclaration for Remedy<T> {
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

impl fmt::Debug for dyn RemedyDeclaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// Whether a remedy is refused where another cluster names the storage (semantics K.4), by its id.
pub fn is_refused_beside(id: &str) -> bool {
    [RECLAIM.id, CONDEMN.id, DELETE_CLAIM.id, FIX_CLAIM.id, DELETE_LEFTOVER.id].contains(&id)
}

/// All remedies for volumes.
pub static REMEDIES: [&Remedy; 10] = [
    &RECLAIM,
    &KEEP_BACKEND,
    &CONDEMN,
    &RETAIN,
    &REBIND,
    &ADD_PROTECTION,
    &REMOVE_EXTERNAL_FINALIZER,
    &REMOVE_IN_TREE_FINALIZER,
    &REMOVE_ATTACHER_FINALIZER,
    &REMOVE_THIRD_PARTY_FINALIZER,
];

impl<T> Remedy<T> {
    /// Returns the verdict of the remedy about an object, for a report.
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
