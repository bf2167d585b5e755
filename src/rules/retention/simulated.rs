//! What operations on a set do to its claims.

use std::collections::BTreeSet;

use super::{ClaimFate, volume_of};
use crate::cluster::{Cx, Seen, Unseen};
use crate::facts::retention::{ClaimOutcome, Operation, Prediction, SetSituation, simulate_steps};
use crate::model::{Claim, StatefulSet, Text, Volume};

/// A claim, and what operations on its set do to it.
#[derive(Debug)]
pub struct SimulatedEffect<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// The name of its template.
    pub template: Text,
    /// Its ordinal.
    pub ordinal: i32,
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
            template: prediction.template,
            ordinal: prediction.ordinal,
        });
    }
    Ok(effects)
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
