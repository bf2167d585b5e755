//! Whatever a namespace has, the backend has afterwards what the record leaves, and what was left out is as it was.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{container, deployment, run_unattended, set};
use crate::support::{Admin, Dice, Scenario, claim, eventually, pod, say, shared};

/// Tears down one namespace that the dice made.
fn round(seed: u64, end: &str) {
    let dice = &mut Dice::of(seed);
    let on = Scenario::part(shared(), end);
    let driver = on.cluster.driver_without_attachments();
    let count = dice.between(3, 7);
    let mut names = Vec::new();
    for number in 0..count {
        let name = format!("c{number}");
        let class = if dice.once_in(4) { &driver.class_retain } else { &driver.class_delete };
        let mut made = claim(&name, class);
        if dice.once_in(2) {
            made["metadata"]["labels"] = json!({"torn": "down"});
        }
        on.create(&made);
        match dice.below(5) {
            0 => drop(on.create(&deployment(&name, &name))),
            1 => drop(on.create(&pod(&name, &name))),
            2 => {
                let mut paused = deployment(&name, &name);
                paused["spec"]["replicas"] = json!(0);
                on.create(&paused);
            }
            3 => {
                let spec = json!({"template": {"spec": {
                    "restartPolicy": "Never", "containers": container(),
                    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}],
                }}});
                on.create(&json!({
                    "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name},
                    "spec": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": spec}},
                }));
            }
            _ => {}
        }
        names.push(name);
    }
    if dice.once_in(2) {
        let mut made = set("db", &driver.class_delete, 2);
        if dice.once_in(2) {
            made["spec"]["persistentVolumeClaimRetentionPolicy"] = json!({"whenScaled": "Retain"});
        }
        on.create(&made);
        eventually("the set has its claims", || on.get("pvc/data-db-1").is_some());
        names.extend(["data-db-0", "data-db-1"].map(str::to_owned));
    }
    let handles: Vec<_> = names
        .iter()
        .map(|name| {
            let volume = on.bound(name);
            (name.clone(), volume.clone(), on.handle(&volume))
        })
        .collect();
    let excepted: BTreeSet<String> = names.iter().filter(|_| dice.once_in(5)).cloned().collect();
    let by_label = dice.once_in(3);
    let before: Vec<Value> =
        handles.iter().map(|(_, volume, _)| on.read(&format!("pv/{volume}"))).collect();
    let admin = Admin::of(&on);
    let mut args = vec![
        "--destroy-data".to_owned(),
        "--max=20".to_owned(),
        format!("--namespace={}", on.name),
        format!("--backend-exclusive={}", driver.name),
    ];
    args.extend(by_label.then(|| "--selector=torn=down".to_owned()));
    args.extend(excepted.iter().map(|it| format!("--except=pvc/{}/{it}", on.name)));
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let told = run_unattended(&admin, &args);
    let what = || format!("seed {seed}: {:?} {}\n{:#}", told.code, told.stderr, told.json);
    assert!([Some(0), Some(5), Some(6)].contains(&told.code), "{}", what());
    for ((name, volume, handle), before) in handles.iter().zip(&before) {
        let of = format!("{}/{name}", on.name);
        let found = told.listed("volumes").iter().find(|it| it["claim"] == of.as_str());
        let outcome = found.map_or(&Value::Null, |it| &it["outcome"]);
        let is_destroyed = told.code != Some(5) && outcome == "destroyed";
        assert_eq!(driver.has(handle), !is_destroyed, "{name} of {}", what());
        let retains = before["spec"]["persistentVolumeReclaimPolicy"] == "Retain";
        assert!(!is_destroyed || !(retains || excepted.contains(name)), "{name} of {}", what());
        // What was refused, or left out, was not touched.
        if told.code == Some(5) || found.is_none() || excepted.contains(name) {
            let now = on.read(&format!("pv/{volume}"));
            assert_eq!(now["spec"], before["spec"], "{name} of {}", what());
            assert!(on.get(&format!("pvc/{name}")).is_some(), "{name} of {}", what());
        }
    }
    say(&format!("{seed}: {:?}, {} claims", told.code, handles.len()));
}

#[test]
fn of_a_few_namespaces() {
    for seed in 1..=2 {
        round(seed, &format!("-{seed}"));
    }
}

#[test]
#[ignore = "extended suite: many random namespaces"]
fn of_many_namespaces() {
    for seed in 100..110 {
        round(seed, &format!("-{seed}"));
    }
}
