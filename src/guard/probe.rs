//! Dry runs that prove that the guard is in force: the creation of objects with a name that every
//! policy refuses. Nothing is ever created.

use serde_json::{Value, json};

use super::{
    GUARD_LABEL,
    object::bindings,
    options::{GuardMode, GuardOptions},
    policy::{Guarded, PROBE},
};
use crate::client::collection_path;

/// Dry run that a policy refuses, or warns about.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    /// The policy that is probed.
    pub policy: String,
    /// The binding that is probed.
    pub binding: String,
    /// Whether the binding refuses, or warns.
    pub mode: GuardMode,
    /// Path at which the object would be created.
    pub path: String,
    /// Object that would be created.
    pub manifest: Value,
}

/// Answer of the API server to a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeAnswer {
    /// Message of the refusal; `None` where the object would be created.
    pub refused: Option<String>,
    /// Warnings of the API server.
    pub warnings: Vec<String>,
}

/// Verdict on a binding by the answer to its probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeVerdict {
    /// The binding is in force for the user who asked.
    InForce,
    /// The binding is not in force: the object would have been created without a word of the guard.
    NotInForce,
    /// The binding could not be probed, for this reason, such as another refusal.
    Unknown(String),
}

impl Probe {
    /// Returns what the guard does with the probe, as a verb.
    pub const fn verb(&self) -> &'static str {
        match self.mode {
            GuardMode::Deny => "refuses",
            GuardMode::Warn => "warns of",
        }
    }

    /// Returns what an answer proves about the binding.
    pub fn judge(&self, answer: &ProbeAnswer) -> ProbeVerdict {
        let Self { policy, binding, .. } = self;
        let named = format!("ValidatingAdmissionPolicy '{policy}' with binding '{binding}'");
        let says = |text: &String| text.contains(&named);
        match (&answer.refused, self.mode) {
            (Some(message), GuardMode::Deny) if says(message) => ProbeVerdict::InForce,
            (Some(message), _) => ProbeVerdict::Unknown(message.clone()),
            (None, GuardMode::Warn) if answer.warnings.iter().any(says) => ProbeVerdict::InForce,
            (None, _) => ProbeVerdict::NotInForce,
        }
    }
}

/// Returns the probes of all bindings that have a namespace to probe: one with the label `deny`, or one in which the
/// guard warns. Kinds without namespaces need none.
pub fn probes(options: &GuardOptions, deny: Option<&str>, warn: Option<&str>) -> Vec<Probe> {
    let probe = |it: super::object::Binding| {
        let namespace = match it.mode {
            GuardMode::Deny => deny,
            GuardMode::Warn => warn,
        };
        let kind = it.guarded.kind();
        if kind.is_namespaced() && namespace.is_none() {
            return None;
        }
        let group = kind.group();
        let namespace = namespace.filter(|_| kind.is_namespaced());
        let mut manifest = manifest(it.guarded);
        manifest["apiVersion"] = json!(kind.api_version());
        manifest["kind"] = json!(kind.name());
        manifest["metadata"] = json!({"name": PROBE});
        if it.guarded == Guarded::Namespaces && it.mode == GuardMode::Deny {
            manifest["metadata"]["labels"] = json!({GUARD_LABEL: "deny"});
        }
        Some(Probe {
            policy: it.guarded.policy_name(),
            binding: it.name(),
            mode: it.mode,
            path: collection_path(group.name, group.version, namespace, kind.plural()),
            manifest,
        })
    };
    bindings(options).into_iter().filter_map(probe).collect()
}

/// Returns an object that the API server would accept, without its kind and metadata.
fn manifest(guarded: Guarded) -> Value {
    match guarded {
        Guarded::Claims => json!({"spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "",
            "resources": {"requests": {"storage": "1Gi"}},
        }}),
        Guarded::Volumes => json!({"spec": {
            "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
            "persistentVolumeReclaimPolicy": "Retain",
            "csi": {"driver": "probe.storage.kubectl.dev", "volumeHandle": PROBE},
        }}),
        Guarded::Attachments => json!({"spec": {
            "attacher": "probe.storage.kubectl.dev", "nodeName": PROBE,
            "source": {"persistentVolumeName": PROBE},
        }}),
        Guarded::Sets => json!({"spec": {
            "replicas": 0, "serviceName": PROBE,
            "selector": {"matchLabels": {"app": PROBE}},
            "template": {
                "metadata": {"labels": {"app": PROBE}},
                "spec": {"containers": [{"name": "main", "image": "none"}]},
            },
        }}),
        Guarded::Namespaces => json!({}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_names_policy_and_binding_proves_them() {
        let all = probes(&GuardOptions::default(), Some("shop"), Some("test"));
        assert_eq!(all.len(), 8);
        assert_eq!(probes(&GuardOptions::default(), None, None).len(), 4);
        let probe = &all[0];
        assert_eq!(probe.path, "/api/v1/namespaces/shop/persistentvolumeclaims");
        let name = "kubectl-storage-guard-persistentvolumeclaims";
        let denied = format!(
            "forbidden: ValidatingAdmissionPolicy '{name}' with binding '{name}-deny' denied request: x"
        );
        let answer = |refused: Option<&str>, warnings: &[&str]| ProbeAnswer {
            refused: refused.map(str::to_owned),
            warnings: warnings.iter().map(|it| (*it).to_owned()).collect(),
        };
        assert_eq!(probe.judge(&answer(Some(&denied), &[])), ProbeVerdict::InForce);
        assert_eq!(probe.judge(&answer(None, &[&denied])), ProbeVerdict::NotInForce);
        let quota = answer(Some("exceeded quota"), &[]);
        assert!(matches!(probe.judge(&quota), ProbeVerdict::Unknown(_)));
        let warn = &all[1];
        assert_eq!(warn.judge(&answer(None, &[])), ProbeVerdict::NotInForce);
        let warned = denied.replace("-deny'", "-warn'");
        assert_eq!(warn.judge(&answer(None, &[&warned])), ProbeVerdict::InForce);
    }
}
