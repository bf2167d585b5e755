//! What operations on a set do to its claims.

use std::collections::{BTreeMap, BTreeSet};

use super::{ClaimFate, volume_of};
use crate::cluster::{Cx, Seen, Unseen};
use crate::facts::retention::{
    ClaimOutcome, DependentClaim, DependentFate, Operation, Prediction, SetSituation,
    dependent_claims, simulate_steps,
};
use crate::model::{Claim, StatefulSet, Text, Volume};

/// A claim, and what operations on its set do to it.
#[derive(Debug)]
pub struct SimulatedEffect<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// The name of its template, and its ordinal; `None` of a claim that only its owners tie to the
    /// set.
    pub template: Option<(Text, i32)>,
    /// Its volume.
    pub volume: Option<&'a Volume>,
    /// The effect.
    pub fate: ClaimFate,
}

/// Returns what the operations do to each claim of a set, one after the other. What is not known of
/// them are `variants`; where these differ for a claim, its fate is unknown, for the reason
/// `undecided`.
///
/// # Errors
/// When its claims or pods were not read.
pub fn simulated<'a>(
    cx: &Cx<'a>,
    set: &StatefulSet,
    variants: &[Vec<Operation>],
    undecided: &str,
    unseen: &mut BTreeSet<Unseen>,
) -> Seen<Vec<SimulatedEffect<'a>>> {
    let situation = SetSituation::of(cx, set)?;
    let foretold: Vec<Vec<Prediction>> =
        variants.iter().map(|operations| simulate_steps(&situation, operations)).collect();
    let Some((first, others)) = foretold.split_first() else { return Ok(Vec::new()) };
    let mut effects = Vec::new();
    for (index, prediction) in first.iter().enumerate() {
        let mut prediction = prediction.clone();
        if others.iter().any(|other| !is_same(&other[index].outcome, &prediction.outcome)) {
            prediction.outcome = ClaimOutcome::Unknown(undecided.to_owned());
        }
        let stem = format!("{}-{}", prediction.template, set.metadata.name);
        let Some(claim) = cx.sibling(&set.namespace, &stem, prediction.ordinal)? else { continue };
        effects.push(SimulatedEffect {
            claim,
            volume: volume_of(cx, claim, unseen),
            fate: ClaimFate::of(cx, claim, &prediction),
            template: Some((prediction.template, prediction.ordinal)),
        });
    }
    for dependent in dependents(cx, set, variants, &foretold, undecided)? {
        effects.push(SimulatedEffect {
            claim: dependent.claim,
            volume: volume_of(cx, dependent.claim, unseen),
            fate: ClaimFate::of_dependent(cx, &dependent),
            template: None,
        });
    }
    Ok(effects)
}

/// The claims that no template predicts, where the set is deleted; unknown where the variants differ.
fn dependents<'a>(
    cx: &Cx<'a>,
    set: &StatefulSet,
    variants: &[Vec<Operation>],
    foretold: &[Vec<Prediction>],
    undecided: &str,
) -> Seen<Vec<DependentClaim<'a>>> {
    let mut found: BTreeMap<&str, DependentClaim> = BTreeMap::new();
    for (index, (operations, predictions)) in variants.iter().zip(foretold).enumerate() {
        let Some(Operation::DeleteSet(propagation)) = operations.last() else { continue };
        let unknown = || DependentFate::Unknown(undecided.to_owned());
        let mut new = BTreeMap::new();
        for mut dependent in dependent_claims(cx, set, *propagation, predictions)? {
            let name = &*dependent.claim.metadata.name;
            let before = found.remove(name);
            if index > 0 && before.is_none_or(|it| it.fate != dependent.fate) {
                dependent.fate = unknown();
            }
            new.insert(name, dependent);
        }
        // What the other variants say of these, this one does not.
        for (name, mut dependent) in found {
            dependent.fate = unknown();
            new.insert(name, dependent);
        }
        found = new;
    }
    Ok(found.into_values().collect())
}

/// Whether two outcomes differ at most in the order of deletions.
fn is_same(a: &ClaimOutcome, b: &ClaimOutcome) -> bool {
    match (a, b) {
        (
            ClaimOutcome::Deleted { recreated: a, .. },
            ClaimOutcome::Deleted { recreated: b, .. },
        ) => a == b,
        (a, b) => a == b,
    }
}
