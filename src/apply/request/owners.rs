//! P-OWNER-DEL and P-OWNER-ADD: owner references of claims.

use serde_json::{Value, json};

use super::{Patch, UnfitObject, WriteRequest};
use crate::model::{ObjectRef, OwnerReference};

/// Removes owner references by their positions, each of which is tested by its uid; never replaces
/// the list.
pub(super) fn remove(
    claim: &ObjectRef,
    owners: &[OwnerReference],
    live: &Value,
) -> Result<WriteRequest, UnfitObject> {
    let mut patch = Patch::on(claim, live)?;
    // Its deletion cannot be revoked: nothing would be kept.
    patch.tests("/metadata/deletionTimestamp", &Value::Null)?;
    patch.remove_owners(owners)?;
    Ok(patch.request())
}

/// Adds owner references at the end of the list, after those that they replace are removed.
pub(super) fn add<'a>(
    claim: &ObjectRef,
    owners: impl Iterator<Item = &'a OwnerReference>,
    replaces: &[OwnerReference],
    live: &Value,
) -> Result<WriteRequest, UnfitObject> {
    const LIST: &str = "/metadata/ownerReferences";
    let mut patch = Patch::on(claim, live)?;
    patch.tests("/metadata/deletionTimestamp", &Value::Null)?;
    patch.remove_owners(replaces)?;
    let added = owners.map(reference).collect::<Result<Vec<_>, _>>()?;
    if live.pointer(LIST).is_some_and(Value::is_array) {
        if replaces.is_empty() {
            patch.tests_as_seen(LIST)?;
        }
        for reference in added {
            patch.push(json!({"op": "add", "path": format!("{LIST}/-"), "value": reference}));
        }
    } else {
        patch.tests(LIST, &Value::Null)?;
        patch.push(json!({"op": "add", "path": LIST, "value": added}));
    }
    Ok(patch.request())
}

/// An owner reference as the API server reads it.
fn reference(owner: &OwnerReference) -> Result<Value, UnfitObject> {
    let uid = owner.uid.as_ref().ok_or_else(|| UnfitObject("the owner has no uid".to_owned()))?;
    let mut reference = json!({
        "apiVersion": &*owner.api_version, "kind": &*owner.kind, "name": &*owner.name,
        "uid": uid.to_string(),
    });
    if owner.controller {
        reference["controller"] = json!(true);
    }
    if owner.blocks_deletion {
        reference["blockOwnerDeletion"] = json!(true);
    }
    Ok(reference)
}

impl Patch<'_> {
    /// Removes references at their places, each of which is tested by its uid.
    fn remove_owners(&mut self, owners: &[OwnerReference]) -> Result<(), UnfitObject> {
        let mut places = Vec::new();
        for owner in owners {
            let place = place_of(owner, self.live, &places)?;
            let uid = owner.uid.as_ref().ok_or_else(|| UnfitObject("it has no uid".to_owned()))?;
            let field = format!("/metadata/ownerReferences/{place}/uid");
            self.tests(&field, &json!(uid.to_string()))?;
            places.push(place);
        }
        // From the last to the first: a removal moves those after it.
        places.sort_unstable();
        for place in places.iter().rev() {
            self.push(
                json!({"op": "remove", "path": format!("/metadata/ownerReferences/{place}")}),
            );
        }
        Ok(())
    }
}

/// Returns the position of a reference that is not among those `taken`: a list can contain one
/// twice.
fn place_of(owner: &OwnerReference, live: &Value, taken: &[usize]) -> Result<usize, UnfitObject> {
    let uid = owner.uid.as_ref().map(ToString::to_string);
    let is_it = |it: &Value| {
        it["apiVersion"] == *owner.api_version
            && it["kind"] == *owner.kind
            && it["name"] == *owner.name
            && it["uid"].as_str() == uid.as_deref()
    };
    let all = live["metadata"]["ownerReferences"].as_array();
    let place = all.into_iter().flatten().enumerate();
    let place = place.filter(|(place, it)| !taken.contains(place) && is_it(it)).map(|it| it.0);
    place.into_iter().next().ok_or_else(|| {
        UnfitObject(format!("it has no owner reference to {} {}", owner.kind, owner.name))
    })
}
