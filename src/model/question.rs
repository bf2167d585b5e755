//! Questions about single objects that come up while judging, and their answers.

use std::sync::Arc;

use super::{Announcements, CustomUsers, Kind, ObjectKey, OwnerReference, Text, Uid};

/// A question about a single object, asked after the lists were read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Question {
    /// Does this object exist, of a kind that is listed? Asked if the lists were not read in the
    /// order that proves its absence. An object that exists is returned as a row as well.
    Exists(ObjectKey),
    /// Does this owner of another object exist, whatever its kind, and with which uid?
    OwnerExists(OwnerKey),
    /// Who owns this owner of another object, whatever its kind? Asked only where the owner may be
    /// deleted with its own owners.
    OwnersOf(OwnerKey),
    /// Does this Secret exist? Only its metadata is requested.
    SecretExists { namespace: Text, name: Text },
    /// May this `ServiceAccount` patch persistent volumes?
    MayPatchVolumes { namespace: Text, service_account: Text },
    /// Does a record of kept backend volumes exist? Its entries are returned as rows.
    KeptBackends { namespace: Text },
    /// What is announced, and what was vetoed, by the records of this namespace?
    Announcements { namespace: Text },
    /// Which custom resources of this namespace use claims? Asked only about claims that are to be
    /// deleted: each kind that is served is listed.
    CustomUsers { namespace: Text },
}

/// The owner in an owner reference.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OwnerKey {
    /// `apiVersion`.
    pub api_version: Text,
    /// `kind`.
    pub kind: Text,
    /// The namespace of the dependent: an owner is in the same namespace, or cluster-wide.
    pub namespace: Text,
    /// `name`.
    pub name: Box<str>,
}

impl Question {
    /// The kind to which gaps and declared needs assign the question.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Exists(key) => key.kind,
            Self::OwnerExists(_)
            | Self::OwnersOf(_)
            | Self::KeptBackends { .. }
            | Self::CustomUsers { .. } => Kind::PartialObjectMetadata,
            Self::SecretExists { .. } => Kind::Secret,
            Self::Announcements { .. } => Kind::ConfigMap,
            Self::MayPatchVolumes { .. } => Kind::SubjectAccessReview,
        }
    }

    /// The namespace of its object; `None` for cluster-wide kinds.
    pub const fn namespace(&self) -> Option<&Text> {
        match self {
            Self::Exists(key) => key.namespace.as_ref(),
            Self::OwnerExists(key) | Self::OwnersOf(key) => Some(&key.namespace),
            Self::SecretExists { namespace, .. }
            | Self::MayPatchVolumes { namespace, .. }
            | Self::KeptBackends { namespace }
            | Self::Announcements { namespace }
            | Self::CustomUsers { namespace } => Some(namespace),
        }
    }
}

/// An owner of other objects, as far as its deletion depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerObject {
    /// Its uid.
    pub uid: Uid,
    /// Whether it is Terminating.
    pub terminating: bool,
    /// Whether it is in no namespace.
    pub cluster_wide: bool,
    /// `metadata.ownerReferences`.
    pub owners: Box<[OwnerReference]>,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Yes,
    /// It exists, and this is its uid.
    Is(Uid),
    /// It exists, and this is known of it.
    Owner(Arc<OwnerObject>),
    /// These custom resources use claims.
    Users(Arc<CustomUsers>),
    /// This is recorded of announcements.
    Announcements(Arc<Announcements>),
    No,
    /// No answer was received, for this reason.
    Unanswered(Box<str>),
    /// The user lacks the permission to ask.
    Forbidden,
    /// The server does not serve the kind in this API version, by complete discovery of its group.
    NotServed {
        /// The API version of the same group in which it is served, if there is one.
        elsewhere: Option<Text>,
    },
}
