//! Gives a volume back to a claim, data intact: P-RESERVE, then the claim, then the binding.
//!
//! The volume controller binds a volume whose claimRef has the name of a claim and no uid to that
//! claim alone, whatever its size, class and modes are (`IsVolumeBoundToClaim`, `syncUnboundClaim`):
//! whether they fit is checked here.

mod claim_manifest;
mod fit;
mod lost;
mod surroundings;

use super::{Remedy, checks::ReliedFlags, reserve};
use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{
    Action, Claim, ClaimKey, ClaimPhase, Effect, Kind, ObjectKey, ObjectRef, Proposal,
    ReclaimPolicy, Refusal, Uid, Undo, Volume,
};

pub(crate) use claim_manifest::FormerClaim;

/// `rebind`: to the claim that the volume was bound to, or whose own it is if claimRef was changed.
pub static REMEDY: Remedy = Remedy {
    id: "rebind",
    needs: &[
        Kind::PersistentVolume,
        Kind::PersistentVolumeClaim,
        Kind::StorageClass,
        Kind::VolumeAttachment,
        Kind::Node,
    ],
    writes: &[("patch", "persistentvolumes"), ("create", "persistentvolumeclaims")],
    command: |cx, volume| {
        Some(match facts::taken_from(cx, volume) {
            Some(own) => facts::command_of_own(volume, own),
            None => format!("rebind {}", facts::on_command_line(&volume.object())),
        })
    },
    propose: |cx, volume| {
        let to = facts::taken_from(cx, volume).map(Claim::key);
        propose(cx, volume, &Rebinding { to, ..Rebinding::default() })
    },
};

/// To which claim a volume is given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rebinding {
    /// The claim; `None` for the one that the volume was bound to.
    pub to: Option<ClaimKey>,
    /// That claim as it was before it was deleted.
    pub former: Option<FormerClaim>,
    /// The uid of the deleted claim whose volume it must be.
    pub of: Option<Uid>,
    /// The journal entry with which the claim was deleted.
    pub undoes: Option<u64>,
}

/// The risk of all that ends with a binding.
const RISK: &str = "pods that use the claim read and change the data";

impl Rebinding {
    /// Returns the claim to which a volume is given.
    pub fn target(&self, volume: &Volume) -> Option<ClaimKey> {
        self.to.clone().or_else(|| volume.claim_ref.as_ref().map(|it| it.key.clone()))
    }
}

/// Returns the claim to which a volume is bound, if that is the wanted one.
///
/// # Errors
/// When the claim was not read.
pub fn bound<'a>(cx: &Cx<'a>, volume: &Volume, to: Option<&ClaimKey>) -> Seen<Option<&'a Claim>> {
    let Some(claim_ref) = &volume.claim_ref else { return Ok(None) };
    if to.is_some_and(|it| *it != claim_ref.key) || claim_ref.uid.is_none() {
        return Ok(None);
    }
    let claim = cx.claim(&claim_ref.key)?;
    Ok(claim.filter(|it| {
        it.metadata.uid == claim_ref.uid
            && it.phase == ClaimPhase::Bound
            && it.volume_name.as_deref() == Some(volume.name())
    }))
}

/// Proposes or refuses it.
///
/// # Errors
/// When an object was not read on which the decision rests.
pub fn propose(cx: &Cx, volume: &Volume, rebinding: &Rebinding) -> Seen<Result<Proposal, Refusal>> {
    let Some(target) = rebinding.target(volume) else {
        let effect =
            Effect { what: "binds the volume to a claim".to_owned(), risk: RISK.to_owned() };
        let reason = "spec.claimRef is empty: any matching claim can bind it".to_owned();
        return Ok(Err(Refusal { reason, effect }));
    };
    let object = claim_object(&target);
    let refuse = |reason: String| {
        let what = format!("reserves the volume for {object}, and binds both");
        Ok(Err(Refusal { reason, effect: Effect { what, risk: RISK.to_owned() } }))
    };
    if let Some(reason) = other_volume(volume, rebinding, &target) {
        return refuse(reason);
    }
    let claim = cx.claim(&target)?;
    if let Some(claim) = claim.filter(|it| it.phase == ClaimPhase::Lost) {
        return lost::propose(cx, volume, claim);
    }
    let (mut notices, mut relies_on) = (Vec::new(), ReliedFlags::default());
    if let Err(reason) = reserve::is_free(cx, volume, &target, &mut notices, &mut relies_on)? {
        // Who has the volume matters more than its phase.
        return refuse(fit::taken(cx, volume, &target)?.unwrap_or(reason));
    }
    if let Some(reason) = fit::taken(cx, volume, &target)? {
        return refuse(reason);
    }
    if let Some(claim) = claim
        && let Some(reason) = fit::misfit(cx, volume, claim, &mut notices)?
    {
        return refuse(reason);
    }
    if let Err(reason) = surroundings::other_claims(cx, volume, &target, &mut notices)? {
        return refuse(reason);
    }
    let relies_on = match relies_on.settled()? {
        Ok(flags) => flags,
        Err(reason) => return refuse(reason),
    };
    surroundings::notices(cx, volume, &target, &mut notices);
    let mut steps = Vec::new();
    let reserved = reserve::is_reserved_for(volume, &target);
    if !reserved {
        steps.push(Action::ReserveVolume {
            volume: volume.object(),
            from: volume.phase.clone(),
            claim: target.clone(),
        });
    }
    if claim.is_none() {
        let former = rebinding.former.as_ref();
        let manifest = match claim_manifest::of(volume, &target, former) {
            Ok(manifest) => manifest,
            Err(reason) => return refuse(reason),
        };
        steps.push(Action::CreateClaim { claim: object.clone(), manifest });
    }
    let first = if reserved { "" } else { "reserves the volume for that claim, " };
    let what = match claim {
        None => format!("{first}creates {object}, and binds both"),
        Some(_) => format!("{first}and binds {object}, which is Pending, to it"),
    };
    Ok(Ok(Proposal {
        steps,
        effect: Effect {
            what: format!("{}; {}", trimmed(&what), remains(volume)),
            risk: RISK.to_owned(),
        },
        undo: RELEASES_AGAIN,
        notices,
        relies_on,
        keeps_backend: false,
    }))
}

/// How a binding is ended again.
const RELEASES_AGAIN: Undo =
    Undo::Never("but `delete pvc NAME --keep-data` releases the volume again");

fn trimmed(what: &str) -> &str {
    what.strip_prefix("and ").unwrap_or(what)
}

/// What the policy means afterwards.
fn remains(volume: &Volume) -> String {
    let back = facts::policy_command(volume.name(), &ReclaimPolicy::Delete);
    let back =
        back.map_or_else(String::new, |it| format!("; {it} has it deleted with the claim again"));
    format!(
        "the policy remains Retain, so the backend volume remains after the claim is deleted{back}"
    )
}

/// The object of a claim that need not exist.
fn claim_object(key: &ClaimKey) -> ObjectRef {
    ObjectRef { key: ObjectKey::claim(key), uid: None }
}

/// Returns why the volume is not the one that was meant, or the claim none that a user has.
fn other_volume(volume: &Volume, rebinding: &Rebinding, target: &ClaimKey) -> Option<String> {
    let claim_ref = volume.claim_ref.as_ref();
    if let Some(of) = &rebinding.of {
        let its_own = claim_ref.is_some_and(|it| it.uid.as_ref() == Some(of));
        if !its_own && !reserve::is_reserved_for(volume, target) {
            return Some(format!(
                "its spec.claimRef no longer references {target} as it was deleted, with uid {of}"
            ));
        }
    }
    // A volume populator fills the volume of such a claim, then writes the user's claim into
    // claimRef (lib-volume-populator, `controller.go`).
    if rebinding.to.is_none() && target.name.starts_with("prime-") {
        return Some(format!(
            "claim {target} in its spec.claimRef is that of a volume populator, which no pod uses; \
             --to NAMESPACE/NAME names the claim that is to have the data"
        ));
    }
    None
}

#[cfg(test)]
mod tests;
