//! Acts in the background: what `watch` does by a policy, and `-w` on commands that write.
//!
//! The loop finds what there is to do, at no cost; before anything is done about it the cluster is listed anew, judged
//! several times, planned and changed by the same code as the commands.
//!
//! - `session`: the look before anything is changed.
//! - `permit`: whether anything may be changed now.
//! - `room`: how many changes there is room for, where several go on side by side.
//! - `terms`: what is done, and within which bounds.
//! - `actor`: what is done, and when.
//! - `news`: what is told of that.
//! - `wanted`: hears from the loop for what there are findings.
//! - `following`: `-w` on a command.

mod actor;
mod following;
mod news;
mod permit;
mod room;
mod session;
mod terms;
mod wanted;

pub(super) use actor::{Actor, ActorPast};
pub(super) use following::{Following, ended, finish};
pub(super) use news::{ActingNews, ToldReasons};
pub(super) use permit::{Busy, HEARD, PauseFollower, Permit, ReadPause};
pub(super) use room::HourRoom;
pub(super) use terms::ActingTerms;
pub(super) use wanted::{FollowedFindings, WantedFindings};
