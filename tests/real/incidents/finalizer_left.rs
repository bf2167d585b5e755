//! The attacher was removed from a driver, and its finalizer is left on a volume that is deleted.

use serde_json::json;

use super::screen::screen;
use crate::support::{Cluster, DriverOptions, Options, Scenario, claim, eventually, pod};

const INCIDENT: &str = "04-finalizer-left";
const NAME: &str = "left.csi.example";
const FINALIZER: &str = "external-attacher/left-csi-example";
const SOON: [&str; 4] = ["--threshold", "detach=1s", "--threshold", "driver-action=1s"];

#[test]
#[ignore = "extended suite: incidents, played again"]
fn finalizer_left() {
    let cluster = Cluster::start(Options { nodes: 1, ..Options::COMPLETE });
    let on = Scenario::on(&cluster);
    let driver = cluster.start_driver(
        NAME,
        &DriverOptions { attach: true, attacher: true, ..DriverOptions::default() },
    );
    on.create(&claim("orders", &driver.class_delete));
    on.create(&pod("orders", "orders"));
    let volume = on.bound("orders");
    let object = format!("pv/{volume}");
    let handle = on.handle(&volume);
    let attachments = || on.cluster.list("", "volumeattachments");
    eventually("the volume is attached", || {
        attachments().iter().any(|it| it["status"]["attached"] == true)
    });
    assert!(on.has_finalizer(&object, FINALIZER));
    on.delete("pod/orders");
    eventually("it is detached", || attachments().is_empty());

    // The driver is installed again without its attacher.
    cluster.stop_component(&format!("{NAME}/attacher"));
    let (namespace, deployment) = ("csi-left-csi-example", "deployment/csi-controller");
    let now = on.cluster.get(namespace, deployment).expect("because it is installed");
    let mut containers = now["spec"]["template"]["spec"]["containers"].clone();
    let all = containers.as_array_mut().expect("because pods have some");
    all.retain(|it| !it["image"].as_str().is_some_and(|image| image.contains("attacher")));
    let patch = json!({"spec": {"template": {"spec": {"containers": containers}}}});
    on.cluster.patch(namespace, deployment, &patch);
    on.cluster.delete(namespace, "lease/external-attacher-leader-left-csi-example");
    on.delete("pvc/orders");
    eventually("it is Terminating", || {
        !on.read(&object)["metadata"]["deletionTimestamp"].is_null()
    });
    std::thread::sleep(std::time::Duration::from_secs(3));

    let audit = screen(&on, INCIDENT, &[&["audit"][..], &SOON].concat());
    let explain = screen(&on, INCIDENT, &[&["explain", &object][..], &SOON].concat());
    audit.says(&[
        &format!("pv/{volume} pv-stuck-attacher-finalizer: blocked by the external-attacher finalizer, although no attachment \
                  references it"),
        "Blocked: unknown whether external-attacher of left.csi.example is absent",
        "if external-attacher is started again, it removes the finalizer",
    ]);
    explain.says(&[
        "Released, Terminating for",
        "claim finalizer-left/orders (does not exist)",
        &format!("finalizers {FINALIZER}"),
        "if the backend volume still exists, no controller deletes it after this finalizer is removed (leak)",
        "external-attacher of left.csi.example; whether it runs is unknown",
        &format!("it should remove {FINALIZER}"),
        "if external-attacher is started again, it removes the finalizer",
        "If deleted: no change; it is Terminating already",
    ]);
    // csi-provisioner has deleted it already: that it will be leaked would be false.
    assert!(!driver.has(&handle));
    for screen in [&audit, &explain] {
        screen
            .never_says(&["external-attacher of left.csi.example is running", "after its removal"]);
    }

    // What is advised helps.
    cluster.start_component(&format!("{NAME}/attacher"));
    on.wait_gone(&object);
}
