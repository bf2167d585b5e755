//! Events about changes, so that `kubectl describe` of the object shows who changed it.

use http::Method;
use serde_json::{Value, json};

use super::request::WriteRequest;
use crate::model::{
    ANNOUNCED, Action, JournalEntryNumber, ObjectRef, ReclaimPolicy, Time, format_time,
};
use crate::objects::OWN_COMPONENT;
use crate::plan::{ProposedChange, Purpose};

/// The namespace of Events about cluster-wide objects (client-go, `recorder.makeEvent`).
const NAMESPACE: &str = "default";

/// The namespace of Events about an object.
pub(super) fn namespace(object: &ObjectRef) -> &str {
    object.key.namespace.as_deref().unwrap_or(NAMESPACE)
}

/// How an Event references the object that it is about.
pub(super) fn reference(object: &ObjectRef) -> Value {
    let key = &object.key;
    json!({
        "apiVersion": key.kind.api_version(), "kind": key.kind.name(),
        "namespace": key.namespace.as_deref(), "name": &*key.name,
        "uid": object.uid.as_ref().map(ToString::to_string),
    })
}

/// Renders the request for an Event about a step that the API server has carried out.
pub(super) fn request(
    change: &ProposedChange,
    action: &Action,
    object: &ObjectRef,
    command: &str,
    entry: &JournalEntryNumber,
    now: Option<Time>,
) -> WriteRequest {
    let namespace = namespace(object);
    let (reason, what) = match action {
        _ if matches!(change.purpose, Purpose::Revert(_) | Purpose::Recreate(_)) => {
            ("StorageUndone", change.proposal.effect.what.clone())
        }
        Action::ReserveVolume { claim, .. } => {
            ("StorageReserved", format!("the volume was reserved for claim {claim}"))
        }
        Action::BindVolume { .. } | Action::CreateClaim { .. } => {
            ("StorageRebound", change.proposal.effect.what.clone())
        }
        Action::SetReclaimPolicy { to: ReclaimPolicy::Retain, .. } => {
            ("StorageRetained", "the reclaim policy was set to Retain".to_owned())
        }
        Action::SetReclaimPolicy { .. }
        | Action::CondemnVolume { .. }
        | Action::CreateVolume { .. }
        | Action::ReclaimBackend { .. }
        | Action::ReclaimReleased { .. } => {
            ("StorageReclaimed", change.proposal.effect.what.clone())
        }
        Action::CreateSnapshot { claim, .. } => (
            "StorageSnapshotCreated",
            format!("it was created as a snapshot of {claim}, which is to be deleted"),
        ),
        Action::Announce { .. } => (
            "StorageAnnounced",
            format!(
                "{}; annotation {ANNOUNCED} shows when, and removing it is a veto, as is setting \
                 storage.kubectl.dev/keep-until",
                change.proposal.effect.what
            ),
        ),
        Action::RecordVeto { .. } => ("StorageVetoed", change.proposal.effect.what.clone()),
        Action::DeleteVolume { .. } => ("StorageBackendKept", change.proposal.effect.what.clone()),
        Action::DeleteClaim { .. } | Action::DeleteWithClaims { .. } => {
            ("StorageDeleted", change.proposal.effect.what.clone())
        }
        Action::SetRetentionPolicy { .. } => {
            ("StorageRetentionSet", change.proposal.effect.what.clone())
        }
        Action::RemoveFinalizer { .. }
        | Action::DeleteAttachment { .. }
        | Action::RemoveOwnerReferences { .. }
        | Action::AddOwnerReference { .. }
        | Action::AddFinalizer { .. } => ("StorageRepaired", change.proposal.effect.what.clone()),
    };
    let time = now.as_ref().map(format_time);
    WriteRequest {
        method: Method::POST,
        path: format!("/api/v1/namespaces/{namespace}/events"),
        content_type: "application/json",
        body: json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"generateName": "kubectl-storage-", "namespace": namespace},
            "involvedObject": reference(object),
            "type": "Normal", "reason": reason,
            "message": format!("kubectl storage {command}: {what} (journal entry {entry})"),
            "source": {"component": OWN_COMPONENT},
            "reportingComponent": OWN_COMPONENT,
            "firstTimestamp": &time, "lastTimestamp": &time, "count": 1,
        }),
    }
}
