//! Those who may say no: policies, webhooks and RBAC.

use serde_json::{Value, json};

use super::{Case, Told};
use crate::support::{Scenario, eventually};

const UPDATES: &str = "UPDATE";

fn updates_of_volumes() -> Value {
    json!([{"apiGroups": [""], "apiVersions": ["v1"], "operations": [UPDATES], "resources": ["persistentvolumes"]}])
}

/// What kubectl is told when it tries, as somebody or as the administrator, to change a volume.
fn denial(on: &Scenario, user: Option<&str>, volume: &str) -> String {
    let patch = r#"{"metadata":{"labels":{"tried":"yes"}}}"#;
    let mut tried = vec!["patch", "pv", volume, "--dry-run=server", "--type=merge", "-p", patch];
    tried.extend(user.iter().flat_map(|user| ["--as", user]));
    on.cluster.try_kubectl(&tried, "").err().unwrap_or_default()
}

fn wait_for_denial(on: &Scenario, user: Option<&str>, volume: &str, words: &str) {
    eventually(words, || denial(on, user, volume).contains(words));
}

fn wait_for_leave(on: &Scenario, user: Option<&str>, volume: &str) {
    eventually("nobody denies it any more", || denial(on, user, volume).is_empty());
}

/// A policy denies somebody all but one of three volumes. What it says is what the user reads.
#[test]
fn a_policy_denies() {
    let case = Case::of(3);
    let [first, second, third] = case.volumes.as_slice() else { panic!("three were asked for") };
    let (user, kubeconfig) = ("user-3", case.proxy.kubeconfig_of("user-3"));
    let all = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
    case.on.cluster.grant(user, &all);
    let policy = case.on.named("policy");
    let condition =
        format!("request.userInfo.username == '{user}' && object.metadata.name != '{first}'");
    case.on.cluster.create(&json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": policy},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": updates_of_volumes()},
            "matchConditions": [{"name": "who", "expression": condition}],
            "validations": [{"expression": "false", "message": "nothing goes in December"}],
        },
    }));
    case.on.cluster.create(&json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": policy},
        "spec": {"policyName": policy, "validationActions": ["Deny"]},
    }));
    wait_for_denial(&case.on, Some(user), second, "nothing goes in December");

    let told = Told::of(case.gc_as(&kubeconfig).go()).ends(6);
    told.became(first, "done", &[]);
    for volume in [second, third] {
        told.became(volume, "refused", &[&policy, "nothing goes in December"]);
        assert_eq!(told.entry(volume), None);
        assert_eq!(case.seen(volume), ["dry 422"]);
        assert_eq!(case.sent(volume), ["dry"]);
        case.is_untouched(volume);
    }
    assert_eq!(case.recorded().len(), 1);

    case.on.cluster.kubectl(&["delete", "validatingadmissionpolicybinding", &policy]);
    case.on.cluster.kubectl(&["delete", "validatingadmissionpolicy", &policy]);
    wait_for_leave(&case.on, Some(user), second);
    case.again_as(&kubeconfig);
}

/// A webhook that must be asked, and does not answer.
#[test]
fn a_webhook_is_out_of_reach() {
    let case = Case::of(3);
    let [first, second, third] = case.volumes.as_slice() else { panic!("three were asked for") };
    case.edit(second, &json!({"metadata": {"labels": {"webhook": "asked"}}}));
    let name = case.on.named("webhook");
    case.on.cluster.create(&json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [{
            "name": "closed.example.com", "clientConfig": {"url": "https://127.0.0.1:9/"},
            "rules": updates_of_volumes(), "failurePolicy": "Fail", "sideEffects": "None",
            "objectSelector": {"matchLabels": {"webhook": "asked"}},
            "admissionReviewVersions": ["v1"], "timeoutSeconds": 1,
        }],
    }));
    wait_for_denial(&case.on, None, second, "closed.example.com");

    let told = case.run().ends(6);
    told.became(first, "done", &[]);
    told.became(second, "failed", &["closed.example.com", "dry run"]);
    assert_eq!(told.entry(second), None);
    assert_eq!(case.seen(second), ["dry 500"]);
    assert_eq!(case.sent(second), ["dry"]);
    case.is_untouched(second);
    told.not_begun(third);
    case.is_untouched(third);

    case.on.cluster.kubectl(&["delete", "validatingwebhookconfiguration", &name]);
    wait_for_leave(&case.on, None, second);
    case.again();
}

/// Somebody may read everything that has to be known, and change nothing.
#[test]
fn rbac_forbids_the_patch_alone() {
    let case = Case::of(2);
    let (user, kubeconfig) = ("user-4", case.proxy.kubeconfig_of("user-4"));
    let rules = json!([
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]},
    ]);
    case.on.cluster.grant(user, &rules);
    eventually("the rights are known", || {
        let asked = ["auth", "can-i", "create", "events", "-n", "default", "--as", user];
        case.on.cluster.try_kubectl(&asked, "").is_ok()
    });

    let told = Told::of(case.gc_as(&kubeconfig).go()).ends(5);
    for volume in &case.volumes {
        told.became(volume, "refused", &["403", "cannot patch resource"]);
        assert_eq!(case.seen(volume), ["dry 403"]);
        assert_eq!(case.sent(volume), ["dry"]);
        case.is_untouched(volume);
    }
    assert!(case.recorded().is_empty());

    let right = json!({"apiGroups": [""], "resources": ["persistentvolumes"], "verbs": ["patch"]});
    let patch = json!([{"op": "add", "path": "/rules/-", "value": right}]).to_string();
    let role = format!("grant-{user}");
    case.on.cluster.kubectl(&["patch", "clusterrole", &role, "--type=json", "-p", &patch]);
    wait_for_leave(&case.on, Some(user), &case.volumes[0]);
    let told = case.again_as(&kubeconfig);
    assert_eq!(told.outcomes("done").len(), 2, "{told}");
}
