//! What `expand` proposes and refuses.

use std::cell::RefCell;

use serde_json::{Value, json};

use super::*;
use crate::cluster::{Change, Dirty};
use crate::model::{Settings, parse_day};
use crate::objects::whole_cluster::cluster_of;

const DRIVER: &str = "disk.example.com";

/// A claim that is bound to a volume of a driver, whose resizer holds its Lease.
fn objects(driver: &str) -> Vec<Value> {
    vec![
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": "db", "namespace": "shop", "uid": "u"},
            "spec": {
                "volumeName": "pv-db", "storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "10Gi"}},
            },
            "status": {"phase": "Bound", "capacity": {"storage": "10Gi"}},
        }),
        json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": "pv-db", "uid": "v"},
            "spec": {
                "capacity": {"storage": "10Gi"}, "persistentVolumeReclaimPolicy": "Delete",
                "csi": {"driver": driver, "volumeHandle": "vol-0aaaaaaaaaaaaaaa1"},
                "claimRef": {"namespace": "shop", "name": "db", "uid": "u"},
            },
            "status": {"phase": "Bound"},
        }),
        json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
            "metadata": {"name": "fast"}, "provisioner": driver, "allowVolumeExpansion": true,
        }),
        json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": format!("external-resizer-{}", facts::sanitize(driver)), "namespace": "storage"},
            "spec": {"holderIdentity": "r", "renewTime": "2026-05-31T23:59:55.000000Z", "leaseDurationSeconds": 15},
        }),
        json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": driver}, "spec": {},
        }),
    ]
}

fn ask(
    objects: &[Value],
    growth: Growth,
    settings: &Settings,
    unread: &[Kind],
) -> Seen<Result<Proposal, String>> {
    let mut cluster = cluster_of(objects, [], unread);
    let now = parse_day("2026-06-01T00:00:00Z").expect("it is a time");
    cluster.apply(Change::Clock(now), &mut Dirty::default());
    let facts = RefCell::default();
    let cx = Cx::new(&cluster, settings, &facts);
    let (_, claim) = cluster.claims().next().expect("there is one");
    Ok(propose(&cx, claim, growth)?.map_err(|it| it.reason))
}

fn plain(objects: &[Value], growth: Growth) -> Result<Proposal, String> {
    ask(objects, growth, &Settings::default(), &[]).expect("everything was read")
}

/// Returns the objects with another value in one of them.
fn with(number: usize, path: &str, value: Value) -> Vec<Value> {
    let mut objects = objects(DRIVER);
    let (parent, key) = path.rsplit_once('/').expect("it is a path");
    objects[number].pointer_mut(parent).expect("it has that")[key] = value;
    objects
}

fn size(proposal: &Proposal) -> (Bytes, Bytes) {
    let [Action::RequestStorage { from, to, .. }] = &*proposal.steps else {
        panic!("{:?}", proposal.steps)
    };
    (*from, *to)
}

const GI: Bytes = 1 << 30;

#[test]
fn the_plain_case_needs_no_flag() {
    for (growth, to) in [
        (Growth::To(12 * GI), 12 * GI),
        (Growth::More(2 * GI), 12 * GI),
        (Growth::Percent(20), 12 * GI),
        // In whole mebibytes.
        (Growth::To(11 * GI + 1), 11 * GI + MI),
        (Growth::Percent(1), 10_343 * MI),
    ] {
        let proposal = plain(&objects(DRIVER), growth).expect("proposed");
        assert_eq!(size(&proposal), (10 * GI, to), "{growth:?}");
        assert_eq!(proposal.relies_on, [""; 0]);
        assert!(matches!(proposal.undo, Undo::Never(_)));
    }
    // In whole gibibytes, where the driver's own unit is known: one of them rounds down.
    let digitalocean = objects("dobs.csi.digitalocean.com");
    let proposal = plain(&digitalocean, Growth::To(12 * GI + MI)).expect("proposed");
    assert_eq!(size(&proposal).1, 13 * GI);
    assert!(proposal.notices.iter().any(|it| it.contains("rounded up to whole 1Gi")));
}

#[test]
fn the_plan_says_what_was_rounded() {
    let rounded = |driver: &str, growth: Growth| {
        let notices = plain(&objects(driver), growth).expect("proposed").notices;
        notices.into_iter().find(|it| it.contains("is rounded up"))
    };
    let digitalocean = "dobs.csi.digitalocean.com";
    for (driver, growth, told) in [
        (DRIVER, Growth::More(GI + 1024), Some("11534337Ki is rounded up to whole 1Mi")),
        (DRIVER, Growth::More(GI), None),
        // Per cent are no exact size.
        (DRIVER, Growth::Percent(1), None),
        (digitalocean, Growth::Percent(5), Some("10.5Gi is rounded up to whole 1Gi")),
        (digitalocean, Growth::More(MI), Some("10241Mi is rounded up to whole 1Gi")),
        (digitalocean, Growth::Percent(20), None),
    ] {
        assert_eq!(rounded(driver, growth).as_deref(), told, "{driver} {growth:?}");
    }
}

#[test]
fn what_the_volume_has_counts() {
    // Its driver has grown it, or it was created by hand: the claim does not say so.
    let larger = with(1, "/spec/capacity/storage", json!("30Gi"));
    for (to, reason) in [
        (20, "its volume has 30Gi, although status.capacity is 10Gi"),
        (30, "request more than 30Gi"),
        (5, "its volume has 30Gi, and volumes cannot shrink"),
    ] {
        let refused = plain(&larger, Growth::To(to * GI)).expect_err("refused");
        assert!(refused.contains(reason), "{refused}");
    }
    let proposal = plain(&larger, Growth::Percent(50)).expect("proposed");
    assert_eq!(size(&proposal), (10 * GI, 45 * GI));
    assert!(proposal.effect.what.contains("15Gi more than there is"), "{}", proposal.effect.what);
    let smaller = with(1, "/spec/capacity/storage", json!("5Gi"));
    assert_eq!(size(&plain(&smaller, Growth::More(GI)).expect("proposed")).1, 11 * GI);
}

#[test]
fn a_size_that_may_be_a_mistake_is_told() {
    let told = |to: Bytes| {
        let notices = plain(&objects(DRIVER), Growth::To(to)).expect("proposed").notices;
        notices.iter().any(|it| it.contains("more than ten times as large as now"))
    };
    assert!(told(7 << 60) && told(100 * GI + 1));
    assert!(!told(100 * GI));
}

#[test]
fn another_volume_of_the_same_backend_volume_is_told() {
    let told = |names: &[&str], handle: &str| {
        let mut objects = objects(DRIVER);
        for name in names {
            let mut copy = objects[1].clone();
            copy["metadata"] = json!({"name": name, "uid": name});
            copy["spec"]["csi"]["volumeHandle"] = json!(handle);
            copy["spec"]["claimRef"] = Value::Null;
            objects.push(copy);
        }
        plain(&objects, Growth::Percent(20)).expect("proposed").notices.join("\n")
    };
    let same = "vol-0aaaaaaaaaaaaaaa1";
    let one = told(&["pv-copy"], same);
    assert!(one.contains("pv/pv-copy is the same backend volume: it grows too"), "{one}");
    let two = told(&["pv-copy", "pv-other"], same);
    assert!(two.contains("pv/pv-copy and 1 more are the same backend volume"), "{two}");
    let other = told(&["pv-copy"], "vol-0aaaaaaaaaaaaaaa2");
    assert!(!other.contains("the same backend volume"), "{other}");
}

#[test]
fn a_size_that_is_not_larger_is_refused() {
    for (growth, reason) in [
        (Growth::To(10 * GI), "10Gi is not larger: its volume has 10Gi"),
        (Growth::To(5 * GI), "5Gi is not larger"),
        (Growth::To(1 << 63), "larger than any quantity"),
        (Growth::More(u64::MAX), "larger than any quantity"),
    ] {
        let refused = plain(&objects(DRIVER), growth).expect_err("refused");
        assert!(refused.contains(reason), "{refused}");
    }
    // Bound to a larger volume: the server would accept it, and nothing would happen.
    let larger = with(0, "/status/capacity/storage", json!("20Gi"));
    let refused = plain(&larger, Growth::To(15 * GI)).expect_err("refused");
    assert!(refused.contains("its volume has 20Gi"), "{refused}");
    assert_eq!(size(&plain(&larger, Growth::Percent(50)).expect("proposed")), (10 * GI, 30 * GI));
}

#[test]
fn what_the_api_server_or_the_resizer_would_ignore_is_refused() {
    let condition = |kind: &str, message: &str| json!([{"type": kind, "status": "True", "reason": "", "message": message}]);
    for (number, path, value, reason) in [
        (0, "/metadata/deletionTimestamp", json!("2026-05-01T00:00:00Z"), "it is Terminating"),
        (0, "/status/phase", json!("Pending"), "its phase is Pending"),
        (0, "/status/phase", json!("Lost"), "its phase is Lost"),
        (0, "/spec/storageClassName", json!(""), "it has no StorageClass"),
        (0, "/spec/storageClassName", json!("other"), "StorageClass other does not exist"),
        (2, "/allowVolumeExpansion", json!(false), "StorageClass fast does not allow expansion"),
        (2, "/allowVolumeExpansion", Value::Null, "StorageClass fast does not allow expansion"),
        (0, "/spec/volumeName", json!("gone"), "PersistentVolume gone does not exist"),
        (1, "/spec/claimRef/uid", json!("other"), "references another claim"),
        (1, "/spec/claimRef/name", json!("other"), "references another claim"),
        (0, "/spec/resources/requests/storage", json!("12Gi"), "12Gi is requested already"),
        (0, "/status/conditions", condition("Resizing", ""), "is under way"),
        (0, "/status/conditions", condition("FileSystemResizePending", ""), "when a pod mounts it"),
        (0, "/status/conditions", condition("ControllerResizeError", "no space"), "no space"),
        (
            0,
            "/status/allocatedResourceStatuses",
            json!({"storage": "ControllerResizeInfeasible"}),
            "has failed",
        ),
        (0, "/status/capacity", Value::Null, "is missing"),
        (
            0,
            "/metadata/annotations",
            json!({"storage.kubectl.dev/ignore": "all mine"}),
            "ignore: all mine",
        ),
    ] {
        let refused = plain(&with(number, path, value), Growth::Percent(20)).expect_err(path);
        assert!(refused.contains(reason), "{path}: {refused}");
    }
    // What has changed since its class was made does not matter: the volume alone is expanded.
    assert!(plain(&with(2, "/provisioner", json!("old")), Growth::Percent(20)).is_ok());
    for (driver, reason) in [
        ("efs.csi.aws.com", "grows by itself"),
        ("nfs.csi.k8s.io", "a directory of a shared file system"),
        ("smb.csi.k8s.io", "a directory of a shared file system"),
    ] {
        let refused = plain(&objects(driver), Growth::Percent(20)).expect_err(driver);
        assert!(refused.contains(reason), "{refused}");
    }
}

#[test]
fn a_resizer_has_to_be_seen_or_asserted() {
    let without_lease = |driver: &str| {
        let mut objects = objects(driver);
        objects.remove(3);
        objects
    };
    let asserted = Settings { alive_resizers: [DRIVER.into()].into(), ..Settings::default() };
    let refused = plain(&without_lease(DRIVER), Growth::Percent(20)).expect_err("refused");
    let lifts = format!("--resizer-alive {DRIVER} asserts that it is");
    assert!(
        refused.contains("external-resizer of disk.example.com may not be running"),
        "{refused}"
    );
    assert!(refused.ends_with(&lifts), "{refused}");
    let given = ask(&without_lease(DRIVER), Growth::Percent(20), &asserted, &[]);
    assert_eq!(given.expect("read").expect("proposed").relies_on, ["--resizer-alive"]);
    // Leases that were not read are none that are missing.
    let unseen =
        ask(&without_lease(DRIVER), Growth::Percent(20), &Settings::default(), &[Kind::Lease]);
    assert!(unseen.expect_err("unseen").reason.ends_with(&lifts));
    let given = ask(&without_lease(DRIVER), Growth::Percent(20), &asserted, &[Kind::Lease]);
    assert!(given.expect("read").is_ok());
    // A holder that stopped renewing it is evidence that it does not run.
    let mut stopped = objects(DRIVER);
    stopped[3]["spec"]["renewTime"] = json!("2026-05-30T00:00:00.000000Z");
    let given = ask(&stopped, Growth::Percent(20), &asserted, &[]).expect("read");
    assert!(given.expect_err("refused").contains("start it first"));
}

#[test]
fn a_hidden_control_plane_is_no_reason_to_refuse() {
    let without = |driver: &str, removed: &[usize]| {
        let objects = objects(driver).into_iter().enumerate();
        let left = objects.filter(|(number, _)| !removed.contains(number)).map(|it| it.1);
        plain(&left.collect::<Vec<_>>(), Growth::Percent(20))
    };
    for driver in
        ["pd.csi.storage.gke.io", "dobs.csi.digitalocean.com", "ebs.csi.eks.amazonaws.com"]
    {
        let proposal = without(driver, &[3]).expect(driver);
        assert!(proposal.notices.iter().any(|it| it.contains("was not seen")), "{driver}");
        assert_eq!(proposal.relies_on, [""; 0], "{driver}");
        // A driver that is not installed is not hidden.
        without(driver, &[3, 4]).expect_err(driver);
    }
    // Its Leases would be visible.
    for driver in ["disk.csi.azure.com", "ebs.csi.aws.com"] {
        without(driver, &[3]).expect_err(driver);
    }
}

#[test]
fn a_volume_without_a_csi_driver_needs_an_assertion() {
    let mut local = objects(DRIVER);
    local[1]["spec"]["csi"] = Value::Null;
    local[1]["spec"]["hostPath"] = json!({"path": "/data/db"});
    local[1]["metadata"]["annotations"] =
        json!({"pv.kubernetes.io/provisioned-by": "example.com/paths"});
    let refused = plain(&local, Growth::Percent(20)).expect_err("refused");
    assert!(refused.contains("example.com/paths is no CSI driver"), "{refused}");
    local[1]["metadata"]["annotations"] =
        json!({"pv.kubernetes.io/provisioned-by": "rancher.io/local-path"});
    let refused = plain(&local, Growth::Percent(20)).expect_err("refused");
    assert!(refused.contains("the disk of the node"), "{refused}");
}

#[test]
fn the_plan_says_whose_manifest_follows() {
    let told = |number: usize, path: &str, value: Value| {
        plain(&with(number, path, value), Growth::Percent(20)).expect("proposed").notices.join("\n")
    };
    let helm = json!({"app.kubernetes.io/managed-by": "Helm"});
    assert!(told(0, "/metadata/labels", helm).contains("Helm applies the claim"));
    let argo = json!({"argocd.argoproj.io/tracking-id": "shop:v1/PersistentVolumeClaim:shop/db"});
    assert!(told(0, "/metadata/annotations", argo).contains("Argo CD applies the claim"));
    let owner = json!([{"apiVersion": "db.example.com/v1", "kind": "Database", "name": "d", "uid": "d", "controller": true}]);
    assert!(told(0, "/metadata/ownerReferences", owner).contains("Database d owns the claim"));
    assert!(told(0, "/spec/accessModes", json!(["ReadOnlyMany"])).contains("mounted read-only"));
    assert!(told(0, "/metadata/labels", json!({})).contains("no pod mounts it"));
    let mut of_set = objects(DRIVER);
    of_set[0]["metadata"]["name"] = json!("data-web-0");
    of_set[1]["spec"]["claimRef"]["name"] = json!("data-web-0");
    of_set.push(json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "web", "namespace": "shop", "uid": "s"},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}],
        },
    }));
    of_set[0]["metadata"]["labels"] = json!({"app": "web"});
    let notices = plain(&of_set, Growth::Percent(20)).expect("proposed").notices.join("\n");
    assert!(notices.contains("new replicas of sts/web get the old size"), "{notices}");
}

#[test]
fn the_command_is_the_one_that_is_proposed() {
    let cluster = cluster_of(&objects(DRIVER), [], &[]);
    let (settings, facts) = (Settings::default(), RefCell::default());
    let cx = Cx::new(&cluster, &settings, &facts);
    let (_, claim) = cluster.claims().next().expect("there is one");
    assert_eq!((REMEDY.command)(&cx, claim).as_deref(), Some("expand pvc/db -n shop --by 20%"));
}
