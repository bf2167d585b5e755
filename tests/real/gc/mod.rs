//! `gc`, `retain` and `apply` against real controllers: what they refuse, what they send, and what is gone afterwards.

mod announced;
mod beside;
mod bounds;
mod confirmed;
mod kept;
mod protected;
mod refused;
mod reclaimed;
mod reserved;
mod retained;
mod saved;
mod stopped;

use std::thread::sleep;
use std::time::Duration;

use serde_json::json;

use crate::support::{Admin, PersistentVolume, Scenario, Told, shared};

/// A volume of the shared driver whose claim, named like it, is gone. The driver's provisioner would delete it.
fn left(on: &Scenario, name: &str) -> PersistentVolume {
    let driver = shared().driver();
    let name = on.named(name);
    driver.make(&name);
    let volume = PersistentVolume::csi(&name, &driver.name, &name).left_by(&on.name, &name);
    volume.provisioned_by(&driver.name).class(&driver.class_retain)
}

/// Creates volumes and waits until they have been Released for longer than `--older-than 1s` asks for.
fn release(on: &Scenario, volumes: &[&PersistentVolume]) {
    let items: Vec<_> = volumes.iter().map(|it| &it.0).collect();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let create = ["create", "-f", "-", "--field-manager=scenario"];
    let made = on.cluster.try_kubectl(&create, &list);
    made.unwrap_or_else(|error| panic!("kubectl create: {error}"));
    on.remember_volumes();
    let name = |it: &&&PersistentVolume| {
        format!("pv/{}", it.0["metadata"]["name"].as_str().unwrap_or_default())
    };
    let names: Vec<_> = volumes.iter().map(|it| name(&it)).collect();
    wait_released(on, &names.iter().map(String::as_str).collect::<Vec<_>>());
}

/// Waits until volumes have been Released for longer than `--older-than 1s` asks for.
fn wait_released(on: &Scenario, objects: &[&str]) {
    let wait = ["wait", "--for=jsonpath={.status.phase}=Released", "--timeout=45s"];
    on.cluster.kubectl(&[&wait[..], objects].concat());
    sleep(Duration::from_millis(2100));
}

fn policy(on: &Scenario, name: &str) -> String {
    let volume = on.read(&format!("pv/{name}"));
    volume["spec"]["persistentVolumeReclaimPolicy"].as_str().unwrap_or_default().to_owned()
}
