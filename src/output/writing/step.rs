//! One write of a plan: its effect, and the conditions that its request tests.

use serde::{Deserialize, Serialize};

use crate::facts::EXTERNAL_PROVISIONER;
use crate::model::{
    ANNOUNCED, Action, Bytes, FinalizerEdit, Guard, ObjectRef, OwnerReference, ReclaimPolicy,
    RetentionPolicy, Uid, format_duration,
};
use crate::remedies::quantity;

/// One write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlannedStep {
    /// What is written.
    pub action: String,
    /// In a few words.
    pub what: String,
    /// What the request tests besides the object's uid and resourceVersion.
    pub preconditions: Vec<String>,
}

/// Puts the writes of a change into their public shape.
pub(super) fn steps(actions: &[Action]) -> Vec<PlannedStep> {
    let mut patched = false;
    let one = |action: &Action| {
        let mut planned = step(action);
        // What the controller of a set does not do by itself.
        if patched && matches!(action, Action::RemoveOwnerReferences { .. }) {
            let who = "unless the StatefulSet controller has done so";
            planned.what = format!("{who}, {}", planned.what);
        }
        patched |= matches!(action, Action::SetRetentionPolicy { .. });
        planned
    };
    actions.iter().map(one).collect()
}

/// Puts a write into its public shape.
fn step(action: &Action) -> PlannedStep {
    let policy = |policy: &ReclaimPolicy| format!("spec.persistentVolumeReclaimPolicy is {policy}");
    let as_read = || {
        vec![
            "status.phase is the one just read".to_owned(),
            "spec.claimRef.uid is the one just read".to_owned(),
        ]
    };
    let (what, preconditions) = match action {
        Action::SetReclaimPolicy { from, to, doubts_backend, finalizer, .. } => {
            let doubt = if *doubts_backend {
                ", and the annotation that the backend may be half deleted"
            } else {
                ""
            };
            let mut tests = as_read();
            tests.push(policy(from));
            tests.extend(protection_tests(*finalizer));
            let edit = protection(*finalizer);
            (format!("patch the reclaim policy from {from} to {to}{doubt}{edit}"), tests)
        }
        Action::CondemnVolume { from, finalizer, .. } => {
            let mut tests = vec![
                "status.phase is Available".to_owned(),
                "spec.claimRef is absent".to_owned(),
                policy(from),
            ];
            tests.extend(protection_tests(*finalizer));
            let edit = protection(*finalizer);
            let what = "patch a claimRef in that never was, and the policy to Delete";
            (format!("{what}{edit}"), tests)
        }
        Action::DeleteVolume { .. } => (
            "delete the object".to_owned(),
            vec!["spec.persistentVolumeReclaimPolicy was just read as Retain".to_owned()],
        ),
        Action::ReserveVolume { from, claim, .. } => {
            let mut tests = vec![
                "spec.claimRef.uid is the one just read".to_owned(),
                format!("status.phase is {from}"),
            ];
            tests.push(policy(&ReclaimPolicy::Retain));
            (format!("patch the dead uid out of claimRef, which is {claim} then"), tests)
        }
        Action::BindVolume { claim, .. } => {
            let tests = vec![
                "spec.claimRef is the one just read".to_owned(),
                policy(&ReclaimPolicy::Retain),
            ];
            (format!("patch the uid of {claim} into claimRef"), tests)
        }
        Action::CreateClaim { claim, .. } => {
            (format!("create {claim}, which references the volume"), Vec::new())
        }
        Action::RemoveFinalizer { finalizer, guards, .. } => (
            format!("patch finalizer {finalizer} out"),
            std::iter::once(format!("the finalizer at its place is {finalizer}"))
                .chain(guards.iter().map(guard))
                .collect(),
        ),
        Action::AddFinalizer { finalizer, .. } => {
            (format!("patch finalizer {finalizer} in"), Vec::new())
        }
        Action::CreateSnapshot { snapshot, manifest, .. } => {
            let class = manifest["spec"]["volumeSnapshotClassName"].as_str().unwrap_or_default();
            let what = format!("create {snapshot} of class {class}, and wait until it is ready");
            (what, vec!["metadata.uid of the claim is the one just read".to_owned()])
        }
        Action::CreateVolume { .. } => ("create the object".to_owned(), Vec::new()),
        Action::ReclaimBackend { tombstone, of } => (
            format!("once {of} is deleted, create {tombstone}, which its provisioner reclaims"),
            Vec::new(),
        ),
        Action::DeleteAttachment { .. } => ("delete the object".to_owned(), Vec::new()),
        Action::DeleteWithClaims { cascade, .. } => (
            format!("delete the object with propagationPolicy {}", cascade.policy()),
            vec![
                "metadata.deletionTimestamp was just read as absent".to_owned(),
                "the claims of the namespace were just listed again".to_owned(),
            ],
        ),
        Action::DeleteClaim { released, .. } => claim_deleted(released.as_ref()),
        Action::ReclaimReleased { volume, claim } => (
            format!(
                "once {claim} is deleted, patch the reclaim policy of {volume} from Retain to Delete"
            ),
            vec![
                "everything that gc checks was just checked again".to_owned(),
                "status.phase is Released".to_owned(),
                "spec.claimRef.uid is the one just read".to_owned(),
                policy(&ReclaimPolicy::Retain),
            ],
        ),
        Action::Announce { grace, .. } => (
            format!(
                "record it in an immutable ConfigMap, with a grace period of {}, after this patch of \
                 annotation {ANNOUNCED} in",
                format_duration(*grace)
            ),
            vec!["everything that gc checks was just checked again".to_owned()],
        ),
        Action::RecordVeto { batch, .. } => (
            format!("record the veto of what configmap {batch} announces"),
            vec![format!("annotation {ANNOUNCED} was just read as absent, or as no time")],
        ),
        Action::SetRetentionPolicy { from, to, .. } => retention_changed(from, to),
        Action::RequestStorage { from, to, .. } => storage_requested(*from, *to),
        Action::ScaleWorkload { from, to, .. } => (
            format!("patch the scale from {from} to {to}, and annotate what it was"),
            vec!["metadata.deletionTimestamp is absent".to_owned(), format!("the scale is {from}")],
        ),
        Action::DeletePod { .. } | Action::DeleteSnapshot { .. } => (
            "delete the object".to_owned(),
            vec!["metadata.deletionTimestamp was just read as absent".to_owned()],
        ),
        Action::RemoveOwnerReferences { owners, claim } => owners_removed(claim, owners),
        Action::AddOwnerReference { owner, replaces, guard, .. } => {
            owner_added(owner, replaces, guard.as_ref())
        }
    };
    PlannedStep { action: action.name().to_owned(), what, preconditions }
}

/// Describes the deletion of a claim, and the conditions that are tested.
fn claim_deleted(released: Option<&ObjectRef>) -> (String, Vec<String>) {
    let mut tests = vec![
        "metadata.deletionTimestamp was just read as absent".to_owned(),
        "no pod of the namespace was just listed that references the claim".to_owned(),
    ];
    if let Some(volume) = released {
        tests.push(format!("the policy of {volume} was just read as Retain"));
    }
    ("delete the claim".to_owned(), tests)
}

/// Describes the change of a requested size, and the conditions that are tested.
fn storage_requested(from: Bytes, to: Bytes) -> (String, Vec<String>) {
    let (from, to) = (quantity(from), quantity(to));
    let tests = vec![
        "metadata.deletionTimestamp is absent".to_owned(),
        "status.phase is Bound".to_owned(),
        format!("spec.resources.requests.storage is {from}"),
        "spec.volumeName and status.capacity.storage are those just read".to_owned(),
    ];
    (format!("patch spec.resources.requests.storage from {from} to {to}"), tests)
}

/// Describes a change of a retention policy, and the conditions that are tested.
fn retention_changed(from: &RetentionPolicy, to: &RetentionPolicy) -> (String, Vec<String>) {
    let fields = [
        ("whenDeleted", &from.when_deleted, &to.when_deleted),
        ("whenScaled", &from.when_scaled, &to.when_scaled),
    ];
    let changed = fields.iter().filter(|(_, from, to)| from != to);
    let changed: Vec<_> =
        changed.map(|(field, from, to)| format!("{field} from {from} to {to}")).collect();
    let tests = fields.map(|(field, from, _)| {
        format!("spec.persistentVolumeClaimRetentionPolicy.{field} is {from}")
    });
    let alive = "metadata.deletionTimestamp is absent".to_owned();
    (format!("patch {}", changed.join(" and ")), std::iter::once(alive).chain(tests).collect())
}

/// Describes the removal of owner references, and the conditions that are tested.
fn owners_removed(claim: &ObjectRef, owners: &[OwnerReference]) -> (String, Vec<String>) {
    let named = owners.iter().map(named).collect::<Vec<_>>().join(", ");
    let uid = |it: &OwnerReference| it.uid.as_ref().map_or_else(String::new, Uid::to_string);
    let alive = "metadata.deletionTimestamp is absent".to_owned();
    let at_places =
        owners.iter().map(|it| format!("the reference at its place has uid {}", uid(it)));
    let tests = std::iter::once(alive).chain(at_places).collect();
    (format!("patch owner references of {claim} out: {named}"), tests)
}

/// Describes the addition or replacement of an owner reference, and the conditions that are tested.
fn owner_added(
    owner: &OwnerReference,
    replaces: &[OwnerReference],
    guard: Option<&OwnerReference>,
) -> (String, Vec<String>) {
    let alive = "metadata.deletionTimestamp is absent".to_owned();
    let references = match replaces.is_empty() {
        true => "metadata.ownerReferences are those just read".to_owned(),
        false => "the replaced reference at its place has the same uid".to_owned(),
    };
    let how = match (replaces.is_empty(), owner.controller) {
        (true, true) => "patch an owner reference in, as controller",
        (true, false) => "patch an owner reference in",
        (false, _) => "replace an owner reference by one as controller",
    };
    let guard = guard.map_or_else(String::new, |it| {
        format!("; and, until the owner was read again, one to {}", named(it))
    });
    (format!("{how}: {}{guard}", named(owner)), vec![alive, references])
}

fn named(owner: &OwnerReference) -> String {
    format!("{} {}", owner.kind, owner.name)
}

/// Describes the change of the deletion-protection finalizer by the same patch.
fn protection(edit: FinalizerEdit) -> String {
    match edit {
        FinalizerEdit::Untouched => String::new(),
        FinalizerEdit::Added => format!(", and add finalizer {EXTERNAL_PROVISIONER}"),
        FinalizerEdit::Removed => {
            format!(", and remove finalizer {EXTERNAL_PROVISIONER}, which this tool had added")
        }
    }
}

fn protection_tests(edit: FinalizerEdit) -> Vec<String> {
    let alive = "metadata.deletionTimestamp is absent".to_owned();
    match edit {
        FinalizerEdit::Untouched => Vec::new(),
        FinalizerEdit::Added => vec![alive],
        FinalizerEdit::Removed => {
            vec![alive, format!("the finalizer at its place is {EXTERNAL_PROVISIONER}")]
        }
    }
}

fn guard(guard: &Guard) -> String {
    match guard {
        Guard::ReclaimPolicy(policy) => {
            format!("spec.persistentVolumeReclaimPolicy is {policy}")
        }
        Guard::Phase(phase) => format!("status.phase is {phase}"),
        Guard::Finalizer(keeper) => format!("finalizer {keeper} is there too"),
        Guard::NotTerminating => "metadata.deletionTimestamp is absent".to_owned(),
    }
}
