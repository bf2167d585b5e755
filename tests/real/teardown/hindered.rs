//! A namespace that is going away, a quota, a webhook that answers nobody.

use serde_json::{Value, json};

use super::{deployment, lines, run_unattended};
use crate::support::{Admin, Driver, Scenario, Told, claim, eventually, pod, shared};

const UNREACHABLE: &str = "https://127.0.0.1:1/";

fn bound(on: &Scenario, driver: &Driver, name: &str) -> (String, String) {
    on.create(&claim(name, &driver.class_delete));
    let volume = on.bound(name);
    let handle = on.handle(&volume);
    (volume, handle)
}

fn outcomes(told: &Told) -> Vec<Value> {
    told.listed("volumes").iter().map(|it| it["outcome"].clone()).collect()
}

/// Its claims go as soon as its pods are gone: the policy is held before that.
#[test]
#[ignore = "extended suite: further cases"]
fn a_namespace_that_is_terminating_loses_no_data_that_is_kept() {
    let on = Scenario::on(shared());
    let driver = on.cluster.driver_without_attachments();
    let (volume, handle) = bound(&on, driver, "data");
    on.create(&pod("user", "data"));
    eventually("the pod runs", || on.read("po/user")["status"]["phase"] == "Running");
    on.patch("po/user", &json!({"metadata": {"finalizers": ["example.com/hold"]}}));
    on.cluster.try_kubectl(&["delete", "ns", &on.name, "--wait=false"], "").expect("it is there");
    // Since 1.33 its pods go first.
    eventually("the pod is Terminating", || {
        !on.read("po/user")["metadata"]["deletionTimestamp"].is_null()
    });
    let admin = Admin::of(&on);
    let args = ["--keep-data", "-n", &on.name, "--timeout=5s"];
    let told = run_unattended(&admin, &args).ends(6).says(&["the run ended early"]);
    assert_eq!(outcomes(&told), ["kept"], "{:#}", told.json);
    let policy =
        || on.read(&format!("pv/{volume}"))["spec"]["persistentVolumeReclaimPolicy"].clone();
    assert_eq!(policy(), "Retain");
    on.patch("po/user", &json!({"metadata": {"finalizers": null}}));
    let told = run_unattended(&admin, &args[..3]).ends(0);
    assert_eq!(outcomes(&told), ["kept"], "{:#}", told.json);
    assert!(on.get("pvc/data").is_none() && driver.has(&handle));
    assert_eq!(policy(), "Retain");
}

/// A quota that is used up concerns Events alone: no step creates anything else.
#[test]
#[ignore = "extended suite: further cases"]
fn a_quota_that_is_used_up_hinders_nothing() {
    let on = Scenario::on(shared());
    let driver = on.cluster.driver_without_attachments();
    let (_, handle) = bound(&on, driver, "data");
    on.create(&deployment("web", "data"));
    eventually("it runs", || on.cluster.list(&on.name, "pods").len() == 1);
    let none = json!({"pods": "0", "persistentvolumeclaims": "0", "requests.storage": "0", "count/events": "0"});
    on.create(&json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}, "spec": {"hard": none},
    }));
    eventually("the quota holds", || !on.read("quota/none")["status"]["hard"].is_null());
    let admin = Admin::of(&on);
    let exclusive = format!("--backend-exclusive={}", driver.name);
    let args = ["--destroy-data", "-n", &on.name, &exclusive, "--max=1"];
    let told = run_unattended(&admin, &args).ends(0);
    assert_eq!(outcomes(&told), ["destroyed"], "{:#}", told.json);
    assert!(!driver.has(&handle));
}

/// A webhook that refuses a deletion is found by the dry runs, before anything is stopped.
#[test]
#[ignore = "extended suite: further cases"]
fn a_webhook_that_refuses_is_found_before_anything_is_stopped() {
    let on = Scenario::on(shared());
    let driver = on.cluster.driver_without_attachments();
    let (volume, handle) = bound(&on, driver, "data");
    on.create(&deployment("web", "data"));
    eventually("it runs", || on.cluster.list(&on.name, "pods").len() == 1);
    let webhook = on.named("hook");
    on.cluster.create(&json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": webhook},
        "webhooks": [{
            "name": "hook.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": UNREACHABLE},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": on.name}},
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"],
                "resources": ["persistentvolumeclaims"],
            }],
        }],
    }));
    let try_delete =
        || on.cluster.try_kubectl(&["delete", "pvc/data", "-n", &on.name, "--dry-run=server"], "");
    eventually("the webhook is asked", || try_delete().is_err());
    let admin = Admin::of(&on);
    let exclusive = format!("--backend-exclusive={}", driver.name);
    let args = ["--destroy-data", "-n", &on.name, &exclusive, "--max=1"];
    let mark = on.cluster.mark();
    let told = run_unattended(&admin, &args).ends(5);
    let told = told.says(&["hook.example.com", "a dry run was refused; nothing was changed"]);
    assert_eq!(lines(&admin.sent(mark)), [""; 0], "{}", told.stderr);
    assert_eq!(on.read("deploy/web")["spec"]["replicas"], 1);
    let policy = &on.read(&format!("pv/{volume}"))["spec"]["persistentVolumeReclaimPolicy"];
    assert_eq!(policy, "Delete");
    on.cluster.delete("", &format!("validatingwebhookconfiguration/{webhook}"));
    eventually("the webhook is not asked any more", || try_delete().is_ok());
    let told = run_unattended(&admin, &args).ends(0);
    assert_eq!(outcomes(&told), ["destroyed"], "{:#}", told.json);
    assert!(!driver.has(&handle));
}
