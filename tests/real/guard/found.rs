//! What an audit finds of the guard, and what it says where it cannot look.

use serde_json::{Value, json};

use super::world::{install, namespace, tool};
use crate::support::{Cluster, Options, Report, eventually};

const CLAIMS: &str = "kubectl-storage-guard-persistentvolumeclaims";
const RULES: [&str; 3] = ["guard-changed", "guard-not-enforced", "guard-label-unknown"];

/// The findings about the guard: id and name of the object.
fn found(report: &Report) -> Vec<(String, String)> {
    let name = |it: &Value| it["object"]["name"].as_str().unwrap_or_default().to_owned();
    let about = report.findings().filter(|it| RULES.contains(&it.id()));
    let mut all: Vec<_> = about.map(|it| (it.id().to_owned(), name(it.0))).collect();
    all.sort();
    all
}

fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(id, name)| ((*id).to_owned(), (*name).to_owned())).collect()
}

/// The text of all evidence of a finding.
fn evidence(report: &Report, id: &str) -> String {
    let one = report.findings().find(|it| it.id() == id);
    one.unwrap_or_else(|| panic!("no {id}: {report}")).0["evidence"].to_string()
}

#[test]
fn what_is_edited_deleted_and_misspelt_is_found() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    namespace(&cluster, "strict", Some("deny"));
    // Nothing is installed, and a namespace relies on it.
    let report = cluster.audit(&[]);
    assert_eq!(found(&report), pairs(&[("guard-not-enforced", "strict")]), "{report}");
    install(&cluster, &[]);
    assert_eq!(found(&cluster.audit(&[])), [], "an installed guard is fine");

    namespace(&cluster, "typo", Some("Deny"));
    let report = cluster.audit(&[]);
    assert_eq!(found(&report), pairs(&[("guard-label-unknown", "typo")]), "{report}");
    assert!(evidence(&report, "guard-label-unknown").contains("Deny"), "{report}");
    cluster.kubectl(&["label", "namespace", "typo", "storage.kubectl.dev/guard-"]);

    // Policies are edited: who is looked at, and what happens on failure.
    let policy = format!("validatingadmissionpolicy/{CLAIMS}");
    cluster.patch("", &policy, &json!({"spec": {"failurePolicy": "Ignore"}}));
    let report = cluster.audit(&[]);
    assert_eq!(found(&report), pairs(&[("guard-changed", CLAIMS)]), "{report}");
    assert!(evidence(&report, "guard-changed").contains("spec.failurePolicy"), "{report}");

    let binding = format!("{CLAIMS}-deny");
    cluster.delete("", &format!("validatingadmissionpolicybinding/{binding}"));
    let report = cluster.audit(&[]);
    let both = pairs(&[("guard-changed", CLAIMS), ("guard-not-enforced", CLAIMS)]);
    assert_eq!(found(&report), both, "{report}");
    assert!(evidence(&report, "guard-not-enforced").contains(&binding), "{report}");

    // What audit names repairs it.
    install(&cluster, &[]);
    assert_eq!(found(&cluster.audit(&[])), []);

    // An expression whose types do not fit, which kube-controller-manager says.
    let broken = json!({"spec": {"validations": [
        {"expression": "oldObject.spec.volumeName > 3", "message": "no"},
    ]}});
    cluster.patch("", &policy, &broken);
    eventually("the types are checked", || {
        let report = cluster.audit(&[]);
        found(&report) == both
            && evidence(&report, "guard-not-enforced").contains("status.typeChecking")
    });
    let status = tool(&cluster, &["guard", "status"]);
    assert_eq!(status.code, Some(1), "{}", status.stdout);
    assert!(status.stdout.contains(&format!("types: {CLAIMS}: ")), "{}", status.stdout);
}

/// Who may not list policies gets no finding; a gap where a namespace relies on the guard, and then once.
#[test]
fn who_may_not_look_is_told_once_and_only_where_it_matters() {
    let cluster = Cluster::start(Options::default());
    let all = json!([
        {"apiGroups": ["", "apps", "batch", "autoscaling", "storage.k8s.io", "coordination.k8s.io"],
         "resources": ["*"], "verbs": ["get", "list", "watch"]},
    ]);
    cluster.grant("user-1", &all);
    let audit = || cluster.audit_as(&cluster.kubeconfig_of("user-1"), &[]);
    eventually("the rights are known", || audit().gaps().is_empty());
    for name in ["strict", "stricter"] {
        namespace(&cluster, name, Some("deny"));
    }
    let report = audit();
    assert_eq!(found(&report), [], "{report}");
    assert_eq!(report.gaps().len(), 1, "{report}");
    assert_eq!(report.gaps()[0]["resource"], "validatingadmissionpolicies", "{report}");
    assert_eq!(report.gaps()[0]["ids"], json!(["guard-not-enforced"]), "{report}");
    assert_eq!(report.code, Some(4), "{report}");
    let about = report.stderr.lines().filter(|it| it.starts_with("Incomplete: 1 kind is missing"));
    assert_eq!(about.count(), 1, "{report}");
}
