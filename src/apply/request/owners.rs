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

/// Adds owner references at the end of the list, after the removal of those that they replace.
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
    /// Removes references at their positions, each of which is tested by its uid.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Kind, ObjectKey, Uid};

    const LIST: &str = "/metadata/ownerReferences";

    fn claim() -> ObjectRef {
        let key = ObjectKey::named(Kind::PersistentVolumeClaim, "shop", "data-web-1");
        ObjectRef { key, uid: Uid::parse("claim") }
    }

    fn live(owners: Value) -> Value {
        let mut live = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": "data-web-1", "namespace": "shop", "uid": "claim", "resourceVersion": "7",
            },
        });
        if !owners.is_null() {
            live["metadata"]["ownerReferences"] = owners;
        }
        live
    }

    fn owner(kind: &str, controller: bool) -> OwnerReference {
        let of_set = kind == "StatefulSet";
        OwnerReference {
            api_version: if of_set { "apps/v1" } else { "v1" }.into(),
            kind: kind.into(),
            name: "web".into(),
            uid: Uid::parse(kind),
            controller,
            blocks_deletion: controller,
        }
    }

    fn written(kind: &str, controller: bool) -> Value {
        reference(&owner(kind, controller)).expect("it has a uid")
    }

    /// The operations of an addition, after the tests that every patch of a claim begins with.
    fn added(
        owners: &[OwnerReference],
        replaces: &[OwnerReference],
        live: &Value,
    ) -> Result<Vec<Value>, String> {
        let request = add(&claim(), owners.iter(), replaces, live).map_err(|it| it.to_string())?;
        let mut operations = request.body.as_array().cloned().unwrap_or_default();
        let tests: Vec<_> = operations.drain(..3).map(|it| it["path"].clone()).collect();
        let paths = ["/metadata/uid", "/metadata/resourceVersion", "/metadata/deletionTimestamp"];
        assert_eq!(tests, paths.map(Value::from), "{request:?}");
        Ok(operations)
    }

    #[test]
    fn the_first_references_are_added_as_a_list_that_was_not_there() {
        let (set, guard) = (owner("StatefulSet", true), owner("PersistentVolume", false));
        let expected = json!([
            {"op": "test", "path": LIST, "value": null},
            {"op": "add", "path": LIST, "value": [
                {
                    "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "StatefulSet",
                    "controller": true, "blockOwnerDeletion": true,
                },
                // What is false is left out, as the API server writes it.
                {"apiVersion": "v1", "kind": "PersistentVolume", "name": "web", "uid": "PersistentVolume"},
            ]},
        ]);
        let operations = added(&[set, guard], &[], &live(Value::Null));
        assert_eq!(operations.map(Value::from), Ok(expected));
    }

    #[test]
    fn others_are_kept_and_tested() {
        let present = json!([written("ConfigMap", false)]);
        let expected = json!([
            {"op": "test", "path": LIST, "value": present},
            {"op": "add", "path": format!("{LIST}/-"), "value": written("StatefulSet", true)},
        ]);
        let operations = added(&[owner("StatefulSet", true)], &[], &live(present));
        assert_eq!(operations.map(Value::from), Ok(expected));
        // An empty list is one too.
        let empty = added(&[owner("StatefulSet", true)], &[], &live(json!([])));
        assert_eq!(empty.map(|it| it[1]["path"].clone()), Ok(json!(format!("{LIST}/-"))));
    }

    #[test]
    fn a_reference_without_flags_is_replaced_in_the_same_patch() {
        let present = json!([written("ConfigMap", false), written("StatefulSet", false)]);
        let expected = json!([
            {"op": "test", "path": format!("{LIST}/1/uid"), "value": "StatefulSet"},
            {"op": "remove", "path": format!("{LIST}/1")},
            {"op": "add", "path": format!("{LIST}/-"), "value": written("StatefulSet", true)},
        ]);
        let set = || [owner("StatefulSet", true)];
        let operations = added(&set(), &[owner("StatefulSet", false)], &live(present.clone()));
        assert_eq!(operations.map(Value::from), Ok(expected));
        let gone = json!([written("ConfigMap", false)]);
        let told = added(&set(), &[owner("StatefulSet", false)], &live(gone));
        assert_eq!(told, Err("it has no owner reference to StatefulSet web".to_owned()));
    }

    #[test]
    fn nothing_is_added_to_a_claim_that_is_terminating_or_for_an_owner_without_uid() {
        let mut dying = live(Value::Null);
        dying["metadata"]["deletionTimestamp"] = json!("2026-11-01T12:00:00Z");
        let told = added(&[owner("StatefulSet", true)], &[], &dying).expect_err("it is refused");
        assert!(told.contains("deletionTimestamp"), "{told}");
        let unnamed = OwnerReference { uid: None, ..owner("StatefulSet", true) };
        let told = added(&[unnamed], &[], &live(Value::Null));
        assert_eq!(told, Err("the owner has no uid".to_owned()));
    }
}
