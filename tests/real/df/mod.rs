//! How full volumes are, by figures in files: made up, of a real kubelet, and of a real Prometheus.

mod kubelet;
mod node;
mod prometheus;

use serde_json::Value;

use crate::support::{Run, Scenario, claim, eventually, pod, shared};

/// The text of a kubelet's `/metrics` about a volume of 1Gi that is nearly full.
fn nearly_full(namespace: &str, name: &str) -> String {
    let of = format!("{{namespace=\"{namespace}\",persistentvolumeclaim=\"{name}\"}}");
    let numbers = [("capacity", "1.02e+09"), ("available", "4e+07"), ("used", "9.6e+08")];
    let line = |(what, number)| format!("kubelet_volume_stats_{what}_bytes{of} {number}\n");
    numbers.map(line).concat()
}

#[test]
fn a_claim_is_as_full_as_its_figures_say_and_no_kubelet_is_asked() {
    let on = Scenario::on(shared());
    on.create(&claim("data", &shared().driver_without_attachments().class_delete));
    on.create(&pod("user", "data"));
    let volume = on.bound("data");
    on.wait_phase("pod/user", "Running");
    let folder = tempfile::tempdir().expect("the temporary folder is writable");
    let file = folder.path().join("metrics.txt");
    std::fs::write(&file, nearly_full(&on.name, "data")).expect("the folder is writable");
    let file = file.display().to_string();
    let before = shared().mark();
    let told = || -> Value {
        let args = ["df", "-n", &on.name, "--usage", &file, "-o", "json"];
        let ran = Run::of(&args).kubeconfig(shared().kubeconfig()).go();
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        serde_json::from_str(&ran.stdout).expect("it is JSON")
    };
    let report = told();
    let shown = &report["claims"][0];
    assert_eq!(report["summary"]["measured"], 1, "{report:#}");
    assert_eq!((&shown["usedPercent"], &shown["state"]), (&96.into(), &"measured".into()));
    assert_eq!(shown["volume"], *volume);
    assert_eq!(shown["usedBy"], "pod/user");
    // The figures outlive the pod.
    on.delete("pod/user");
    eventually("nothing uses it", || told()["claims"][0]["usedBy"] == "nothing");

    shared().assert_no_write(before);
    shared().assert_no_dry_run(before);
    // What runs commands in pods is not used, whatever rights there are.
    let asked = shared().requests_since(before);
    let of_node = |it: &&Value| it["requestURI"].as_str().is_some_and(|it| it.contains("/proxy"));
    assert_eq!(asked.iter().find(of_node), None);
}

#[test]
fn what_may_not_be_read_is_a_gap() {
    let on = Scenario::on(shared());
    let folder = tempfile::tempdir().expect("the temporary folder is writable");
    let file = folder.path().join("metrics.txt");
    std::fs::write(&file, nearly_full("elsewhere", "data")).expect("the folder is writable");
    let file = file.display().to_string();
    let args = ["df", "--usage", &file, "--as", &on.named("stranger")];
    let ran = Run::of(&args).kubeconfig(shared().kubeconfig()).go();
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(ran.stderr.contains("not read: persistentvolumeclaims: forbidden"), "{}", ran.stderr);
    // A claim that was not read is not called absent.
    assert!(!ran.stderr.contains("match none"), "{}", ran.stderr);
}

/// What a report says of a claim.
fn claim_of<'a>(report: &'a Value, name: &str) -> &'a Value {
    let claims = report["claims"].as_array().expect("because it is a list");
    let found = claims.iter().find(|it| it["object"]["name"] == name);
    found.unwrap_or_else(|| panic!("no {name}: {report:#}"))
}
