//! Drivers that people run: attached disks and snapshots of GCE, directories of local-path.

use serde_json::{Value, json};

use super::{deployment, lines, run_unattended, set};
use crate::support::{Admin, LocalPath, Scenario, claim, eventually, real_drivers};

/// No assertion is needed: the drivers are known. Disks are detached before their claims go, and snapshots go first.
#[test]
#[ignore = "extended suite: drivers that people run"]
fn known_drivers_need_no_assertion() {
    let world = real_drivers();
    let on = Scenario::on(&world.cluster);
    let (cloud, class) = (&world.gce_pd, &world.gce_pd.class_delete);
    on.create(&set("db", class, 1));
    on.create(&claim("web", class));
    on.create(&claim("saved", &cloud.class_retain));
    on.create(&deployment("web", "web"));
    on.create(&LocalPath::claim("local", &world.local_path.class_delete, "node-1"));
    eventually("the set has its claim", || on.get("pvc/data-db-0").is_some());
    let names = ["data-db-0", "web", "saved"];
    let handles = names.map(|name| {
        let volume = on.bound(name);
        on.handle(&volume)
    });
    let local = on.bound("local");
    let folder = world.local_path.folder(&on.read(&format!("pv/{local}")));
    on.create(&json!({
        "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot", "metadata": {"name": "nightly"},
        "spec": {"volumeSnapshotClassName": cloud.snapshot_class, "source": {"persistentVolumeClaimName": "web"}},
    }));
    eventually("the snapshot is ready", || {
        on.read("volumesnapshot/nightly")["status"]["readyToUse"] == true
    });
    eventually("the disks are attached", || {
        handles[..2].iter().all(|it| !cloud.nodes_of(it).is_empty())
    });
    let admin = Admin::of(&on);
    let told = admin.run(&["teardown", "--dry-run", "-n", &on.name, "--destroy-snapshots"]).ends(0);
    assert_eq!(told.json["summary"]["destroyed"]["volumes"], 3, "{:#}", told.json);
    assert_eq!(told.listed("snapshots")[0]["plan"], "destroy", "{:#}", told.json);

    let mark = on.cluster.mark();
    let args = ["--destroy-data", "--destroy-snapshots", "-n", &on.name, "--max=3"];
    let told = run_unattended(&admin, &args).ends(0);
    let outcome = |claim: &str| {
        let claim = format!("{}/{claim}", on.name);
        let found = told.listed("volumes").iter().find(|it| it["claim"] == claim.as_str());
        found.map_or(Value::Null, |it| it["outcome"].clone())
    };
    assert_eq!(
        ["data-db-0", "web", "local", "saved"].map(outcome),
        ["destroyed", "destroyed", "destroyed", "kept"]
    );
    assert_eq!(handles.each_ref().map(|it| cloud.has(it)), [false, false, true]);
    assert!(!folder.is_dir());
    let sent = lines(&admin.sent(mark));
    let at =
        |part: &str| sent.iter().position(|it| it.starts_with(part)).expect("because it was sent");
    assert!(at("delete volumesnapshots") < at("delete persistentvolumeclaims"), "{sent:?}");
    assert!(!sent.iter().any(|it| it.contains("volumeattachments")), "{sent:?}");
    // The cloud detached each disk before it deleted it.
    for handle in &handles[..2] {
        let operations = cloud.operations_on(handle);
        let place = |what: &str| operations.iter().rposition(|it| it.contains(what));
        assert!(place("detach") < place("delete"), "{operations:?}");
    }
    let listing = admin.home.path().join("disks.json");
    std::fs::write(&listing, cloud.listing().to_string()).expect("because the folder is ours");
    let listing = listing.display().to_string();
    let record = admin.home.path().join("record.json").display().to_string();
    let told = admin.run(&["audit", "--inventory", &listing, "--record", &record, "--allow-gaps"]);
    let told = told.ends(0);
    assert_eq!(
        told.json["summary"],
        json!({"exist": 1, "gone": 2, "notCompared": 1}),
        "{:#}",
        told.json
    );
}
