//! `rebind`: a Released volume is given back to a claim, and its data is read from the folder of the driver.

mod interrupted;
mod kinds;
mod lost;
mod plain;
mod refused;
mod rights;
mod undone;

use serde_json::Value;

use crate::support::{
    Admin, Cluster, Driver, Mark, Scenario, Told, Write, claim, eventually, shared,
};

/// What somebody wrote into the volume before its claim was deleted.
const LEDGER: &str = "the ledger of 2026";

/// A volume of the driver of the shared cluster, with a file in it, whose claim `data` was deleted.
struct Left {
    name: String,
    /// `pv/NAME`.
    object: String,
    handle: String,
}

impl Left {
    fn on(on: &Scenario, driver: &Driver) -> Self {
        Self::by(on, driver, "data")
    }

    fn by(on: &Scenario, driver: &Driver, claimed: &str) -> Self {
        on.create(&claim(claimed, &driver.class_retain));
        let name = on.bound(claimed);
        let handle = on.handle(&name);
        write_ledger(driver, &handle);
        let left = Self { object: format!("pv/{name}"), name, handle };
        on.delete(&format!("pvc/{claimed}"));
        on.wait_phase(&left.object, "Released");
        eventually("the claim is gone", || on.get(&format!("pvc/{claimed}")).is_none());
        left
    }
}

fn write_ledger(driver: &Driver, handle: &str) {
    let written = std::fs::write(driver.folder(handle).join("ledger"), LEDGER);
    written.expect("because the folder is ours");
}

/// Panics unless the files are as they were, and nobody asked for their deletion.
#[track_caller]
fn intact(driver: &Driver, handle: &str) {
    let read = std::fs::read_to_string(driver.folder(handle).join("ledger"));
    assert_eq!(read.expect("the old files are there"), LEDGER);
    assert_eq!(driver.delete_calls(handle), 0);
}

/// Panics unless a volume and a claim of the scenario are bound to each other, with policy Retain.
#[track_caller]
fn bound_to_each_other(on: &Scenario, volume: &str, claim: &str) {
    let (pv, pvc) = (on.read(&format!("pv/{volume}")), on.read(&format!("pvc/{claim}")));
    assert_eq!(
        (&pv["status"]["phase"], &pvc["status"]["phase"]),
        (&"Bound".into(), &"Bound".into())
    );
    assert_eq!(pvc["spec"]["volumeName"], volume, "{pvc:#}");
    assert_eq!(pv["spec"]["claimRef"]["uid"], pvc["metadata"]["uid"], "{pv:#}");
    assert_eq!(pv["spec"]["persistentVolumeReclaimPolicy"], "Retain", "{pv:#}");
}

/// What was sent, a line each, dry runs too.
fn lines(sent: &[Write]) -> Vec<String> {
    sent.iter().map(Write::line).collect()
}

/// What was written, a line each.
fn written(admin: &Admin, since: Mark) -> Vec<String> {
    lines(&admin.sent(since).into_iter().filter(|it| !it.dry).collect::<Vec<_>>())
}

/// Rebinds, with nobody at the terminal.
fn rebind(words: &[&str]) -> Vec<String> {
    ["rebind"].iter().chain(words).chain(&["--yes"]).map(|it| (*it).to_owned()).collect()
}

fn words(args: &[String]) -> Vec<&str> {
    args.iter().map(String::as_str).collect()
}

/// The detail of the one change of a receipt.
fn detail(told: &Told) -> &str {
    told.listed("changes")[0]["detail"].as_str().expect("because each change has one")
}

fn annotation<'a>(object: &'a Value, key: &str) -> &'a Value {
    &object["metadata"]["annotations"][key]
}

fn driver() -> &'static Driver {
    shared().driver()
}

fn here() -> &'static Cluster {
    shared()
}
