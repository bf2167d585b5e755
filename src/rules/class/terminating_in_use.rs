//! F95: a volume attributes class is Terminating, and still referenced.

use crate::cluster::{Cx, Seen};
use crate::facts::VAC_PROTECTION;
use crate::model::{Age, AttributesClass, Claim, Finding, Kind, Severity, Volume};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
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
    judge: &[Judge::AttributesClass(judge)],
};

/// How many of its users are listed.
const LISTED: usize = 20;

fn judge(cx: &Cx, class: &AttributesClass) -> Seen<Option<Finding>> {
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
    let finding = RULE
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
