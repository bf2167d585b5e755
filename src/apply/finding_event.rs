//! Events about findings, so that `kubectl describe` of the object shows what is wrong with it.
//!
//! The name of an Event is derived from its object and rule. What was told before, by this process
//! or by an earlier one, is therefore not told a second time, without anything being read for it.

use std::fmt::Write as _;

use http::Method;
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::event::{namespace, reference};
use super::request::WriteRequest;
use super::writer::{WriteError, Writer};
use crate::client::{Connection, Reader, collection_path, object_path};
use crate::model::{Finding, ObjectRef, RuleId, Time, beginning, escape_control};
use crate::objects::OWN_COMPONENT;

/// The longest note that the API server takes, in bytes (`NoteLengthLimit`).
const LONGEST_NOTE: usize = 1024;
const GROUP: &str = "events.k8s.io";

/// A finding that is to be told by an Event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FindingNotice {
    /// The rule that found it.
    pub(crate) rule: RuleId,
    /// Its object.
    pub(crate) object: ObjectRef,
    /// What it says.
    pub(crate) note: String,
    /// When it was found, by the API server's clock.
    pub(crate) time: Time,
    /// Whether it was not there before, as far as this process knows: an Event of an earlier time is
    /// then continued. Otherwise it is the first look of a process, and such an Event says it all.
    pub(crate) is_new: bool,
}

/// What has become of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoticeEnd {
    /// An Event was created.
    Created,
    /// The series of an Event goes on.
    Continued,
    /// An Event says it already.
    Known,
}

/// Why a finding was not told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoticeError {
    /// The API server rejected it, and would do so again.
    #[error("{0}")]
    Rejected(String),
    /// The right to do so is missing.
    #[error("{0}")]
    Forbidden(String),
    /// No answer came, or an error that may pass.
    #[error("{0}")]
    Unanswered(String),
}

/// Writes Events about findings, and nothing else.
#[derive(Clone)]
pub(crate) struct EventWriter {
    writer: Writer,
    reader: Reader,
    instance: String,
}

#[derive(Deserialize)]
struct KnownEvent {
    series: Option<KnownSeries>,
}

#[derive(Deserialize)]
struct KnownSeries {
    count: i64,
}

impl FindingNotice {
    /// Says what was found at a time.
    pub(crate) fn of(finding: &Finding, time: Time, is_new: bool) -> Self {
        let next = finding.offer.as_ref().and_then(|it| it.command.as_ref());
        let next = next.map(|it| format!("; next: {it}")).unwrap_or_default();
        let note = format!("{}: {}{next}", finding.rule, finding.summary);
        let note = escape_control(&note);
        let note = match note.len() {
            0..=LONGEST_NOTE => note.into_owned(),
            _ => format!("{}…", beginning(&note, LONGEST_NOTE - '…'.len_utf8())),
        };
        Self { rule: finding.rule, object: finding.object.clone(), note, time, is_new }
    }

    /// The name of its Event.
    fn name(&self) -> String {
        let mut hash = Sha256::new_with_prefix(self.rule).chain_update([0]);
        match &self.object.uid {
            Some(uid) => hash.update(uid.to_string()),
            None => hash.update(self.object.key.to_string()),
        }
        let mut name = format!("{OWN_COMPONENT}.");
        for byte in hash.finalize().iter().take(10) {
            write!(name, "{byte:02x}").expect("because writing to a string does not fail");
        }
        name
    }

    fn create(&self, instance: &str) -> WriteRequest {
        let namespace = namespace(&self.object);
        WriteRequest {
            method: Method::POST,
            path: collection_path(GROUP, "v1", Some(namespace), "events"),
            content_type: "application/json",
            body: json!({
                "apiVersion": "events.k8s.io/v1", "kind": "Event",
                "metadata": {"name": self.name(), "namespace": namespace},
                "eventTime": micro_time(&self.time),
                "type": "Warning", "reason": reason(self.rule), "action": "Audit",
                "note": self.note,
                "regarding": reference(&self.object),
                "reportingController": OWN_COMPONENT, "reportingInstance": instance,
            }),
        }
    }

    /// Continues an Event that was told so often before.
    fn go_on(&self, told: i64) -> WriteRequest {
        WriteRequest {
            method: Method::PATCH,
            path: self.path(),
            content_type: "application/merge-patch+json",
            body: json!({"series": {
                "count": told.max(1).saturating_add(1).min(i64::from(i32::MAX)),
                "lastObservedTime": micro_time(&self.time),
            }}),
        }
    }

    fn path(&self) -> String {
        object_path(GROUP, "v1", Some(namespace(&self.object)), "events", &self.name())
    }
}

impl EventWriter {
    /// Returns a writer for a connection; `instance` is what tells this process from others.
    pub(crate) fn new(connection: &Connection, instance: &str) -> Self {
        let writer = Writer::new(connection, OWN_COMPONENT);
        let instance = beginning(instance, 128).to_owned();
        Self { writer, reader: Reader::new(connection), instance }
    }

    /// Tells a finding. It is harmless to try again what was not answered: there is one Event of
    /// this name.
    ///
    /// # Errors
    /// [`NoticeError`]
    pub(crate) async fn tell(&self, notice: &FindingNotice) -> Result<NoticeEnd, NoticeError> {
        match self.writer.send(&notice.create(&self.instance), false).await {
            Ok(_) => return Ok(NoticeEnd::Created),
            Err(WriteError::Rejected { code: 409, .. }) if !notice.is_new => {
                return Ok(NoticeEnd::Known);
            }
            Err(WriteError::Rejected { code: 409, .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let known = self.reader.get_json::<KnownEvent>(&notice.path()).await;
        let known = known.map_err(|error| match error.is_forbidden() {
            true => NoticeError::Forbidden(error.to_string()),
            false => NoticeError::Unanswered(error.to_string()),
        })?;
        let told = known.value.series.map_or(1, |it| it.count);
        self.writer.send(&notice.go_on(told), false).await?;
        Ok(NoticeEnd::Continued)
    }
}

impl From<WriteError> for NoticeError {
    fn from(error: WriteError) -> Self {
        match &error {
            // Admission answers 403 as well: of a namespace that is deleted, of a quota, of webhooks.
            WriteError::Rejected { code: 403, message, .. }
                if [
                    "being terminated",
                    "exceeded quota",
                    "denied the request",
                    "denied request",
                ]
                .iter()
                .any(|text| message.contains(text)) =>
            {
                Self::Rejected(error.to_string())
            }
            WriteError::Rejected { code: 403, .. } => Self::Forbidden(error.to_string()),
            // It expired between two requests, or the server has too much to do.
            WriteError::Rejected { code: 404 | 409 | 429, .. }
            | WriteError::NotSent(_)
            | WriteError::Unanswered(_) => Self::Unanswered(error.to_string()),
            WriteError::Rejected { .. } => Self::Rejected(error.to_string()),
        }
    }
}

/// A time as `MicroTime` is read: with six digits.
fn micro_time(time: &Time) -> String {
    time.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

/// The reason of an Event, in the spelling of Kubernetes: `PvReleasedPastThreshold`.
fn reason(rule: RuleId) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().map(|it| it.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    rule.split('-').map(capital).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::test_server::{TestReply, TestServer, json as json_reply, reply};
    use crate::model::{Kind, ObjectKey, Severity, Uid, Verdict, VerdictState, parse_time};
    use crate::rules::REGISTRY;

    fn noon() -> Time {
        parse_time("2026-11-21T12:00:00Z").ok().flatten().expect("because it is a time")
    }

    fn finding(key: ObjectKey, summary: &str) -> Finding {
        Finding {
            rule: "pv-failed",
            severity: Severity::High,
            object: ObjectRef { key, uid: Uid::parse("4f6e1c6e-3c5f-4b5e-9c39-5d8e6b3e7a10") },
            summary: summary.to_owned(),
            age: None,
            evidence: Vec::new(),
            related: Vec::new(),
            caused_by: Vec::new(),
            verdict: Verdict { state: VerdictState::ReportOnly, reason: "none".to_owned() },
            offer: None,
            volume: None,
        }
    }

    fn notice(is_new: bool) -> FindingNotice {
        let key = ObjectKey::cluster_wide(Kind::PersistentVolume, "a");
        FindingNotice::of(&finding(key, "reclaim failed"), noon(), is_new)
    }

    #[test]
    fn an_event_says_what_the_api_asks_for() {
        let request = notice(true).create("here");
        assert_eq!(request.path, "/apis/events.k8s.io/v1/namespaces/default/events");
        let body = &request.body;
        assert_eq!(body["eventTime"], "2026-11-21T12:00:00.000000Z");
        assert_eq!(body["reason"], "PvFailed");
        assert_eq!(body["note"], "pv-failed: reclaim failed");
        assert_eq!(body["regarding"]["kind"], "PersistentVolume");
        let claim = ObjectKey::named(Kind::PersistentVolumeClaim, "shop", "a");
        let claim = FindingNotice::of(&finding(claim, "lost"), noon(), true);
        assert_eq!(claim.create("here").path, "/apis/events.k8s.io/v1/namespaces/shop/events");
        assert_eq!(claim.create("here").body["regarding"]["namespace"], "shop");
    }

    #[test]
    fn a_name_belongs_to_an_object_and_a_rule() {
        let name = notice(true).name();
        assert_eq!(name, notice(false).name());
        let other = FindingNotice { rule: "pv-node-gone", ..notice(true) };
        assert_ne!(name, other.name());
        let mut again = notice(true);
        again.object.uid = None;
        assert_ne!(name, again.name());
        assert!(name.len() < 64, "{name}");
    }

    #[test]
    fn every_reason_fits() {
        for rule in REGISTRY.iter() {
            let reason = reason(rule.id);
            assert!(reason.len() <= 128 && reason.chars().all(char::is_alphanumeric), "{reason}");
        }
    }

    #[test]
    fn what_is_hostile_is_escaped_and_what_is_long_is_cut() {
        let key = ObjectKey::cluster_wide(Kind::PersistentVolume, "a");
        let hostile = FindingNotice::of(&finding(key.clone(), "a\u{1b}[2Jb\n"), noon(), true);
        assert_eq!(hostile.note, "pv-failed: a\\u{1b}[2Jb\\n");
        for letter in ["a", "ä", "漢", "\u{7}"] {
            let long = FindingNotice::of(&finding(key.clone(), &letter.repeat(2000)), noon(), true);
            assert!((1000..=1024).contains(&long.note.len()), "{}", long.note.len());
        }
    }

    /// Tells a notice to a server that has such an Event, and returns what was asked.
    async fn told(
        notice: &FindingNotice,
        create: impl Fn() -> TestReply + Send + Sync + 'static,
    ) -> (Result<NoticeEnd, NoticeError>, Vec<(String, String)>) {
        let server = TestServer::start(move |asked| match asked.method.as_str() {
            "post" | "POST" => create(),
            _ => json_reply(r#"{"series": {"count": 3}}"#),
        })
        .await;
        let end = EventWriter::new(&server.connect().await, "here").tell(notice).await;
        (end, server.asked().into_iter().map(|it| (it.method, it.body)).collect())
    }

    #[tokio::test]
    async fn what_an_earlier_process_told_is_not_told_again() {
        let known = || reply(409, "", "{}");
        let (end, asked) = told(&notice(false), known).await;
        assert_eq!(end, Ok(NoticeEnd::Known));
        assert_eq!(asked.len(), 1);
        // What has cleared and appeared again is the same series.
        let (end, asked) = told(&notice(true), known).await;
        assert_eq!(end, Ok(NoticeEnd::Continued));
        assert_eq!(asked.len(), 3);
        assert!(asked[2].1.contains(r#""count":4"#), "{asked:?}");
    }

    #[tokio::test]
    async fn a_refusal_is_told_apart_from_silence() {
        let of = async |code| told(&notice(true), move || reply(code, "", "{}")).await.0;
        assert_eq!(of(201).await, Ok(NoticeEnd::Created));
        assert!(matches!(of(403).await, Err(NoticeError::Forbidden(_))));
        assert!(matches!(of(422).await, Err(NoticeError::Rejected(_))));
        assert!(matches!(of(429).await, Err(NoticeError::Unanswered(_))));
        assert!(matches!(of(500).await, Err(NoticeError::Unanswered(_))));
    }

    #[tokio::test]
    async fn a_refusal_of_admission_is_not_taken_for_a_missing_right() {
        let end = async |message: &str| {
            let status =
                json!({"kind": "Status", "reason": "Forbidden", "code": 403, "message": message});
            let body = status.to_string();
            let refused = move || reply(403, "content-type: application/json\r\n", &body);
            told(&notice(true), refused).await.0
        };
        // As the API server words them: the plugins NamespaceLifecycle and ResourceQuota, webhooks and policies.
        for message in [
            "events.events.k8s.io \"e\" is forbidden: unable to create new content in namespace shop because it is being terminated",
            "events.events.k8s.io \"e\" is forbidden: exceeded quota: q, requested: count/events.events.k8s.io=1, used: 9, limited: 9",
            "admission webhook \"a.example\" denied the request: no",
            "events.events.k8s.io \"e\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
        ] {
            assert!(matches!(end(message).await, Err(NoticeError::Rejected(_))), "{message}");
        }
        let lacks = "events.events.k8s.io is forbidden: User \"u\" cannot create resource \"events\" in API group \"events.k8s.io\" in the namespace \"shop\"";
        assert!(matches!(end(lacks).await, Err(NoticeError::Forbidden(_))));
    }
}
