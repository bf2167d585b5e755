//! The owner references of a set's claims that contradict a policy.

use super::super::checks;
use super::super::retention::remove_owners;
use crate::cluster::{Cx, Seen};
use crate::facts::retention::{
    ClaimOutcome, Operation, SetSituation, TemplateClaim, membership, names_pod, simulate,
};
use crate::model::{Action, Claim, OwnerReference, RetentionPolicy, StatefulSet, Text};

/// A claim with owner references that contradict a policy.
#[derive(Debug, Clone)]
pub(super) struct Contradiction<'a> {
    pub(super) claim: &'a Claim,
    template: Text,
    ordinal: i32,
    /// To the set or to the pod of the claim, both of which exist, and all others, which do not.
    pub(super) owners: Vec<OwnerReference>,
}

impl Contradiction<'_> {
    /// P-OWNER-DEL of these references.
    pub(super) fn removal(&self) -> Action {
        Action::RemoveOwnerReferences { claim: self.claim.object(), owners: self.owners.clone() }
    }

    /// The stem of its name, and its ordinal.
    pub(super) fn place(&self) -> (&str, i32) {
        let name = &*self.claim.metadata.name;
        (name.rsplit_once('-').map_or(name, |(stem, _)| stem), self.ordinal)
    }

    /// Whether it is this claim.
    pub(super) fn is_of(&self, template: &Text, ordinal: i32) -> bool {
        self.template == *template && self.ordinal == ordinal
    }
}

/// Returns the contradictions of all claims that certainly belong to a set, if its policy is this, and
/// why references of others remain: those to earlier sets and pods are no matter of the policy. Terminating claims are none of them: their deletion cannot be
/// revoked.
pub(super) fn contradictions<'a>(
    cx: &Cx<'a>,
    set: &StatefulSet,
    policy: &RetentionPolicy,
) -> Seen<(Vec<Contradiction<'a>>, Vec<String>)> {
    let (mut found, mut remain) = (Vec::new(), Vec::new());
    for template in &set.templates {
        let stem = format!("{}-{}", template.name, set.metadata.name);
        for (_, claim) in cx.claims_of_stem(&set.namespace, &stem)? {
            let member = membership(cx, claim)?.decided;
            let is_its = |it: &TemplateClaim| {
                it.set.metadata.name == set.metadata.name && *it.template == template.name
            };
            let Some(member) = member.filter(is_its) else { continue };
            if claim.metadata.deleting.is_some() {
                continue;
            }
            let remains = match of_claim(cx, claim, &member, policy)? {
                Ok(None) => remove_owners::doomed(cx, claim, &member)?,
                Ok(Some(contradiction)) => {
                    found.push(contradiction);
                    None
                }
                Err(reason) => Some(reason),
            };
            remain.extend(remains.map(|reason| format!("{}: {reason}", claim.metadata.name)));
        }
    }
    Ok((found, remain))
}

/// Returns the contradiction of one claim, if it has any, or why its references remain.
pub(super) fn of_claim<'a>(
    cx: &Cx,
    claim: &'a Claim,
    member: &TemplateClaim,
    policy: &RetentionPolicy,
) -> Seen<Result<Option<Contradiction<'a>>, String>> {
    let set = StatefulSet { retention: Some(policy.clone()), ..member.set.clone() };
    let then = TemplateClaim { set: &set, ..*member };
    let owners = match remove_owners::removable(cx, claim, &then)? {
        Ok(owners) if owners.is_empty() => return Ok(Ok(None)),
        Ok(owners) => owners.into_iter().cloned().collect(),
        Err(reason) => return Ok(Err(reason)),
    };
    let (template, ordinal) = (Text::clone(member.template), member.ordinal);
    Ok(checks::not_ignored(&claim.metadata)
        .map(|()| Some(Contradiction { claim, template, ordinal, owners })))
}

/// Divides contradictions into those that the controller does not certainly resolve by itself after
/// the policy is changed, and the others (R-1847-8).
pub(super) fn by_visit<'a>(
    cx: &Cx,
    set: &StatefulSet,
    to: &RetentionPolicy,
    contradictions: Vec<Contradiction<'a>>,
) -> Seen<(Vec<Contradiction<'a>>, Vec<Contradiction<'a>>)> {
    if contradictions.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let situation = SetSituation::of(cx, set)?;
    let foretold = simulate(&situation, &Operation::SetPolicy(to.clone()));
    // Beside an owner that does not exist, the reference to the set protects the claim: the controller
    // must not remove it alone.
    let alone = |it: &Contradiction| {
        let pod = format!("{}-{}", set.metadata.name, it.ordinal);
        it.owners.iter().all(|owner| owner.uid == set.metadata.uid || names_pod(owner, &pod))
    };
    Ok(contradictions.into_iter().partition(|it| {
        let own = foretold.iter().find(|known| it.is_of(&known.template, known.ordinal));
        let resolved = own.is_some_and(|known| match &known.outcome {
            ClaimOutcome::Reowned(owners) => !it.owners.iter().any(|owner| owners.contains(owner)),
            ClaimOutcome::Kept | ClaimOutcome::Deleted { .. } | ClaimOutcome::Unknown(_) => false,
        });
        !resolved || !alone(it)
    }))
}
