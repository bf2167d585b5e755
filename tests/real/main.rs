//! Scenarios on a real control plane: what upstream really does, and what the tool says about it.
//!
//! Tests named `d_NN_…` are the scenarios of that number in the project's list of semantics. They need the testbed
//! (`tests/testbed/README.md`); without it they fail and say why. They run beside each other: a test has a namespace,
//! and where it stops controllers, a cluster of its own.
//!
//! `BUDGET=600 cargo test --test real foretold -- --ignored --nocapture` foretells and does random things to random sets for ten
//! minutes; without `BUDGET` it does 48 of them.
//!
//! `RECORD_FIXTURES=1 cargo test --test real -- --include-ignored` renews the recorded fixtures in `tests/rules`, and
//! `RECORD_EXAMPLE=examples/leaky-cluster.json.gz cargo test --test real record_example` renews the shipped example.

mod attachments;
mod claims;
mod claims_made;
mod cluster_journal;
mod connection;
mod coverage;
mod delete;
mod deletion_order;
mod df;
mod drivers;
mod dump;
mod expand;
mod faults;
mod finalizers;
mod fix_finalizers;
mod gc;
mod guard;
mod guards;
mod healthy;
mod in_tree;
mod incidents;
mod kept;
mod last_phase_transition;
mod leaky;
mod published;
mod race;
mod rebind;
mod released;
mod retention;
mod reused;
mod support;
mod survive;
mod teardown;
#[path = "../documents.rs"]
mod documents;
#[path = "../terminal.rs"]
mod terminal;
mod undo;
mod untrue;
mod watch;
mod watches;
mod writing;
