//! Persistent volume claims.

use std::fmt;

use super::{Bytes, ClaimKey, Kind, Metadata, ObjectKey, ObjectRef, Text};

/// A `PersistentVolumeClaim`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Name, uid, finalizers, owners.
    pub metadata: Metadata,
    /// Its namespace.
    pub namespace: Text,
    /// `status.phase`.
    pub phase: ClaimPhase,
    /// `spec.volumeName`, when set.
    pub volume_name: Option<Box<str>>,
    /// `spec.storageClassName`; `None` when absent, empty when it asks for no class.
    pub class: Option<Text>,
    /// Annotation `pv.kubernetes.io/bind-completed` is present.
    pub bind_completed: bool,
    /// `spec.resources.requests.storage`.
    pub requested: Option<Bytes>,
}

impl Claim {
    /// Its namespace and name.
    pub fn key(&self) -> ClaimKey {
        ClaimKey { namespace: Text::clone(&self.namespace), name: self.metadata.name.clone() }
    }

    /// How reports name it.
    pub fn object(&self) -> ObjectRef {
        ObjectRef {
            key: ObjectKey {
                kind: Kind::PersistentVolumeClaim,
                namespace: Some(Text::clone(&self.namespace)),
                name: self.metadata.name.clone(),
            },
            uid: self.metadata.uid.clone(),
        }
    }
}

/// `status.phase` of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimPhase {
    Pending,
    Bound,
    Lost,
    /// A phase that this version does not know.
    Other(Text),
}

impl fmt::Display for ClaimPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pending => "Pending",
            Self::Bound => "Bound",
            Self::Lost => "Lost",
            Self::Other(text) => text,
        })
    }
}
