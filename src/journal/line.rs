//! The format of the lines of the journal: version 1; what has become of an intent, and the epoch of
//! the leader that recorded it.
//!
//! Each line is a JSON object with `version`, `sequence` (its own), `previous` (the SHA-256 of the
//! line before, without its line break; of nothing for the first), `at` (the API server's time,
//! where it is known), `term` (the epoch of the leader that appended it: `lease`, `transitions`;
//! absent where a person's command did), `cluster` (only in the journal in a cluster: the uid of its
//! namespace `kube-system`) and `type`:
//!
//! - `intent`: `run`, and the fields of [`Intent`], written before anything is sent;
//! - `outcome`: `of` (the sequence of the intent), `outcome` and `detail`;
//! - `term`: nothing else. With it a leader begins, and fences those before it.
//!
//! Unknown fields are left alone. The format does not depend on other types: [`ObjectRef`], for
//! example, has its own serialization here.

use std::fmt::Write as _;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::model::{ObjectRef, Time, format_time, parse_time};

/// Version of the format of lines.
pub(super) const VERSION: u32 = 1;
/// Prefix of every line.
const BEGINNING: &[u8] = br#"{"version":1,"sequence":"#;
const INTENT: &str = "intent";
const OUTCOME: &str = "outcome";
const TERM: &str = "term";

/// A request that is about to be sent, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Intent {
    /// The command that sends the request: `gc`, `retain`, `destroy-orphan`, `undo`…
    pub command: String,
    /// The object that is written.
    #[serde(with = "object")]
    pub object: ObjectRef,
    /// The kind of write: `set-reclaim-policy`, `delete-volume`, `create-volume`…
    pub action: String,
    /// The rule or remedy that proposed the request.
    pub because: String,
    /// The request exactly as it is sent.
    pub request: SentRequest,
    /// The object as GET returned it: a volume, a claim or an attachment, never a Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pre_image: Option<Value>,
    /// The backend volume that the volume references.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<Backend>,
    /// `spec.capacity.storage` of the volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<String>,
    /// Whether the backend volume is kept on purpose (`gc --keep-backend`,
    /// `--accept-leak`).
    #[serde(default)]
    pub keeps: bool,
    /// The finalizer that the request adds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adds_finalizer: Option<String>,
    /// The finalizer that the request removes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removes_finalizer: Option<String>,
    /// The sequence of the entry that this one undoes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,
}

/// A request as it is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SentRequest {
    /// The method: `PATCH`, `POST` or `DELETE`.
    pub method: String,
    /// The path and the query.
    pub path: String,
    /// The media type of the body.
    pub content_type: String,
    /// The body.
    pub body: Value,
}

/// The driver and the handle of a backend volume.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Backend {
    /// The CSI driver, or the kind of source.
    pub driver: String,
    /// The volume handle.
    pub handle: String,
}

/// A line, parsed as far as possible.
pub(super) enum ParsedLine {
    /// A line of this version.
    Known(Box<JournalLine>),
    /// A line of a newer version, of which only the previous hash is read.
    Newer { version: u32, previous: Option<String> },
    /// Not a line of this tool, or only a part of one.
    Unreadable,
}

/// A line of this version.
pub(super) struct JournalLine {
    pub(super) sequence: u64,
    pub(super) previous: String,
    pub(super) at: Option<Time>,
    pub(super) term: Option<Term>,
    /// Whether the line has an epoch that cannot be read.
    pub(super) term_is_unreadable: bool,
    /// The uid of the cluster in which it was recorded.
    pub(super) cluster: Option<String>,
    pub(super) body: LineBody,
}

/// The content of a line, by its type.
pub(super) enum LineBody {
    Intent {
        run: String,
        intent: Box<Intent>,
    },
    Outcome {
        of: u64,
        outcome: Outcome,
        detail: String,
    },
    /// The record with which a leader begins.
    Term,
    /// A type that this version does not know.
    Unknown(String),
    /// A known type with fields that cannot be read.
    Malformed(String),
}

/// The fields that all lines have.
#[derive(Deserialize)]
pub(super) struct LineHead {
    pub(super) sequence: u64,
    pub(super) previous: String,
    at: Option<String>,
    /// The epoch as JSON: an edited one must not hide the rest of the line.
    #[serde(default)]
    term: Option<Value>,
    #[serde(default)]
    cluster: Option<Value>,
    #[serde(rename = "type")]
    kind: String,
}

impl LineHead {
    /// Returns the epoch of the leader that appended the line.
    ///
    /// # Errors
    /// When it has one that cannot be read.
    pub(super) fn term(&self) -> serde_json::Result<Option<Term>> {
        self.term.as_ref().map(Term::deserialize).transpose()
    }

    /// The uid of the cluster in which it was recorded.
    pub(super) fn cluster(&self) -> Option<&str> {
        self.cluster.as_ref().and_then(Value::as_str)
    }

    /// Returns the time when the line was recorded. A time that does not parse counts as unknown: nothing rests on it.
    pub(super) fn at(&self) -> Option<Time> {
        self.at.as_deref().and_then(|at| parse_time(at).ok().flatten())
    }
}

/// The position of a line in the hash chain.
pub(super) struct LinePosition<'a> {
    pub(super) sequence: u64,
    pub(super) previous: &'a str,
    pub(super) at: Option<Time>,
    pub(super) author: Option<&'a Author>,
}

#[derive(Serialize)]
struct WrittenLine<'a, Fields> {
    version: u32,
    sequence: u64,
    previous: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    term: Option<&'a Term>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<&'a str>,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    fields: Fields,
}

#[derive(Serialize)]
struct IntentFields<'a> {
    run: &'a str,
    #[serde(flatten)]
    intent: &'a Intent,
}

#[derive(Deserialize)]
struct RunField {
    run: String,
}

#[derive(Serialize, Deserialize)]
struct OutcomeFields {
    of: u64,
    outcome: Outcome,
    #[serde(default)]
    detail: String,
}

fn line(
    place: &LinePosition,
    kind: &'static str,
    fields: impl Serialize,
) -> serde_json::Result<Vec<u8>> {
    let LinePosition { sequence, previous, at, author } = *place;
    let (version, at) = (VERSION, at.as_ref().map(format_time));
    let term = author.and_then(|it| it.term.as_ref());
    let cluster = author.map(|it| it.cluster.as_str());
    let written = WrittenLine { version, sequence, previous, at, term, cluster, kind, fields };
    serde_json::to_vec(&written)
}

/// Renders the line of an intent, without its line break.
pub(super) fn intent(
    place: &LinePosition,
    run: &str,
    intent: &Intent,
) -> serde_json::Result<Vec<u8>> {
    line(place, INTENT, IntentFields { run, intent })
}

/// Renders the line of an outcome, without its line break.
pub(super) fn outcome(
    place: &LinePosition,
    of: u64,
    outcome: Outcome,
    detail: &str,
) -> serde_json::Result<Vec<u8>> {
    line(place, OUTCOME, OutcomeFields { of, outcome, detail: detail.to_owned() })
}

/// Renders the line with which a leader begins, without its line break.
pub(super) fn term(place: &LinePosition) -> serde_json::Result<Vec<u8>> {
    #[derive(Serialize)]
    struct NoFields {}
    line(place, TERM, NoFields {})
}

/// Returns the hash by which the next line references this one.
pub(super) fn hash(line: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(line) {
        write!(text, "{byte:02x}").expect("because a text takes everything");
    }
    text
}

/// Whether a line that cannot be read may be the beginning of a line of this tool. After a crash,
/// file systems may also leave zeros.
pub(super) fn looks_torn(line: &[u8]) -> bool {
    let length = line.len().min(BEGINNING.len());
    let begun = line.iter().zip(BEGINNING).take_while(|(a, b)| a == b).count();
    begun == length || line[begun..].iter().all(|byte| *byte == 0)
}

/// Reads the fields that all lines have.
pub(super) fn head(line: &[u8]) -> Result<LineHead, ParsedLine> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
        previous: Option<Value>,
    }
    let Ok(versioned) = serde_json::from_slice::<Versioned>(line) else {
        return Err(ParsedLine::Unreadable);
    };
    let version = versioned.version;
    if version > VERSION {
        let previous = versioned.previous.and_then(|it| it.as_str().map(str::to_owned));
        return Err(ParsedLine::Newer { version, previous });
    }
    let head = serde_json::from_slice(line).ok().filter(|_| version == VERSION);
    head.ok_or(ParsedLine::Unreadable)
}

/// Reads a line, without its line break.
pub(super) fn parse(line: &[u8]) -> ParsedLine {
    let head = match head(line) {
        Ok(head) => head,
        Err(other) => return other,
    };
    let (term, at) = (head.term(), head.at());
    let term_is_unreadable = term.is_err();
    let cluster = head.cluster().map(str::to_owned);
    let LineHead { sequence, previous, kind, .. } = head;
    let body = match kind.as_str() {
        INTENT => read::<RunField>(line)
            .zip(read(line))
            .map(|(RunField { run }, intent)| LineBody::Intent { run, intent: Box::new(intent) }),
        OUTCOME => read(line).map(|OutcomeFields { of, outcome, detail }| LineBody::Outcome {
            of,
            outcome,
            detail,
        }),
        TERM => Some(LineBody::Term),
        _ => Some(LineBody::Unknown(kind.clone())),
    };
    let body = body.unwrap_or(LineBody::Malformed(kind));
    let term = term.ok().flatten();
    ParsedLine::Known(Box::new(JournalLine {
        sequence,
        previous,
        at,
        term,
        term_is_unreadable,
        cluster,
        body,
    }))
}

fn read<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    serde_json::from_slice(line).ok()
}

/// An object reference in a line.
mod object {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

    use crate::model::{Kind, ObjectKey, ObjectRef, Uid};

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ObjectFields {
        api_version: String,
        kind: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        namespace: Option<String>,
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        uid: Option<String>,
    }

    pub(super) fn serialize<S: Serializer>(object: &ObjectRef, to: S) -> Result<S::Ok, S::Error> {
        let ObjectKey { kind, namespace, name } = &object.key;
        let named = ObjectFields {
            api_version: kind.api_version(),
            kind: kind.name().to_owned(),
            namespace: namespace.as_deref().map(str::to_owned),
            name: name.to_string(),
            uid: object.uid.as_ref().map(Uid::to_string),
        };
        named.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<ObjectRef, D::Error> {
        let named = ObjectFields::deserialize(from)?;
        let group = named.api_version.split_once('/').map_or("", |(group, _)| group);
        let kind = Kind::parse(group, &named.kind).ok_or_else(|| D::Error::custom("its kind"))?;
        let namespace = named.namespace.map(Into::into);
        let key = ObjectKey { kind, namespace, name: named.name.into() };
        Ok(ObjectRef { key, uid: named.uid.as_deref().and_then(Uid::parse) })
    }
}

/// The outcome of an intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The API server answered with success; the effect is not verified yet. The only outcome after
    /// which another follows.
    Sent,
    /// The effect of the request is verified.
    Done,
    /// Not sent, or not admitted: a check, admission or RBAC refused it.
    Refused,
    /// Another client changed the object first; nothing was written.
    Stale,
    /// The API server answered with an error; nothing was written.
    Failed,
    /// No answer came: the request may have been carried out or not.
    Unanswered,
    /// The request was carried out; its effect was not verified before the deadline.
    Pending,
}

impl Outcome {
    /// Public name of the outcome.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Stale => "stale",
            Self::Failed => "failed",
            Self::Unanswered => "unanswered",
            Self::Pending => "pending",
        }
    }
}

/// The epoch of one leader: the time for which a process leads without a break. Of two terms of one Lease the later one
/// has more transitions; a Lease that was deleted and created again has another uid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Term {
    /// The uid of the Lease.
    pub lease: String,
    /// Number of changes of the holder before the term began.
    pub transitions: u64,
}

/// The origin of each line of the journal in a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Author {
    /// The uid of the cluster: that of its namespace `kube-system`. A restored segment has that of
    /// the cluster in which it was recorded.
    pub(crate) cluster: String,
    /// The epoch of the leader that appends; `None` for a person's command.
    pub(crate) term: Option<Term>,
}
