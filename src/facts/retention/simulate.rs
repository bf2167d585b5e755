//! What Kubernetes does to the claims of a set.

use super::Because;
use super::situation::{Collector, Operation, Outcome, Prediction, Presence, Reason, Situation};
use super::world::{Fate, Guess, World};

/// Predicts what becomes of each claim when somebody does something, in the order of
/// [`Situation::claims`].
///
/// The prediction is about the time when everybody has caught up: the set's controller, the
/// garbage collector, and the pods, which become ready or go, unless they are orphaned. A claim that
/// is deleted but still held in `Terminating` counts as deleted.
///
/// What is not known is tried in every way; where that makes a difference, the outcome is unknown.
pub fn simulate(situation: &Situation, operation: &Operation) -> Vec<Prediction> {
    let guesses = guesses(situation);
    let worlds: Vec<_> =
        guesses.iter().map(|guess| World::new(situation, *guess).after(operation)).collect();
    let predict = |index: usize| {
        let claim = &situation.claims[index];
        let fates: Vec<_> = worlds.iter().map(|world| &world[index]).collect();
        let (outcome, reason) = match difference(&guesses, &fates) {
            None if situation.set.uid.is_none() => {
                (Outcome::Unknown("the set's uid is not known".to_owned()), Reason::Depends)
            }
            None => settled(situation, index, fates[0], operation),
            Some(why) => (Outcome::Unknown(why.to_owned()), Reason::Depends),
        };
        Prediction {
            claim: format!("{}-{}-{}", claim.template, situation.set.name, claim.ordinal).into(),
            template: claim.template.clone(),
            ordinal: claim.ordinal,
            outcome,
            reason,
            volume: claim.volume,
            held_by: held_by(situation, index, fates[0]),
        }
    };
    (0..situation.claims.len()).map(predict).collect()
}

/// Every way to decide what is not known; the likeliest first.
fn guesses(situation: &Situation) -> Vec<Guess> {
    let owners = || situation.claims.iter().flat_map(|claim| &claim.owners);
    let ordered = situation.set.ordered.map_or_else(|| vec![true, false], |known| vec![known]);
    let owners_exist = if owners().any(|it| it.presence == Presence::Unknown) {
        vec![true, false]
    } else {
        vec![true]
    };
    let gone_first = if situation.pods.values().any(|pod| pod.terminating) {
        vec![false, true]
    } else {
        vec![false]
    };
    let mut guesses = Vec::new();
    for &ordered in &ordered {
        for &owners_exist in &owners_exist {
            for &gone_first in &gone_first {
                for caught_up in [true, false] {
                    guesses.push(Guess { ordered, owners_exist, caught_up, gone_first });
                }
            }
        }
    }
    guesses
}

/// Returns what makes the difference, where the worlds do not agree.
fn difference(guesses: &[Guess], fates: &[&Fate]) -> Option<&'static str> {
    let same = |a: &Fate, b: &Fate| {
        a.deleted.is_some() == b.deleted.is_some()
            && a.recreated == b.recreated
            && (a.deleted.is_some() || a.owners == b.owners)
    };
    let first = fates.first()?;
    if fates.iter().all(|fate| same(first, fate)) {
        return None;
    }
    for (guess, fate) in guesses.iter().zip(fates) {
        for (other, other_fate) in guesses.iter().zip(fates) {
            if same(fate, other_fate) {
                continue;
            }
            let changed = |change: fn(&mut Guess)| {
                let mut guess = *guess;
                change(&mut guess);
                guess == *other
            };
            if changed(|it| it.owners_exist = !it.owners_exist) {
                return Some("whether one of its owners exists is not known");
            }
            if changed(|it| it.caught_up = !it.caught_up) {
                return Some("the set's controller has not caught up with this claim yet");
            }
            if changed(|it| it.gone_first = !it.gone_first) {
                return Some("a pod is going, and the controller may or may not be faster");
            }
            if changed(|it| it.ordered = !it.ordered) {
                return Some("whether the set's podManagementPolicy is OrderedReady is not known");
            }
        }
    }
    Some("it depends on several things that are not known")
}

fn settled(
    situation: &Situation,
    index: usize,
    fate: &Fate,
    operation: &Operation,
) -> (Outcome, Reason) {
    let claim = &situation.claims[index];
    if let Some((by, order)) = fate.deleted {
        let reason = match by {
            Collector::Somebody => Reason::DeletedBefore,
            Collector::Pod if fate.flapped => Reason::ScaleFlap,
            Collector::Set | Collector::Pod | Collector::Dangling => Reason::OwnersGone,
        };
        return (Outcome::Deleted { by, order, recreated: fate.recreated }, reason);
    }
    let set_goes = situation.set.deleting.is_some() || matches!(operation, Operation::DeleteSet(_));
    let reason = if fate.orphaned {
        Reason::Orphaned
    } else if set_goes && !fate.owners.is_empty() {
        Reason::HeldByOwner
    } else {
        match fate.left {
            Because::Stale => Reason::Stale,
            Because::ForeignController => Reason::ForeignController,
            Because::Podless if !fate.owners.is_empty() => Reason::Podless,
            Because::Podless | Because::Matches | Because::Waits | Because::Unrecognised
                if fate.owners.is_empty() =>
            {
                Reason::Unowned
            }
            Because::Podless | Because::Matches | Because::Waits | Because::Unrecognised => {
                Reason::Matrix
            }
        }
    };
    let same = claim.owners.iter().map(|it| &it.reference).eq(&fate.owners);
    if claim.contested && !same {
        let why = "another set makes claims of the same name, and may own it then";
        return (Outcome::Unknown(why.to_owned()), Reason::Depends);
    }
    (if same { Outcome::Kept } else { Outcome::Reowned(fate.owners.clone()) }, reason)
}

/// What would keep a deleted claim in `Terminating`.
fn held_by(situation: &Situation, index: usize, fate: &Fate) -> Vec<String> {
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
        if fate.has_pod {
            holds.push(format!("pod {}-{}", situation.set.name, claim.ordinal));
        }
    }
    holds
}

#[cfg(test)]
#[path = "tests/simulate.rs"]
mod tests;
