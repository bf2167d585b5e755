//! Number of recent changes, by the journal, for limits that outlive a restart; and which recorded requests may destroy
//! something. The request itself tells, so that this holds for lines of older versions as well.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use serde_json::Value;

use super::history::{Entry, SKEW};
use super::{History, Intent};
use crate::model::{Kind, Time, escape_control};

/// The duration for which a change counts.
const WINDOW: TimeDelta = TimeDelta::hours(1);

/// The number of changes within the last hour.
///
/// A change is what one run did to one object, in however many requests. It is counted if it took place or
/// may have; what was refused is not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rate {
    /// Number of all changes.
    pub changes: usize,
    /// Number of changes that may destroy something ([`Intent::may_destroy`](super::Intent::may_destroy)).
    pub destroying: usize,
    /// Number of all changes, by the command or reconciler that made them.
    pub by_command: BTreeMap<String, usize>,
    /// Reason why there may have been more changes; `None` where the journal covers the whole hour.
    pub incomplete: Option<String>,
}

impl Rate {
    /// Whether no changes are missing from these numbers: a reconciler with a limit changes nothing while some may be.
    pub fn is_complete(&self) -> bool {
        self.incomplete.is_none()
    }
}

/// Returns the number of changes within the last hour, by this journal alone: other journals count their own.
///
/// `now` is the API server's time, as are the times of the records. Doubt leaves less room, never more:
/// a change counts by the last of its records, which are not older than those before them; one without a
/// time is at most as old as the next one that has a time; one after `now` counts. That the last segments
/// were deleted, or all of them, cannot be told.
pub fn rate(history: &History, now: Time) -> Rate {
    let begin = now.checked_sub_signed(WINDOW + SKEW).unwrap_or(Time::MIN_UTC);
    let counts = |at: Option<Time>| at.is_none_or(|at| at > begin);
    let mut latest = Time::MIN_UTC;
    let mut times: Vec<Option<Time>> = Vec::with_capacity(history.entries.len());
    for entry in &history.entries {
        // A clock that was wrong for a moment must not count what follows for longer than that.
        let known = entry.at.filter(|at| *at <= now + SKEW);
        latest = known.map_or(latest, |at| at.max(latest));
        times.push(last_record(entry).map(|at| at.max(latest)));
    }
    let (mut all, mut destroying) = (BTreeSet::new(), BTreeSet::new());
    let mut following = None;
    for (entry, at) in history.entries.iter().zip(times).rev() {
        following = at.or(following);
        if counts(following) && entry.may_have_written() {
            let intent = &entry.intent;
            let change = (&*intent.command, &*entry.run, &intent.object.key, &intent.object.uid);
            all.insert(change);
            if intent.may_destroy() {
                destroying.insert(change);
            }
        }
    }
    let mut by_command = BTreeMap::new();
    for (command, ..) in &all {
        *by_command.entry((*command).to_owned()).or_default() += 1;
    }
    let doubt = history.doubts.iter().find(|it| counts(it.before)).map(|it| &it.why);
    let incomplete = history.distrusted.as_ref().or(doubt);
    Rate {
        changes: all.len(),
        destroying: destroying.len(),
        by_command,
        incomplete: incomplete.map(|why| escape_control(why).into_owned()),
    }
}

/// Returns the time of the last record of an entry.
fn last_record(entry: &Entry) -> Option<Time> {
    entry.outcomes.iter().filter_map(|it| it.at).chain(entry.at).max()
}

/// Actions that destroy nothing, whichever command they belong to.
const SAVING: [&str; 9] = [
    "record-announcement",
    "announce",
    "record-veto",
    "reserve-volume",
    "bind-volume",
    "create-claim",
    "add-finalizer",
    "create-snapshot",
    "remove-owner-references",
];

/// Kinds of which the guard alone consists.
const GUARD_KINDS: [Kind; 2] =
    [Kind::ValidatingAdmissionPolicy, Kind::ValidatingAdmissionPolicyBinding];

impl Intent {
    /// Whether the request makes a controller delete a backend volume, if the volume is Released or becomes so.
    pub fn reclaims(&self) -> bool {
        const POLICY: &str = "persistentVolumeReclaimPolicy";
        let body = &self.request.body;
        let sets = |it: &Value| {
            let path = it["path"].as_str().unwrap_or_default();
            it["op"] != "test" && path.ends_with(POLICY) && it["value"] == "Delete"
        };
        // That of a volume with the policy Delete does not set it again.
        self.action == "condemn-volume"
            || body["spec"][POLICY] == "Delete"
            || body.as_array().is_some_and(|operations| operations.iter().any(sets))
    }

    /// Whether the request deletes an object, has a backend volume deleted, or lets others do that: all
    /// requests but those that are known not to.
    pub fn may_destroy(&self) -> bool {
        match &*self.action {
            _ if GUARD_KINDS.contains(&self.object.key.kind) => false,
            "set-reclaim-policy" | "create-volume" => self.reclaims(),
            action => !SAVING.contains(&action),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::history::HistoryDoubt;
    use super::super::{EntryOutcome, Intent, Outcome, SentRequest};
    use super::*;
    use crate::model::{Kind, ObjectKey, ObjectRef};

    fn time(seconds: i64) -> Time {
        Time::from_timestamp(1_800_000_000 + seconds, 0).expect("a time")
    }

    /// An entry of a run about a volume, so many seconds ago.
    fn entry(command: &str, run: &str, volume: &str, ago: Option<i64>, ends: &[Outcome]) -> Entry {
        let ended =
            |outcome: &Outcome| EntryOutcome { at: None, outcome: *outcome, detail: String::new() };
        Entry {
            sequence: 1,
            at: ago.map(|ago| time(-ago)),
            run: run.to_owned(),
            term: None,
            intent: Intent {
                command: command.to_owned(),
                object: ObjectRef {
                    key: ObjectKey::cluster_wide(Kind::PersistentVolume, volume),
                    uid: None,
                },
                action: "set-reclaim-policy".to_owned(),
                because: "reclaim".to_owned(),
                request: SentRequest {
                    method: "PATCH".to_owned(),
                    path: String::new(),
                    content_type: String::new(),
                    body: Value::Null,
                },
                pre_image: None,
                backend: None,
                capacity: None,
                keeps: false,
                adds_finalizer: None,
                removes_finalizer: None,
                undoes: None,
            },
            outcomes: ends.iter().map(ended).collect(),
        }
    }

    fn rates(entries: Vec<Entry>) -> Vec<(String, usize)> {
        let history = History { entries, ..History::default() };
        let found = rate(&history, time(0));
        assert!(found.is_complete());
        assert_eq!(found.changes, found.by_command.values().sum::<usize>());
        found.by_command.into_iter().collect()
    }

    #[test]
    fn what_may_have_taken_place_within_the_hour_counts_by_command() {
        use Outcome::{Done, Failed, Pending, Refused, Sent, Stale, Unanswered};
        let found = rates(vec![
            entry("gc", "old", "too-old", Some(3660), &[Sent, Done]),
            entry("gc", "r", "in-time", Some(3659), &[Sent, Done]),
            entry("gc", "r", "refused", Some(50), &[Refused]),
            entry("gc", "r", "stale", Some(50), &[Stale]),
            entry("gc", "r", "failed", Some(50), &[Failed]),
            entry("gc", "r", "reverted", Some(50), &[Sent, Failed]),
            entry("gc", "r", "unanswered", Some(40), &[Unanswered]),
            entry("gc", "r", "pending", Some(30), &[Sent, Pending]),
            entry("retain", "r", "open", Some(20), &[]),
            entry("retain", "r", "sent", Some(20), &[Sent]),
        ]);
        assert_eq!(found, [("gc".to_owned(), 4), ("retain".to_owned(), 2)]);
        assert_eq!(rates(Vec::new()), []);
    }

    #[test]
    fn the_steps_of_one_change_count_once_and_two_runs_twice() {
        let found = rates(vec![
            entry("gc", "one", "a", Some(9), &[Outcome::Done]),
            entry("gc", "one", "a", Some(8), &[Outcome::Done]),
            entry("gc", "one", "b", Some(7), &[Outcome::Done]),
            entry("gc", "two", "a", Some(6), &[Outcome::Done]),
        ]);
        assert_eq!(found, [("gc".to_owned(), 3)]);
    }

    #[test]
    fn doubt_about_the_time_leaves_less_room() {
        let done = &[Outcome::Done][..];
        // Before one that is too old, it is too old as well.
        let known =
            vec![entry("gc", "r", "a", None, done), entry("gc", "r", "b", Some(4000), done)];
        assert_eq!(rates(known), []);
        for ago in [None, Some(-7200)] {
            let last = vec![entry("gc", "r", "a", ago, done)];
            assert_eq!(rates(last), [("gc".to_owned(), 1)], "{ago:?}");
        }
        let between = vec![
            entry("gc", "r", "a", Some(4000), done),
            entry("gc", "r", "b", None, done),
            entry("gc", "r", "c", Some(10), done),
        ];
        assert_eq!(rates(between), [("gc".to_owned(), 2)]);
    }

    #[test]
    fn what_may_destroy_is_counted_besides() {
        let saving = |volume: &str| {
            let mut entry = entry("retain", "r", volume, Some(9), &[Outcome::Done]);
            entry.intent.action = "bind-volume".to_owned();
            entry
        };
        let destroying = |volume: &str| {
            let mut entry = entry("gc", "r", volume, Some(8), &[Outcome::Done]);
            entry.intent.action = "delete-volume".to_owned();
            entry
        };
        let entries = vec![saving("a"), destroying("a"), destroying("a"), saving("b")];
        let found = rate(&History { entries, ..History::default() }, time(0));
        assert_eq!((found.changes, found.destroying), (3, 1));
        // Two objects of one name are two changes.
        let mut again = destroying("a");
        again.intent.object.uid = crate::model::Uid::parse("other");
        let entries = vec![destroying("a"), again];
        let found = rate(&History { entries, ..History::default() }, time(0));
        assert_eq!((found.changes, found.destroying), (2, 2));
    }

    #[test]
    fn a_change_is_as_old_as_its_last_record_and_not_older_than_those_before_it() {
        let mut late = entry("gc", "r", "late", Some(5000), &[Outcome::Done]);
        late.outcomes[0].at = Some(time(-60));
        assert_eq!(rates(vec![late]), [("gc".to_owned(), 1)]);
        let done = &[Outcome::Done][..];
        let backwards =
            vec![entry("gc", "r", "a", Some(60), done), entry("gc", "r", "b", Some(9000), done)];
        assert_eq!(rates(backwards), [("gc".to_owned(), 2)]);
        // A clock that was ahead for a moment counts once.
        let ahead =
            vec![entry("gc", "r", "a", Some(-9000), done), entry("gc", "r", "b", Some(9000), done)];
        assert_eq!(rates(ahead), [("gc".to_owned(), 1)]);
    }

    #[test]
    fn what_may_be_missing_from_the_hour_makes_it_incomplete() {
        let doubts = |before: &[Option<i64>]| {
            let doubt = |ago: &Option<i64>| HistoryDoubt {
                why: "a line\u{1b} cannot be read".to_owned(),
                before: ago.map(|ago| time(-ago)),
            };
            let doubts = before.iter().map(doubt).collect();
            rate(&History { doubts, ..History::default() }, time(0)).incomplete
        };
        assert_eq!(doubts(&[]), None);
        assert_eq!(doubts(&[Some(3660), Some(9000)]), None);
        for within in [None, Some(3659), Some(-60)] {
            let why = doubts(&[Some(9000), within]).expect("it is within the hour");
            assert!(why.contains("cannot be read") && !why.contains('\u{1b}'), "{why}");
        }
        let distrusted = Some("it was recorded in another cluster".to_owned());
        let history = History { distrusted: distrusted.clone(), ..History::default() };
        assert_eq!(rate(&history, time(0)).incomplete, distrusted);
    }

    #[test]
    fn what_is_not_known_to_save_may_destroy() {
        let policy = |op: &str, to: &str| {
            json!([
                {"op": "test", "path": "/spec/persistentVolumeReclaimPolicy", "value": "Delete"},
                {"op": op, "path": "/spec/persistentVolumeReclaimPolicy", "value": to},
            ])
        };
        let created = |policy: &str| json!({"spec": {"persistentVolumeReclaimPolicy": policy}});
        let volume = Kind::PersistentVolume;
        for (kind, action, body, reclaims, may_destroy) in [
            (volume, "set-reclaim-policy", policy("replace", "Delete"), true, true),
            (volume, "set-reclaim-policy", policy("replace", "Retain"), false, false),
            (volume, "set-reclaim-policy", policy("test", "Delete"), false, false),
            (volume, "condemn-volume", policy("test", "Delete"), true, true),
            (volume, "create-volume", created("Delete"), true, true),
            (volume, "create-volume", created("Retain"), false, false),
            (volume, "delete-volume", json!({"preconditions": {}}), false, true),
            (volume, "remove-finalizer", json!([]), false, true),
            (volume, "reserve-volume", json!([]), false, false),
            (volume, "of a later version", Value::Null, false, true),
            (Kind::Namespace, "delete-with-claims", Value::Null, false, true),
            (Kind::ValidatingAdmissionPolicy, "delete", Value::Null, false, false),
        ] {
            let intent = Intent {
                command: "gc".to_owned(),
                object: ObjectRef { key: ObjectKey::cluster_wide(kind, "a"), uid: None },
                action: action.to_owned(),
                because: String::new(),
                request: SentRequest {
                    method: String::new(),
                    path: String::new(),
                    content_type: String::new(),
                    body,
                },
                pre_image: None,
                backend: None,
                capacity: None,
                keeps: false,
                adds_finalizer: None,
                removes_finalizer: None,
                undoes: None,
            };
            let body = &intent.request.body;
            assert_eq!(intent.reclaims(), reclaims, "{action} {body}");
            assert_eq!(intent.may_destroy(), may_destroy, "{action} {body}");
        }
    }
}
