//! F69: a retention policy with an unknown value.

use crate::cluster::{Cx, Seen};
use crate::model::{Finding, Kind, Retention, Severity, StatefulSet};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "sts-unknown-policy",
    severity: Severity::Low,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::StatefulSet],
    remedies: &[],
    title: "The retention policy of a StatefulSet has an unknown value",
    danger: "The controller treats the whole policy as Retain, also the half that it knows: whenDeleted \
             Delete beside an unknown whenScaled deletes nothing.",
    remedy: "The tool treats it as Retain as well. Set both fields to Retain or Delete.",
    source: "stateful_set_utils.go, updateClaimOwnerRefForSetAndPod",
    judge: &[Judge::StatefulSet(judge)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn judge(_: &Cx, set: &StatefulSet) -> Seen<Option<Finding>> {
    let Some(policy) = &set.retention else { return Ok(None) };
    let unknown = [("whenDeleted", &policy.when_deleted), ("whenScaled", &policy.when_scaled)]
        .into_iter()
        .find(|(_, value)| matches!(value, Retention::Other(_)));
    let Some((field, value)) = unknown else { return Ok(None) };
    let summary = format!("{field} is {value}, which is unknown: its claims are retained");
    let both = format!(
        "set both values to Retain or Delete: `kubectl storage retention set sts/{} -n {} --when-deleted Retain \
         --when-scaled Retain`",
        set.metadata.name, set.namespace
    );
    Ok(Some(RULE.on_set(set, summary).report_only(&both)))
}
