//! The alert rules that are shipped, judged by Prometheus' own code.

use std::process::Command;

use crate::support::program;

/// Runs `promrules` on a file in `deploy/`, and returns whether it is content, and what it said.
fn promrules(command: &str, file: &str) -> (bool, String) {
    let deploy = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy");
    let ran = Command::new(program("promrules"))
        .args([command, file])
        .current_dir(deploy)
        .output()
        .expect("because the testbed has it");
    let said = [ran.stdout, ran.stderr].concat();
    (ran.status.success(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
#[ignore = "extended suite: tools of others"]
fn alert_rules_are_valid_and_fire_where_they_should() {
    let (is_valid, said) = promrules("check", "alerts.yaml");
    assert!(is_valid && said.contains("alerts.yaml: 15 rules"), "{said}");
    let (is_right, said) = promrules("test", "alerts.test.yaml");
    assert!(is_right && said.contains("SUCCESS"), "{said}");
    // The tests are no rules, which shows that it looks.
    assert!(!promrules("check", "alerts.test.yaml").0);
}
