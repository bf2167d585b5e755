//! F63: claims of a `StatefulSet` that was deleted.

use crate::cluster::{Cx, Seen};
use crate::facts::{
    self,
    retention::{membership, unused_age, volume_effect},
};
use crate::model::{Claim, Finding, Severity, split_ordinal};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "sts-deleted-leftover",
    severity: Severity::Low,
    capacity_risk: CapacityRisk::None,
    needs: crate::facts::needs![users: PersistentVolumeClaim, PersistentVolume, StorageClass, Secret, Lease],
    remedies: &[],
    title: "A claim seems to be left by a StatefulSet that was deleted",
    danger: "Nothing uses it, and its backend volume is billed. Whether it was meant to stay is not recorded: \
             a set that retains its claims can be deleted and recreated, and finds them by their names.",
    remedy: "The tool deletes nothing, since this may be a set under maintenance. If the set will not be \
             recreated, check what the claim contains; `kubectl storage delete pvc NAME --keep-data` then \
             deletes the claim and keeps its volume.",
    source: "KEP-1847, user stories; stateful_set_utils.go, updateStorage and getPersistentVolumeClaims",
    judge: &[Judge::Claim(judge)],
};

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let metadata = &claim.metadata;
    if metadata.deleting.is_some() || !metadata.owners.is_empty() || metadata.labels.is_empty() {
        return Ok(None);
    }
    let Some((stem, ordinal)) = split_ordinal(&metadata.name) else { return Ok(None) };
    let parses = parses(stem);
    if parses.is_empty() || !membership(cx, claim)?.pairs.is_empty() {
        return Ok(None);
    }
    for (_, set) in &parses {
        // Then the claim is judged as one of that set.
        if cx.set(&claim.namespace, set)?.is_some() {
            return Ok(None);
        }
    }
    let neighbours = [ordinal.checked_sub(1), ordinal.checked_add(1)];
    let mut siblings = Vec::new();
    for other in neighbours.into_iter().flatten().filter(|it| *it >= 0) {
        let sibling = cx.sibling(&claim.namespace, stem, other)?;
        siblings.extend(sibling.filter(|it| it.metadata.labels == metadata.labels));
    }
    if siblings.is_empty()
        || !cx.pods_of(&claim.key())?.is_empty()
        || !cx.workloads_of(&claim.key())?.is_empty()
    {
        return Ok(None);
    }
    let shown: Vec<_> =
        parses.iter().map(|(template, set)| format!("{template} of {set}")).collect();
    let labels: Vec<_> =
        metadata.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let (fate, volume) = volume_effect(cx, claim);
    let finding = RULE
        .on_claim(
            claim,
            "has the name and labels of the claims of a deleted StatefulSet, and no user",
        )
        .aged(unused_age(claim))
        .shows("templates and sets it may have been of", shown.join(", "))
        .shows("ordinal", ordinal.to_string())
        .shows("metadata.labels", labels.join(", "))
        .shows("metadata.ownerReferences", "<none>")
        .shows("if it is deleted", fate.describe())
        .relates(siblings.into_iter().map(Claim::object))
        .about_volume(volume);
    Ok(Some(finding.report_only(format!(
        "keep it if its StatefulSet will be recreated; otherwise `kubectl storage delete {} --keep-data`",
        facts::on_command_line(&claim.object())
    ))))
}

/// Every template and set that a stem may consist of: `data-a-web` is `data` of `a-web`, or
/// `data-a` of `web`.
fn parses(stem: &str) -> Vec<(&str, &str)> {
    let dashes = stem.match_indices('-').map(|(place, _)| place);
    let split = |place: usize| (&stem[..place], &stem[place + 1..]);
    dashes.map(split).filter(|(template, set)| !template.is_empty() && !set.is_empty()).collect()
}
