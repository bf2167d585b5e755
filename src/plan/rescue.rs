//! What the reconciler `rescue` of `watch` does: it keeps data that is about to be lost, and destroys nothing.

use super::{ObjectDetails, Plan, Purpose, retain::retain};
use crate::cluster::{Cx, Subject};
use crate::facts;
use crate::model::{Claim, RuleId, VerdictState};
use crate::remedies::RetentionChange;
use crate::rules;

/// The name of the command in plans and in the journal.
const COMMAND: &str = "watch-rescue";

/// The findings that it answers.
pub const RESCUED: [RuleId; 3] = [IN_USE, DOOMED, CONTRADICTS];
const IN_USE: RuleId = "pvc-terminating-in-use";
const DOOMED: RuleId = "pvc-doomed-by-gc";
const CONTRADICTS: RuleId = "sts-ownerref-contradicts-retain";

/// Plans to set the policy of volumes to Retain whose claims are Terminating while pods use them, and to remove owner
/// references with which the garbage collector would delete a claim although its set retains it, or of which no
/// owner exists. Findings that the user excluded, and those without a remedy, are left alone.
///
/// A claim whose pods are all Terminating is on its way out on purpose, as in a namespace that is being deleted: what
/// is kept of that would be billed for ever.
pub fn rescue(cx: &Cx) -> Plan {
    let mut plan = Plan::new(COMMAND, cx);
    let found = |subject: &Subject, id: RuleId| {
        let rule = rules::find(id)
            .filter(|_| !rules::is_left_out(cx.cluster(), cx.settings(), subject, id));
        let finding = rule.and_then(|rule| rules::judge_with(cx, subject, rule).finding);
        finding.is_some_and(|it| it.verdict.state == VerdictState::Fixable)
    };
    let mut in_use = Vec::new();
    for (id, claim) in cx.cluster().claims() {
        let subject = Subject::Claim(id);
        if found(&subject, IN_USE) && stays_in_use(cx, claim) {
            in_use.push(claim.object().key);
        } else if found(&subject, DOOMED) {
            take(cx, &mut plan, claim, Purpose::Disown);
        } else if found(&subject, CONTRADICTS) {
            take(cx, &mut plan, claim, Purpose::ApplyRetention(RetentionChange::RemoveOwners));
        }
    }
    let Plan { changes, refusals, .. } = retain(cx, &in_use);
    plan.changes.extend(changes);
    plan.refusals.extend(refusals);
    plan.sorted()
}

/// Whether a pod uses a claim that nobody has deleted.
fn stays_in_use(cx: &Cx, claim: &Claim) -> bool {
    let users = facts::upstream_in_use(cx, claim).unwrap_or_default();
    users.iter().any(|user| user.pod.deleting.is_none() && !user.pod.is_finished())
}

fn take(cx: &Cx, plan: &mut Plan, claim: &Claim, purpose: Purpose) {
    let object = claim.object();
    let about = ObjectDetails::of_object(cx, &object);
    plan.take_proposed(cx, purpose, object, about, false);
}
