//! Every check of a reclaim as a refusal, and every way to try to select it away.

use serde_json::{Value, json};

use super::{Admin, left, policy, release};
use crate::support::{DriverOptions, PersistentVolume, Scenario, claim, eventually, pod, shared};

/// What speaks against a volume, and the words in which the refusal says so.
const AGAINST: [(&str, &str); 18] = [
    ("annotated", "annotation storage.kubectl.dev/ignore: all legal hold"),
    ("asked-for", "references it in spec.volumeName"),
    ("attached", "references it on node"),
    ("doubted", "annotation storage.kubectl.dev/backend-state: unknown"),
    ("grouped", "is being taken of it"),
    ("held", "lists it in volumesInUse or volumesAttached"),
    ("kept", "annotation storage.kubectl.dev/keep-until: 2199-01-01"),
    ("mounted", "uses claim"),
    ("node-gone", "no node matches its node affinity"),
    ("node-silent", "is not Ready: a pod there may still write"),
    ("of-nobody", "csi-provisioner of none.csi.example"),
    ("recreated", "was recreated"),
    ("secretless", "does not exist"),
    ("shared", "the same backend volume"),
    ("single", "rests only on lastPhaseTransitionTime"),
    ("snapshot", "is being taken of it"),
    ("static", "kube-controller-manager deletes paths beneath /tmp only"),
    ("unknown", "time of release unknown"),
];

fn pinned(volume: PersistentVolume, node: &str) -> PersistentVolume {
    let here = json!({"key": "kubernetes.io/hostname", "operator": "In", "values": [node]});
    let mut volume = volume;
    volume.0["spec"]["nodeAffinity"] =
        json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}});
    volume
}

/// One volume for each reason, all with the label of the scenario.
fn volumes(on: &Scenario, node: &str) -> Vec<PersistentVolume> {
    let mut all: Vec<_> = AGAINST
        .iter()
        .map(|(name, _)| {
            let volume = left(on, name);
            match *name {
                "annotated" => volume.annotated("storage.kubectl.dev/ignore", "all legal hold"),
                "doubted" => volume.annotated("storage.kubectl.dev/backend-state", "unknown"),
                "kept" => volume.annotated("storage.kubectl.dev/keep-until", "2199-01-01"),
                "node-gone" => pinned(volume, "none"),
                "node-silent" => pinned(volume, node),
                "of-nobody" => {
                    let name = on.named(name);
                    let volume = PersistentVolume::csi(&name, "none.csi.example", &name);
                    volume.left_by(&on.name, &name).provisioned_by("none.csi.example")
                }
                "secretless" => volume
                    .annotated("volume.kubernetes.io/provisioner-deletion-secret-name", "none")
                    .annotated(
                        "volume.kubernetes.io/provisioner-deletion-secret-namespace",
                        &on.name,
                    ),
                "static" => {
                    let volume = PersistentVolume::host_path(&on.named(name), "/data/none");
                    volume.left_by(&on.name, name)
                }
                _ => volume,
            }
        })
        .collect();
    // The other volume of the same disk is in use.
    let (handle, name) = (on.named("shared"), on.named("shared-twin"));
    all.push(PersistentVolume::csi(&name, &shared().driver().name, &handle).policy("Delete"));
    for volume in &mut all {
        volume.0["metadata"]["labels"]["scenario"] = json!(on.name);
    }
    all
}

/// What else has to be there for it.
fn everybody_else(on: &Scenario, node: &str) {
    let driver = &shared().driver().name;
    let named = |name: &str| on.named(name);
    on.cluster.create(&json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": node, "labels": {"kubernetes.io/hostname": node}},
        "spec": {"unschedulable": true},
        "status": {"volumesInUse": [format!("kubernetes.io/csi/{driver}^{}", named("held"))]},
    }));
    on.create(&json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
        "metadata": {"name": named("attachment")},
        "spec": {"attacher": driver, "nodeName": node, "source": {"persistentVolumeName": named("attached")}},
    }));
    let mut asks = claim("asks", "");
    asks["spec"]["volumeName"] = json!(named("asked-for"));
    on.create(&asks);
    on.create(&claim(&named("recreated"), ""));
    on.create(&pod("user", &named("mounted")));
    let reference = json!({"namespace": on.name, "name": "none", "uid": "00000000-0000-4000-8000-000000000001"});
    on.create(&json!({
        "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotContent",
        "metadata": {"name": named("content")},
        "spec": {
            "deletionPolicy": "Retain", "driver": driver, "volumeSnapshotRef": reference,
            "source": {"volumeHandle": named("snapshot")},
        },
    }));
    on.cluster.create(&json!({
        "apiVersion": "groupsnapshot.storage.k8s.io/v1beta2", "kind": "VolumeGroupSnapshotContent",
        "metadata": {"name": named("group")},
        "spec": {
            "deletionPolicy": "Retain", "driver": driver, "volumeGroupSnapshotRef": reference,
            "source": {"volumeHandles": [named("grouped"), "another"]},
        },
    }));
    for name in ["single", "unknown"] {
        let object = format!("pv/{}", named(name));
        if name == "unknown" {
            let zero = json!({"status": {"lastPhaseTransitionTime": "0001-01-01T00:00:00Z"}});
            on.patch_status(&object, &zero);
        }
        on.patch(&object, &json!({"metadata": {"managedFields": [{}]}}));
    }
}

#[test]
#[ignore = "extended suite: further cases"]
fn no_check_can_be_selected_away() {
    let on = Scenario::on(shared());
    let (admin, node) = (Admin::of(&on), on.named("node"));
    let all = volumes(&on, &node);
    let (twin, rest) = all.split_last().expect("because there are some");
    on.create(&twin.0);
    release(&on, &rest.iter().collect::<Vec<_>>());
    everybody_else(&on, &node);
    let names: Vec<_> = AGAINST.iter().map(|(name, _)| on.named(name)).collect();
    let typed: Vec<_> = names.iter().map(String::as_str).collect();

    let driver = shared().driver();
    let label = format!("scenario={}", on.name);
    let gc = ["gc", "--older-than", "1s", "--yes"];
    let refusals = |told: &super::Told, of: &dyn Fn(&str) -> bool| {
        assert_eq!(told.changes(), [""; 0], "{:#}", told.json);
        for (short, why) in AGAINST.iter().filter(|(short, _)| of(short)) {
            let reason = told.reason(&on.named(short));
            assert!(reason.contains(why), "{short}: {reason}");
        }
        assert_eq!(told.refusals().len(), AGAINST.iter().filter(|(short, _)| of(short)).count());
    };
    let ours = |short: &str| !["of-nobody", "static"].contains(&short);
    refusals(&admin.refused(0, &[&gc[..], &["-n", &on.name]].concat()), &|_| true);
    refusals(&admin.refused(0, &[&gc[..], &["-l", &label]].concat()), &|_| true);
    let of_class = ["-n", &*on.name, "--storage-class", &*driver.class_retain];
    refusals(&admin.refused(0, &[&gc[..], &of_class].concat()), &ours);
    let of_driver = ["-n", &*on.name, "-l", &*label, "--driver", &*driver.name];
    refusals(&admin.refused(0, &[&gc[..], &of_driver].concat()), &ours);
    let of_nobody = ["-n", &*on.name, "--driver", "none.csi.example"];
    refusals(&admin.refused(0, &[&gc[..], &of_nobody].concat()), &|short| short == "of-nobody");
    // By name, and one by one: nothing else of the cluster is selected then.
    refusals(&admin.refused(5, &[&gc[..], &typed].concat()), &|_| true);
    for short in ["attached", "shared", "held", "snapshot"] {
        let told = admin.refused(5, &[&gc[..], &[&*on.named(short)]].concat());
        refusals(&told, &|other| other == short);
    }

    // Exemptions exempt nothing from being checked, and one that has expired allows nothing.
    let exempt = ["annotate", "pv", "-l", &label, "--overwrite"];
    let id = "storage.kubectl.dev/ignore=pv-released-still-attached,pv-released-past-threshold";
    on.cluster.kubectl(&[&exempt[..], &[id, "storage.kubectl.dev/keep-until=2001-01-01"]].concat());
    let told = admin.refused(5, &[&gc[..], &typed].concat());
    assert_eq!((told.changes().len(), told.refusals().len()), (0, AGAINST.len()));
    let unexempt = ["storage.kubectl.dev/ignore-", "storage.kubectl.dev/keep-until=2001-01-01"];
    on.cluster.kubectl(&[&exempt[..], &unexempt].concat());

    // All danger flags together overrule what they are about, and nothing else.
    let flags = ["--include-recreated", "--include-unknown-age", "--backend-verified"];
    let told =
        admin.refused(5, &[&gc[..], &typed, &flags, &["--destroy-data", "--max", "0"]].concat());
    assert_eq!(told.json, Value::Null, "{:#}", told.json);
    let shown = [&gc[..], &typed, &flags, &["--dry-run=client"]].concat();
    let told = admin.refused(6, &shown);
    let overruled = ["annotated", "doubted", "kept", "recreated", "single", "unknown"];
    assert_eq!(told.changes(), overruled.map(|name| on.named(name)), "{:#}", told.json);
    let relied = |name: &str| {
        let change =
            told.listed("changes").iter().find(|it| it["object"]["name"] == on.named(name));
        change.expect("one").clone()["reliesOn"].take()
    };
    assert_eq!(relied("doubted"), json!(["--backend-verified"]));
    assert_eq!(relied("recreated"), json!(["--include-recreated"]));
    assert_eq!(relied("unknown"), json!(["--include-unknown-age"]));
    assert_eq!(relied("annotated"), json!([]), "nothing is left that protects it");

    // One of several that were named goes, and it is the right one.
    let good = on.named("good");
    release(&on, &[&left(&on, "good")]);
    let told = admin.run(&[&gc[..], &[&*good, &*names[2], &*names[5]]].concat()).ends(6);
    assert_eq!(
        (told.outcomes("done"), told.refusals().len()),
        (vec![&*good], 2),
        "{:#}",
        told.json
    );
    for name in &names {
        assert_eq!(policy(&on, name), "Retain");
        assert!(driver.has(name), "{name}");
    }
    assert!(!driver.has(&good));
    let group = format!("volumegroupsnapshotcontent/{}", on.named("group"));
    let content = format!("volumesnapshotcontent/{}", on.named("content"));
    let attachment = format!("volumeattachment/{}", on.named("attachment"));
    let node = format!("node/{node}");
    on.cluster.kubectl(&["delete", "--wait=false", &group, &content, &attachment, &node]);
}

#[test]
fn d_11_nothing_is_told_to_a_driver_that_is_not_there() {
    let on = Scenario::on(shared());
    let driver = shared().start_driver("d11.csi.example", &DriverOptions::default());
    let (admin, name) = (Admin::of(&on), on.named("pv"));
    driver.make(&name);
    let volume = PersistentVolume::csi(&name, &driver.name, &name).left_by(&on.name, "gone");
    release(&on, &[&volume.provisioned_by(&driver.name)]);
    let gc = ["gc", "-n", &on.name, "--older-than", "1s"];
    let shown = admin.refused(0, &[&gc[..], &["--dry-run=client"]].concat());
    assert_eq!(shown.changes(), [&*name], "{:#}", shown.json);

    driver.stop("scale-to-zero");
    let expired = json!({"spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}});
    on.cluster.patch("csi-d11-csi-example", "lease/d11-csi-example", &expired);
    eventually("its Lease has expired, and its pod is gone", || {
        let shown = admin.run(&[&gc[..], &["--dry-run=client"]].concat());
        shown.changes().is_empty()
    });
    let told = admin.refused(0, &[&gc[..], &["--yes"]].concat());
    assert!(told.reason(&name).contains(&driver.name), "{:#}", told.json);
    let told = admin.refused(5, &["gc", &name, "--older-than", "1s", "--yes"]);
    assert!(told.reason(&name).contains("csi-provisioner"), "{:#}", told.json);
    assert_eq!((policy(&on, &name), driver.has(&name)), ("Retain".to_owned(), true));
}

#[test]
fn d_29_without_the_deletion_secret_nothing_is_sent() {
    let on = Scenario::on(shared());
    let name = on.named("pv");
    let volume = left(&on, "pv")
        .annotated("volume.kubernetes.io/provisioner-deletion-secret-name", "credentials")
        .annotated("volume.kubernetes.io/provisioner-deletion-secret-namespace", &on.name);
    release(&on, &[&volume]);
    let by_filter = ["gc", "-n", &on.name, "--older-than", "1s", "--yes"];
    let by_name = ["gc", &name, "--older-than", "1s", "--yes"];
    let admin = Admin::of(&on);
    assert!(admin.refused(0, &by_filter).reason(&name).contains("credentials does not exist"));
    admin.refused(5, &by_name);

    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "credentials"}});
    on.create(&secret);
    // Whether it exists, somebody who may not look cannot know: that is no refusal to shrug at.
    let blind = Admin::limited(&on, "blind", &["secrets"], &["patch"]);
    for args in [&by_filter[..], &by_name] {
        let told = blind.refused(5, args);
        assert_eq!(told.json["refusals"][0]["unseen"], true, "{:#}", told.json);
        assert!(told.reason(&name).contains("forbidden"), "{:#}", told.json);
    }
    // The one who may look never reads what is in it.
    let before = on.cluster.mark();
    assert_eq!(admin.run(&by_filter).ends(0).outcomes("done"), [&*name]);
    let requests = admin.requests(before);
    let of_secrets: Vec<_> =
        requests.iter().filter(|it| it["objectRef"]["resource"] == "secrets").collect();
    assert!(!of_secrets.is_empty() && of_secrets.iter().all(|it| it["verb"] == "get"));
    assert!(!shared().driver().has(&name));
}

#[test]
fn d_30_a_snapshot_that_is_being_taken_is_waited_for() {
    let on = Scenario::on(shared());
    let (admin, name, content) = (Admin::of(&on), on.named("pv"), on.named("content"));
    release(&on, &[&left(&on, "pv")]);
    on.create(&json!({
        "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotContent",
        "metadata": {"name": content},
        "spec": {
            "deletionPolicy": "Retain", "driver": shared().driver().name, "source": {"volumeHandle": name},
            "volumeSnapshotRef": {"namespace": on.name, "name": "none", "uid": "00000000-0000-4000-8000-000000000030"},
        },
    }));
    let ready = |ready: bool| {
        let status = json!({"status": {"readyToUse": ready, "snapshotHandle": "snap-30"}});
        on.patch_status(&format!("volumesnapshotcontent/{content}"), &status);
    };
    let args = ["gc", "-n", &on.name, "--older-than", "1s", "--yes"];
    ready(false);
    assert!(admin.refused(0, &args).reason(&name).contains(&content));

    ready(true);
    for resource in ["volumesnapshotcontents", "pods", "volumeattachments"] {
        let blind = Admin::limited(&on, resource, &[resource], &["patch"]);
        let told = blind.refused(5, &args);
        assert_eq!(told.json["refusals"][0]["unseen"], true, "{:#}", told.json);
    }
    let told = admin.refused(0, &args);
    assert!(told.reason(&name).contains("may be destroyed with it"), "{:#}", told.json);
    let flag = "--destroy-snapshots";
    let told = admin.refused(0, &[&args[..5], &["--dry-run=client", flag]].concat());
    assert!(told.json["changes"][0]["notices"].to_string().contains(&content), "{:#}", told.json);
    assert_eq!(admin.run(&[&args[..], &[flag]].concat()).ends(0).outcomes("done"), [&*name]);
    assert!(!shared().driver().has(&name));
    on.delete(&format!("volumesnapshotcontent/{content}"));
}
