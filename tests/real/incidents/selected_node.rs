//! Incident 6: the scheduler selected a node for a claim; the node was removed, and its per-node provisioner with it.

use std::thread::sleep;
use std::time::Duration;

use serde_json::json;

use super::copied;
use super::screen::screen;
use crate::support::{Cluster, DriverOptions, Options, Scenario, claim, eventually, pod};

const INCIDENT: &str = "06-selected-node";
const DRIVER: &str = "local.csi.example";

#[test]
#[ignore = "extended suite: incidents, played again"]
fn i_06_selected_node_does_not_exist() {
    let cluster = Cluster::start(Options::COMPLETE);
    let on = Scenario::on(&cluster);
    // It provisions for node-1 only, and looks at no claim of another node.
    let options = DriverOptions {
        attach: false,
        provisioner_args: &["--node-deployment=true"],
        ..DriverOptions::default()
    };
    let _driver = cluster.start_driver(DRIVER, &options);
    on.create(&json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "local"},
        "provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer",
    }));
    let mut placed = claim("data", "local");
    placed["metadata"]["annotations"] = json!({"volume.kubernetes.io/selected-node": "worker-7"});
    on.create(&placed);
    let mut user = pod("db-0", "data");
    user["spec"]["nodeSelector"] = json!({"kubernetes.io/hostname": "node-1"});
    on.create(&user);
    eventually("the scheduler rejects the pod", || {
        cluster.kubectl(&["get", "events", "-n", &on.name]).contains("FailedScheduling")
    });
    sleep(Duration::from_secs(31)); // until then its provisioner may remove the annotation
    assert_eq!(on.read("pvc/data")["status"]["phase"], "Pending");

    let audit = screen(&on, INCIDENT, &["audit"]);
    audit.says(&["pvc-stale-selected-node", "worker-7", "does not exist"]);
    let explained = screen(&on, INCIDENT, &["explain", "pvc/data", "-n", &on.name]);
    explained.says(&[
        &format!("pvc/{}/data  Pending", on.name),
        "waits for a volume on node worker-7, which does not exist",
        DRIVER,
        "po/i-06-selected-node-does-not-exist/db-0",
        "Pending, not scheduled",
    ]);
    // What it should do next is to be copied, and it is what helps.
    let repair =
        format!("kubectl annotate pvc data -n {} volume.kubernetes.io/selected-node-", on.name);
    explained.says(&[&repair]);
    explained.never_says(&["is destroyed", "absent"]);
    copied::run(&cluster, &repair);
    on.bound("data");
    eventually("the pod runs", || on.read("pod/db-0")["status"]["phase"] == "Running");
    let audit = screen(&on, "06-selected-node-after", &["audit"]);
    audit.never_says(&["pvc-stale-selected-node"]);
}
