//! Findings about the guard: its policies and bindings, and the namespaces that rely on it.

use super::{CapacityRisk, Judge, Rule};
use crate::cluster::{Cx, Seen};
use crate::guard::{self, Fault, GUARD_LABEL, NamespaceMode};
use crate::model::{AdmissionObject, Finding, Kind, Namespace, ObjectRef, Severity};

/// The rules about the guard, in the order of the documentation.
pub(super) static RULES: &[&Rule] = &[&NOT_ENFORCED, &CHANGED, &LABEL_UNKNOWN];

/// F104: the guard is not enforced, in part or at all.
static NOT_ENFORCED: Rule = Rule {
    id: "guard-not-enforced",
    severity: Severity::High,
    capacity_risk: CapacityRisk::None,
    needs: &[
        Kind::Namespace,
        Kind::ValidatingAdmissionPolicy,
        Kind::ValidatingAdmissionPolicyBinding,
    ],
    remedies: &[],
    title: "The guard is not enforced, in part or at all",
    danger: "Deletes that lose data are carried out although their refusal is relied upon: a policy without \
             binding does nothing, nor does a namespace's label without policies.",
    remedy: "`kubectl storage guard install` creates what is missing, `kubectl storage guard status` proves by dry \
             runs that it is in force. Audit sends none.",
    source: "apiserver pkg/admission/plugin/policy/validating",
    judge: &[Judge::AdmissionObject(of_object), Judge::Namespace(of_namespace)],
};

const INSTALL: &str = "`kubectl storage guard install` creates what is missing";

fn of_object(cx: &Cx, object: &AdmissionObject) -> Seen<Option<Finding>> {
    for fault in guard::faults(cx, object)? {
        let begin = |summary| NOT_ENFORCED.on_object(object.object(), &object.metadata, summary);
        let finding = match fault {
            Fault::Missing(missing) => {
                let names: Vec<_> = missing.iter().map(ToString::to_string).collect();
                let missing = missing.into_iter().map(|key| ObjectRef { key, uid: None });
                begin("other objects of the guard do not exist: their rules are not enforced")
                    .shows("missing", names.join(", "))
                    .relates(missing)
                    .report_only(INSTALL)
            }
            Fault::IllTyped(warnings) => {
                begin("kube-controller-manager warns of the types in its expressions")
                    .shows("status.typeChecking", warnings.join("; "))
                    .report_only("`kubectl storage guard status` shows whether it is in force")
            }
            Fault::Changed(_) | Fault::Unmarked | Fault::OfAnotherVersion => continue,
        };
        return Ok(Some(finding));
    }
    Ok(None)
}

fn of_namespace(cx: &Cx, namespace: &Namespace) -> Seen<Option<Finding>> {
    let label = namespace.metadata.label(GUARD_LABEL);
    if NamespaceMode::of(label) != NamespaceMode::Deny || guard::is_installed(cx)? {
        return Ok(None);
    }
    let finding = NOT_ENFORCED
        .on_object(
            namespace.object(),
            &namespace.metadata,
            "its label asks for the guard, which is not installed",
        )
        .shows("guard label", label.unwrap_or_default());
    Ok(Some(finding.report_only(INSTALL)))
}

/// F103: an object of the guard is not what was installed.
static CHANGED: Rule = Rule {
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
    judge: &[Judge::AdmissionObject(changed)],
};

fn changed(cx: &Cx, object: &AdmissionObject) -> Seen<Option<Finding>> {
    for fault in guard::faults(cx, object)? {
        let begin = |summary| CHANGED.on_object(object.object(), &object.metadata, summary);
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

/// F105: the guard's label of a namespace has a value that the guard does not know.
static LABEL_UNKNOWN: Rule = Rule {
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
    judge: &[Judge::Namespace(label_unknown)],
};

#[expect(clippy::unnecessary_wraps, reason = "the shape of every rule")]
fn label_unknown(_: &Cx, namespace: &Namespace) -> Seen<Option<Finding>> {
    let label = namespace.metadata.label(GUARD_LABEL);
    if NamespaceMode::of(label) != NamespaceMode::Unknown {
        return Ok(None);
    }
    let finding = LABEL_UNKNOWN
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
