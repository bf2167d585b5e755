//! The policies: one for each kind, because the API server checks the types of an expression
//! against every kind that its policy matches.

use serde_json::{Value, json};

use super::expression::{
    self, ADDS_NO_OWNER, KEEPS_RETAIN, ORPHANS, SIGNED, STARTS_UNRELEASED, TERMINATING,
    VOLUME_BOUND, deletes, people,
};
use super::options::GuardOptions;
use crate::model::{GUARD_NAME, Kind};

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
        format!("{GUARD_NAME}-{}", self.kind().plural())
    }

    /// Whether the label of a namespace chooses between refusing and warning.
    pub(super) const fn by_namespace(self) -> bool {
        matches!(self, Self::Claims | Self::Sets | Self::Namespaces)
    }

    /// The operations of rules, besides the creation of the probe.
    const fn operations(self) -> &'static [&'static str] {
        match self {
            Self::Volumes => &["CREATE", "DELETE", "UPDATE"],
            Self::Claims | Self::Sets => &["DELETE", "UPDATE"],
            Self::Attachments => &["UPDATE"],
            Self::Namespaces => &["DELETE"],
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
        // The status of a set has nothing that deletes claims.
        if operations.contains(&"UPDATE") && self != Self::Sets {
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
            Self::Volumes => vec![
                terminating,
                tool,
                ("leaks", expression::leaks()),
                ("bound", VOLUME_BOUND.to_owned()),
            ],
            Self::Attachments => vec![tool],
            Self::Sets => vec![
                signed,
                tool,
                ("deletedWithSet", deletes("oldObject", "whenDeleted")),
                ("deletedWithPod", deletes("oldObject", "whenScaled")),
                ("willGoWithSet", deletes("object", "whenDeleted")),
                ("willGoWithPod", deletes("object", "whenScaled")),
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
                    "!variables.deletedWithSet || variables.signed || variables.orphans",
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
            expression: format!(
                "request.operation != 'CREATE' || object.metadata.name != '{PROBE}'"
            ),
            says: format!("'the guard is in force: no object may be called {PROBE}.'"),
            message: "the guard is in force",
        };
        let more = match self {
            Self::Volumes => volume_rules(&update, &says),
            Self::Sets => set_rules(&update, &says),
            Self::Claims | Self::Attachments | Self::Namespaces => Vec::new(),
        };
        deletion.into_iter().chain(finalizers).chain(owners).chain(more).chain([probe]).collect()
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

/// What makes the controllers destroy the data of a volume.
fn volume_rules(update: &dyn Fn(&str) -> String, says: &dyn Fn(&str) -> String) -> Vec<Rule> {
    vec![
        Rule {
            expression: update(&expression::keeps_claim()),
            says: says(
                "'bound to claim ' + (has(oldObject.spec.claimRef) ? oldObject.spec.claimRef.namespace + '/' + \
                 oldObject.spec.claimRef.name : '') + ': changing the claimRef or the phase of this volume takes it from \
                 its claim, and can have its data destroyed at once. Use: kubectl storage delete pvc, with --keep-data, \
                 then kubectl storage rebind pv/' + oldObject.metadata.name + ' --to NAMESPACE/NAME.'",
            ),
            message: "the claim of a bound volume is changed; use kubectl storage rebind",
        },
        Rule {
            expression: update(KEEPS_RETAIN),
            says: says(
                "'no longer bound: without policy Retain the data of this volume is destroyed at once. Use: kubectl \
                 storage gc pv/' + oldObject.metadata.name + ' --older-than 7d, which looks who else names it.'",
            ),
            message: "a released volume loses policy Retain; use kubectl storage gc",
        },
        Rule {
            expression: format!(
                "request.operation != 'CREATE' || variables.tool || {STARTS_UNRELEASED}"
            ),
            says: says(
                "'spec.claimRef has a uid: unless that claim exists, this volume is reclaimed at once, and the data of \
                 its backend volume destroyed. Create it with policy Retain, or without that uid, or use: kubectl \
                 storage rebind pv/NAME --from FILE.'",
            ),
            message: "a new volume has the uid of a claim and not policy Retain; use kubectl storage rebind",
        },
    ]
}

/// What makes the StatefulSet controller delete claims.
fn set_rules(update: &dyn Fn(&str) -> String, says: &dyn Fn(&str) -> String) -> Vec<Rule> {
    let set = "sts/' + oldObject.metadata.name + ' -n ' + oldObject.metadata.namespace + '";
    vec![
        Rule {
            expression: update(
                "((!variables.willGoWithSet || variables.deletedWithSet) && \
                 (!variables.willGoWithPod || variables.deletedWithPod))",
            ),
            says: says(&format!(
                "'policy Delete has claims deleted with their StatefulSet, or with its replicas. Use: kubectl storage \
                 retention set {set} --when-deleted (or --when-scaled) Delete, which shows them first.'"
            )),
            message: "a StatefulSet is to delete claims; use kubectl storage retention set",
        },
        Rule {
            expression: update(&format!(
                "!variables.willGoWithPod || {}",
                expression::keeps_ordinals()
            )),
            says: says(&format!(
                "'whenScaled is Delete: with fewer replicas this StatefulSet deletes their claims. Use: kubectl storage \
                 retention set {set} --when-scaled Retain first; kubectl storage retention simulate {set} --replicas N \
                 shows the claims.'"
            )),
            message: "fewer replicas delete claims; use kubectl storage retention set",
        },
    ]
}
