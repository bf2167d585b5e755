//! `adopt`: plans to give a disk that a listing shows, and that no cluster needs, to a claim.

use super::{ObjectDetails, Plan, Purpose, RebindRequest, rebind};
use crate::cluster::Cx;
use crate::facts::Needed;
use crate::listings::Disk;
use crate::model::{ClaimKey, Kind, ObjectKey, ObjectRef};
use crate::remedies::{Adoption, VolumeUse, adopt as remedy, placeholder::CLUSTER_UNIDENTIFIED};

/// A disk, and the claim that is to have it.
#[derive(Debug)]
pub struct AdoptRequest<'a> {
    /// The disk as it is listed.
    pub disk: &'a Disk,
    /// What is not certain about it, or what needs it.
    pub judged: Result<Vec<String>, Needed>,
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
    let doubts = match &request.judged {
        Ok(doubts) => doubts.clone(),
        // An earlier run has created it.
        Err(Needed::ByVolume(0, volume)) if *volume.key.name == *name => {
            let to = Some(request.claim.clone());
            let request = RebindRequest { volume: name.into(), to, ..RebindRequest::default() };
            return rebind(cx, &request);
        }
        Err(Needed::ByVolume(_, volume)) => {
            let reason = format!(
                "{volume} names it; a Released one is given to a claim by `kubectl storage rebind`"
            );
            plan.refuse(disk, remedy::ID, reason, false);
            return (plan, None);
        }
        Err(Needed::Otherwise(reason)) => {
            plan.refuse(disk, remedy::ID, reason.clone(), false);
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
