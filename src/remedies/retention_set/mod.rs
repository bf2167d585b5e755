//! Sets the retention policy of a `StatefulSet`, and removes owner references of its claims that contradict it.
//!
//! The controller of the set updates the owner references of its claims only as far as it gets
//! (R-1847-8): a claim that it does not visit keeps the reference that it has, and is deleted with
//! the set although the policy retains it (F60). So towards Retain, references of such claims are
//! removed before the policy is patched, and what remains is removed after the controller has
//! observed the patch. Towards Delete only the set is patched: the tool adds no references.

mod obstacles;

use super::{
    Remedy, checks,
    retention::{self, known_policy, remove_owners},
};
use crate::cluster::{Cx, Seen};
use crate::facts::retention::{
    ClaimOutcome, Operation, SetSituation, TemplateClaim, membership, names_pod, simulate,
};
use crate::model::{
    Action, Claim, Effect, Loss, ObjectRef, OwnerReference, Proposal, Refusal, Retention,
    RetentionPolicy, StatefulSet, Text, Undo,
};

/// The name of this purpose in plans and in the journal.
pub const ID: &str = "set-retention";

/// Patches the policy, and removes references that contradict Retain (P-OWNER-DEL).
pub static REMEDY: Remedy<StatefulSet> = Remedy {
    id: ID,
    needs: crate::facts::needs![deletion: PersistentVolumeClaim, HorizontalPodAutoscaler, PartialObjectMetadata],
    writes: &[("patch", "statefulsets"), ("patch", "persistentvolumeclaims")],
    command: |_, set| {
        let place = format!("sts/{} -n {}", set.metadata.name, set.namespace);
        Some(format!("retention set {place} --when-deleted Retain --when-scaled Retain"))
    },
    propose: |cx, set| {
        let retain = || Some(Retention::Retain);
        let request =
            RetentionRequest { when_deleted: retain(), when_scaled: retain(), undoes: None };
        propose(cx, set, &request)
    },
};

/// A requested retention policy of a set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetentionRequest {
    /// The value of `whenDeleted`; `None` leaves it as it is.
    pub when_deleted: Option<Retention>,
    /// The value of `whenScaled`; `None` leaves it as it is.
    pub when_scaled: Option<Retention>,
    /// The journal entry that is undone.
    pub undoes: Option<u64>,
}

/// One write of the change of a policy, or the search for writes that remain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetentionPart {
    /// Only the patch of the set.
    Policy,
    /// Only the references of one claim of this set, whose policy is, or is to be, `to`.
    Claim { set: ObjectRef, from: RetentionPolicy, to: RetentionPolicy },
    /// Every reference that contradicts the policy that the set has: there may be none.
    Rest(RetentionPolicy),
}

impl RetentionRequest {
    /// Whether a field is set to Retain, so that owner references may contradict it.
    pub fn retains(&self) -> bool {
        let retains = |it: &Option<Retention>| *it == Some(Retention::Retain);
        retains(&self.when_deleted) || retains(&self.when_scaled)
    }

    /// Returns the requested policy of a set that has this one.
    pub fn target(&self, policy: &RetentionPolicy) -> RetentionPolicy {
        let or = |asked: &Option<Retention>, known: &Retention| {
            asked.clone().unwrap_or_else(|| known.clone())
        };
        RetentionPolicy {
            when_deleted: or(&self.when_deleted, &policy.when_deleted),
            when_scaled: or(&self.when_scaled, &policy.when_scaled),
        }
    }
}

/// Proposes or refuses the change of the policy of a set, with the removals that belong to it.
///
/// # Errors
/// When sets, pods, claims or autoscalers of its namespace were not read.
pub fn propose(
    cx: &Cx,
    set: &StatefulSet,
    request: &RetentionRequest,
) -> Seen<Result<Proposal, Refusal>> {
    let decided = decide(cx, set, request)?;
    Ok(decided.map_err(|reason| Refusal { reason, effect: effect(set, request, &[], &[]) }))
}

fn decide(
    cx: &Cx,
    set: &StatefulSet,
    request: &RetentionRequest,
) -> Seen<Result<Proposal, String>> {
    checks::all!(obstacles::not_terminating(cx, set)?, checks::not_exempt(cx, &set.metadata));
    let (from, to) = match policies(set, request) {
        Ok(policies) => policies,
        Err(reason) => return Ok(Err(reason)),
    };
    let (contradictions, remain) = match request.retains() {
        true => contradictions(cx, set, &to)?,
        false => (Vec::new(), Vec::new()),
    };
    let changes = *from != to;
    if !changes && contradictions.is_empty() {
        return Ok(Err(format!(
            "nothing to do: {} already, and no owner reference of a claim contradicts it{}{}",
            obstacles::in_words(from),
            match &*remain {
                [] => String::new(),
                some => format!(", except {}", some.join("; ")),
            },
            match set.observed_generation < set.generation {
                true =>
                    "; but the StatefulSet controller has not observed the last change of the set",
                false => "",
            }
        )));
    }
    let mut relies_on = checks::ReliedFlags::default();
    if changes {
        checks::all!(
            obstacles::not_kept(set, &to),
            obstacles::nothing_deletes_at_once(cx, set, &to, &mut relies_on)?,
        );
    }
    let relies_on = match relies_on.settled()? {
        Ok(flags) => flags,
        Err(reason) => return Ok(Err(reason)),
    };
    let (first, later): (Vec<_>, Vec<_>) = match changes {
        true => by_visit(cx, set, &to, contradictions)?,
        false => (contradictions, Vec::new()),
    };
    let (mut notices, loses) = obstacles::foretold(cx, set, &to, first.iter().chain(&later))?;
    notices.extend(remain);
    notices.extend(obstacles::notices(cx, set, request, changes)?);
    let effect = effect(set, request, &first, &later);
    let patch = changes.then(|| Action::SetRetentionPolicy {
        set: set.object(),
        from: from.clone(),
        to: to.clone(),
    });
    let steps = first.iter().map(Contradiction::removal).chain(patch);
    Ok(Ok(Proposal {
        steps: steps.chain(later.iter().map(Contradiction::removal)).collect(),
        effect,
        undo: undo(from, &to),
        notices,
        relies_on,
        keeps_backend: false,
        loses,
    }))
}

/// Proposes or refuses one part of a change for a set.
///
/// # Errors
/// When sets, pods, claims or autoscalers of its namespace were not read.
pub fn propose_part(
    cx: &Cx,
    set: &StatefulSet,
    request: &RetentionRequest,
    part: &RetentionPart,
) -> Seen<Result<Proposal, Refusal>> {
    let decided = match part {
        RetentionPart::Policy => policy_alone(cx, set, request)?,
        RetentionPart::Claim { .. } => Err("it is no claim".to_owned()),
        RetentionPart::Rest(to) => return Ok(rest(cx, set, to)?.map_err(refused)),
    };
    Ok(decided.map(steps_alone).map_err(refused))
}

fn policy_alone(
    cx: &Cx,
    set: &StatefulSet,
    request: &RetentionRequest,
) -> Seen<Result<Vec<Action>, String>> {
    checks::all!(obstacles::not_terminating(cx, set)?, checks::not_exempt(cx, &set.metadata));
    let (from, to) = match policies(set, request) {
        Ok(policies) => policies,
        Err(reason) => return Ok(Err(reason)),
    };
    if *from == to {
        let told = format!("another client has changed the policy: {}", obstacles::in_words(from));
        return Ok(Err(told));
    }
    checks::all!(
        obstacles::not_kept(set, &to),
        obstacles::nothing_deletes_at_once(cx, set, &to, &mut checks::ReliedFlags::default())?,
    );
    let patch = Action::SetRetentionPolicy { set: set.object(), from: from.clone(), to };
    Ok(Ok(vec![patch]))
}

/// Proposes every removal that the policy requires; notices say why other references remain.
fn rest(cx: &Cx, set: &StatefulSet, to: &RetentionPolicy) -> Seen<Result<Proposal, String>> {
    checks::all!(obstacles::not_terminating(cx, set)?);
    match &set.retention {
        Some(policy) if policy == to => {}
        Some(other) => {
            return Ok(Err(format!(
                "another client has changed the policy meanwhile: {}",
                obstacles::in_words(other)
            )));
        }
        None => return Ok(Err(obstacles::dropped(set))),
    }
    let (all, notices) = contradictions(cx, set, to)?;
    let steps = all.iter().map(Contradiction::removal).collect();
    Ok(Ok(Proposal { notices, ..steps_alone(steps) }))
}

/// Proposes to remove the references of one claim that contradict a policy; without steps where none
/// does. Refuses where the claim is not certainly one of the set.
///
/// # Errors
/// When sets or pods of its namespace were not read.
pub fn propose_for_claim(
    cx: &Cx,
    claim: &Claim,
    part: &RetentionPart,
) -> Seen<Result<Proposal, Refusal>> {
    let RetentionPart::Claim { set, from, to } = part else {
        return Ok(Err(refused("it is no StatefulSet".to_owned())));
    };
    let decided = claim_alone(cx, claim, set, [from, to])?;
    Ok(decided.map(steps_alone).map_err(refused))
}

fn claim_alone(
    cx: &Cx,
    claim: &Claim,
    object: &ObjectRef,
    [from, to]: [&RetentionPolicy; 2],
) -> Seen<Result<Vec<Action>, String>> {
    let set = match cx.set(&claim.namespace, &object.key.name)? {
        Some(set) if set.metadata.uid == object.uid => set,
        Some(_) => return Ok(Err(format!("{object} was deleted and recreated"))),
        None => {
            return Ok(Err(format!(
                "{object} was deleted; `kubectl storage disown pvc/{} -n {}` removes references to it",
                claim.metadata.name, claim.namespace
            )));
        }
    };
    checks::all!(obstacles::not_terminating(cx, set)?);
    if set.retention.as_ref().is_none_or(|it| it != from && it != to) {
        return Ok(Err(format!("another client has changed the policy of {object} meanwhile")));
    }
    if claim.metadata.deleting.is_some() {
        return Ok(Err(format!(
            "it is Terminating, which cannot be revoked; `kubectl storage retain pvc/{} -n {}` keeps its data",
            claim.metadata.name, claim.namespace
        )));
    }
    let member = membership(cx, claim)?.decided;
    let Some(member) = member.filter(|it| it.set.metadata.uid == set.metadata.uid) else {
        return Ok(Err(format!("it is not certainly a claim of {object}")));
    };
    let found = of_claim(cx, claim, &member, to)?;
    Ok(found.map(|found| found.iter().map(Contradiction::removal).collect()))
}

/// Reads the policy of a set from its JSON.
pub fn policy_of(set: &serde_json::Value) -> Option<RetentionPolicy> {
    let policy = &set["spec"]["persistentVolumeClaimRetentionPolicy"];
    let field = |name: &str| policy[name].as_str().map(Retention::parse);
    Some(RetentionPolicy { when_deleted: field("whenDeleted")?, when_scaled: field("whenScaled")? })
}

/// Returns the policy of a set, and the requested one.
fn policies<'a>(
    set: &'a StatefulSet,
    request: &RetentionRequest,
) -> Result<(&'a RetentionPolicy, RetentionPolicy), String> {
    let from = set.retention.as_ref().ok_or_else(|| obstacles::dropped(set))?;
    let to = request.target(from);
    // What is not asked for stays as it is, known or not.
    known_policy(&StatefulSet { retention: Some(to.clone()), ..set.clone() })
        .map_err(|reason| format!("{reason}; set both fields"))?;
    Ok((from, to))
}

/// Returns the proposal of a part of a change, which was confirmed with the whole.
pub fn steps_alone(steps: Vec<Action>) -> Proposal {
    let what = match &*steps {
        [Action::SetRetentionPolicy { from, to, .. }] => {
            format!("changed {}", obstacles::changed(from, to).join(" and "))
        }
        _ => "removed owner references that contradict the retention policy".to_owned(),
    };
    Proposal {
        steps,
        effect: Effect { what, risk: String::new() },
        undo: Undo::Never(retention::NEVER_ADDED),
        notices: Vec::new(),
        relies_on: Vec::new(),
        keeps_backend: false,
        loses: Loss::default(),
    }
}

fn refused(reason: String) -> Refusal {
    Refusal { reason, effect: Effect { what: String::new(), risk: String::new() } }
}

/// Returns how a change is undone: one towards Delete by one towards Retain, and never the other way round.
fn undo(from: &RetentionPolicy, to: &RetentionPolicy) -> Undo {
    match towards_retain(from, to) {
        true => Undo::Never("it would make claims deletable; `retention set` sets the policy back"),
        false => Undo::Revert,
    }
}

/// Whether a change sets a field to Retain, so that setting it back would make claims deletable.
pub fn towards_retain(from: &RetentionPolicy, to: &RetentionPolicy) -> bool {
    let retains = |from: &Retention, to: &Retention| from != to && *to == Retention::Retain;
    from == to
        || retains(&from.when_deleted, &to.when_deleted)
        || retains(&from.when_scaled, &to.when_scaled)
}

fn effect(
    set: &StatefulSet,
    request: &RetentionRequest,
    first: &[Contradiction],
    later: &[Contradiction],
) -> Effect {
    let mut what = Vec::new();
    if !first.is_empty() {
        let which = obstacles::names(first.iter().map(Contradiction::place));
        what.push(format!(
            "removes owner references from {which}, which the StatefulSet controller may not update"
        ));
    }
    let from = set.retention.as_ref();
    let to = from.map(|from| (from, request.target(from))).filter(|(from, to)| *from != to);
    let patched = to.is_some();
    what.extend(to.as_ref().map(|(from, to)| {
        let fields = obstacles::changed(from, to).join(" and ");
        format!("sets {fields}")
    }));
    if request.retains() {
        let which = match later.is_empty() {
            true => String::new(),
            false => format!(" (of {})", obstacles::names(later.iter().map(Contradiction::place))),
        };
        let waits = match patched {
            true => format!(
                "waits until the controller has observed it, removes owner references that it leaves{which}, and "
            ),
            false => String::new(),
        };
        what.push(format!("{waits}verifies every claim"));
    }
    let deletes = to.is_some_and(|(from, to)| {
        let begins = |from: &Retention, to: &Retention| from != to && *to == Retention::Delete;
        begins(&from.when_deleted, &to.when_deleted) || begins(&from.when_scaled, &to.when_scaled)
    });
    let risk = match deletes {
        true => {
            "claims are deleted with the StatefulSet or by scale-downs, and with reclaim policy Delete also their data"
        }
        false => "claims and their volumes are kept, and billed, until you delete them",
    };
    Effect { what: what.join("; then "), risk: risk.to_owned() }
}

/// A claim with owner references that contradict a policy.
#[derive(Debug, Clone)]
struct Contradiction<'a> {
    claim: &'a Claim,
    template: Text,
    ordinal: i32,
    /// The references to the set or to the pod of the claim, both of which exist, and to others, which do not.
    owners: Vec<OwnerReference>,
}

impl Contradiction<'_> {
    /// Returns the removal of these references (P-OWNER-DEL).
    fn removal(&self) -> Action {
        Action::RemoveOwnerReferences { claim: self.claim.object(), owners: self.owners.clone() }
    }

    /// Returns the stem of the claim's name, and its ordinal.
    fn place(&self) -> (&str, i32) {
        let name = &*self.claim.metadata.name;
        (name.rsplit_once('-').map_or(name, |(stem, _)| stem), self.ordinal)
    }

    /// Whether the contradiction is of this claim.
    fn is_of(&self, template: &Text, ordinal: i32) -> bool {
        self.template == *template && self.ordinal == ordinal
    }
}

/// Returns the contradictions of all claims that certainly belong to a set, if its policy is this, and why references
/// of other claims remain: those to earlier sets and pods do not concern the policy. Terminating claims are left out:
/// their deletion cannot be revoked.
fn contradictions<'a>(
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
fn of_claim<'a>(
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
fn by_visit<'a>(
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

#[cfg(test)]
mod tests;
