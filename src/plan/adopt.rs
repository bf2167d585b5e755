//! `adopt`: plans to give a disk that a listing shows, and that no cluster needs, to a claim.

use super::{ObjectDetails, Plan, Purpose, rebind::told_bound};
use crate::cluster::{Cx, Seen};
use crate::facts::Needed;
use crate::listings::Disk;
use crate::model::{ClaimKey, Kind, ObjectKey, ObjectRef};
use crate::remedies::{
    Adoption, VolumeUse, adopt as remedy, placeholder::CLUSTER_UNIDENTIFIED, rebind,
};

/// A disk, and the claim that is to have it.
pub struct AdoptRequest<'a> {
    /// The disk as it is listed.
    pub disk: &'a Disk,
    /// Tells what is not certain about it, or what needs it beside the volume of this name.
    pub judged: &'a dyn Fn(&str) -> Result<Vec<String>, Needed>,
    /// The claim.
    pub claim: ClaimKey,
    /// How the disk is to be used, where no claim tells.
    pub how: VolumeUse,
}

/// Plans to give a disk to a claim. Without a change or a refusal the claim has it already, and the text says so.
pub fn adopt(cx: &Cx, request: &AdoptRequest<'_>) -> (Plan, Option<String>) {
    let mut plan = Plan::new(remedy::ID, cx);
    let handle = &request.disk.backend.handle;
    let disk = ObjectRef { key: ObjectKey::cluster_wide(Kind::BackendVolume, handle), uid: None };
    let Some(cluster) = plan.cluster.clone() else {
        plan.refuse(disk, remedy::ID, CLUSTER_UNIDENTIFIED.to_owned(), true);
        return (plan, None);
    };
    let name = remedy::name(&cluster, request.disk);
    match done(cx, &name, request) {
        Ok(None) => {}
        Ok(told) => return (plan, told),
        Err(unseen) => {
            plan.refuse(disk, remedy::ID, unseen.reason, true);
            return (plan, None);
        }
    }
    let doubts = match (request.judged)(&name) {
        Ok(doubts) => doubts,
        Err(Needed::ByVolume(volume)) => {
            let reason = format!(
                "{volume} names it; a Released one is given to a claim by `kubectl storage rebind`"
            );
            plan.refuse(disk, remedy::ID, reason, false);
            return (plan, None);
        }
        Err(Needed::Otherwise(reason)) => {
            plan.refuse(disk, remedy::ID, reason, false);
            return (plan, None);
        }
    };
    match Adoption::of(cx, &cluster, request.disk, &request.claim, (&request.how, doubts)) {
        Ok(Ok(adoption)) => {
            let about = ObjectDetails::of_created(cx, adoption.volume());
            let object = adoption.volume().object();
            plan.take_proposed(cx, Purpose::Adopt(Box::new(adoption)), object, about, true);
        }
        Ok(Err(reason)) => plan.refuse(disk, remedy::ID, reason, false),
        Err(unseen) => plan.refuse(disk, remedy::ID, unseen.reason, true),
    }
    (plan, None)
}

/// Says that the claim has the disk already, if so.
fn done(cx: &Cx, name: &str, request: &AdoptRequest<'_>) -> Seen<Option<String>> {
    let Some(volume) = cx.volume(name)? else { return Ok(None) };
    if volume.backend.as_ref() != Some(&request.disk.backend) {
        return Ok(None);
    }
    let claim = rebind::bound(cx, volume, Some(&request.claim))?;
    Ok(claim.map(|it| told_bound(volume, it)))
}
