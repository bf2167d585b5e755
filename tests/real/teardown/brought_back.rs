//! What would bring pods back is found before, and what does is named.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{by_pipeline, deployment, lines};
use crate::support::{Admin, Scenario, Told, claim, eventually, shared};

/// An HPA, and marks of Argo CD and Flux, are named with the command that stops each.
#[test]
fn what_would_bring_pods_back_is_named() {
    let on = Scenario::on(shared());
    let driver = on.cluster.driver_without_attachments();
    on.create(&claim("web", &driver.class_delete));
    let mut web = deployment("web", "web");
    web["metadata"]["annotations"] =
        json!({"argocd.argoproj.io/tracking-id": format!("shop:apps/Deployment:{}/web", on.name)});
    web["metadata"]["labels"] = json!({
        "kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux",
    });
    on.create(&web);
    on.create(&json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"},
        "spec": {"minReplicas": 1, "maxReplicas": 3,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
    }));
    on.bound("web");
    let admin = Admin::of(&on);
    let exclusive = format!("--backend-exclusive={}", driver.name);
    let told = admin.run(&["teardown", "--dry-run", "-n", &on.name, &exclusive]).ends(0);
    let commands: Vec<_> =
        told.listed("keepers").iter().filter_map(|it| it["command"].as_str()).collect();
    let hpa = format!("kubectl delete hpa web -n {}", on.name);
    for command in
        ["argocd app set shop --sync-policy none", "flux suspend kustomization apps -n flux", &hpa]
    {
        assert!(commands.contains(&command), "{command}: {commands:?}");
    }
}

/// A loop that scales up again is named by its field manager; nothing is destroyed, and `undo` starts what was stopped.
#[test]
#[ignore = "extended suite: further cases"]
fn who_starts_a_workload_again_is_named() {
    let on = Scenario::on(shared());
    let driver = on.cluster.driver_without_attachments();
    on.create(&claim("web", &driver.class_delete));
    on.create(&deployment("web", "web"));
    let volume = on.bound("web");
    let handle = on.handle(&volume);
    let admin = Admin::of(&on);
    let exclusive = format!("--backend-exclusive={}", driver.name);
    let mark = on.cluster.mark();
    let args = ["--destroy-data", "-n", &on.name, &exclusive, "--max=1"];
    let mut running = by_pipeline(&admin, on.cluster.kubeconfig(), &args).start();
    while !running.has_ended() {
        if on.read("deploy/web")["spec"]["replicas"] == 0 {
            on.patch("deploy/web", &json!({"spec": {"replicas": 1}}));
        }
        thread::sleep(Duration::from_millis(50));
    }
    let told = Told::of(running.finish());
    let told = told.ends(6).says(&["was stopped 3 times", "field manager"]);
    assert_eq!(told.listed("volumes")[0]["outcome"], "left", "{:#}", told.json);
    let sent = lines(&admin.sent(mark));
    let stops = sent.iter().filter(|it| it.contains("deployments web")).count();
    assert!(stops <= 3, "{sent:?}");
    assert!(!sent.iter().any(|it| it.starts_with("delete persistentvolumeclaims")), "{sent:?}");
    assert!(driver.has(&handle));

    // The person has stopped the loop, stops the workload by another run, and changes their mind.
    let mut stopped = on.read("deploy/web");
    assert_eq!(stopped["spec"]["replicas"], 1);
    on.patch("deploy/web", &json!({"spec": {"replicas": 0}}));
    stopped = on.read("deploy/web");
    assert_eq!(stopped["metadata"]["annotations"]["storage.kubectl.dev/stopped-from"], "1 replica");
    let entry = admin.run(&["journal"]);
    let entries: Vec<Value> =
        entry.json["journals"][0]["entries"].as_array().cloned().unwrap_or_default();
    let number = entries.iter().rev().find(|it| it["action"] == "scale-workload");
    let number = number.unwrap_or_else(|| panic!("{:#}", entry.json))["name"].clone();
    let number = number.as_str().expect("because an entry has a name").to_owned();
    admin.run(&["undo", &number, "--yes"]).ends(0);
    eventually("it runs again", || on.read("deploy/web")["spec"]["replicas"] == 1);
    let annotations = &on.read("deploy/web")["metadata"]["annotations"];
    assert_eq!(annotations["storage.kubectl.dev/stopped-from"], Value::Null);
}
