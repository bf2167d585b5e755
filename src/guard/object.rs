//! Objects of the guard: policies and bindings, with the marks by which they are recognised.

use serde_json::{Value, json};

use super::{
    GUARD_LABEL,
    options::{GuardMode, GuardOptions},
    policy::Guarded,
};
use crate::model::{Kind, ObjectKey};

/// Label of objects that the tool manages.
const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "kubectl-storage");
/// Annotation with the options.
pub(super) const OPTIONS: &str = "storage.kubectl.dev/guard-options";

/// Type of an object of the guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GuardKind {
    /// A `ValidatingAdmissionPolicy`, which says what is refused.
    Policy,
    /// A `ValidatingAdmissionPolicyBinding`, which says where it is refused. A policy without one does nothing.
    Binding,
}

impl GuardKind {
    /// Returns the Kubernetes kind of the object.
    pub const fn kind(self) -> Kind {
        match self {
            Self::Policy => Kind::ValidatingAdmissionPolicy,
            Self::Binding => Kind::ValidatingAdmissionPolicyBinding,
        }
    }
}

/// Object of the guard as it should be.
#[derive(Debug, Clone, PartialEq)]
pub struct GuardObject {
    /// Whether it is a policy or a binding.
    pub kind: GuardKind,
    /// Name of the object.
    pub name: String,
    /// Whole object, as it is sent.
    pub manifest: Value,
}

impl GuardObject {
    fn new(kind: GuardKind, name: String, options: &GuardOptions, spec: &Value) -> Self {
        let (label, value) = MANAGED_BY;
        let manifest = json!({
            "apiVersion": kind.kind().api_version(), "kind": kind.kind().name(),
            "metadata": {
                "name": name, "labels": {label: value},
                "annotations": {OPTIONS: options.annotation()},
            },
            "spec": spec,
        });
        Self { kind, name, manifest }
    }

    /// Returns the key of the object.
    pub fn key(&self) -> ObjectKey {
        ObjectKey::cluster_wide(self.kind.kind(), &self.name)
    }
}

/// Returns all objects of the guard, in the order in which they are created: a policy has no effect
/// before its bindings exist.
pub fn objects(options: &GuardOptions) -> Vec<GuardObject> {
    let policies = Guarded::ALL.into_iter().map(|guarded| {
        let spec = guarded.spec(options);
        GuardObject::new(GuardKind::Policy, guarded.policy_name(), options, &spec)
    });
    let bindings = bindings(options).into_iter().map(|binding| {
        let spec = binding.spec();
        GuardObject::new(GuardKind::Binding, binding.name(), options, &spec)
    });
    policies.chain(bindings).collect()
}

/// Binding of a policy: where it applies, and whether it refuses there. A binding cannot refuse and warn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Binding {
    pub(super) guarded: Guarded,
    pub(super) mode: GuardMode,
}

impl Binding {
    /// Returns the name of the binding.
    pub(super) fn name(self) -> String {
        let policy = self.guarded.policy_name();
        match self.guarded.by_namespace() {
            true => format!("{policy}-{}", self.mode),
            false => policy,
        }
    }

    fn spec(self) -> Value {
        let action = match self.mode {
            GuardMode::Deny => "Deny",
            GuardMode::Warn => "Warn",
        };
        let mut spec = json!({
            "policyName": self.guarded.policy_name(), "validationActions": [action, "Audit"],
        });
        if self.guarded.by_namespace() {
            let (operator, values) = match self.mode {
                GuardMode::Deny => ("In", vec!["deny"]),
                GuardMode::Warn => ("NotIn", vec!["deny", "off"]),
            };
            let selector = json!([{"key": GUARD_LABEL, "operator": operator, "values": values}]);
            spec["matchResources"] = json!({
                "matchPolicy": "Equivalent", "objectSelector": {},
                "namespaceSelector": {"matchExpressions": selector},
            });
        }
        spec
    }
}

/// Returns all bindings of the guard.
pub(super) fn bindings(options: &GuardOptions) -> Vec<Binding> {
    let of = |guarded: Guarded| {
        let modes = match guarded.by_namespace() {
            true => vec![GuardMode::Deny, GuardMode::Warn],
            false => vec![options.volumes],
        };
        modes.into_iter().map(move |mode| Binding { guarded, mode })
    };
    Guarded::ALL.into_iter().flat_map(of).collect()
}

/// Whether the tool made an object: it has the label and the annotation. An object of the same name without them was
/// made by another client.
pub fn is_ours(live: &Value) -> bool {
    let metadata = &live["metadata"];
    let (label, value) = MANAGED_BY;
    metadata["labels"][label] == value && metadata["annotations"][OPTIONS].is_string()
}

/// Returns the options that an object records.
pub(super) fn options_of(live: &Value) -> Option<GuardOptions> {
    GuardOptions::of_annotation(live["metadata"]["annotations"][OPTIONS].as_str()?)
}

/// Fields and keys of an object's metadata that belong to the guard.
pub(super) const MARKS: [(&str, &str); 2] = [("labels", MANAGED_BY.0), ("annotations", OPTIONS)];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_guard_has_one_policy_for_each_kind_and_a_binding_for_each_mode() {
        let all = objects(&GuardOptions::default());
        let names: Vec<_> = all.iter().map(|it| (it.kind, it.name.as_str())).collect();
        let count = |kind| names.iter().filter(|(it, _)| *it == kind).count();
        assert_eq!((count(GuardKind::Policy), count(GuardKind::Binding)), (5, 8));
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        let (policies, bindings) = all.split_at(5);
        assert!(policies.iter().all(|it| it.kind == GuardKind::Policy), "policies come first");
        for binding in bindings {
            let spec = &binding.manifest["spec"];
            let of = spec["policyName"].as_str().unwrap_or_default();
            assert!(policies.iter().any(|it| it.name == of), "{of}");
            assert_eq!(spec.get("paramRef"), None);
            assert_eq!(spec["validationActions"][1], "Audit");
        }
        assert!(all.iter().all(|it| is_ours(&it.manifest)));
    }

    #[test]
    fn rules_about_volumes_begin_as_warnings() {
        let actions = |volumes| {
            let options = GuardOptions { volumes, ..GuardOptions::default() };
            let all = objects(&options);
            let one = all.iter().find(|it| {
                it.kind == GuardKind::Binding && it.name.ends_with("-persistentvolumes")
            });
            one.map(|it| it.manifest["spec"]["validationActions"][0].clone())
        };
        assert_eq!(actions(GuardMode::Warn), Some(json!("Warn")));
        assert_eq!(actions(GuardMode::Deny), Some(json!("Deny")));
    }

    #[test]
    fn every_rule_names_a_safe_command_and_the_way_round() {
        for object in objects(&GuardOptions::default()) {
            let rules = object.manifest["spec"]["validations"].as_array().cloned();
            for rule in rules.unwrap_or_default() {
                let says = rule["messageExpression"].as_str().unwrap_or_default();
                if says.contains("in force") {
                    continue;
                }
                assert!(says.contains("kubectl storage "), "{says}");
                assert!(says.contains("--as-group=storage.kubectl.dev:break-glass"), "{says}");
                assert_eq!(rule["reason"], "Forbidden");
            }
        }
    }
}
