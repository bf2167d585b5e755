//! Disks of the stand-in for Google's cloud, listed as gcloud lists them: those that nothing names are found, and no other.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Value, json};

use super::age;
use crate::support::{Admin, GcePd, Scenario, Write, claim, eventually, pod, real_drivers};

/// A name that csi-provisioner gives, of a claim that no cluster has.
fn of_lost_claim(on: &Scenario, last: u8) -> String {
    let mut hasher = DefaultHasher::new();
    on.name.hash(&mut hasher);
    let digits = format!("{:016x}", hasher.finish());
    format!("pvc-{}-0000-4000-8000-00{}{last:02x}", &digits[..8], &digits[8..])
}

/// A bound volume, and the handle of its disk.
fn provisioned(on: &Scenario, cloud: &GcePd, name: &str) -> (String, String) {
    on.create(&claim(name, &cloud.class_retain));
    let volume = on.bound(name);
    let disk = on.handle(&volume);
    (volume, disk)
}

/// The disk of a volume that was deleted before its claim.
fn leaked(on: &Scenario, cloud: &GcePd, name: &str) -> String {
    let (volume, disk) = provisioned(on, cloud, name);
    on.cluster.kubectl(&["delete", "pv", &volume, "--wait=false"]);
    on.delete(&format!("pvc/{name}"));
    on.wait_gone(&format!("pv/{volume}"));
    disk
}

#[test]
#[ignore = "extended suite: drivers that people run"]
fn gce_pd_disks_that_nothing_names_are_found_in_a_listing_and_no_living_one() {
    let world = real_drivers();
    let on = Scenario::on(&world.cluster);
    let (admin, cloud) = (Admin::of(&on), &world.gce_pd);
    let provisioned = |name: &str| provisioned(&on, cloud, name);
    // Its volume is deleted first; its claim then.
    let leaked = leaked(&on, cloud, "early");
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
    // What it prints is for the cluster that was asked.
    let report = admin.audit(&[&with[..], &["--all-clusters", "--context", "testbed"]].concat());
    let mut findings = report.json["findings"].as_array().into_iter().flatten();
    let finding = findings.find(|it| it["object"]["name"] == *leaked).expect("it was found");
    let evidence = finding["evidence"].as_array().into_iter().flatten();
    let mut printed = evidence.filter(|it| it["field"] == "to have its data back");
    let adopt = printed.next().and_then(|it| it["value"].as_str()).expect("it is printed");
    assert!(adopt.ends_with(" --all-clusters --context testbed"), "{adopt}");
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

/// The listing with every disk made long ago, and changed once more.
fn old_listing(cloud: &GcePd, change: impl Fn(&mut Value)) -> Value {
    let mut listing = cloud.listing();
    for disk in listing.as_array_mut().expect("because it is a list") {
        disk["creationTimestamp"] = json!("2026-01-02T03:04:05.000-08:00");
        change(disk);
    }
    listing
}

#[test]
#[ignore = "extended suite: drivers that people run"]
fn gce_pd_disk_that_no_cluster_needs_is_given_to_a_claim_with_its_data() {
    let world = real_drivers();
    let on = Scenario::on(&world.cluster);
    let (admin, cloud) = (Admin::of(&on), &world.gce_pd);
    let provisioned = |name: &str| provisioned(&on, cloud, name);
    let disk = leaked(&on, cloud, "first");
    let (bound, living) = provisioned("bound");
    let by_hand = cloud.make(&on.named("by-hand"));

    let folder = tempfile::tempdir().expect("the temporary folder is writable");
    let write = |name: &str, listing: &Value| {
        let file = folder.path().join(name);
        fs::write(&file, listing.to_string()).expect("the folder is writable");
        file.display().to_string()
    };
    let listing = write("disks.json", &old_listing(cloud, |_| {}));
    let attached = write(
        "attached.json",
        &old_listing(cloud, |it| it["users"] = json!(["projects/demo/zones/z/instances/other"])),
    );
    let young = write("young.json", &cloud.listing());
    let adopt = |disk: &str, file: &str, more: &[&str]| -> Vec<String> {
        let to = format!("{}/back", on.name);
        let args = ["adopt", "--driver", GcePd::DRIVER, "--handle", disk, "--to", &to];
        let with = ["--inventory", file, "--yes"];
        let args = args.iter().chain(&with).chain(more);
        args.map(|it| (*it).to_owned()).collect()
    };
    let all = ["--all-clusters", "--volume-mode", "Filesystem"];
    let refusals = [
        (
            adopt(&disk, &listing, &["--volume-mode", "Filesystem"]),
            &disk,
            "unknown which cluster made it",
        ),
        (adopt(&disk, &listing, &["--all-clusters"]), &disk, "--volume-mode Filesystem, or Block"),
        (adopt(&disk, &attached, &all), &disk, "at the provider it is attached to"),
        (adopt(&disk, &young, &all), &disk, "it was just made"),
        (adopt(&living, &listing, &all), &living, &*format!("pv/{bound} names it")),
        (adopt(&by_hand, &listing, &all), &by_hand, "nothing shows that Kubernetes made it"),
    ];
    for (args, object, why) in refusals {
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        let told = admin.refused(5, &args);
        assert!(told.reason(object).contains(why), "{why}: {:#}", told.json);
    }

    let args = adopt(&disk, &listing, &all);
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let before = on.cluster.mark();
    let told = admin.run(&args).ends(0);
    let made = on.bound("back");
    assert!(made.starts_with("adopted-"), "{made}");
    assert_eq!(told.outcomes("done"), [&*made], "{:#}", told.json);
    let sent: Vec<_> = admin.sent(before).iter().map(Write::line).collect();
    let volume = format!("create persistentvolumes {made}");
    let claimed = "create persistentvolumeclaims back";
    let mut expected = vec![format!("dry {volume}"), format!("dry {claimed}"), volume];
    expected.extend([format!("dry {claimed}"), claimed.to_owned()]);
    assert_eq!(sent, expected);
    let volume = on.read(&format!("pv/{made}"));
    assert_eq!(volume["spec"]["persistentVolumeReclaimPolicy"], "Retain");
    assert_eq!(volume["spec"]["csi"]["volumeHandle"], *disk);
    let terms = &volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"];
    assert_eq!(terms[0]["matchExpressions"][0]["values"], json!(["us-central1-a"]));

    // A pod has the very disk.
    let mut user = pod("user", "back");
    user["spec"]["nodeName"] = json!("node-1");
    on.create(&user);
    eventually("the disk is attached", || cloud.nodes_of(&disk) == ["node-1"]);
    assert!(!cloud.operations_on(&disk).contains(&"delete".to_owned()));

    // Again, there is nothing to do; and there is a way back.
    let before = on.cluster.mark();
    let again = admin.run(&args).ends(0);
    assert!(again.stderr.contains("is bound to"), "{}", again.stderr);
    assert!(admin.sent(before).is_empty());
    let told = admin.refused(5, &["undo", "1", "--yes"]);
    assert!(told.json.to_string().contains("delete pvc"), "{:#}", told.json);

    // Its claim is deleted: `rebind` is for what is Released.
    on.delete("pod/user");
    eventually("the disk is detached", || cloud.nodes_of(&disk).is_empty());
    on.delete("pvc/back");
    on.wait_phase(&format!("pv/{made}"), "Released");
    let refused = |more: &[&str], why: &str| {
        let args: Vec<_> = args.iter().copied().chain(more.iter().copied()).collect();
        let told = admin.refused(5, &args);
        assert!(told.reason(&made).contains(why), "{why}: {:#}", told.json);
    };
    refused(&[], "is Released: `kubectl storage rebind");

    // A run that was killed has left the volume: the next one judges the disk as the first did, and goes on.
    on.cluster.kubectl(&["delete", "pv", &made]);
    let mut left = volume.clone();
    left["metadata"] =
        json!({"name": made, "annotations": volume["metadata"]["annotations"].clone()});
    for field in ["uid", "resourceVersion"] {
        left["spec"]["claimRef"].as_object_mut().expect("because it has one").remove(field);
    }
    left["status"] = json!({});
    on.create(&left);
    on.wait_phase(&format!("pv/{made}"), "Available");
    let attached = adopt(&disk, &attached, &all);
    let attached: Vec<_> = attached.iter().map(String::as_str).collect();
    let told = admin.refused(5, &attached);
    assert!(told.reason(&disk).contains("at the provider it is attached to"), "{:#}", told.json);
    refused(&["--class", "other"], "with volumeMode Filesystem and storageClassName \"\"");
    let other = format!("{}/other", on.name);
    let elsewhere: Vec<_> =
        args.iter().map(|it| if it.ends_with("/back") { &*other } else { *it }).collect();
    let told = admin.refused(5, &elsewhere);
    assert!(told.reason(&made).contains("is that of claim"), "{:#}", told.json);
    let before = on.cluster.mark();
    let again: Vec<_> = args.iter().copied().chain(["--fs-type", "xfs"]).collect();
    let told = admin.run(&again).ends(0);
    assert!(told.stderr.contains("exists since an earlier run"), "{}", told.stderr);
    assert_eq!(on.bound("back"), made);
    let sent: Vec<_> = admin.sent(before).iter().map(Write::line).collect();
    assert_eq!(sent, [&*format!("dry {claimed}"), claimed]);
}
