//! A guard of another version is upgraded after its difference is shown; half a guard is repaired, whichever half.

use kubectl_storage::guard::{GuardMode, GuardOptions, objects};
use serde_json::{Value, json};

use super::ask::{Asker, Seen};
use super::installed::written;
use super::world::{fill, in_force, install, namespace, tool};
use crate::support::{Cluster, Fault, Options, Run};

const CLAIMS: &str = "kubectl-storage-guard-persistentvolumeclaims";
const OPTIONS: &str = "storage.kubectl.dev/guard-options";

fn versions_of(cluster: &Cluster) -> Vec<Value> {
    let all = ["validatingadmissionpolicies", "validatingadmissionpolicybindings"];
    let all = all.into_iter().flat_map(|it| cluster.list("", it));
    all.map(|it| it["metadata"]["resourceVersion"].clone()).collect()
}

/// Installs what an older version might have: other expressions, another record of the options, and a policy that
/// this version does not have.
fn install_older(cluster: &Cluster) {
    let options = GuardOptions {
        volumes: GuardMode::Deny,
        denied_accounts: [("ci".to_owned(), "deployer".to_owned())].into(),
        ..GuardOptions::default()
    };
    for mut object in objects(&options) {
        let of = &mut object.manifest;
        let text = of["metadata"]["annotations"][OPTIONS].as_str().expect("it records them");
        of["metadata"]["annotations"][OPTIONS] =
            json!(text.replace("\"version\":2", "\"version\":1"));
        if object.name == CLAIMS {
            of["spec"]["validations"][0]["expression"] = json!("request.operation != 'DELETE'");
        }
        cluster.create(of);
        if object.name.starts_with(CLAIMS) && !object.name.ends_with("-warn") {
            of["metadata"]["name"] = json!(object.name.replace("persistentvolumeclaims", "of-old"));
            if of["spec"]["policyName"].is_string() {
                of["spec"]["policyName"] = json!("kubectl-storage-guard-of-old");
            }
            cluster.create(of);
        }
    }
}

#[test]
fn an_older_guard_is_upgraded_after_its_difference_is_shown() {
    let cluster = Cluster::start(Options::default());
    namespace(&cluster, "strict", Some("deny"));
    fill(&cluster, "strict");
    install_older(&cluster);
    let before = versions_of(&cluster);
    assert_eq!(before.len(), 15);
    let diff = tool(&cluster, &["guard", "diff"]);
    assert_eq!(diff.code, Some(1), "{}", diff.stderr);
    let status = tool(&cluster, &["guard", "status"]);
    assert_eq!(status.code, Some(1), "{}", status.stderr);
    let old = "of another version: validatingadmissionpolicy/kubectl-storage-guard-of-old";
    assert!(status.stdout.contains(old), "{}", status.stdout);
    // Shown, and not written without a word.
    let shown = tool(&cluster, &["guard", "install"]);
    assert_eq!(shown.code, Some(5), "{}", shown.stderr);
    for said in [&diff.stdout, &shown.stderr] {
        for words in [
            &format!("change  validatingadmissionpolicy/{CLAIMS}"),
            "spec.validations[0].expression",
            "- request.operation != 'DELETE'\n",
            &format!("metadata.annotations[{OPTIONS}]"),
            "delete  validatingadmissionpolicy/kubectl-storage-guard-of-old",
            "delete  validatingadmissionpolicybinding/kubectl-storage-guard-of-old-deny",
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
    }
    assert_eq!(versions_of(&cluster), before);
    let upgraded = install(&cluster, &[]);
    assert!(upgraded.stdout.contains("of-old-deny deleted"), "{}", upgraded.stdout);
    assert_eq!(versions_of(&cluster).len(), 13);
    assert_eq!(tool(&cluster, &["guard", "diff"]).code, Some(0));
    // The options of the older one are kept.
    let status = tool(&cluster, &["guard", "status"]).stdout;
    for kept in ["volumes: deny", "service account ci/deployer"] {
        assert!(status.contains(kept), "{status}");
    }
    in_force(&Asker::of(&cluster), "strict", Seen::Refused);
}

#[test]
fn half_a_guard_is_found_and_repaired_or_removed() {
    let cluster = Cluster::start(Options::default());
    namespace(&cluster, "strict", Some("deny"));
    fill(&cluster, "strict");
    install(&cluster, &[]);
    let person = ["--as", "ann@example.com", "--as-group", "system:masters"];
    let remove = || Run::of(&["guard", "uninstall", "--yes"]).more(&person);
    // The removal ends in the middle: the bindings are deleted, and one policy whose answer was lost.
    let proxy = cluster.proxy();
    let path = ".*/validatingadmissionpolicies/.*";
    proxy.fault(Fault::reset_after().on("DELETE", path).real().times(1));
    let ended = remove().through(&proxy).go();
    assert_eq!(ended.code, Some(6), "{}", ended.stderr);
    assert!(ended.stderr.contains("8 of 13 changes were made"), "{}", ended.stderr);
    assert_eq!(versions_of(&cluster).len(), 4);
    let report = cluster.audit(&[]);
    assert!(report.findings().any(|it| it.id() == "guard-not-enforced"), "{report}");
    let status = tool(&cluster, &["guard", "status"]);
    assert_eq!(status.code, Some(1), "{}", status.stdout);
    let binding = format!("missing: validatingadmissionpolicybinding/{CLAIMS}-deny");
    assert!(status.stdout.contains(&binding), "{}", status.stdout);
    // Repaired: what is left is not written again.
    let mark = cluster.mark();
    install(&cluster, &[]);
    let written = written(&cluster, mark);
    assert!(written.iter().all(|it| it.starts_with("create ")), "{written:#?}");
    assert_eq!(written.len(), 9, "{written:#?}");
    assert_eq!(versions_of(&cluster).len(), 13);
    in_force(&Asker::of(&cluster), "strict", Seen::Refused);
    // Removed: the first run is killed by its proxy, the second deletes the rest.
    proxy.fault(Fault::status(503).on("DELETE", path).real());
    assert_eq!(remove().through(&proxy).go().code, Some(6));
    let rest = remove().kubeconfig(cluster.kubeconfig()).go();
    assert_eq!(rest.code, Some(0), "{}", rest.stderr);
    assert_eq!(versions_of(&cluster).len(), 0);
}

/// A binding of somebody else that has a name of the guard.
#[test]
fn a_binding_of_others_is_never_touched() {
    let cluster = Cluster::start(Options::default());
    let binding = cluster.create(&json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {
            "name": format!("{CLAIMS}-deny"),
            // One mark of two: a deployment tool may set the label on anything.
            "labels": {"app.kubernetes.io/managed-by": "kubectl-storage"},
        },
        "spec": {"policyName": "theirs", "validationActions": ["Audit"]},
    }));
    for command in [&["guard", "install", "--yes"][..], &["guard", "install", "--yes", "--reset"]] {
        let refused = tool(&cluster, command);
        assert_eq!(refused.code, Some(5), "{}", refused.stderr);
        assert!(refused.stderr.contains("never changed by it"), "{}", refused.stderr);
        assert!(refused.stderr.contains(&format!("{CLAIMS}-deny")), "{}", refused.stderr);
    }
    let removed = tool(&cluster, &["guard", "uninstall", "--yes"]);
    assert_eq!(removed.code, Some(0), "{}", removed.stderr);
    let now = versions_of(&cluster);
    assert_eq!(now, [binding["metadata"]["resourceVersion"].clone()]);
}
