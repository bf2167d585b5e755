//! The API server by hand: many namespaces at once would be too many kubectls.

use http::Method;
use kube::Client;
use serde_json::{Value, json};

use crate::support::request;

/// A namespace of the cluster.
#[derive(Clone)]
pub(super) struct Api {
    client: Client,
    pub(super) namespace: String,
}

impl Api {
    /// Makes a namespace.
    pub(super) async fn make(client: Client, namespace: String) -> Self {
        let api = Self { client, namespace };
        let body = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": api.namespace},
        });
        api.must(api.send(Method::POST, "/api/v1/namespaces", JSON, &body).await);
        api
    }

    /// Creates an object; whether there was none of its name.
    pub(super) async fn create(&self, resource: &str, object: &Value) -> Option<Value> {
        self.may(self.send(Method::POST, &self.path(resource, ""), JSON, object).await)
    }

    /// Returns an object, if there is one.
    pub(super) async fn get(&self, resource: &str, name: &str) -> Option<Value> {
        self.may(self.send(Method::GET, &self.path(resource, name), JSON, &Value::Null).await)
    }

    pub(super) async fn list(&self, resource: &str) -> Vec<Value> {
        let path = self.path(resource, "");
        let mut list = self.must(self.send(Method::GET, &path, JSON, &Value::Null).await);
        list["items"].as_array_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Merges a patch into an object, unless it is gone or may not have it.
    pub(super) async fn patch(&self, resource: &str, name: &str, patch: &Value) -> Option<Value> {
        self.may(self.send(Method::PATCH, &self.path(resource, name), MERGE, patch).await)
    }

    /// Merges a patch into the status of a pod, if there is one.
    pub(super) async fn patch_status(&self, pod: &str, status: &Value) {
        let path = format!("{}/status", self.path("pods", pod));
        self.may(self.send(Method::PATCH, &path, MERGE, status).await);
    }

    /// Deletes an object if there is one.
    pub(super) async fn delete(&self, resource: &str, name: &str, propagation: &str) {
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation,
        });
        self.may(self.send(Method::DELETE, &self.path(resource, name), JSON, &options).await);
    }

    /// Deletes all objects of a resource.
    pub(super) async fn delete_all(&self, resource: &str) {
        self.delete(resource, "", "Background").await;
    }

    fn path(&self, resource: &str, name: &str) -> String {
        let group = if resource == "statefulsets" { "apis/apps/v1" } else { "api/v1" };
        let slash = if name.is_empty() { "" } else { "/" };
        format!("/{group}/namespaces/{}/{resource}{slash}{name}", self.namespace)
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        content: &str,
        body: &Value,
    ) -> Result<Value, kube::Error> {
        self.client.request(request(method, path, content, body)).await
    }

    fn must(&self, answer: Result<Value, kube::Error>) -> Value {
        answer.unwrap_or_else(|error| panic!("{}: {error}", self.namespace))
    }

    /// What a random case asks for need not be possible.
    fn may(&self, answer: Result<Value, kube::Error>) -> Option<Value> {
        match answer {
            Err(kube::Error::Api(status)) if [404, 409, 422].contains(&status.code) => None,
            answer => Some(self.must(answer)),
        }
    }
}

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
