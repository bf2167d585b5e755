//! Scenarios under the guard: with `GUARD=deny` in the environment every cluster has it, and every namespace of a
//! scenario the label with which it refuses.
//!
//! What a scenario does by hand passes, under a name of its own; what the tool does is a person's.

use std::env;

use kubectl_storage::guard::{GUARD_LABEL, GuardMode, GuardOptions, PROBE, objects};
use serde_json::{Value, json};

use super::{Cluster, eventually};

/// Who acts by hand in a scenario.
pub(super) const BY_HAND: (&str, &str) = ("scenario", "system:masters");

/// Whether scenarios run under the guard.
pub(super) fn is_on() -> bool {
    env::var_os("GUARD").is_some()
}

/// Labels the namespace of a scenario.
pub(super) fn label(namespace: &mut Value) {
    if is_on() {
        namespace["metadata"]["labels"] = json!({GUARD_LABEL: "deny"});
    }
}

/// Installs the guard in a cluster, and waits until it refuses.
pub(super) fn install(cluster: &Cluster) {
    if !is_on() {
        return;
    }
    let options = GuardOptions {
        volumes: GuardMode::Deny,
        passed_users: [BY_HAND.0.to_owned()].into(),
        ..GuardOptions::default()
    };
    for object in objects(&options) {
        cluster.create(&object.manifest);
    }
    let probe = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": PROBE, "labels": {GUARD_LABEL: "deny"}},
    });
    let create = ["create", "-f", "-", "--dry-run=server", "--as=ann", "--as-group=system:masters"];
    eventually("the guard is in force", || {
        let said = cluster.try_kubectl(&create, &probe.to_string());
        said.is_err_and(|it| it.contains("the guard is in force"))
    });
}
