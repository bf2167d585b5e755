//! F102: whenScaled is Delete, and something scales the `StatefulSet` by itself.

use crate::cluster::{Cx, Seen};
use crate::facts::retention::{Scaler, scalers, wanted_owners};
use crate::model::{Finding, Kind, ManagedField, Severity, StatefulSet};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "sts-autoscaler-deletes-claims",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::StatefulSet, Kind::HorizontalPodAutoscaler],
    remedies: &[],
    title: "A StatefulSet that deletes claims when it is scaled down is scaled by an autoscaler or a schedule",
    danger: "Every scale-down deletes the claims of the pods that it removes, without anybody looking, and with policy \
             Delete of their volumes the data. A downscaler that sets 0 replicas for the night deletes all of them.",
    remedy: "Set whenScaled to Retain, unless what the pods store can be lost at any time: `kubectl storage retention set` does so, \
             and removes the owner references of claims that are about to be deleted.",
    source: "KEP-1847; stateful_set_utils.go, updateClaimOwnerRefForSetAndPod",
    judge: &[Judge::StatefulSet(judge)],
};

fn judge(cx: &Cx, set: &StatefulSet) -> Seen<Option<Finding>> {
    let deletes = wanted_owners(set.retention.as_ref(), true).pod;
    if set.metadata.deleting.is_some() || set.templates.is_empty() || !deletes {
        return Ok(None);
    }
    let scalers = scalers(cx, set)?;
    if scalers.is_empty() {
        return Ok(None);
    }
    let named: Vec<_> = scalers.iter().map(ToString::to_string).collect();
    let summary = format!(
        "whenScaled is Delete, and {} sets its number of replicas: every scale-down deletes claims",
        named.join(", ")
    );
    let mut finding = RULE.on_set(set, summary);
    for scaler in &scalers {
        finding = finding.shows("scaled by", scaler.to_string());
    }
    let field = ManagedField::Replicas;
    let finding = finding.shows_manager(&set.metadata, &field, "managers of f:replicas");
    let objects = scalers.into_iter().filter_map(|it| match it {
        Scaler::Autoscaler { object, .. } => Some(object),
        Scaler::Manager(_) | Scaler::Downscaler => None,
    });
    Ok(Some(finding.relates(objects).report_only(format!(
        "set whenScaled to Retain, unless the data of its claims can be lost at any time: `kubectl storage retention \
         set sts/{} -n {} --when-scaled Retain`",
        set.metadata.name, set.namespace
    ))))
}
