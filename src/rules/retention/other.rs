//! Claims that no `StatefulSet` of the cluster certainly has: of deleted sets, of templates that a
//! set does not have any more, with ambiguous names, and of sets of other API groups.

use crate::cluster::{Cx, Seen, Subject};
use crate::facts::retention::membership;
use crate::model::{Claim, OwnerReference};
use crate::rules::{Rule, judge_with};

/// A claim that looks like one of a set.
#[derive(Debug)]
pub struct OtherClaim<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// What it looks like.
    pub reason: OtherReason,
    /// One sentence without a full stop.
    pub summary: String,
}

/// Why a claim that looks like one of a set is not shown with one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OtherReason {
    /// Its name matches templates of several sets (F68).
    Ambiguous,
    /// Its set has no such template any more (F70).
    OldTemplate,
    /// Its set seems to be deleted (F63).
    DeletedSet,
    /// A set of another API group has it, which the `StatefulSet` controller does not manage.
    Unmanaged,
}

impl OtherReason {
    /// As reports write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ambiguous => "ambiguous",
            Self::OldTemplate => "old-template",
            Self::DeletedSet => "deleted-set",
            Self::Unmanaged => "unmanaged",
        }
    }
}

/// The rules that tell such claims.
const TOLD_BY: [(&str, OtherReason); 3] = [
    ("sts-ambiguous-claim-name", OtherReason::Ambiguous),
    ("sts-template-drift", OtherReason::OldTemplate),
    ("sts-deleted-leftover", OtherReason::DeletedSet),
];

/// Returns what a claim looks like that no set certainly has; `None` for all others.
///
/// # Errors
/// When sets or pods of its namespace were not read.
pub fn others<'a>(
    cx: &Cx<'a>,
    subject: &Subject,
    claim: &'a Claim,
) -> Seen<Option<OtherClaim<'a>>> {
    if membership(cx, claim)?.decided.is_some() {
        return Ok(None);
    }
    if let Some(owner) = unmanaged(cx, claim)? {
        let summary = format!(
            "of {} {} ({}): kube-controller-manager applies no retention policy to it",
            owner.kind, owner.name, owner.api_version
        );
        return Ok(Some(OtherClaim { claim, reason: OtherReason::Unmanaged, summary }));
    }
    for (id, reason) in TOLD_BY {
        let rule: &Rule = super::super::find(id).expect("because a test holds that it is a rule");
        let judged = judge_with(cx, subject, rule);
        if let Some(unseen) = judged.unseen {
            return Err(unseen);
        }
        if let Some(finding) = judged.finding {
            return Ok(Some(OtherClaim { claim, reason, summary: finding.summary }));
        }
    }
    Ok(None)
}

/// Returns the set of another API group that has a claim: its owner, or the controller of a pod that
/// uses it.
fn unmanaged(cx: &Cx, claim: &Claim) -> Seen<Option<OwnerReference>> {
    let is_other = |it: &&OwnerReference| {
        it.kind.ends_with("StatefulSet") && !it.api_version.starts_with("apps/")
    };
    if let Some(owner) = claim.metadata.owners.iter().find(is_other) {
        return Ok(Some(owner.clone()));
    }
    let pods = cx.pods_of(&claim.key())?;
    let controllers = pods.iter().filter_map(|pod| pod.controller.as_deref());
    Ok(controllers.into_iter().find(is_other).cloned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tells_them_are_rules() {
        for (id, _) in TOLD_BY {
            assert!(crate::rules::find(id).is_some(), "{id}");
        }
    }
}
