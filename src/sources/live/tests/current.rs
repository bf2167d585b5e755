//! Tests of what watches keep current.

use std::cell::RefCell;
use std::time::Duration;

use serde_json::{Value, json as value};
use tokio::time::timeout;

use super::super::{LiveOptions, Return};
use super::{
    CLAIMS, PODS, VOLUMES, WatchedCluster, bookmark, claim, cut, event, expired, list, open, over,
};
use crate::client;
use crate::client::ReadLimits;
use crate::client::test_server::{TestReply, begun, chunk, json, quick, reply};
use crate::cluster::{Cx, Facts};
use crate::model::{ClaimKey, Kind, Settings, Text};
use crate::sources::intake::Intake;
use crate::sources::live;

#[tokio::test]
async fn what_comes_changes_and_goes_is_seen() {
    let told = [
        event("ADDED", &claim("b", 2)),
        event("MODIFIED", &{
            let mut lost = claim("a", 3);
            lost["status"]["phase"] = value!("Lost");
            lost
        }),
        event("DELETED", &claim("b", 4)),
        event("ADDED", &claim("c", 5)),
    ]
    .concat();
    let mut cluster =
        WatchedCluster::at_claims(|_| list(1, &[claim("a", 1)]), move |_| open(&told)).await;
    assert_eq!(cluster.claims(), (vec!["a"], true));
    cluster.until("c", |cluster| cluster.claims() == (vec!["a", "c"], true)).await;
    let phases = cluster.intake.cluster.claims().map(|(_, claim)| format!("{:?}", claim.phase));
    assert!(phases.into_iter().any(|phase| phase == "Lost"));
    assert_eq!(cluster.of(CLAIMS), ["list", "1"]);
    let watch = cluster.requests().into_iter().find(|path| path.contains("watch=1"));
    assert!(watch.expect("asked").contains("&allowWatchBookmarks=true&timeoutSeconds="));
    let head = cluster.server.asked().into_iter().find(|asked| asked.path.contains("watch=1"));
    assert!(head.expect("asked").head.contains("accept-encoding: identity\r\n"));
}

#[tokio::test]
async fn events_may_be_cut_anywhere() {
    let mut named = claim("ü", 2);
    named["metadata"]["labels"] = value!({"text": "a\nb \"{\\\" ü"});
    let text = [event("ADDED", &named), bookmark(7), event("DELETED", &claim("a", 8))].concat();
    // Every position is tested with lines alone; these are some of them with a whole watch.
    for at in (1..text.len()).step_by(17) {
        let pieces = text.as_bytes().split_at(at);
        let pieces = vec![begun(), chunk(pieces.0), chunk(pieces.1)];
        let mut cluster = WatchedCluster::at_claims(
            |_| list(1, &[claim("a", 1)]),
            move |_| TestReply::Pieces(pieces.clone()),
        )
        .await;
        cluster.until("both", |cluster| cluster.claims() == (vec!["ü"], true)).await;
    }
}

#[tokio::test]
async fn the_next_watch_goes_on_from_the_bookmark() {
    let mut cluster = WatchedCluster::at_claims(
        |_| list(1, &[]),
        |nth| match nth {
            0 => over(&[event("ADDED", &claim("a", 4)), bookmark(9)].concat()),
            // The incomplete event is sent again.
            1 => cut(&[
                event("ADDED", &claim("b", 11)),
                event("ADDED", &claim("c", 12))[..40].to_owned(),
            ]
            .concat()),
            _ => open(&event("ADDED", &claim("c", 12))),
        },
    )
    .await;
    cluster.until("c", |cluster| cluster.claims() == (vec!["a", "b", "c"], true)).await;
    assert_eq!(cluster.of(CLAIMS), ["list", "1", "9", "11"]);
}

#[tokio::test]
async fn a_forgotten_version_is_listed_again() {
    for in_stream in [true, false] {
        let mut cluster = WatchedCluster::at_claims(
            |nth| match nth {
                0 => list(1, &[claim("a", 1), claim("b", 1)]),
                _ => list(20, &[claim("b", 1), claim("new", 15)]),
            },
            move |nth| match nth {
                0 if in_stream => open(&event("ERROR", &expired())),
                0 => reply(410, "content-type: application/json\r\n", expired().to_string()),
                _ => open(&event("ADDED", &claim("newest", 21))),
            },
        )
        .await;
        let all = (vec!["b", "new", "newest"], true);
        cluster.until("listed again", |cluster| cluster.claims() == all).await;
        assert_eq!(cluster.of(CLAIMS), ["list", "1", "list", "20"], "in the stream: {in_stream}");
        assert_eq!(cluster.intake.cluster.gaps().count(), 0);
    }
}

#[tokio::test]
async fn a_pod_that_lets_go_of_its_claim_is_forgotten() {
    let pod = |volumes: Value| value!({"metadata": {"name": "user", "namespace": "shop", "resourceVersion": "2"}, "spec": {"containers": [{"name": "c"}], "volumes": volumes}});
    let uses = value!([{"name": "data", "persistentVolumeClaim": {"claimName": "a"}}]);
    let told =
        [event("ADDED", &pod(uses)), bookmark(3), event("MODIFIED", &pod(value!([])))].concat();
    let (first, second) = told.split_at(told.len() - 150);
    let pieces = vec![begun(), chunk(first), chunk(second)];
    let mut cluster =
        WatchedCluster::at(&[Kind::Pod], quick(), move |path, watches, _| match path {
            PODS if watches => TestReply::Pieces(pieces.clone()),
            PODS => list(1, &[]),
            _ => reply(404, "", ""),
        })
        .await;
    cluster.until("the pod", |cluster| cluster.intake.cluster.pods().count() == 1).await;
    cluster.until("no pod", |cluster| cluster.intake.cluster.pods().count() == 0).await;
}

#[tokio::test]
async fn a_new_list_of_volumes_is_followed_by_what_they_name() {
    let volume = value!({"metadata": {"name": "v", "resourceVersion": "1"}, "spec": {
        "accessModes": ["ReadWriteOnce"],
        "csi": {"driver": "d", "volumeHandle": "h"},
        "claimRef": {"namespace": "shop", "name": "gone"}}, "status": {"phase": "Released"}});
    let kinds = [Kind::PersistentVolume, Kind::PersistentVolumeClaim];
    let mut cluster =
        WatchedCluster::at(&kinds, quick(), move |path, watches, nth| match (path, watches) {
            (VOLUMES, true) if nth == 0 => open(&event("ERROR", &expired())),
            (VOLUMES, false) => list(1, std::slice::from_ref(&volume)),
            (CLAIMS, false) => list(1, &[]),
            (VOLUMES | CLAIMS, true) => open(""),
            _ => reply(404, "", ""),
        })
        .await;
    let is_gone = |cluster: &WatchedCluster| {
        let (settings, facts) = (Settings::default(), RefCell::new(Facts::default()));
        let cx = Cx::new(&cluster.intake.cluster, &settings, &facts);
        let key = ClaimKey { namespace: Text::from("shop"), name: "gone".into() };
        cx.claim(&key).is_ok_and(|claim| claim.is_none())
    };
    assert!(is_gone(&cluster));
    cluster
        .until("volumes again", |cluster| cluster.of(VOLUMES).len() >= 3 && !is_gone(cluster))
        .await;
    cluster.until("claims again", is_gone).await;
    assert_eq!(cluster.of(CLAIMS)[..3], ["list", "1", "list"]);
}

#[tokio::test]
async fn watches_take_no_place_from_questions() {
    let limits = ReadLimits { parallel: 1, ..quick() };
    let kinds = [Kind::PersistentVolume, Kind::PersistentVolumeClaim, Kind::Pod];
    let mut cluster =
        WatchedCluster::at(&kinds, limits, |path, watches, nth| match (path, watches) {
            (CLAIMS, true) if nth == 0 => open(&event("ERROR", &expired())),
            (CLAIMS, false) if nth == 1 => {
                // More batches than may wait, so that this list waits for the owner in the middle.
                let item = |nth: usize| format!("{},", claim(&format!("c-{nth}"), 1));
                let piece = |nth: usize| chunk((nth..nth + 64).map(item).collect::<String>());
                let mut pieces = vec![
                    begun(),
                    chunk(r#"{"kind":"PersistentVolumeClaimList","apiVersion":"v1","items":["#),
                ];
                pieces.extend((0..20).map(|nth| piece(nth * 64)));
                let last =
                    format!("{}],\"metadata\":{{\"resourceVersion\":\"9\"}}}}", claim("last", 1));
                pieces.extend([chunk(last), chunk("")]);
                TestReply::Pieces(pieces)
            }
            (VOLUMES | CLAIMS | PODS, true) => open(&bookmark(5)),
            (VOLUMES | CLAIMS | PODS, false) => list(1, &[]),
            _ => json("{}"),
        })
        .await;
    assert_eq!(cluster.watches.count(), 3);
    cluster.until("lists again", |cluster| cluster.of(CLAIMS).len() >= 3).await;
    // Nothing is taken in meanwhile.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let answer = timeout(Duration::from_secs(20), client::version(&cluster.reader));
    assert!(answer.await.expect("because there is room").is_ok());
    cluster
        .until("the whole list", |cluster| {
            cluster.claims().0.len() == 20 * 64 + 1 && cluster.claims().1
        })
        .await;
}

#[tokio::test]
async fn time_goes_on_between_dates() {
    let mut cluster = WatchedCluster::at_claims(|_| list(1, &[]), |_| open("")).await;
    let first = cluster.intake.cluster.clock().expect("because lists are dated");
    // The clock has whole seconds, as servers send it: of two and a half at least two have passed.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    cluster.watches.drain(&mut cluster.intake).expect("because nothing is saved");
    let second = cluster.intake.cluster.clock().expect("because it was known");
    assert!(second - first >= chrono::Duration::seconds(2), "{first} {second}");
    assert_eq!(second.timestamp_subsec_nanos(), 0, "{second}");
}

#[tokio::test]
async fn nobody_watches_when_the_watches_are_dropped() {
    let mut cluster = WatchedCluster::at_claims(|_| list(1, &[]), |_| over(&bookmark(5))).await;
    cluster.until("watched", |cluster| cluster.of(CLAIMS).len() > 3).await;
    drop(std::mem::replace(&mut cluster.watches, {
        let nothing = LiveOptions::default();
        live::read_and_watch(
            &cluster.reader,
            &nothing,
            &mut Intake::new(None),
            Return::Never,
            &mut |_| {},
        )
        .await
        .expect("readable")
    }));
    // Requests that were sent before may still arrive.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let asked = cluster.of(CLAIMS).len();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(cluster.of(CLAIMS).len(), asked);
}
