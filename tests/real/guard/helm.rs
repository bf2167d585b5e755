//! `helm uninstall` of a chart with a `StatefulSet`, as helm 3 sends it (`pkg/kube/client.go`: `rdelete`): a DELETE of
//! each object, with background propagation, which goes on past what is refused.

use http::Method;
use serde_json::{Value, json};

use super::ask::{Actor, Answer, Asked, Asker, JSON, Seen};
use super::world::{fill, install, namespace, tool};
use crate::support::{Cluster, Options, eventually};

/// What `version.GetUserAgent` of helm 3.16.4 returns.
const HELM: &str = "Helm/3.16.4";
const SET: &str = "/apis/apps/v1/namespaces/strict/statefulsets/destroys";

fn delete(path: &str, propagation: &str) -> Asked {
    Asked {
        method: Method::DELETE,
        path: path.to_owned(),
        content: JSON,
        body: json!({"propagationPolicy": propagation}),
    }
}

/// Uninstalls the release: returns the answers about its set and the rest.
fn uninstall(asker: &Asker, propagation: &str) -> [Answer; 3] {
    let person = Actor::person();
    [SET, "/api/v1/namespaces/strict/services/web", "/api/v1/namespaces/strict/configmaps/web"]
        .map(|path| asker.ask_by(HELM, &person, &delete(path, propagation)))
}

/// Waits until the guard refuses the deletion of the set.
fn in_force(asker: &Asker) {
    let mut dry = delete(SET, "Background");
    dry.body["dryRun"] = json!(["All"]);
    eventually("the guard is in force", || {
        asker.ask(&Actor::person(), &dry).seen() == Seen::Refused
    });
}

fn chart(cluster: &Cluster) {
    for object in [
        json!({"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80}]}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap"}),
    ] {
        let mut object: Value = object;
        object["metadata"] = json!({"name": "web", "namespace": "strict"});
        cluster.create(&object);
    }
}

/// A cluster with the release, whose set the guard protects.
fn released(options: Options) -> (Cluster, Asker) {
    let cluster = Cluster::start(options);
    namespace(&cluster, "strict", Some("deny"));
    fill(&cluster, "strict");
    chart(&cluster);
    install(&cluster, &[]);
    let asker = Asker::of(&cluster);
    in_force(&asker);
    (cluster, asker)
}

#[test]
fn helm_uninstall_of_a_chart_with_a_set_is_refused_and_ends_after_the_tool_deleted_the_set() {
    let (cluster, asker) = released(Options::CONTROLLERS);
    // The set stays with its claims, the rest of the chart is deleted; helm reports the refusal, and keeps the release.
    let [set, service, map] = uninstall(&asker, "Background");
    assert_eq!(set.seen(), Seen::Refused);
    for words in
        ["kubectl storage delete sts destroys -n strict", "--cascade=orphan", "--as-group="]
    {
        assert!(set.text.contains(words), "{}", set.text);
    }
    assert_eq!([service.seen(), map.seen()], [Seen::Passed; 2]);
    let [set, ..] = uninstall(&asker, "Foreground");
    assert_eq!(set.seen(), Seen::Refused, "helm uninstall --cascade=foreground");
    assert!(cluster.get("strict", "sts/destroys").is_some());

    // What the message names; helm takes what is absent for deleted.
    let done =
        tool(&cluster, &["delete", "sts", "destroys", "-n", "strict", "--yes", "--cascade=orphan"]);
    assert_eq!(done.code, Some(0), "{}\n{}", done.stdout, done.stderr);
    eventually("the set is deleted", || cluster.get("strict", "sts/destroys").is_none());
    let [set, ..] = uninstall(&asker, "Background");
    assert_eq!(set.code, 404, "{set:?}");
}

/// `helm uninstall --cascade=orphan` keeps pods and claims, and passes.
#[test]
fn helm_uninstall_with_cascade_orphan_passes() {
    let (_cluster, asker) = released(Options::default());
    let [set, ..] = uninstall(&asker, "Orphan");
    assert_eq!(set.seen(), Seen::Passed);
}
