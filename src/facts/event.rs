//! Events about an object, folded into series: what a controller says, how often, since when.
//!
//! Events are untrusted: a client that may create events can write any reason, message and component.
//! They are evidence that is shown, and never permit a change.

use std::hash::{DefaultHasher, Hash, Hasher};

use hashbrown::HashMap;

use super::owner;
use crate::cluster::{Cx, Seen};
use crate::model::{Event, Kind, ObjectRef, Time, Volume, format_time, shorten};

/// Reason of events: a provisioner or the volume controller could not delete the backend volume.
pub const FAILED_DELETE: &str = "VolumeFailedDelete";
/// Reason of events: the volume controller could not scrub the volume.
pub const FAILED_RECYCLE: &str = "VolumeFailedRecycle";
/// Reason of events: the volume controller does not know the reclaim policy.
pub const UNKNOWN_POLICY: &str = "VolumeUnknownReclaimPolicy";

/// Largest number of characters of an error that a summary quotes.
const QUOTED: usize = 120;
/// Number of words of a message that decide to which series it belongs.
const COMPARED: usize = 150;

/// The components of Kubernetes that report errors about storage, besides provisioners.
const COMPONENTS: [&str; 10] = [
    "persistentvolume-controller",
    "attachdetach-controller",
    "volume_expand",
    "volume-expand-controller",
    "pvc-protection-controller",
    "pv-protection-controller",
    "statefulset-controller",
    "default-scheduler",
    "kubelet",
    "snapshot-controller",
];

/// Events of one component about one object that say the same, apart from ids, times, addresses and
/// counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventSeries<'a> {
    /// The newest event of the series.
    pub newest: &'a Event,
    /// Number of occurrences, according to the events that still exist.
    pub count: u64,
    /// Time of the first occurrence, according to the events that still exist.
    pub first: Option<Time>,
    /// Time of the last occurrence.
    pub last: Option<Time>,
}

impl EventSeries<'_> {
    /// Returns the newest message, with count and times: `MESSAGE (37 times, first T, last T)`.
    pub fn describe(&self) -> String {
        let message = &self.newest.message;
        let message = if message.is_empty() { "<no message>" } else { message };
        let (first, last) =
            (self.first.as_ref().map(format_time), self.last.as_ref().map(format_time));
        match (self.count, first, last) {
            (0 | 1, _, None) => message.to_owned(),
            (0 | 1, _, Some(last)) => format!("{message} ({last})"),
            (count, Some(first), Some(last)) if first != last => {
                format!("{message} ({count} times, first {first}, last {last})")
            }
            (count, _, Some(last)) => format!("{message} ({count} times, last {last})"),
            (count, _, None) => format!("{message} ({count} times)"),
        }
    }

    /// Returns the summary after the reason: `REASON: MESSAGE (…)`.
    pub fn describe_with_reason(&self) -> String {
        format!("{}: {}", self.newest.reason, self.describe())
    }

    /// Returns the newest message in one line, cut at a word after about 120 characters, for summaries.
    pub fn brief(&self) -> String {
        brief_error(&self.newest.message)
    }
}

/// Returns an error in one line, cut at a word after about 120 characters, for summaries.
pub fn brief_error(message: &str) -> String {
    shorten(message, QUOTED)
}

/// Returns the newest series of events about this volume, by uid, with one of these reasons; no
/// reasons mean any.
///
/// # Errors
/// When events were not read.
pub fn last_event<'a>(
    cx: &Cx<'a>,
    volume: &Volume,
    reasons: &[&str],
) -> Seen<Option<EventSeries<'a>>> {
    last_event_about(cx, &volume.object(), reasons)
}

/// Returns the newest series of events about this object, by uid, with one of these reasons; no
/// reasons mean any.
///
/// # Errors
/// When events were not read.
pub fn last_event_about<'a>(
    cx: &Cx<'a>,
    object: &ObjectRef,
    reasons: &[&str],
) -> Seen<Option<EventSeries<'a>>> {
    let wanted =
        |series: &EventSeries| reasons.is_empty() || reasons.contains(&&*series.newest.reason);
    Ok(event_series(cx, object)?.into_iter().find(wanted))
}

/// Returns every series of events about this object, by uid, newest first.
///
/// # Errors
/// When events were not read.
pub fn event_series<'a>(cx: &Cx<'a>, object: &ObjectRef) -> Seen<Vec<EventSeries<'a>>> {
    Ok(fold(events_about(cx, object)?.into_iter().rev()))
}

/// Returns the newest error about this object that a component reports which is responsible for it:
/// its provisioner, kube-controller-manager, the scheduler, the kubelet.
///
/// # Errors
/// When events were not read.
pub fn last_error<'a>(cx: &Cx<'a>, object: &ObjectRef) -> Seen<Option<EventSeries<'a>>> {
    let mut events = events_about(cx, object)?;
    let driver = match object.key.kind {
        Kind::PersistentVolume => cx.volume(&object.key.name).ok().flatten().map(owner),
        _ => None,
    };
    let driver = driver.as_ref().map(|owner| &**owner.name());
    events.retain(|event| event.warning && is_responsible(&event.component, driver));
    Ok(fold(events.into_iter().rev()).into_iter().next())
}

/// Returns the events about an object, by uid, oldest first.
fn events_about<'a>(cx: &Cx<'a>, object: &ObjectRef) -> Seen<Vec<&'a Event>> {
    let mut events = cx.events_of(&object.key)?;
    events.retain(|event| match (&event.about_uid, &object.uid) {
        (Some(about), Some(uid)) => about == uid,
        (None, _) | (_, None) => true,
    });
    Ok(events)
}

/// Folds events, newest first, into series, newest first.
fn fold<'a>(newest_first: impl Iterator<Item = &'a Event>) -> Vec<EventSeries<'a>> {
    let mut series: Vec<EventSeries> = Vec::new();
    let mut known: HashMap<(&str, &str, u64), usize> = HashMap::new();
    for event in newest_first {
        let index =
            *known.entry((&*event.reason, component(event), key(event))).or_insert(series.len());
        let first = event.first_seen.or(event.last_seen);
        if let Some(it) = series.get_mut(index) {
            it.count = it.count.saturating_add(u64::from(event.count.max(1)));
            it.first = it.first.into_iter().chain(first).min();
            it.last = it.last.max(event.last_seen);
        } else {
            let count = u64::from(event.count.max(1));
            series.push(EventSeries { newest: event, count, first, last: event.last_seen });
        }
    }
    series
}

/// Returns the component without the host and the instance that a provisioner adds to its name
/// (`<driver>_<host>_<uuid>`).
fn component(event: &Event) -> &str {
    event.component.split_once('_').map_or(&*event.component, |(name, _)| name)
}

/// Whether a component is one that acts on storage; `driver` is the driver or provisioner of the
/// volume, if it is known.
fn is_responsible(component: &str, driver: Option<&str>) -> bool {
    if COMPONENTS.contains(&component) || component.is_empty() {
        return true; // Very old servers and dumps written by hand name no component.
    }
    if let Some((name, instance)) = component.split_once('_') {
        return driver.map_or_else(|| instance.contains('_'), |driver| driver == name);
    }
    let sidecar = component.strip_prefix("external-resizer ");
    sidecar.is_some_and(|name| driver.is_none_or(|driver| driver == name))
        || component.ends_with("-scheduler")
}

/// Returns a hash of what the messages of one series have in common: the message without the words that contain digits
/// (ids, times, addresses, counts). Codes remain, since they say what kind of error it is.
fn key(event: &Event) -> u64 {
    let mut hash = DefaultHasher::new();
    let words = event.message.split(|c: char| !(c.is_alphanumeric() || "-.:".contains(c)));
    let words = words.map(|word| word.trim_matches([':', '.', '-']));
    let mut before = "";
    for word in words.filter(|word| !word.is_empty()).take(COMPARED) {
        let varies = word.contains(|c: char| c.is_ascii_digit()) && !is_code(before, word);
        if varies { "#" } else { word }.hash(&mut hash);
        before = word;
    }
    hash.finish()
}

/// Whether a number is the code of an error, as in `StatusCode=403` or `exit status 1`.
fn is_code(before: &str, word: &str) -> bool {
    let before = before.to_ascii_lowercase();
    word.len() <= 5
        && word.bytes().all(|byte| byte.is_ascii_digit())
        && ["code", "status", "http", "errno", "error"].iter().any(|end| before.ends_with(end))
}

#[cfg(test)]
mod tests;
