//! Pause of reconcilers, by the `ConfigMap` with which a user can stop all of them at once.
//!
//! Doubt stops them: one that is missing, is being deleted, cannot be read or makes no sense means paused.
//! Its keys: `paused` (`true` or `false`), `since` and `cluster`, which show a copy of it, and for people
//! `by` and `reason`. A user who may write it can choose all of them.

use std::collections::BTreeMap;

use chrono::TimeDelta;

use crate::apply::{RecordWriter, StoredConfigMap};
use crate::client::Connection;
use crate::model::{Text, Time, format_time, parse_time};

/// The name of the `ConfigMap`, in the namespace in which `watch` runs.
pub(crate) const PAUSE: &str = "kubectl-storage-watch";
/// Description of the `ConfigMap`, for people who find it.
pub(crate) const ABOUT_PAUSE: &str = "Whether kubectl storage watch may act. Without this ConfigMap, and with any other value of \
                                      `paused` than \"false\", it changes nothing.";
/// The key that decides whether reconcilers may act.
const PAUSED: &str = "paused";
const SINCE: &str = "since";
const BY: &str = "by";
const REASON: &str = "reason";
/// The key of the uid of the cluster in which reconcilers were resumed: where the record was restored or copied,
/// nothing acts by it.
const CLUSTER: &str = "cluster";
/// Longest time after `since` at which the record may have been created: the client that resumes asks for the time
/// first.
const RESTORED: TimeDelta = TimeDelta::minutes(1);

/// State of the pause: whether reconcilers may act, and who decided that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pause {
    /// The state of the `ConfigMap`.
    pub(crate) record: PauseRecord,
    /// The time of the decision, by the API server's clock.
    pub(crate) since: Option<Time>,
    /// The user who decided, by the name that the API server knew.
    pub(crate) by: Option<String>,
    /// The reason that the user gave.
    pub(crate) reason: Option<String>,
    /// The uid of the cluster in which reconcilers were resumed.
    pub(crate) cluster: Option<String>,
}

/// Reads whether reconcilers may act whose `watch` runs in this namespace. Nothing acts on an answer that is
/// older than a moment: it is read before each change.
pub(crate) async fn read(connection: &Connection, field_manager: &str, namespace: &str) -> Pause {
    let writer = RecordWriter::new(connection, field_manager, (namespace, PAUSE));
    let (read, cluster) = futures::join!(writer.read(), writer.cluster());
    let read = read.as_ref().map(Option::as_ref).map_err(ToString::to_string);
    Pause::of(read, cluster.as_deref().map_err(String::as_str))
}

/// Reads whether reconcilers may act by the records in these namespaces: the first has to say so, and none of
/// the others anything else.
pub(crate) async fn read_all(
    connection: &Connection,
    field_manager: &str,
    namespaces: &[Text],
) -> Pause {
    let read = namespaces.iter().map(|it| read(connection, field_manager, it));
    let read = futures::future::join_all(read).await.into_iter();
    let read = namespaces.iter().map(|it| &**it).zip(read);
    read.reduce(|first, other| (first.0, first.1.beside(other.0, other.1)))
        .map_or_else(|| Pause::of(Ok(None), Err("it was not read")), |it| it.1)
}

/// State of the `ConfigMap`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PauseRecord {
    /// The record says that reconcilers may act.
    Resumed,
    /// The record says that reconcilers may not act.
    Paused,
    /// There is no record.
    Missing,
    /// The record makes no sense, for this reason.
    Malformed(String),
    /// The record could not be read, for this reason.
    Unreadable(String),
}

impl PauseRecord {
    /// Returns the public name of the state.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Resumed => "resumed",
            Self::Paused => "paused",
            Self::Missing => "missing",
            Self::Malformed(_) => "malformed",
            Self::Unreadable(_) => "unreadable",
        }
    }
}

impl Pause {
    /// Returns the pause by the `ConfigMap` in the cluster with this uid; `Err` is why either could not be read.
    pub(crate) fn of(
        read: Result<Option<&StoredConfigMap>, String>,
        cluster: Result<&str, &str>,
    ) -> Self {
        let alone = |record| Self { record, since: None, by: None, reason: None, cluster: None };
        let stored = match read {
            Ok(Some(stored)) if !stored.is_terminating() => stored,
            Ok(_) => return alone(PauseRecord::Missing),
            Err(reason) => return alone(PauseRecord::Unreadable(reason)),
        };
        let text = |key| stored.value(key).filter(|it: &&str| !it.is_empty()).map(str::to_owned);
        let since = text(SINCE).map(|it| parse_time(&it).ok().flatten().ok_or(it));
        let record = match stored.value(PAUSED) {
            Some("true") => PauseRecord::Paused,
            Some("false") => match (defect(stored, since.as_ref()), cluster) {
                (Some(defect), _) => PauseRecord::Malformed(defect),
                (None, Err(reason)) => PauseRecord::Unreadable(format!(
                    "unknown whether it is of this cluster, whose identity is unknown: {reason}"
                )),
                (None, Ok(own)) if stored.value(CLUSTER) != Some(own) => {
                    PauseRecord::Malformed(format!(
                        "{CLUSTER} is not {own}, which is this one: it was restored or copied, or not \
                         written by `watch resume`"
                    ))
                }
                (None, Ok(_)) => PauseRecord::Resumed,
            },
            Some(other) => {
                PauseRecord::Malformed(format!("{PAUSED} is {other:?}, not \"true\" or \"false\""))
            }
            None => PauseRecord::Malformed(format!("it has no key {PAUSED}")),
        };
        let since = since.and_then(Result::ok);
        Self { record, since, by: text(BY), reason: text(REASON), cluster: text(CLUSTER) }
    }

    /// Whether reconcilers may act: only where the record in the cluster says so.
    pub(crate) const fn may_act(&self) -> bool {
        matches!(self.record, PauseRecord::Resumed)
    }

    /// Returns the pause by this record and another one in this namespace: paused wins. One that is not there says
    /// nothing.
    fn beside(self, namespace: &str, other: Self) -> Self {
        let place = |why: &str| format!("configmap {namespace}/{PAUSE}: {why}");
        let record = match other.record {
            _ if !self.may_act() => return self,
            PauseRecord::Missing | PauseRecord::Resumed => return self,
            PauseRecord::Paused => PauseRecord::Paused,
            PauseRecord::Malformed(why) => PauseRecord::Malformed(place(&why)),
            PauseRecord::Unreadable(why) => PauseRecord::Unreadable(place(&why)),
        };
        let reason = Some(place(other.reason.as_deref().unwrap_or("no reason was given")));
        Self { record, reason, ..other }
    }

    /// Returns the keys and values of the record, where it is resumed or paused, with those that others keep in it.
    pub(crate) fn data(&self, over: Option<&StoredConfigMap>) -> BTreeMap<String, String> {
        let of_others = over.into_iter().flat_map(|over| {
            let all = foreign_keys(over).into_iter();
            all.filter_map(move |key| Some((key.to_owned(), over.value(key)?.to_owned())))
        });
        let since = self.since.as_ref().map(format_time);
        let paused = !self.may_act();
        [
            (PAUSED, Some(paused.to_string())),
            (SINCE, since),
            (BY, self.by.clone()),
            (REASON, self.reason.clone()),
            (CLUSTER, self.cluster.clone()),
        ]
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)))
        .chain(of_others)
        .collect()
    }
}

/// Returns why nothing acts by a record that says that reconcilers may act.
fn defect(stored: &StoredConfigMap, since: Option<&Result<Time, String>>) -> Option<String> {
    let foreign = foreign_keys(stored);
    if !foreign.is_empty() {
        return Some(format!("it has other keys: {}", foreign.join(", ")));
    }
    if stored.is_immutable() {
        return Some("it is immutable, so it could not be paused".to_owned());
    }
    match since {
        None => Some(format!("it has no key {SINCE}")),
        Some(Err(since)) => Some(format!("{SINCE} is {since:?}, which is not a time")),
        Some(Ok(since)) if stored.created().is_some_and(|it| it > *since + RESTORED) => {
            Some(format!("it was created later than {SINCE}: it was restored or copied"))
        }
        Some(Ok(_)) => None,
    }
}

/// Whether a record lets something act for a client that does not look closely: what pauses must not rest on anything
/// else in it.
pub(crate) fn says_resumed(stored: Option<&StoredConfigMap>) -> bool {
    stored.is_some_and(|it| !it.is_terminating() && it.value(PAUSED) == Some("false"))
}

/// Returns the keys that do not belong to the record: something else is stored under its name, and nothing acts by it.
pub(crate) fn foreign_keys(stored: &StoredConfigMap) -> Vec<&str> {
    stored.keys().filter(|key| ![PAUSED, SINCE, BY, REASON, CLUSTER].contains(key)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn stored(data: &Value) -> StoredConfigMap {
        let object = json!({"metadata": {"name": PAUSE, "uid": "u"}, "data": data});
        StoredConfigMap::of(object).expect("it has a uid")
    }

    fn of(stored: Option<&StoredConfigMap>) -> Pause {
        Pause::of(Ok(stored), Ok("here"))
    }

    #[test]
    fn only_what_says_so_lets_reconcilers_act() {
        let since = "2026-11-01T12:00:00Z";
        for (data, record) in [
            (json!({"paused": "false", "since": since, "cluster": "here"}), "resumed"),
            (json!({"paused": "false", "since": since, "cluster": "here", "by": "ann"}), "resumed"),
            (json!({"paused": "false", "since": since, "cluster": "there"}), "malformed"),
            (json!({"paused": "false", "since": since, "cluster": ""}), "malformed"),
            (json!({"paused": "false", "since": since}), "malformed"),
            (json!({"paused": "false", "cluster": "here"}), "malformed"),
            (json!({"paused": "false", "since": "yesterday", "cluster": "here"}), "malformed"),
            (json!({"paused": "true"}), "paused"),
            (json!({"paused": "true", "since": "yesterday"}), "paused"),
            (json!({"paused": "False"}), "malformed"),
            (json!({"paused": "false\n"}), "malformed"),
            (json!({"paused": ""}), "malformed"),
            (json!({"paused": false}), "malformed"),
            (json!({"policy.yaml": "kind: WatchPolicy"}), "malformed"),
            (
                json!({"paused": "false", "since": since, "cluster": "here", "policy.yaml": ""}),
                "malformed",
            ),
            (json!({"paused": "true", "policy.yaml": "kind: WatchPolicy"}), "paused"),
            (json!({}), "malformed"),
            (Value::Null, "malformed"),
        ] {
            let pause = of(Some(&stored(&data)));
            assert_eq!(pause.record.name(), record, "{data}");
            assert_eq!(pause.may_act(), record == "resumed", "{data}");
        }
        assert_eq!(of(None).record, PauseRecord::Missing);
        let unread = Pause::of(Err("403".to_owned()), Ok("here"));
        assert_eq!((unread.record.name(), unread.may_act()), ("unreadable", false));
        let resumed = stored(&json!({"paused": "false", "since": since, "cluster": "here"}));
        let unknown = Pause::of(Ok(Some(&resumed)), Err("403"));
        assert_eq!((unknown.record.name(), unknown.may_act()), ("unreadable", false));
        let going = json!({
            "metadata": {"name": PAUSE, "uid": "u", "deletionTimestamp": since},
            "data": {"paused": "false", "since": since, "cluster": "here"},
        });
        let going = StoredConfigMap::of(going).expect("it has a uid");
        assert_eq!(of(Some(&going)).record, PauseRecord::Missing);
    }

    #[test]
    fn of_two_records_that_contradict_each_other_paused_wins() {
        let resumed =
            json!({"paused": "false", "since": "2026-11-01T12:00:00Z", "cluster": "here"});
        let all = [
            (of(Some(&stored(&resumed))), "resumed"),
            (of(Some(&stored(&json!({"paused": "true", "reason": "a restore"})))), "paused"),
            (of(None), "missing"),
            (of(Some(&stored(&json!({"paused": "no"})))), "malformed"),
            (Pause::of(Err("403".to_owned()), Ok("here")), "unreadable"),
        ];
        for (own, of_own) in &all {
            for (other, of_other) in &all {
                let both = own.clone().beside("there", other.clone());
                // The record has to be there; the other one need not.
                let may_act = *of_own == "resumed" && ["resumed", "missing"].contains(of_other);
                assert_eq!(both.may_act(), may_act, "{of_own} beside {of_other}");
                if *of_own == "resumed" && !may_act {
                    assert_eq!(both.record.name(), *of_other);
                    let told = both.reason.unwrap_or_default();
                    assert!(told.contains("there/kubectl-storage-watch"), "{told}");
                } else {
                    assert_eq!(both, *own);
                }
            }
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        for record in [PauseRecord::Paused, PauseRecord::Resumed] {
            let pause = Pause {
                record,
                since: Time::from_timestamp(1_700_000_000, 0),
                by: Some("ann".to_owned()),
                reason: Some("a restore \u{1b}[2J".to_owned()),
                cluster: Some("here".to_owned()),
            };
            let stored = stored(&json!(pause.data(None)));
            assert_eq!(of(Some(&stored)), pause);
            assert!(foreign_keys(&stored).is_empty());
            let brief = Pause { since: None, by: None, reason: None, cluster: None, ..pause };
            assert_eq!(brief.data(None).len(), 1);
        }
        assert_eq!(
            foreign_keys(&stored(&json!({"paused": "true", "policy.yaml": ""}))),
            ["policy.yaml"]
        );
    }

    #[test]
    fn one_that_was_restored_or_that_nobody_could_pause_lets_nothing_act() {
        let since = "2026-11-01T12:00:00Z";
        for (created, immutable, record) in [
            ("2026-11-01T12:00:59Z", false, "resumed"),
            ("2026-10-01T12:00:00Z", false, "resumed"),
            ("2026-11-01T12:01:01Z", false, "malformed"),
            ("2026-10-01T12:00:00Z", true, "malformed"),
        ] {
            let object = json!({
                "metadata": {"name": PAUSE, "uid": "u", "creationTimestamp": created},
                "immutable": immutable,
                "data": {"paused": "false", "since": since, "cluster": "here"},
            });
            let stored = StoredConfigMap::of(object).expect("it has a uid");
            assert_eq!(of(Some(&stored)).record.name(), record, "{created} {immutable}");
            // Whoever pauses does not rest on that.
            assert!(says_resumed(Some(&stored)));
        }
        assert!(!says_resumed(None) && !says_resumed(Some(&stored(&json!({"paused": "true"})))));
    }

    #[test]
    fn who_pauses_keeps_what_others_keep_in_it() {
        let over = stored(&json!({"paused": "false", "by": "ann", "policy.yaml": "kind: X"}));
        let record = PauseRecord::Paused;
        let pause = Pause { record, since: None, by: None, reason: None, cluster: None };
        let data = pause.data(Some(&over));
        assert_eq!(json!(data), json!({"paused": "true", "policy.yaml": "kind: X"}));
        assert_eq!(of(Some(&stored(&json!(data)))), pause);
    }
}
