//! `delete sts`, `delete ns`: plans to delete what claims are deleted with.

use super::{ObjectDetails, Plan, Purpose};
use crate::cluster::Cx;
use crate::model::{Cascade, ObjectRef};

/// Plans to delete `StatefulSet`s or namespaces.
pub fn delete_with_claims(cx: &Cx, objects: &[ObjectRef], cascade: Cascade) -> Plan {
    let mut plan = Plan::new("delete", cx);
    for object in objects {
        let purpose = Purpose::DeleteWithClaims(cascade);
        plan.take_proposed(cx, purpose, object.clone(), ObjectDetails::default(), true);
    }
    plan.sorted()
}
