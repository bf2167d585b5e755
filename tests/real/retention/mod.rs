//! What becomes of the claims of `StatefulSet`s, and what the tool says beforehand (D-54 to D-75).

mod reconcile;
mod batch;
mod commands;
mod disown;
mod foretell;
mod membership;
mod one_namespace;
mod owners;
mod policies;
mod random;
mod set;
mod set_policy;
mod upstream;
