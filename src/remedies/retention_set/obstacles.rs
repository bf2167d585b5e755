//! Checks of a change of the policy of a set, and its effects on each existing claim, by the simulation.

use std::collections::BTreeMap;

use super::super::{
    checks::{Checked, ReliedFlags},
    delete_with_claims::loss_with,
};
use super::{Contradiction, RetentionRequest};
use crate::cluster::{Cx, Seen};
use crate::facts::{
    self,
    retention::{
        ClaimOutcome, Operation, Ordinals, Prediction, Propagation, Scaler, SetSituation,
        VolumeEffect, is_member, scalers, simulate_steps,
    },
};
use crate::model::{Kind, Loss, ManagedField, RetentionPolicy, StatefulSet};

/// The flag with which the user accepts that claims are deleted without a further question.
const DESTROY_DATA: &str = "--destroy-data";

/// Number of claims that a command names at most.
const NAMED: usize = 3;

/// Managers of the policy that apply it again only when their user does.
const APPLIED_BY_HAND: &str = "kubectl-client-side-apply";

/// Returns the reason why nothing is sent to a server that does not honour the policy (F71).
pub(super) fn dropped(set: &StatefulSet) -> String {
    format!(
        "{} is served without persistentVolumeClaimRetentionPolicy: the API server drops the field, and every \
         claim is retained",
        set.object()
    )
}

/// Formats a policy as reports print it.
pub(super) fn in_words(policy: &RetentionPolicy) -> String {
    let RetentionPolicy { when_deleted, when_scaled } = policy;
    format!("whenDeleted is {when_deleted}, whenScaled is {when_scaled}")
}

/// Describes the fields that a change of a policy changes.
pub(super) fn changed(from: &RetentionPolicy, to: &RetentionPolicy) -> Vec<String> {
    [
        ("whenDeleted", &from.when_deleted, &to.when_deleted),
        ("whenScaled", &from.when_scaled, &to.when_scaled),
    ]
    .into_iter()
    .filter(|(_, from, to)| from != to)
    .map(|(field, from, to)| format!("{field} from {from} to {to}"))
    .collect()
}

/// Refuses a set that is being deleted: only their volumes can save its claims.
pub(super) fn not_terminating(cx: &Cx, set: &StatefulSet) -> Seen<Checked> {
    if set.metadata.deleting.is_none() {
        return Ok(Ok(()));
    }
    let mut claims = Vec::new();
    for template in &set.templates {
        let stem = format!("{}-{}", template.name, set.metadata.name);
        let all = cx.claims_of_stem(&set.namespace, &stem)?;
        claims.extend(all.into_iter().map(|(_, claim)| format!("pvc/{}", claim.metadata.name)));
    }
    let more = if claims.len() > NAMED { " …" } else { "" };
    claims.truncate(NAMED);
    let keeps = match claims.is_empty() {
        true => String::new(),
        false => format!(
            "; `kubectl storage retain {}{more} -n {}` keeps the data of its claims",
            claims.join(" "),
            set.namespace
        ),
    };
    Ok(Err(format!("it is Terminating, and its controller updates no claims any more{keeps}")))
}

/// Refuses a set whose policy another controller or tool would set back.
pub(super) fn not_kept(set: &StatefulSet, to: &RetentionPolicy) -> Checked {
    let Some(keeper) = facts::keeper(&set.metadata) else { return Ok(()) };
    let RetentionPolicy { when_deleted, when_scaled } = to;
    let lines = format!(
        "persistentVolumeClaimRetentionPolicy: {{whenDeleted: {when_deleted}, whenScaled: {when_scaled}}}"
    );
    let place = match facts::keeper_of(&set.metadata) {
        Some(_) => "its manifest".to_owned(),
        None => format!("{keeper}, if that has such a field"),
    };
    Err(format!(
        "{keeper} manages it, and would set the policy back: commit `{lines}` beneath `spec:` to {place}; \
         when that is applied, `kubectl storage retention reconcile sts/{} -n {}` removes owner references \
         that contradict it",
        set.metadata.name, set.namespace
    ))
}

/// Requires `--destroy-data` for `whenScaled` Delete where claims are deleted at once, or as soon as something other
/// than the user scales the set down (F102).
pub(super) fn nothing_deletes_at_once(
    cx: &Cx,
    set: &StatefulSet,
    to: &RetentionPolicy,
    relies_on: &mut ReliedFlags,
) -> Seen<Checked> {
    let deletes = |it: Option<&RetentionPolicy>| it.is_some_and(|it| it.when_scaled.deletes());
    if !deletes(Some(to)) || deletes(set.retention.as_ref()) {
        return Ok(Ok(()));
    }
    let mut dangers = Vec::new();
    let ordinals = Ordinals::of(set);
    let condemned: Vec<_> = cx
        .pods_named_after(&set.namespace, &set.metadata.name)?
        .into_iter()
        .filter(|(ordinal, pod)| !ordinals.contains(*ordinal) && is_member(set, pod))
        .map(|(_, pod)| pod.name.to_string())
        .collect();
    if !condemned.is_empty() {
        dangers.push(format!(
            "a scale-down is in progress, and the claims of {} would be deleted at once",
            condemned.join(", ")
        ));
    }
    let scalers: Vec<_> = scalers(cx, set)?.iter().map(Scaler::to_string).collect();
    if !scalers.is_empty() {
        dangers.push(format!(
            "{} sets its number of replicas, and every scale-down would delete claims",
            scalers.join(", ")
        ));
    }
    if dangers.is_empty() {
        return Ok(Ok(()));
    }
    if cx.settings().destroy_data {
        relies_on.rely(DESTROY_DATA);
        return Ok(Ok(()));
    }
    Ok(Err(format!(
        "{}, with their data where the reclaim policy is Delete: requires {DESTROY_DATA}",
        dangers.join("; ")
    )))
}

/// Returns notices about the set and its claims.
pub(super) fn notices(
    cx: &Cx,
    set: &StatefulSet,
    request: &RetentionRequest,
    changes: bool,
) -> Seen<Vec<String>> {
    let mut notices = Vec::new();
    let mut managers = set.metadata.managers_of(&ManagedField::RetentionPolicy);
    if changes && managers.any(|it| it.manager == APPLIED_BY_HAND) {
        notices.push(
            "it was created by kubectl apply: if its manifest contains the policy, the next apply sets \
             it back; change the manifest too"
                .to_owned(),
        );
    }
    if request.retains() {
        notices.extend(others_owned(cx, set)?);
    }
    Ok(notices)
}

/// Names claims that are deleted with the set whatever its policy is: the set owns them, but they are not certainly
/// claims of its templates. Whose other references are to an earlier set or pod loses these together with the one to
/// the set.
fn others_owned(cx: &Cx, set: &StatefulSet) -> Seen<Option<String>> {
    cx.cluster().reach(Kind::PersistentVolumeClaim, Some(&set.namespace))?;
    let mut others = Vec::new();
    for (_, claim) in cx.cluster().claims().filter(|(_, it)| it.namespace == set.namespace) {
        let owned =
            claim.metadata.owners.iter().any(|it| it.uid.is_some() && it.uid == set.metadata.uid);
        if !owned || claim.metadata.deleting.is_some() {
            continue;
        }
        let member = facts::retention::membership(cx, claim)?.decided;
        if member.is_none_or(|it| it.set.metadata.uid != set.metadata.uid) {
            others.push(format!("pvc/{}", claim.metadata.name));
        }
    }
    if others.is_empty() {
        return Ok(None);
    }
    let more = if others.len() > NAMED { " …" } else { "" };
    others.truncate(NAMED);
    Ok(Some(format!(
        "owned by it, but not certainly claims of its templates, so that they are not changed and are \
         deleted with it whatever the policy: {}{more}; `kubectl storage retain` keeps their data",
        others.join(" ")
    )))
}

/// The effect of an operation on a claim, before and after the change.
type BeforeAfter = (String, String);

/// Describes, for groups of claims with the same effects, the deletion of the set and its scaling to zero before and
/// after the change, and the deletions by the change itself; and returns the loss with the latter.
pub(super) fn foretold<'a>(
    cx: &Cx,
    set: &StatefulSet,
    to: &RetentionPolicy,
    resolved: impl Iterator<Item = &'a Contradiction<'a>>,
) -> Seen<(Vec<String>, Loss)> {
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
    let pairs = |operation: &[Operation]| -> Vec<(Prediction, Prediction)> {
        foretold(&before, operation).into_iter().zip(foretold(&after, operation)).collect()
    };
    let described = |pairs: &[(Prediction, Prediction)]| -> Vec<BeforeAfter> {
        pairs.iter().map(|(before, after)| (describe(before), describe(after))).collect()
    };
    let at_once = pairs(&[]);
    let (deleted, scaled) = (described(&pairs(&deletion)), described(&pairs(&scaling)));
    let mut groups: Vec<AlikeClaims> = Vec::new();
    for (index, claim) in after.claims.iter().enumerate() {
        let mut effects = vec![
            effect("if the StatefulSet is deleted", &deleted[index]),
            effect("if it is scaled to 0", &scaled[index]),
        ];
        let (unchanged, changed) = &at_once[index];
        if Deletion::of(changed) > Deletion::of(unchanged) {
            effects.insert(0, format!("by this change itself: {}", describe(changed)));
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
    let lines = groups.into_iter().map(line).collect();
    let mut losses = Vec::new();
    for (unchanged, changed) in &at_once {
        let deletion = Deletion::of(changed);
        if deletion <= Deletion::of(unchanged) {
            continue;
        }
        let stem = format!("{}-{}", changed.template, set.metadata.name);
        let Some(claim) = cx.sibling(&set.namespace, &stem, changed.ordinal)? else { continue };
        let is_deleted = deletion == Deletion::Certain;
        losses.push(loss_with(cx, &facts::data_effect(cx, claim), is_deleted));
    }
    Ok((lines, losses.into_iter().sum()))
}

/// Whether a claim is deleted by a change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Deletion {
    No,
    /// Whether the claim is deleted depends on which controller is first.
    Possible,
    Certain,
}

impl Deletion {
    const fn of(prediction: &Prediction) -> Self {
        match prediction.outcome {
            ClaimOutcome::Deleted { .. } => Self::Certain,
            _ if prediction.may_be_deleted => Self::Possible,
            _ => Self::No,
        }
    }
}

/// Common effects, and the claims that have them: their stems and ordinals.
type AlikeClaims = (Vec<String>, Vec<(String, i32)>);

fn effect(when: &str, (before, after): &BeforeAfter) -> String {
    match before == after {
        true => format!("{when}, {after}, as before"),
        false => format!("{when}, {after} (before: {before})"),
    }
}

/// Describes the effect on a claim and its data.
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
        // Only who owns it is unknown.
        ClaimOutcome::Unknown(_) if !prediction.may_be_deleted => "kept".to_owned(),
        ClaimOutcome::Deleted { recreated: false, .. } => format!("deleted{data}"),
        ClaimOutcome::Deleted { recreated: true, .. } => {
            format!("deleted{data}, and recreated empty")
        }
        ClaimOutcome::Unknown(why) => format!("kept or deleted{data}: {why}"),
    }
}

/// Names claims by the stems of their names and their ordinals, neighbours as a range.
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
