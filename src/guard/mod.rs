//! The guard: policies with which the API server itself refuses what loses data or leaks.
//!
//! They are `ValidatingAdmissionPolicies` and their bindings, as data: what they contain
//! ([`objects`]), how those in a cluster differ ([`differences`]), what is wrong with them
//! ([`Installed::faults`]), which writes install or remove
//! them ([`installation`], [`removal`]), and which dry runs prove that they are in force
//! ([`probes`]). Nothing here reads or writes; [`crate::apply`] does.
//!
//! It is a seatbelt, not a security boundary: whoever may edit policies may remove it, and what
//! controllers do for a user is not seen ([`NOT_STOPPED`]).
//!
//! # What the policies rest on
//!
//! - One match condition for all policies: controllers pass, people and listed accounts do not
//!   (`expression::people`). Errors in it would refuse everybody (`failurePolicy: Fail`), so that every field
//!   stands behind `has()` (R-VAP-4).
//! - A DELETE whose preconditions are the uid and resourceVersion of the object is the signature of
//!   `kubectl storage delete`: kubectl sends none, and nothing stays behind.
//! - Finalizers and owner references can be written through `/status` as well (R-VAP-3), which is
//!   matched.
//! - Controllers destroy data by what an object says: a volume's phase, its claimRef and its policy, a
//!   set's retention policy and ordinals. What people may write there is limited, not the controllers.
//! - Each policy also refuses the creation of objects with the name [`PROBE`], which is how a dry
//!   run proves that it is in force.

mod expression;
mod fault;
mod installed;
mod label;
mod object;
mod options;
mod passes;
mod policy;
mod probe;

pub use fault::{Fault, TypeCheck, faults, is_installed};
pub use installed::{Difference, Installed, Step, differences, installation, removal};
pub use label::{GUARD_LABEL, NamespaceMode};
pub use object::{GuardKind, GuardObject, is_ours, objects};
pub use options::{BREAK_GLASS, GuardMode, GuardOptions, OptionsError};
pub use passes::passes;
pub use policy::PROBE;
pub use probe::{Probe, ProbeAnswer, ProbeVerdict, probes};

/// What asks for a write of the guard, in the journal.
pub const GUARD: &str = "guard";

/// What the guard does not stop; `install`, `status` and the documentation list it.
pub const NOT_STOPPED: [&str; 9] = [
    "scaling a StatefulSet down under whenScaled Delete through the scale subresource (kubectl scale, \
     autoscalers): its controller deletes the claims",
    "deleting a StatefulSet under whenDeleted Retain whose claims still have its owner reference: \
     the garbage collector deletes the claims",
    "deleting a custom resource that owns claims or StatefulSets: the garbage collector deletes them",
    "service accounts, and people who act as one (dashboards, CI, Argo CD, Flux, Rancher), unless \
     --deny-account lists the account",
    "deleting a namespace without the label storage.kubectl.dev/guard=deny, which gives a warning \
     only",
    "edits of a namespace's guard label, of the guard's policies and bindings, and their deletion",
    "a client that sends the object's uid and resourceVersion as preconditions, or a field manager \
     that begins with kubectl-storage",
    "deleting a PersistentVolume with policy Retain, which keeps the backend volume but forgets it",
    "changing the reclaim policy of a volume to Delete before it is Released, creating a \
     PersistentVolume named pvc-UID with that uid of a deleted claim, and what is deleted in the backend \
     itself",
];
