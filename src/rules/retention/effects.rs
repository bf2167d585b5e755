//! Effects of operations on a set on its claims and their data.

use std::collections::{BTreeMap, BTreeSet};

use super::volume_of;
use crate::cluster::{Cx, Seen, Unseen};
use crate::facts::{
    DataEffect, DeletionEffect,
    retention::{
        self, ClaimOutcome, DeletionCause, DependentClaim, DependentFate, Operation, OutcomeReason,
        Prediction, SetSituation, dependent_claims, simulate_steps,
    },
    when_claim_is_deleted,
};
use crate::model::{Claim, OwnerReference, StatefulSet, Text, Volume};

/// The effect of an operation on a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimFate {
    /// The effect on the claim.
    pub claim: ClaimWord,
    /// The effect on its volume, if the claim is deleted and has one.
    pub data: Option<DeletionEffect>,
    /// The reason: one sentence without a full stop.
    pub because: String,
    /// The owners of the claim afterwards, if it is kept.
    pub owners: Vec<OwnerReference>,
    /// The objects and finalizers that block its deletion.
    pub held_by: Vec<String>,
}

/// The effect on a claim, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClaimWord {
    /// The claim is kept.
    Kept,
    /// The claim is deleted.
    Deleted,
    /// The claim is deleted, and an empty one of its name is created.
    Recreated,
    /// The effect is unknown.
    Unknown,
}

impl ClaimWord {
    /// The word in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Deleted => "deleted",
            Self::Recreated => "recreated",
            Self::Unknown => "unknown",
        }
    }
}

impl ClaimFate {
    /// Returns the fate that was predicted for a claim.
    pub fn of(cx: &Cx, claim: &Claim, prediction: &Prediction) -> Self {
        let known = || claim.metadata.owners.to_vec();
        let (word, owners, because) = match &prediction.outcome {
            ClaimOutcome::Kept => (ClaimWord::Kept, known(), prediction.reason.to_string()),
            ClaimOutcome::Reowned(owners) => {
                (ClaimWord::Kept, owners.clone(), reowned(prediction.reason, owners))
            }
            ClaimOutcome::Deleted { by, recreated, .. } => {
                let word = if *recreated { ClaimWord::Recreated } else { ClaimWord::Deleted };
                (word, Vec::new(), deleted(*by, prediction, *recreated))
            }
            ClaimOutcome::Unknown(why) => (ClaimWord::Unknown, known(), why.clone()),
        };
        let gone = match word {
            ClaimWord::Deleted | ClaimWord::Recreated | ClaimWord::Unknown => true,
            ClaimWord::Kept => false,
        };
        let data = if gone { data_of(cx, claim) } else { None };
        Self { claim: word, data, because, owners, held_by: prediction.held_by.clone() }
    }

    /// Returns the fate of a claim that no template predicts, when its set is deleted.
    pub fn of_dependent(cx: &Cx, dependent: &DependentClaim) -> Self {
        let claim = dependent.claim;
        let word = match dependent.fate {
            DependentFate::Kept(_) => ClaimWord::Kept,
            DependentFate::Deleted => ClaimWord::Deleted,
            DependentFate::Unknown(_) => ClaimWord::Unknown,
        };
        let (owners, data) = match word {
            ClaimWord::Kept => (claim.metadata.owners.to_vec(), None),
            ClaimWord::Deleted | ClaimWord::Recreated => (Vec::new(), data_of(cx, claim)),
            ClaimWord::Unknown => (claim.metadata.owners.to_vec(), data_of(cx, claim)),
        };
        let because = dependent.reason();
        Self { claim: word, data, because, owners, held_by: Vec::new() }
    }

    /// Whether data is destroyed, or may be.
    pub fn may_destroy(&self) -> bool {
        let loses = self.data.as_ref().is_some_and(|it| it.data.may_destroy());
        self.claim != ClaimWord::Kept && loses
    }
}

/// The effect on the volume of a claim, once the claim is deleted.
fn data_of(cx: &Cx, claim: &Claim) -> Option<DeletionEffect> {
    let unknown = |because: &str| {
        Some(DeletionEffect {
            data: DataEffect::Unknown,
            because: because.to_owned(),
            is_shared: false,
        })
    };
    let name = claim.volume_name.as_deref()?;
    match cx.volume(name) {
        Err(_) => unknown("its volume was not read"),
        Ok(None) => None,
        Ok(Some(_)) => match retention::volume_effect(cx, claim).1 {
            Some(volume) => Some(when_claim_is_deleted(cx, volume)),
            None => unknown("its volume references another claim, or none by uid"),
        },
    }
}

fn reowned(reason: OutcomeReason, owners: &[OwnerReference]) -> String {
    let owners: Vec<_> = owners.iter().map(|it| format!("{} {}", it.kind, it.name)).collect();
    let then = match &owners[..] {
        [] => "its owner references are removed".to_owned(),
        _ => format!("then {} owns it", owners.join(", ")),
    };
    match reason {
        OutcomeReason::Unowned | OutcomeReason::Matrix => then,
        OutcomeReason::Orphaned if owners.is_empty() => reason.to_string(),
        reason => format!("{reason}; {then}"),
    }
}

fn deleted(by: DeletionCause, prediction: &Prediction, recreated: bool) -> String {
    let why = match prediction.reason {
        OutcomeReason::OwnersGone => String::new(),
        reason => format!(" ({reason})"),
    };
    let held = match prediction.held_by.is_empty() {
        true => String::new(),
        false => format!("; it waits for {}", prediction.held_by.join(", ")),
    };
    let empty = match recreated {
        true => "; an empty claim of its name is created afterwards",
        false => "",
    };
    format!("{}{why}{held}{empty}", by.describe())
}

/// A claim, and the effect of operations on its set.
#[derive(Debug)]
pub struct SimulatedEffect<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// The name of its template, and its ordinal; `None` of a claim that only its owners tie to the
    /// set.
    pub template: Option<(Text, i32)>,
    /// The volume of the claim.
    pub volume: Option<&'a Volume>,
    /// The effect on the claim.
    pub fate: ClaimFate,
}

/// Returns the effects of operations, one after the other, on each claim of a set. What is not known of them are
/// `variants`; where these differ for a claim, its fate is unknown, for the reason `undecided`.
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

/// Returns the claims that no template predicts, where the set is deleted; unknown where variants differ.
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
