//! Why one object is in the state it is in, and what would happen if.

use super::{Evidence, Kind, ObjectRef, Text};

/// Everything there is to say about one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The object.
    pub object: ObjectRef,
    /// The fields that tell its state.
    pub state: Vec<Evidence>,
    /// Why it is in this state, each a sentence without a full stop.
    pub because: Vec<String>,
    /// Who uses it.
    pub users: Vec<User>,
    /// The kinds of users that were looked at; others may use it too.
    pub looked_at: Vec<Kind>,
    /// What would happen if.
    pub outcomes: Vec<Outcome>,
    /// What could not be told, because it was not seen.
    pub unseen: Vec<NotSeen>,
}

/// Somebody who uses an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Who.
    pub object: ObjectRef,
    /// How, in a few words: `pod, Running on node n0`.
    pub how: String,
    /// Whether Kubernetes itself waits for it when the object is deleted.
    pub holds: bool,
}

/// What would happen to one object if something were done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// What is done, in the form "it is deleted".
    pub when: String,
    /// What it happens to, where that is not the object itself.
    pub object: Option<ObjectRef>,
    /// What happens, in a word that scripts can rely on: `kept`, `deleted`, `deleted-later`,
    /// `destroyed`, `unknown`…
    pub then: &'static str,
    /// Why, as a sentence without a full stop.
    pub because: String,
}

/// Something that was not seen, and what it keeps one from telling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotSeen {
    /// The kind.
    pub kind: Kind,
    /// The namespace, or `None` for all.
    pub namespace: Option<Text>,
    /// Why.
    pub reason: String,
}
