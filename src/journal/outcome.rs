//! What has become of an intent.

use serde::{Deserialize, Serialize};

/// The outcome of an intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The API server answered with success; the effect is not verified yet. The only outcome after
    /// which another follows.
    Sent,
    /// Its effect is verified.
    Done,
    /// Not sent, or not admitted: a check, admission or RBAC refused it.
    Refused,
    /// Another client changed the object first; nothing was written.
    Stale,
    /// The API server answered with an error; nothing was written.
    Failed,
    /// No answer came: it may have been carried out or not.
    Unanswered,
    /// It was carried out; its effect was not verified before the deadline.
    Pending,
}

impl Outcome {
    /// Its public name.
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
