//! Compares a proposal with the confirmed one.

use crate::model::Proposal;

/// Whether a proposal made after `done` steps is the rest of the confirmed one.
pub(super) fn is_rest(confirmed: &Proposal, done: usize, now: &Proposal) -> bool {
    if done == 0 {
        return confirmed == now;
    }
    confirmed.steps.get(done..) == Some(&now.steps)
        && now.notices.iter().all(|it| confirmed.notices.contains(it))
        && now.relies_on.iter().all(|it| confirmed.relies_on.contains(it))
}

/// Describes how a proposal differs from the confirmed one.
pub(super) fn difference(confirmed: &Proposal, done: usize, now: &Proposal) -> String {
    let new: Vec<_> = now.notices.iter().filter(|it| !confirmed.notices.contains(it)).collect();
    if confirmed.steps.get(done..) != Some(&now.steps) {
        return "the change that would be made now differs from the confirmed one".to_owned();
    }
    match new.first() {
        Some(notice) => format!("new since it was confirmed: {notice}"),
        None => "its effect now differs from the confirmed one".to_owned(),
    }
}
