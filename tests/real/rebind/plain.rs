//! The plain cases: a new claim of the old name, another name, a claim that waits already, and one that has it.

use std::time::Duration;

use serde_json::json;

use super::{
    Left, annotation, bound_to_each_other, detail, driver, here, intact, lines, rebind, words,
    written,
};
use crate::support::{Admin, Scenario, claim, never};

const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";

#[test]
fn d_32_rebind_gives_the_data_to_its_claim_alone() {
    let on = Scenario::on(here());
    let (admin, left) = (Admin::of(&on), Left::on(&on, driver()));
    let before = on.read(&left.object);
    assert_eq!(annotation(&before, BOUND_BY_CONTROLLER), &json!(null), "csi-provisioner binds");
    // The provisioner would make a volume for this claim: it must get that one, and not the old data.
    on.create(&claim("foreign", &driver().class_retain));

    let mark = on.cluster.mark();
    let told = admin.run(&words(&rebind(&[&left.object]))).ends(0);
    assert_eq!(told.outcomes("done"), [&*left.name], "{:#}", told.json);
    assert!(detail(&told).contains("is bound to it"), "{:#}", told.json);
    let sent = admin.sent(mark);
    assert_eq!(
        lines(&sent),
        [
            format!("dry patch persistentvolumes {}", left.name),
            "dry create persistentvolumeclaims data".to_owned(),
            format!("patch persistentvolumes {}", left.name),
            "dry create persistentvolumeclaims data".to_owned(),
            "create persistentvolumeclaims data".to_owned(),
        ]
    );
    // csi-provisioner may have written into it since it was read.
    let (uid, version) = (&before["metadata"]["uid"], &sent[2].body[1]["value"]);
    assert!(version.is_string(), "{:#}", sent[2].body);
    let mut patch = vec![
        json!({"op": "test", "path": "/metadata/uid", "value": uid}),
        json!({"op": "test", "path": "/metadata/resourceVersion", "value": version}),
        json!({"op": "test", "path": "/spec/claimRef/uid", "value": before["spec"]["claimRef"]["uid"]}),
        json!({"op": "test", "path": "/status/phase", "value": "Released"}),
        json!({"op": "test", "path": "/spec/persistentVolumeReclaimPolicy", "value": "Retain"}),
        json!({"op": "remove", "path": "/spec/claimRef/uid"}),
    ];
    if before["spec"]["claimRef"].get("resourceVersion").is_some() {
        patch.push(json!({"op": "remove", "path": "/spec/claimRef/resourceVersion"}));
    }
    assert_eq!(sent[2].body, json!(patch));
    assert_eq!(
        sent[4].body["spec"],
        json!({
            "accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem", "volumeName": left.name,
            "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": driver().class_retain,
        })
    );
    bound_to_each_other(&on, &left.name, "data");
    intact(driver(), &left.handle);
    let volume = on.read(&left.object);
    assert_eq!(annotation(&volume, BOUND_BY_CONTROLLER), &json!(null));
    assert_ne!(on.bound("foreign"), left.name);

    // Once more: it has it already.
    let mark = on.cluster.mark();
    let told = admin.run(&words(&rebind(&[&left.object]))).ends(0);
    assert!(told.stderr.contains("already"), "{}", told.stderr);
    assert_eq!(lines(&admin.sent(mark)), [""; 0]);
}

#[test]
fn d_32_a_foreign_claim_never_gets_a_reserved_volume() {
    let on = Scenario::on(here());
    let (driver, name, class) = (driver(), on.named("pv"), on.named("class"));
    driver.make(&name);
    super::write_ledger(driver, &name);
    let object = format!("pv/{name}");
    // Nobody provisions for this class: what is there is all there is.
    let volume = crate::support::PersistentVolume::csi(&name, &driver.name, &name).class(&class);
    on.create(&volume.0);
    on.create(&claim("data", &class));
    assert_eq!(on.bound("data"), name);
    assert_eq!(annotation(&on.read(&object), BOUND_BY_CONTROLLER), "yes");
    on.delete("pvc/data");
    on.wait_phase(&object, "Released");
    on.create(&claim("foreign", &class));

    let admin = Admin::of(&on);
    let mark = on.cluster.mark();
    let told = admin.run(&words(&rebind(&[&name, "--to", "data-2", "-n", &on.name]))).ends(0);
    assert_eq!(told.outcomes("done"), [&*name], "{:#}", told.json);
    let sent = admin.sent(mark);
    let patch = sent.iter().find(|it| !it.dry && it.verb == "patch").expect("one");
    let removes = json!({
        "op": "remove", "path": "/metadata/annotations/pv.kubernetes.io~1bound-by-controller",
    });
    assert!(patch.body.as_array().is_some_and(|it| it.contains(&removes)), "{:#}", patch.body);
    let renames = json!({"op": "replace", "path": "/spec/claimRef/name", "value": "data-2"});
    assert!(patch.body.as_array().is_some_and(|it| it.contains(&renames)), "{:#}", patch.body);
    bound_to_each_other(&on, &name, "data-2");
    assert_eq!(annotation(&on.read(&object), BOUND_BY_CONTROLLER), &json!(null));
    intact(driver, &name);
    never("a foreign claim gets it", Duration::from_secs(3), || {
        on.read("pvc/foreign")["status"]["phase"] != "Pending"
    });
}

#[test]
fn a_claim_that_waits_already_gets_its_volume() {
    let on = Scenario::on(here());
    let (admin, left) = (Admin::of(&on), Left::on(&on, driver()));
    let mut waiting = claim("data", &driver().class_retain);
    waiting["spec"]["volumeName"] = json!(left.name);
    on.create(&waiting);
    let mark = on.cluster.mark();
    let told = admin.run(&words(&rebind(&[&left.object]))).ends(0);
    assert_eq!(told.outcomes("done"), [&*left.name], "{:#}", told.json);
    assert_eq!(written(&admin, mark), [format!("patch persistentvolumes {}", left.name)]);
    bound_to_each_other(&on, &left.name, "data");
    intact(driver(), &left.handle);
}
