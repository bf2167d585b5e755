//! A driver that fails, and two runs at once.

use serde_json::json;

use super::{DESTROYED, Town, run_unattended};
use crate::support::{Admin, Scenario, Told, claim, shared};

/// What the driver does not delete is left, first on the screen, with its last error; the next run goes on.
#[test]
fn a_driver_that_fails_leaves_its_volumes() {
    let cluster = shared();
    let on = Scenario::on(cluster);
    // Faults are of a whole driver.
    let options = crate::support::DriverOptions { attach: false, ..Default::default() };
    let driver = cluster.start_driver("fails.csi.example", &options);
    on.create(&claim("data", &driver.class_delete));
    let volume = on.bound("data");
    let handle = on.handle(&volume);
    driver.fault(
        &json!({"DeleteVolume": {"fail": {"code": "INTERNAL", "message": "the array is busy"}}}),
    );
    let admin = Admin::of(&on);
    let exclusive = format!("--backend-exclusive={}", driver.name);
    let run = |timeout: &str| -> Told {
        let args = ["--destroy-data", "-n", &on.name, &exclusive, "--max=1", "--timeout", timeout];
        run_unattended(&admin, &args)
    };
    let told = run("8s").ends(6);
    let left = &told.listed("volumes")[0];
    assert_eq!(left["outcome"], "left", "{:#}", told.json);
    assert!(left["reason"].as_str().is_some_and(|it| it.contains("the array is busy")), "{left:#}");
    assert!(driver.has(&handle) && on.get("pvc/data").is_none());
    driver.fault(&json!({}));
    let told = run("170s").ends(0);
    assert_eq!(told.listed("volumes")[0]["outcome"], "destroyed", "{:#}", told.json);
    assert!(!driver.has(&handle));
}

/// Two runs at once harm nothing: together they come to the same end, or the next one does.
#[test]
#[ignore = "extended suite: further cases"]
fn two_runs_at_once_come_to_one_end() {
    let on = Scenario::on(shared());
    let town = Town::of(&on);
    let args = town.destroying();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let start = || town.admin.by(on.cluster.kubeconfig(), &args).start();
    let both = [start(), start()].map(|it| Told::of(it.finish()));
    for told in &both {
        assert!([Some(0), Some(5), Some(6)].contains(&told.code), "{}", told.stderr);
    }
    town.destroy().ends(0);
    assert_eq!(town.outcomes("destroyed"), DESTROYED);
    town.is_as_recorded();
}
