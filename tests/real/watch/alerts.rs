//! The alert rules that are shipped, judged by Prometheus' own code.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::program;

const DEPLOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy");

/// Runs `promrules` on a file in a folder, and returns whether it is content, and what it said.
fn promrules(folder: &Path, command: &str, file: &str) -> (bool, String) {
    let ran = Command::new(program("promrules"))
        .args([command, file])
        .current_dir(folder)
        .output()
        .expect("because the testbed has it");
    let said = [ran.stdout, ran.stderr].concat();
    (ran.status.success(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
#[ignore = "extended suite: tools of others"]
fn alert_rules_are_valid_and_fire_where_they_should() {
    let deploy = Path::new(DEPLOY);
    let (is_valid, said) = promrules(deploy, "check", "alerts.yaml");
    assert!(is_valid && said.contains("alerts.yaml: 15 rules"), "{said}");
    // The tests are no rules, which shows that it looks.
    assert!(!promrules(deploy, "check", "alerts.test.yaml").0);
    // With another label for clusters too.
    let folder = tempfile::tempdir().expect("because the temporary folder is writable");
    for file in ["alerts.yaml", "alerts.test.yaml"] {
        let text = fs::read_to_string(deploy.join(file)).expect("it ships with us");
        let renamed = text.replace("cluster", "k8s_name");
        fs::write(folder.path().join(file), renamed).expect("because the folder is writable");
    }
    for folder in [deploy, folder.path()] {
        let (is_right, said) = promrules(folder, "test", "alerts.test.yaml");
        assert!(is_right && said.contains("SUCCESS"), "{said}");
    }
}
