//! A node was removed with a volume attached, its kubelet is silent, and the pod that replaces the lost one waits.

use serde_json::json;

use super::screen::screen;
use crate::support::{Cluster, DriverOptions, Options, Scenario, claim, eventually};

const INCIDENT: &str = "03-node-gone";
const NAME: &str = "attached.csi.example";

#[test]
#[ignore = "extended suite: incidents, played again"]
fn node_gone() {
    let cluster = Cluster::start(Options { nodes: 2, ..Options::COMPLETE });
    let on = Scenario::on(&cluster);
    let driver = cluster.start_driver(
        NAME,
        &DriverOptions { attach: true, attacher: true, ..DriverOptions::default() },
    );
    on.create(&claim("orders", &driver.class_delete));
    on.create(&json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "orders"},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": "orders"}},
            "template": {
                "metadata": {"labels": {"app": "orders"}},
                "spec": {
                    "containers": [{"name": "main", "image": "none"}],
                    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "orders"}}],
                },
            },
        },
    }));
    let volume = on.bound("orders");
    let attachments = || on.cluster.list("", "volumeattachments");
    eventually("the volume is attached", || {
        attachments().iter().any(|it| it["status"]["attached"] == true)
    });
    let attachment = attachments().remove(0);
    let node = attachment["spec"]["nodeName"].as_str().expect("because it names one").to_owned();
    let first = on.cluster.list(&on.name, "pods").remove(0);

    on.cluster.stop_component("kwok");
    // As the kubelet of that node said last.
    let in_use = format!("kubernetes.io/csi/{NAME}^{}", on.handle(&volume));
    on.patch_status(&format!("node/{node}"), &json!({"status": {"volumesInUse": [in_use]}}));
    on.delete(&format!("node/{node}"));
    on.wait_gone(&format!("node/{node}"));
    // Nobody else ends a pod whose kubelet is silent for 40 seconds.
    let lost = first["metadata"]["name"].as_str().expect("because it has one");
    let lost = format!("pod/{lost}");
    on.cluster.kubectl(&["delete", &lost, "-n", &on.name, "--force", "--grace-period=0"]);
    let next = || {
        let pods = on.cluster.list(&on.name, "pods");
        let next = pods.iter().find(|it| {
            it["metadata"]["uid"] != first["metadata"]["uid"]
                && it["metadata"]["deletionTimestamp"].is_null()
        });
        next.map(|it| it["metadata"]["name"].as_str().expect("because it has one").to_owned())
    };
    eventually("its pod is replaced", || next().is_some());
    let pod = next().expect("because it was just there");
    eventually("the next pod waits", || {
        let events = on.cluster.list(&on.name, "events");
        events
            .iter()
            .any(|it| it["involvedObject"]["name"] == *pod && it["reason"] == "FailedAttachVolume")
    });
    std::thread::sleep(std::time::Duration::from_secs(3));

    let soon = ["--threshold", "detach=1s"];
    let audit = screen(&on, INCIDENT, &[&["audit"][..], &soon].concat());
    let object = format!("pod/{pod}");
    let explain =
        screen(&on, INCIDENT, &[&["explain", &object, "-n", &on.name][..], &soon].concat());
    let name = attachment["metadata"]["name"].as_str().expect("because it has one");
    audit.says(&[
        &format!("va-node-missing: node {node} does not exist: the volume may still be attached to its machine"),
        &format!("and po/{}/{pod} that waits for it", on.name),
        "make sure that the machine is off:",
        &format!("kubectl storage fix-finalizers \\ volumeattachment/{name}"),
    ]);
    explain.says(&[
        "Pending for",
        &format!("pv/{volume} is attached to node {node} (does not exist), where no pod uses it"),
        &format!("volumeattachment/{name} va-node-missing"),
        &format!("Error: Multi-Attach error for volume \"{volume}\""),
        "Controller: kube-controller-manager is running",
        "kube-controller-manager detaches it after six minutes",
        "once the machine is known to be off",
        &format!("kubectl storage fix-finalizers volumeattachment/{name}"),
        &format!("If deleted: pvc/{}/orders kept", on.name),
    ]);
    for screen in [&audit, &explain] {
        screen.never_says(&["No findings", "destroyed", "--force", &lost]);
    }
}
