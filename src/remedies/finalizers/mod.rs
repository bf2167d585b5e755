//! What is done about finalizers: one at a time, by its position and name, and only where whoever
//! should remove it is proven gone; a missing protection is added where somebody asks for it.
//!
//! A decision about one finalizer is made in one place, which the finding's verdict, the plan and the
//! moment of writing ask. What is planned for an object is those decisions one after the other, each
//! on the object as the one before leaves it.

mod add_protection;
mod attachment;
mod claim;
mod remover;
mod volume;

use std::collections::BTreeSet;

pub use add_protection::REMEDY as ADD_PROTECTION;
pub use attachment::{REMEDY as FIX_ATTACHMENT, propose as attachment};
pub use claim::{PROTECT as PROTECT_CLAIM, REMEDY as FIX_CLAIM, propose as claim};
pub use volume::{
    ATTACHER as REMOVE_ATTACHER_FINALIZER, EXTERNAL as REMOVE_EXTERNAL_FINALIZER,
    FOREIGN as REMOVE_FOREIGN_FINALIZER, IN_TREE_FINALIZER as REMOVE_IN_TREE_FINALIZER,
    fix as volume,
};

/// The name of the whole, as plans and journals write it.
pub const ID: &str = "fix-finalizers";

/// What is known of the request besides the settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// Whether the object was named: some things are never done to what a filter chose.
    pub named: bool,
    /// Volumes that are gone and named another backend volume than any that is repaired, by the
    /// journal.
    pub elsewhere: BTreeSet<Box<str>>,
}

#[cfg(test)]
mod review;
#[cfg(test)]
mod stage;
