//! The API server by hand: a kubectl for everything that others do would be too many.

use http::Method;
use kube::Client;
use serde_json::{Value, json};

use crate::support;

/// Whoever else there is in the cluster, in one namespace.
#[derive(Clone)]
pub(super) struct Api {
    pub(super) client: Client,
    pub(super) namespace: String,
}

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";

impl Api {
    /// Creates an object; the refusal's code where there is none.
    pub(super) async fn create(&self, resource: &str, object: &Value) -> Result<Value, u16> {
        self.send(Method::POST, &self.path(resource, ""), JSON, object).await
    }

    pub(super) async fn get(&self, resource: &str, name: &str) -> Option<Value> {
        self.send(Method::GET, &self.path(resource, name), JSON, &Value::Null).await.ok()
    }

    pub(super) async fn patch(
        &self,
        resource: &str,
        name: &str,
        patch: &Value,
    ) -> Result<Value, u16> {
        self.send(Method::PATCH, &self.path(resource, name), MERGE, patch).await
    }

    /// Deletes an object as kubectl does, and pods as `kubectl delete --force` does.
    pub(super) async fn delete(&self, resource: &str, name: &str) -> Result<Value, u16> {
        let grace = (resource == "pods").then_some(0);
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions",
            "propagationPolicy": "Background", "gracePeriodSeconds": grace,
        });
        self.send(Method::DELETE, &self.path(resource, name), JSON, &options).await
    }

    /// Asks a question in somebody's name, so that the audit log has it.
    pub(super) async fn mark(&self, user: &str, question: &str) {
        support::mark(&self.client, user, question).await;
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        content: &str,
        body: &Value,
    ) -> Result<Value, u16> {
        support::send(&self.client, method, path, content, body).await
    }

    fn path(&self, resource: &str, name: &str) -> String {
        let within = format!("/namespaces/{}", self.namespace);
        let base = match resource {
            "namespaces" | "persistentvolumes" => "/api/v1".to_owned(),
            "customresourcedefinitions" => "/apis/apiextensions.k8s.io/v1".to_owned(),
            "pods" | "persistentvolumeclaims" => format!("/api/v1{within}"),
            "jobs" | "cronjobs" => format!("/apis/batch/v1{within}"),
            "scaledjobs" => format!("/apis/keda.sh/v1alpha1{within}"),
            "workflowtemplates" => format!("/apis/argoproj.io/v1alpha1{within}"),
            _ => format!("/apis/apps/v1{within}"),
        };
        let slash = if name.is_empty() { "" } else { "/" };
        format!("{base}/{resource}{slash}{name}")
    }
}
