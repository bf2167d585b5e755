//! What is sent for an action, rendered from the object as it was just read (SEMANTICS 0.5).
//!
//! A preview renders the same: what the plan shows is what is sent, but for the resourceVersion.

use http::Method;
use serde_json::{Value, json};

use crate::model::{Action, Guard, Kind, ObjectKey, ObjectRef, ReclaimPolicy, Text};

/// A request, ready to be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// PATCH, POST or DELETE.
    pub method: Method,
    /// The path, without a query.
    pub path: String,
    /// What the body is.
    pub content_type: &'static str,
    /// The body.
    pub body: Value,
}

/// Why no request can be made of an action: the object is not what it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unfit(String);

const JSON_PATCH: &str = "application/json-patch+json";
const JSON: &str = "application/json";
/// Says that a deletion at the backend was stopped half way (SEMANTICS T31).
pub const BACKEND_STATE: &str = "storage.kubectl.dev/backend-state";
pub use crate::model::NO_CLAIM;

/// Renders an action on an object as it was just read, which is `Null` for one that is created.
///
/// # Errors
/// When the object is not the one that the action was proposed for.
pub fn request(action: &Action, live: &Value) -> Result<Request, Unfit> {
    match action {
        Action::SetReclaimPolicy { volume, from, to, doubts_backend } => {
            let mut patch = Patch::on(volume, live)?;
            patch.phase_and_claim()?;
            patch.tests("/spec/persistentVolumeReclaimPolicy", &json!(from.to_string()))?;
            patch.push(json!({
                "op": "replace", "path": "/spec/persistentVolumeReclaimPolicy", "value": to.to_string(),
            }));
            if *doubts_backend {
                patch.annotate(BACKEND_STATE, "unknown");
            }
            Ok(patch.request())
        }
        Action::CondemnVolume { volume, from, claim } => {
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
            Ok(patch.request())
        }
        Action::ReserveVolume { volume } => reserve(volume, live),
        Action::RemoveFinalizer { object, finalizer, guards } => {
            remove_finalizer(object, finalizer, guards, live)
        }
        Action::AddFinalizer { object, finalizer } => add_finalizer(object, finalizer, live),
        Action::DeleteVolume { volume } => delete(volume, live),
        Action::DeleteAttachment { attachment } => delete_as_read(attachment, live),
        Action::ReclaimBackend { of, .. } => {
            Err(Unfit(format!("it is rendered from {of}, once that is gone")))
        }
        Action::CreateVolume { manifest, .. } => Ok(Request {
            method: Method::POST,
            path: "/api/v1/persistentvolumes".to_owned(),
            content_type: JSON,
            body: manifest.clone(),
        }),
    }
}

/// P-RESERVE. The annotation goes too: with it, the volume controller would later clear the whole
/// claimRef (`pv_controller.go`, `unbindVolume`).
fn reserve(volume: &ObjectRef, live: &Value) -> Result<Request, Unfit> {
    const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
    let mut patch = Patch::on(volume, live)?;
    patch.tests_as_seen("/spec/claimRef/uid")?;
    patch.tests("/status/phase", &json!("Released"))?;
    patch.tests("/spec/persistentVolumeReclaimPolicy", &json!("Retain"))?;
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

/// P-FIN-DEL: the one finalizer at its place, never the list.
fn remove_finalizer(
    object: &ObjectRef,
    finalizer: &Text,
    guards: &[Guard],
    live: &Value,
) -> Result<Request, Unfit> {
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
    let place = patch.place_of(finalizer)?;
    patch.tests(&place, &json!(&**finalizer))?;
    patch.push(json!({"op": "remove", "path": place}));
    Ok(patch.request())
}

/// P-FIN-ADD. The API server allows it only on what is not being deleted.
fn add_finalizer(object: &ObjectRef, finalizer: &Text, live: &Value) -> Result<Request, Unfit> {
    let mut patch = Patch::on(object, live)?;
    patch.push(match live.pointer("/metadata/finalizers") {
        Some(_) => json!({"op": "add", "path": "/metadata/finalizers/-", "value": &**finalizer}),
        None => json!({"op": "add", "path": "/metadata/finalizers", "value": [&**finalizer]}),
    });
    Ok(patch.request())
}

/// P-DELETE, of what keeps its backend volume and of nothing else.
fn delete(volume: &ObjectRef, live: &Value) -> Result<Request, Unfit> {
    let request = delete_as_read(volume, live)?;
    let policy = live["spec"]["persistentVolumeReclaimPolicy"].as_str().unwrap_or_default();
    if policy != "Retain" {
        return Err(Unfit(format!(
            "its policy is {policy}: deleting the object would leak the disk"
        )));
    }
    Ok(request)
}

/// P-DELETE, of the object that was just read and no other.
fn delete_as_read(object: &ObjectRef, live: &Value) -> Result<Request, Unfit> {
    let seen = Patch::on(object, live)?;
    let metadata = &live["metadata"];
    Ok(Request {
        method: Method::DELETE,
        path: seen.path,
        content_type: JSON,
        body: json!({
            "kind": "DeleteOptions", "apiVersion": "v1",
            "preconditions": {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]},
            "propagationPolicy": "Background",
        }),
    })
}

/// A JSON patch that tests the object's uid and resourceVersion first.
struct Patch<'a> {
    live: &'a Value,
    path: String,
    operations: Vec<Value>,
}

impl<'a> Patch<'a> {
    fn on(object: &ObjectRef, live: &'a Value) -> Result<Self, Unfit> {
        let mut patch = Self { live, path: path(&object.key), operations: Vec::new() };
        let Some(uid) = &object.uid else {
            return Err(Unfit("its uid is not known".to_owned()));
        };
        patch.tests("/metadata/uid", &json!(uid.to_string()))?;
        patch.tests_as_seen("/metadata/resourceVersion")?;
        Ok(patch)
    }

    fn push(&mut self, operation: Value) {
        self.operations.push(operation);
    }

    /// Tests a field, which has to be so already. An absent one equals null.
    fn tests(&mut self, path: &str, value: &Value) -> Result<(), Unfit> {
        let seen = self.live.pointer(path).unwrap_or(&Value::Null);
        if seen != value {
            return Err(Unfit(format!("{} is {seen}, not {value}", dotted(path))));
        }
        self.operations.push(json!({"op": "test", "path": path, "value": value}));
        Ok(())
    }

    /// Tests that a field is still what was just read.
    fn tests_as_seen(&mut self, path: &str) -> Result<(), Unfit> {
        let seen = self.live.pointer(path).cloned();
        let seen = seen.ok_or_else(|| Unfit(format!("{} is absent", dotted(path))))?;
        self.tests(path, &seen)
    }

    /// What every change of a policy rests on.
    fn phase_and_claim(&mut self) -> Result<(), Unfit> {
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

    fn place_of(&self, finalizer: &str) -> Result<String, Unfit> {
        let all = self.live["metadata"]["finalizers"].as_array();
        let place = all.and_then(|all| all.iter().position(|it| it == finalizer));
        let place = place.ok_or_else(|| Unfit(format!("it has no finalizer {finalizer}")))?;
        Ok(format!("/metadata/finalizers/{place}"))
    }

    fn request(self) -> Request {
        Request {
            method: Method::PATCH,
            path: self.path,
            content_type: JSON_PATCH,
            body: Value::Array(self.operations),
        }
    }
}

/// The path of an object of a kind whose version is certain.
pub fn path(key: &ObjectKey) -> String {
    let group = key.kind.group();
    crate::client::object_path(
        group.name,
        group.version,
        key.namespace.as_deref().filter(|_| key.kind != Kind::PersistentVolume),
        key.kind.plural(),
        &key.name,
    )
}

/// A key as part of a JSON pointer (RFC 6901).
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn dotted(path: &str) -> String {
    path.trim_start_matches('/').replace('/', ".")
}

#[cfg(test)]
#[path = "tests/request.rs"]
mod tests;
