//! What is reclaimed, by which requests, and how that is known.

use kubectl_storage::output::writing::{Plan, Receipt};
use serde_json::{Value, json};

use super::{Admin, left, policy, release};
use crate::support::{PersistentVolume, Scenario, claim, shared};

/// Reads what was printed as what it promises to be, and finds nothing else in it.
fn keeps_to_its_shape(json: &Value) {
    let (schema, again) = if json["kind"] == "Plan" {
        let plan = serde_json::from_value::<Plan>(json.clone());
        (schemars::schema_for!(Plan), plan.map(serde_json::to_value))
    } else {
        let receipt = serde_json::from_value::<Receipt>(json.clone());
        (schemars::schema_for!(Receipt), receipt.map(serde_json::to_value))
    };
    let again = again.expect("it is read back").expect("and written again");
    assert_eq!(again, *json);
    let schema = serde_json::to_value(schema).expect("a schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let wrong: Vec<_> = validator.iter_errors(json).map(|it| it.to_string()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What P-POLICY is, to the letter, for a volume as it was before: its provisioner honors the finalizer.
fn policy_patch(before: &Value) -> Value {
    json!([
        {"op": "test", "path": "/metadata/uid", "value": before["metadata"]["uid"]},
        {"op": "test", "path": "/metadata/resourceVersion", "value": before["metadata"]["resourceVersion"]},
        {"op": "test", "path": "/status/phase", "value": "Released"},
        {"op": "test", "path": "/spec/claimRef/uid", "value": before["spec"]["claimRef"]["uid"]},
        {"op": "test", "path": "/spec/persistentVolumeReclaimPolicy", "value": "Retain"},
        {"op": "replace", "path": "/spec/persistentVolumeReclaimPolicy", "value": "Delete"},
        {"op": "test", "path": "/metadata/deletionTimestamp", "value": null},
        {
            "op": "add", "path": "/metadata/finalizers/-",
            "value": "external-provisioner.volume.kubernetes.io/finalizer",
        },
    ])
}

#[test]
fn released_volumes_are_reclaimed_by_one_patch_each() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    let admin = Admin::of(&on);
    for name in ["one", "two", "used"] {
        on.create(&claim(name, &driver.class_retain));
    }
    let [one, two, used] = ["one", "two", "used"].map(|name| on.bound(name));
    for name in ["pvc/one", "pvc/two"] {
        on.delete(name);
    }
    let mut gone = vec![one, two];
    gone.sort();
    super::wait_released(&on, &[&format!("pv/{}", gone[0]), &format!("pv/{}", gone[1])]);
    let handles = [&gone[0], &gone[1]].map(|name| on.handle(name));
    let images = [&gone[0], &gone[1]].map(|name| on.read(&format!("pv/{name}")));
    let before = on.cluster.mark();

    let args = ["gc", "-n", &on.name, "--older-than", "1s", "--yes", "--parallel", "4"];
    let told = admin.run(&args).ends(0);
    assert_eq!(told.outcomes("done"), gone, "{:#}", told.json);
    assert_eq!(told.json["summary"]["capacity"], "2Gi", "{:#}", told.json);
    keeps_to_its_shape(&told.json);
    for (index, name) in gone.iter().enumerate() {
        assert!(on.get(&format!("pv/{name}")).is_none(), "{name} is still there");
        assert!(!driver.has(&handles[index]), "the folder of {name} is still there");
        // A provisioner may ask twice (R-2644-29).
        assert!((1..=2).contains(&driver.delete_calls(&handles[index])));

        let about = |it: &&Value| it["objectRef"]["name"] == **name;
        let requests = admin.requests(before);
        let sent: Vec<_> = requests.iter().filter(about).filter(|it| it["verb"] != "get").collect();
        let uri = format!("/api/v1/persistentvolumes/{name}?fieldManager=kubectl-storage");
        let uris: Vec<_> = sent.iter().map(|it| it["requestURI"].as_str().unwrap_or("")).collect();
        assert_eq!(uris, [&*format!("{uri}&dryRun=All"), &*uri], "{sent:#?}");
        for request in sent {
            assert_eq!(request["verb"], "patch");
            assert_eq!(request["requestObject"], policy_patch(&images[index]), "{request:#}");
        }
    }
    // Besides, there is an Event about each.
    let writes = admin.writes(before);
    let events = writes.iter().filter(|it| it["objectRef"]["resource"] == "events").count();
    assert_eq!((writes.len(), events), (4, 2), "{writes:#?}");
    for name in &gone {
        let field = format!("involvedObject.name={name},reason=StorageReclaimed");
        let said =
            on.cluster.kubectl(&["get", "events", "-n", "default", "--field-selector", &field]);
        assert!(said.contains("kubectl storage gc"), "{said}");
    }

    let lines = admin.journal(&told);
    let intents: Vec<_> = lines.iter().filter(|it| it["type"] == "intent").collect();
    assert_eq!((intents.len(), lines.len()), (2, 6), "{lines:#?}");
    for intent in intents {
        let ends = lines.iter().filter(|it| it["of"] == intent["sequence"]);
        let ends: Vec<_> = ends.map(|it| it["outcome"].as_str().unwrap_or_default()).collect();
        assert_eq!(ends, ["sent", "done"]);
        let image =
            images.iter().find(|it| it["metadata"]["uid"] == intent["preImage"]["metadata"]["uid"]);
        let image = image.expect("because the image is of what was reclaimed");
        assert_eq!(intent["request"]["body"], policy_patch(image));
        assert_eq!(intent["backend"]["handle"], image["spec"]["csi"]["volumeHandle"]);
    }

    // One in use, and one that is too young, have nothing to do with it; and there is nothing left to do.
    let young = on.named("young");
    release(&on, &[&left(&on, "young")]);
    let again = admin.refused(0, &["gc", "-n", &on.name, "--older-than", "1h", "--yes"]);
    assert_eq!((again.changes().len(), again.refusals().len()), (0, 0), "{:#}", again.json);
    keeps_to_its_shape(&again.json);
    let named = admin.refused(5, &["gc", &used, &young, "--older-than", "1h", "--yes"]);
    assert!(named.reason(&used).contains("its phase is Bound"), "{:#}", named.json);
    assert!(named.reason(&young).contains("for less than 1h"), "{:#}", named.json);
    assert_eq!([policy(&on, &used), policy(&on, &young)], ["Retain", "Retain"]);
}

#[test]
fn d_24_a_detached_volume_is_reclaimed_and_an_attached_one_is_not() {
    let on = Scenario::on(shared());
    let (admin, name) = (Admin::of(&on), on.named("pv"));
    let attachment = on.named("attachment");
    on.create(&json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
        "metadata": {"name": attachment},
        "spec": {"attacher": shared().driver().name, "nodeName": "none", "source": {"persistentVolumeName": name}},
    }));
    release(&on, &[&left(&on, "pv")]);
    let args = ["gc", &format!("pv/{name}"), "--older-than", "1s", "--yes"];
    let told = admin.refused(5, &args);
    assert!(told.reason(&name).contains(&attachment), "{}", told.reason(&name));
    assert_eq!(policy(&on, &name), "Retain");

    let object = format!("volumeattachment/{attachment}");
    on.delete(&object);
    on.wait_gone(&object);
    assert_eq!(admin.run(&args).ends(0).outcomes("done"), [&*name]);
    assert!(!shared().driver().has(&name));
}

/// Up for grabs, with somebody's data: only by name, and only by word.
#[test]
fn d_31_an_available_volume_is_condemned() {
    let on = Scenario::on(shared());
    let (driver, admin) = (shared().driver(), Admin::of(&on));
    let name = on.named("pv");
    driver.make(&name);
    let volume = PersistentVolume::csi(&name, &driver.name, &name).policy("Delete");
    on.create(&volume.provisioned_by(&driver.name).0);
    on.wait_phase(&format!("pv/{name}"), "Available");
    let before = on.cluster.mark();
    let args = ["gc", &name, "--older-than", "1s", "--yes"];
    admin.refused(5, &args);

    let told = admin.run(&[&args[..], &["--destroy-data"]].concat()).ends(0);
    assert_eq!(told.outcomes("done"), [&*name], "{:#}", told.json);
    assert!(!driver.has(&name) && on.get(&format!("pv/{name}")).is_none());
    let writes = admin.writes(before);
    let writes: Vec<_> = writes.iter().filter(|it| it["objectRef"]["name"] == name).collect();
    assert_eq!(writes.len(), 1, "{writes:#?}");
    let operations = writes[0]["requestObject"].as_array().expect("because it is a JSON patch");
    let of =
        |op: &str, path: &str| operations.iter().find(|it| it["op"] == op && it["path"] == path);
    assert_eq!(of("test", "/spec/claimRef").expect("a test")["value"], Value::Null);
    assert_eq!(of("test", "/status/phase").expect("a test")["value"], "Available");
    let claim = &of("add", "/spec/claimRef").expect("a claim that never was")["value"];
    assert_eq!(
        (&claim["namespace"], &claim["name"]),
        (&json!("default"), &json!("kubectl-storage-reclaimed"))
    );
    assert_eq!(claim["uid"].as_str().map(str::len), Some(36));
    let finalizer = "external-provisioner.volume.kubernetes.io/finalizer";
    assert_eq!(of("add", "/metadata/finalizers/-").expect("a finalizer")["value"], finalizer);
    assert_eq!(
        told.json["changes"][0]["detail"],
        "the driver answered OK, and the object is deleted"
    );
}

/// No trace of the release is left, or only one that anybody may have written.
#[test]
fn d_78_an_age_that_nothing_proves_is_the_users_word() {
    let on = Scenario::on(shared());
    let admin = Admin::of(&on);
    let (unknown, single) = (on.named("unknown"), on.named("single"));
    release(&on, &[&left(&on, "unknown"), &left(&on, "single")]);
    let zero = json!({"status": {"lastPhaseTransitionTime": "0001-01-01T00:00:00Z"}});
    on.patch_status(&format!("pv/{unknown}"), &zero);
    for name in [&unknown, &single] {
        on.patch(&format!("pv/{name}"), &json!({"metadata": {"managedFields": [{}]}}));
    }
    let args = ["gc", "-n", &on.name, "--older-than", "1s", "--yes"];
    let told = admin.refused(0, &args);
    assert_eq!(told.refusals(), [&*single, &*unknown], "{:#}", told.json);
    assert!(told.reason(&unknown).contains("time of release unknown"), "{:#}", told.json);
    assert!(
        told.reason(&single).contains("rests only on lastPhaseTransitionTime"),
        "{:#}",
        told.json
    );

    // The flag without an answer is not enough.
    let flag = ["gc", "-n", &on.name, "--older-than", "1s", "--include-unknown-age"];
    admin.refused(5, &flag);
    let told = admin.run(&[&args[..], &["--include-unknown-age"]].concat()).ends(0);
    assert_eq!(told.outcomes("done"), [&*single, &*unknown], "{:#}", told.json);
    assert!(!shared().driver().has(&unknown) && !shared().driver().has(&single));
}

#[test]
fn d_80_an_impossible_stamp_makes_nothing_old() {
    let on = Scenario::on(shared());
    let admin = Admin::of(&on);
    let all = ["future", "past", "future-alone", "past-alone"];
    let volumes = all.map(|name| left(&on, name));
    release(&on, &volumes.each_ref());
    for name in all {
        let time = if name.starts_with("future") {
            "2199-01-01T00:00:00Z"
        } else {
            "2001-01-01T00:00:00Z"
        };
        let object = format!("pv/{}", on.named(name));
        on.patch_status(&object, &json!({"status": {"lastPhaseTransitionTime": time}}));
        if name.ends_with("alone") {
            on.patch(&object, &json!({"metadata": {"managedFields": [{}]}}));
        }
    }
    let named: Vec<_> = all.iter().map(|name| on.named(name)).collect();
    let args =
        |older_than: &'static str| ["gc", "-n", &on.name, "--older-than", older_than, "--yes"];
    // What the API server itself recorded is seconds old; without that there is nothing.
    let told = admin.refused(0, &args("1h"));
    assert_eq!(told.refusals(), [&*named[2], &*named[3]], "{:#}", told.json);
    for name in &named[2..] {
        assert!(told.reason(name).contains("time of release unknown"), "{:#}", told.json);
    }
    let typed: Vec<_> = named.iter().map(String::as_str).collect();
    let told = admin.refused(5, &[&["gc", "--older-than", "1h", "--yes"], &typed[..]].concat());
    assert_eq!(told.refusals().len(), 4, "{:#}", told.json);
    let told = admin.run(&args("1s")).ends(0);
    assert_eq!(told.outcomes("done"), [&*named[0], &*named[1]], "{:#}", told.json);
    assert!(typed[2..].iter().all(|name| shared().driver().has(name)));
}
