//! F103: an object of the guard is not what was installed.

use crate::cluster::{Cx, Seen};
use crate::guard::{self, Fault};
use crate::model::{AdmissionObject, Finding, Kind, Severity};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
    id: "guard-changed",
    severity: Severity::Medium,
    capacity_risk: CapacityRisk::None,
    needs: &[Kind::ValidatingAdmissionPolicy, Kind::ValidatingAdmissionPolicyBinding],
    remedies: &[],
    title: "A policy or binding of the guard differs from what was installed",
    danger: "A changed policy may let deletes pass that lose data, or refuse requests that it should not. Another \
             version of the tool installs other policies, too.",
    remedy: "Audit shows the fields, `kubectl storage guard diff` their values; `kubectl storage guard install` \
             restores them after showing what it writes. An object without the guard's marks is never changed.",
    source: "kubectl storage guard print",
    judge: &[Judge::AdmissionObject(judge)],
};

fn judge(cx: &Cx, object: &AdmissionObject) -> Seen<Option<Finding>> {
    for fault in guard::faults(cx, object)? {
        let begin = |summary| RULE.on_object(object.object(), &object.metadata, summary);
        let finding = match fault {
            Fault::Changed(differences) => {
                let fields: Vec<_> = differences.into_iter().map(|it| it.field).collect();
                begin("differs from what was installed")
                    .shows("differs in", fields.join(", "))
                    .report_only("`kubectl storage guard diff` shows the values")
            }
            Fault::OfAnotherVersion => begin("this version of the guard has no such object")
                .report_only("`kubectl storage guard install` deletes it"),
            Fault::Unmarked => begin(
                "has a name of the guard, but not its label and annotation: it is not the tool's",
            )
            .report_only("rename or delete it, then run `kubectl storage guard install`"),
            Fault::Missing(_) | Fault::IllTyped(_) => continue,
        };
        return Ok(Some(finding));
    }
    Ok(None)
}
