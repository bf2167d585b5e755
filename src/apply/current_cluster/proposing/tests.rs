//! Tests that no proposal rests on an answer of an earlier moment.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::*;
use crate::client::test_server::{TestReply, TestServer, absent, json as json_reply};
use crate::cluster::{Change, Reach};
use crate::model::{Answer, Kind, Settings, Uid, parse_time};
use crate::objects::whole_cluster::cluster_of;
use crate::sources::intake::Intake;
use crate::sources::live::Watches;

const VOLUME: &str = "/api/v1/persistentvolumes/pv-1";
const SECRET: &str = "/api/v1/namespaces/storage/secrets/key";

/// A Released volume that `gc` reclaims if its driver gets the Secret with which it deletes volumes.
fn volume() -> Value {
    volume_with("key")
}

fn volume_with(secret: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {
            "name": "pv-1", "uid": "6a1f02a7-f4e6-5ec4-8e0b-fc87ae581be5", "resourceVersion": "1",
            "annotations": {
                "pv.kubernetes.io/provisioned-by": "disk.example.com",
                "volume.kubernetes.io/provisioner-deletion-secret-name": secret,
                "volume.kubernetes.io/provisioner-deletion-secret-namespace": "storage",
            },
        },
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {
                "namespace": "shop", "name": "orders", "uid": "7b2f02a7-f4e6-5ec4-8e0b-fc87ae581be5",
            },
            "csi": {
                "driver": "disk.example.com", "volumeHandle": "vol-1",
                "volumeAttributes": {"storage.kubernetes.io/csiProvisionerIdentity": "1-1-disk.example.com"},
            },
        },
        "status": {"phase": "Released", "lastPhaseTransitionTime": "2026-01-01T00:00:00Z"},
    })
}

/// A server with the volume and, unless it was deleted, its Secret.
async fn server(secret_exists: bool) -> TestServer {
    TestServer::start(move |asked| match asked.path.as_str() {
        VOLUME => json_reply(volume().to_string()),
        SECRET if secret_exists => secret(SECRET),
        path => absent(path),
    })
    .await
}

fn secret(path: &str) -> TestReply {
    let name = path.rsplit('/').next();
    let secret = json!({
        "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
        "metadata": {"name": name, "namespace": "storage"},
    });
    json_reply(secret.to_string())
}

fn object() -> ObjectRef {
    ObjectRef {
        key: ObjectKey::cluster_wide(Kind::PersistentVolume, "pv-1"),
        uid: volume()["metadata"]["uid"].as_str().and_then(Uid::parse),
    }
}

/// A run that has read all of it while the Secret existed. Then it has lost a kind, and has just
/// listed it again: that is taken in with the next read.
async fn run_that_lost(kind: Kind, server: &TestServer) -> CurrentCluster {
    let watches = Watches::that_bring([Change::Whole(Reach::all(kind))]);
    run_that_read_all_but(&[kind], watches, server).await
}

/// A run that has read all of it but these kinds while the Secret existed.
async fn run_that_read_all_but(
    kinds: &[Kind],
    watches: Watches,
    server: &TestServer,
) -> CurrentCluster {
    let question = Question::SecretExists { namespace: "storage".into(), name: "key".into() };
    let mut intake = Intake::default();
    intake.cluster = cluster_of(&[volume()], [(question, Answer::Yes)], kinds);
    let now = parse_time("2026-11-21T01:02:03Z").ok().flatten().expect("it is a time");
    intake.apply(Change::Clock(now));
    // The server tells nothing of custom resources.
    let mut settings =
        Settings { include_unknown_age: true, no_other_users: true, ..Settings::default() };
    settings.alive_provisioners.insert("disk.example.com".into());
    CurrentCluster::new(server.reader().await, settings, intake, Some(watches))
}

#[tokio::test]
async fn nothing_is_proposed_by_an_earlier_answer_whatever_was_lost_meanwhile() {
    let (mut blind, mut again) = (0, 0);
    for kind in Kind::ALL {
        for secret_exists in [true, false] {
            let server = server(secret_exists).await;
            let cluster = run_that_lost(kind, &server).await;
            blind += usize::from(cluster.propose(&Purpose::Reclaim, &object()).0.is_err());
            let proposed = cluster.propose_again(&Purpose::Reclaim, &object()).await;
            let proposed = proposed.expect("it was read").1.expect("all was seen");
            assert_eq!(proposed.is_ok(), secret_exists, "{kind}: {proposed:?}");
            let asked = server.asked();
            let count = |path| asked.iter().filter(|it| it.path == path).count();
            assert!(count(SECRET) > 0, "{kind}: {asked:?}");
            again += usize::from(count(VOLUME) > 1);
        }
    }
    // Some kinds are looked at before the Secret is: without them, that is not asked for.
    assert!(blind > 6 && again > 6 && again < Kind::ALL.len(), "{blind} {again}");
}

#[tokio::test]
async fn what_is_another_each_time_that_it_is_read_is_not_judged() {
    // It names one Secret, then the other, and both exist.
    let reads = AtomicUsize::new(0);
    let server = TestServer::start(move |asked| match asked.path.as_str() {
        VOLUME => {
            let other = reads.fetch_add(1, Ordering::Relaxed) % 2;
            json_reply(volume_with(&format!("key-{other}")).to_string())
        }
        path if path.contains("/secrets/") => secret(path),
        path => absent(path),
    })
    .await;
    let cluster = run_that_lost(Kind::Lease, &server).await;
    let proposed = cluster.propose_again(&Purpose::Reclaim, &object()).await;
    let unseen = proposed.expect("it was read").1.expect_err("it never rests on what was asked");
    assert_eq!(unseen.reason, "what it rests on has changed while it was being read");
    assert_eq!(server.asked().iter().filter(|it| it.path == VOLUME).count(), ROUNDS);
}

/// While the machine was suspended, somebody made another volume of the same backend volume.
#[tokio::test]
async fn what_was_not_heard_of_is_listed_again_before_anything_is_destroyed() {
    for silent in [vec![], vec![Kind::PersistentVolume, Kind::Pod]] {
        let server = TestServer::start(|asked| match asked.path.as_str() {
            VOLUME => json_reply(volume().to_string()),
            SECRET => secret(SECRET),
            path if path.ends_with("/persistentvolumes") => {
                let mut other = volume();
                other["metadata"]["name"] = json!("pv-2");
                other["metadata"]["uid"] = json!("8c3f02a7-f4e6-5ec4-8e0b-fc87ae581be5");
                json_reply(list("PersistentVolumeList", &[volume(), other]))
            }
            path if path.ends_with("/pods") => json_reply(list("PodList", &[])),
            path => absent(path),
        })
        .await;
        let is_silent = !silent.is_empty();
        let reaches = silent.into_iter().map(Reach::all).collect();
        let watches = Watches::that_are_silent(reaches);
        let cluster = run_that_read_all_but(&[], watches, &server).await;
        let proposed = cluster.propose_again(&Purpose::Reclaim, &object()).await;
        let proposed = proposed.expect("it was read").1.expect("all was seen");
        let refused = proposed.as_ref().err().map(|it| &*it.reason);
        assert_eq!(refused.is_some_and(|it| it.contains("pv/pv-2")), is_silent, "{proposed:?}");
        for kind in ["/persistentvolumes", "/pods"] {
            let asked = server.asked();
            let listed = asked.iter().filter(|it| it.path.ends_with(kind)).count();
            assert_eq!(listed > 0, is_silent, "{kind}: {asked:?}");
        }
        // What keeps a backend volume needs no such proof.
        let before = server.asked().len();
        let _ = cluster.propose_again(&Purpose::Retain, &object()).await;
        let asked = server.asked();
        assert!(asked[before..].iter().all(|it| !it.path.ends_with("/pods")), "{asked:?}");
    }
}

fn list(kind: &str, items: &[Value]) -> String {
    json!({"apiVersion": "v1", "kind": kind, "metadata": {"resourceVersion": "9"}, "items": items})
        .to_string()
}
