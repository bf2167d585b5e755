//! The policies: one for each kind, because the API server checks the types of an expression
//! against every kind that its policy matches.

use serde_json::{Value, json};

use super::expression::{
    self, ADDS_NO_OWNER, DESTROYS_CLAIMS, ORPHANS, SIGNED, TERMINATING, people,
};
use super::options::GuardOptions;
use crate::model::Kind;

/// The name of every object whose creation is a probe.
pub const PROBE: &str = "kubectl-storage-guard-probe";

/// A kind of object that the guard looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Guarded {
    Claims,
    Volumes,
    Attachments,
    Sets,
    Namespaces,
}

/// A rule of a policy.
struct Rule {
    /// What has to be true.
    expression: String,
    /// What the user reads, in CEL.
    says: String,
    /// What the user reads where that fails.
    message: &'static str,
}

impl Guarded {
    pub(super) const ALL: [Self; 5] =
        [Self::Claims, Self::Volumes, Self::Attachments, Self::Sets, Self::Namespaces];

    /// The kind of the objects.
    pub(super) const fn kind(self) -> Kind {
        match self {
            Self::Claims => Kind::PersistentVolumeClaim,
            Self::Volumes => Kind::PersistentVolume,
            Self::Attachments => Kind::VolumeAttachment,
            Self::Sets => Kind::StatefulSet,
            Self::Namespaces => Kind::Namespace,
        }
    }

    /// The name of the policy.
    pub(super) fn policy_name(self) -> String {
        format!("kubectl-storage-guard-{}", self.kind().plural())
    }

    /// Whether the label of a namespace chooses between refusing and warning.
    pub(super) const fn by_namespace(self) -> bool {
        matches!(self, Self::Claims | Self::Sets | Self::Namespaces)
    }

    /// The operations of rules, besides the creation of the probe.
    const fn operations(self) -> &'static [&'static str] {
        match self {
            Self::Claims | Self::Volumes => &["DELETE", "UPDATE"],
            Self::Attachments => &["UPDATE"],
            Self::Sets | Self::Namespaces => &["DELETE"],
        }
    }

    fn resource_rules(self) -> Value {
        let group = self.kind().group();
        let rule = |operations: &[&str], resources: Vec<String>| {
            json!({
                "apiGroups": [group.name], "apiVersions": [group.version],
                "operations": operations, "resources": resources, "scope": "*",
            })
        };
        let resource = self.kind().plural().to_owned();
        let operations = self.operations();
        let mut resources = vec![resource.clone()];
        if operations.contains(&"UPDATE") {
            resources.push(format!("{resource}/status"));
        }
        let mut probe = rule(&["CREATE"], vec![resource]);
        probe["resourceNames"] = json!([PROBE]);
        json!([rule(operations, resources), probe])
    }

    fn variables(self) -> Vec<(&'static str, String)> {
        let signed = ("signed", SIGNED.to_owned());
        let terminating = ("terminating", TERMINATING.to_owned());
        let tool = ("tool", expression::tool());
        match self {
            Self::Claims => vec![signed, terminating, tool, ("bound", expression::bound())],
            Self::Volumes => vec![terminating, tool, ("leaks", expression::leaks())],
            Self::Attachments => vec![tool],
            Self::Sets => vec![
                signed,
                ("destroysClaims", DESTROYS_CLAIMS.to_owned()),
                ("orphans", ORPHANS.to_owned()),
            ],
            Self::Namespaces => vec![signed, terminating],
        }
    }

    fn rules(self, options: &GuardOptions) -> Vec<Rule> {
        let override_with = format!(
            "A refusal is overridden by adding --as=USER --as-group={} to the command.",
            options.break_glass
        );
        let says = |text: &str| format!("{text} + ' {override_with}'");
        let name = "oldObject.metadata.name";
        let in_namespace = "oldObject.metadata.name + ' -n ' + oldObject.metadata.namespace";
        let delete = |unless: &str| format!("request.operation != 'DELETE' || {unless}");
        let update =
            |unless: &str| format!("request.operation != 'UPDATE' || variables.tool || {unless}");
        let deletion = match self {
            Self::Claims => Some(Rule {
                expression: delete("!variables.bound || variables.signed || variables.terminating"),
                says: says(&format!(
                    "'bound to volume ' + oldObject.spec.volumeName + ': deleting this claim can \
                     destroy its data. Use: kubectl storage delete pvc ' + {in_namespace} + ' \
                     --keep-data (or --destroy-data).'"
                )),
                message: "this claim is bound; use kubectl storage delete pvc",
            }),
            Self::Volumes => Some(Rule {
                expression: delete("!variables.leaks || variables.terminating"),
                says: says(&format!(
                    "'policy Delete, but no finalizer of a provisioner: deleting this object leaks \
                     its backend volume. Use: kubectl storage retain pv/' + {name} + '; once it is \
                     Released, kubectl storage gc pv/' + {name} + ' --older-than 7d deletes both.'"
                )),
                message: "deleting this volume leaks its backend volume; use kubectl storage retain",
            }),
            Self::Attachments => None,
            Self::Sets => Some(Rule {
                expression: delete(
                    "!variables.destroysClaims || variables.signed || variables.orphans",
                ),
                says: says(&format!(
                    "'whenDeleted is Delete: deleting this StatefulSet deletes its claims. Use: \
                     kubectl storage delete sts ' + {in_namespace} + ', which shows them first, or \
                     kubectl delete --cascade=orphan to keep pods and claims.'"
                )),
                message: "deleting this StatefulSet deletes its claims; use kubectl storage delete \
                          sts",
            }),
            Self::Namespaces => Some(Rule {
                expression: delete("variables.signed || variables.terminating"),
                says: says(&format!(
                    "'deleting this namespace deletes every claim in it. Use: kubectl storage \
                     delete ns ' + {name} + ', which shows them first.'"
                )),
                message: "deleting this namespace deletes its claims; use kubectl storage delete ns",
            }),
        };
        let kept = match self {
            Self::Claims => Some(("pvc/", expression::claim_keeps())),
            Self::Volumes => Some(("pv/", expression::volume_keeps())),
            Self::Attachments => Some(("volumeattachment/", expression::attachment_keeps())),
            Self::Sets | Self::Namespaces => None,
        };
        let finalizers = kept.map(|(kind, keeps)| {
            let object = match self {
                Self::Claims => in_namespace,
                _ => name,
            };
            Rule {
                expression: update(&keeps),
                says: says(&format!(
                    "'removing a finalizer by hand can lose data or leak the backend volume. Use: \
                     kubectl storage fix-finalizers {kind}' + {object} + ', which shows what blocks \
                     the deletion.'"
                )),
                message: "a protecting finalizer is removed; use kubectl storage fix-finalizers",
            }
        });
        let owners = (self == Self::Claims).then(|| Rule {
            expression: update(ADDS_NO_OWNER),
            says: says(&format!(
                "'an owner reference has this claim deleted with its owner. Show the owners of \
                 claims with: kubectl storage explain pvc/' + {} + '.'",
                "object.metadata.name + ' -n ' + object.metadata.namespace"
            )),
            message: "an owner reference is added to a claim",
        });
        let probe = Rule {
            expression: "request.operation != 'CREATE'".to_owned(),
            says: format!("'the guard is in force: no object may be called {PROBE}.'"),
            message: "the guard is in force",
        };
        deletion.into_iter().chain(finalizers).chain(owners).chain([probe]).collect()
    }

    /// Returns the spec of the policy, with everything that the API server would default.
    pub(super) fn spec(self, options: &GuardOptions) -> Value {
        let variables = self.variables().into_iter();
        let variables: Vec<_> =
            variables.map(|(name, it)| json!({"name": name, "expression": it})).collect();
        let rules = self.rules(options).into_iter();
        let validations: Vec<_> = rules
            .map(|rule| {
                json!({
                    "expression": rule.expression, "messageExpression": rule.says,
                    "message": rule.message, "reason": "Forbidden",
                })
            })
            .collect();
        json!({
            "failurePolicy": "Fail",
            "matchConstraints": {
                "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {},
                "resourceRules": self.resource_rules(),
            },
            "matchConditions": [{"name": "people", "expression": people(options)}],
            "variables": variables,
            "validations": validations,
        })
    }
}
