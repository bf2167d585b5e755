//! `disown`: plans to remove references to owners that do not exist.

use super::{ObjectDetails, Plan, Purpose};
use crate::cluster::Cx;
use crate::model::{ClaimKey, ObjectKey, ObjectRef};

/// Plans to remove, from these claims, the references to owners that do not exist.
pub fn disown(cx: &Cx, claims: &[ObjectKey]) -> Plan {
    let mut plan = Plan::new("disown", cx);
    for key in claims {
        let object = ObjectRef { key: key.clone(), uid: None };
        let namespace = key.namespace.clone().unwrap_or_else(|| "default".into());
        match cx.claim(&ClaimKey { namespace, name: key.name.clone() }) {
            Ok(Some(claim)) => {
                let object = claim.object();
                let about = ObjectDetails::of_object(cx, &object);
                plan.take_proposed(cx, Purpose::Disown, object, about, true);
            }
            Ok(None) => {
                let reason = "there is no such claim".to_owned();
                plan.refuse(object, Purpose::Disown.id(), reason, false);
            }
            Err(unseen) => plan.refuse(object, Purpose::Disown.id(), unseen.reason, true),
        }
    }
    plan.sorted()
}
