//! The loop: changes in, what they touched judged, findings that appear, change and clear out.
//!
//! One look and a watch differ only in where changes come from, and two watches in where news go. Both fill the same
//! [`Cluster`](crate::cluster::Cluster), have it judged by the same function, and ask the same
//! questions; a watch goes on.
//!
//! - `judging`: judges what a change touched. Every command calls it.
//! - `settle`: judges, asks what that raises, and judges again. Looks and turns of the loop call it.
//! - `schedule`: when to judge: not at every change, and not too late.
//! - `known_findings`: what was reported, and what has become of it.
//! - `known_gaps`: the same of what was not read.
//! - `reconciler`: these together. No clock, no I/O and no `async`: tests drive it through any
//!   order of changes, at any time.
//! - `refresh`: what no watch keeps current: answers to questions, and records.
//! - `probes`: whether the loop turns.
//! - `election`, `leader`: which of several processes reports.
//! - `pause`: whether reconcilers may act at all.
//! - [`policy`]: the file that says what `watch` judges and reports.
//! - `run`: the edge: waits for changes and for time to pass, asks, and hands over the news.
//! - `acting`: what reconcilers do in the background, and when.
//! - `report`: what a policy says about the news: metrics, Events, a webhook.

pub(crate) mod acting;
pub(crate) mod judging;
pub(crate) mod pause;
pub mod policy;
mod settle;
mod schedule;
mod known_findings;
mod known_gaps;
mod reconciler;
mod refresh;
mod run;
mod probes;
mod election;
mod leader;
pub(crate) mod report;

pub(crate) use election::ElectionPace;
pub use known_gaps::GapNews;
pub(crate) use leader::{Candidate, Leadership};
pub(crate) use probes::Probes;
pub use reconciler::{News, Reconciler};
pub(crate) use refresh::Records;
pub(crate) use run::{Listener, Told, Watching};
pub use schedule::Pace;
pub(crate) use settle::{ROUNDS, settle};
