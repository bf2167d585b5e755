//! What is wrong with the guard of a cluster, by the object that shows it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::installed::{Difference, Installed, Step, name_of};
use super::object::{GuardKind, GuardObject, is_ours};
use crate::cluster::{Cx, Seen};
use crate::model::{AdmissionObject, Kind, NamedRow as _, ObjectKey};

/// What is wrong with an object of the guard.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// It differs from what was installed.
    Changed(Vec<Difference>),
    /// It has a name of the guard, but not the marks by which the tool knows its objects.
    Unmarked,
    /// Another version of the tool made it; this one has no such object.
    OfAnotherVersion,
    /// These objects of the guard do not exist: some or all of its rules are not enforced.
    Missing(Vec<ObjectKey>),
    /// kube-controller-manager warns of the types in these expressions, which then fail.
    IllTyped(Vec<String>),
}

/// What kube-controller-manager says of the types in the expressions of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeCheck {
    /// It has not checked this generation of the policy yet.
    Waiting,
    /// These are its warnings, each with the field of the expression; none where all is well.
    Checked(Vec<String>),
}

impl TypeCheck {
    /// Reads it from the status of a policy.
    pub fn of(policy: &Value) -> Self {
        let observed = &policy["status"]["observedGeneration"];
        if observed.is_null() || *observed != policy["metadata"]["generation"] {
            return Self::Waiting;
        }
        let warnings = policy["status"]["typeChecking"]["expressionWarnings"].as_array();
        let text = |it: &Value, field: &str| it[field].as_str().unwrap_or_default().to_owned();
        let line = |it: &Value| format!("{}: {}", text(it, "fieldRef"), text(it, "warning").trim());
        Self::Checked(warnings.into_iter().flatten().map(line).collect())
    }
}

impl Installed {
    /// Returns what a cluster that was read has of the guard.
    ///
    /// # Errors
    /// When its policies or bindings were not read.
    pub fn of(cx: &Cx) -> Seen<Self> {
        were_read(cx)?;
        let mut installed = Self::default();
        for (_, object) in cx.cluster().admission_objects() {
            match object.kind {
                Kind::ValidatingAdmissionPolicy => &mut installed.policies,
                _ => &mut installed.bindings,
            }
            .push(object.document.clone());
        }
        Ok(installed)
    }

    /// Returns what is wrong with the objects of the guard, each with the object that shows it;
    /// nothing where the guard is not installed.
    pub fn faults(&self) -> Vec<(ObjectKey, Fault)> {
        let Some((kind, first)) = self.ours().next() else { return Vec::new() };
        let first = ObjectKey::cluster_wide(kind.kind(), name_of(first));
        let mut faults: Vec<_> =
            self.foreign().into_iter().map(|key| (key, Fault::Unmarked)).collect();
        let mut missing: BTreeMap<ObjectKey, Vec<ObjectKey>> = BTreeMap::new();
        for step in self.steps(&self.options().unwrap_or_default()) {
            let key = step.key();
            match step {
                Step::Create(object) => {
                    let shown_by = self.counterpart(&object).unwrap_or_else(|| first.clone());
                    missing.entry(shown_by).or_default().push(key);
                }
                Step::Change { differences, .. } => faults.push((key, Fault::Changed(differences))),
                Step::Delete { .. } => faults.push((key, Fault::OfAnotherVersion)),
            }
        }
        faults.extend(missing.into_iter().map(|(key, all)| (key, Fault::Missing(all))));
        for (kind, policy) in self.ours().filter(|(kind, _)| *kind == GuardKind::Policy) {
            if let TypeCheck::Checked(warnings) = TypeCheck::of(policy)
                && !warnings.is_empty()
            {
                let key = ObjectKey::cluster_wide(kind.kind(), name_of(policy));
                faults.push((key, Fault::IllTyped(warnings)));
            }
        }
        faults
    }

    /// Returns what an object that does not exist is missed by: the policy of a binding, a binding of
    /// a policy.
    fn counterpart(&self, missing: &GuardObject) -> Option<ObjectKey> {
        let of =
            |kind: GuardKind, live: &Value| ObjectKey::cluster_wide(kind.kind(), name_of(live));
        let mut ours = self.ours().filter(|(kind, _)| *kind != missing.kind);
        let policy = &missing.manifest["spec"]["policyName"];
        ours.find(|(_, live)| match missing.kind {
            GuardKind::Binding => *policy == name_of(live),
            GuardKind::Policy => live["spec"]["policyName"] == missing.name,
        })
        .map(|(kind, live)| of(kind, live))
    }
}

/// Returns whether a cluster that was read has anything of the guard.
///
/// # Errors
/// When policies or bindings were not read.
pub fn is_installed(cx: &Cx) -> Seen<bool> {
    were_read(cx)?;
    Ok(cx.cluster().admission_objects().any(|(_, object)| is_ours(&object.document)))
}

fn were_read(cx: &Cx) -> Seen<()> {
    cx.all_of(Kind::ValidatingAdmissionPolicy)?;
    cx.all_of(Kind::ValidatingAdmissionPolicyBinding)
}

/// Returns what is wrong with one object of the guard, or shown by it.
///
/// # Errors
/// When policies or bindings were not read.
pub fn faults(cx: &Cx, object: &AdmissionObject) -> Seen<Vec<Fault>> {
    let key = object.object_key();
    let all = Installed::of(cx)?.faults().into_iter();
    Ok(all.filter(|(of, _)| *of == key).map(|(_, fault)| fault).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::installed::tests::cluster;
    use super::super::{GuardOptions, differences, is_ours, objects};
    use super::*;

    #[test]
    fn a_fault_is_shown_by_what_is_left() {
        let options = GuardOptions::default();
        let mut installed = cluster(&options);
        assert_eq!(installed.faults(), []);
        assert_eq!(Installed::default().faults(), []);
        let binding = installed.bindings.remove(0);
        let [(shown_by, Fault::Missing(missing))] = &installed.faults()[..] else {
            panic!("{:#?}", installed.faults())
        };
        assert_eq!(&*shown_by.name, "kubectl-storage-guard-persistentvolumeclaims");
        assert_eq!(&*missing[0].name, "kubectl-storage-guard-persistentvolumeclaims-deny");
        installed.bindings.insert(0, binding);
        installed.policies.remove(0);
        let [(shown_by, Fault::Missing(missing))] = &installed.faults()[..] else {
            panic!("{:#?}", installed.faults())
        };
        assert_eq!(shown_by.kind, crate::model::Kind::ValidatingAdmissionPolicyBinding);
        assert_eq!(missing[0].kind, crate::model::Kind::ValidatingAdmissionPolicy);
        installed.bindings[0]["metadata"]["annotations"] = json!({});
        let faults = installed.faults();
        assert!(faults.iter().any(|(_, it)| *it == Fault::Unmarked), "{faults:#?}");
        assert!(faults.iter().any(|(_, it)| matches!(it, Fault::Missing(_))), "{faults:#?}");
    }

    #[test]
    fn what_an_audit_reads_of_an_object_shows_no_difference() {
        use crate::objects::{AnyObject, Folder, decoding};
        for object in objects(&GuardOptions::default()) {
            let decoding = decoding(object.kind.kind()).expect("it has a row");
            let read = |it: &dyn AnyObject| match it.row(&mut Folder::default()) {
                crate::objects::Folded::Row(crate::model::Row::AdmissionObject(row)) => {
                    row.document
                }
                other => panic!("{other:?}"),
            };
            let decoded = (decoding.json)(&object.manifest.to_string()).expect("it is JSON");
            let document = read(&*decoded);
            assert_eq!(differences(&document, &object.manifest), [], "{}", object.name);
            assert!(is_ours(&document));
            let mut other = object.manifest.clone();
            other["spec"]["paramKind"] = json!({"apiVersion": "v1", "kind": "ConfigMap"});
            other["spec"]["paramRef"] = json!({"name": "any"});
            let decoded = (decoding.json)(&other.to_string()).expect("it is JSON");
            assert_eq!(differences(&read(&*decoded), &object.manifest).len(), 1);
        }
    }
}
