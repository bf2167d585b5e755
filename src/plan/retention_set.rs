//! `retention set`: plans to change the retention policy of sets.

use super::{ObjectDetails, Plan, Purpose};
use crate::cluster::Cx;
use crate::model::{ObjectKey, ObjectRef};
use crate::remedies::RetentionRequest;

/// Plans to change the policy of these sets.
pub fn set_retention(cx: &Cx, sets: &[ObjectKey], request: &RetentionRequest) -> Plan {
    let mut plan = Plan::new("retention-set", cx);
    for key in sets {
        let purpose = Purpose::SetRetention(Box::new(request.clone()));
        let object = ObjectRef { key: key.clone(), uid: None };
        let Some(namespace) = &key.namespace else { continue };
        match cx.set(namespace, &key.name) {
            Ok(Some(set)) => {
                let about = ObjectDetails::of_object(cx, &object);
                plan.take_proposed(cx, purpose, set.object(), about, true);
            }
            Ok(None) => {
                let reason = format!("there is no such StatefulSet in namespace {namespace}");
                plan.refuse(object, purpose.id(), reason, false);
            }
            Err(unseen) => plan.refuse(object, purpose.id(), unseen.reason, true),
        }
    }
    plan.sorted()
}
