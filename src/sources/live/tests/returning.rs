//! Tests of the return to what was not read, and of gaps in time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json as value;

use super::super::Return;
use super::{CLAIMS, WatchedCluster, claim, event, expired, list, open, over};
use crate::client::test_server::{TestReply, json, quick, reply, unserved};
use crate::cluster::Coverage;
use crate::model::Kind;

const IN_SHOP: &str = "/api/v1/namespaces/shop/persistentvolumeclaims";
const IN_KEPT: &str = "/api/v1/namespaces/kept/persistentvolumeclaims";
const SNAPSHOTS: &str = "/apis/snapshot.storage.k8s.io/v1/volumesnapshots";

fn flag() -> (Arc<AtomicBool>, Arc<AtomicBool>) {
    let flag = Arc::new(AtomicBool::new(false));
    (Arc::clone(&flag), flag)
}

#[tokio::test]
async fn what_was_forbidden_is_watched_once_it_is_allowed() {
    let (allowed, is_allowed) = flag();
    let mut cluster = WatchedCluster::following(
        &[Kind::PersistentVolumeClaim],
        quick(),
        Return::AfterAWhile,
        move |path, watches, _| match (path, watches) {
            (CLAIMS, _) if !is_allowed.load(Ordering::SeqCst) => reply(403, "", "no"),
            (CLAIMS, false) => list(5, &[claim("a", 1)]),
            (CLAIMS, true) => open(&event("ADDED", &claim("b", 6))),
            ("/api/v1/namespaces", _) => list(1, &[value!({"metadata": {"name": "shop"}})]),
            (IN_SHOP, false) => list(3, &[claim("a", 1)]),
            (IN_SHOP, true) => open(&event("ADDED", &claim("c", 4))),
            _ => reply(404, "", ""),
        },
    )
    .await;
    cluster.until("the namespace", |cluster| cluster.claims() == (vec!["a", "c"], false)).await;
    allowed.store(true, Ordering::SeqCst);
    cluster.until("all of them", |cluster| cluster.claims() == (vec!["a", "b"], true)).await;
    assert_eq!(cluster.intake.cluster.gaps().count(), 0);
    // The namespace by itself is not watched any more.
    let asked = cluster.of(IN_SHOP).len();
    tokio::time::sleep(quick().longest_return).await;
    assert_eq!(cluster.of(IN_SHOP).len(), asked);
}

#[tokio::test]
async fn a_namespace_that_is_deleted_leaves_neither_a_gap_nor_a_proof() {
    let (deleted, is_deleted) = flag();
    let mut cluster = WatchedCluster::following(
        &[Kind::PersistentVolumeClaim],
        quick(),
        Return::AfterAWhile,
        move |path, watches, _| match (path, watches) {
            ("/api/v1/namespaces", _) => {
                let existing: &[&str] =
                    if is_deleted.load(Ordering::SeqCst) { &["kept"] } else { &["secret", "shop"] };
                let item = |name: &&str| value!({"metadata": {"name": name}});
                list(1, &existing.iter().map(item).collect::<Vec<_>>())
            }
            (IN_SHOP, false) => list(3, &[claim("a", 1)]),
            (IN_KEPT, false) => list(4, &[]),
            (IN_SHOP | IN_KEPT, true) => open(""),
            _ => reply(403, "", "no"),
        },
    )
    .await;
    let sees = |cluster: &WatchedCluster, namespace: &str| {
        let namespace = Some(namespace.into());
        cluster.intake.cluster.reach(Kind::PersistentVolumeClaim, namespace.as_ref()).is_ok()
    };
    let gaps = |cluster: &WatchedCluster| cluster.intake.cluster.gaps().count();
    cluster.until("both namespaces", |it| sees(it, "shop") && gaps(it) == 2).await;
    deleted.store(true, Ordering::SeqCst);
    cluster.until("the other one", |it| sees(it, "kept") && gaps(it) == 1).await;
    // One of that name that was created since is another one.
    assert!(!sees(&cluster, "shop") && !sees(&cluster, "secret"));
}

#[tokio::test]
async fn a_kind_is_watched_once_it_is_installed_and_empty_once_it_is_removed() {
    let (installed, is_installed) = flag();
    let discovered = |groups: &str| {
        let kind = "content-type: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList\r\n";
        reply(200, kind, format!("{{\"items\":[{groups}]}}"))
    };
    let snapshot = value!({
        "metadata": {"name": "s", "namespace": "shop", "resourceVersion": "1"},
        "spec": {"source": {"persistentVolumeClaimName": "a"}},
    });
    let mut cluster = WatchedCluster::following(
        &[Kind::VolumeSnapshot],
        quick(),
        Return::AfterAWhile,
        move |path, watches, _| match (path, watches) {
            ("/apis", _) if is_installed.load(Ordering::SeqCst) => discovered(
                r#"{"metadata":{"name":"snapshot.storage.k8s.io"},"versions":[{"version":"v1","freshness":"Current","resources":[
                    {"resource":"volumesnapshots","scope":"Namespaced","responseKind":{"kind":"VolumeSnapshot"}}]}]}"#,
            ),
            ("/api" | "/apis", _) => discovered(""),
            (SNAPSHOTS, _) if !is_installed.load(Ordering::SeqCst) => unserved(),
            (SNAPSHOTS, false) => list(5, std::slice::from_ref(&snapshot)),
            // It ends at once, and the next one finds that the kind was removed.
            (SNAPSHOTS, true) => json(""),
            _ => unserved(),
        },
    )
    .await;
    let is_served = |cluster: &WatchedCluster| {
        let mut coverages = cluster.intake.cluster.coverages();
        !coverages
            .any(|(reach, it)| reach.kind == Kind::VolumeSnapshot && *it == Coverage::NotServed)
    };
    let count = |cluster: &WatchedCluster| cluster.intake.cluster.volume_snapshots().count();
    assert!(!is_served(&cluster) && cluster.sees(Kind::VolumeSnapshot));
    installed.store(true, Ordering::SeqCst);
    cluster
        .until("installed", |cluster| count(cluster) == 1 && cluster.sees(Kind::VolumeSnapshot))
        .await;
    installed.store(false, Ordering::SeqCst);
    cluster
        .until("a gap", |cluster| cluster.intake.cluster.gaps().any(|gap| !gap.reason.is_empty()))
        .await;
    assert_eq!(count(&cluster), 1);
    cluster.until("removed", |cluster| !is_served(cluster)).await;
    assert_eq!(count(&cluster), 0);
}

/// A server that lists no group; what it answers to everything else, by path.
fn without_groups(
    answer: impl Fn(&str) -> TestReply + Send + Sync,
) -> impl Fn(&str, bool, usize) -> TestReply {
    move |path, _, _| match path {
        "/api" | "/apis" => reply(
            200,
            "content-type: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList\r\n",
            r#"{"items":[]}"#,
        ),
        path => answer(path),
    }
}

async fn sees_no_snapshots(answer: impl Fn(&str) -> TestReply + Send + Sync + 'static) -> bool {
    let kinds = &[Kind::VolumeSnapshot];
    let cluster = WatchedCluster::at(kinds, quick(), without_groups(answer)).await;
    cluster.sees(Kind::VolumeSnapshot)
}

#[tokio::test]
async fn absence_from_discovery_is_no_proof() {
    let gateway = || reply(404, "content-type: text/plain\r\n", "404 page not found\n");
    let group = "/apis/snapshot.storage.k8s.io/v1";
    assert!(sees_no_snapshots(|_| unserved()).await);
    for answer in [gateway, || reply(503, "", "starting"), || reply(200, "", "{}")] {
        assert!(!sees_no_snapshots(move |_| answer()).await);
    }
    // Whoever may not list it is told by the group.
    let forbidden = |path: &str, then: fn() -> TestReply| match path {
        SNAPSHOTS => reply(403, "", "no"),
        _ => then(),
    };
    assert!(sees_no_snapshots(move |path| forbidden(path, unserved)).await);
    assert!(!sees_no_snapshots(move |path| forbidden(path, gateway)).await);
    assert!(
        !sees_no_snapshots(move |path| if path == group { unserved() } else { gateway() }).await
    );
}

#[tokio::test]
async fn a_kind_that_is_installed_while_a_command_acts_is_seen() {
    let (installed, is_installed) = flag();
    let mut cluster = WatchedCluster::at(
        &[Kind::VolumeSnapshot],
        quick(),
        without_groups(move |_| match is_installed.load(Ordering::SeqCst) {
            true => reply(503, "", "starting"),
            false => unserved(),
        }),
    )
    .await;
    assert!(cluster.sees(Kind::VolumeSnapshot));
    installed.store(true, Ordering::SeqCst);
    cluster.until("unseen", |cluster| !cluster.sees(Kind::VolumeSnapshot)).await;
}

/// A kind that is served in one of its known versions is served, whichever that is.
#[tokio::test]
async fn a_404_for_one_version_proves_nothing_of_another() {
    let kind = Kind::VolumeGroupSnapshotContent;
    for served in kind.versions() {
        let path = format!("/apis/groupsnapshot.storage.k8s.io/{served}/{}", kind.plural());
        let (installed, is_installed) = flag();
        let answer = move |asked: &str| match asked == path && is_installed.load(Ordering::SeqCst) {
            true => reply(503, "", "starting"),
            false => unserved(),
        };
        let mut cluster = WatchedCluster::at(&[kind], quick(), without_groups(answer)).await;
        assert!(cluster.sees(kind), "{served}: it is proven not to be served");
        installed.store(true, Ordering::SeqCst);
        cluster.until("unseen", |cluster| !cluster.sees(kind)).await;
    }
}

#[tokio::test]
async fn a_version_whose_fields_are_not_known_is_not_read() {
    for (versions, seen) in [(&["v2", "v1beta1"][..], true), (&["v1alpha1"], false)] {
        let served = versions.iter().map(|version| {
            format!(
                r#"{{"version":"{version}","freshness":"Current","resources":[{{"resource":"volumesnapshots",
                    "scope":"Namespaced","responseKind":{{"kind":"VolumeSnapshot"}}}}]}}"#
            )
        });
        let served = served.collect::<Vec<_>>().join(",");
        let kinds = &[Kind::VolumeSnapshot];
        let cluster = WatchedCluster::at(kinds, quick(), move |path, watches, _| match path {
            "/api" | "/apis" => reply(
                200,
                "content-type: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList\r\n",
                format!(
                    r#"{{"items":[{{"metadata":{{"name":"snapshot.storage.k8s.io"}},"versions":[{served}]}}]}}"#
                ),
            ),
            "/apis/snapshot.storage.k8s.io/v1beta1/volumesnapshots" if watches => open(""),
            "/apis/snapshot.storage.k8s.io/v1beta1/volumesnapshots" => json(
                r#"{"kind":"VolumeSnapshotList","apiVersion":"snapshot.storage.k8s.io/v1beta1",
                    "metadata":{"resourceVersion":"1"},"items":[]}"#,
            ),
            _ => unserved(),
        })
        .await;
        assert_eq!(
            cluster.sees(Kind::VolumeSnapshot),
            seen,
            "{versions:?}: {:?}",
            cluster.requests()
        );
    }
}

#[tokio::test]
async fn an_event_before_each_error_does_not_have_everything_listed_again_and_again() {
    let mut cluster = WatchedCluster::at_claims(
        |_| list(1, &[claim("a", 1)]),
        |_| over(&[event("ADDED", &claim("b", 2)), event("ERROR", &expired())].concat()),
    )
    .await;
    cluster.until("listed again", |cluster| cluster.of(CLAIMS).len() > 6).await;
    // The pauses double up to 80 ms: without them, there were hundreds.
    tokio::time::sleep(Duration::from_millis(400)).await;
    let lists = cluster.of(CLAIMS).iter().filter(|it| *it == "list").count();
    assert!(lists < 20, "{lists}");
}

#[tokio::test]
async fn a_gap_remains_for_who_is_about_to_write() {
    let (allowed, is_allowed) = flag();
    let mut cluster =
        WatchedCluster::at(&[Kind::PersistentVolumeClaim], quick(), move |path, _, _| match path {
            CLAIMS if is_allowed.load(Ordering::SeqCst) => list(5, &[]),
            _ => reply(403, "", "no"),
        })
        .await;
    allowed.store(true, Ordering::SeqCst);
    tokio::time::sleep(quick().first_return * 3).await;
    cluster.watches.drain(&mut cluster.intake).expect("because nothing is saved");
    assert!(!cluster.sees(Kind::PersistentVolumeClaim));
    assert_eq!(cluster.of(CLAIMS), ["list"]);
}

#[tokio::test]
async fn after_a_gap_in_time_everything_is_listed_again() {
    let mut cluster = WatchedCluster::at_claims(
        |nth| if nth == 0 { list(1, &[claim("a", 1)]) } else { list(9, &[claim("b", 8)]) },
        |_| -> TestReply { open("") },
    )
    .await;
    cluster.watches.list_all_again();
    cluster.until("listed again", |cluster| cluster.claims() == (vec!["b"], true)).await;
    assert_eq!(cluster.of(CLAIMS)[..3], ["list", "1", "list"]);
}
