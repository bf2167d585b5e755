//! What has gone wrong in two years.

use serde_json::Value;

use super::old::{Old, bound, claim, class, namespace};
use super::{GONE, LIVE};
use crate::support::PersistentVolume;

const EXTERNAL: &str = "external-provisioner.volume.kubernetes.io/finalizer";

/// Claims with a running pod.
pub(super) const USED: [(&str, &str); 6] = [
    ("shop", "catalog"),
    ("shop", "orders"),
    ("shop", "payments"),
    ("shop", "cart"),
    ("analytics", "warehouse"),
    ("analytics", "notebooks"),
];

/// A volume that a driver once provisioned.
fn provisioned(name: &str, driver: &str, policy: &str) -> PersistentVolume {
    let class = match (driver, policy) {
        (GONE, _) => "legacy",
        (_, "Delete") => "fast",
        _ => "fast-retain",
    };
    by_hand(name, driver, &format!("vol-{name}"), policy).provisioned_by(driver).class(class)
}

/// A volume that somebody wrote down.
fn by_hand(name: &str, driver: &str, handle: &str, policy: &str) -> PersistentVolume {
    PersistentVolume::csi(name, driver, handle).policy(policy)
}

/// All objects, each with its key in etcd.
pub(super) fn objects() -> Vec<(String, Value)> {
    let mut all: Vec<_> = ["shop", "analytics", "wiki"].map(namespace).into();
    all.extend([class("fast", "Delete", true), class("fast-retain", "Retain", false)]);
    all.extend(healthy());
    all.extend(released());
    all.extend(terminating());
    all.extend(undeletable());
    all.extend(claims());
    all
}

fn healthy() -> Vec<(String, Value)> {
    let volume = |name, policy| Old::volume(provisioned(name, LIVE, policy), "Bound", 400);
    [
        bound(&volume("catalog", "Retain").size("50Gi"), "shop", "catalog"),
        bound(&volume("orders-2", "Retain").size("200Gi"), "shop", "orders"),
        bound(&volume("warehouse", "Retain").size("2Ti"), "analytics", "warehouse"),
        bound(&volume("notebooks", "Delete").size("20Gi"), "analytics", "notebooks"),
    ]
    .concat()
}

/// Claims that went, and volumes that stayed.
fn released() -> Vec<(String, Value)> {
    let volume = |name: &str, claim, days| {
        Old::volume(provisioned(name, LIVE, "Retain").left_by("shop", claim), "Released", days)
    };
    let secret = provisioned("vault", LIVE, "Retain")
        .left_by("shop", "vault")
        .annotated("volume.kubernetes.io/provisioner-deletion-secret-name", "disk-credentials")
        .annotated("volume.kubernetes.io/provisioner-deletion-secret-namespace", "shop");
    let twin = by_hand("team-b-scratch", LIVE, "vol-shared-0042", "Retain")
        .left_by("analytics", "scratch");
    vec![
        volume("catalog-2024", "catalog-old", 212).size("500Gi").stored(),
        volume("search-index", "search", 96).size("300Gi").stored(),
        // Released under a server that did not stamp it yet.
        volume("invoices", "invoices", 300).size("100Gi").unrecorded().stored(),
        // The stamp is of a time when stamping was off.
        volume("sessions", "sessions", 12).size("40Gi").stamped(390).stored(),
        // The claim was made again, and has another volume now.
        volume("orders-1", "orders", 150).size("200Gi").stored(),
        Old::volume(secret, "Released", 60).size("10Gi").stored(),
        // The same disk as team-a-db.
        Old::volume(twin, "Released", 45).size("250Gi").stored(),
        Old::volume(provisioned("mail", LIVE, "Retain"), "Available", 30).size("60Gi").stored(),
        // The driver that would delete it is gone.
        Old::volume(
            provisioned("metrics", GONE, "Delete").left_by("analytics", "metrics"),
            "Released",
            80,
        )
        .size("1Ti")
        .stored(),
    ]
}

/// Volumes that were deleted while they were in use, or that something holds.
fn terminating() -> Vec<(String, Value)> {
    let payments = provisioned("payments", LIVE, "Delete").finalizers(&[EXTERNAL]);
    let events = Old::volume(provisioned("events", GONE, "Delete"), "Bound", 500).size("800Gi");
    let in_tree = PersistentVolume::host_path("wiki", "/tmp/hostpath_pv/wiki").policy("Delete");
    let in_tree = in_tree.provisioned_by("kubernetes.io/host-path");
    let cache = provisioned("cache", GONE, "Delete").left_by("analytics", "cache");
    let mut all = [
        bound(
            &Old::volume(payments, "Bound", 400).size("100Gi").terminating(3),
            "shop",
            "payments",
        ),
        bound(&events.terminating(2), "analytics", "events"),
        bound(&Old::volume(in_tree, "Bound", 400).size("8Gi").terminating(40), "wiki", "pages"),
    ]
    .concat();
    let cache =
        Old::volume(cache, "Released", 35).held_by(&["external-attacher/legacy-csi-example"]);
    all.push(cache.size("30Gi").terminating(34).stored());
    all
}

/// Volumes whose deletion nobody can, or will only too well, carry out.
fn undeletable() -> Vec<(String, Value)> {
    let reports = PersistentVolume::host_path("reports", "/data/reports").policy("Delete");
    let scratch =
        PersistentVolume::host_path("scratch", "/tmp/hostpath_pv/scratch").policy("Recycle");
    let mut rbd = PersistentVolume::host_path("ceph", "/")
        .policy("Delete")
        .provisioned_by("kubernetes.io/rbd");
    rbd.0["spec"].as_object_mut().expect("because it is one").remove("hostPath");
    rbd.0["spec"]["rbd"] =
        serde_json::json!({"monitors": ["10.0.0.7:6789"], "image": "ceph-0007", "pool": "rbd"});
    let archive = provisioned("archive", GONE, "Retain").finalizers(&[EXTERNAL]);
    let archive = Old::volume(archive, "Bound", 300).size("4Ti");
    let legacy = by_hand("legacy-db", LIVE, "vol-0007", "Delete");
    let legacy = Old::volume(legacy, "Bound", 300).size("500Gi");
    let team_a = by_hand("team-a-db", LIVE, "vol-shared-0042", "Delete");
    let team_a = Old::volume(team_a, "Bound", 300).size("250Gi");
    let cart = Old::volume(provisioned("cart", LIVE, "Delete"), "Bound", 400).size("25Gi");
    let mut all = [
        bound(&archive, "analytics", "archive"),
        bound(&legacy, "shop", "legacy-db"),
        bound(&team_a, "analytics", "db"),
        bound(&cart, "shop", "cart"),
    ]
    .concat();
    all.extend([
        Old::volume(reports.left_by("analytics", "reports"), "Released", 20).size("15Gi").stored(),
        Old::volume(scratch, "Available", 90).size("5Gi").stored(),
        Old::volume(rbd.left_by("wiki", "attachments"), "Released", 150).size("120Gi").stored(),
    ]);
    all
}

/// Claims whose trouble is their own.
fn claims() -> Vec<(String, Value)> {
    vec![claim("analytics", "features", "fast", "features")]
}
