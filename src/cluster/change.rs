//! Changes to a `Cluster`: rows, coverage, answers and the clock.

use super::Coverage;
use crate::model::{ControllerRole, Kind, ObjectKey, Question, Row, Server, Text, Time};

/// A change to a [`Cluster`](super::Cluster).
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// An object exists with this content, or a question was answered.
    Seen(Row),
    /// An object exists of which something could not be read, with the rest of its content.
    Odd(Option<Row>, Box<OddObject>),
    /// An object does not exist any more, or no row of it is kept any more.
    Gone(ObjectKey),
    /// A list of everything within reach begins. Sent before the request.
    ///
    /// This, and whatever else is said of a whole kind, replaces what was said of its namespaces:
    /// the whole comes first, and then its parts.
    Begin(Reach),
    /// That list is complete: objects that it did not contain do not exist.
    Complete(Reach),
    /// A dump of another tool contains all objects within reach, as of one moment.
    Whole(Reach),
    /// How far a list reached, as a dump recorded it.
    Covered(Reach, Coverage),
    /// The server does not serve the kind: no objects exist.
    NotServed(Kind),
    /// The server prefers this version of a kind.
    Served(Kind, Text),
    /// A list failed or is incomplete.
    Lost(Gap),
    /// The server's clock.
    Clock(Time),
    /// A time that the server's clock had passed, where nothing says how late it was.
    ClockAtLeast(Time),
    /// The server's version.
    Server(Server),
    /// An answer is too old to count: the question is open again. With the question about the
    /// record of kept backend volumes go all of these: they are taken in again.
    Forgotten(Question),
    /// A trace of a controller was found: that none was found earlier proves nothing any more.
    Traced(ControllerRole, Text),
}

/// An object of which something could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OddObject {
    /// The object.
    pub key: ObjectKey,
    /// How far that reaches.
    pub doubt: Doubt,
    /// What it is: names the object, lower case, no full stop.
    pub reason: String,
}

/// How far it reaches that something of an object could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doubt {
    /// To a size or a time, which its row says is not known.
    Field,
    /// To the object: it is not judged, and nothing is by what it says.
    Object,
    /// To what it may have to do with in its namespace.
    Namespace,
    /// To what it may have to do with anywhere.
    Kind,
}

/// Which objects a list covers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reach {
    /// Their kind.
    pub kind: Kind,
    /// One namespace, or `None` for all.
    pub namespace: Option<Text>,
}

impl Reach {
    /// All objects of a kind.
    pub const fn all(kind: Kind) -> Self {
        Self { kind, namespace: None }
    }
}

/// Objects that were not read, and why.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Gap {
    /// The kind.
    pub kind: Kind,
    /// The namespace, or `None` for all.
    pub namespace: Option<Text>,
    /// Why: lower case, no full stop.
    pub reason: String,
}
