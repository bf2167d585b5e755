//! Lowers the requested size of a claim again, whose expansion has failed or was not begun (KEP-1790): `undo` of
//! [`super::expand`].
//!
//! The API server accepts a smaller request only above `status.capacity` (`ValidatePersistentVolumeClaimUpdate`), from
//! Kubernetes 1.32 on; a server that does not refuses the dry run.

use serde_json::Value;

use super::{checks, expand::MI, rebind::quantity};
use crate::cluster::{Cx, Seen};
use crate::facts::{self, ExpansionProgress};
use crate::model::{
    Action, Bytes, Claim, Effect, Loss, Proposal, Refusal, Undo, Volume, parse_quantity,
};

/// The name of this purpose in plans and in the journal.
pub const ID: &str = "lower-request";

/// A request that is to be lowered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoweredRequest {
    /// The journal entry that raised the request.
    pub undoes: u64,
    /// The request before that.
    before: Bytes,
    /// The request that it wrote.
    raised: Bytes,
}

impl LoweredRequest {
    /// Prepares to lower a request that was raised by this JSON patch of a claim as it was saved.
    ///
    /// # Errors
    /// When one of them contains no size, as a reason to refuse.
    pub fn of(saved: &Value, patch: &Value, undoes: u64) -> Result<Self, String> {
        let size = |it: &Value| it.as_str().and_then(parse_quantity);
        let before = size(&saved["spec"]["resources"]["requests"]["storage"]);
        let mut operations = patch.as_array().into_iter().flatten();
        let raised = operations.find(|it| it["op"] == "replace").and_then(|it| size(&it["value"]));
        match (before, raised) {
            (Some(before), Some(raised)) => Ok(Self { undoes, before, raised }),
            _ => Err("the journal does not contain the sizes".to_owned()),
        }
    }
}

/// Proposes or refuses to lower the request of a claim.
///
/// # Errors
/// When an object was not read on which the decision rests.
pub fn propose(
    cx: &Cx,
    claim: &Claim,
    lowered: &LoweredRequest,
) -> Seen<Result<Proposal, Refusal>> {
    let effect =
        |what: String| Effect { what, risk: "the claim has no more room than before".to_owned() };
    let refuse = |reason: String| {
        let effect = effect("lowers the requested size".to_owned());
        Ok(Err(Refusal { reason, effect }))
    };
    if let Err(reason) = obstacle(cx, claim, lowered)? {
        return refuse(reason);
    }
    let (Some(request), Some(capacity)) = (claim.requested, claim.capacity) else {
        return refuse("its sizes are unknown".to_owned());
    };
    let least = capacity.saturating_add(1).checked_next_multiple_of(MI).unwrap_or(Bytes::MAX);
    let to = if lowered.before > capacity { lowered.before } else { least };
    if to >= request {
        return refuse(format!(
            "the API server accepts no request at or below status.capacity ({}), and {} is the least above it",
            quantity(capacity),
            quantity(least)
        ));
    }
    let mut notices = Vec::new();
    if to != lowered.before {
        // external-resizer (`expandAndRecover`) acts on it even where the volume is larger: nothing grows then.
        let then = match claim.volume_name.as_ref().map(|it| cx.volume(it)).transpose()?.flatten() {
            Some(Volume { capacity: Some(has), .. }) if *has >= to => {
                format!("its volume has {}, and does not grow", quantity(*has))
            }
            _ => "the driver is asked to grow to that".to_owned(),
        };
        notices.push(format!(
            "the API server accepts no request at or below status.capacity ({}): {} is the least, and {then}",
            quantity(capacity),
            quantity(to)
        ));
    }
    Ok(Ok(Proposal {
        steps: vec![Action::RequestStorage { claim: claim.object(), from: request, to }],
        effect: effect(format!(
            "requests {} instead of {}, so that the larger size is not tried again",
            quantity(to),
            quantity(request)
        )),
        undo: Undo::Never("`expand` requests a larger size again"),
        notices,
        relies_on: Vec::new(),
        keeps_backend: false,
        loses: Loss::default(),
    }))
}

/// Refuses a claim whose expansion was carried out, or may be at this moment.
fn obstacle(cx: &Cx, claim: &Claim, lowered: &LoweredRequest) -> Seen<checks::Checked> {
    if claim.metadata.deleting.is_some() {
        return Ok(Err("it is Terminating".to_owned()));
    }
    if claim.requested != Some(lowered.raised) {
        let now = claim.requested.map_or_else(|| "missing".to_owned(), quantity);
        return Ok(Err(format!("its request was changed since: it is {now}")));
    }
    let grown = || Err("its backend volume has grown, and volumes cannot shrink".to_owned());
    let volume = match &claim.volume_name {
        Some(name) => cx.volume(name)?,
        None => None,
    };
    match volume.and_then(|it| it.capacity) {
        None => return Ok(Err("the size of its volume is unknown".to_owned())),
        // The controller is done; only the node, or the status of the claim, has not followed.
        Some(capacity) if capacity >= lowered.raised => return Ok(grown()),
        Some(_) => {}
    }
    Ok(match ExpansionProgress::of(claim) {
        ExpansionProgress::Idle | ExpansionProgress::Node => grown(),
        ExpansionProgress::Failed(failed) if failed.on_node => grown(),
        // Not before a controller has acted, and after it has failed, is the size of the backend volume known.
        ExpansionProgress::Requested | ExpansionProgress::Failed(_) => Ok(()),
        ExpansionProgress::Controller => match facts::expansion_error(cx, claim)? {
            Some(error) => Err(format!(
                "external-resizer is still trying, and the backend volume may grow at any moment; its last error: {}",
                facts::brief_error(&error)
            )),
            None => Err("the expansion is under way, and has not failed".to_owned()),
        },
    })
}

#[cfg(test)]
mod tests;
