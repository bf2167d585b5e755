//! How much was done lately, by the journal: limits that rest on it outlive a restart.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;

use super::History;
use crate::model::{ObjectKey, Time};

/// For how long a change counts.
const WINDOW: TimeDelta = TimeDelta::hours(1);

/// How many changes took place within the last hour, by the command or reconciler that asked for them.
///
/// `now` is the API server's time, as are the times of the records. A change is what one run did to
/// one object, in however many requests. What may have taken place counts, and what was refused does
/// not. An entry without a time is at most as old as the next one that has a time; where none follows,
/// and where the time of an entry lies after `now`, it counts: doubt leaves less room, never more.
pub fn rate(history: &History, now: Time) -> BTreeMap<String, usize> {
    let begin = now.checked_sub_signed(WINDOW).unwrap_or(Time::MIN_UTC);
    let mut counted: BTreeSet<(&str, &str, &ObjectKey)> = BTreeSet::new();
    let mut following: Option<Time> = None;
    for entry in history.entries.iter().rev() {
        following = entry.at.or(following);
        if following.is_none_or(|at| at > begin) && entry.may_have_written() {
            counted.insert((&entry.intent.command, &entry.run, &entry.intent.object.key));
        }
    }
    let mut rates = BTreeMap::new();
    for (command, _, _) in counted {
        *rates.entry(command.to_owned()).or_default() += 1;
    }
    rates
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::journal::{Entry, EntryOutcome, Intent, Outcome, SentRequest};
    use crate::model::{Kind, ObjectRef};

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
        rate(&history, time(0)).into_iter().collect()
    }

    #[test]
    fn what_may_have_taken_place_within_the_hour_counts_by_command() {
        use Outcome::{Done, Failed, Pending, Refused, Sent, Stale, Unanswered};
        let found = rates(vec![
            entry("gc", "old", "too-old", Some(3600), &[Sent, Done]),
            entry("gc", "r", "in-time", Some(3599), &[Sent, Done]),
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
}
