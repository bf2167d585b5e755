//! Predicting what Kubernetes does to the claims of a set after an operation.

use super::NoUpdateReason;
use super::set_situation::{
    ClaimOutcome, DeletionCause, Operation, OutcomeReason, OwnerState, Prediction, Readiness,
    SetSituation,
};
use super::simulation::{Assumptions, SimulatedOutcome, Simulation};

/// Predicts the outcome of an operation for each claim, in the order of [`SetSituation::claims`].
///
/// The prediction is about the time when all controllers are done: the `StatefulSet` controller,
/// the garbage collector, and kubelet with the pods, which are deleted, unless they are orphaned.
/// New pods become ready; a pod that is not ready now may stay so. A Terminating claim counts as
/// deleted.
///
/// Everything unknown is tried in every way; if the results differ, the outcome is unknown.
pub fn simulate(situation: &SetSituation, operation: &Operation) -> Vec<Prediction> {
    simulate_steps(situation, std::slice::from_ref(operation))
}

/// Predicts the outcome of several operations, each of which begins when the controllers are done
/// with the one before.
pub fn simulate_steps(situation: &SetSituation, operations: &[Operation]) -> Vec<Prediction> {
    let assumptions = assumptions(situation);
    let simulations: Vec<_> = assumptions
        .iter()
        .map(|assumed| Simulation::new(situation, *assumed).after(operations))
        .collect();
    let predict = |index: usize| {
        let claim = &situation.claims[index];
        let outcomes: Vec<_> = simulations.iter().map(|simulation| &simulation[index]).collect();
        let (outcome, reason) = match difference(&assumptions, &outcomes) {
            None if situation.set.uid.is_none() => (
                ClaimOutcome::Unknown("the uid of the set is unknown".to_owned()),
                OutcomeReason::Depends,
            ),
            None => settled(situation, index, outcomes[0], operations),
            Some(why) => {
                let doubt = match why {
                    OWNER_UNKNOWN => doubt(&situation.claims[index].owners),
                    _ => None,
                };
                let why = doubt.unwrap_or_else(|| why.to_owned());
                (ClaimOutcome::Unknown(why), OutcomeReason::Depends)
            }
        };
        // Who else may delete it is not simulated.
        let is_open = situation.set.uid.is_none() || claim.contested;
        let is_deleted = outcomes.iter().any(|it| it.deleted.is_some());
        Prediction {
            may_be_deleted: is_deleted || (is_open && matches!(outcome, ClaimOutcome::Unknown(_))),
            claim: format!("{}-{}-{}", claim.template, situation.set.name, claim.ordinal).into(),
            template: claim.template.clone(),
            ordinal: claim.ordinal,
            outcome,
            reason,
            volume: claim.volume,
            held_by: held_by(situation, index, outcomes[0]),
        }
    };
    (0..situation.claims.len()).map(predict).collect()
}

/// Returns all combinations of assumptions about what is unknown; the likeliest first.
fn assumptions(situation: &SetSituation) -> Vec<Assumptions> {
    let owners = || situation.claims.iter().flat_map(|claim| &claim.owners);
    let ordered = situation.set.ordered.map_or_else(|| vec![true, false], |known| vec![known]);
    let owners_exist =
        if owners().any(OwnerState::is_uncertain) { vec![true, false] } else { vec![true] };
    let gone_first = if situation.pods.values().any(|pod| pod.terminating) {
        vec![false, true]
    } else {
        vec![false]
    };
    let unready = situation.pods.values().any(|pod| pod.readiness == Readiness::NotReady);
    let become_ready = if unready { vec![true, false] } else { vec![true] };
    let mut assumptions = Vec::new();
    for &ordered in &ordered {
        for &owners_exist in &owners_exist {
            for &gone_first in &gone_first {
                for &become_ready in &become_ready {
                    for caught_up in [true, false] {
                        assumptions.push(Assumptions {
                            ordered,
                            owners_exist,
                            caught_up,
                            gone_first,
                            become_ready,
                        });
                    }
                }
            }
        }
    }
    assumptions
}

const OWNER_UNKNOWN: &str = "whether one of its owners remains is unknown";

/// Returns the first doubt about these owners, or about their owners.
fn doubt(owners: &[OwnerState]) -> Option<String> {
    owners.iter().find_map(|owner| {
        let own = owner.doubt.map(|it| it.describe(&owner.reference));
        own.or_else(|| doubt(&owner.owners))
    })
}

/// A change of one assumption into its opposite.
type Flip = fn(&mut Assumptions);

/// Returns the unknown on which the outcome depends, if the simulations differ.
fn difference(assumptions: &[Assumptions], outcomes: &[&SimulatedOutcome]) -> Option<&'static str> {
    let same_fate = |a: &SimulatedOutcome, b: &SimulatedOutcome| {
        a.deleted.is_some() == b.deleted.is_some() && a.recreated == b.recreated
    };
    let same = |a: &SimulatedOutcome, b: &SimulatedOutcome| {
        same_fate(a, b) && (a.deleted.is_some() || a.owners == b.owners)
    };
    let (first, likeliest) = (outcomes.first()?, assumptions.first()?);
    // A reference to an owner that may not exist matters only for what becomes of the claim.
    let alike = |(assumed, simulated): (&Assumptions, &&SimulatedOutcome)| match assumed
        .owners_exist
        == likeliest.owners_exist
    {
        true => same(first, simulated),
        false => same_fate(first, simulated),
    };
    if assumptions.iter().zip(outcomes).all(alike) {
        return None;
    }
    // Each is one change of the assumptions, with what is said of it; the first that matters.
    let reasons: [(Flip, &'static str); 5] = [
        (|it| it.owners_exist ^= true, OWNER_UNKNOWN),
        (
            |it| it.become_ready ^= true,
            "it depends on whether pods of the set become ready that are not",
        ),
        (|it| it.caught_up ^= true, "the set's controller has not caught up with this claim yet"),
        (
            |it| it.gone_first ^= true,
            "a pod is Terminating, and the controller may act before or after it is deleted",
        ),
        (
            |it| it.ordered ^= true,
            "whether podManagementPolicy of the set is OrderedReady is unknown",
        ),
    ];
    let outcome = |assumed: &Assumptions| {
        let index = assumptions.iter().position(|it| it == assumed)?;
        outcomes.get(index)
    };
    for (change, reason) in reasons {
        let matters = |(assumed, simulated): (&Assumptions, &&SimulatedOutcome)| {
            let mut changed = *assumed;
            change(&mut changed);
            outcome(&changed).is_some_and(|other| !same(simulated, other))
        };
        if assumptions.iter().zip(outcomes).any(matters) {
            return Some(reason);
        }
    }
    Some("it depends on several facts that are unknown")
}

fn settled(
    situation: &SetSituation,
    index: usize,
    simulated: &SimulatedOutcome,
    operations: &[Operation],
) -> (ClaimOutcome, OutcomeReason) {
    let claim = &situation.claims[index];
    if let Some((by, order)) = simulated.deleted {
        let reason = match by {
            DeletionCause::Somebody => OutcomeReason::DeletedBefore,
            DeletionCause::Pod if simulated.flapped => OutcomeReason::ScaleFlap,
            DeletionCause::Set | DeletionCause::Pod | DeletionCause::Dangling => {
                OutcomeReason::OwnersGone
            }
        };
        return (ClaimOutcome::Deleted { by, order, recreated: simulated.recreated }, reason);
    }
    let deletes = |it: &Operation| matches!(it, Operation::DeleteSet(_));
    let set_goes = situation.set.deleting.is_some() || operations.iter().any(deletes);
    let reason = if simulated.orphaned {
        OutcomeReason::Orphaned
    } else if set_goes && !simulated.owners.is_empty() {
        OutcomeReason::HeldByOwner
    } else {
        match simulated.left {
            NoUpdateReason::Stale => OutcomeReason::Stale,
            NoUpdateReason::ForeignController => OutcomeReason::ForeignController,
            NoUpdateReason::Podless if !simulated.owners.is_empty() => OutcomeReason::Podless,
            NoUpdateReason::Waits => OutcomeReason::NotVisited,
            NoUpdateReason::Podless | NoUpdateReason::Matches | NoUpdateReason::Unrecognised
                if simulated.owners.is_empty() =>
            {
                OutcomeReason::Unowned
            }
            NoUpdateReason::Podless | NoUpdateReason::Matches | NoUpdateReason::Unrecognised => {
                OutcomeReason::Matrix
            }
        }
    };
    let same = claim.owners.iter().map(|it| &it.reference).eq(&simulated.owners);
    if claim.contested && !same {
        let why = "another set makes claims of the same name, and may own it then";
        return (ClaimOutcome::Unknown(why.to_owned()), OutcomeReason::Depends);
    }
    (
        if same { ClaimOutcome::Kept } else { ClaimOutcome::Reowned(simulated.owners.clone()) },
        reason,
    )
}

/// Returns the obstacles to the deletion of a claim.
fn held_by(situation: &SetSituation, index: usize, simulated: &SimulatedOutcome) -> Vec<String> {
    const PROTECTION: &str = crate::facts::PVC_PROTECTION;
    let claim = &situation.claims[index];
    let mut holds: Vec<_> = claim
        .finalizers
        .iter()
        .filter(|it| &***it != PROTECTION)
        .map(|it| format!("finalizer {it}"))
        .collect();
    if claim.finalizers.iter().any(|it| &**it == PROTECTION) {
        holds.extend(claim.other_users.iter().map(|pod| format!("pod {pod}")));
        if simulated.has_pod {
            holds.push(format!("pod {}-{}", situation.set.name, claim.ordinal));
        }
    }
    holds
}

#[cfg(test)]
mod tests;
