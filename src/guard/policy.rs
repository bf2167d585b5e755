//! Policies of the guard: one for each kind, because the API server checks the types of an expression against every
//! kind that its policy matches.
//!
//! Their expressions are CEL. Objects and options reach it as maps (R-VAP-1, apiserver `condition.go`): a field that is
//! absent is an error to read. Every field stands behind `has()`, unless the API server always sets it.

use serde_json::{Value, json};

use super::options::{GuardOptions, PEOPLE};
use crate::{
    facts::{
        CLONE_SOURCE, EXTERNAL_PROVISIONER, IN_TREE, PV_PROTECTION, PVC_PROTECTION, SNAPSHOT_SOURCE,
    },
    model::{GUARD_NAME, Kind, renamed},
};

/// Name of every object whose creation is a probe.
pub const PROBE: &str = "kubectl-storage-guard-probe";

/// Kind of object that has a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Guarded {
    Claims,
    Volumes,
    Attachments,
    Sets,
    Namespaces,
}

/// Rule of a policy.
struct Rule {
    /// CEL expression that has to be true.
    expression: String,
    /// CEL expression for the message to the user.
    says: String,
    /// Message to the user if that expression fails.
    message: &'static str,
}

impl Guarded {
    pub(super) const ALL: [Self; 5] =
        [Self::Claims, Self::Volumes, Self::Attachments, Self::Sets, Self::Namespaces];

    /// Returns the kind of the objects.
    pub(super) const fn kind(self) -> Kind {
        match self {
            Self::Claims => Kind::PersistentVolumeClaim,
            Self::Volumes => Kind::PersistentVolume,
            Self::Attachments => Kind::VolumeAttachment,
            Self::Sets => Kind::StatefulSet,
            Self::Namespaces => Kind::Namespace,
        }
    }

    /// Returns the name of the policy.
    pub(super) fn policy_name(self) -> String {
        format!("{GUARD_NAME}-{}", self.kind().plural())
    }

    /// Whether the label of a namespace chooses between refusing and warning.
    pub(super) const fn by_namespace(self) -> bool {
        matches!(self, Self::Claims | Self::Sets | Self::Namespaces)
    }

    /// Returns the operations that rules match, besides the creation of the probe.
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
        let tool = ("tool", tool());
        match self {
            Self::Claims => vec![signed, terminating, tool, ("bound", bound())],
            Self::Volumes => {
                vec![terminating, tool, ("leaks", leaks()), ("bound", VOLUME_BOUND.to_owned())]
            }
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
            Self::Claims => Some(("pvc/", claim_keeps())),
            Self::Volumes => Some(("pv/", volume_keeps())),
            Self::Attachments => Some(("volumeattachment/", attachment_keeps())),
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
                    "expression": rule.expression,
                    "messageExpression": renamed(&rule.says, &options.program),
                    "message": renamed(rule.message, &options.program),
                    "reason": "Forbidden",
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

/// Returns the rules about what makes controllers destroy the data of a volume.
fn volume_rules(update: &dyn Fn(&str) -> String, says: &dyn Fn(&str) -> String) -> Vec<Rule> {
    vec![
        Rule {
            expression: update(&keeps_claim()),
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

/// Returns the rules about what makes the StatefulSet controller delete claims.
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
            expression: update(&format!("!variables.willGoWithPod || {}", keeps_ordinals())),
            says: says(&format!(
                "'whenScaled is Delete: with fewer replicas this StatefulSet deletes their claims. Use: kubectl storage \
                 retention set {set} --when-scaled Retain first; kubectl storage retention simulate {set} --replicas N \
                 shows the claims.'"
            )),
            message: "fewer replicas delete claims; use kubectl storage retention set",
        },
    ]
}

/// Prefix of the field managers with which the tool writes.
const FIELD_MANAGER: &str = "kubectl-storage";
/// Prefix of the finalizers of external-attacher.
const ATTACHER: &str = "external-attacher/";
/// Annotation that the volume controller sets before the phase of a claim is Bound.
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";

/// Quotes a text, which has no character that CEL would treat otherwise.
fn quoted(text: &str) -> String {
    format!("'{text}'")
}

fn list<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let all: Vec<_> = texts.into_iter().map(quoted).collect();
    format!("[{}]", all.join(", "))
}

/// Whether the guard looks at a request: it is of a person, or of a listed account.
///
/// Controllers pass whatever their identity is: group `system:serviceaccounts` with or without
/// split credentials, and usernames that begin with `system:` (kube-controller-manager, nodes, the
/// API server itself, k3s). `system:masters` is a group of people: kubeadm's `kubernetes-admin`.
pub(super) fn people(options: &GuardOptions) -> String {
    let user = "request.userInfo.username";
    let groups = "request.userInfo.groups";
    let accounts = options.denied_accounts.iter();
    let accounts: Vec<_> = accounts
        .map(|(namespace, name)| format!("system:serviceaccount:{namespace}:{name}"))
        .collect();
    let denied = list(PEOPLE.into_iter().chain(accounts.iter().map(String::as_str)));
    let mut expression = format!(
        "(!has({user}) || {user} in {denied} || (!{user}.startsWith('system:') && !(has({groups}) \
         && 'system:serviceaccounts' in {groups}))) && !(has({groups}) && {} in {groups})",
        quoted(&options.break_glass)
    );
    if !options.passed_users.is_empty() {
        let passed = list(options.passed_users.iter().map(String::as_str));
        expression = format!("{expression} && !(has({user}) && {user} in {passed})");
    }
    expression
}

/// Whether a DELETE has the uid and the resourceVersion of the object as preconditions.
pub(super) const SIGNED: &str = "request.operation == 'DELETE' && has(request.options) && \
     has(request.options.preconditions) && has(request.options.preconditions.uid) && \
     has(request.options.preconditions.resourceVersion) && has(oldObject.metadata.uid) && \
     has(oldObject.metadata.resourceVersion) && \
     request.options.preconditions.uid == oldObject.metadata.uid && \
     request.options.preconditions.resourceVersion == oldObject.metadata.resourceVersion";

/// Whether the tool sends an update.
pub(super) fn tool() -> String {
    format!(
        "has(request.options) && has(request.options.fieldManager) && \
         request.options.fieldManager.startsWith({})",
        quoted(FIELD_MANAGER)
    )
}

/// Whether the object is Terminating already: another DELETE changes nothing.
pub(super) const TERMINATING: &str = "has(oldObject.metadata.deletionTimestamp)";

/// Whether a claim is bound. Its volume name cannot be taken back; its phase can be written by hand.
pub(super) fn bound() -> String {
    let completed = quoted(BIND_COMPLETED);
    format!(
        "has(oldObject.spec) && has(oldObject.spec.volumeName) && oldObject.spec.volumeName != '' && \
         (!(has(oldObject.status) && has(oldObject.status.phase) && oldObject.status.phase == \
         'Pending') || (has(oldObject.metadata.annotations) && {completed} in \
         oldObject.metadata.annotations))"
    )
}

/// Whether the deletion of a volume leaks: its policy is Delete, and no finalizer blocks deletion until the backend
/// volume is deleted.
pub(super) fn leaks() -> String {
    let protecting = list([EXTERNAL_PROVISIONER, IN_TREE]);
    format!(
        "has(oldObject.spec.persistentVolumeReclaimPolicy) && \
         oldObject.spec.persistentVolumeReclaimPolicy == 'Delete' && \
         !(has(oldObject.metadata.finalizers) && \
         oldObject.metadata.finalizers.exists(it, it in {protecting}))"
    )
}

/// Whether a volume is bound.
pub(super) const VOLUME_BOUND: &str = "has(oldObject.status) && has(oldObject.status.phase) && \
     oldObject.status.phase == 'Bound'";

/// Whether a bound volume keeps its phase and its claim. Its provisioner destroys the data of a volume with phase
/// Released and policy Delete, and the volume controller sets that phase where no claim has the uid in claimRef.
pub(super) fn keeps_claim() -> String {
    let same = |field: &str| {
        let has = |object: &str| format!("has({object}.spec.claimRef.{field})");
        let (old, new) = (has("oldObject"), has("object"));
        format!(
            "({old} ? {new} && object.spec.claimRef.{field} == oldObject.spec.claimRef.{field} : !{new})"
        )
    };
    let all = ["uid", "name", "namespace"].map(same).join(" && ");
    format!(
        "!variables.bound || (has(object.status) && has(object.status.phase) && object.status.phase == 'Bound' && \
         (!has(oldObject.spec.claimRef) || (has(object.spec.claimRef) && {all})))"
    )
}

/// Whether a Released or Failed volume with policy Retain keeps that policy.
pub(super) const KEEPS_RETAIN: &str = "!(has(oldObject.status) && has(oldObject.status.phase) && \
     oldObject.status.phase in ['Released', 'Failed'] && \
     has(oldObject.spec.persistentVolumeReclaimPolicy) && \
     oldObject.spec.persistentVolumeReclaimPolicy == 'Retain') || \
     (has(object.spec.persistentVolumeReclaimPolicy) && \
     object.spec.persistentVolumeReclaimPolicy == 'Retain')";

/// Whether a new volume cannot be reclaimed at once for want of its claim. A provisioner, whatever its name is, creates
/// volumes whose names contain the uid of their claim.
pub(super) const STARTS_UNRELEASED: &str = "!has(object.spec.claimRef) || \
     !has(object.spec.claimRef.uid) || object.spec.claimRef.uid == '' || \
     (has(object.metadata.name) && object.metadata.name.contains(object.spec.claimRef.uid)) || \
     (has(object.spec.persistentVolumeReclaimPolicy) && \
     object.spec.persistentVolumeReclaimPolicy == 'Retain')";

/// Whether a field of the retention policy of a set with claims is Delete.
pub(super) fn deletes(object: &str, field: &str) -> String {
    let policy = format!("{object}.spec.persistentVolumeClaimRetentionPolicy");
    format!(
        "has({policy}) && has({policy}.{field}) && {policy}.{field} == 'Delete' && \
         has({object}.spec.volumeClaimTemplates) && size({object}.spec.volumeClaimTemplates) > 0"
    )
}

/// Whether a set keeps all its ordinals: `spec.ordinals.start` counts like `spec.replicas`.
pub(super) fn keeps_ordinals() -> String {
    let start = |object: &str| {
        let ordinals = format!("{object}.spec.ordinals");
        format!("(has({ordinals}) && has({ordinals}.start) ? {ordinals}.start : 0)")
    };
    let count =
        |object: &str| format!("(has({object}.spec.replicas) ? {object}.spec.replicas : 1)");
    let (old, new) = (start("oldObject"), start("object"));
    format!(
        "{} == 0 || ({new} <= {old} && {new} + {} >= {old} + {})",
        count("oldObject"),
        count("object"),
        count("oldObject")
    )
}

/// Whether a DELETE leaves the dependents alone, as `--cascade=orphan` does.
pub(super) const ORPHANS: &str = "has(request.options) && \
     ((has(request.options.propagationPolicy) && request.options.propagationPolicy == 'Orphan') || \
     (has(request.options.orphanDependents) && request.options.orphanDependents == true))";

/// Whether no protecting finalizer is removed. Most updates leave the list as it is, which costs least to see.
fn keeps(protects: &str) -> String {
    format!(
        "!has(oldObject.metadata.finalizers) || (has(object.metadata.finalizers) && \
         object.metadata.finalizers == oldObject.metadata.finalizers) || oldObject.metadata.finalizers.all(it, !({protects}) \
         || (has(object.metadata.finalizers) && it in object.metadata.finalizers))"
    )
}

/// Whether a claim keeps its protecting finalizers.
pub(super) fn claim_keeps() -> String {
    keeps(&format!("it in {}", list([PVC_PROTECTION, CLONE_SOURCE, SNAPSHOT_SOURCE])))
}

/// Whether a volume keeps its protecting finalizer, and those of its provisioner and its attacher.
pub(super) fn volume_keeps() -> String {
    let named = list([PV_PROTECTION, EXTERNAL_PROVISIONER, IN_TREE]);
    keeps(&format!("it in {named} || it.startsWith({})", quoted(ATTACHER)))
}

/// Whether a `VolumeAttachment` keeps the finalizer of its attacher.
pub(super) fn attachment_keeps() -> String {
    keeps(&format!("it.startsWith({})", quoted(ATTACHER)))
}

/// Whether no owner reference is added. One whose kind or name is changed names another owner, which
/// the garbage collector may find to be absent.
pub(super) const ADDS_NO_OWNER: &str = "!has(object.metadata.ownerReferences) || \
     (has(oldObject.metadata.ownerReferences) && \
     object.metadata.ownerReferences == oldObject.metadata.ownerReferences) || \
     object.metadata.ownerReferences.all(it, has(oldObject.metadata.ownerReferences) && \
     oldObject.metadata.ownerReferences.exists(old, old.uid == it.uid && old.kind == it.kind && \
     old.name == it.name && old.apiVersion == it.apiVersion))";
