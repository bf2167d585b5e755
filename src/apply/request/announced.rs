//! The annotation of a volume that is announced.

use serde_json::Value;

use super::{Patch, UnfitObject, WriteRequest};
use crate::model::{ANNOUNCED, ObjectRef};

/// Annotates a volume, whatever it was annotated with before.
pub(in crate::apply) fn mark(
    volume: &ObjectRef,
    live: &Value,
    text: &str,
) -> Result<WriteRequest, UnfitObject> {
    let mut patch = Patch::on(volume, live)?;
    patch.annotate(ANNOUNCED, text);
    Ok(patch.request())
}
