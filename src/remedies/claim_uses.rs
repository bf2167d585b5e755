//! What uses a claim, and forbids its deletion whatever the user says about its data.

use crate::cluster::Cx;
use crate::facts::{self, Unsafe, UnsafeReason};
use crate::model::Claim;

/// Returns the uses of a claim: R-PVCP-9 without the choice about its data. An attachment counts by
/// its finalizer too (R-SUP-1).
pub(super) fn of<'a>(cx: &Cx<'a>, claim: &Claim) -> Unsafe<'a> {
    let mut found = facts::unsafe_to_delete(cx, claim);
    found.reasons.retain(|it| !it.is_lifted_by_choice());
    let attached = claim.volume_name.as_deref().map_or(Ok(Vec::new()), |it| cx.attachments_of(it));
    // What was not read is reported by `unsafe_to_delete` already.
    for row in attached.unwrap_or_default() {
        let reason = UnsafeReason::Attached(row);
        if facts::may_be_attached(row) && !found.reasons.contains(&reason) {
            found.reasons.push(reason);
        }
    }
    found
}

/// Names up to `most` uses, each with what ends it.
pub(super) fn in_words<'a>(
    uses: &[UnsafeReason<'a>],
    most: usize,
    ended_by: impl Fn(&UnsafeReason<'a>) -> String,
) -> String {
    let named = uses.iter().take(most).map(|it| format!("{} ({})", it.words(), ended_by(it)));
    let named = named.collect::<Vec<_>>().join(", ");
    let others = uses.len().saturating_sub(most);
    let others = if others == 0 { String::new() } else { format!(" and {others} more") };
    format!("in use, and no flag overrides this; end these uses first: {named}{others}")
}
