//! `delete pvc`: selects claims and plans to delete each that nothing uses. `delete sts`, `delete ns`:
//! plans to delete what claims are deleted with.

use super::{ObjectDetails, Plan, Purpose, no_such};
use crate::cluster::{Cx, Seen, Subject};
use crate::model::{Cascade, Claim, ClaimKey, Kind, ObjectKey, ObjectRef, Text};
use crate::remedies::{self, ClaimDeletionProgress};
use crate::rules;

/// Name of the purpose.
const ID: &str = remedies::DELETE_CLAIM.id;
/// Greatest number of namespaces with a claim of the same name that a refusal names.
const NAMED: usize = 3;

/// Claims of one namespace that `delete` plans for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimSelection {
    /// Namespace of the claims.
    pub namespace: Text,
    /// Names of the claims; when empty, those of the namespace in the scope of the settings.
    pub names: Vec<Text>,
}

/// Plans to delete the selected claims.
pub fn delete(cx: &Cx, selection: &ClaimSelection) -> Plan {
    let mut plan = Plan::new("delete", cx);
    for name in &selection.names {
        let key = ClaimKey { namespace: Text::clone(&selection.namespace), name: (&**name).into() };
        let object = ObjectRef {
            key: ObjectKey::named(Kind::PersistentVolumeClaim, &key.namespace, name),
            uid: None,
        };
        match find(cx, &key) {
            Ok(Ok(claim)) => take(cx, &mut plan, claim, true),
            Ok(Err(reason)) => plan.refuse(object, ID, reason, false),
            Err(unseen) => plan.refuse(object, ID, unseen.reason, true),
        }
    }
    if selection.names.is_empty() {
        let cluster = cx.cluster();
        for (id, claim) in cluster.claims() {
            let in_scope = rules::in_scope(cluster, cx.settings(), &Subject::Claim(id));
            if claim.namespace == selection.namespace && in_scope {
                take(cx, &mut plan, claim, false);
            }
        }
    }
    plan.sorted()
}

fn take(cx: &Cx, plan: &mut Plan, claim: &Claim, named: bool) {
    let object = claim.object();
    let about = ObjectDetails::of_object(cx, &object);
    plan.take_proposed(
        cx,
        Purpose::DeleteClaim(ClaimDeletionProgress::default()),
        object,
        about,
        named,
    );
}

/// Finds a claim that the user names, or returns why there is none.
fn find<'a>(cx: &Cx<'a>, key: &ClaimKey) -> Seen<Result<&'a Claim, String>> {
    if let Some(claim) = cx.claim(key)? {
        return Ok(Ok(claim));
    }
    let claims = cx.cluster().claims().map(|(_, claim)| claim);
    let mut elsewhere: Vec<_> =
        claims.filter(|it| it.metadata.name == key.name).map(|it| &*it.namespace).collect();
    elsewhere.sort_unstable();
    elsewhere.truncate(NAMED);
    let hint = match elsewhere.is_empty() {
        true => String::new(),
        false => format!("; there is one of this name in namespace {}", elsewhere.join(", ")),
    };
    Ok(Err(format!(
        "{} in namespace {}{hint}",
        no_such(Kind::PersistentVolumeClaim),
        key.namespace
    )))
}

/// Plans to delete `StatefulSet`s or namespaces with their claims.
pub fn delete_with_claims(cx: &Cx, objects: &[ObjectRef], cascade: Cascade) -> Plan {
    let mut plan = Plan::new("delete", cx);
    for object in objects {
        let purpose = Purpose::DeleteWithClaims(cascade);
        plan.take_proposed(cx, purpose, object.clone(), ObjectDetails::default(), true);
    }
    plan.sorted()
}
