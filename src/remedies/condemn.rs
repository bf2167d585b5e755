//! Destroys an Available volume that was used before: it gets the claimRef of a claim that does not
//! exist and the policy Delete, so that its reclaiming controller deletes the backend volume, then
//! the object.
//!
//! Deleting the object instead would leak the backend volume, whatever the policy is: a volume that
//! was never bound has no finalizer (sig-storage-lib-external-provisioner#185).

use sha2::{Digest as _, Sha256};

use super::{Remedy, checks, exclusive, reclaim, released};
use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{Action, Effect, FinalizerEdit, Loss, Phase, Proposal, Refusal, Uid, Volume};

/// The flag with which the user asserts that the data is not needed.
const DESTROY_DATA: &str = "--destroy-data";

/// Destroys an Available volume that was used before: `gc pv/NAME --destroy-data` (F11, D-31).
pub static REMEDY: Remedy = Remedy {
    id: "condemn",
    needs: reclaim::REMEDY.needs,
    writes: &[("patch", "persistentvolumes")],
    command: |cx, volume| {
        (reclaim::REMEDY.command)(cx, volume).map(|reclaim| format!("{reclaim} --destroy-data"))
    },
    propose,
};

fn propose(cx: &Cx, volume: &Volume) -> Seen<Result<Proposal, Refusal>> {
    let owner = facts::owner(volume);
    let effect = |finalizer, what: &str, risk: &str| Effect {
        what: format!(
            "sets spec.claimRef to a claim that does not exist and the policy to Delete{}; then \
             {} {what}",
            facts::finalizer_in_words(finalizer),
            owner.describe()
        ),
        risk: risk.to_owned(),
    };
    let refuse = |reason: String| {
        let what = "deletes the backend volume and the object";
        Ok(Err(Refusal {
            reason,
            effect: effect(FinalizerEdit::Untouched, what, checks::DATA_LOSS),
        }))
    };
    let mut notices = Vec::new();
    let mut relies_on = checks::ReliedFlags::of(DESTROY_DATA);
    let clearance = match check(cx, volume, &mut notices, &mut relies_on)? {
        Ok(clearance) => clearance,
        Err(reason) => return refuse(reason),
    };
    let relies_on = match relies_on.settled()? {
        Ok(flags) => flags,
        Err(reason) => return refuse(reason),
    };
    let Some(uid) = &volume.metadata.uid else {
        return refuse("its uid is unknown".to_owned());
    };
    let finalizer = checks::with_delete(cx, volume, &mut notices);
    Ok(Ok(Proposal {
        steps: vec![Action::CondemnVolume {
            volume: volume.object(),
            from: volume.reclaim_policy.clone(),
            claim: placeholder_claim_uid(uid),
            finalizer,
        }],
        effect: effect(finalizer, &clearance.with_object("the object"), clearance.risk()),
        undo: clearance.undo(),
        notices,
        relies_on,
        keeps_backend: false,
        loses: Loss::default(),
    }))
}

fn check(
    cx: &Cx,
    volume: &Volume,
    notices: &mut Vec<String>,
    relies_on: &mut checks::ReliedFlags,
) -> Seen<Result<exclusive::Clearance, String>> {
    released::backend_state_known(cx, volume, relies_on);
    checks::all!(
        is_free(cx, volume, relies_on),
        checks::not_exempt(cx, &volume.metadata),
        checks::backend_is_known(volume).map(drop),
        checks::no_claim_names_it(cx, volume)?,
        released::backend_can_go(cx, volume)?,
        exclusive::made_here(cx, volume, &facts::owner(volume), relies_on),
        exclusive::allow_deletion(cx, volume, &facts::owner(volume), notices, relies_on)?,
        reclaim::owner_will_act(cx, volume, &facts::owner(volume), Some(relies_on))?,
        checks::secret_is_there(cx, volume, &facts::owner(volume))?,
    );
    reclaim::notice_word(relies_on, notices);
    let owner = facts::owner(volume);
    let clearance = exclusive::clearance(cx, volume, &owner, None, None, relies_on)?;
    if let Ok(clearance) = &clearance {
        notices.extend(clearance.notices.iter().cloned());
    }
    Ok(clearance)
}

/// Refuses unless the volume is Available and not reserved, and requires `--destroy-data`.
fn is_free(cx: &Cx, volume: &Volume, relies_on: &mut checks::ReliedFlags) -> checks::Checked {
    if volume.metadata.deleting.is_some() {
        return Err("it is Terminating".to_owned());
    }
    if volume.phase != Phase::Available {
        return Err(format!("its phase is {}, not Available", volume.phase));
    }
    if let Some(claim) = &volume.claim_ref {
        return Err(format!("it is reserved for claim {}", claim.key));
    }
    if !cx.settings().destroy_data {
        let lifts = format!("{DESTROY_DATA} allows its destruction");
        relies_on.lack(DESTROY_DATA, "it is Available, but may contain data", lifts);
    }
    Ok(())
}

/// Returns the uid of a claim that does not exist, in the form of a random one: always the same for
/// a volume, so that a plan made twice is the same plan.
fn placeholder_claim_uid(volume: &Uid) -> Uid {
    let digest = Sha256::new_with_prefix("kubectl-storage-reclaimed")
        .chain_update(volume.to_string())
        .finalize();
    let bytes: [u8; 16] = std::array::from_fn(|index| digest[index]);
    Uid::Uuid(uuid::Builder::from_random_bytes(bytes).into_uuid().into_bytes())
}
