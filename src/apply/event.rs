//! Events about changes and about findings, so that `kubectl describe` of the object shows who changed it
//! and what is wrong with it.
//!
//! The name of an Event about a finding is derived from its object and rule. What was told before, by
//! this process or by an earlier one, is therefore not told a second time, without anything being read
//! for it.

use std::fmt::Write as _;

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    request::WriteRequest,
    writer::{WriteError, Writer},
};
use crate::client::{Connection, ObjectRequest, Reader, collection_path};
use crate::model::{
    ANNOUNCED, Action, Finding, JournalEntryNumber, Kind, ObjectRef, PROGRAM, ReclaimPolicy,
    RuleId, Time, beginning, escape_control, format_time, in_own_name, is_program_name,
};
use crate::objects::OWN_COMPONENT;
use crate::plan::{ProposedChange, Purpose};

/// The namespace of Events about cluster-wide objects (client-go, `recorder.makeEvent`).
const NAMESPACE: &str = "default";

/// Returns the namespace of Events about an object.
pub(super) fn namespace(object: &ObjectRef) -> &str {
    object.key.namespace.as_deref().unwrap_or(NAMESPACE)
}

/// Renders the reference of an Event to its object.
pub(super) fn reference(object: &ObjectRef) -> Value {
    let key = &object.key;
    json!({
        "apiVersion": key.kind.api_version(), "kind": key.kind.name(),
        "namespace": key.namespace.as_deref(), "name": &*key.name,
        "uid": object.uid.as_ref().map(ToString::to_string),
    })
}

/// Renders the request for an Event about a step that the API server has carried out.
pub(super) fn request(
    change: &ProposedChange,
    action: &Action,
    object: &ObjectRef,
    command: &str,
    entry: &JournalEntryNumber,
    now: Option<Time>,
) -> WriteRequest {
    let namespace = namespace(object);
    let (reason, what) = match action {
        _ if matches!(change.purpose, Purpose::Revert(_) | Purpose::Recreate(_)) => {
            ("StorageUndone", change.proposal.effect.what.clone())
        }
        Action::ReserveVolume { claim, .. } => {
            ("StorageReserved", format!("the volume was reserved for claim {claim}"))
        }
        Action::CreateVolume { .. } if matches!(change.purpose, Purpose::Adopt(_)) => {
            ("StorageAdopted", change.proposal.effect.what.clone())
        }
        Action::BindVolume { .. } | Action::CreateClaim { .. } => {
            ("StorageRebound", change.proposal.effect.what.clone())
        }
        Action::SetReclaimPolicy { to: ReclaimPolicy::Retain, .. } => {
            ("StorageRetained", "the reclaim policy was set to Retain".to_owned())
        }
        Action::SetReclaimPolicy { .. }
        | Action::CondemnVolume { .. }
        | Action::CreateVolume { .. }
        | Action::ReclaimBackend { .. }
        | Action::ReclaimReleased { .. } => {
            ("StorageReclaimed", change.proposal.effect.what.clone())
        }
        Action::CreateSnapshot { claim, .. } => (
            "StorageSnapshotCreated",
            format!("it was created as a snapshot of {claim}, which is to be deleted"),
        ),
        Action::Announce { .. } => (
            "StorageAnnounced",
            format!(
                "{}; annotation {ANNOUNCED} shows when, and removing it is a veto, as is setting \
                 storage.kubectl.dev/keep-until",
                change.proposal.effect.what
            ),
        ),
        Action::RecordVeto { .. } => ("StorageVetoed", change.proposal.effect.what.clone()),
        Action::DeleteVolume { .. } => ("StorageBackendKept", change.proposal.effect.what.clone()),
        Action::DeleteClaim { .. }
        | Action::DeleteWithClaims { .. }
        | Action::DeleteSnapshot { .. } => ("StorageDeleted", change.proposal.effect.what.clone()),
        Action::SetRetentionPolicy { .. } => {
            ("StorageRetentionSet", change.proposal.effect.what.clone())
        }
        Action::ScaleWorkload { to, .. } if !to.is_stopped() => {
            ("StorageUndone", change.proposal.effect.what.clone())
        }
        Action::ScaleWorkload { .. } | Action::DeletePod { .. } => {
            ("StorageStopped", change.proposal.effect.what.clone())
        }
        Action::RequestStorage { .. } => ("StorageRequested", change.proposal.effect.what.clone()),
        Action::RemoveFinalizer { .. }
        | Action::DeleteAttachment { .. }
        | Action::RemoveOwnerReferences { .. }
        | Action::AddOwnerReference { .. }
        | Action::AddFinalizer { .. } => ("StorageRepaired", change.proposal.effect.what.clone()),
    };
    let time = now.as_ref().map(format_time);
    WriteRequest {
        method: Method::POST,
        path: format!("/api/v1/namespaces/{namespace}/events"),
        content_type: "application/json",
        body: json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"generateName": "kubectl-storage-", "namespace": namespace},
            "involvedObject": reference(object),
            "type": "Normal", "reason": reason,
            "message": in_own_name(&format!(
                "kubectl storage {command}: {what} (journal entry {entry})"
            )),
            "source": {"component": OWN_COMPONENT},
            "reportingComponent": OWN_COMPONENT,
            "firstTimestamp": &time, "lastTimestamp": &time, "count": 1,
        }),
    }
}

/// The longest note that the API server takes, in bytes (`NoteLengthLimit`).
const LONGEST_NOTE: usize = 1024;
const GROUP: &str = "events.k8s.io";

/// A finding to be reported by an Event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FindingNotice {
    /// The rule of the finding.
    pub(crate) rule: RuleId,
    /// The object of the finding.
    pub(crate) object: ObjectRef,
    /// The note of the Event.
    pub(crate) note: String,
    /// The note with the usual name of the program, to recognise it under any other name of the program.
    usual: String,
    /// Time of the finding, by the API server's clock.
    pub(crate) time: Time,
    /// Whether the finding is new, as far as this process knows: then an Event of an earlier time is continued.
    /// Otherwise it is the first look of a process, and such an Event says it all.
    pub(crate) is_new: bool,
}

/// The end of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoticeEnd {
    /// An Event was created.
    Created,
    /// The series of an Event was continued.
    Continued,
    /// An Event with the same content exists.
    Known,
}

/// Reason why a finding was not reported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoticeError {
    /// The API server rejected the Event, and would reject it again.
    #[error("{0}")]
    Rejected(String),
    /// A permission is missing.
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

/// An Event with the name of a notice's Event.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct KnownEvent {
    #[serde(default)]
    metadata: KnownObject,
    #[serde(default)]
    reporting_controller: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    note: String,
    #[serde(default)]
    regarding: KnownObject,
    series: Option<KnownSeries>,
}

#[derive(Default, Deserialize)]
struct KnownObject {
    #[serde(default)]
    uid: String,
}

impl KnownEvent {
    /// Whether the Event has the content of a notice, about the same object. Clients that may create Events can choose
    /// any name and reporter: the content decides.
    fn tells(&self, notice: &FindingNotice) -> bool {
        let uid = notice.object.uid.as_ref().map(ToString::to_string).unwrap_or_default();
        self.reporting_controller == OWN_COMPONENT
            && self.reason == reason(notice.rule)
            && self.regarding.uid == uid
            && is_told(&self.note, &notice.usual)
    }
}

/// Whether a note equals one with the usual name of the program, but for that name.
fn is_told(note: &str, usual: &str) -> bool {
    const NEXT: &str = "; next: ";
    match usual.split_once(&format!("{NEXT}{PROGRAM} ")) {
        None => note == usual,
        Some((told, command)) => {
            let next = note.strip_prefix(told).and_then(|it| it.strip_prefix(NEXT));
            let name = next.and_then(|it| it.strip_suffix(command)?.strip_suffix(' '));
            name.is_some_and(is_program_name)
        }
    }
}

/// Number of names that are tried where other Events have them.
const NAMES: usize = 3;

#[derive(Deserialize)]
struct KnownSeries {
    count: i64,
}

impl FindingNotice {
    /// Returns the notice of a finding at a time.
    pub(crate) fn of(finding: &Finding, time: Time, is_new: bool) -> Self {
        let next = finding.offer.as_ref().and_then(|it| it.command.as_ref());
        let next = next.map(|it| format!("; next: {it}")).unwrap_or_default();
        let note = |next: &str| {
            let note = format!("{}: {}{next}", finding.rule, finding.summary);
            let note = escape_control(&note);
            match note.len() {
                0..=LONGEST_NOTE => note.into_owned(),
                _ => format!("{}…", beginning(&note, LONGEST_NOTE - '…'.len_utf8())),
            }
        };
        let (usual, note) = (note(&next), note(&in_own_name(&next)));
        Self { rule: finding.rule, object: finding.object.clone(), note, usual, time, is_new }
    }

    /// The name of the Event of the notice. `beside` are the uids of the Events that have its other names: no client
    /// knows them before these exist, so none can take this name.
    fn name(&self, beside: &str) -> String {
        let mut hash = Sha256::new_with_prefix(self.rule).chain_update([0]).chain_update(beside);
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

    fn create(&self, name: &str, instance: &str) -> WriteRequest {
        let namespace = namespace(&self.object);
        WriteRequest {
            method: Method::POST,
            path: collection_path(GROUP, "v1", Some(namespace), "events"),
            content_type: "application/json",
            body: json!({
                "apiVersion": "events.k8s.io/v1", "kind": "Event",
                "metadata": {"name": name, "namespace": namespace},
                "eventTime": micro_time(&self.time),
                "type": "Warning", "reason": reason(self.rule), "action": "Audit",
                "note": self.note,
                "regarding": reference(&self.object),
                "reportingController": OWN_COMPONENT, "reportingInstance": instance,
            }),
        }
    }

    /// Renders the request that continues an Event which was reported this many times before.
    fn go_on(&self, name: &str, told: i64) -> WriteRequest {
        WriteRequest {
            method: Method::PATCH,
            path: self.path(name),
            content_type: "application/merge-patch+json",
            body: json!({"series": {
                "count": told.max(1).saturating_add(1).min(i64::from(i32::MAX)),
                "lastObservedTime": micro_time(&self.time),
            }}),
        }
    }

    fn path(&self, name: &str) -> String {
        self.request(name).path()
    }

    /// The request for the Event, in the API group whose fields are written.
    fn request<'a>(&'a self, name: &'a str) -> ObjectRequest<'a> {
        let namespace = Some(namespace(&self.object));
        ObjectRequest { group: GROUP, ..ObjectRequest::named(Kind::Event, namespace, name) }
    }
}

impl EventWriter {
    /// Returns a writer for a connection; `instance` is what tells this process from others.
    pub(crate) fn new(connection: &Connection, instance: &str) -> Self {
        let writer = Writer::new(connection, OWN_COMPONENT);
        let instance = beginning(instance, 128).to_owned();
        Self { writer, reader: Reader::new(connection), instance }
    }

    /// Writes the Event of a finding, or continues it. It is harmless to try again what was not answered: there is one
    /// Event of this name. One of that name that tells something else is left alone, and another name is taken.
    ///
    /// # Errors
    /// [`NoticeError`]
    pub(crate) async fn tell(&self, notice: &FindingNotice) -> Result<NoticeEnd, NoticeError> {
        let mut beside = String::new();
        for _ in 0..NAMES {
            let name = notice.name(&beside);
            match self.writer.send(&notice.create(&name, &self.instance), false).await {
                Ok(_) => return Ok(NoticeEnd::Created),
                Err(WriteError::Rejected { code: 409, .. }) => {}
                Err(error) => return Err(error.into()),
            }
            let known = self.reader.get_object::<KnownEvent>(&notice.request(&name)).await;
            let known = known.map_err(|error| match error.is_forbidden() {
                true => NoticeError::Forbidden(error.to_string()),
                false => NoticeError::Unanswered(error.to_string()),
            })?;
            let known = known.value;
            if !known.tells(notice) {
                beside.push_str(&known.metadata.uid);
                continue;
            }
            if !notice.is_new {
                return Ok(NoticeEnd::Known);
            }
            let told = known.series.map_or(1, |it| it.count);
            self.writer.send(&notice.go_on(&name, told), false).await?;
            return Ok(NoticeEnd::Continued);
        }
        Err(NoticeError::Rejected("Events of other clients have its names".to_owned()))
    }
}

impl From<WriteError> for NoticeError {
    fn from(error: WriteError) -> Self {
        match &error {
            _ if error.is_forbidden() => Self::Forbidden(error.to_string()),
            // It expired between two requests, or the server has too much to do.
            WriteError::Rejected { code: 409 | 429, .. }
            | WriteError::Rejected { absent: Some(_), .. }
            | WriteError::NotSent(_)
            | WriteError::CarriedOut(_)
            | WriteError::Withdrawn(_)
            | WriteError::Unanswered(_) => Self::Unanswered(error.to_string()),
            WriteError::Rejected { .. } => Self::Rejected(error.to_string()),
        }
    }
}

/// Formats a time as `MicroTime`: with six digits.
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
mod tests;
