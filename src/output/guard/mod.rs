//! `kind: GuardStatus` and `kind: GuardChanges`: what a cluster has of the guard, what `guard` writes there, and
//! both as text.

mod changes;
mod shape;
mod status;

pub use changes::{changes, difference_lines, ended};
pub use shape::{
    GuardBinding, GuardChange, GuardChangeDifference, GuardChanges, GuardLabel, GuardMetadata,
    GuardNamespaces, GuardOthers, GuardProof, GuardRefused, GuardRules, GuardStatus,
    GuardTypeWarning, GuardTypes,
};
pub use status::{
    StatusContext, proof, proof_lines, refused, status, status_lines, unknown_label_lines,
};
