//! The real kubectl, as an administrator uses it.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::Cluster;
use super::testbed::testbed;

impl Cluster {
    /// Runs kubectl and returns its stdout, or its stderr when it failed.
    pub(crate) fn try_kubectl(&self, args: &[&str], stdin: &str) -> Result<String, String> {
        let mut child = Command::new(testbed().program("kubectl"))
            .arg("--kubeconfig")
            .arg(self.kubeconfig())
            .args(args)
            .env("KUBECACHEDIR", self.kubectl_cache())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("because the testbed has a kubectl");
        let mut pipe = child.stdin.take().expect("because it is piped");
        // kubectl may end without reading it: what it says then is what counts.
        let _ = pipe.write_all(stdin.as_bytes());
        drop(pipe);
        let output = child.wait_with_output().expect("because it was started");
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }

    /// Runs kubectl, which must succeed, and returns its stdout.
    pub(crate) fn kubectl(&self, args: &[&str]) -> String {
        self.try_kubectl(args, "")
            .unwrap_or_else(|error| panic!("kubectl {}: {error}", args.join(" ")))
    }

    /// Creates an object and returns it.
    pub(crate) fn create(&self, object: &Value) -> Value {
        let made = self.try_kubectl(&["create", "-o", "json", "-f", "-"], &object.to_string());
        parse(&made.unwrap_or_else(|error| panic!("kubectl create {object}: {error}")))
    }

    /// Returns an object, or nothing when there is none.
    pub(crate) fn get(&self, namespace: &str, object: &str) -> Option<Value> {
        let args = [
            "get",
            object,
            "-n",
            namespace,
            "-o",
            "json",
            "--ignore-not-found",
            "--show-managed-fields",
        ];
        let text = self.kubectl(&args);
        (!text.trim().is_empty()).then(|| parse(&text))
    }

    /// Merges a patch into an object, or into its status with `subresource`.
    pub(crate) fn patch(&self, namespace: &str, object: &str, patch: &Value) {
        self.kubectl(&["patch", object, "-n", namespace, "--type=merge", "-p", &patch.to_string()]);
    }

    /// Merges a patch into an object's status.
    pub(crate) fn patch_status(&self, namespace: &str, object: &str, patch: &Value) {
        let patch = patch.to_string();
        self.kubectl(&[
            "patch",
            object,
            "-n",
            namespace,
            "--subresource=status",
            "--type=merge",
            "-p",
            &patch,
        ]);
    }

    /// Grants a user cluster-wide rights: pairs of an API group's resources and verbs.
    pub(crate) fn grant(&self, user: &str, rules: &Value) {
        let name = format!("grant-{user}");
        self.create(&json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": name}, "rules": rules,
        }));
        self.create(&json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
        }));
    }
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("kubectl said {text:?}: {error}"))
}
