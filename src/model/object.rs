//! Keys of objects (kind, namespace, name) and references to them (with uid).

use std::fmt;

use super::{Kind, NamedRow, Text, Uid};

/// The namespace and name of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClaimKey {
    /// The claim's namespace.
    pub namespace: Text,
    /// The claim's name.
    pub name: Box<str>,
}

impl fmt::Display for ClaimKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// The kind, namespace and name of an object. A name can be used again, a uid cannot.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// The kind of the object.
    pub kind: Kind,
    /// Its namespace, `None` for cluster-wide kinds.
    pub namespace: Option<Text>,
    /// Its name.
    pub name: Box<str>,
}

impl ObjectKey {
    /// Makes the key of an object without a namespace.
    pub fn cluster_wide(kind: Kind, name: &str) -> Self {
        Self { kind, namespace: None, name: name.into() }
    }

    /// Makes the key of an object; the namespace is ignored for cluster-wide kinds.
    pub fn named(kind: Kind, namespace: &str, name: &str) -> Self {
        let namespace = kind.is_namespaced().then(|| namespace.into());
        Self { kind, namespace, name: name.into() }
    }

    /// Makes the key of a claim.
    pub fn claim(key: &ClaimKey) -> Self {
        Self {
            kind: Kind::PersistentVolumeClaim,
            namespace: Some(Text::clone(&key.namespace)),
            name: key.name.clone(),
        }
    }

    /// Returns the key as that of a claim, if it is one.
    pub fn as_claim(&self) -> Option<ClaimKey> {
        if self.kind != Kind::PersistentVolumeClaim {
            return None;
        }
        Some(ClaimKey { namespace: self.namespace.clone()?, name: self.name.clone() })
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/", self.kind.short())?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}

/// A reference to an object, as reports print it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectRef {
    /// Kind, namespace and name.
    pub key: ObjectKey,
    /// Its uid, if that is known.
    pub uid: Option<Uid>,
}

impl ObjectRef {
    /// References the object of a row.
    pub(super) fn of(row: &impl NamedRow, uid: Option<&Uid>) -> Self {
        Self { key: row.object_key(), uid: uid.cloned() }
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.key.fmt(f)
    }
}

/// Whether a namespace could have this name (RFC 1123, `IsDNS1123Label`).
pub(crate) fn is_namespace_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.len() <= 63 && text.chars().all(plain)
}
