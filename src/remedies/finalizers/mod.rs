//! Finalizers: removes them one at a time, by position and name, and only where the controller that
//! should remove one is proven absent; adds a missing deletion protection.
//!
//! The decision about one finalizer is made in one place, for the verdict of a finding, for the
//! plan and again before the write. The proposal for an object is the sequence of these decisions,
//! each for the object as the step before leaves it.

mod add_protection;
mod attachment;
mod claim;
mod decision;
mod volume;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::cluster::Cx;
use crate::facts;
use crate::model::{Metadata, Text};

pub use add_protection::REMEDY as ADD_PROTECTION;
pub use attachment::{REMEDY as FIX_ATTACHMENT, propose as attachment};
pub use claim::{PROTECT as PROTECT_CLAIM, REMEDY as FIX_CLAIM, propose as claim};
pub use volume::{
    ATTACHER as REMOVE_ATTACHER_FINALIZER, EXTERNAL as REMOVE_EXTERNAL_FINALIZER,
    IN_TREE_FINALIZER as REMOVE_IN_TREE_FINALIZER, THIRD_PARTY as REMOVE_THIRD_PARTY_FINALIZER,
    fix as volume,
};

/// The name of this purpose in plans and in the journal.
pub const ID: &str = "fix-finalizers";

/// What the user asked for besides the settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FinalizerRequest {
    /// Whether the user named the object: some steps are never proposed for what a filter chose.
    pub named: bool,
    /// Volumes that do not exist any more and that, by the journal, referenced other backend
    /// volumes than those that are repaired.
    pub elsewhere: BTreeSet<Box<str>>,
}

impl FinalizerRequest {
    /// Returns the request for an object that the user named.
    pub fn named() -> Self {
        Self { named: true, ..Self::default() }
    }
}

/// Adds to a command the danger flags on which a proposal relies, with their values; of several
/// `--driver-absent` only the one for `absent`, where that is known.
fn add_flags(cx: &Cx, command: &mut String, relies_on: &[&'static str], absent: Option<&Text>) {
    let settings = cx.settings();
    for flag in relies_on {
        let values: Vec<&str> = match *flag {
            "--driver-absent" => {
                let all = settings.absent_drivers.iter();
                all.filter(|it| absent.is_none_or(|only| only == *it)).map(|it| &**it).collect()
            }
            "--remove-finalizer" => settings.remove_finalizer.iter().map(|it| &**it).collect(),
            _ => {
                let _ = write!(command, " {flag}");
                continue;
            }
        };
        for value in values {
            let _ = write!(command, " {flag} {value}");
        }
    }
}

/// Describes who should remove a third-party finalizer.
pub(super) fn describe_third_party(metadata: &Metadata, finalizer: &str) -> String {
    let managers = facts::managers_of(metadata, finalizer);
    let set_by = match managers.is_empty() {
        true => String::new(),
        false => format!(" (managedFields name {})", managers.join(", ")),
    };
    format!("the controller that set it{set_by} should remove it; whether it exists is unknown")
}

#[cfg(test)]
pub(super) mod fixture;
#[cfg(test)]
mod tests;
