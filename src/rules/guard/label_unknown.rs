//! F105: the guard's label of a namespace has a value that the guard does not know.

use crate::cluster::{Cx, Seen};
use crate::guard::{GUARD_LABEL, NamespaceMode};
use crate::model::{Finding, Kind, Namespace, Severity};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "guard-label-unknown",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::Namespace],
    remedies: &[],
    title: "The guard's label of a namespace has an unknown value",
    danger: "Values are case-sensitive: with `Deny` instead of `deny` the guard only warns, and deletes that lose data \
             are carried out.",
    remedy: "None by the tool: set label storage.kubectl.dev/guard of the namespace to deny, warn or off.",
    source: "kubectl storage guard print: the selectors of the bindings",
    judge: &[Judge::Namespace(judge)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn judge(_: &Cx, namespace: &Namespace) -> Seen<Option<Finding>> {
    let label = namespace.metadata.label(GUARD_LABEL);
    if NamespaceMode::of(label) != NamespaceMode::Unknown {
        return Ok(None);
    }
    let finding = RULE
        .on_object(
            namespace.object(),
            &namespace.metadata,
            "the guard does not know the value of its label, and only warns",
        )
        .shows("guard label", label.unwrap_or_default());
    Ok(Some(finding.report_only(
        "set the label to deny, warn or off; `kubectl storage guard status` shows where the guard refuses",
    )))
}
