//! The request for an action, rendered from the object as it was just read (semantics#requests).
//!
//! Previews use the same code: a plan shows what is sent, except for the resourceVersion.

mod cause;
mod owners;

use http::Method;
use serde_json::{Value, json};

use crate::client::ObjectRequest;
use crate::facts::EXTERNAL_PROVISIONER;
use crate::model::{
    ANNOUNCED, Action, Bytes, ClaimKey, FinalizerEdit, Guard, ObjectKey, ObjectRef, Phase,
    ReclaimPolicy, RetentionPolicy, STOPPED_FROM, Text, WorkloadScale, parse_quantity,
};
use crate::remedies::quantity;

pub(super) use cause::may_have_caused;

pub(crate) use crate::model::NO_CLAIM;

/// A request that writes.
#[derive(Debug, Clone, PartialEq)]
pub struct WriteRequest {
    /// PATCH, POST or DELETE.
    pub method: Method,
    /// The path, without the query.
    pub path: String,
    /// The media type of the body.
    pub content_type: &'static str,
    /// The body.
    pub body: Value,
}

/// Reason why no request can be rendered for an action: the object is not what it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnfitObject(String);

const JSON_PATCH: &str = "application/json-patch+json";
const JSON: &str = "application/json";
/// The annotation of a volume whose deletion at the backend was stopped (T31).
pub const BACKEND_STATE: &str = "storage.kubectl.dev/backend-state";

/// Renders the request for an action on an object as it was just read; `live` is `Null` where the
/// object is created.
///
/// # Errors
/// When the object is not the one that the action was proposed for.
pub fn request(action: &Action, live: &Value) -> Result<WriteRequest, UnfitObject> {
    match action {
        Action::SetReclaimPolicy { volume, from, to, doubts_backend, finalizer } => {
            let mut patch = Patch::on(volume, live)?;
            patch.phase_and_claim()?;
            patch.tests("/spec/persistentVolumeReclaimPolicy", &json!(from.to_string()))?;
            patch.push(json!({
                "op": "replace", "path": "/spec/persistentVolumeReclaimPolicy", "value": to.to_string(),
            }));
            if *doubts_backend {
                patch.annotate(BACKEND_STATE, "unknown");
            }
            patch.edit_protection(*finalizer)?;
            Ok(patch.request())
        }
        Action::CondemnVolume { volume, from, claim, finalizer } => {
            let mut patch = Patch::on(volume, live)?;
            patch.tests("/status/phase", &json!("Available"))?;
            patch.tests("/spec/claimRef", &Value::Null)?;
            patch.tests("/spec/persistentVolumeReclaimPolicy", &json!(from.to_string()))?;
            if *from != ReclaimPolicy::Delete {
                patch.push(json!({
                    "op": "replace", "path": "/spec/persistentVolumeReclaimPolicy", "value": "Delete",
                }));
            }
            patch.push(json!({
                "op": "add", "path": "/spec/claimRef", "value": {
                    "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                    "namespace": NO_CLAIM.0, "name": NO_CLAIM.1, "uid": claim.to_string(),
                },
            }));
            patch.edit_protection(*finalizer)?;
            Ok(patch.request())
        }
        Action::ReserveVolume { volume, from, claim } => reserve(volume, from, claim, live),
        Action::BindVolume { volume, claim } => bind(volume, claim, live),
        Action::CreateClaim { claim: object, manifest }
        | Action::CreateVolume { volume: object, manifest } => Ok(create(&object.key, manifest)),
        Action::RemoveFinalizer { object, finalizer, guards } => {
            remove_finalizer(object, finalizer, guards, live)
        }
        Action::AddFinalizer { object, finalizer } => add_finalizer(object, finalizer, live),
        Action::DeleteVolume { volume } => delete(volume, live),
        Action::DeleteAttachment { attachment } => delete_as_read(attachment, live),
        Action::DeleteClaim { claim, .. } => delete_claim(claim, live),
        Action::DeleteWithClaims { object, cascade } => {
            let mut request = delete_claim(object, live)?;
            request.body["propagationPolicy"] = json!(cascade.policy());
            Ok(request)
        }
        Action::CreateSnapshot { snapshot, claim, manifest } => {
            Patch::on(claim, live)?;
            Ok(create(&snapshot.key, manifest))
        }
        Action::RemoveOwnerReferences { claim, owners } => owners::remove(claim, owners, live),
        Action::SetRetentionPolicy { set, from, to } => set_retention(set, from, to, live),
        Action::RequestStorage { claim, from, to } => request_storage(claim, *from, *to, live),
        Action::AddOwnerReference { claim, owner, replaces, guard } => {
            let added = std::iter::once(owner).chain(guard);
            owners::add(claim, added, replaces, live)
        }
        Action::ScaleWorkload { workload, from, to } => scale_workload(workload, *from, *to, live),
        Action::DeletePod { pod: object } | Action::DeleteSnapshot { snapshot: object } => {
            delete_claim(object, live)
        }
        Action::ReclaimBackend { of, .. } => {
            Err(UnfitObject(format!("it is rendered from {of} after that is deleted")))
        }
        Action::Announce { .. } | Action::RecordVeto { .. } => {
            Err(UnfitObject("it is rendered after the record was read or written".to_owned()))
        }
        Action::ReclaimReleased { claim, .. } => {
            Err(UnfitObject(format!("it is rendered after {claim} is deleted")))
        }
    }
}

/// The annotation of a volume whose claimRef the volume controller set, and may clear.
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";

/// Renders the creation of an object in the API version that its manifest names.
pub(super) fn create(key: &ObjectKey, manifest: &Value) -> WriteRequest {
    let version = manifest["apiVersion"].as_str().and_then(|it| it.rsplit('/').next());
    WriteRequest {
        method: Method::POST,
        path: collection(key, version.unwrap_or(key.kind.group().version)),
        content_type: JSON,
        body: manifest.clone(),
    }
}

/// P-RESERVE: renders the reservation of a volume for a claim. The annotation is removed too: with it, the volume
/// controller would later clear the whole claimRef (`pv_controller.go`, `unbindVolume`).
fn reserve(
    volume: &ObjectRef,
    from: &Phase,
    claim: &ClaimKey,
    live: &Value,
) -> Result<WriteRequest, UnfitObject> {
    let mut patch = Patch::on(volume, live)?;
    patch.tests_as_seen("/spec/claimRef/uid")?;
    patch.tests("/status/phase", &json!(from.to_string()))?;
    patch.tests("/spec/persistentVolumeReclaimPolicy", &json!("Retain"))?;
    for (field, wanted) in [("namespace", &*claim.namespace), ("name", &*claim.name)] {
        let at = format!("/spec/claimRef/{field}");
        if live.pointer(&at).and_then(Value::as_str) != Some(wanted) {
            patch.tests_as_seen(&at)?;
            patch.push(json!({"op": "replace", "path": at, "value": wanted}));
        }
    }
    patch.push(json!({"op": "remove", "path": "/spec/claimRef/uid"}));
    if live.pointer("/spec/claimRef/resourceVersion").is_some() {
        patch.push(json!({"op": "remove", "path": "/spec/claimRef/resourceVersion"}));
    }
    if live["metadata"]["annotations"].get(BOUND_BY_CONTROLLER).is_some() {
        let annotation = format!("/metadata/annotations/{}", escaped(BOUND_BY_CONTROLLER));
        patch.push(json!({"op": "remove", "path": annotation}));
    }
    Ok(patch.request())
}

/// Renders the binding: the uid of a claim goes to claimRef, and its name where another client overwrote it.
fn bind(volume: &ObjectRef, claim: &ObjectRef, live: &Value) -> Result<WriteRequest, UnfitObject> {
    let Some(uid) = &claim.uid else {
        return Err(UnfitObject("the uid of the claim is unknown".to_owned()));
    };
    let mut patch = Patch::on(volume, live)?;
    let namespace = claim.key.namespace.as_deref().unwrap_or_default();
    for (field, own) in [("namespace", namespace), ("name", &claim.key.name)] {
        let at = format!("/spec/claimRef/{field}");
        patch.tests_as_seen(&at)?;
        if live.pointer(&at).is_some_and(|seen| *seen != *own) {
            patch.push(json!({"op": "replace", "path": at, "value": own}));
        }
    }
    patch.tests("/spec/persistentVolumeReclaimPolicy", &json!("Retain"))?;
    let at = "/spec/claimRef/uid";
    if live.pointer(at).is_some() {
        patch.tests_as_seen(at)?;
    }
    patch.push(json!({"op": "add", "path": at, "value": uid.to_string()}));
    if live.pointer("/spec/claimRef/resourceVersion").is_some() {
        patch.push(json!({"op": "remove", "path": "/spec/claimRef/resourceVersion"}));
    }
    Ok(patch.request())
}

/// P-FIN-DEL: renders the removal of one finalizer by its position; never replaces the list.
fn remove_finalizer(
    object: &ObjectRef,
    finalizer: &Text,
    guards: &[Guard],
    live: &Value,
) -> Result<WriteRequest, UnfitObject> {
    let mut patch = Patch::on(object, live)?;
    for guard in guards {
        match guard {
            Guard::ReclaimPolicy(policy) => {
                patch.tests("/spec/persistentVolumeReclaimPolicy", &json!(policy.to_string()))?;
            }
            Guard::Phase(phase) => patch.tests("/status/phase", &json!(phase.to_string()))?,
            Guard::Finalizer(other) => {
                let place = patch.place_of(other)?;
                patch.tests(&place, &json!(&**other))?;
            }
            Guard::NotTerminating => patch.tests("/metadata/deletionTimestamp", &Value::Null)?,
        }
    }
    patch.remove_finalizer(finalizer)?;
    Ok(patch.request())
}

/// P-FIN-ADD: renders the addition of a finalizer. The API server allows it only on an object that is not Terminating.
fn add_finalizer(
    object: &ObjectRef,
    finalizer: &Text,
    live: &Value,
) -> Result<WriteRequest, UnfitObject> {
    let mut patch = Patch::on(object, live)?;
    patch.add_finalizer(finalizer);
    Ok(patch.request())
}

/// P-DELETE: renders the deletion of a volume, only with policy Retain.
fn delete(volume: &ObjectRef, live: &Value) -> Result<WriteRequest, UnfitObject> {
    let request = delete_as_read(volume, live)?;
    let policy = live["spec"]["persistentVolumeReclaimPolicy"].as_str().unwrap_or_default();
    if policy != "Retain" {
        return Err(UnfitObject(format!(
            "its policy is {policy}: deleting the object could leak the backend volume"
        )));
    }
    Ok(request)
}

/// P-DELETE: renders the deletion of an object with data, only if it is not Terminating.
fn delete_claim(claim: &ObjectRef, live: &Value) -> Result<WriteRequest, UnfitObject> {
    let request = delete_as_read(claim, live)?;
    match live["metadata"]["deletionTimestamp"].is_null() {
        true => Ok(request),
        false => Err(UnfitObject("it is Terminating already".to_owned())),
    }
}

/// P-DELETE: renders the deletion of an object, with its uid and resourceVersion as preconditions.
fn delete_as_read(object: &ObjectRef, live: &Value) -> Result<WriteRequest, UnfitObject> {
    Patch::on(object, live)?;
    Ok(delete_named(&object.key, live))
}

/// Renders the deletion of an object by its key, only if it is still as it was just read.
pub(super) fn delete_named(key: &ObjectKey, live: &Value) -> WriteRequest {
    let metadata = &live["metadata"];
    WriteRequest {
        method: Method::DELETE,
        path: path(key),
        content_type: JSON,
        body: json!({
            "kind": "DeleteOptions", "apiVersion": "v1",
            "preconditions": {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]},
            "propagationPolicy": "Background",
        }),
    }
}

/// A JSON patch that first tests the object's uid and resourceVersion.
struct Patch<'a> {
    live: &'a Value,
    path: String,
    operations: Vec<Value>,
}

impl<'a> Patch<'a> {
    fn on(object: &ObjectRef, live: &'a Value) -> Result<Self, UnfitObject> {
        let mut patch = Self { live, path: path(&object.key), operations: Vec::new() };
        let Some(uid) = &object.uid else {
            return Err(UnfitObject("its uid is unknown".to_owned()));
        };
        patch.tests("/metadata/uid", &json!(uid.to_string()))?;
        patch.tests_as_seen("/metadata/resourceVersion")?;
        Ok(patch)
    }

    fn push(&mut self, operation: Value) {
        self.operations.push(operation);
    }

    /// Tests that a field has a value, which the object just read must have. An absent field equals
    /// null.
    fn tests(&mut self, path: &str, value: &Value) -> Result<(), UnfitObject> {
        let seen = self.live.pointer(path).unwrap_or(&Value::Null);
        if seen != value {
            return Err(UnfitObject(format!("{} is {seen}, not {value}", dotted(path))));
        }
        self.operations.push(json!({"op": "test", "path": path, "value": value}));
        Ok(())
    }

    /// Tests that a field still has the value that was just read.
    fn tests_as_seen(&mut self, path: &str) -> Result<(), UnfitObject> {
        let seen = self.live.pointer(path).cloned();
        let seen = seen.ok_or_else(|| UnfitObject(format!("{} is absent", dotted(path))))?;
        self.tests(path, &seen)
    }

    /// Tests the phase and the claim, on which every change of a policy rests.
    fn phase_and_claim(&mut self) -> Result<(), UnfitObject> {
        for path in ["/status/phase", "/spec/claimRef/uid"] {
            if self.live.pointer(path).is_some() {
                self.tests_as_seen(path)?;
            }
        }
        if self.live.pointer("/spec/claimRef").is_none_or(Value::is_null) {
            self.tests("/spec/claimRef", &Value::Null)?;
        }
        Ok(())
    }

    fn annotate(&mut self, key: &str, value: &str) {
        self.operations.push(match self.live["metadata"].get("annotations") {
            Some(_) => {
                json!({"op": "add", "path": format!("/metadata/annotations/{}", escaped(key)), "value": value})
            }
            None => json!({"op": "add", "path": "/metadata/annotations", "value": {key: value}}),
        });
    }

    /// Adds or removes the deletion-protection finalizer, where the object is not Terminating: the
    /// API server allows no new one then, and removing the last one releases the object.
    fn edit_protection(&mut self, edit: FinalizerEdit) -> Result<(), UnfitObject> {
        if edit == FinalizerEdit::Untouched {
            return Ok(());
        }
        self.tests("/metadata/deletionTimestamp", &Value::Null)?;
        match edit {
            FinalizerEdit::Untouched => Ok(()),
            FinalizerEdit::Removed => self.remove_finalizer(EXTERNAL_PROVISIONER),
            FinalizerEdit::Added if self.place_of(EXTERNAL_PROVISIONER).is_ok() => {
                Err(UnfitObject(format!("it has finalizer {EXTERNAL_PROVISIONER} already")))
            }
            FinalizerEdit::Added => {
                self.add_finalizer(EXTERNAL_PROVISIONER);
                Ok(())
            }
        }
    }

    fn add_finalizer(&mut self, finalizer: &str) {
        self.push(match self.live.pointer("/metadata/finalizers") {
            Some(_) => json!({"op": "add", "path": "/metadata/finalizers/-", "value": finalizer}),
            None => json!({"op": "add", "path": "/metadata/finalizers", "value": [finalizer]}),
        });
    }

    /// Removes a finalizer at its position, which is tested.
    fn remove_finalizer(&mut self, finalizer: &str) -> Result<(), UnfitObject> {
        let place = self.place_of(finalizer)?;
        self.tests(&place, &json!(finalizer))?;
        self.push(json!({"op": "remove", "path": place}));
        Ok(())
    }

    fn place_of(&self, finalizer: &str) -> Result<String, UnfitObject> {
        let all = self.live["metadata"]["finalizers"].as_array();
        let place = all.and_then(|all| all.iter().position(|it| it == finalizer));
        let place = place.ok_or_else(|| UnfitObject(format!("it has no finalizer {finalizer}")))?;
        Ok(format!("/metadata/finalizers/{place}"))
    }

    fn request(self) -> WriteRequest {
        WriteRequest {
            method: Method::PATCH,
            path: self.path,
            content_type: JSON_PATCH,
            body: Value::Array(self.operations),
        }
    }
}

/// Escapes a key for a JSON pointer (RFC 6901).
pub(super) fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn dotted(path: &str) -> String {
    path.trim_start_matches('/').replace('/', ".")
}

/// Renders an annotation of a volume, whatever its value was before.
pub(super) fn mark(
    volume: &ObjectRef,
    live: &Value,
    text: &str,
) -> Result<WriteRequest, UnfitObject> {
    let mut patch = Patch::on(volume, live)?;
    patch.annotate(ANNOUNCED, text);
    Ok(patch.request())
}

/// Returns the path of an object of a kind with a known API version.
pub fn path(key: &ObjectKey) -> String {
    ObjectRequest::of(key, key.kind.group().version).path()
}

/// Returns the collection path of the kind and namespace of an object, in a version of the kind.
fn collection(key: &ObjectKey, version: &str) -> String {
    let namespace = key.namespace.as_deref().filter(|_| key.kind.is_namespaced());
    crate::client::collection_path(key.kind.group().name, version, namespace, key.kind.plural())
}

/// Renders the change of a retention policy, with tests of both fields, on which its effect on claims depends.
fn set_retention(
    set: &ObjectRef,
    from: &RetentionPolicy,
    to: &RetentionPolicy,
    live: &Value,
) -> Result<WriteRequest, UnfitObject> {
    let mut patch = Patch::on(set, live)?;
    // Its controller updates no claim of a Terminating set.
    patch.tests("/metadata/deletionTimestamp", &Value::Null)?;
    let fields = [
        ("whenDeleted", &from.when_deleted, &to.when_deleted),
        ("whenScaled", &from.when_scaled, &to.when_scaled),
    ];
    let at = |field: &str| format!("/spec/persistentVolumeClaimRetentionPolicy/{field}");
    for (field, from, _) in fields {
        patch.tests(&at(field), &json!(from.to_string()))?;
    }
    for (field, from, to) in fields {
        if from != to {
            patch.push(json!({"op": "replace", "path": at(field), "value": to.to_string()}));
        }
    }
    Ok(patch.request())
}

/// P-EXPAND: renders the change of the requested size of a Bound claim.
fn request_storage(
    claim: &ObjectRef,
    from: Bytes,
    to: Bytes,
    live: &Value,
) -> Result<WriteRequest, UnfitObject> {
    let at = "/spec/resources/requests/storage";
    let mut patch = Patch::on(claim, live)?;
    patch.tests("/metadata/deletionTimestamp", &Value::Null)?;
    patch.tests("/status/phase", &json!("Bound"))?;
    // The same size can be written in several ways.
    let seen = live.pointer(at).and_then(Value::as_str).unwrap_or_default();
    if parse_quantity(seen) != Some(from) {
        return Err(UnfitObject(format!("{} is {seen:?}, not {}", dotted(at), quantity(from))));
    }
    for at in [at, "/spec/volumeName", "/status/capacity/storage"] {
        patch.tests_as_seen(at)?;
    }
    patch.push(json!({"op": "replace", "path": at, "value": quantity(to)}));
    Ok(patch.request())
}

/// P-STOP: renders the change of the scale of a workload, with an annotation of what it was.
fn scale_workload(
    workload: &ObjectRef,
    from: WorkloadScale,
    to: WorkloadScale,
    live: &Value,
) -> Result<WriteRequest, UnfitObject> {
    let field = |scale: WorkloadScale| match scale {
        WorkloadScale::Replicas(count) => ("/spec/replicas", json!(count)),
        WorkloadScale::Suspended(is_suspended) => ("/spec/suspend", json!(is_suspended)),
    };
    let (at, seen) = field(from);
    let mut patch = Patch::on(workload, live)?;
    patch.tests("/metadata/deletionTimestamp", &Value::Null)?;
    match live.pointer(at) {
        None if from == WorkloadScale::Suspended(false) => patch.tests(at, &Value::Null)?,
        _ => patch.tests(at, &seen)?,
    }
    patch.push(json!({"op": "add", "path": at, "value": field(to).1}));
    let annotated = live["metadata"]["annotations"].get(STOPPED_FROM).is_some();
    match to.is_stopped() {
        true => patch.annotate(STOPPED_FROM, &from.to_string()),
        false if annotated => {
            let annotation = format!("/metadata/annotations/{}", escaped(STOPPED_FROM));
            patch.push(json!({"op": "remove", "path": annotation}));
        }
        false => {}
    }
    Ok(patch.request())
}

#[cfg(test)]
mod tests;
