//! `kubectl storage`: finds and repairs what goes wrong with Kubernetes storage.
//!
//! # How to find one's way
//!
//! Data flows through the modules in the order in which they are listed, and each imports only
//! from those above it (`tests/it/architecture.rs` reads this list, holds it, and draws it in
//! `docs/architecture.md`):
//!
//! 1. [`model`]: the words that all modules share: rows, keys, ages, findings, settings. Plain data.
//! 2. `platform`: what differs between operating systems, and nothing else.
//! 3. [`drivers`]: what is known of storage drivers, by families: which storage a volume
//!    names, and what its deletion destroys.
//! 4. [`client`]: the connection to an API server: lists and watches as bytes arrive, questions.
//! 5. [`dump`]: documents in files, folders, archives and on standard input. Like `client`, it
//!    knows of no cluster.
//! 6. `listings`: what a storage provider lists, in the answers of its own commands, as files.
//! 7. `usage`: how full volumes are, in answers of Prometheus and of kubelets, as files.
//! 8. [`cluster`]: the rows, their indexes, and what was not seen; `apply(Change)`.
//! 9. [`journal`]: what we recorded, in files of our own and in the cluster.
//! 10. [`objects`]: one slim type per kind, decoded from protobuf, JSON or YAML, and its row.
//! 11. [`sources`]: **door in**. What `client`, `dump`, the journal and answers to questions yield
//!     becomes the same changes.
//! 12. [`facts`]: derived truths that rules share, one per file.
//! 13. [`guard`]: the policies with which the API server itself refuses what loses data, as data.
//! 14. [`remedies`]: what could be done, one per file, with all its checks.
//! 15. [`rules`]: what can be found; judging all subjects, or those that a change touched.
//! 16. [`plan`]: proposals selected, ordered, bounded.
//! 17. [`apply`]: **door out**, and the only one.
//! 18. [`output`]: the public shapes, and one file per format.
//! 19. [`watch`]: the loop: what changed is judged, for one look as for many; findings that come
//!     and go.
//! 20. [`cli`]: flags in, exit code out.
//!
//! # What is absent, on purpose
//!
//! - No clock, no I/O, no `async` and no errors in `model`, `drivers`, `cluster`, `facts`,
//!   `remedies` and `rules`: time arrives as a change, and the one `Result` is [`cluster::Seen`].
//! - No way to mistake silence for absence: every lookup says whether it saw.
//! - No write outside `apply`. What `sources` can send is a GET, or a review of access rights.
//! - No `Vec` of whole API objects: objects are folded into rows one by one, and dropped.
//! - No public shape by accident: what `output::wire` and `output::writing` print is held by JSON
//!   schemas and golden outputs; records of the journal and dump files have versions of their own.

pub mod model;
pub(crate) mod platform;
pub mod drivers;
pub mod client;
pub mod dump;
pub(crate) mod listings;
pub(crate) mod usage;
pub mod cluster;
pub mod journal;
pub(crate) mod objects;
pub mod sources;
pub mod facts;
pub mod guard;
pub mod remedies;
pub mod rules;
pub(crate) mod plan;
pub mod apply;
pub mod output;
pub mod watch;
pub mod cli;

#[cfg(test)]
#[path = "../tests/damage.rs"]
mod damage;
