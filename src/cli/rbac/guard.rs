//! The rights of `guard`: those of admission policies, and none of storage.

use std::io::{self, Write};

use super::Right;
use crate::model::Kind;

const POLICY: Kind = Kind::ValidatingAdmissionPolicy;
const BINDING: Kind = Kind::ValidatingAdmissionPolicyBinding;

/// What it may write.
pub(super) const WRITES: [(&str, Kind); 6] = [
    ("create", POLICY),
    ("patch", POLICY),
    ("delete", POLICY),
    ("create", BINDING),
    ("patch", BINDING),
    ("delete", BINDING),
];

/// What it reads: the labels of namespaces decide where it refuses, the uid of kube-system is the
/// cluster's, and Events say which controllers it refuses.
const READS: [(&str, Kind); 5] = [
    ("list", POLICY),
    ("list", BINDING),
    ("get", Kind::Namespace),
    ("list", Kind::Namespace),
    ("list", Kind::Event),
];

/// Everything that it asks for.
pub(super) fn rights() -> Vec<Right<'static>> {
    let right = |(verb, kind): (&'static str, Kind)| Right {
        verb,
        group: kind.group().name,
        resource: kind.plural(),
        name: None,
    };
    WRITES.into_iter().chain(READS).map(right).collect()
}

/// Writes what cannot be done with these rights.
pub(super) fn write_unproven(out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "# Not granted here: `guard status` proves by dry runs that the guard is in force, which needs"
    )?;
    writeln!(out, "# create of the guarded kinds. Without it, that is not proven.")
}
