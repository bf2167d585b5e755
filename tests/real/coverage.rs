//! Users who may not see everything (D-52).

use std::thread::sleep;
use std::time::Duration;

use serde_json::json;

use crate::support::{Cluster, Options, PersistentVolume, Run, STILL, Scenario, claim, eventually};

/// Rights to list cluster-wide kinds and claims; pods only in the namespaces of Roles.
fn grant_all_but_pods(cluster: &Cluster, user: &str) {
    let groups = [
        (
            "",
            vec![
                "persistentvolumes",
                "persistentvolumeclaims",
                "nodes",
                "namespaces",
                "events",
                "replicationcontrollers",
            ],
        ),
        ("storage.k8s.io", vec!["*"]),
        ("apps", vec!["*"]),
        ("batch", vec!["*"]),
        ("coordination.k8s.io", vec!["*"]),
        ("autoscaling", vec!["*"]),
    ];
    let rules: Vec<_> = groups
        .iter()
        .map(|(group, resources)| json!({"apiGroups": [group], "resources": resources, "verbs": ["get", "list", "watch"]}))
        .collect();
    cluster.grant(user, &json!(rules));
}

fn grant_pods(cluster: &Cluster, user: &str, namespace: &str) {
    cluster.create(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": user, "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    }));
}

#[test]
fn d_52_pods_of_one_namespace_are_forbidden() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let on = Scenario::on(&cluster);
    for namespace in ["open", "closed"] {
        cluster.kubectl(&["create", "namespace", namespace]);
        let name = format!("of-{namespace}");
        on.create(
            &PersistentVolume::csi(&name, "any.csi.example", &name)
                .reserved_for(namespace, "data")
                .0,
        );
        let mut claim = claim("data", "");
        claim["metadata"]["namespace"] = json!(namespace);
        claim["spec"]["volumeName"] = json!(name);
        cluster.create(&claim);
        on.wait_phase(&format!("pv/{name}"), "Bound");
    }
    grant_all_but_pods(&cluster, "user-1");
    for namespace in cluster.kubectl(&["get", "namespaces", "-o", "name"]).lines() {
        let namespace = namespace.trim_start_matches("namespace/");
        if namespace != "closed" {
            grant_pods(&cluster, "user-1", namespace);
        }
    }

    let mut report = cluster.audit_as(&cluster.kubeconfig_of("user-1"), &[]);
    for _ in 0..5 {
        // The authorizer learns of new roles a moment later.
        if report.gaps().len() == 2 {
            break;
        }
        sleep(Duration::from_secs(1));
        report = cluster.audit_as(&cluster.kubeconfig_of("user-1"), &[]);
    }
    assert_eq!(report.code, Some(4), "{report}");
    assert!(report.has_gap("pods", Some("closed")), "{report}");
    // The whole was not seen either: namespaces one by one do not add up to it.
    assert!(report.has_gap("pods", None), "{report}");
    assert_eq!(report.gaps().len(), 2, "{report}");
    report.expect_not("pvc/closed/data", "pvc-unused");
    report.finding("pvc-unused", "pvc/open/data").expect("low", "report-only");
    assert_eq!(report.json["summary"]["volumes"], 2, "{report}");
    assert_eq!(report.json["summary"]["claims"], 2, "{report}");
    let closed = cluster.audit_as(&cluster.kubeconfig_of("user-1"), &["-n", "open"]);
    assert!(closed.code == Some(0) || closed.has_gap("pods", Some("closed")), "{closed}");
}

#[test]
fn d_52_everything_is_forbidden() {
    let on = Scenario::on(&STILL);
    let name = on.named("unseen");
    on.create(&PersistentVolume::csi(&name, "any.csi.example", &name).0);
    let report = STILL.audit_as(&STILL.kubeconfig_of("user-20"), &[]);
    assert_eq!(report.code, Some(4), "{report}");
    assert_eq!(report.findings().count(), 0, "{report}");
    for resource in
        ["persistentvolumes", "persistentvolumeclaims", "pods", "nodes", "volumeattachments"]
    {
        assert!(report.has_gap(resource, None), "no gap for {resource}: {report}");
    }
    let gap = report.gaps().iter().find(|gap| gap["resource"] == "persistentvolumes");
    let ids = gap.expect("because it was just seen")["ids"].to_string();
    assert!(ids.contains("pv-released-past-threshold"), "what could not be judged: {ids}");
    assert!(
        !report.stderr.to_lowercase().contains("no findings"),
        "silence is no health: {report}"
    );
}

/// A namespace that does not exist is an error where that can be known, and else a gap: never silence.
#[test]
fn a_namespace_that_does_not_exist_is_told() {
    let on = Scenario::on(&STILL);
    on.create(&claim("waits", ""));
    let typo = format!("{}x", on.name);
    for command in [&["audit"][..], &["gc", "--older-than", "7d"], &["retention"]] {
        let run = Run::of(command).more(&["-n", &typo]).kubeconfig(STILL.kubeconfig()).go();
        assert_eq!(run.code, Some(1), "{command:?}: {}", run.stderr);
        let told = format!("error: no namespace {typo} in this cluster\nhint: did you mean ");
        assert!(run.stderr.contains(&told) && run.stderr.contains(&format!("mean {}", on.name)));
    }
    let both = format!("{},default", on.name);
    let both = Run::of(&["audit", "-o", "json", "-n", &both]).kubeconfig(STILL.kubeconfig()).go();
    let report = both.report();
    assert!(!report.has_gap("namespaces", None), "{report}");

    // Who may neither list namespaces nor ask for this one learns that it may not exist. A claim proves that it does.
    let user = on.named("claims");
    let resources = ["persistentvolumeclaims"];
    let verbs = ["get", "list", "watch"];
    STILL.grant(&user, &json!([{"apiGroups": [""], "resources": resources, "verbs": verbs}]));
    let doubted = |namespace: &str| {
        let run = Run::of(&["audit", "-o", "json", "-n", namespace, "--as", &user]);
        let run = run.kubeconfig(STILL.kubeconfig()).go();
        assert_eq!(run.code, Some(4), "{}", run.stderr);
        run.report().has_gap("namespaces", None)
    };
    eventually("the authorizer knows the right to list claims", || !doubted(&on.name));
    assert!(doubted(&typo));
}
