//! `StatefulSet`s: claim templates, ordinals and retention policy.

use std::fmt;

use super::{Bytes, Labels, Metadata, ObjectRef, Selector, Text};

/// What makes a workload a `StatefulSet`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatefulSet {
    /// Name, uid, deletion, managers.
    pub metadata: Metadata,
    /// Its namespace.
    pub namespace: Text,
    /// `metadata.generation`.
    pub generation: i64,
    /// `spec.replicas`; absent means one.
    pub replicas: Option<i32>,
    /// `spec.ordinals.start`.
    pub start: i32,
    /// `spec.volumeClaimTemplates`, in their order.
    pub templates: Box<[ClaimTemplate]>,
    /// `spec.selector.matchLabels`.
    pub match_labels: Labels,
    /// `spec.selector.matchExpressions`; `None` if there are none.
    pub match_expressions: Option<Box<Selector>>,
    /// `spec.persistentVolumeClaimRetentionPolicy`; absent from servers that do not know or do not
    /// honour it.
    pub retention: Option<RetentionPolicy>,
    /// Whether `spec.podManagementPolicy` is `OrderedReady`; `None` for a value that this version
    /// does not know.
    pub ordered: Option<bool>,
    /// `status.observedGeneration`.
    pub observed_generation: i64,
    /// `status.replicas`: pods that exist.
    pub pods: i32,
}

impl StatefulSet {
    /// The reference that reports print.
    pub fn object(&self) -> ObjectRef {
        ObjectRef::of(self, self.metadata.uid.as_ref())
    }
}

/// Splits a name at its ordinal: `data-web-0` into `data-web` and 0.
///
/// `None` when it does not end in an ordinal as the controller prints one: in canonical decimal
/// (`-01` is none), and small enough for the API (`stateful_set_utils.go`,
/// `getPersistentVolumeClaimName` and `getParentNameAndOrdinal`).
pub fn split_ordinal(name: &str) -> Option<(&str, i32)> {
    let (stem, digits) = name.rsplit_once('-')?;
    let canonical = digits == "0" || !digits.starts_with('0');
    let decimal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if stem.is_empty() || !canonical || !decimal {
        return None;
    }
    Some((stem, digits.parse().ok()?))
}

/// One of `spec.volumeClaimTemplates`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimTemplate {
    /// `metadata.name`: the first part of the names of its claims.
    pub name: Text,
    /// `spec.storageClassName`.
    pub class: Option<Text>,
    /// `spec.resources.requests.storage`.
    pub requested: Option<Bytes>,
}

/// `spec.persistentVolumeClaimRetentionPolicy`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// Whether the claims are deleted when the set is deleted.
    pub when_deleted: Retention,
    /// Whether the claims of pods are deleted that a scale-down removes.
    pub when_scaled: Retention,
}

/// Whether claims are retained or deleted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Retention {
    Retain,
    Delete,
    /// A value that this version does not know; upstream treats it as `Retain`.
    Other(Text),
}

impl Retention {
    /// Parses a value of `whenDeleted` or `whenScaled`.
    pub fn parse(text: &str) -> Self {
        match text {
            "Retain" => Self::Retain,
            "Delete" => Self::Delete,
            other => Self::Other(other.into()),
        }
    }

    /// Whether claims are deleted.
    pub const fn deletes(&self) -> bool {
        matches!(self, Self::Delete)
    }
}

impl fmt::Display for Retention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Retain => "Retain",
            Self::Delete => "Delete",
            Self::Other(text) => text,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_ordinal_as_the_controller_prints_it_is_one() {
        for (name, split) in [
            ("data-web-0", Some(("data-web", 0))),
            ("data-web-10", Some(("data-web", 10))),
            ("data-web-2147483647", Some(("data-web", i32::MAX))),
            ("w-0", Some(("w", 0))),
            ("data-web-2147483648", None),
            ("data-web-99999999999999999999999", None),
            ("data-web-01", None),
            ("data-web-00", None),
            ("data-web-", None),
            ("data-web", None),
            ("-0", None),
            ("data-web-+1", None),
            ("data-web-1a", None),
            ("", None),
        ] {
            assert_eq!(split_ordinal(name), split, "{name}");
        }
    }
}
