//! Whatever people ask for of what the rules are about: nothing is lost, nothing leaks, and no controller is refused.
//!
//! `SEED=$(date +%s)0000 BUDGET=600 cargo test --test real guard::random -- --ignored --nocapture` goes on for ten minutes.

use std::time::{Duration, Instant};

use http::Method;
use serde_json::{Value, json};

use super::ask::{APPLY, Actor, Asked, Asker, JSON, MERGE};
use super::world::{ATTACHER, in_force, install, let_everybody, namespace};
use crate::support::{
    Cluster, Dice, DriverOptions, Mark, Options, PersistentVolume, claim, eventually, say,
};

/// Fewer than this and the run says nothing.
const LEAST: usize = 300;

fn person(dice: &mut Dice) -> Actor {
    let people = [
        ("kubernetes-admin", &["system:masters", "system:authenticated"][..]),
        ("ann@example.com", &["system:authenticated"]),
        ("system:admin", &["system:masters", "system:authenticated"]),
        ("system:anonymous", &["system:unauthenticated"]),
    ];
    let (user, groups) = dice.one_of(&people);
    Actor::new(user, groups, true)
}

fn owner() -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": "gone",
        "uid": "00000000-dead-4000-8000-000000000000",
    })
}

fn deletion(dice: &mut Dice, uid: &Value) -> Value {
    let mut options = json!({"kind": "DeleteOptions", "apiVersion": "v1"});
    match dice.below(6) {
        0 => options["gracePeriodSeconds"] = json!(0),
        1 => options["propagationPolicy"] = json!("Foreground"),
        2 => options["propagationPolicy"] = json!("Background"),
        3 => options["preconditions"] = json!({"uid": uid}),
        4 => options["gracePeriodSeconds"] = json!(1),
        _ => {}
    }
    options
}

/// A request of kind (a) to (h).
fn request(dice: &mut Dice, cluster: &Cluster, claims: &[&str], volumes: &[&str]) -> Asked {
    let named = "/api/v1/namespaces/strict/persistentvolumeclaims";
    let claim = dice.one_of(claims);
    let volume = dice.one_of(volumes);
    let (object, path) = match dice.below(2) {
        0 => (format!("pvc/{claim}"), format!("{named}/{claim}")),
        _ => (format!("pv/{volume}"), format!("/api/v1/persistentvolumes/{volume}")),
    };
    let live = cluster.get("strict", &object).unwrap_or_else(|| panic!("{object} is lost"));
    let part = if dice.below(2) == 0 { "" } else { "/status" };
    let asked = |method, path: String, content, body| Asked { method, path, content, body };
    match dice.below(14) {
        0 | 1 => {
            // A protected volume may be deleted: its claim keeps it.
            let path = match object.starts_with("pvc/") {
                true => path,
                false => "/api/v1/persistentvolumes/leaks".to_owned(),
            };
            asked(Method::DELETE, path, JSON, deletion(dice, &live["metadata"]["uid"]))
        }
        2 => {
            let mut body = deletion(dice, &json!(null));
            body["preconditions"] = json!(null);
            asked(Method::DELETE, named.to_owned(), JSON, body)
        }
        3 => {
            let path = "/apis/apps/v1/namespaces/strict/statefulsets/web".to_owned();
            asked(Method::DELETE, path, JSON, deletion(dice, &json!("no")))
        }
        4 => {
            let body = json!({"metadata": {"finalizers": null}});
            asked(Method::PATCH, format!("{path}{part}?fieldManager=kubectl-patch"), MERGE, body)
        }
        5 => {
            let mut whole = live;
            whole["metadata"]["finalizers"] = json!([ATTACHER]);
            asked(Method::PUT, format!("{path}{part}"), JSON, whole)
        }
        6 => {
            let body = json!({"metadata": {"ownerReferences": [owner()]}});
            let path = format!("{named}/{claim}{part}?fieldManager=kubectl-edit");
            asked(Method::PATCH, path, MERGE, body)
        }
        7 => {
            // Server-side apply, with force.
            let body = json!({
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": {"name": claim, "ownerReferences": [owner()]},
            });
            let query = "fieldManager=kubectl&force=true";
            asked(Method::PATCH, format!("{named}/{claim}{part}?{query}"), APPLY, body)
        }
        8 => {
            // kubectl replace, of an object that was read.
            let mut whole = cluster.get("strict", &format!("pvc/{claim}")).expect("it is there");
            whole["metadata"]["ownerReferences"] = json!([owner()]);
            let path = format!("{named}/{claim}{part}?fieldManager=kubectl-replace");
            asked(Method::PUT, path, JSON, whole)
        }
        9 => {
            // What takes a volume from its claim.
            let path = format!("/api/v1/persistentvolumes/{volume}");
            let nobody = "00000000-dead-4000-8000-000000000000";
            let (part, body) = match dice.below(5) {
                0 => ("", json!({"spec": {"claimRef": {"uid": nobody}}})),
                1 => ("", json!({"spec": {"claimRef": {"uid": null}}})),
                2 => ("", json!({"spec": {"claimRef": {"name": "gone"}}})),
                3 => ("", json!({"spec": {"claimRef": null}})),
                _ => ("/status", json!({"status": {"phase": "Released"}})),
            };
            asked(Method::PATCH, format!("{path}{part}"), MERGE, body)
        }
        10 => {
            // kubectl replace, of an old manifest.
            let mut whole = cluster.get("", &format!("pv/{volume}")).expect("it is there");
            whole["spec"]["claimRef"]["uid"] = json!("00000000-dead-4000-8000-000000000000");
            whole["metadata"]["resourceVersion"] = json!(null);
            asked(Method::PUT, format!("/api/v1/persistentvolumes/{volume}"), JSON, whole)
        }
        11 => {
            // What has its claims deleted with the set, or with its replicas.
            let path = "/apis/apps/v1/namespaces/strict/statefulsets/web".to_owned();
            let body = match dice.below(3) {
                0 => json!({"spec": {"replicas": 0,
                    "persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"}}}),
                1 => json!({"spec": {"ordinals": {"start": 3},
                    "persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"}}}),
                _ => {
                    json!({"spec": {"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"}}})
                }
            };
            asked(Method::PATCH, path, MERGE, body)
        }
        12 => {
            let path = "/apis/apps/v1/namespaces/strict/statefulsets".to_owned();
            asked(Method::DELETE, path, JSON, deletion(dice, &json!("no")))
        }
        _ => {
            let path = "/api/v1/namespaces/strict".to_owned();
            asked(Method::DELETE, path, JSON, deletion(dice, &json!("no")))
        }
    }
}

/// Requests of controllers that the guard refused.
fn refused_controllers(cluster: &Cluster, since: Mark) -> Vec<String> {
    let refused = cluster.events_since(since, "kubectl-storage-guard-");
    let of = |it: &Value| it["user"]["username"].as_str().unwrap_or_default().to_owned();
    let by_hand = |it: &Value| !it["impersonatedUser"].is_null();
    let controllers = refused.iter().filter(|it| {
        it["responseStatus"]["code"] == 403 && of(it).starts_with("system:") && !by_hand(it)
    });
    controllers.map(ToString::to_string).collect()
}

#[test]
#[ignore = "extended suite: long random runs"]
fn whatever_people_ask_for_nothing_is_lost_and_no_controller_is_refused() {
    let cluster = Cluster::start(Options::COMPLETE);
    let driver = cluster.start_driver("disk.csi.example", &DriverOptions::default());
    namespace(&cluster, "strict", Some("deny"));
    let mut claims = Vec::new();
    let make = |name: &str| {
        let mut claim = claim(name, &driver.class_delete);
        claim["metadata"]["namespace"] = json!("strict");
        cluster.create(&claim);
    };
    for name in ["bound", "orders", "mail"] {
        make(name);
        claims.push(name.to_owned());
    }
    let mut set = super::world::set("web", "Delete");
    set["metadata"]["namespace"] = json!("strict");
    set["spec"]["replicas"] = json!(1);
    set["spec"]["volumeClaimTemplates"][0]["spec"]["storageClassName"] = json!(driver.class_delete);
    cluster.create(&set);
    claims.push("data-web-0".to_owned());
    let bound = |name: &str| {
        let live = cluster.get("strict", &format!("pvc/{name}"));
        live.is_some_and(|it| it["status"]["phase"] == "Bound")
    };
    eventually("all claims are bound", || claims.iter().all(|it| bound(it)));
    let leaks = PersistentVolume::csi("leaks", "other.csi.example", "leaks").policy("Delete");
    cluster.create(&leaks.0);
    let before: Vec<_> = claims
        .iter()
        .map(|name| {
            let live = cluster.get("strict", &format!("pvc/{name}")).expect("it is bound");
            let volume = live["spec"]["volumeName"].as_str().expect("it is bound").to_owned();
            let object = cluster.get("", &format!("pv/{volume}")).expect("it is bound");
            let handle = object["spec"]["csi"]["volumeHandle"].as_str().unwrap_or_default();
            (live["metadata"]["uid"].clone(), volume, handle.to_owned())
        })
        .collect();
    let volumes: Vec<_> = before.iter().map(|(_, volume, _)| volume.as_str()).collect();
    let names: Vec<_> = claims.iter().map(String::as_str).collect();
    let_everybody(&cluster);
    install(&cluster, &["--volumes=deny"]);
    let asker = Asker::of(&cluster);
    in_force(&asker, "strict", super::ask::Seen::Refused);

    let seed = std::env::var("SEED").ok().and_then(|it| it.parse().ok()).unwrap_or(17);
    let budget = std::env::var("BUDGET").ok().and_then(|it| it.parse().ok()).unwrap_or(20);
    let mut dice = Dice::of(seed);
    let (mark, began, mut count, mut refused) = (cluster.mark(), Instant::now(), 0, 0);
    let emergency = Actor::new(
        "ann@example.com",
        &["system:authenticated", "storage.kubectl.dev:break-glass"],
        false,
    );
    while count < LEAST || began.elapsed() < Duration::from_secs(budget) {
        // Controllers have their own work: a claim comes, and goes with its data.
        if count % 60 == 0 {
            let name = format!("spare-{count}");
            make(&name);
            eventually("it is bound", || bound(&name));
            let path = format!("/api/v1/namespaces/strict/persistentvolumeclaims/{name}");
            let delete = Asked { method: Method::DELETE, path, content: JSON, body: json!(null) };
            let answer = asker.ask(&emergency, &delete);
            assert_eq!(answer.code, 200, "{answer:?}");
        }
        let request = request(&mut dice, &cluster, &names, &volumes);
        let answer = asker.ask(&person(&mut dice), &request);
        // What changes nothing that the guard protects may pass; what was overtaken fails by itself.
        if answer.code == 403 {
            refused += 1;
        }
        count += 1;
        for (name, (uid, volume, handle)) in claims.iter().zip(&before) {
            let live = cluster.get("strict", &format!("pvc/{name}"));
            let live =
                live.unwrap_or_else(|| panic!("seed {seed}: {name} is lost: {}", request.path));
            assert_eq!(
                live["metadata"]["uid"], *uid,
                "seed {seed}: {} {}",
                request.path, request.body
            );
            assert!(
                live["metadata"]["deletionTimestamp"].is_null(),
                "seed {seed}: {} {}: {}",
                request.path,
                request.body,
                answer.text
            );
            assert!(driver.has(handle), "seed {seed}: the data of {volume} is lost");
        }
    }
    let leaks = cluster.get("", "pv/leaks").expect("it would have leaked");
    assert!(leaks["metadata"]["deletionTimestamp"].is_null(), "{leaks:#}");
    assert!(refused > count / 2, "{refused} of {count}");
    let controllers = refused_controllers(&cluster, mark);
    assert!(controllers.is_empty(), "{controllers:#?}");
    // Without the guard the same controllers destroy what people delete.
    eventually("the spare claims are gone", || {
        let all = cluster.list("strict", "pvc");
        !all.iter()
            .any(|it| it["metadata"]["name"].as_str().is_some_and(|it| it.starts_with("spare-")))
    });
    say(&format!("{count} requests of people, {refused} refused, seed {seed}"));
}
