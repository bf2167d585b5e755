//! The last events about a volume.

use crate::cluster::{Cx, Seen};
use crate::model::{Event, ObjectRef, Volume};

/// A provisioner or the volume controller could not delete the backend volume.
pub const FAILED_DELETE: &str = "VolumeFailedDelete";
/// The volume controller could not scrub the volume.
pub const FAILED_RECYCLE: &str = "VolumeFailedRecycle";
/// The volume controller does not know the reclaim policy.
pub const UNKNOWN_POLICY: &str = "VolumeUnknownReclaimPolicy";

/// Returns the latest event about this volume, by uid, with one of these reasons; no reasons mean
/// any.
///
/// # Errors
/// When events were not read.
pub fn last_event<'a>(cx: &Cx<'a>, volume: &Volume, reasons: &[&str]) -> Seen<Option<&'a Event>> {
    last_event_about(cx, &volume.object(), reasons)
}

/// Returns the latest event about this object, by uid, with one of these reasons; no reasons mean
/// any.
///
/// # Errors
/// When events were not read.
pub fn last_event_about<'a>(
    cx: &Cx<'a>,
    object: &ObjectRef,
    reasons: &[&str],
) -> Seen<Option<&'a Event>> {
    let is_about_it = |event: &&&Event| match (&event.about_uid, &object.uid) {
        (Some(about), Some(uid)) => about == uid,
        (None, _) | (_, None) => true,
    };
    let wanted = |event: &&&Event| reasons.is_empty() || reasons.contains(&&*event.reason);
    let events = cx.events_of(&object.key)?;
    Ok(events.iter().rev().filter(is_about_it).find(wanted).copied())
}
