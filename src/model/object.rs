//! How objects are named.

use std::fmt;

use super::{Identified, Kind, Text, Uid};

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

/// What identifies an object at one moment: a name can be used again, a uid cannot.
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
    /// Names an object without a namespace.
    pub fn cluster_wide(kind: Kind, name: &str) -> Self {
        Self { kind, namespace: None, name: name.into() }
    }

    /// Names an object; the namespace counts only for kinds that have one.
    pub fn named(kind: Kind, namespace: &str, name: &str) -> Self {
        let namespace = kind.is_namespaced().then(|| namespace.into());
        Self { kind, namespace, name: name.into() }
    }

    /// Names a claim.
    pub fn claim(key: &ClaimKey) -> Self {
        Self {
            kind: Kind::PersistentVolumeClaim,
            namespace: Some(Text::clone(&key.namespace)),
            name: key.name.clone(),
        }
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

/// An object as a report names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectRef {
    /// Kind, namespace and name.
    pub key: ObjectKey,
    /// Which incarnation of that name, when it is known.
    pub uid: Option<Uid>,
}

impl ObjectRef {
    /// References the object of a row.
    pub(super) fn of(row: &impl Identified, uid: Option<&Uid>) -> Self {
        Self { key: row.object_key(), uid: uid.cloned() }
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.key.fmt(f)
    }
}
