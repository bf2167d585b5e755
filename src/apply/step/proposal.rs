//! Compares a proposal with the confirmed one.

use crate::model::{ANNOUNCED, Action, Proposal};

/// Whether a proposal made after `done` steps is the rest of the confirmed one.
pub(super) fn is_rest(confirmed: &Proposal, done: usize, now: &Proposal) -> bool {
    if done == 0 {
        return confirmed == now;
    }
    confirmed.steps.get(done..) == Some(&now.steps)
        && now.notices.iter().all(|it| confirmed.notices.contains(it))
        && now.relies_on.iter().all(|it| confirmed.relies_on.contains(it))
}

/// Whether what is left of the confirmed proposal would create objects that exist meanwhile, and
/// that fit.
pub(super) fn is_fulfilled(confirmed: &Proposal, done: usize, now: &Proposal) -> bool {
    let rest = confirmed.steps.get(done..).unwrap_or_default();
    let new = |it: &&String| !confirmed.notices.contains(*it);
    now.steps.is_empty()
        && rest.iter().all(|it| matches!(it, Action::CreateClaim { .. }))
        && now.notices.iter().filter(new).count() == 0
        && now.relies_on.iter().all(|it| confirmed.relies_on.contains(it))
}

/// Describes how a proposal differs from the confirmed one.
pub(super) fn difference(confirmed: &Proposal, done: usize, now: &Proposal) -> String {
    let new: Vec<_> = now.notices.iter().filter(|it| !confirmed.notices.contains(it)).collect();
    if let Some(reverted) = reverted(confirmed, done, now) {
        return reverted;
    }
    if let ([Action::Announce { mark: before, .. }], [Action::Announce { mark, .. }]) =
        (&*confirmed.steps, &*now.steps)
        && before != mark
    {
        return format!("another client has changed annotation {ANNOUNCED}");
    }
    if confirmed.steps.get(done..) != Some(&now.steps) {
        return "the change that would be made now differs from the confirmed one".to_owned();
    }
    match new.first() {
        Some(notice) => format!("new since it was confirmed: {notice}"),
        None => "its effect now differs from the confirmed one".to_owned(),
    }
}

/// Describes that a step before would be needed again: another client has reverted it.
fn reverted(confirmed: &Proposal, done: usize, now: &Proposal) -> Option<String> {
    if let (true, Some(Action::CreateSnapshot { snapshot, .. })) = (done > 0, now.steps.first()) {
        return Some(format!("another client has deleted {snapshot}, which was ready to use"));
    }
    let before = confirmed.steps.get(done.checked_sub(1)?..)?;
    if *before != *now.steps {
        return None;
    }
    let [Action::SetReclaimPolicy { volume, from, .. }, next, ..] = before else { return None };
    let left = match next {
        Action::DeleteClaim { claim, .. } => format!("; {claim} is not deleted"),
        _ => String::new(),
    };
    Some(format!("another client has set the policy of {volume} back to {from}{left}"))
}
