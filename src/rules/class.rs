//! Findings about storage classes and volume attributes classes.

use std::cmp::Reverse;

use super::{CapacityRisk, Judge, Rule, finding::time};
use crate::cluster::{Cx, Seen};
use crate::facts::VAC_PROTECTION;
use crate::model::{
    Age, AttributesClass, Claim, ClaimPhase, Finding, Kind, Severity, StorageClass, Volume,
};

/// The rules about classes, in the order of the documentation.
pub(super) static RULES: &[&Rule] = &[&TERMINATING_IN_USE, &DEFAULT_COUNT];

/// F95: a volume attributes class is Terminating, and still referenced.
static TERMINATING_IN_USE: Rule = Rule {
    id: "vac-terminating-in-use",
    severity: Severity::Low,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::PersistentVolume, Kind::PersistentVolumeClaim, Kind::VolumeAttributesClass],
    remedies: &[],
    title: "A VolumeAttributesClass is Terminating while claims or volumes reference it",
    danger: "It remains until the last of them references another class. If its finalizer is removed by hand, its \
             parameters are lost, and a modification in progress fails.",
    remedy: "None by the tool: let the claims reference another class, or delete them. kube-controller-manager then \
             removes its finalizer.",
    source: "kubernetes vac_protection_controller.go",
    judge: &[Judge::AttributesClass(terminating_in_use)],
};

/// Number of users that a finding lists.
const LISTED: usize = 20;

fn terminating_in_use(cx: &Cx, class: &AttributesClass) -> Seen<Option<Finding>> {
    if class.metadata.deleting.is_none() || !class.metadata.has_finalizer(VAC_PROTECTION) {
        return Ok(None);
    }
    let (claims, volumes) = cx.users_of_attributes(&class.metadata.name)?;
    if claims.is_empty() && volumes.is_empty() {
        return Ok(None);
    }
    let users = format!("{} claims, {} volumes", claims.len(), volumes.len());
    let objects =
        claims.into_iter().map(Claim::object).chain(volumes.into_iter().map(Volume::object));
    let finding = TERMINATING_IN_USE
        .on_object(class.object(), &class.metadata, "Terminating, but still referenced")
        .aged(Age::stamped(class.metadata.deleting))
        .shows("driverName", &*class.driver)
        .shows("named by", users)
        .relates(objects.take(LISTED));
    Ok(Some(
        finding.report_only(
            "let the claims that reference it reference another class, or delete them",
        ),
    ))
}

/// F100: claims wait for a default class, and none exists, or several do.
static DEFAULT_COUNT: Rule = Rule {
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
    let mut finding = DEFAULT_COUNT
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
    let finding = DEFAULT_COUNT
        .on_claim(claim, "Pending: it has no spec.storageClassName, and no default class exists")
        .aged(Age::stamped(claim.metadata.created))
        .shows("spec.storageClassName", "<none>");
    Ok(Some(finding.report_only(
        "make a class the default, recreate the claim with a class, or create a volume for it",
    )))
}
