//! What the lines of the journal look like: version 1.
//!
//! Each line is a JSON object with `version`, `sequence` (its own), `previous` (the SHA-256 of the
//! line before, without its line break; of nothing for the first), `at` (the API server's time,
//! where it is known) and `type`:
//!
//! - `intent`: `run`, and the fields of [`Intent`], written before anything is sent;
//! - `outcome`: `of` (the sequence of the intent), `outcome` and `detail`.
//!
//! Unknown fields are left alone. The shapes are ours alone: what is inside, such as
//! [`ObjectRef`], has one of its own here.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::model::{ObjectRef, Time, format_time, parse_time};

/// Version of the lines.
pub(super) const VERSION: u32 = 1;
/// How every line begins.
const BEGINNING: &[u8] = br#"{"version":1,"sequence":"#;
const INTENT: &str = "intent";
const OUTCOME: &str = "outcome";

/// What is about to be sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Intent {
    /// The command that asked for it: `gc`, `retain`, `destroy-orphan`, `undo`…
    pub command: String,
    /// What is written.
    #[serde(with = "object")]
    pub object: ObjectRef,
    /// The kind of write: `set-reclaim-policy`, `delete-volume`, `create-volume`…
    pub action: String,
    /// The rule or remedy that asked for it.
    pub because: String,
    /// What is sent, to the letter.
    pub request: Request,
    /// The whole object as GET returned it: a volume or a claim, never a Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pre_image: Option<Value>,
    /// What the volume names at the storage backend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<Backend>,
    /// `spec.capacity.storage` of the volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<String>,
    /// Whether the backend volume is left behind on purpose (`gc --keep-backend`,
    /// `--accept-leak`).
    #[serde(default)]
    pub keeps: bool,
    /// The sequence of the entry that this one reverses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,
}

/// A request as it is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// `PATCH`, `POST`, `DELETE`.
    pub method: String,
    /// The path and the query.
    pub path: String,
    /// What the body is.
    pub content_type: String,
    /// The body.
    pub body: Value,
}

/// A volume at the storage backend.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Backend {
    /// The CSI driver, or the kind of source.
    pub driver: String,
    /// The volume handle.
    pub handle: String,
}

/// What became of an intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The server answered the write with success; what follows from it is being watched. The only
    /// one after which another is due.
    Sent,
    /// It is verified.
    Done,
    /// Not sent, or not admitted: a check, admission or RBAC said no.
    Refused,
    /// Something else changed the object first; nothing was written.
    Stale,
    /// The server answered with an error, and nothing was written.
    Failed,
    /// No answer came: it may have been written or not.
    Unanswered,
    /// It was written, and the controllers were not done within the deadline.
    Pending,
}

/// What a line holds, as far as it can be told.
pub(super) enum Line {
    /// Ours.
    Ours(Record),
    /// Of a newer version, which says at least what it follows.
    Newer { version: u32, previous: Option<String> },
    /// Not one of ours, or only a part of one.
    Unreadable,
}

/// A line of this version.
pub(super) struct Record {
    pub(super) sequence: u64,
    pub(super) previous: String,
    pub(super) at: Option<Time>,
    pub(super) body: Body,
}

/// What a line is about.
pub(super) enum Body {
    Intent {
        run: String,
        intent: Box<Intent>,
    },
    Outcome {
        of: u64,
        outcome: Outcome,
        detail: String,
    },
    /// A type that this version does not know.
    Unknown(String),
    /// A type that it knows, and fields that it cannot make sense of.
    Malformed(String),
}

/// What all lines have.
#[derive(Deserialize)]
pub(super) struct Head {
    pub(super) sequence: u64,
    previous: String,
    at: Option<String>,
    #[serde(rename = "type")]
    kind: String,
}

/// Where a line comes in the chain.
pub(super) struct Place<'a> {
    pub(super) sequence: u64,
    pub(super) previous: &'a str,
    pub(super) at: Option<Time>,
}

#[derive(Serialize)]
struct Written<'a, Fields> {
    version: u32,
    sequence: u64,
    previous: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
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
struct Run {
    run: String,
}

#[derive(Serialize, Deserialize)]
struct OutcomeFields {
    of: u64,
    outcome: Outcome,
    #[serde(default)]
    detail: String,
}

fn line(place: &Place, kind: &'static str, fields: impl Serialize) -> serde_json::Result<Vec<u8>> {
    let Place { sequence, previous, at } = *place;
    let at = at.as_ref().map(format_time);
    serde_json::to_vec(&Written { version: VERSION, sequence, previous, at, kind, fields })
}

/// Makes the line of an intent, without its line break.
pub(super) fn intent(place: &Place, run: &str, intent: &Intent) -> serde_json::Result<Vec<u8>> {
    line(place, INTENT, IntentFields { run, intent })
}

/// Makes the line of an outcome, without its line break.
pub(super) fn outcome(
    place: &Place,
    of: u64,
    outcome: Outcome,
    detail: &str,
) -> serde_json::Result<Vec<u8>> {
    line(place, OUTCOME, OutcomeFields { of, outcome, detail: detail.to_owned() })
}

/// Returns what ties a line to the one before it.
pub(super) fn hash(line: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(line) {
        write!(text, "{byte:02x}").expect("because a text takes everything");
    }
    text
}

/// Whether a line that cannot be read may be the beginning of one of ours. Where a machine died,
/// file systems may also leave zeros.
pub(super) fn looks_torn(line: &[u8]) -> bool {
    let length = line.len().min(BEGINNING.len());
    let begun = line.iter().zip(BEGINNING).take_while(|(a, b)| a == b).count();
    begun == length || line[begun..].iter().all(|byte| *byte == 0)
}

/// Reads what all lines have.
pub(super) fn head(line: &[u8]) -> Result<Head, Line> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
        previous: Option<Value>,
    }
    let Ok(versioned) = serde_json::from_slice::<Versioned>(line) else {
        return Err(Line::Unreadable);
    };
    let version = versioned.version;
    if version > VERSION {
        let previous = versioned.previous.and_then(|it| it.as_str().map(str::to_owned));
        return Err(Line::Newer { version, previous });
    }
    let head = serde_json::from_slice(line).ok().filter(|_| version == VERSION);
    head.ok_or(Line::Unreadable)
}

/// Reads a line, without its line break.
pub(super) fn parse(line: &[u8]) -> Line {
    let Head { sequence, previous, at, kind } = match head(line) {
        Ok(head) => head,
        Err(other) => return other,
    };
    // A time that does not parse is one that is not known: nothing rests on it.
    let at = at.and_then(|at| parse_time(&at).ok().flatten());
    let body = match kind.as_str() {
        INTENT => read::<Run>(line)
            .zip(read(line))
            .map(|(Run { run }, intent)| Body::Intent { run, intent: Box::new(intent) }),
        OUTCOME => read(line).map(|OutcomeFields { of, outcome, detail }| Body::Outcome {
            of,
            outcome,
            detail,
        }),
        _ => Some(Body::Unknown(kind.clone())),
    };
    let body = body.unwrap_or(Body::Malformed(kind));
    Line::Ours(Record { sequence, previous, at, body })
}

fn read<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    serde_json::from_slice(line).ok()
}

/// How lines name an object.
mod object {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

    use crate::model::{Kind, ObjectKey, ObjectRef, Uid};

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Named {
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
        let named = Named {
            api_version: kind.api_version(),
            kind: kind.name().to_owned(),
            namespace: namespace.as_deref().map(str::to_owned),
            name: name.to_string(),
            uid: object.uid.as_ref().map(Uid::to_string),
        };
        named.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<ObjectRef, D::Error> {
        let named = Named::deserialize(from)?;
        let group = named.api_version.split_once('/').map_or("", |(group, _)| group);
        let kind = Kind::parse(group, &named.kind).ok_or_else(|| D::Error::custom("its kind"))?;
        let namespace = named.namespace.map(Into::into);
        let key = ObjectKey { kind, namespace, name: named.name.into() };
        Ok(ObjectRef { key, uid: named.uid.as_deref().and_then(Uid::parse) })
    }
}
