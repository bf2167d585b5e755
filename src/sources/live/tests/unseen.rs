//! Tests of the gaps that watches report.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json as value;

use super::{CLAIMS, WatchedCluster, bookmark, claim, cut, event, list, open, over};
use crate::client::ReadLimits;
use crate::client::test_server::{TestReply, quick, reply};
use crate::model::Kind;

#[tokio::test]
async fn another_error_in_the_stream_is_a_gap_until_listed_again() {
    let status = value!({"kind": "Status", "code": 500, "reason": "InternalError", "message": "etcd has a bad day"});
    let down = Arc::new(AtomicBool::new(true));
    let still = Arc::clone(&down);
    let mut cluster = WatchedCluster::at_claims(
        move |nth| match nth {
            0 => list(1, &[claim("a", 1)]),
            _ if still.load(Ordering::SeqCst) => reply(403, "", "not now"),
            _ => list(2, &[]),
        },
        move |nth| match nth {
            0 => open(&event("ERROR", &status)),
            _ => open(""),
        },
    )
    .await;
    cluster
        .until("a gap", |cluster| {
            cluster.intake.cluster.gaps().any(|gap| gap.reason.contains("not now"))
        })
        .await;
    assert_eq!(cluster.claims(), (vec!["a"], false));
    down.store(false, Ordering::SeqCst);
    cluster.until("seen again", |cluster| cluster.claims() == (vec![], true)).await;
}

#[tokio::test]
async fn what_cannot_be_read_makes_all_unseen_until_it_can() {
    let mut nameless = claim("b", 5);
    nameless["metadata"]["name"] = value!(5);
    for broken in [nameless, value!(7)] {
        let told = event("MODIFIED", &broken);
        let mended = Arc::new(AtomicBool::new(false));
        let is_mended = Arc::clone(&mended);
        let listed = broken.clone();
        let mut cluster = WatchedCluster::at_claims(
            move |nth| match nth {
                0 => list(1, &[claim("a", 1)]),
                _ if is_mended.load(Ordering::SeqCst) => list(9, &[claim("a", 1), claim("b", 8)]),
                _ => list(7, &[claim("a", 1), listed.clone()]),
            },
            move |nth| match nth {
                0 => over(&[told.clone(), event("ADDED", &claim("c", 6))].concat()),
                // It is listed again after each watch; see below.
                1 => over(&bookmark(7)),
                _ => open(""),
            },
        )
        .await;
        cluster.until("c", |cluster| cluster.claims().0.contains(&"c")).await;
        assert!(!cluster.claims().1 && !cluster.intake.complaints().is_empty(), "{broken}");
        cluster.until("listed", |cluster| cluster.of(CLAIMS).len() >= 3).await;
        assert!(!cluster.claims().1, "{broken}");
        mended.store(true, Ordering::SeqCst);
        cluster.until("mended", |cluster| cluster.claims() == (vec!["a", "b"], true)).await;
    }
}

#[tokio::test]
async fn an_odd_object_neither_ends_a_watch_nor_blinds_its_kind() {
    let mut unmeasured = claim("b", 5);
    unmeasured["spec"]["resources"] = value!({"requests": {"storage": "-1Gi"}});
    let mut shapeless = claim("b", 6);
    shapeless["spec"] = value!(5);
    let mut unversioned = claim("b", 7);
    unversioned["metadata"]["resourceVersion"] = value!([7]);
    for (odd, reaches_others) in [(unmeasured, false), (shapeless, true), (unversioned, false)] {
        let told = event("MODIFIED", &odd);
        let mut cluster = WatchedCluster::at_claims(
            |_| list(1, &[claim("a", 1)]),
            move |nth| match nth {
                0 => open(&[told.clone(), event("ADDED", &claim("c", 8))].concat()),
                _ => open(""),
            },
        )
        .await;
        cluster.until("c", |cluster| cluster.claims().0.contains(&"c")).await;
        let (names, sees) = cluster.claims();
        assert_eq!((names, sees), (vec!["a", "b", "c"], !reaches_others), "{odd}");
        assert_eq!(cluster.of(CLAIMS).len(), 2, "one list and one watch: {odd}");
        let gaps = cluster.intake.cluster.gaps().count();
        assert_eq!(gaps, usize::from(reaches_others), "{odd}");
    }
}

#[tokio::test]
async fn what_is_no_event_is_a_gap() {
    for text in ["<html>login</html>\n", "{\"type\":\"HELLO\",\"object\":{}}\n", "{}\n"] {
        let mut cluster = WatchedCluster::at_claims(
            |nth| match nth {
                0 => list(1, &[claim("a", 1)]),
                _ => list(2, &[]),
            },
            move |nth| if nth == 0 { open(text) } else { open("") },
        )
        .await;
        cluster.until("a gap", |cluster| !cluster.sees(Kind::PersistentVolumeClaim)).await;
        cluster.until("seen again", |cluster| cluster.claims() == (vec![], true)).await;
    }
}

#[tokio::test]
async fn a_lost_connection_is_a_gap_until_it_is_back() {
    let up = Arc::new(AtomicBool::new(true));
    let is_up = Arc::clone(&up);
    let mut cluster = WatchedCluster::at(
        &[Kind::PersistentVolumeClaim],
        quick(),
        move |path, watches, nth| match (path, watches) {
            _ if !is_up.load(Ordering::SeqCst) => TestReply::Reset(Vec::new()),
            (CLAIMS, true) if nth == 0 => {
                is_up.store(false, Ordering::SeqCst);
                cut(&event("ADDED", &claim("b", 2)))
            }
            (CLAIMS, true) => open(""),
            (CLAIMS, false) if nth == 0 => list(1, &[claim("a", 1)]),
            (CLAIMS, false) => list(9, &[claim("c", 8)]),
            _ => reply(404, "", ""),
        },
    )
    .await;
    cluster
        .until("a gap", |cluster| {
            cluster.intake.cluster.gaps().any(|it| it.reason.contains("broke"))
        })
        .await;
    // The known claims remain, but there may be others.
    assert_eq!(cluster.claims(), (vec!["a", "b"], false));
    up.store(true, Ordering::SeqCst);
    cluster.until("back", |cluster| cluster.claims() == (vec!["c"], true)).await;
    assert_eq!(cluster.intake.cluster.gaps().count(), 0);
}

/// Where every connection is cut within a second, a gap until the next watch lasts would never end.
#[tokio::test]
async fn while_every_watch_breaks_off_at_once_lists_show_what_changes() {
    for cleanly in [true, false] {
        let mut cluster = WatchedCluster::at_claims(
            |nth| match nth {
                0 => list(1, &[claim("a", 1)]),
                _ => list(2, &[claim("b", 2)]),
            },
            move |_| if cleanly { over("") } else { cut("") },
        )
        .await;
        let changed = |cluster: &WatchedCluster| {
            assert_eq!(cluster.intake.cluster.gaps().count(), 0);
            cluster.claims() == (vec!["b"], true)
        };
        cluster.until("listed again", changed).await;
    }
}

#[tokio::test]
async fn a_watch_that_always_breaks_off_at_once_is_a_gap_where_nothing_can_be_listed() {
    for cleanly in [true, false] {
        let up = Arc::new(AtomicBool::new(false));
        let is_up = Arc::clone(&up);
        let mut cluster = WatchedCluster::at_claims(
            move |nth| match nth {
                0 => list(1, &[]),
                _ if is_up.load(Ordering::SeqCst) => list(2, &[]),
                _ => reply(403, "", "not now"),
            },
            move |nth| match nth {
                0..5 if cleanly => over(""),
                0..5 => cut(""),
                _ => open(""),
            },
        )
        .await;
        cluster.until("a gap", |cluster| cluster.intake.cluster.gaps().count() == 1).await;
        assert!(cluster.of(CLAIMS).iter().filter(|it| *it == "1").count() >= 5);
        up.store(true, Ordering::SeqCst);
        cluster.until("listed again", |cluster| cluster.claims().1).await;
    }
}

#[tokio::test]
async fn a_silent_server_is_asked_anew_and_then_listed_again() {
    let limits = ReadLimits { silence: Duration::from_millis(40), ..quick() };
    let mut cluster = WatchedCluster::at(
        &[Kind::PersistentVolumeClaim],
        limits,
        |path, watches, nth| match path {
            CLAIMS if watches => open(""),
            CLAIMS if nth == 0 => list(1, &[claim("a", 1)]),
            CLAIMS => list(5, &[claim("b", 4)]),
            _ => reply(404, "", ""),
        },
    )
    .await;
    cluster.until("listed again", |cluster| cluster.claims() == (vec!["b"], true)).await;
    assert_eq!(cluster.of(CLAIMS)[..4], ["list", "1", "1", "list"]);
}

#[tokio::test]
async fn a_gap_is_not_watched() {
    let cluster =
        WatchedCluster::at(&[Kind::PersistentVolumeClaim], quick(), |path, _, _| match path {
            CLAIMS => reply(403, "", "no"),
            "/api/v1/namespaces" => list(
                1,
                &[value!({"metadata": {"name": "shop"}}), value!({"metadata": {"name": "till"}})],
            ),
            "/api/v1/namespaces/shop/persistentvolumeclaims" => list(3, &[]),
            _ => reply(403, "", "no"),
        })
        .await;
    assert_eq!(cluster.watches.count(), 1);
    assert!(
        cluster.requests().iter().all(|path| !path.contains("watch=1") || path.contains("/shop/"))
    );
}

#[tokio::test]
async fn what_may_not_be_watched_is_a_gap() {
    let limits = ReadLimits { silence: Duration::from_secs(3600), ..quick() };
    let mut cluster =
        WatchedCluster::at(&[Kind::PersistentVolumeClaim], limits, |path, watches, _| match path {
            CLAIMS if watches => reply(403, "", "you may not watch"),
            CLAIMS => list(1, &[claim("a", 1)]),
            _ => reply(404, "", ""),
        })
        .await;
    cluster.until("a gap", |cluster| !cluster.sees(Kind::PersistentVolumeClaim)).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    cluster.watches.drain(&mut cluster.intake).expect("because nothing is saved");
    assert_eq!(cluster.claims(), (vec!["a"], false));
    assert_eq!(cluster.of(CLAIMS), ["list", "1"]);
}
