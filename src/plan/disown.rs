//! `disown`: plans to remove references to owners that do not exist.

use super::{ObjectDetails, Plan, Purpose};
use crate::cluster::Cx;
use crate::model::{ObjectKey, ObjectRef};

/// Plans to remove, from these claims, the references to owners that do not exist.
pub fn disown(cx: &Cx, claims: &[ObjectKey]) -> Plan {
    let mut plan = Plan::new("disown", cx);
    for key in claims.iter().filter_map(ObjectKey::as_claim) {
        let object = ObjectRef { key: ObjectKey::claim(&key), uid: None };
        match cx.claim(&key) {
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
