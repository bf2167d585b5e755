//! The objects of an installation, in the order in which they are applied.

use serde_json::{Value, json};

use super::{
    installation::{Installation, NAME, POLICY_FILE, POLICY_NAME},
    monitoring, workload,
};
use crate::cli::rbac::{acting_roles, watch_roles};

const RBAC: &str = "rbac.authorization.k8s.io";
const RBAC_V1: &str = "rbac.authorization.k8s.io/v1";

impl Installation {
    /// All objects.
    ///
    /// # Errors
    /// When one cannot be written as JSON.
    pub(super) fn objects(&self) -> anyhow::Result<Vec<Value>> {
        let mut objects = vec![
            self.own_namespace(),
            self.object("v1", "ServiceAccount", ("automountServiceAccountToken", json!(false))),
        ];
        for role in watch_roles(&self.policy)? {
            objects.extend(self.bound(role));
        }
        let data = json!({POLICY_FILE: self.text});
        let mut policy = self.object("v1", "ConfigMap", ("data", data));
        policy["metadata"]["name"] = json!(POLICY_NAME);
        objects.push(policy);
        objects.push(self.object("apps/v1", "Deployment", ("spec", workload::spec(self))));
        objects.push(self.disruption_budget());
        if self.port.is_some() {
            objects.push(self.service());
        }
        objects.push(self.network_policy());
        for role in acting_roles(&self.policy, &self.act)? {
            objects.extend(self.bound(role));
        }
        if self.monitoring {
            objects.extend(monitoring::objects(self)?);
        }
        Ok(objects)
    }

    /// The namespace, in which no pod may do more than this one.
    fn own_namespace(&self) -> Value {
        let mut labels = Self::labels();
        for mode in ["enforce", "audit", "warn"] {
            labels[format!("pod-security.kubernetes.io/{mode}")] = json!("restricted");
        }
        json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": self.namespace, "labels": labels},
        })
    }

    /// A role, and its binding to the service account. A Role without a namespace is that of the
    /// Lease or of the journal, which is where the pod is.
    fn bound(&self, mut role: Value) -> [Value; 2] {
        let kind = role["kind"].as_str().unwrap_or_default().to_owned();
        if kind == "Role" && role["metadata"]["namespace"].is_null() {
            role["metadata"]["namespace"] = json!(self.namespace);
        }
        role["metadata"]["labels"] = Self::labels();
        let binding = json!({
            "apiVersion": RBAC_V1,
            "kind": format!("{kind}Binding"),
            "metadata": role["metadata"],
            "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role["metadata"]["name"]},
            "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": self.namespace}],
        });
        [role, binding]
    }

    /// Never more than one pod at a time is evicted; one that is not ready never blocks a drain.
    fn disruption_budget(&self) -> Value {
        let spec = json!({
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": Self::labels()},
        });
        self.object("policy/v1", "PodDisruptionBudget", ("spec", spec))
    }

    fn service(&self) -> Value {
        let port = json!({"name": "metrics", "port": self.port, "targetPort": "metrics"});
        let spec = json!({"selector": Self::labels(), "ports": [port]});
        self.object("v1", "Service", ("spec", spec))
    }

    /// Nothing comes in but what asks for metrics. What goes out is not limited: where the API server
    /// and a webhook are is not known here.
    fn network_policy(&self) -> Value {
        let port = self.port.map(|it| json!({"ports": [{"protocol": "TCP", "port": it}]}));
        let spec = json!({
            "podSelector": {"matchLabels": Self::labels()},
            "policyTypes": ["Ingress"],
            "ingress": port.into_iter().collect::<Vec<_>>(),
        });
        self.object("networking.k8s.io/v1", "NetworkPolicy", ("spec", spec))
    }
}
