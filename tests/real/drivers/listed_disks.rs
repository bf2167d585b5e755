//! Disks of the stand-in for Google's cloud, listed as gcloud lists them: those that nothing names are found, and no other.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Value, json};

use super::age;
use crate::support::{Admin, Scenario, claim, eventually, pod, real_drivers};

/// A name that csi-provisioner gives, of a claim that no cluster has.
fn of_lost_claim(on: &Scenario, last: u8) -> String {
    let mut hasher = DefaultHasher::new();
    on.name.hash(&mut hasher);
    let digits = format!("{:016x}", hasher.finish());
    format!("pvc-{}-0000-4000-8000-00{}{last:02x}", &digits[..8], &digits[8..])
}

#[test]
#[ignore = "extended suite: drivers that people run"]
fn gce_pd_disks_that_nothing_names_are_found_in_a_listing_and_no_living_one() {
    let world = real_drivers();
    let on = Scenario::on(&world.cluster);
    let (admin, cloud) = (Admin::of(&on), &world.gce_pd);
    let provisioned = |name: &str| {
        on.create(&claim(name, &cloud.class_retain));
        let volume = on.bound(name);
        let disk = on.handle(&volume);
        (volume, disk)
    };
    // Its volume is deleted first; its claim then.
    let (early, leaked) = provisioned("early");
    on.cluster.kubectl(&["delete", "pv", &early, "--wait=false"]);
    on.delete("pvc/early");
    on.wait_gone(&format!("pv/{early}"));
    // Its finalizers are stripped, and it is deleted under its claim.
    let (stripped, torn) = provisioned("stripped");
    on.cluster.kubectl(&["delete", "pv", &stripped, "--wait=false"]);
    on.cluster.kubectl(&[
        "patch",
        "pv",
        &stripped,
        "--type=merge",
        "-p",
        r#"{"metadata":{"finalizers":null}}"#,
    ]);
    on.wait_gone(&format!("pv/{stripped}"));
    on.delete("pvc/stripped");
    on.wait_gone("pvc/stripped");
    // A creation timed out, and another cluster was thrown away.
    let (timed_out, thrown_away) = (of_lost_claim(&on, 1), of_lost_claim(&on, 2));
    let (timed_out, thrown_away) = (cloud.make(&timed_out), cloud.make(&thrown_away));
    // These live: bound, attached, Released, made by people.
    let (_, bound) = provisioned("bound");
    let (_, attached) = provisioned("attached");
    let mut user = pod("user", "attached");
    user["spec"]["nodeName"] = json!("node-1");
    on.create(&user);
    eventually("the disk is attached", || cloud.nodes_of(&attached) == ["node-1"]);
    let (released, kept) = provisioned("released");
    on.delete("pvc/released");
    on.wait_phase(&format!("pv/{released}"), "Released");
    let by_hand = cloud.make(&on.named("by-hand"));
    age();

    let folder = tempfile::tempdir().expect("the temporary folder is writable");
    let file = folder.path().join("disks.json");
    fs::write(&file, cloud.listing().to_string()).expect("the folder is writable");
    let file = file.display().to_string();
    let with = ["--inventory", &file, "--threshold", "backend-gap=1s", "--older-than", "1s"];
    let found = |args: &[&str]| -> Vec<(String, String, String)> {
        let report = admin.audit(&[&with[..], args].concat());
        let all = report.json["findings"].as_array().cloned().unwrap_or_default();
        let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
        let of_disks = all.iter().filter(|it| it["object"]["kind"] == "BackendVolume");
        of_disks
            .map(|it| (text(&it["id"]), text(&it["severity"]), text(&it["object"]["name"])))
            .collect()
    };
    let ours = [&leaked, &torn, &timed_out, &thrown_away];
    let living = [&bound, &attached, &kept, &by_hand];
    let expect = |found: &[(String, String, String)], id: &str, severity: &str| {
        for disk in ours {
            let it = found.iter().find(|it| it.2 == **disk);
            let (found_as, how, _) =
                it.unwrap_or_else(|| panic!("{disk} is not found: {found:#?}"));
            assert_eq!((&**found_as, &**how), (id, severity), "{disk}");
        }
        for disk in living {
            assert!(!found.iter().any(|it| it.2 == **disk), "{disk} lives: {found:#?}");
        }
    };
    expect(&found(&[]), "backend-volume-unattributed", "low");
    expect(&found(&["--all-clusters"]), "backend-volume-orphan", "high");
    // By the namespace of the claim that its driver wrote down.
    let of_namespace = found(&["--all-clusters", "-n", &on.name]);
    assert!(of_namespace.iter().any(|it| it.2 == leaked), "{of_namespace:#?}");
    assert!(!of_namespace.iter().any(|it| it.2 == timed_out), "{of_namespace:#?}");

    // Nothing was done to any of them.
    for disk in ours.into_iter().chain(living) {
        assert!(cloud.has(disk), "{disk}");
        assert!(!cloud.operations_on(disk).contains(&"delete".to_owned()));
    }
}
