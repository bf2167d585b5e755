//! Servers on which the guard cannot be, or is not alone.

use serde_json::{Value, json};

use super::world::{fill, install, namespace, tool};
use crate::support::{Cluster, Options, Run, eventually};

const V1: &str = "admissionregistration.k8s.io/v1";

/// An API server that does not serve the kinds: nothing is written, an audit misses nothing.
fn without_the_api(version: &str) {
    let disabled = format!(
        "--runtime-config={V1}/validatingadmissionpolicies=false,\
         {V1}/validatingadmissionpolicybindings=false"
    );
    let server_args = [&*disabled, "--disable-admission-plugins=ValidatingAdmissionPolicy"];
    let cluster =
        Cluster::start(Options { version, server_args: &server_args, ..Options::default() });
    namespace(&cluster, "strict", Some("deny"));
    let mark = cluster.mark();
    for command in [
        &["guard", "install", "--yes"][..],
        &["guard", "status"],
        &["guard", "status", "-o", "json"],
        &["guard", "diff"],
        &["guard", "uninstall", "--yes"],
    ] {
        let said = tool(&cluster, command);
        assert_eq!(said.code, Some(5), "{command:?}: {}", said.stderr);
        assert_eq!(said.stdout, "", "{command:?}");
        for word in [version, "does not serve", "since 1.30", "nothing was"] {
            assert!(said.stderr.contains(word), "{command:?}: {word}: {}", said.stderr);
        }
    }
    cluster.assert_no_write(mark);
    let report = cluster.audit(&[]);
    let about: Vec<_> = report.findings().map(|it| it.id().to_owned()).collect();
    assert_eq!(about, ["guard-not-enforced"], "a namespace relies on it: {report}");
}

#[test]
fn a_server_without_the_api_is_told_apart_on_1_36() {
    without_the_api("1.36.3");
}

#[test]
#[ignore = "extended suite: Kubernetes 1.32"]
fn a_server_without_the_api_is_told_apart_on_1_32() {
    without_the_api("1.32.2");
}

/// An API server that stores policies and does not enforce them: only the dry runs show it.
#[test]
fn a_server_that_does_not_enforce_policies_is_found_out() {
    let server_args = ["--disable-admission-plugins=ValidatingAdmissionPolicy"];
    let cluster = Cluster::start(Options { server_args: &server_args, ..Options::default() });
    namespace(&cluster, "strict", Some("deny"));
    let installed = tool(&cluster, &["guard", "install", "--yes"]);
    assert_eq!(installed.code, Some(6), "{}", installed.stderr);
    assert!(installed.stderr.contains("NOT in force: "), "{}", installed.stderr);
    assert!(!installed.stderr.contains("\nin force: "), "{}", installed.stderr);
    let status = tool(&cluster, &["guard", "status"]);
    assert_eq!(status.code, Some(1), "{}", status.stdout);
    assert!(status.stdout.contains("NOT in force: "), "{}", status.stdout);
}

/// Another policy forbids all that the guard is about, and what its probes ask for.
#[test]
fn a_cluster_where_another_policy_blocks_already() {
    let cluster = Cluster::start(Options::default());
    namespace(&cluster, "strict", Some("deny"));
    fill(&cluster, "strict");
    let freeze = json!({
        "apiVersion": V1, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "a-freeze"},
        "spec": {
            "matchConstraints": {"resourceRules": [{
                "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE", "DELETE"],
                "resources": ["persistentvolumeclaims", "persistentvolumes", "namespaces"],
            }]},
            "validations": [{"expression": "false", "message": "no changes in december"}],
        },
    });
    cluster.create(&freeze);
    cluster.create(&json!({
        "apiVersion": V1, "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "a-freeze"},
        "spec": {"policyName": "a-freeze", "validationActions": ["Deny"]},
    }));
    let delete = ["delete", "pvc", "bound", "-n", "strict", "--wait=false", "--as=ann"];
    let delete = [&delete[..], &["--as-group=system:masters"]].concat();
    eventually("the other policy is in force", || {
        cluster.try_kubectl(&delete, "").is_err_and(|said| said.contains("no changes in december"))
    });
    let installed = install(&cluster, &[]);
    // What another policy refused first proves nothing, and is not taken for a guard that is off.
    let all = format!("{}\n{}", installed.stdout, installed.stderr);
    assert!(!all.contains("NOT in force"), "{all}");
    assert!(all.contains("no changes in december"), "{all}");
    assert!(all.contains("in force: kubectl-storage-guard-statefulsets-deny"), "{all}");
    let status = tool(&cluster, &["guard", "status", "-o", "json"]);
    assert_eq!(status.code, Some(4), "{}\n{}", status.stdout, status.stderr);
    let status: Value = serde_json::from_str(&status.stdout).expect("it is JSON");
    assert_eq!(status["others"]["policies"], json!(["a-freeze"]), "{status:#}");
    let bindings = status["proof"]["bindings"].as_array().expect("it is proven");
    assert!(bindings.iter().all(|it| it["state"] != "not-in-force"), "{status:#}");
    assert!(bindings.iter().any(|it| it["state"] == "unknown"), "{status:#}");
    // A delete is refused by one of both, which the client names.
    let said = cluster.try_kubectl(&delete, "").expect_err("it is refused");
    assert!(said.contains("'a-freeze'") || said.contains("'kubectl-storage-guard-"), "{said}");
    let removed = tool(&cluster, &["guard", "uninstall", "--yes"]);
    assert_eq!(removed.code, Some(0), "{}", removed.stderr);
    let left = cluster.list("", "validatingadmissionpolicies");
    let names: Vec<_> = left.iter().map(|it| it["metadata"]["name"].clone()).collect();
    assert_eq!(names, ["a-freeze"], "of others nothing is removed");
}

/// Nothing is said of the guard where nothing answers, or who asks may not.
#[test]
fn who_cannot_ask_is_told_why() {
    let cluster = Cluster::start(Options::default());
    for command in ["install", "status", "diff", "uninstall"] {
        let down = Run::of(&["guard", command, "-s", "https://127.0.0.1:1"]);
        let down = down.kubeconfig(cluster.kubeconfig()).go();
        assert_eq!(down.code, Some(1), "{}", down.stderr);
        assert_eq!(down.stdout, "");
        assert!(down.stderr.contains("127.0.0.1:1"), "{}", down.stderr);
        let other = Run::of(&["guard", command, "--as=nobody"]).kubeconfig(cluster.kubeconfig());
        let other = other.go();
        assert_eq!(other.code, Some(1), "{}", other.stderr);
        assert!(other.stderr.contains("validatingadmissionpolicies"), "{}", other.stderr);
        assert!(other.stderr.contains("nobody"), "{}", other.stderr);
    }
}
