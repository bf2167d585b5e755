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
    title: "A volume attributes class is being deleted while claims or volumes name it",
    danger: "It stays until the last of them names another class. Should its finalizer be removed by hand, nobody \
             can tell any more what these volumes were promised, and a change that is under way fails.",
    remedy: "None by the tool: let the claims name another class, or delete them. Its protection goes by itself \
             with the last one that names it.",
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
        .on_object(class.object(), &class.metadata, "is being deleted, and is still named")
        .aged(Age::stamped(class.metadata.deleting))
        .shows("driverName", &*class.driver)
        .shows("named by", users)
        .relates(objects.take(LISTED));
    Ok(Some(finding.report_only("let the claims that name it name another class, or delete them")))
}
