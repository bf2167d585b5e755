//! What a change of the policy means for each claim that exists, by the simulation.

use std::collections::BTreeMap;

use super::references::Contradiction;
use crate::cluster::{Cx, Seen};
use crate::facts::retention::{
    ClaimOutcome, Operation, Prediction, Propagation, SetSituation, VolumeEffect, simulate_steps,
};
use crate::model::{RetentionPolicy, StatefulSet};

/// What an operation does to a claim, before and after the change.
type BeforeAfter = (String, String);

/// Describes, for groups of claims with the same effects, what deleting the set and scaling it to zero
/// does to them before the change and after it, and which of them the change itself deletes.
pub(super) fn notices<'a>(
    cx: &Cx,
    set: &StatefulSet,
    to: &RetentionPolicy,
    resolved: impl Iterator<Item = &'a Contradiction<'a>>,
) -> Seen<Vec<String>> {
    let before = SetSituation::of(cx, set)?;
    let mut after = before.clone();
    after.set.policy = Some(to.clone());
    for contradiction in resolved {
        let own = |it: &&mut crate::facts::retention::SetClaimState| {
            contradiction.is_of(&it.template, it.ordinal)
        };
        if let Some(claim) = after.claims.iter_mut().find(own) {
            claim.owners.retain(|it| !contradiction.owners.contains(&it.reference));
        }
    }
    // First the controllers do what they do anyway.
    let foretold = |situation: &SetSituation, operation: &[Operation]| {
        simulate_steps(situation, &[&[Operation::Wait], operation].concat())
    };
    let deletion = [Operation::DeleteSet(Propagation::Background)];
    let scaling = [Operation::Scale(0)];
    let pairs = |operation: &[Operation]| -> Vec<BeforeAfter> {
        let before = foretold(&before, operation);
        let after = foretold(&after, operation);
        let describe = |(a, b): (&Prediction, &Prediction)| (describe(a), describe(b));
        before.iter().zip(&after).map(describe).collect()
    };
    let (deleted, scaled, now) = (pairs(&deletion), pairs(&scaling), pairs(&[]));
    let mut groups: Vec<AlikeClaims> = Vec::new();
    for (index, claim) in after.claims.iter().enumerate() {
        let mut effects = vec![
            effect("if the StatefulSet is deleted", &deleted[index]),
            effect("if it is scaled to 0", &scaled[index]),
        ];
        let (unchanged, changed) = &now[index];
        if changed != unchanged && changed.starts_with(DELETED) {
            effects.insert(0, format!("by this change itself: {changed}"));
        }
        let place = (format!("{}-{}", claim.template, set.metadata.name), claim.ordinal);
        match groups.iter_mut().find(|(known, _)| *known == effects) {
            Some((_, places)) => places.push(place),
            None => groups.push((effects, vec![place])),
        }
    }
    let line = |(effects, places): AlikeClaims| {
        let places = places.iter().map(|(stem, ordinal)| (&**stem, *ordinal));
        format!("{}: {}", names(places), effects.join("; "))
    };
    Ok(groups.into_iter().map(line).collect())
}

/// The effects that claims have in common, and the claims: their stems and ordinals.
type AlikeClaims = (Vec<String>, Vec<(String, i32)>);

/// How the description of a deletion begins.
const DELETED: &str = "deleted";

fn effect(when: &str, (before, after): &BeforeAfter) -> String {
    match before == after {
        true => format!("{when}, {after}, as before"),
        false => format!("{when}, {after} (before: {before})"),
    }
}

/// What becomes of a claim and its data.
fn describe(prediction: &Prediction) -> String {
    let data = match prediction.volume {
        VolumeEffect::None => "",
        VolumeEffect::Destroyed => " with its data",
        VolumeEffect::Released => ", its volume kept",
        VolumeEffect::Forgotten => ", its data kept without a PersistentVolume",
        VolumeEffect::Scrubbed => ", its data scrubbed",
        VolumeEffect::Unknown => ", the effect on its data unknown",
    };
    match &prediction.outcome {
        ClaimOutcome::Kept | ClaimOutcome::Reowned(_) => "kept".to_owned(),
        ClaimOutcome::Deleted { recreated: false, .. } => format!("{DELETED}{data}"),
        ClaimOutcome::Deleted { recreated: true, .. } => {
            format!("{DELETED}{data}, and recreated empty")
        }
        ClaimOutcome::Unknown(why) => format!("kept or {DELETED}{data}: {why}"),
    }
}

/// Names claims by the stems of their names and their ordinals: neighbours as a range.
pub(super) fn names<'a>(places: impl Iterator<Item = (&'a str, i32)>) -> String {
    let mut stems: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    for (stem, ordinal) in places {
        stems.entry(stem).or_default().push(ordinal);
    }
    let mut words = Vec::new();
    for (stem, mut ordinals) in stems {
        ordinals.sort_unstable();
        let mut ranges: Vec<(i32, i32)> = Vec::new();
        for ordinal in ordinals {
            match ranges.last_mut() {
                Some((_, last)) if last.checked_add(1) == Some(ordinal) => *last = ordinal,
                _ => ranges.push((ordinal, ordinal)),
            }
        }
        words.extend(ranges.into_iter().map(|(first, last)| match first == last {
            true => format!("{stem}-{first}"),
            false => format!("{stem}-{first} to {stem}-{last}"),
        }));
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn neighbours_are_named_as_a_range() {
        let named = |places: &[(&str, i32)]| names(places.iter().copied());
        assert_eq!(
            named(&[("data-web", 2), ("data-web", 0), ("data-web", 1)]),
            "data-web-0 to data-web-2"
        );
        assert_eq!(named(&[("a", 0), ("b", 1), ("b", i32::MAX)]), "a-0, b-1, b-2147483647");
        assert_eq!(named(&[]), "");
    }
}
