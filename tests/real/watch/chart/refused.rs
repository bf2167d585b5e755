//! What the chart refuses, because it could not run, or would install something else than was asked for.

use serde_json::{Value, json};

use super::{HEADER, as_values, rendered, written};
use crate::support::Run;

#[track_caller]
fn refused(args: &[&str], why: &str) {
    let said = rendered(args).expect_err(why);
    assert!(said.contains(why), "{why}: {said}");
}

#[test]
#[ignore = "extended suite: tools of others"]
fn helm_refuses_what_could_not_run() {
    let folder = tempfile::tempdir().expect("because the temporary folder is writable");
    for (rest, values, why) in [
        ("", "replicas=2", "requires leaderElection"),
        ("", "monitoring.enabled=true", "requires report.metrics"),
        ("report: {metrics: {address: '0.0.0.0:0'}}", "", "a port is required"),
        ("report: {probes: {address: '0.0.0.0:0'}}", "", "a port is required"),
        (
            "report: {probes: {address: '0.0.0.0:1'}, metrics: {address: '[::]:1'}}",
            "",
            "give it another one",
        ),
        ("report: {webhook: {urlFile: url}}", "", "report.webhook.urlFile"),
        ("report: {webhook: {urlFile: /proc/self/url}}", "", "cannot be mounted"),
        ("report: {webhook: {urlFile: /etc/../url}}", "", "cannot be mounted"),
        ("report: {webhook: {urlFile: /etc/kubectl-storage/policy/url}}", "", "cannot be mounted"),
        (
            "report: {metrics: {address: '0.0.0.0:1', tls: {certFile: /a/c, keyFile: /b/k}}}",
            "",
            "must be in one folder",
        ),
        (
            "report: {webhook: {urlFile: /a/u}, metrics: {address: '0.0.0.0:1', tls: {certFile: /a/c, keyFile: /a/k}}}",
            "",
            "in different folders",
        ),
        ("reconcilers: {rescue: {mode: act}}", "", "act requires leaderElection"),
        ("bounds: {changesPerRun: 5}", "", "every reconciler is off"),
        ("clusterJournal: journals", "", "every reconciler is off"),
    ] {
        let policy = format!("{HEADER}{rest}\n");
        let file = written(folder.path(), "policy.yaml", &policy);
        // What the program refuses of a policy and its flags is refused here.
        let flags: &[&str] = match values {
            "replicas=2" => &["--replicas", "2"],
            "" => &[],
            _ => &["--monitoring"],
        };
        let printed = Run::of(&["watch", "print", "-f", &file]).more(flags).go();
        assert_eq!(printed.code, Some(2), "{policy}: {}", printed.stderr);
        refused(&["--set-file", &format!("policyFile={file}"), "--set", values], why);
        let merged = written(folder.path(), "values.yaml", &as_values(&policy));
        refused(&["-f", &merged, "--set", values], why);
    }
    // What the schema knows.
    for (values, why) in [
        ("polcy=a", "polcy"),
        ("policy.reconcilers.rescue.mode=false", "mode"),
        ("policy.thresholds.stuk=2h", "stuk"),
        ("act={rescu}", "act"),
        ("policy.clusterJournal=null", "clusterJournal"),
        ("policy.report.webhook=null", "webhook"),
        ("policy.leaderElection.name=null", "name"),
        ("image.tag=a b", "tag"),
        ("priorityClassName=a # b", "priorityClassName"),
        ("priorityClassName=a\nhostPID: true", "priorityClassName"),
    ] {
        refused(&["--set", values], why);
    }
    refused(&["--set", "policy=null"], "there is no policyFile");
    for namespace in ["default", "kube-system"] {
        refused(&["-n", namespace], "holds objects of others");
    }
}

/// Neither the schema nor helm reads a policy file: the templates take no name from it that could be another's, and no
/// value that the program refuses where it decides about an object.
#[test]
#[ignore = "extended suite: tools of others"]
fn helm_refuses_what_the_program_refuses_of_a_policy() {
    let folder = tempfile::tempdir().expect("because the temporary folder is writable");
    let too_long = format!("kubectl-storage-watch-{}", "a".repeat(232));
    let election = |key: &str, name: &str| json!({"leaderElection": {key: name}});
    let journal = |name: Value| json!({"clusterJournal": name, "reconcilers": {"rescue": {"mode": "report"}}});
    let reclaim = |of: Value| json!({"leaderElection": {}, "reconcilers": {"reclaim": of}});
    let metrics = |address: &str| json!({"report": {"metrics": {"address": address}}});
    for (rest, why) in [
        // A binding to a role of others would give what that has.
        (election("name", "cluster-admin # x"), "leaderElection.name"),
        (election("name", "cluster-admin"), "leaderElection.name"),
        (election("name", "edit"), "leaderElection.name"),
        (election("name", "a\nb"), "leaderElection.name"),
        (election("name", "kubectl-storage-watch\nb"), "leaderElection.name"),
        (election("name", "kubectl-storage-watch\n"), "leaderElection.name"),
        (election("name", &too_long), "longer than 253"),
        (election("name", ""), "leaderElection.name"),
        (election("namespace", "kube-system # x"), "leaderElection.namespace"),
        (election("namespace", "-a"), "leaderElection.namespace"),
        (election("namespace", ""), "leaderElection.namespace"),
        (json!({"leaderElection": {"name": null}}), "leaderElection.name"),
        (json!({"leaderElection": null}), "leaderElection: expected keys and values"),
        (journal(json!("a.b")), "clusterJournal"),
        (journal(json!("a-")), "clusterJournal"),
        (journal(json!("a".repeat(64))), "clusterJournal"),
        (journal(json!(12)), "clusterJournal"),
        (journal(Value::Null), "clusterJournal"),
        (reclaim(json!({"mode": "act"})), "reclaim.olderThan"),
        (reclaim(json!({"mode": "report", "grace": "72h"})), "reclaim.olderThan"),
        (reclaim(json!({"mode": "act", "olderThan": "30d"})), "reclaim.grace"),
        (reclaim(json!({"mode": "act", "olderThan": "30d", "grace": "3"})), "reclaim.grace"),
        (reclaim(json!({"mode": "acts"})), "reclaim.mode"),
        (reclaim(json!("act")), "reconcilers.reclaim: expected keys and values"),
        (metrics("localhost:8443"), "no address with a port"),
        (metrics(":8443"), "no address with a port"),
        (metrics("0.0.0.256:8443"), "no address with a port"),
        (metrics("0.0.0.0"), "no address with a port"),
        (metrics("0.0.0.0:65536"), "at most 65535"),
        (metrics("[::]:000"), "a port is required"),
        (json!({"report": {"metrics": {"address": 8443}}}), "no address with a port"),
        (json!({"report": {"probes": {"address": null}}}), "no address with a port"),
        (json!({"report": {"metrics": null}}), "report.metrics: expected keys and values"),
        (json!({"report": {"webhook": {}}}), "report.webhook.urlFile"),
        (json!({"report": {"metrics": {"address": "[::1]:1", "tls": {}}}}), "metrics.tls.certFile"),
    ] {
        let mut policy: Value = serde_yaml::from_str(HEADER).expect("because it is YAML");
        let fields = policy.as_object_mut().expect("because it is a mapping");
        fields.extend(rest.as_object().expect("because it is a mapping").clone());
        is_refused_alike(&written(folder.path(), "policy.yaml", &policy.to_string()), why);
        // As values the schema refuses most of it. Null takes out what the chart has.
        if !policy.to_string().contains("null") {
            let values = written(folder.path(), "values.yaml", &as_values(&policy.to_string()));
            assert!(rendered(&["-f", &values]).is_err(), "{policy}");
        }
    }
    for (text, why) in [
        ("", "the policy is empty"),
        (" \n", "the policy is empty"),
        ("# nothing\n", "the policy is empty"),
        ("null", "the policy is empty"),
        ("kind: [", "policyFile: "),
        ("[]", "policyFile: "),
        ("kind: WatchPolicy", "apiVersion must be"),
        (&HEADER.replace("WatchPolicy", "Policy"), "kind must be"),
        (&format!("{HEADER}---\n{HEADER}"), "a second document"),
        (&format!("# a\n---\n{HEADER}--- \n{HEADER}"), "a second document"),
        (&format!("{HEADER}...\n{HEADER}"), "a second document"),
    ] {
        is_refused_alike(&written(folder.path(), "policy.yaml", text), why);
    }
    // What is set beside it would not be in force.
    let file = written(folder.path(), "policy.yaml", &format!("# a\n---\n{HEADER}...\n"));
    let given = format!("policyFile={file}");
    rendered(&["--set-file", &given]).expect("it is one document");
    let both = ["--set-file", &given, "--set", "policy.report.events.severity=low"];
    refused(&both, "policy is of no use beside policyFile");
}

/// The program says no to a policy file, and the chart says why.
#[track_caller]
fn is_refused_alike(file: &str, why: &str) {
    let printed = Run::of(&["watch", "print", "-f", file]).go();
    assert_eq!(printed.code, Some(2), "{why}: {}", printed.stderr);
    refused(&["--set-file", &format!("policyFile={file}")], why);
}
