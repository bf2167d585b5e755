//! Facts that the objects of a foreign dump show besides their rows, and the newest time that the API server or a
//! controller wrote into objects.
//!
//! A dump that does not say when it was taken was taken no earlier.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use chrono::TimeDelta;
use memchr::memmem::{Finder, rfind};
use serde::Deserialize;

use super::super::intake::Intake;
use crate::cluster::Change;
use crate::dump::DumpObject;
use crate::model::{
    Answer, CUSTOM_KINDS, CustomKind, CustomUser, CustomUsers, Kind, Lease, LeaseMoment, OF_A_DUMP,
    Question, Row, Server, Text, Time, UnlistedKind, parse_time,
};
use crate::objects::CustomObject;

/// Time by which clocks may be ahead of the time of a dump: as far as that of a Lease of the usual duration.
const AHEAD: TimeDelta = TimeDelta::seconds(45);

/// Time of the last renewal of each Lease of a list, by namespace and name.
type Renewals = BTreeMap<(Text, Box<str>), Option<Time>>;

/// Facts that were found so far.
#[derive(Debug, Default)]
pub(super) struct SeenBeside {
    /// The custom resources that use claims, by namespace.
    users: BTreeMap<Text, Vec<CustomUser>>,
    /// The renewals of the Leases of each list.
    leases: BTreeMap<(Arc<str>, usize), Renewals>,
    /// The versions of kubelets.
    kubelets: BTreeSet<(u32, u32)>,
}

/// The part of a Lease that shows when it was listed.
#[derive(Deserialize)]
struct RenewedLease {
    spec: LeaseRenewal,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LeaseRenewal {
    renew_time: Option<String>,
}

/// The part of a Node that shows the version of its kubelet.
#[derive(Deserialize)]
struct VersionedNode {
    #[serde(default)]
    metadata: NodeLabels,
    status: NodeStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NodeLabels {
    labels: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeStatus {
    node_info: NodeInfo,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeInfo {
    kubelet_version: String,
}

impl SeenBeside {
    /// Reads an object that has no row. A Secret answers a question; nothing but its name is read.
    pub(super) fn answer(
        &mut self,
        object: &DumpObject<'_>,
        is_foreign: bool,
    ) -> Option<(Question, Answer)> {
        if !is_foreign {
            return None;
        }
        if (object.api_version, object.kind) == ("v1", "Secret") {
            let (namespace, name) = (object.namespace.into(), object.name.into());
            return Some((Question::SecretExists { namespace, name }, Answer::Yes));
        }
        let group = object.api_version.split_once('/')?.0;
        let kind = CustomKind::find(group, object.kind)?;
        let custom: CustomObject = serde_json::from_str(object.body).ok()?;
        let user = custom.user(kind, object.namespace.is_empty())?;
        self.users.entry(object.namespace.into()).or_default().push(user);
        None
    }

    /// Reads an object that has a row.
    pub(super) fn look(&mut self, kind: Kind, object: &DumpObject<'_>) {
        match kind {
            Kind::Lease => {
                let Some(list) = object.list else { return };
                let renewed = serde_json::from_str::<RenewedLease>(object.body).ok();
                let renewed = renewed.and_then(|it| it.spec.renew_time);
                let renewed = renewed.and_then(|it| parse_time(&it).ok().flatten());
                let leases =
                    self.leases.entry((Arc::clone(&object.origin.file), list)).or_default();
                leases.insert((object.namespace.into(), object.name.into()), renewed);
            }
            Kind::Node => {
                let node = serde_json::from_str::<VersionedNode>(object.body).ok();
                self.kubelets.extend(node.and_then(|it| it.kubelet()));
            }
            _ => {}
        }
    }

    /// Applies what only the end of a dump shows, once its time is known.
    pub(super) fn conclude(&mut self, intake: &mut Intake) {
        let unlisted: Vec<_> = CUSTOM_KINDS
            .iter()
            .map(|kind| UnlistedKind { kind, reason: OF_A_DUMP.into() })
            .collect();
        for (namespace, users) in std::mem::take(&mut self.users) {
            let users = CustomUsers { users, unlisted: unlisted.clone() };
            let answer = Answer::Users(Arc::new(users));
            intake.apply(Change::Seen(Row::Answer(Question::CustomUsers { namespace }, answer)));
        }
        // What replaces an odd one would be taken for a whole one.
        let legible = |it: &&Lease| {
            let (kind, namespace) = (Kind::Lease, &*it.namespace);
            intake.cluster.legible(kind, namespace, &it.metadata.name).is_ok()
        };
        let rows: Vec<_> = intake.cluster.leases().filter(legible).cloned().collect();
        // A time that has not come tells not when a list was read, and anybody with a namespace can
        // write one: against it every other Lease would be old.
        let limit = intake.cluster.clock().and_then(|now| now.checked_add_signed(AHEAD));
        let has_come = |time: &Time| limit.is_none_or(|limit| *time <= limit);
        for mut lease in rows {
            let key = (Text::clone(&lease.namespace), lease.metadata.name.clone());
            let mut lists = self.leases.values().filter(|it| it.contains_key(&key));
            lease.read = match (lists.next(), lists.next()) {
                (Some(list), None) => {
                    let others = list.iter().filter(|(other, _)| **other != key);
                    let latest = others.filter_map(|(_, renewed)| *renewed).filter(has_come).max();
                    latest.map_or(LeaseMoment::Alone, LeaseMoment::Beside)
                }
                _ => LeaseMoment::Alone,
            };
            intake.apply(Change::Seen(Row::Lease(Box::new(lease))));
        }
    }

    /// Returns the server that the kubelets allow.
    pub(super) fn server(&self) -> Option<Server> {
        Server::of_kubelets(self.kubelets.iter().copied())
    }
}

impl VersionedNode {
    /// Returns the minor version of a kubelet. What calls itself one without running pods on a machine says any
    /// version.
    fn kubelet(&self) -> Option<(u32, u32)> {
        let version = &self.status.node_info.kubelet_version;
        let is_virtual = self.metadata.labels.get("type").is_some_and(|it| it == "virtual-kubelet");
        if is_virtual || version.contains("-vk") {
            return None;
        }
        let mut parts = version.strip_prefix('v')?.split('.');
        let number = |text: Option<&str>| text?.parse().ok();
        Some((number(parts.next())?, number(parts.next())?))
    }
}

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
/// The member that lies in the future by as much as the object is given to end.
const DELETION: &str = "deletionTimestamp";
/// Length of `2026-01-01T00:00:00`, in which later times are greater texts.
const SECONDS: usize = 19;
/// Length of the longest text of a time, with nanoseconds.
const LONGEST: usize = 30;

static END_OF_TIME: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("Z\""));

/// The newest time so far.
#[derive(Debug, Default)]
pub(super) struct NewestTime {
    /// The time at which the dump is read. What is said to have happened later did not.
    now: Option<Time>,
    newest: Option<Time>,
    /// A time that lies after that.
    later: Option<Time>,
    /// The newest time as text, to which others are compared before they are parsed.
    text: [u8; SECONDS],
}

/// The part of an object that shows how long before its deletion timestamp it was deleted.
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

    /// Returns the newest time of all objects that has passed; a later one only if there is no other.
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
