//! The loop of a watch: changes in, what they touched judged, findings that appear, change and clear out.
//!
//! One look and a watch differ only in where changes come from, and two watches in where news go. Both fill the same
//! [`Cluster`](crate::cluster::Cluster), have it judged by the same function, and ask the same
//! questions; a watch goes on.
//!
//! - `judging`: judges what a change touched, which every command calls; asks what that raises, and
//!   judges again, which looks and turns of the loop call.
//! - `known_findings`: what was reported, what was not read, and what has become of both.
//! - `reconciler`: these together, and when to judge: not at every change, and not too late. No
//!   clock, no I/O and no `async`: tests drive it through any order of changes, at any time.
//! - `refresh`: what no watch keeps current: answers to questions, and records.
//! - `election`, `leader`: which of several processes reports.
//! - `pause`: whether reconcilers may act at all.
//! - [`policy`]: the file that says what `watch` judges and reports.
//! - `run`: the edge: waits for changes and for time to pass, asks, and hands over the news; whether
//!   the loop turns.
//! - `acting`: what reconcilers do in the background, and when.
//! - `report`: what a policy says about the news: metrics, Events, a webhook.

pub(crate) mod acting;
pub(crate) mod judging;
pub(crate) mod pause;
pub mod policy;
mod known_findings;
mod reconciler;
mod refresh;
mod run;
mod election;
mod leader;
pub(crate) mod report;

pub(crate) use election::ElectionPace;
pub(crate) use judging::{ROUNDS, settle};
pub use known_findings::GapNews;
pub(crate) use leader::{Candidate, Leadership};
pub use reconciler::{News, Pace, Reconciler};
pub(crate) use refresh::Records;
pub(crate) use run::{Listener, Probes, Told, Watching};
