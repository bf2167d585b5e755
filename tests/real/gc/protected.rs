//! The finalizer that `gc` adds with the policy Delete: somebody's `kubectl delete pv` between the patch and the
//! provisioner's look leaks nothing, and what cannot be seen is not said.

use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Admin, Told, policy};
use crate::support::{
    Driver, DriverOptions, Fault, PersistentVolume, Scenario, eventually, shared,
};

const FINALIZER: &str = "external-provisioner.volume.kubernetes.io/finalizer";
const UNSEEN: &str = "the object is deleted; unknown whether the driver deleted the backend volume";
/// Longer than what was written takes to be seen.
const MOMENT: Duration = Duration::from_millis(2100);

/// A Released volume of a driver, with a folder at its backend.
fn left(on: &Scenario, driver: &Driver, name: &str) -> String {
    let name = on.named(name);
    driver.make(&name);
    let volume = PersistentVolume::csi(&name, &driver.name, &name).left_by(&on.name, &name);
    super::release(on, &[&volume.provisioned_by(&driver.name).class(&driver.class_retain)]);
    name
}

/// What came of a race.
struct Raced {
    told: Told,
    /// What gc sent about the volume.
    writes: Vec<Value>,
    /// The object after its deletion was asked for, before the provisioner went on.
    meanwhile: Option<Value>,
}

/// How the provisioner is kept from looking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// It is stopped, goes on, and learns of everything that happened.
    Suspended,
    /// It is killed, starts anew, and sees what there is then.
    Killed,
}

/// Stops the provisioner right before the patch of `gc`, and deletes the volume right after it, before the provisioner
/// goes on: the interleaving of R-2644-11.
fn raced(on: &Scenario, driver: &Driver, name: &str, stop: Stop) -> Raced {
    let (admin, proxy) = (Admin::of(on), on.cluster.proxy());
    let object = format!("pv/{name}");
    let path = format!("^/api/v1/persistentvolumes/{name}$");
    let held = proxy.hold(Fault::hold().on("PATCH", &path).real());
    let before = on.cluster.mark();
    let args = ["gc", name, "--older-than", "1s", "--yes"];
    let running = admin.by(proxy.kubeconfig(), &args).start();
    held.wait();
    let provisioner = format!("{}/provisioner", driver.name);
    let signal = if stop == Stop::Suspended { "STOP" } else { "KILL" };
    on.cluster.signal_component(&provisioner, signal);
    held.release();
    eventually("the policy is Delete", || policy(on, name) == "Delete");
    on.delete(&object);
    sleep(Duration::from_millis(500));
    let meanwhile = on.get(&object);
    assert_eq!(driver.delete_calls(name), 0, "the provisioner is stopped");
    match stop {
        Stop::Suspended => on.cluster.signal_component(&provisioner, "CONT"),
        Stop::Killed => on.cluster.start_component(&provisioner),
    }
    let told = Told::of(running.finish()).ends(0);
    let mut writes = admin.writes(before);
    writes.retain(|it| it["objectRef"]["resource"] != "events");
    writes.retain(|it| !it["requestURI"].as_str().unwrap_or_default().contains("dryRun=All"));
    Raced { told, writes, meanwhile }
}

/// The operations of a patch that are no tests.
fn changes(write: &Value) -> Vec<Value> {
    let all = write["requestObject"].as_array().cloned().unwrap_or_default();
    all.into_iter().filter(|it| it["op"] != "test").collect()
}

fn flip(to: &str) -> Value {
    json!({"op": "replace", "path": "/spec/persistentVolumeReclaimPolicy", "value": to})
}

#[test]
fn somebodys_deletion_waits_for_the_driver() {
    let on = Scenario::on(shared());
    let driver = shared().start_driver("protected.csi.example", &DriverOptions::default());
    for (stop, name) in [(Stop::Suspended, "suspended"), (Stop::Killed, "killed")] {
        waits_for_the_driver(&on, &driver, stop, &left(&on, &driver, name));
    }
}

fn waits_for_the_driver(on: &Scenario, driver: &Driver, stop: Stop, name: &str) {
    let shown = Admin::of(on).run(&["gc", name, "--older-than", "1s", "--dry-run=client"]);
    let planned = &shown.json["changes"][0]["steps"][0];
    assert!(planned["what"].to_string().contains(FINALIZER), "{planned:#}");

    let Raced { told, writes, meanwhile } = raced(on, driver, name, stop);
    let held = meanwhile.expect("because the finalizer holds it");
    assert!(held["metadata"]["deletionTimestamp"].is_string(), "{held:#}");
    let finalizers = held["metadata"]["finalizers"].as_array().expect("because there are some");
    assert!(finalizers.iter().any(|it| it == FINALIZER), "{held:#}");
    assert_eq!(told.outcomes("done"), [name], "{:#}", told.json);
    let detail = &told.json["changes"][0]["detail"];
    assert_eq!(detail, "the driver answered OK, and the object is deleted");
    assert!(!driver.has(name), "the backend volume is leaked");
    assert!(driver.delete_calls(name) > 0);
    assert_eq!(writes.len(), 1, "{writes:#?}");
    let add = json!({"op": "add", "path": "/metadata/finalizers/-", "value": FINALIZER});
    assert_eq!(
        (&writes[0]["verb"], changes(&writes[0])),
        (&json!("patch"), vec![flip("Delete"), add])
    );
}

/// What a digest is cannot be read: the patch is the plain one, the plan warns of the race, and the receipt does not
/// claim what nobody saw.
#[test]
fn a_version_that_cannot_be_read_gets_the_plain_patch_and_an_honest_receipt() {
    let on = Scenario::on(shared());
    let image = "registry.k8s.io/sig-storage/csi-provisioner@sha256:\
                 0000000000000000000000000000000000000000000000000000000000000000";
    let options = DriverOptions { provisioner_image: Some(image), ..DriverOptions::default() };
    let driver = shared().start_driver("digest.csi.example", &options);
    let name = left(&on, &driver, "pv");
    let shown = Admin::of(&on).run(&["gc", &name, "--older-than", "1s", "--dry-run=client"]);
    let notices = shown.json["changes"][0]["notices"].to_string();
    for words in [
        "the patch adds no deletion-protection finalizer",
        "cannot be read from image",
        "@sha256:00",
    ] {
        assert!(notices.contains(words), "{notices}");
    }

    let Raced { told, writes, meanwhile } = raced(&on, &driver, &name, Stop::Killed);
    assert_eq!(meanwhile, None, "nothing holds it");
    assert_eq!(told.outcomes("done"), [&*name], "{:#}", told.json);
    assert_eq!(told.json["changes"][0]["detail"], UNSEEN);
    assert_eq!(writes.len(), 1, "{writes:#?}");
    assert_eq!(changes(&writes[0]), [flip("Delete")]);
    // This is what the notice warns of.
    sleep(MOMENT);
    assert!(driver.has(&name), "nobody told the driver to delete it");
    assert_eq!(driver.delete_calls(&name), 0);

    // With nobody in between, it is deleted, and that is not seen either.
    let name = left(&on, &driver, "undisturbed");
    let told = Admin::of(&on).run(&["gc", &name, "--older-than", "1s", "--yes"]).ends(0);
    assert_eq!(told.json["changes"][0]["detail"], UNSEEN);
    assert!(!driver.has(&name));
}

/// A stop takes back what gc has added: with Retain and no provisioner it would hold the object for ever.
#[test]
fn retain_removes_the_finalizer_that_gc_has_added() {
    let on = Scenario::on(shared());
    let driver = shared().start_driver("unprotected.csi.example", &DriverOptions::default());
    let admin = Admin::of(&on);
    let [stopped, terminating] = ["stopped", "terminating"].map(|name| left(&on, &driver, name));
    driver
        .fault(&json!({"DeleteVolume": {"fail": {"code": "INTERNAL", "message": "disk is busy"}}}));
    let gc = ["gc", &stopped, &terminating, "--older-than", "1s", "--yes", "--timeout", "3s"];
    let told = admin.run(&gc).ends(6);
    assert_eq!(told.outcomes("pending").len(), 2, "{:#}", told.json);
    for name in [&stopped, &terminating] {
        assert!(on.has_finalizer(&format!("pv/{name}"), FINALIZER));
    }
    driver.stop("kill");
    on.terminate(&terminating);

    // Another machine's journal knows nothing of it: then it stays.
    let other = tempfile::tempdir().expect("because the temporary folder is writable");
    let object = format!("pv/{stopped}");
    let elsewhere = ["retain", &object, "--dry-run=client"];
    let shown = admin.run_at(other.path(), &elsewhere);
    assert!(!shown.json["changes"][0]["steps"].to_string().contains(FINALIZER), "{:#}", shown.json);

    let before = on.cluster.mark();
    let told = admin.run(&["retain", &object, "--yes"]).ends(0);
    assert_eq!(told.outcomes("done"), [&*stopped], "{:#}", told.json);
    let mut writes = admin.writes(before);
    writes.retain(|it| it["objectRef"]["name"] == *stopped);
    assert_eq!(writes.len(), 1, "{writes:#?}");
    let sent = changes(&writes[0]);
    assert_eq!((&sent[0], sent.len()), (&flip("Retain"), 3), "{sent:#?}");
    assert_eq!(sent[2]["op"], "remove");
    assert_eq!(policy(&on, &stopped), "Retain");
    assert!(!on.has_finalizer(&object, FINALIZER));
    let lines = admin.journal(&told);
    let of = |field: &str| {
        let all = lines.iter().filter(|it| it["object"]["name"] == *stopped);
        all.filter(|it| it[field] == FINALIZER).count()
    };
    assert_eq!((of("addsFinalizer"), of("removesFinalizer")), (1, 1), "{lines:#?}");

    // Nothing holds the object any more, and the backend volume stays.
    on.delete(&object);
    on.wait_gone(&object);
    assert!(driver.has(&stopped));

    // On a Terminating volume it is the provisioner's to remove, and the plan says so.
    let object = format!("pv/{terminating}");
    let shown = admin.run(&["retain", &object, "--dry-run=client"]);
    let notices = shown.json["changes"][0]["notices"].to_string();
    assert!(
        notices.contains(
            "blocks deletion until csi-provisioner of unprotected.csi.example removes it"
        ),
        "{notices}"
    );
    let told = admin.run(&["retain", &object, "--yes"]).ends(0);
    assert_eq!(policy(&on, &terminating), "Retain");
    assert!(on.has_finalizer(&object, FINALIZER));
    driver.resume();
    on.wait_gone(&object);
    assert!(driver.has(&terminating), "Retain keeps it");
    assert_eq!(told.outcomes("done"), [&*terminating], "{:#}", told.json);
}
