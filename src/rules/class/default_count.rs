//! F100: claims wait for a default class, and none exists, or several do.

use std::cmp::Reverse;

use crate::cluster::{Cx, Seen};
use crate::model::{Age, Claim, ClaimPhase, Finding, Kind, Severity, StorageClass};
use crate::rules::{CapacityRisk, Judge, Rule, finding::time};

pub(super) static RULE: Rule = Rule {
    id: "class-default-count",
    severity: Severity::Low,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolumeClaim, Kind::StorageClass],
    remedies: &[],
    title: "Claims wait for the default storage class, and not exactly one exists",
    danger: "Without a default class, a claim without a class waits until a matching volume is created by hand. Of \
             several default classes the newest is used, which may be slower, dearer, or have policy Delete where \
             another has Retain.",
    remedy: "None by the tool: leave the annotation storageclass.kubernetes.io/is-default-class on exactly one class, \
             or set spec.storageClassName of the claims.",
    source: "kubernetes pkg/volume/util/storageclass.go, GetDefaultClass",
    judge: &[Judge::Class(of_several), Judge::Claim(of_none)],
};

/// How many of the claims that wait are listed.
const LISTED: usize = 20;

/// Returns the default classes, first the one that Kubernetes uses (`GetDefaultClass`).
fn defaults<'a>(cx: &Cx<'a>) -> Seen<Vec<&'a StorageClass>> {
    let mut classes = cx.all_classes()?;
    classes.retain(|class| class.is_default);
    classes.sort_by(|a, b| {
        let key = |class: &StorageClass| Reverse(class.metadata.created);
        (key(a), &a.metadata.name).cmp(&(key(b), &b.metadata.name))
    });
    Ok(classes)
}

/// Whether a claim waits for a default class; one with `spec.volumeName` does not.
fn waits(claim: &Claim) -> bool {
    let unbound = claim.phase == ClaimPhase::Pending && claim.volume_name.is_none();
    unbound && claim.class.is_none() && claim.metadata.deleting.is_none()
}

fn of_several(cx: &Cx, class: &StorageClass) -> Seen<Option<Finding>> {
    if !class.is_default {
        return Ok(None);
    }
    let defaults = defaults(cx)?;
    let [newest, others @ ..] = &*defaults else { return Ok(None) };
    if others.is_empty() || newest.metadata.name != class.metadata.name {
        return Ok(None);
    }
    let mut waiting = cx.classless_claims()?;
    waiting.retain(|claim| waits(claim));
    if waiting.is_empty() {
        return Ok(None);
    }
    waiting.sort_by_key(|claim| claim.key());
    let mut finding = RULE
        .on_object(class.object(), &class.metadata, "is the newest of several default classes")
        .shows("metadata.creationTimestamp", time(class.metadata.created))
        .shows("claims that wait for a class", waiting.len().to_string());
    for other in others {
        let created = time(other.metadata.created);
        finding = finding
            .shows_of(&other.object(), "metadata.creationTimestamp", created)
            .relates([other.object()]);
    }
    let claims = waiting.into_iter().take(LISTED).map(Claim::object);
    Ok(Some(finding.relates(claims).report_only(
        "claims without a class get this one; leave the default annotation on exactly one class",
    )))
}

fn of_none(cx: &Cx, claim: &Claim) -> Seen<Option<Finding>> {
    if !waits(claim) || !defaults(cx)?.is_empty() {
        return Ok(None);
    }
    let finding = RULE
        .on_claim(claim, "Pending: it has no spec.storageClassName, and no default class exists")
        .aged(Age::stamped(claim.metadata.created))
        .shows("spec.storageClassName", "<none>");
    Ok(Some(finding.report_only(
        "make a class the default, recreate the claim with a class, or create a volume for it",
    )))
}
