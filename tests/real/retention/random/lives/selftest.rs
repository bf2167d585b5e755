//! The judge finds a loss: with nobody in the place of the tool, and in looks that were made up.

use kubectl_storage::facts::retention::{Operation, Propagation};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::super::super::set::{DELETE_WITH_SET, RETAIN};
use super::super::case::{Act, Shape};
use super::judge::{Judge, Look};
use super::life::{Life, Step};
use super::stage::Stage;
use super::{Hand, one};
use crate::support::Cluster;

/// F60: the policy was Delete, and became Retain where the controller did not see to the claims.
fn disaster(seed: u64, history: Vec<Act>) -> Life {
    let shape = Shape {
        replicas: 3,
        start: 0,
        templates: &["data"],
        policy: DELETE_WITH_SET,
        ordered: true,
        rival: None,
    };
    let delete = Operation::DeleteSet(Propagation::Background);
    let steps = vec![Step::Apply { leftovers: false }, Step::Restart, Step::Do(delete)];
    Life { seed, shape, history, steps }
}

fn without_pods(seed: u64) -> Life {
    disaster(seed, vec![Act::Scale(1), Act::SetPolicy(RETAIN)])
}

fn never_ready(seed: u64) -> Life {
    disaster(seed, vec![Act::Break(0), Act::SetPolicy(RETAIN)])
}

#[test]
#[ignore = "extended suite: long random runs"]
fn what_is_lost_without_apply_is_retained_with_it() {
    let cluster = Cluster::start(Stage::options());
    let runtime = Runtime::new().expect("because the machine has threads");
    runtime.block_on(async {
        let stage = &Stage::set(cluster).await;
        let lost = async |life, hand| {
            let (_, judge, _) = one(stage, life, hand).await;
            judge.wrong
        };
        let (podless, unready, with, too) = tokio::join!(
            lost(without_pods(1), Hand::Nobody),
            lost(never_ready(2), Hand::Nobody),
            lost(without_pods(3), Hand::Tool),
            lost(never_ready(4), Hand::Tool),
        );
        assert_eq!(podless.len(), 2, "{podless:#?}");
        assert!(podless[0].starts_with("data-web-1 was lost"), "{podless:#?}");
        assert_eq!(unready.len(), 3, "{unready:#?}");
        assert_eq!((with, too), (Vec::new(), Vec::new()));
    });
}

fn set(replicas: i32, scaled: &str) -> Value {
    json!({
        "metadata": {"name": "web", "uid": "set"},
        "spec": {
            "replicas": replicas,
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": scaled},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
        },
    })
}

fn claim(name: &str) -> (String, Value) {
    (name.to_owned(), json!({"metadata": {"name": name, "uid": format!("uid of {name}")}}))
}

/// A set with three claims.
fn before(replicas: i32, scaled: &str) -> Look {
    let claims = ["data-web-0", "data-web-1", "old-web-1"].map(claim).into_iter().collect();
    Look { set: Some(set(replicas, scaled)), rival: None, pods: Vec::new(), claims }
}

fn without(look: Look, name: &str) -> Look {
    let Look { set, rival, pods, mut claims } = look;
    claims.remove(name);
    Look { set, rival, pods, claims }
}

/// What is said when `apply --delete-leftovers` has deleted a claim.
fn deleted(look: impl Fn() -> Look, name: &str) -> Vec<String> {
    let mut judge = Judge::default();
    judge.applied(&look(), &without(look(), name), &[].into(), true);
    judge.wrong
}

#[test]
#[ignore = "extended suite: long random runs"]
fn whatever_apply_must_not_delete_is_found() {
    let pod = |name: &str, claim: &str| {
        json!({"metadata": {"name": name}, "spec": {"volumes": [
            {"persistentVolumeClaim": {"claimName": claim}},
        ]}})
    };
    let leftover = || before(1, "Delete");
    assert_eq!(deleted(leftover, "data-web-1"), Vec::<String>::new());
    let with = |change: fn(&mut Look)| {
        move || {
            let mut look = before(1, "Delete");
            change(&mut look);
            look
        }
    };
    let used = || Look { pods: vec![pod("user", "data-web-1")], ..before(1, "Delete") };
    let its_pod = || Look { pods: vec![pod("web-1", "other")], ..before(1, "Delete") };
    let foreign = with(|look| {
        let claim = look.claims.get_mut("data-web-1").expect("because it is there");
        claim["metadata"]["ownerReferences"] =
            json!([{"kind": "ConfigMap", "name": "other", "controller": true}]);
    });
    for (wrong, why) in [
        (deleted(leftover, "data-web-0"), "it is in range"),
        (deleted(leftover, "old-web-1"), "it is no claim of the set"),
        (deleted(|| before(1, "Retain"), "data-web-1"), "whenScaled is Retain"),
        (deleted(|| before(0, "Delete"), "data-web-1"), "the set is paused"),
        (deleted(used, "data-web-1"), "pod \"user\" is there"),
        (deleted(its_pod, "data-web-1"), "pod \"web-1\" is there"),
        (deleted(foreign, "data-web-1"), "it has a foreign controller"),
        (deleted(with(|look| look.rival = Some(json!({}))), "data-web-1"), "its name is ambiguous"),
        (deleted(with(|look| look.set = None), "data-web-1"), "it has no set"),
    ] {
        assert!(wrong.iter().any(|it| it.ends_with(why)), "{why}: {wrong:?}");
    }
    let mut judge = Judge::default();
    judge.applied(&leftover(), &without(leftover(), "data-web-1"), &[].into(), false);
    assert_eq!(judge.wrong, ["apply deleted data-web-1 without a flag"]);
}

#[test]
#[ignore = "extended suite: long random runs"]
fn a_promise_is_broken_by_any_loss_and_ends_with_the_policy() {
    let lost = |scaled: &str, step: &Step, name: &str, undone: &[&str]| {
        let (before, mut judge) = (|| before(2, scaled), Judge::default());
        let undone = undone.iter().map(|it| (*it).to_owned()).collect();
        judge.applied(&before(), &before(), &undone, false);
        let mut after = without(before(), name);
        if let (Step::Do(Operation::Scale(replicas)), Some(set)) = (step, &mut after.set) {
            set["spec"]["replicas"] = json!(replicas);
        }
        judge.stepped(step, &before(), &after);
        judge.wrong.len()
    };
    let delete = Step::Do(Operation::DeleteSet(Propagation::Background));
    let scale = Step::Do(Operation::Scale(1));
    let policy = Step::Do(Operation::SetPolicy(DELETE_WITH_SET.retention()));
    for (scaled, step, name, undone, wrong) in [
        ("Retain", &delete, "data-web-1", &[][..], 1),
        ("Delete", &delete, "data-web-1", &[], 1),
        ("Retain", &Step::Restart, "data-web-0", &[], 1),
        ("Retain", &scale, "data-web-1", &[], 1),
        ("Delete", &scale, "data-web-1", &[], 0),
        ("Delete", &scale, "data-web-0", &[], 1),
        ("Retain", &policy, "data-web-0", &[], 0),
        ("Retain", &delete, "old-web-1", &[], 0),
        ("Retain", &delete, "data-web-1", &["data-web-1"], 0),
    ] {
        assert_eq!(lost(scaled, step, name, undone), wrong, "{scaled} {step:?} {name} {undone:?}");
    }
}
