//! What can happen to a look at a cluster.

use super::Coverage;
use crate::model::{Kind, ObjectKey, Row, Server, Text, Time};

/// Something that was learned.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// An object is there and looks like this, or a question was answered.
    Seen(Row),
    /// An object is gone, or is of no more interest.
    Gone(ObjectKey),
    /// A list of everything within reach begins: sent before it is asked for.
    Begin(Reach),
    /// That list is complete: what it did not name is gone.
    Complete(Reach),
    /// All of a foreign dump's objects within reach are known, as of one moment.
    Whole(Reach),
    /// How far a list reached, as a dump recorded it.
    Covered(Reach, Coverage),
    /// The server does not serve the kind: there are none.
    NotServed(Kind),
    /// A list could not be had, or not whole.
    Lost(Gap),
    /// The server's clock.
    Clock(Time),
    /// What the server says of itself.
    Server(Server),
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

/// Something that was not seen, and why.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Gap {
    /// The kind.
    pub kind: Kind,
    /// The namespace, or `None` when it is all of them.
    pub namespace: Option<Text>,
    /// Why: lower case, no full stop.
    pub reason: String,
}
