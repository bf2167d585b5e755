//! Events about a pod that waits for a volume.

use super::{Obstacle, PodClaim};
use crate::cluster::{Cx, Seen};
use crate::facts::{self, EventSeries};
use crate::model::{ClaimKey, Event, PodUse, Text, Threshold};

/// An event that is emitted only once and holds as long as the volume is attached elsewhere
/// (`reportMultiAttachError`).
const ELSEWHERE: &str = "Multi-Attach error";

/// Returns the newest series of events about volumes of a pod on a node that can still be true.
///
/// # Errors
/// When events were not read.
pub(super) fn newest<'a>(
    cx: &Cx<'a>,
    pod: &PodUse,
    claims: &[PodClaim],
) -> Seen<Option<EventSeries<'a>>> {
    let told = |series: &EventSeries| {
        let event = series.newest;
        REASONS.contains(&&*event.reason)
            && claims.iter().any(|claim| claim.is_meant(event))
            && is_still_so(cx, event, claims)
    };
    Ok(facts::event_series(cx, &pod.object())?.into_iter().find(told))
}

/// Returns what the scheduler last reported about a pod that has no node, if it blames a volume.
///
/// # Errors
/// When events were not read.
pub(super) fn of_scheduler<'a>(cx: &Cx<'a>, pod: &PodUse) -> Seen<Option<EventSeries<'a>>> {
    let limit = cx.settings().thresholds.get(Threshold::Stuck);
    let told = |series: &EventSeries| {
        &*series.newest.reason == "FailedScheduling"
            && series.last.is_some_and(|last| !cx.passed(last, limit))
    };
    Ok(facts::event_series(cx, &pod.object())?.into_iter().find(told))
}

/// The reasons of the attach/detach controller and of kubelet.
const REASONS: [&str; 2] = ["FailedAttachVolume", "FailedMount"];

/// Whether an event may still hold: a failure that lasts is reported repeatedly.
fn is_still_so(cx: &Cx, event: &Event, claims: &[PodClaim]) -> bool {
    let limit = cx.settings().thresholds.get(Threshold::Detach);
    event.last_seen.is_some_and(|last| !cx.passed(last, limit))
        || event.message.starts_with(ELSEWHERE)
            && claims.iter().any(|claim| claim.here.is_none() && claim.is_held())
}

/// What an event reports, where no object shows the cause.
pub(super) fn reported(series: &EventSeries, node: &Text) -> Obstacle {
    let (who, what) = match &*series.newest.reason {
        "FailedMount" => (format!("kubelet on node {node}"), "mount"),
        _ => ("the attach/detach controller".to_owned(), "attach"),
    };
    let cause = format!("{who} cannot {what} a volume ({})", series.brief());
    Obstacle::certain(cause, format!("fix this error; {who} retries"))
}

impl PodClaim<'_> {
    /// Whether an event may be about it. A volume that kubelet cannot mount need not be a claim.
    fn is_meant(&self, event: &Event) -> bool {
        &*event.reason == "FailedAttachVolume"
            || self.is_named(event)
            || &*event.reason == "FailedMount"
                && event.message.starts_with("Unable to attach or mount")
                && self.is_held()
    }

    /// Whether an event mentions it.
    pub(super) fn is_named(&self, event: &Event) -> bool {
        let ClaimKey { namespace, name } = &self.key;
        let volume = self.claim.and_then(|claim| claim.volume_name.as_deref());
        volume.is_some_and(|volume| event.message.contains(&format!("\"{volume}\"")))
            || event.message.contains(&format!("PVC {namespace}/{name}:"))
            || event.message.contains(&format!("persistentvolumeclaim \"{name}\""))
    }
}
