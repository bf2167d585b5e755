//! What is installed, and what its objects have in common.

use serde_json::{Value, json};

use super::mounted::MountedSecret;
use crate::watch::policy::{WatchPolicy, acting::ReconcilerName};

/// The name of every object but the namespace and the policy.
pub(super) const NAME: &str = "kubectl-storage-watch";
/// The name of the `ConfigMap` with the policy. That of the others would be the one by which everybody
/// can pause what acts, and with it the right to change the policy.
pub(super) const POLICY_NAME: &str = "kubectl-storage-watch-policy";
/// The key of the policy in its `ConfigMap`, and the name of its file.
pub(super) const POLICY_FILE: &str = "policy.yaml";

/// What is installed.
#[derive(Debug)]
pub(super) struct Installation {
    pub(super) namespace: String,
    pub(super) image: String,
    pub(super) replicas: u32,
    pub(super) policy: WatchPolicy,
    /// The policy as it was written.
    pub(super) text: String,
    /// Where metrics are served, if they can be reached; probes too, if these have no port.
    pub(super) port: Option<u16>,
    /// Where probes are served, if they can be reached.
    pub(super) probes: Option<u16>,
    pub(super) secrets: Vec<MountedSecret>,
    /// Reconcilers that get their roles, besides those that the policy lets act.
    pub(super) act: Vec<ReconcilerName>,
    pub(super) monitoring: bool,
}

impl Installation {
    /// The labels of all objects, by which pods are selected.
    pub(super) fn labels() -> Value {
        json!({"app.kubernetes.io/name": "kubectl-storage", "app.kubernetes.io/component": "watch"})
    }

    /// The metadata of an object in the namespace.
    pub(super) fn metadata(&self) -> Value {
        json!({"name": NAME, "namespace": self.namespace, "labels": Self::labels()})
    }

    /// An object in the namespace, of which one field is given.
    pub(super) fn object(&self, version: &str, kind: &str, (field, value): (&str, Value)) -> Value {
        let mut object = json!({
            "apiVersion": version,
            "kind": kind,
            "metadata": self.metadata(),
        });
        object[field] = value;
        object
    }
}
