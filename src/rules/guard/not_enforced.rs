//! F104: the guard is not enforced, in part or at all.

use crate::cluster::{Cx, Seen};
use crate::guard::{self, Fault, GUARD_LABEL, NamespaceMode};
use crate::model::{AdmissionObject, Finding, Kind, Namespace, ObjectRef, Severity};
use crate::rules::{CapacityRisk, Judge, Rule};

pub(super) static RULE: Rule = Rule {
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
    danger: "Deletes that lose data are carried out although somebody relies on their refusal: a policy without \
             binding does nothing, nor does a namespace's label without policies.",
    remedy: "`kubectl storage guard install` creates what is missing, `kubectl storage guard status` proves by dry \
             runs that it is in force. Audit sends none.",
    source: "apiserver pkg/admission/plugin/policy/validating",
    judge: &[Judge::AdmissionObject(of_object), Judge::Namespace(of_namespace)],
};

const INSTALL: &str = "`kubectl storage guard install` creates what is missing";

fn of_object(cx: &Cx, object: &AdmissionObject) -> Seen<Option<Finding>> {
    for fault in guard::faults(cx, object)? {
        let begin = |summary| RULE.on_object(object.object(), &object.metadata, summary);
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
    let finding = RULE
        .on_object(
            namespace.object(),
            &namespace.metadata,
            "its label asks for the guard, which is not installed",
        )
        .shows("guard label", label.unwrap_or_default());
    Ok(Some(finding.report_only(INSTALL)))
}
