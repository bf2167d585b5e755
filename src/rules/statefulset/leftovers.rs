//! Findings about claims that a set does not use any more, or not as its templates say.

use crate::cluster::{Cx, Seen};
use crate::facts::{
    self,
    retention::{
        Ordinals, is_leftover, is_paused, leftover_age, membership, names_set, scalers, unused_age,
        volume_effect, wanted_owners,
    },
};
use crate::model::{Claim, Finding, Kind, Severity, StatefulSet, format_bytes, split_ordinal};
use crate::remedies;
use crate::rules::{CapacityRisk, Judge, Rule};

/// F63: claims of a `StatefulSet` that was deleted.
pub(super) static DELETED_LEFTOVER: Rule = Rule {
    id: "sts-deleted-leftover",
    severity: Severity::Low,
    capacity_risk: CapacityRisk::Unused,
    needs: crate::facts::needs![users: PersistentVolumeClaim, PersistentVolume, StorageClass, Secret, Lease],
    remedies: &[],
    title: "A claim seems to be left by a StatefulSet that was deleted",
    danger: "Nothing uses it, and its backend volume is billed. Whether it was meant to stay is not recorded: \
             a set that retains its claims can be deleted and recreated, and finds them by their names.",
    remedy: "The tool deletes nothing, since this may be a set under maintenance. If the set will not be \
             recreated, check what the claim contains; `kubectl storage delete pvc NAME --keep-data` then \
             deletes the claim and keeps its volume.",
    source: "KEP-1847, user stories; stateful_set_utils.go, updateStorage and getPersistentVolumeClaims",
    judge: &[Judge::Claim(deleted_leftover)],
};

fn deleted_leftover(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
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
    let finding = DELETED_LEFTOVER
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

/// F62: a claim whose ordinal is out of the range of its `StatefulSet`; a set with no replicas that
/// retains its claims is one finding.
pub(super) static SCALED_DOWN_LEFTOVER: Rule = Rule {
    id: "sts-scaled-down-leftover",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::Unused,
    needs: crate::facts::needs![deletion: PersistentVolumeClaim, HorizontalPodAutoscaler],
    remedies: &[&remedies::DELETE_LEFTOVER],
    title: "Claims remain after a StatefulSet was scaled down",
    danger: "Their backend volumes are billed. With whenScaled Delete such a claim should not exist: it is older than \
             that policy, or its pod was deleted while the controller did not run, and no controller visits it any \
             more. A set with no replicas that retains its claims is paused.",
    remedy: "Scaling up uses the claims again, and one may contain the only copy of a shard. If neither you nor an \
             autoscaler will scale up again: with whenScaled Delete, `kubectl storage retention reconcile sts/NAME \
             --delete-leftovers --older-than AGE` deletes them; with Retain, `kubectl storage delete pvc NAME \
             --delete-leftovers` deletes one by name.",
    source: "KEP-1847; stateful_set_utils.go, podInOrdinalRange; stateful_set_control.go, updateStatefulSet",
    judge: &[Judge::Claim(scaled_down_leftover), Judge::StatefulSet(judge_set)],
};

/// Number of claims of a paused set that are named, as examples.
const SHOWN: usize = 3;

fn scaled_down_leftover(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let Some(member) = membership(cx, claim)?.decided else { return Ok(None) };
    let set = member.set;
    if is_paused(set) || !is_leftover(cx, claim, &member)? {
        return Ok(None);
    }
    let users = cx.pods_of(&claim.key())?;
    if !users.is_empty() {
        return Ok(None);
    }
    let deletes = wanted_owners(set.retention.as_ref(), true).pod;
    let summary = if deletes {
        "left by a scale-down, although whenScaled is Delete"
    } else {
        "left by a scale-down; a scale-up would use it again"
    };
    let size = claim.capacity.or(claim.requested);
    let size = size.map_or("<none>".to_owned(), |bytes| format!("{bytes} bytes"));
    let (fate, volume) = volume_effect(cx, claim);
    let finding = SCALED_DOWN_LEFTOVER
        .on_claim(claim, summary)
        .severe(if deletes { Severity::Medium } else { Severity::Low })
        .aged(leftover_age(cx, claim, &member)?)
        .shows_member(claim, &member)
        .shows("pod", format!("{} does not exist", member.pod_name()))
        .shows("size", size)
        .shows("autoscaler", autoscaler(cx, set)?)
        .shows("if it is deleted", fate.describe())
        .about_volume(volume);
    Ok(Some(if deletes {
        finding.remedied_by(cx, claim, &remedies::DELETE_LEFTOVER)
    } else {
        finding.report_only(
            "whenScaled retains it: keep it, or delete it yourself if nothing will scale the set up again",
        )
    }))
}

/// Judges a paused set: its claims are as they should be.
fn judge_set(cx: &Cx, set: &StatefulSet) -> Seen<Option<Finding>> {
    if !is_paused(set) {
        return Ok(None);
    }
    let mut claims = Vec::new();
    for template in &set.templates {
        let stem = format!("{}-{}", template.name, set.metadata.name);
        for (_, claim) in cx.claims_of_stem(&set.namespace, &stem)? {
            let member = membership(cx, claim)?.decided;
            let member = member.filter(|it| it.set.metadata.name == set.metadata.name);
            if let Some(member) = member
                && is_leftover(cx, claim, &member)?
            {
                claims.push(claim);
            }
        }
    }
    if claims.is_empty() {
        return Ok(None);
    }
    let sizes = claims.iter().filter_map(|it| it.capacity.or(it.requested));
    let size = format_bytes(sizes.fold(0, u64::saturating_add));
    let summary = format!(
        "paused with 0 replicas: whenScaled Retain keeps its claims ({}, {size}), and a scale-up uses them again",
        claims.len()
    );
    let names: Vec<_> = claims.iter().take(SHOWN).map(|it| &*it.metadata.name).collect();
    let finding = SCALED_DOWN_LEFTOVER
        .on_set(set, summary)
        .severe(Severity::Info)
        .shows("claims", claims.len().to_string())
        .shows("the first of them", names.join(", "))
        .shows("size", size)
        .shows("autoscaler", autoscaler(cx, set)?)
        .relates(claims.iter().take(SHOWN).map(|it| it.object()));
    Ok(Some(finding.report_only(
        "nothing to do while it is paused; delete the claims yourself only if the set will never be scaled up again",
    )))
}

fn autoscaler(cx: &Cx, set: &StatefulSet) -> Seen<String> {
    let scalers: Vec<_> = scalers(cx, set)?.iter().map(ToString::to_string).collect();
    Ok(if scalers.is_empty() { "<none>".to_owned() } else { scalers.join(", ") })
}

/// F68: the name of a claim matches templates of several `StatefulSet`s, or of one whose labels it does
/// not have.
pub(super) static AMBIGUOUS_CLAIM_NAME: Rule = Rule {
    id: "sts-ambiguous-claim-name",
    severity: Severity::High,
    capacity_risk: CapacityRisk::Data,
    needs: &[Kind::PersistentVolumeClaim, Kind::StatefulSet, Kind::Pod],
    remedies: &[],
    title: "The name of a claim matches templates of several StatefulSets, or of one that did not create it",
    danger: "Template data-a of set web and template data of set a-web create claims of the same names. Both \
             sets use the claim, if both have its ordinal, and each applies its own retention policy to it. Once one \
             of them is deleted, the labels of its claims still contradict the selector of the other.",
    remedy: "The tool changes nothing. It applies no retention policy to such a claim unless an owner, a \
             pod or its labels prove which set it belongs to. Rename a template or a set; that requires copying the data.",
    source: "stateful_set_utils.go, getPersistentVolumeClaimName",
    judge: &[Judge::Claim(ambiguous_claim_name)],
};

fn ambiguous_claim_name(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    let membership = membership(cx, claim)?;
    let pairs = &membership.pairs;
    let summary = match (&**pairs, &membership.decided) {
        ([], _) | ([_], Some(_)) => return Ok(None),
        ([only], None) => {
            let Some(it) = only.contradicted_by(claim) else { return Ok(None) };
            format!(
                "its name matches a template of {}, but its label {}={} contradicts the selector of that set, which has {}: which set it belongs to is unknown",
                only.set.metadata.name, it.key, it.value, it.wanted
            )
        }
        (_, Some(member)) => format!(
            "its name matches templates of {} StatefulSets; an owner, a pod or its labels prove that it belongs to {}",
            pairs.len(),
            member.set.metadata.name
        ),
        (_, None) => {
            format!(
                "its name matches templates of {} StatefulSets; which one it belongs to is unknown",
                pairs.len()
            )
        }
    };
    let mut finding = AMBIGUOUS_CLAIM_NAME.on_claim(claim, summary).shows_owners(claim);
    for pair in pairs {
        let range = Ordinals::of(pair.set);
        let parsed = format!(
            "template {}, set {}, ordinal {} of {range}",
            pair.template, pair.set.metadata.name, pair.ordinal
        );
        finding = finding.shows("name", parsed).shows_set(pair.set).relates([pair.set.object()]);
    }
    Ok(Some(finding.report_only("find out whose data it holds before anything is deleted")))
}

/// F70: a claim of a template that its `StatefulSet` no longer has.
pub(super) static TEMPLATE_DRIFT: Rule = Rule {
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
    judge: &[Judge::Claim(template_drift)],
};

fn template_drift(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
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
            TEMPLATE_DRIFT
                .on_claim(claim, summary)
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

/// Whether labels that the set gives its claims, or an owner reference, connect a claim with the set.
fn was_made_for(claim: &Claim, set: &StatefulSet) -> bool {
    let labelled = !set.match_labels.is_empty()
        && set.match_labels.iter().all(|wanted| claim.metadata.labels.contains(wanted));
    labelled || claim.metadata.owners.iter().any(|it| names_set(it, &set.metadata.name))
}
