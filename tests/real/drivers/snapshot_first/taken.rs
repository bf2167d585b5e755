//! The snapshot is taken, and what is left of the disk.

use serde_json::{Value, json};

use super::{bound, delete, name_of, says, sent, taken};
use crate::support::{Admin, RealDrivers, Run, Scenario, claim, eventually, real_drivers};

/// Restores a new claim from the snapshot, which is what it was taken for.
fn is_restored_from(on: &Scenario, world: &RealDrivers, snapshot: &str, handle: &str) {
    let mut from = claim("restored", &world.gce_pd.class_delete);
    from["spec"]["dataSource"] =
        json!({"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": snapshot});
    on.create(&from);
    let restored = on.handle(&on.bound("restored"));
    let source = world.gce_pd.disk(&restored)["sourceSnapshot"].to_string();
    assert!(source.contains(handle), "{source}");
}

#[test]
#[ignore = "extended suite: drivers that people run"]
fn snapshot_first_then_the_data_is_kept() {
    let world = real_drivers();
    let on = Scenario::on(&world.cluster);
    let (admin, cloud) = (Admin::of(&on), &world.gce_pd);
    let (volume, disk) = bound(&on, cloud, "data");
    let uid = on.read("pvc/data")["metadata"]["uid"].clone();
    let before = on.cluster.mark();

    let wanted = ["--snapshot-class", cloud.snapshot_class, "--keep-data"];
    let told = admin.run(&delete(&on, "data", &wanted)).ends(0);
    assert_eq!(told.outcomes("done"), ["data"], "{:#}", told.json);
    let (snapshot, handle) = taken(&on);
    let name = name_of(&snapshot);
    assert!(name.starts_with("data-before-delete-"), "{name}");
    assert_eq!(snapshot["metadata"]["annotations"]["storage.kubectl.dev/claim-uid"], uid);
    assert_eq!(snapshot["spec"]["volumeSnapshotClassName"], cloud.snapshot_class);
    says(&told, "data", &[&format!("vs/{}/{name} is ready to use", on.name), &handle]);
    assert_eq!(
        sent(&admin, before),
        [
            format!("dry create volumesnapshots {name}"),
            format!("dry patch persistentvolumes {volume}"),
            "dry delete persistentvolumeclaims data".to_owned(),
            format!("create volumesnapshots {name}"),
            format!("dry patch persistentvolumes {volume}"),
            format!("patch persistentvolumes {volume}"),
            "dry delete persistentvolumeclaims data".to_owned(),
            "delete persistentvolumeclaims data".to_owned(),
        ]
    );
    assert!(on.get("pvc/data").is_none());
    let volume = on.read(&format!("pv/{volume}"));
    assert_eq!(volume["spec"]["persistentVolumeReclaimPolicy"], "Retain");
    assert_eq!(volume["status"]["phase"], "Released");
    assert_eq!(cloud.operations_on(&disk), ["insert"]);
    assert_eq!(cloud.snapshot(&handle)["status"], "READY");

    // The journal has the request, the claim as it was before, and which snapshot it became.
    let lines = admin.journal(&told);
    let intents: Vec<_> = lines.iter().filter(|it| it["action"].is_string()).collect();
    let actions: Vec<_> = intents.iter().map(|it| it["action"].as_str()).collect();
    let wanted = ["create-snapshot", "set-reclaim-policy", "delete-claim"].map(Some);
    assert_eq!(actions, wanted, "{lines:#?}");
    assert_eq!(intents[0]["request"]["body"]["metadata"]["name"], name.as_str());
    assert_eq!(intents[0]["preImage"]["metadata"]["uid"], uid);
    let ended = lines.iter().any(|it| it["detail"].as_str().is_some_and(|it| it.contains(&handle)));
    assert!(ended, "{lines:#?}");
    is_restored_from(&on, &world, &name, &handle);
}

#[test]
#[ignore = "extended suite: drivers that people run"]
fn snapshot_first_then_the_data_is_destroyed() {
    let world = real_drivers();
    let on = Scenario::on(&world.cluster);
    let (admin, cloud) = (Admin::of(&on), &world.gce_pd);
    let (volume, disk) = bound(&on, cloud, "data");
    let (_, neighbour) = bound(&on, cloud, "other");
    let before = on.cluster.mark();

    let wanted = ["--snapshot-class", cloud.snapshot_class, "--destroy-data"];
    let told = admin.run(&delete(&on, "data", &wanted)).ends(0);
    assert_eq!(told.outcomes("done"), ["data"], "{:#}", told.json);
    let (snapshot, handle) = taken(&on);
    let name = name_of(&snapshot);
    let written = sent(&admin, before);
    let written: Vec<_> = written.iter().filter(|it| !it.starts_with("dry ")).collect();
    let flip = format!("patch persistentvolumes {volume}");
    let create = format!("create volumesnapshots {name}");
    let delete = "delete persistentvolumeclaims data".to_owned();
    assert_eq!(written, [&create, &flip, &delete, &flip]);
    on.wait_gone(&format!("pv/{volume}"));
    assert!(!cloud.has(&disk));
    assert_eq!(cloud.operations_on(&disk), ["insert", "delete"]);
    assert!(cloud.has(&neighbour));
    assert_eq!(cloud.snapshot(&handle)["status"], "READY");
    assert_eq!(cloud.operations_on(&handle), ["createSnapshot"]);
    is_restored_from(&on, &world, &name, &handle);
}

/// The role that `rbac` prints is enough, and is no right to anything else.
#[test]
#[ignore = "extended suite: drivers that people run"]
fn snapshot_first_is_allowed_by_the_printed_role() {
    let world = real_drivers();
    let on = Scenario::on(&world.cluster);
    let cloud = &world.gce_pd;
    let (volume, disk) = bound(&on, cloud, "data");
    let role: Value = serde_yaml::from_str(&Run::of(&["rbac", "delete"]).go().stdout)
        .expect("because it is YAML");
    let admin = Admin::named(&on, "least", &[]);
    on.cluster.grant(&admin.name, &role["rules"]);
    eventually("the authorizer knows the new role", || {
        let who =
            ["auth", "can-i", "create", "volumesnapshots", "--as", &admin.name, "-n", &on.name];
        on.cluster.try_kubectl(&who, "").is_ok()
    });
    for (verb, kind) in [("delete", "volumesnapshots"), ("patch", "volumesnapshots")] {
        let who = ["auth", "can-i", verb, kind, "--as", &admin.name, "-n", &on.name];
        assert!(on.cluster.try_kubectl(&who, "").is_err(), "it may {verb} {kind}");
    }
    let wanted = ["--snapshot-class", cloud.snapshot_class, "--keep-data"];
    let told = admin.run(&delete(&on, "data", &wanted)).ends(0);
    assert_eq!(told.outcomes("done"), ["data"], "{:#}", told.json);
    let (_, handle) = taken(&on);
    assert_eq!(cloud.snapshot(&handle)["status"], "READY");
    assert!(cloud.has(&disk));
    assert_eq!(on.read(&format!("pv/{volume}"))["status"]["phase"], "Released");
}

/// The name of the snapshot is part of the plan.
#[test]
#[ignore = "extended suite: drivers that people run"]
fn snapshot_first_in_a_saved_plan() {
    let world = real_drivers();
    let on = Scenario::on(&world.cluster);
    let (admin, cloud) = (Admin::of(&on), &world.gce_pd);
    let (volume, _) = bound(&on, cloud, "data");
    let file = admin.home.path().join("plan.yaml").display().to_string();
    let wanted = ["--snapshot-class", cloud.snapshot_class, "--keep-data", "--plan-out", &file];
    admin.refused(0, &delete(&on, "data", &wanted));
    let plan = std::fs::read_to_string(&file).expect("it was saved");
    std::thread::sleep(std::time::Duration::from_millis(1100)); // another second, another name
    let told = admin.run(&["apply", &file, "--yes"]).ends(0);
    assert_eq!(told.outcomes("done"), ["data"], "{:#}", told.json);
    let (snapshot, handle) = taken(&on);
    assert!(plan.contains(&name_of(&snapshot)), "{plan}");
    assert_eq!(cloud.snapshot(&handle)["status"], "READY");
    assert_eq!(on.read(&format!("pv/{volume}"))["status"]["phase"], "Released");
    // It is carried out once.
    let told = admin.refused(5, &["apply", &file, "--yes"]);
    assert_eq!(told.refusals(), ["data"]);
}
