//! The expressions of the policies, in CEL.
//!
//! Objects and options reach CEL as maps (R-VAP-1, apiserver `condition.go`): a field that is absent is an
//! error to read. Every field stands behind `has()`, unless the API server always sets it.

use super::options::{GuardOptions, PEOPLE};
use crate::facts::{
    CLONE_SOURCE, EXTERNAL_PROVISIONER, IN_TREE, PV_PROTECTION, PVC_PROTECTION, SNAPSHOT_SOURCE,
};

/// The field managers with which the tool writes begin so.
const FIELD_MANAGER: &str = "kubectl-storage";
/// The finalizers of external-attacher begin so.
const ATTACHER: &str = "external-attacher/";
/// Set by the volume controller before the phase of a claim is Bound.
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";

/// Quotes a text, which has no character that CEL would treat otherwise.
fn quoted(text: &str) -> String {
    format!("'{text}'")
}

fn list<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let all: Vec<_> = texts.into_iter().map(quoted).collect();
    format!("[{}]", all.join(", "))
}

/// Whether a request is one that the guard looks at: of a person, or of a listed account.
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

/// Whether the deletion of a volume leaks: its policy is Delete, and no finalizer holds it until the
/// backend volume is deleted.
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

/// Whether the claim of a bound volume stays the same, and its phase. Its provisioner destroys the
/// data of whatever has phase Released and policy Delete, and the volume controller sets that phase
/// where the uid in claimRef is of no claim.
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

/// Whether a volume that is released stays with policy Retain.
pub(super) const KEEPS_RETAIN: &str = "!(has(oldObject.status) && has(oldObject.status.phase) && \
     oldObject.status.phase in ['Released', 'Failed'] && \
     has(oldObject.spec.persistentVolumeReclaimPolicy) && \
     oldObject.spec.persistentVolumeReclaimPolicy == 'Retain') || \
     (has(object.spec.persistentVolumeReclaimPolicy) && \
     object.spec.persistentVolumeReclaimPolicy == 'Retain')";

/// Whether a new volume is none whose claim may be gone, so that it is reclaimed at once. A
/// provisioner, whatever its name is, creates volumes whose names hold the uid of their claim.
pub(super) const STARTS_UNRELEASED: &str = "!has(object.spec.claimRef) || \
     !has(object.spec.claimRef.uid) || object.spec.claimRef.uid == '' || \
     (has(object.metadata.name) && object.metadata.name.contains(object.spec.claimRef.uid)) || \
     (has(object.spec.persistentVolumeReclaimPolicy) && \
     object.spec.persistentVolumeReclaimPolicy == 'Retain')";

/// Whether a value of the retention policy of a set with claims is Delete.
pub(super) fn deletes(object: &str, field: &str) -> String {
    let policy = format!("{object}.spec.persistentVolumeClaimRetentionPolicy");
    format!(
        "has({policy}) && has({policy}.{field}) && {policy}.{field} == 'Delete' && \
         has({object}.spec.volumeClaimTemplates) && size({object}.spec.volumeClaimTemplates) > 0"
    )
}

/// Whether every ordinal of a set stays wanted: `spec.ordinals.start` counts like `spec.replicas`.
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

/// Whether no protecting finalizer is taken off. Most updates leave the list as it is, which costs
/// least to see.
fn keeps(protects: &str) -> String {
    format!(
        "!has(oldObject.metadata.finalizers) || (has(object.metadata.finalizers) && \
         object.metadata.finalizers == oldObject.metadata.finalizers) || oldObject.metadata.finalizers.all(it, !({protects}) \
         || (has(object.metadata.finalizers) && it in object.metadata.finalizers))"
    )
}

/// Whether a claim keeps its protections.
pub(super) fn claim_keeps() -> String {
    keeps(&format!("it in {}", list([PVC_PROTECTION, CLONE_SOURCE, SNAPSHOT_SOURCE])))
}

/// Whether a volume keeps its protection, and the finalizers of its provisioner and its attacher.
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
