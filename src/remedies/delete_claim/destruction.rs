//! Whether the driver of a claim's volume may be told to delete it: everything that `gc` checks.

use super::super::checks::{self, ReliedFlags};
use super::super::{deletion_protection, exclusive, reclaim, released, snapshots};
use crate::cluster::{Cx, Seen};
use crate::facts;
use crate::model::{Claim, ReclaimPolicy, Volume};

/// Refuses unless the controller of a volume with policy Delete would destroy what the claim uses,
/// and nothing else. Returns what it does, with its name, and the risk.
///
/// # Errors
/// When an object was not read on which this rests.
pub(super) fn allowed(
    cx: &Cx,
    claim: &Claim,
    volume: &Volume,
    notices: &mut Vec<String>,
    relies_on: &mut ReliedFlags,
) -> Seen<Result<(String, &'static str), String>> {
    let pv = volume.object();
    match &volume.reclaim_policy {
        // An earlier step has set it to Retain.
        ReclaimPolicy::Delete | ReclaimPolicy::Retain => {}
        ReclaimPolicy::Recycle => {
            return Ok(Err(format!(
                "the policy of {pv} is {}, which deletes no backend volume: keep the data, then \
                 reclaim the volume with `kubectl storage gc {pv} --older-than 1s`",
                volume.reclaim_policy
            )));
        }
        ReclaimPolicy::Other(policy) => {
            return Ok(Err(format!("what the policy {policy} of {pv} does is unknown")));
        }
    }
    let owner = facts::owner(volume);
    if let Some(state) = &volume.backend_state {
        return Ok(Err(format!("{pv}: {}", checks::backend_in_doubt(state))));
    }
    checks::all!(
        checks::backend_is_known(volume).map(drop),
        no_other_claim(cx, claim, volume)?,
        released::backend_can_go(cx, volume)?,
    );
    let clearance = match exclusive::clearance(cx, volume, &owner, None, None, relies_on)? {
        Ok(clearance) => clearance,
        Err(reason) => return Ok(Err(reason)),
    };
    let what = format!("{} {}", owner.describe(), clearance.with_object(&pv.to_string()));
    let risk = clearance.risk();
    notices.extend(clearance.notices);
    checks::all!(
        exclusive::made_here(cx, volume, &owner, relies_on),
        snapshots::allow_deletion(cx, volume, &owner, notices, relies_on)?,
        reclaim::owner_will_act(cx, volume, &owner, Some(relies_on))?,
        checks::secret_is_there(cx, volume, &owner)?,
    );
    deletion_protection::with_delete_later(cx, volume, notices);
    reclaim::notice_word(relies_on, notices);
    if let Some(finalizers) = checks::third_party_finalizers(volume) {
        notices.push(format!("{pv}: {}", checks::blocked_by(&finalizers)));
    }
    if let Some(driver) = owner.csi()
        && cx.csi_driver(driver)?.is_some_and(|driver| !driver.attach_required)
    {
        notices.push(checks::attaches_without_trace(driver));
    }
    Ok(Ok((what, risk)))
}

/// Refuses where another claim references the volume too.
fn no_other_claim(cx: &Cx, claim: &Claim, volume: &Volume) -> Seen<checks::Checked> {
    let claims = cx.claims_naming(volume.name())?;
    let other = claims.into_iter().find(|it| it.key() != claim.key());
    Ok(match other {
        None => Ok(()),
        Some(other) => Err(format!("{} references {} too", other.object(), volume.object())),
    })
}
