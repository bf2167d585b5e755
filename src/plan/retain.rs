//! `retain`: plans to set the reclaim policy to Retain.

use super::{Plan, Purpose};
use crate::cluster::{Cx, Seen};
use crate::model::{ObjectKey, ObjectRef, Volume};

/// Plans to set the policy of these volumes, or of the volumes of these claims, to Retain.
pub fn retain(cx: &Cx, objects: &[ObjectKey]) -> Plan {
    let mut plan = Plan::new("retain", cx);
    for key in objects {
        let object = ObjectRef { key: key.clone(), uid: None };
        match volume_of(cx, key) {
            Ok(Ok(volume)) => {
                // A volume that is named by itself and by its claim is one change, or one refusal.
                let object = volume.object();
                let changes = plan.changes.iter().map(|it| &it.object);
                let refusals = plan.refusals.iter().map(|it| &it.object);
                if !changes.chain(refusals).any(|known| *known == object) {
                    plan.take(cx, Purpose::Retain, volume, true);
                }
            }
            Ok(Err(reason)) => plan.refuse(object, Purpose::Retain.id(), reason, false),
            Err(unseen) => plan.refuse(object, Purpose::Retain.id(), unseen.reason, true),
        }
    }
    plan.sorted()
}

/// Finds the volume that a key names.
fn volume_of<'a>(cx: &Cx<'a>, key: &ObjectKey) -> Seen<Result<&'a Volume, String>> {
    let name = match key.as_claim() {
        Some(claim) => {
            let Some(claim) = cx.claim(&claim)? else {
                return Ok(Err("there is no such claim".to_owned()));
            };
            match &claim.volume_name {
                Some(name) => (name.clone(), Some(&claim.metadata.uid)),
                None => return Ok(Err("it is not bound to a volume".to_owned())),
            }
        }
        None => (key.name.clone(), None),
    };
    let (name, claim) = name;
    let Some(volume) = cx.volume(&name)? else {
        return Ok(Err(match claim {
            None => "there is no such volume".to_owned(),
            Some(_) => format!("its volume pv/{name} does not exist"),
        }));
    };
    if let Some(uid) = claim {
        // A claim can reference a volume that is bound to another claim.
        let bound = volume.claim_ref.as_ref().and_then(|it| it.uid.as_ref());
        if bound.is_none() || bound != uid.as_ref() {
            return Ok(Err(format!("pv/{name}, which it references, is not bound to it")));
        }
    }
    Ok(Ok(volume))
}
