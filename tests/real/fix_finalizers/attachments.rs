//! Disks that are attached, or were: the attacher's finalizer, and attachments whose volume is gone.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use super::{
    Admin, EXTERNAL, PV_PROTECTION, STILL, because, fix, grow_old, lines, one_removal,
    set_finalizers,
};
use crate::support::{
    Cluster, Driver, DriverOptions, Options, PersistentVolume, Scenario, claim, eventually, never,
    pod, shared,
};

const ATTACHER: &str = "external-attacher/d33-csi-example";

/// Volumes whose provisioner is there, and whose attacher is not: held by the attacher's finalizer alone.
///
/// In a cluster of its own: a driver that is registered there is not absent, so its registration goes.
#[test]
fn d_33_nobody_deletes_the_backend_once_the_attachers_finalizer_goes() {
    let cluster = Cluster::start(Options { nodes: 1, ..Options::COMPLETE });
    let on = Scenario::on(&cluster);
    let driver = cluster.start_driver("d33.csi.example", &DriverOptions::default());
    for name in ["leaked", "reclaimed"] {
        on.create(&claim(name, &driver.class_retain));
    }
    let volumes = ["leaked", "reclaimed"].map(|name| on.bound(name));
    for (claimed, name) in ["leaked", "reclaimed"].iter().zip(&volumes) {
        let object = format!("pv/{name}");
        on.wait_finalizer(&object, EXTERNAL, false);
        set_finalizers(&on, &object, &[PV_PROTECTION, ATTACHER]);
        on.delete(&format!("pvc/{claimed}"));
        on.wait_phase(&object, "Released");
        on.terminate(name);
        on.wait_finalizer(&object, PV_PROTECTION, false);
        on.set_policy(name, "Delete");
    }
    on.delete("csidriver/d33.csi.example");
    on.patch("csinode/node-1", &json!({"spec": {"drivers": []}}));
    grow_old();

    let admin = Admin::of(&on);
    leaked(&admin, &driver, &volumes[0]);
    reclaimed(&admin, &driver, &volumes[1]);
}

fn leaked(admin: &Admin, driver: &Driver, name: &str) {
    let (on, object) = (admin.on, format!("pv/{name}"));
    let (handle, before) = (on.handle(name), on.read(&object));
    let report = admin.audit(&super::SOON);
    report.finding("pv-stuck-attacher-finalizer", &object).severe("high").says(&["backend"]);
    let word = ["--driver-absent", &driver.name];
    let args = fix(&[&[&*object, "--yes"][..], &word].concat());
    because(&admin.refused(5, &fix(&[&object, "--yes"])), name, &["external-attacher", "unknown"]);
    because(&admin.refused(5, &args), name, &["--accept-leak", "--reclaim"]);
    // Both at once cannot be meant.
    let both = [&args[..], &["--accept-leak", "--reclaim"]].concat();
    admin.refused(2, &both).says(&["--accept-leak", "--reclaim"]);

    let mark = on.cluster.mark();
    let told = admin.run(&[&args[..], &["--accept-leak"]].concat()).ends(0);
    assert_eq!(told.outcomes("done"), [name], "{:#}", told.json);
    one_removal(admin, mark, "persistentvolumes", &before, ATTACHER);
    // Attachments were listed for the plan, and once more right before.
    let log = admin.requests(mark);
    let listed =
        |it: &&Value| it["verb"] == "list" && it["objectRef"]["resource"] == "volumeattachments";
    let before_it = log.iter().take_while(|it| it["verb"] != "patch");
    assert!(before_it.filter(listed).count() > 1, "{log:#?}");
    on.wait_gone(&object);
    assert!(driver.has(&handle) && driver.delete_calls(&handle) == 0);
    let backend = format!("{:?}", admin.journal(&told));
    assert!(backend.contains(&handle), "{backend}");
    let of_it = |admin: &Admin| {
        let report = admin.audit(&[]);
        let mut kept = report.findings().filter(|it| it.id() == "journal-kept-backend");
        kept.any(|it| it.0.to_string().contains(&handle))
    };
    assert!(of_it(admin), "the journal of this machine has it");
    assert!(of_it(&Admin::of(on)), "the record in the cluster has it");
}

fn reclaimed(admin: &Admin, driver: &Driver, name: &str) {
    let (on, object) = (admin.on, format!("pv/{name}"));
    let (handle, before) = (on.handle(name), on.read(&object));
    let word = ["--driver-absent", &driver.name];
    let args = fix(&[&[&*object, "--yes", "--reclaim"][..], &word].concat());
    // Without its CSIDriver nothing tells whether its handles are disks, and one was left behind.
    let exclusive = ["--backend-exclusive", &*object];
    because(
        &admin.refused(5, &args),
        name,
        &["may reference the same storage", "--backend-exclusive"],
    );
    let mark = on.cluster.mark();
    let told = admin.run(&[&args[..], &exclusive].concat()).ends(0);
    assert_eq!(told.outcomes("done"), [name], "{:#}", told.json);
    assert!(!driver.has(&handle) && driver.delete_calls(&handle) == 1);
    let sent = admin.sent(mark);
    let of_volumes: Vec<_> = sent.iter().filter(|it| it.resource == "persistentvolumes").collect();
    let [dry, rehearsed, real, made_dry, made] = of_volumes[..] else {
        panic!("{:#?}", lines(&sent))
    };
    super::is_one_removal(&real.body, &before, ATTACHER);
    assert!(dry.dry && !real.dry && made_dry.dry && !made.dry, "{:#?}", lines(&sent));
    // Before anything is lost, the server has its say about the second step too.
    assert_eq!(rehearsed.line(), format!("dry {}", made.line()));
    assert!(made.line().starts_with("create persistentvolumes kubectl-storage-reclaim-"));
    assert_eq!(made.body["spec"]["csi"]["volumeHandle"], handle);
    assert_eq!(made.body["spec"]["persistentVolumeReclaimPolicy"], "Delete");
    for gone in [object, format!("pv/{}", made.name)] {
        assert!(on.get(&gone).is_none(), "{gone} is there");
    }
    let report = admin.audit(&[]);
    let mut kept = report.findings().filter(|it| it.id() == "journal-kept-backend");
    assert!(!kept.any(|it| it.0.to_string().contains(&handle)), "{report}");
}

/// The only attachment of a volume, if there is one.
fn attachment(on: &Scenario, volume: &str) -> Option<Value> {
    let mut all = on.cluster.list("", "volumeattachments").into_iter();
    all.find(|it| it["spec"]["source"]["persistentVolumeName"] == *volume)
}

/// Somebody got rid of a volume that hung, by removing all of its finalizers at once (T11).
#[test]
#[ignore = "extended suite: csi-attacher"]
fn d_34_a_disk_detaches_once_its_volume_is_there_again() {
    let on = Scenario::on(shared());
    let options = DriverOptions { attach: true, attacher: true, ..DriverOptions::default() };
    let driver = shared().start_driver("d34fix.csi.example", &options);
    on.create(&claim("data", &driver.class_delete));
    let mut user = pod("user", "data");
    user["spec"]["nodeName"] = json!("node-3");
    on.create(&user);
    let name = on.bound("data");
    let (object, handle) = (format!("pv/{name}"), on.handle(&name));
    eventually("the volume is attached", || {
        attachment(&on, &name).is_some_and(|it| it["status"]["attached"] == true)
    });
    let found = attachment(&on, &name).expect("because it was just there");
    let held = found["metadata"]["name"].as_str().expect("because it has one").to_owned();
    let attached = format!("volumeattachment/{held}");
    let folder = tempfile::tempdir().expect("because the temporary folder is writable");
    let file = folder.path().join("volume.yaml").display().to_string();
    let saved = on.cluster.kubectl(&["get", &object, "-o", "yaml"]);
    fs::write(&file, saved).expect("because the folder is ours");

    on.terminate(&name);
    on.patch(&object, &json!({"metadata": {"finalizers": null}}));
    on.wait_gone(&object);
    on.delete("pod/user");
    on.delete(&attached);
    eventually("the attacher cannot detach it", || {
        let live = on.get(&attached).unwrap_or_default();
        live["status"]["detachError"]["message"].to_string().contains("not found")
    });
    let admin = Admin::of(&on);
    recreated(&admin, &driver, &name, &held, &file);
    // Its claim, which was lost, has its data again.
    on.wait_phase("pvc/data", "Bound");
    on.wait_phase(&object, "Bound");
    assert!(driver.has(&handle) && driver.delete_calls(&handle) == 0);
}

fn recreated(admin: &Admin, driver: &Driver, name: &str, held: &str, file: &str) {
    let on = admin.on;
    let attached = format!("volumeattachment/{held}");
    let report = admin.audit(&super::SOON);
    report.finding("va-orphan-pv-missing", &attached).severe("high").says(&["not found"]);
    let told = admin.refused(5, &fix(&[&attached, "--yes"]));
    because(&told, held, &["--from"]);
    // Another volume's manifest is no help.
    let foreign = format!("{file}.other");
    let text = fs::read_to_string(file).expect("because it was saved");
    fs::write(&foreign, text.replace(name, "another")).expect("because the folder is ours");
    let told = admin.refused(5, &fix(&[&attached, "--from", &foreign, "--yes"]));
    because(&told, held, &["--from is pv/another"]);
    assert!(on.get(&format!("pv/{name}")).is_none() && on.get("pv/another").is_none());

    let mark = on.cluster.mark();
    let told = admin.run(&fix(&[&attached, "--from", file, "--yes"])).ends(0);
    assert_eq!(told.outcomes("done"), [name], "{:#}", told.json);
    on.wait_gone(&attached);
    let sent = admin.sent(mark);
    let expected = [
        format!("dry create persistentvolumes {name}"),
        format!("create persistentvolumes {name}"),
    ];
    assert_eq!(lines(&sent), expected);
    let made = &sent[1].body;
    assert_eq!(made["spec"]["persistentVolumeReclaimPolicy"], "Retain");
    assert_eq!(made["spec"]["csi"]["driver"], driver.name);
    assert!(made["metadata"].get("finalizers").is_none_or(Value::is_null), "{made:#}");
    assert!(made["metadata"].get("uid").is_none_or(Value::is_null), "{made:#}");
    never("the volume goes again", Duration::from_millis(500), || {
        on.get(&format!("pv/{name}")).is_none()
    });
}

/// A node that is gone lets go of nothing: the attachment is deleted as anybody would, and its attacher detaches.
#[test]
#[ignore = "extended suite: csi-attacher"]
fn an_attachment_to_a_node_that_is_gone_is_deleted_and_not_stripped() {
    let on = Scenario::on(shared());
    let options = DriverOptions { attach: true, attacher: true, ..DriverOptions::default() };
    let driver = shared().start_driver("nodeless.csi.example", &options);
    let (name, node, held) = (on.named("pv"), on.named("node"), on.named("held"));
    driver.make(&name);
    on.create(&PersistentVolume::csi(&name, &driver.name, &name).0);
    on.wait_phase(&format!("pv/{name}"), "Available");
    on.cluster.create(&json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}}));
    // The driver knows its machines by their own names.
    let plugin = json!({"name": driver.name, "nodeID": "node-1", "topologyKeys": []});
    on.cluster.create(&json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": node},
        "spec": {"drivers": [plugin]},
    }));
    on.create(&json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": held},
        "spec": {"attacher": driver.name, "nodeName": node, "source": {"persistentVolumeName": name}},
    }));
    let object = format!("volumeattachment/{held}");
    eventually("it is attached", || on.read(&object)["status"]["attached"] == true);
    for gone in [format!("node/{node}"), format!("csinode/{node}")] {
        on.delete(&gone);
        on.wait_gone(&gone);
    }
    let admin = Admin::of(&on);
    // By a filter it is only shown.
    let told = admin.refused(0, &fix(&["-l", "none=here", "--yes"]));
    assert!(told.changes().is_empty(), "{:#}", told.json);
    let busy = json!({"fail": {"code": "INTERNAL", "message": "disk is busy"}});
    driver.fault(&json!({"ControllerUnpublishVolume": busy}));
    let mark = on.cluster.mark();
    let told = admin.run(&fix(&[&object, "--yes", "--timeout", "4s"])).ends(6);
    assert_eq!(told.outcomes("pending"), [&*held], "{:#}", told.json);
    because(&told, &held, &["disk is busy"]);
    let uid = on.read(&object)["metadata"]["uid"].clone();
    let sent = admin.sent(mark);
    let expected = [
        format!("dry delete volumeattachments {held}"),
        format!("delete volumeattachments {held}"),
    ];
    assert_eq!(lines(&sent), expected);
    assert_eq!(sent[1].body["preconditions"]["uid"], uid);

    // Its attacher is at work: nothing is stripped, whatever anybody says.
    grow_old();
    let word = ["--driver-absent", &driver.name, "--yes"];
    admin.refused(5, &fix(&[&[&*object][..], &word].concat()));
    driver.fault(&json!({}));
    on.wait_gone(&object);
    assert!(driver.has(&name));
}

/// T11: its disk may be on a node that somebody writes from. No controller runs.
#[test]
fn a_volume_that_may_be_attached_keeps_its_attachers_finalizer() {
    const ATTACHER: &str = "external-attacher/gone-csi-example";
    let on = Scenario::on(&STILL);
    let admin = Admin::of(&on);
    let attach = |name: &str, volume: &str| {
        on.create(&json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
            "metadata": {"name": on.named(name)},
            "spec": {"attacher": super::GONE, "nodeName": "none", "source": {"persistentVolumeName": volume}},
        }));
        format!("volumeattachment/{}", on.named(name))
    };
    let [held, planned, used] = ["held", "planned", "used"].map(|it| on.named(it));
    let [object, later, _] =
        ["held", "planned", "used"].map(|it| super::hang(&on, &super::left(&on, it), &[ATTACHER]));
    let attachment = attach("held", &held);
    let words = |object: &str, more: &[&str]| {
        let words = [&["fix-finalizers", object], &super::SOON[..], &super::IS_GONE, more].concat();
        words.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let refused = |args: &[String], name: &str, why: &str| {
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        because(&admin.refused(5, &args), name, &[why]);
    };
    refused(&words(&object, &["--yes"]), &held, &on.named("held"));
    refused(&words(&object, &["--yes", "--accept-leak"]), &held, &on.named("held"));
    // A node says that it has it.
    let node = on.named("node");
    let in_use = format!("kubernetes.io/csi/{}^{used}", super::GONE);
    on.cluster.create(&json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": node},
        "status": {"volumesInUse": [in_use]},
    }));
    refused(&words(&format!("pv/{used}"), &["--yes"]), &used, &node);
    // It is attached after the plan was made.
    let file = admin.home.path().join("plan.yaml").display().to_string();
    let plan = words(&later, &["--plan-out", &file]);
    let told = admin.refused(0, &plan.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(told.changes(), [&*planned], "{:#}", told.json);
    attach("late", &planned);
    refused(&["apply", &file, "--yes"].map(str::to_owned), &planned, &on.named("late"));

    on.delete(&attachment);
    on.wait_gone(&attachment);
    let args = words(&object, &["--yes"]);
    let told = admin.run(&args.iter().map(String::as_str).collect::<Vec<_>>()).ends(0);
    assert_eq!(told.outcomes("done"), [&*held], "{:#}", told.json);
    on.delete(&format!("node/{node}"));
}
