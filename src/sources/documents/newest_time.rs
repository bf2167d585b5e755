//! Finds the newest time that the API server or a controller wrote into the objects of a dump.
//!
//! A dump that does not say when it was taken was taken no earlier.

use std::sync::LazyLock;

use chrono::TimeDelta;
use memchr::memmem::{Finder, rfind};
use serde::Deserialize;

use crate::model::{Kind, Time, parse_time};

/// The members that hold such a time: of metadata and its managed fields, conditions, errors,
/// containers, nodes, events and leases.
const MEMBERS: [&str; 24] = [
    "acquireTime",
    "completionTime",
    "creationTime",
    "creationTimestamp",
    "deprecatedFirstTimestamp",
    "deprecatedLastTimestamp",
    "eventTime",
    "finishedAt",
    "firstTimestamp",
    "lastHeartbeatTime",
    "lastObservedTime",
    "lastPhaseTransitionTime",
    "lastProbeTime",
    "lastScaleTime",
    "lastScheduleTime",
    "lastSuccessfulTime",
    "lastTimestamp",
    "lastTransitionTime",
    "lastUpdateTime",
    "renewTime",
    "startTime",
    "startedAt",
    "time",
    "timeAdded",
];
/// Lies in the future by as much as the object is given to end.
const DELETION: &str = "deletionTimestamp";
/// `2026-01-01T00:00:00`, in which later times are greater texts.
const SECONDS: usize = 19;
/// The longest text of a time, with nanoseconds.
const LONGEST: usize = 30;

static END_OF_TIME: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("Z\""));

/// The newest time so far.
#[derive(Debug, Default)]
pub(super) struct NewestTime {
    /// When the dump is read. What is said to have happened later did not.
    now: Option<Time>,
    newest: Option<Time>,
    /// One that lies after that.
    later: Option<Time>,
    /// The same as text, to which others are compared before they are parsed.
    text: [u8; SECONDS],
}

/// What tells how long before its deletion timestamp an object was deleted.
#[derive(Deserialize)]
struct DeletedObject {
    metadata: DeletionGrace,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeletionGrace {
    deletion_grace_period_seconds: Option<i64>,
}

impl NewestTime {
    /// Begins a look at a dump that is read now.
    pub(super) fn until(now: Option<Time>) -> Self {
        Self { now, ..Self::default() }
    }

    /// Looks through an object in JSON.
    pub(super) fn look(&mut self, kind: Kind, body: &str) {
        let bytes = body.as_bytes();
        for end in END_OF_TIME.find_iter(bytes) {
            let from = end.saturating_sub(LONGEST);
            let Some(quote) = memchr::memrchr(b'"', &bytes[from..end]) else { continue };
            let start = from + quote + 1;
            let is_newer = bytes[start..end].get(..SECONDS).is_some_and(|it| *it > self.text[..]);
            if is_newer && let Some(member) = member_before(bytes, start - 1) {
                self.note(kind, member, body, &body[start..=end]);
            }
        }
    }

    fn note(&mut self, kind: Kind, member: &[u8], body: &str, text: &str) {
        let Ok(Some(mut time)) = parse_time(text) else { return };
        if member == DELETION.as_bytes() {
            let grace = serde_json::from_str::<DeletedObject>(body).ok();
            let grace = grace.and_then(|it| it.metadata.deletion_grace_period_seconds);
            // Only pods are given time.
            let grace = grace.or((kind != Kind::Pod).then_some(0)).and_then(TimeDelta::try_seconds);
            let Some(asked) = grace.and_then(|grace| time.checked_sub_signed(grace)) else {
                return;
            };
            time = asked;
        } else if !MEMBERS.iter().any(|known| known.as_bytes() == member) {
            return;
        }
        if self.now.is_some_and(|now| now < time) {
            self.later = Some(time);
        } else if self.newest.is_none_or(|newest| newest < time) {
            self.newest = Some(time);
            let text = time.format("%Y-%m-%dT%H:%M:%S").to_string();
            if let Ok(text) = text.as_bytes().try_into() {
                self.text = text;
            }
        }
    }

    /// The newest time of all objects that has passed; a later one only if there is no other.
    pub(super) fn get(&self) -> Option<Time> {
        self.newest.or(self.later)
    }
}

/// Returns the name of the member whose value begins with the quote at `at`.
fn member_before(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let key =
        bytes[..at].trim_ascii_end().strip_suffix(b":")?.trim_ascii_end().strip_suffix(b"\"")?;
    Some(&key[rfind(key, b"\"")? + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn newest(kind: Kind, body: &str) -> Option<String> {
        let mut newest = NewestTime::default();
        newest.look(kind, body);
        newest.get().as_ref().map(crate::model::format_time)
    }

    #[test]
    fn the_newest_time_that_was_written_counts() {
        for (body, expected) in [
            (
                r#"{"metadata":{"creationTimestamp":"2026-01-01T00:00:00Z"}}"#,
                Some("2026-01-01T00:00:00Z"),
            ),
            (
                r#"{"a":{"creationTimestamp": "2026-01-01T00:00:00Z"},"status":{"conditions":[{"lastTransitionTime":
                "2026-01-03T00:00:00Z"}],"lastPhaseTransitionTime" : "2026-01-02T00:00:00Z"}}"#,
                Some("2026-01-03T00:00:00Z"),
            ),
            (
                r#"{"status":{"attachError":{"time":"2026-01-01T00:00:00.5Z"}}}"#,
                Some("2026-01-01T00:00:00.500Z"),
            ),
            (
                r#"{"spec":{"renewTime":"2026-01-01T00:00:00.000001Z"}}"#,
                Some("2026-01-01T00:00:00.000001Z"),
            ),
            (
                r#"{"metadata":{"annotations":{"restartedAt":"2026-01-01T00:00:00Z","a":"{\"time\":\"2026-01-01T00:00:00Z\"}"}}}"#,
                None,
            ),
            (
                r#"{"status":{"time":"soonZ","startedAt":"2026-13-01T00:00:00Z","lastTimestamp":null}}"#,
                None,
            ),
            (r#"{"status":{"startedAt":"0001-01-01T00:00:00Z"}}"#, None),
            ("", None),
            ("Z\"", None),
        ] {
            assert_eq!(newest(Kind::PersistentVolume, body).as_deref(), expected, "{body}");
        }
    }

    #[test]
    fn one_time_that_has_not_come_moves_no_clock() {
        let now = parse_time("2026-02-01T00:00:00Z").expect("a time");
        let mut newest = NewestTime { now, ..NewestTime::default() };
        let odd = r#"{"spec":{"renewTime":"9999-01-01T00:00:00Z"}}"#;
        newest.look(Kind::Lease, odd);
        assert!(newest.get() > now, "there is no other");
        for day in ["2026-01-02", "2026-01-03", "2026-01-01"] {
            newest.look(Kind::Pod, &format!(r#"{{"startedAt":"{day}T00:00:00Z"}}"#));
            newest.look(Kind::Lease, odd);
        }
        assert_eq!(newest.get(), parse_time("2026-01-03T00:00:00Z").expect("a time"));
    }

    #[test]
    fn a_deletion_began_before_its_grace_period() {
        let grace = r#"{"metadata":{"deletionGracePeriodSeconds":60,"deletionTimestamp":"2026-01-01T00:01:00Z"}}"#;
        assert_eq!(newest(Kind::Pod, grace).as_deref(), Some("2026-01-01T00:00:00Z"));
        let bare = r#"{"metadata":{"deletionTimestamp":"2026-01-01T00:01:00Z"}}"#;
        assert_eq!(newest(Kind::Pod, bare), None);
        assert_eq!(newest(Kind::PersistentVolume, bare).as_deref(), Some("2026-01-01T00:01:00Z"));
    }
}
