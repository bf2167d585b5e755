//! F70: a claim of a template that its `StatefulSet` no longer has.

use crate::cluster::{Cx, Seen};
use crate::facts::retention::{membership, names_set, unused_age, volume_effect};
use crate::model::{Claim, Finding, Severity, StatefulSet, split_ordinal};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "sts-template-drift",
    severity: Severity::Low,
    capacity_risk: CapacityRisk::None,
    needs: crate::facts::needs![deletion: PersistentVolumeClaim],
    remedies: &[],
    title: "A claim belongs to a template that its StatefulSet does not have any more",
    danger: "The set was deleted and recreated with other templates. No policy applies to this claim any \
             more: it is neither used nor deleted, and its backend volume is billed.",
    remedy: "The tool deletes nothing. Check what the claim contains, and delete it yourself if it is not \
             needed.",
    source: "stateful_set_utils.go, getPersistentVolumeClaims: only volumeClaimTemplates count",
    judge: &[Judge::Claim(judge)],
};

fn judge(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let Some((stem, ordinal)) = split_ordinal(&claim.metadata.name) else { return Ok(None) };
    if claim.metadata.deleting.is_some() || !membership(cx, claim)?.pairs.is_empty() {
        return Ok(None);
    }
    for (place, _) in stem.match_indices('-') {
        let (template, name) = (&stem[..place], &stem[place + 1..]);
        if template.is_empty() || name.is_empty() {
            continue;
        }
        let Some(set) = cx.set(&claim.namespace, name)? else { continue };
        if !was_made_for(claim, set) || !cx.pods_of(&claim.key())?.is_empty() {
            continue;
        }
        let templates: Vec<_> = set.templates.iter().map(|it| &*it.name).collect();
        let (fate, volume) = volume_effect(cx, claim);
        let summary =
            format!("StatefulSet {name} has no template {template}: no pod of it uses this claim");
        return Ok(Some(
            RULE.on_claim(claim, summary)
                .aged(unused_age(claim))
                .shows("name", format!("template {template}, set {name}, ordinal {ordinal}"))
                .shows_of(&set.object(), "spec.volumeClaimTemplates", templates.join(", "))
                .shows_owners(claim)
                .shows_set(set)
                .shows("if it is deleted", fate.describe())
                .about_volume(volume)
                .relates([set.object()])
                .report_only("check what it contains, and delete it yourself if it is not needed"),
        ));
    }
    Ok(None)
}

/// Whether more than the name connects a claim with the set: the labels that the set gives its
/// claims, or an owner reference.
fn was_made_for(claim: &Claim, set: &StatefulSet) -> bool {
    let labelled = !set.match_labels.is_empty()
        && set.match_labels.iter().all(|wanted| claim.metadata.labels.contains(wanted));
    labelled || claim.metadata.owners.iter().any(|it| names_set(it, &set.metadata.name))
}
