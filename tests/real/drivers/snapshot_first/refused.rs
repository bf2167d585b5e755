//! Nothing is sent.

use serde_json::json;

use super::{bound, delete, is_untouched, says, sent, snapshot_class, snapshots};
use crate::support::{Admin, Cluster, GcePd, Options, Scenario, claim, pod, real_drivers};

#[test]
#[ignore = "extended suite: drivers that people run"]
fn snapshot_first_refuses_before_anything_is_sent() {
    let world = real_drivers();
    let on = Scenario::on(&world.cluster);
    let (admin, cloud) = (Admin::of(&on), &world.gce_pd);
    let (volume, disk) = bound(&on, cloud, "data");
    let foreign = on.named("foreign");
    on.cluster.create(&snapshot_class(&foreign, "ebs.csi.aws.com", &json!({})));
    let refused = |more: &[&str], words: &[&str]| {
        let before = on.cluster.mark();
        let told = admin.refused(5, &delete(&on, "data", &[more, &["--keep-data"]].concat()));
        says(&told, "data", words);
        assert_eq!(sent(&admin, before), [""; 0]);
    };
    refused(&[], &["requires --snapshot-class", GcePd::DRIVER, cloud.snapshot_class]);
    refused(&["--snapshot-class", "absent"], &["absent does not exist", cloud.snapshot_class]);
    let of_another = format!("the driver of vsclass/{foreign} is ebs.csi.aws.com");
    refused(&["--snapshot-class", &foreign], &[&of_another]);
    let class = ["--snapshot-class", cloud.snapshot_class];
    admin.refused(2, &delete(&on, "data", &[&class[..], &["--wait=false"]].concat()));
    // Planning is no writing.
    let told =
        admin.run(&delete(&on, "data", &[&class[..], &["--keep-data", "--dry-run"]].concat()));
    assert_eq!(told.changes(), ["data"], "{:#}", told.json);
    let steps = told.json["changes"][0]["steps"].as_array().expect("it has steps");
    let actions: Vec<_> = steps.iter().map(|it| it["action"].as_str()).collect();
    assert_eq!(actions, ["create-snapshot", "set-reclaim-policy", "delete-claim"].map(Some));

    // Directories of nodes: their provisioner is no CSI driver.
    on.create(&claim("local", &world.local_path.class_delete));
    on.create(&pod("user", "local"));
    let local = on.bound("local");
    on.delete("pod/user");
    on.wait_gone("pod/user");
    let told = admin.refused(5, &delete(&on, "local", &["--keep-data"]));
    says(&told, "local", &[&format!("pv/{local} is not a CSI volume")]);

    assert!(snapshots(&on).is_empty());
    is_untouched(&on, "data", &volume, cloud, &disk);
    on.cluster.kubectl(&["delete", "volumesnapshotclass", &foreign]);
}

#[test]
#[ignore = "extended suite: drivers that people run"]
fn snapshot_first_without_the_snapshot_api_is_refused() {
    let cluster = Cluster::start(Options::COMPLETE);
    let on = Scenario::on(&cluster);
    let driver = cluster.driver();
    let admin = Admin::of(&on);
    on.create(&claim("data", &driver.class_delete));
    let volume = on.bound("data");
    let told = admin.refused(5, &delete(&on, "data", &["--keep-data"]));
    says(&told, "data", &["volumesnapshots, which the API server does not serve"]);
    assert_eq!(on.read(&format!("pv/{volume}"))["spec"]["persistentVolumeReclaimPolicy"], "Delete");
    assert!(on.read("pvc/data")["metadata"]["deletionTimestamp"].is_null());
}
