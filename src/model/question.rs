//! Questions about single objects that come up while judging, and their answers.

use super::{ClaimKey, Kind, ObjectKey, Text, Uid};

/// Something that is asked about a single object once the lists are in.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Question {
    /// Does this object exist, of a kind that is listed? Asked where two lists were not taken in the
    /// order that would prove its absence. One that does exist comes back as a row as well.
    Exists(ObjectKey),
    /// Does this owner of another object exist, of any kind at all, and with which uid?
    OwnerExists(OwnerKey),
    /// Does this secret exist? Asked for its metadata only.
    SecretExists { namespace: Text, name: Text },
    /// May this `ServiceAccount` patch persistent volumes?
    MayPatchVolumes { namespace: Text, service_account: Text },
    /// Is there a record of kept backends? What it says comes back as rows.
    KeptBackends { namespace: Text },
}

/// What an owner reference names.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OwnerKey {
    /// `apiVersion`.
    pub api_version: Text,
    /// `kind`.
    pub kind: Text,
    /// The namespace of what is owned: an owner is there, or cluster-wide.
    pub namespace: Text,
    /// `name`.
    pub name: Box<str>,
}

impl Question {
    /// Asks whether a claim exists.
    pub fn claim_exists(key: &ClaimKey) -> Self {
        Self::Exists(ObjectKey::claim(key))
    }

    /// The kind that it is about, as gaps and declarations name it.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Exists(key) => key.kind,
            Self::OwnerExists(_) | Self::KeptBackends { .. } => Kind::PartialObjectMetadata,
            Self::SecretExists { .. } => Kind::Secret,
            Self::MayPatchVolumes { .. } => Kind::SubjectAccessReview,
        }
    }

    /// The namespace that it is about; `None` for cluster-wide kinds.
    pub const fn namespace(&self) -> Option<&Text> {
        match self {
            Self::Exists(key) => key.namespace.as_ref(),
            Self::OwnerExists(key) => Some(&key.namespace),
            Self::SecretExists { namespace, .. }
            | Self::MayPatchVolumes { namespace, .. }
            | Self::KeptBackends { namespace } => Some(namespace),
        }
    }
}

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Yes,
    /// It exists, and this is its uid.
    Is(Uid),
    No,
    /// It was asked, and not answered: why, in words.
    Unanswered(Box<str>),
    /// The user may not ask.
    Forbidden,
}
