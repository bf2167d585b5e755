//! What the guard prints for programs: JSON and YAML that keep to the published schemas, and manifests for kubectl.

use std::path::Path;

use serde_json::Value;

use super::world::{namespace, tool};
use crate::support::{Cluster, Options, Outcome, Run, eventually};

/// Reads a document, and holds it to its published schema.
#[track_caller]
fn document(outcome: &Outcome, kind: &str, file: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema").join(file);
    let schema = std::fs::read_to_string(&path).expect("it is published");
    let schema = serde_json::from_str(&schema).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let said: Value = serde_json::from_str(&outcome.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}\n{}", outcome.stdout, outcome.stderr));
    let wrong: Vec<_> = validator.iter_errors(&said).map(|it| it.to_string()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}: {said:#}");
    assert_eq!(said["apiVersion"], "storage.kubectl.dev/v1alpha1");
    assert_eq!(said["kind"], kind);
    said
}

fn changes(outcome: &Outcome) -> Value {
    document(outcome, "GuardChanges", "guard-changes.v1alpha1.json")
}

fn status(outcome: &Outcome) -> Value {
    document(outcome, "GuardStatus", "guard-status.v1alpha1.json")
}

fn count(document: &Value, field: &str, value: &str) -> usize {
    let all = document["changes"].as_array().expect("it has changes");
    all.iter().filter(|it| it[field] == value).count()
}

#[test]
fn every_command_prints_documents_that_keep_to_their_schema() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    namespace(&cluster, "strict", Some("deny"));
    namespace(&cluster, "typo", Some("Deny"));
    let said = tool(&cluster, &["guard", "status", "-o", "json"]);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    let none = status(&said);
    assert_eq!(none["installed"], false);
    assert_eq!(none["proof"], Value::Null);
    let said = tool(&cluster, &["guard", "diff", "-o", "json"]);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    assert_eq!(count(&changes(&said), "action", "create"), 13);

    let dry = changes(&tool(&cluster, &["guard", "install", "--dry-run", "-o", "json"]));
    assert_eq!(dry["metadata"]["dryRun"], "client");
    assert_eq!(dry["changes"][0]["outcome"], Value::Null);
    let dry = changes(&tool(&cluster, &["guard", "install", "--dry-run=server", "-o", "json"]));
    assert_eq!(dry["metadata"]["dryRun"], "server");

    let installed =
        tool(&cluster, &["guard", "install", "--yes", "-o", "json", "--deny-account=ci/deployer"]);
    assert_eq!(installed.code, Some(0), "{}", installed.stderr);
    let installed = changes(&installed);
    assert_eq!(count(&installed, "outcome", "done"), 13, "{installed:#}");
    assert_eq!(installed["rules"]["deniedAccounts"][0], "ci/deployer");
    assert!(installed["metadata"]["journal"].is_string(), "{installed:#}");
    let proven = installed["proof"]["bindings"].as_array().expect("it is proven");
    assert!(proven.iter().all(|it| it["state"] == "in-force"), "{installed:#}");
    let again = changes(&tool(&cluster, &["guard", "install", "--yes", "-o", "json"]));
    assert_eq!(again["changes"], serde_json::json!([]));
    assert!(again["proof"]["bindings"].is_array(), "{again:#}");

    eventually("the types are checked", || {
        tool(&cluster, &["guard", "status", "-o", "json"]).code == Some(0)
    });
    let now = status(&tool(&cluster, &["guard", "status", "-o", "json"]));
    assert_eq!(now["types"]["checked"], 5, "{now:#}");
    assert_eq!(now["namespaces"]["deny"][0], "strict", "{now:#}");
    assert_eq!(now["namespaces"]["unknown"][0]["value"], "Deny", "{now:#}");
    assert_eq!(now["notStopped"].as_array().map(Vec::len), Some(9), "{now:#}");
    // The same as YAML.
    let yaml = tool(&cluster, &["guard", "status", "-o", "yaml"]);
    let yaml: Value = serde_yaml::from_str(&yaml.stdout).expect("it is YAML");
    assert_eq!(yaml["proof"], now["proof"]);

    // Of a controller's identity the guard proves nothing, and does not say that it is not in force.
    let group = ["--as", "system:serviceaccount:ci:other", "--as-group", "system:masters"];
    let passing = Run::of(&["guard", "status", "-o", "json", "--as-group=system:serviceaccounts"]);
    let passing = status(&passing.more(&group).kubeconfig(cluster.kubeconfig()).go());
    assert!(passing["proof"]["userPasses"].is_string(), "{passing:#}");
    assert_eq!(passing["proof"]["bindings"][0]["state"], "unknown", "{passing:#}");

    let binding = "validatingadmissionpolicybinding/kubectl-storage-guard-persistentvolumes";
    let warns = serde_json::json!({"spec": {"validationActions": ["Audit"]}});
    cluster.patch("", binding, &warns);
    let differs = changes(&tool(&cluster, &["guard", "diff", "-o", "json"]));
    let difference = &differs["changes"][0]["differences"][0];
    assert_eq!(difference["field"], "spec.validationActions", "{differs:#}");
    assert_eq!(difference["live"], serde_json::json!(["Audit"]));
    let removed = tool(&cluster, &["guard", "uninstall", "--yes", "-o", "json"]);
    assert_eq!(removed.code, Some(0), "{}", removed.stderr);
    assert_eq!(count(&changes(&removed), "outcome", "done"), 13);
    let wrong = tool(&cluster, &["guard", "diff", "-o", "name"]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
    assert!(wrong.stderr.contains("its formats are table, json and yaml"), "{}", wrong.stderr);
}

/// What is printed for other tools is the guard: kubectl applies it, and status and diff take it for installed.
#[test]
fn what_is_printed_and_applied_is_installed() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    namespace(&cluster, "strict", Some("deny"));
    let options = ["--volumes=deny", "--deny-account=ci/deployer", "--break-glass-group=on-call"];
    let printed = Run::of(&["guard", "print"]).more(&options).go();
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    for apply in [
        &["apply", "-f", "-"][..],
        &["apply", "--server-side", "--force-conflicts", "-f", "-"],
        &["apply", "-f", "-"],
    ] {
        cluster.try_kubectl(apply, &printed.stdout).expect("it is a manifest");
    }
    let diff = tool(&cluster, &["guard", "diff", "-o", "json"]);
    assert_eq!(diff.code, Some(0), "{}\n{}", diff.stdout, diff.stderr);
    assert_eq!(changes(&diff)["changes"], serde_json::json!([]));
    eventually("it is in force, and its types are checked", || {
        tool(&cluster, &["guard", "status"]).code == Some(0)
    });
    let now = status(&tool(&cluster, &["guard", "status", "-o", "json"]));
    assert_eq!(now["rules"]["volumes"], "deny", "{now:#}");
    assert_eq!(now["rules"]["breakGlassGroup"], "on-call", "{now:#}");
    let again = tool(&cluster, &["guard", "install", "--yes"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(again.stderr.contains("nothing is to be changed"), "{}", again.stderr);
}
