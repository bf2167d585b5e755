//! Objects of the guard in a cluster, what is wrong with them, and the writes that install or remove them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    object::{GuardKind, GuardObject, MARKS, is_ours, objects, options_of},
    options::GuardOptions,
};
use crate::{
    cluster::{Cx, Seen},
    model::{AdmissionObject, Kind, NamedRow as _, ObjectKey},
};

/// Policies and bindings of a cluster, whichever client made them.
#[derive(Debug, Clone, Default)]
pub struct Installed {
    /// All `ValidatingAdmissionPolicies`.
    pub policies: Vec<Value>,
    /// All `ValidatingAdmissionPolicyBindings`.
    pub bindings: Vec<Value>,
}

/// Difference of one field from what it should be.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Path of the field, such as `spec.validationActions`.
    pub field: String,
    /// Value in the cluster; `None` where the field is absent.
    pub live: Option<Value>,
    /// Value that the field should have; `None` where it should be absent.
    pub wanted: Option<Value>,
}

/// Write of one object of the guard.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Creates an object that does not exist.
    Create(GuardObject),
    /// Changes an object that differs.
    Change {
        /// The object as it should be.
        object: GuardObject,
        /// Object as it is.
        live: Value,
        /// Differences between `live` and `object`.
        differences: Vec<Difference>,
    },
    /// Deletes an object.
    Delete {
        /// Whether it is a policy or a binding.
        kind: GuardKind,
        /// Object as it is.
        live: Value,
    },
}

pub(super) fn name_of(live: &Value) -> &str {
    live["metadata"]["name"].as_str().unwrap_or_default()
}

impl Step {
    /// Returns the key of the object that is written.
    pub fn key(&self) -> ObjectKey {
        match self {
            Self::Create(object) | Self::Change { object, .. } => object.key(),
            Self::Delete { kind, live } => ObjectKey::cluster_wide(kind.kind(), name_of(live)),
        }
    }
}

impl Installed {
    fn all(&self, kind: GuardKind) -> &[Value] {
        match kind {
            GuardKind::Policy => &self.policies,
            GuardKind::Binding => &self.bindings,
        }
    }

    /// Returns the object with a name, whichever client made it.
    pub fn live(&self, kind: GuardKind, name: &str) -> Option<&Value> {
        self.all(kind).iter().find(|it| name_of(it) == name)
    }

    /// Returns the objects that the tool made.
    pub fn ours(&self) -> impl Iterator<Item = (GuardKind, &Value)> {
        let of = |kind| self.all(kind).iter().map(move |it| (kind, it));
        // Without its bindings a policy has no effect: they go first.
        of(GuardKind::Binding).chain(of(GuardKind::Policy)).filter(|(_, it)| is_ours(it))
    }

    /// Whether any object of the guard is installed.
    pub fn is_any(&self) -> bool {
        self.ours().next().is_some()
    }

    /// Returns the options with which the guard was installed; `None` where no object records them.
    ///
    /// An interrupted installation leaves objects with different options: the policies are written
    /// first, so that those of the first policy are the latest.
    pub fn options(&self) -> Option<GuardOptions> {
        let names: Vec<_> = objects(&GuardOptions::default());
        let in_order = names.iter().filter_map(|it| self.live(it.kind, &it.name));
        in_order.filter(|it| is_ours(it)).find_map(options_of)
    }

    /// Returns the writes that make the objects of the tool what they should be, in their order.
    pub(super) fn steps(&self, options: &GuardOptions) -> Vec<Step> {
        let wanted = objects(options);
        let is_wanted = |kind, live: &Value| {
            wanted.iter().any(|it| it.kind == kind && it.name == name_of(live))
        };
        // Objects of another version, which this one does not have.
        let left: Vec<_> = self
            .ours()
            .filter(|(kind, live)| !is_wanted(*kind, live))
            .map(|(kind, live)| Step::Delete { kind, live: live.clone() })
            .collect();
        let steps = wanted.into_iter().filter_map(|object| {
            let Some(live) = self.live(object.kind, &object.name) else {
                return Some(Step::Create(object));
            };
            if !is_ours(live) {
                return None;
            }
            let differences = differences(live, &object.manifest);
            let live = live.clone();
            (!differences.is_empty()).then_some(Step::Change { object, live, differences })
        });
        steps.chain(left).collect()
    }

    /// Returns the objects that have a name of the guard, but were made by another client.
    pub fn foreign(&self) -> Vec<ObjectKey> {
        let wanted = objects(&GuardOptions::default());
        let taken = wanted
            .iter()
            .filter(|it| self.live(it.kind, &it.name).is_some_and(|live| !is_ours(live)));
        taken.map(GuardObject::key).collect()
    }

    /// Returns the bindings for policies of the guard that other clients made.
    pub fn foreign_bindings(&self) -> Vec<&str> {
        let of_guard: BTreeSet<_> = self
            .ours()
            .filter(|(kind, _)| *kind == GuardKind::Policy)
            .map(|(_, it)| name_of(it))
            .collect();
        let others = self.bindings.iter().filter(|it| {
            !is_ours(it)
                && it["spec"]["policyName"].as_str().is_some_and(|of| of_guard.contains(of))
        });
        others.map(name_of).collect()
    }

    /// Returns the policies of others that match deletions of claims, volumes, `VolumeAttachments`, sets or namespaces,
    /// and have a binding.
    pub fn others_at_work(&self) -> Vec<&str> {
        const RESOURCES: [&str; 7] = [
            "persistentvolumeclaims",
            "persistentvolumes",
            "statefulsets",
            "namespaces",
            "volumeattachments",
            "*",
            "*/*",
        ];
        let texts = |it: &Value| -> Vec<String> {
            let all = it.as_array().into_iter().flatten();
            all.filter_map(|it| it.as_str().map(str::to_owned)).collect()
        };
        let concerns = |policy: &&Value| {
            let rules = policy["spec"]["matchConstraints"]["resourceRules"].as_array();
            rules.into_iter().flatten().any(|rule| {
                let operations = texts(&rule["operations"]);
                let deletes = operations.iter().any(|it| it == "DELETE" || it == "*");
                deletes && texts(&rule["resources"]).iter().any(|it| RESOURCES.contains(&&**it))
            })
        };
        let bound = |policy: &&Value| {
            self.bindings.iter().any(|it| it["spec"]["policyName"] == name_of(policy))
        };
        let others = self.policies.iter().filter(|it| !is_ours(it));
        others.filter(concerns).filter(bound).map(name_of).collect()
    }
}

/// Returns the differences between an object in the cluster and what it should be. Other labels and annotations are
/// left alone: a deployment tool may have set them.
pub fn differences(live: &Value, wanted: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare("spec", live.get("spec"), wanted.get("spec"), &mut found);
    for (field, key) in MARKS {
        let of = |it: &Value| it["metadata"][field].get(key).cloned();
        let (live, wanted) = (of(live), of(wanted));
        if live != wanted {
            found.push(Difference { field: format!("metadata.{field}[{key}]"), live, wanted });
        }
    }
    found
}

fn compare(field: &str, live: Option<&Value>, wanted: Option<&Value>, found: &mut Vec<Difference>) {
    match (live, wanted) {
        (Some(Value::Object(live)), Some(Value::Object(wanted))) => {
            let keys: BTreeSet<_> = live.keys().chain(wanted.keys()).collect();
            for key in keys {
                compare(&format!("{field}.{key}"), live.get(key), wanted.get(key), found);
            }
        }
        (Some(Value::Array(live)), Some(Value::Array(wanted)))
            if live.len() == wanted.len() && live.iter().any(Value::is_object) =>
        {
            for (index, (live, wanted)) in live.iter().zip(wanted).enumerate() {
                compare(&format!("{field}[{index}]"), Some(live), Some(wanted), found);
            }
        }
        _ if live == wanted => {}
        // The API server takes an empty selector for one that is absent, and decodes it so.
        (Some(empty), None) | (None, Some(empty)) if is_empty(empty) => {}
        _ => found.push(Difference {
            field: field.to_owned(),
            live: live.cloned(),
            wanted: wanted.cloned(),
        }),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(entries) => entries.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

/// Returns the writes, in order, that make the guard of a cluster what it should be; none where it is.
///
/// # Errors
/// The objects of other clients that have names of the guard: then nothing is written.
pub fn installation(
    installed: &Installed,
    options: &GuardOptions,
) -> Result<Vec<Step>, Vec<ObjectKey>> {
    let foreign = installed.foreign();
    if !foreign.is_empty() {
        return Err(foreign);
    }
    Ok(installed.steps(options))
}

/// Returns the writes that remove the guard: bindings first.
pub fn removal(installed: &Installed) -> Vec<Step> {
    installed.ours().map(|(kind, live)| Step::Delete { kind, live: live.clone() }).collect()
}

/// Fault of an object of the guard.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// The object differs from what was installed.
    Changed(Vec<Difference>),
    /// The object has a name of the guard, but not the marks by which the tool knows its objects.
    Unmarked,
    /// Another version of the tool made the object; this one has no such object.
    OfAnotherVersion,
    /// Some objects of the guard do not exist: some or all of its rules are not enforced.
    Missing(Vec<ObjectKey>),
    /// Expressions are ill-typed, and fail: kube-controller-manager warns of them.
    IllTyped(Vec<String>),
}

/// Type check of a policy's expressions by kube-controller-manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeCheck {
    /// The present generation of the policy was not checked yet.
    Waiting,
    /// The policy was checked, with these warnings, each with the field of the expression; none where all is well.
    Checked(Vec<String>),
}

impl TypeCheck {
    /// Reads the type check from the status of a policy.
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
    /// Returns the policies and bindings of a cluster that was read.
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

    /// Returns the faults of the guard, each with the object that shows it; none where the guard is not installed.
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

    /// Returns an object that shows the lack of another: the policy of a missing binding, a binding of a missing
    /// policy.
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

/// Returns whether a cluster that was read has any object of the guard.
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

/// Returns the faults that one object of the guard has or shows.
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

    use super::*;
    use crate::guard::{GuardOptions, differences, is_ours, objects, options::GuardMode};

    fn cluster(options: &GuardOptions) -> Installed {
        let mut installed = Installed::default();
        for object in objects(options) {
            match object.kind {
                GuardKind::Policy => installed.policies.push(object.manifest),
                GuardKind::Binding => installed.bindings.push(object.manifest),
            }
        }
        installed
    }

    #[test]
    fn an_installed_guard_needs_no_write() {
        let options = GuardOptions { volumes: GuardMode::Deny, ..GuardOptions::default() };
        let installed = cluster(&options);
        assert_eq!(installation(&installed, &options), Ok(Vec::new()));
        assert_eq!(installed.options(), Some(options));
    }

    #[test]
    fn a_guard_that_was_installed_under_another_name_is_as_it_should_be() {
        let program = "kubectl volume-doctor".to_owned();
        let options = GuardOptions { program, ..GuardOptions::default() };
        let installed = cluster(&options);
        assert_eq!(installed.faults(), []);
        let text = installed.policies[0]["spec"]["validations"][0].to_string();
        assert!(text.contains("Use: kubectl volume-doctor delete pvc"), "{text}");
        assert!(text.contains("bound; use kubectl volume-doctor delete pvc"), "{text}");
        // Who installs it under the usual name wants that name.
        let steps = installation(&installed, &GuardOptions::default()).expect("nothing is foreign");
        assert!(steps.iter().all(|it| matches!(it, Step::Change { .. })), "{steps:#?}");
        assert_eq!(steps.len(), 13);
    }

    #[test]
    fn what_is_missing_or_edited_is_repaired_and_the_rest_left_alone() {
        let options = GuardOptions::default();
        let mut installed = cluster(&options);
        installed.bindings.remove(0);
        installed.policies[1]["spec"]["failurePolicy"] = json!("Ignore");
        installed.policies[2]["metadata"]["labels"]["team"] = json!("storage");
        let steps = installation(&installed, &options).expect("nothing is foreign");
        let [Step::Change { object, differences, .. }, Step::Create(created)] = &steps[..] else {
            panic!("{steps:#?}");
        };
        assert_eq!(object.name, "kubectl-storage-guard-persistentvolumes");
        assert_eq!(differences[0].field, "spec.failurePolicy");
        assert_eq!(created.name, "kubectl-storage-guard-persistentvolumeclaims-deny");
    }

    #[test]
    fn an_object_of_somebody_else_is_never_written() {
        let mut installed = cluster(&GuardOptions::default());
        installed.policies[0]["metadata"]["annotations"] = json!({});
        let foreign = installation(&installed, &GuardOptions::default()).expect_err("it is taken");
        assert_eq!(foreign.len(), 1);
        let removed = removal(&installed);
        assert_eq!(removed.len(), 12, "{removed:#?}");
        assert!(matches!(removed[0], Step::Delete { kind: GuardKind::Binding, .. }));
        assert!(matches!(removed[11], Step::Delete { kind: GuardKind::Policy, .. }));
    }

    #[test]
    fn objects_of_another_version_go_last() {
        let options = GuardOptions::default();
        let mut installed = cluster(&options);
        let mut old = installed.policies[0].clone();
        old["metadata"]["name"] = json!("kubectl-storage-guard-of-old");
        installed.policies.push(old);
        let steps = installation(&installed, &options).expect("nothing is foreign");
        assert!(matches!(&steps[..], [Step::Delete { kind: GuardKind::Policy, .. }]), "{steps:#?}");
    }

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
