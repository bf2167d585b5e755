//! The exit code of a plan or of a receipt (README, "Exit codes").

use crate::apply::{ChangeReceipt, Outcome, Receipt};
use crate::cli::Exit;
use crate::plan::{Plan, ProposedChange, RefusedObject};

/// The exit code of a plan that is only shown.
pub(super) fn of_plan(plan: &Plan, gaps: bool) -> Exit {
    let nothing_else = plan.changes.iter().all(ProposedChange::only_records);
    of_refusals(&plan.refusals, nothing_else, gaps)
}

/// The exit code of what was done. Of several that apply, the first: 130, 1, 6, 5, 4, 0.
pub(super) fn of_receipt(receipt: &Receipt, gaps: bool) -> Exit {
    if receipt.interrupted {
        return Exit::Interrupted;
    }
    // A veto that is recorded carries out nothing of what was asked for.
    let recorded = |it: &&ChangeReceipt| it.outcome == Outcome::Done && it.change.only_records();
    let recorded = receipt.done.iter().filter(recorded).count();
    let done = receipt.count(Outcome::Done) - recorded;
    let all = receipt.done.len() - recorded;
    let partly = receipt.done.iter().any(|it| it.partly && it.outcome != Outcome::Done);
    if partly || receipt.count(Outcome::Unanswered) + receipt.count(Outcome::Pending) > 0 {
        return Exit::Unfinished;
    }
    match (done, all) {
        (0, 1..) if receipt.count(Outcome::Failed) > 0 => Exit::Error,
        (0, 1..) => Exit::Refused,
        _ if done < all => Exit::Unfinished,
        (0, _) => of_refusals(&receipt.refusals, true, gaps),
        // What was named and refused, or not seen, makes it a part of what was asked for.
        _ if receipt.refusals.iter().any(|it| it.named || it.unseen) => Exit::Unfinished,
        _ => of_refusals(&receipt.refusals, false, gaps),
    }
}

/// What was named must not be refused; what a filter chose may be. A refusal because something was
/// not seen is never fine.
fn of_refusals(refusals: &[RefusedObject], nothing_else: bool, gaps: bool) -> Exit {
    let named = refusals.iter().any(|it| it.named);
    let unseen = refusals.iter().any(|it| it.unseen);
    match (named, nothing_else) {
        (true, true) => Exit::Refused,
        (true, false) => Exit::Unfinished,
        _ if unseen => Exit::Refused,
        _ if gaps => Exit::Incomplete,
        _ => Exit::Done,
    }
}
