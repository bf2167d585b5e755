//! The patch of the retention policy of a set.

use serde_json::{Value, json};

use super::{Patch, UnfitObject, WriteRequest};
use crate::model::{ObjectRef, RetentionPolicy};

/// Replaces the fields that change, and tests both: what a change means for claims depends on both.
pub(super) fn set(
    set: &ObjectRef,
    from: &RetentionPolicy,
    to: &RetentionPolicy,
    live: &Value,
) -> Result<WriteRequest, UnfitObject> {
    let mut patch = Patch::on(set, live)?;
    // Its controller updates no claim of a Terminating set.
    patch.tests("/metadata/deletionTimestamp", &Value::Null)?;
    let fields = [
        ("whenDeleted", &from.when_deleted, &to.when_deleted),
        ("whenScaled", &from.when_scaled, &to.when_scaled),
    ];
    let at = |field: &str| format!("/spec/persistentVolumeClaimRetentionPolicy/{field}");
    for (field, from, _) in fields {
        patch.tests(&at(field), &json!(from.to_string()))?;
    }
    for (field, from, to) in fields {
        if from != to {
            patch.push(json!({"op": "replace", "path": at(field), "value": to.to_string()}));
        }
    }
    Ok(patch.request())
}
