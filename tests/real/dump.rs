//! A dump tells what the cluster told.

use serde_json::Value;

use crate::leaky::leaky;
use crate::support::{Report, Run};

/// Everything that the tool reads, in the words of kubectl.
const KINDS: &str = "pv,pvc,pods,nodes,namespaces,events,rc,storageclasses,csidrivers,csinodes,volumeattachments,\
    statefulsets,deployments,replicasets,daemonsets,jobs,cronjobs,leases,hpa,volumeattributesclasses";

fn audit_dump(file: &str, args: &[&str], stdin: &str) -> Report {
    Run::of(&["audit", "-o", "json", "-f", file]).more(args).stdin(stdin).go().report()
}

#[test]
fn a_dump_says_the_same() {
    let folder = tempfile::tempdir().expect("because the temporary folder is writable");
    for name in ["saved.json", "saved.json.gz"] {
        let file = folder.path().join(name).display().to_string();
        let before = leaky().mark();
        let outcome = Run::of(&["dump", &file]).kubeconfig(leaky().kubeconfig()).go();
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        leaky().assert_no_write(before);
        let live = leaky().audit(&[]);
        assert!(live.findings().count() >= 15, "{live}");
        let saved = audit_dump(&file, &[], "");
        assert_eq!(saved.pairs(), live.pairs());
        assert_eq!(saved.json["gaps"], live.json["gaps"]);
        assert_eq!(saved.json["summary"], live.json["summary"]);
        assert_eq!(live.json["metadata"]["source"], "live");
        assert_eq!(saved.json["metadata"]["source"], "dump");
    }
}

/// What kubectl prints has no answers to questions, and does not say of which kinds there is nothing.
#[test]
fn kubectl_output_says_the_same_where_it_can() {
    let live = leaky().audit(&[]);
    let printed = leaky().kubectl(&["get", KINDS, "-A", "-o", "json", "--show-managed-fields"]);

    let piped = audit_dump("-", &[], &printed);
    let gaps = piped.json["gaps"].to_string();
    for (id, object) in live.pairs().difference(&piped.pairs()) {
        let told = gaps.contains(id.as_str()) || only_asked(id);
        assert!(told, "{id} about {object} is missing, and no gap says so: {piped}");
    }
    let mut more: Vec<_> = piped.pairs().difference(&live.pairs()).cloned().collect();
    // Without the server's version it might be one that lets such a volume go.
    more.retain(|(id, object)| (id.as_str(), object.as_str()) != ("pv-leak-imminent", "pv/wiki"));
    assert!(more.is_empty(), "only in what kubectl printed: {more:?}");

    let complete = audit_dump("-", &["--complete", "all"], &printed);
    for (id, object) in live.pairs().difference(&complete.pairs()) {
        assert!(only_asked(id), "{id} about {object} is missing: {complete}");
    }
    let severities = |report: &Report| -> Vec<(String, Value)> {
        report
            .findings()
            .map(|it| (format!("{} {}", it.id(), it.object()), it.0["severity"].clone()))
            .collect()
    };
    let (ours, theirs) = (severities(&live), severities(&complete));
    for finding in &theirs {
        let unsure = finding.0 == "pv-leak-imminent pv/wiki";
        assert!(unsure || ours.contains(finding), "{finding:?} is not in the live report: {live}");
    }
}

/// Only a live audit can ask for a Secret, for the rights of a `ServiceAccount`, and for the server's version.
fn only_asked(id: &str) -> bool {
    ["pv-deletion-secret-missing", "provisioner-rbac-missing-patch", "pv-intree-plugin-removed"]
        .contains(&id)
}
