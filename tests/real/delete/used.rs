//! D-46: a claim that something will use is never deleted, whatever is said about its data.

use serde_json::{Value, json};

use super::{Admin, Scenario, because, delete, is_untouched, state};
use crate::support::{claim, pod, shared};

/// Workloads that have no pod now, each of a claim of its own name.
fn resting(name: &str) -> Value {
    let (labels, spec) = (json!({"app": name}), pod(name, name)["spec"].clone());
    let template = json!({"metadata": {"labels": labels}, "spec": spec});
    let of = |kind: &str, spec: Value| json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec});
    let selector = json!({"matchLabels": labels});
    match name {
        "deploy" => {
            of("Deployment", json!({"replicas": 0, "selector": selector, "template": template}))
        }
        "sts" => of(
            "StatefulSet",
            json!({"replicas": 0, "serviceName": "none", "selector": selector, "template": template}),
        ),
        _ => {
            let mut spec = template["spec"].clone();
            spec["restartPolicy"] = json!("Never");
            json!({
                "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name},
                "spec": {
                    "suspend": true, "schedule": "0 0 1 1 *",
                    "jobTemplate": {"spec": {"template": {"spec": spec}}},
                },
            })
        }
    }
}

#[test]
fn d_46_workloads_at_rest_are_named() {
    let on = Scenario::on(shared());
    let driver = shared().driver();
    let names = ["deploy", "sts", "cj"];
    let volumes = names.map(|name| {
        on.create(&claim(name, &driver.class_delete));
        on.create(&resting(name));
        on.bound(name)
    });
    let admin = Admin::of(&on);
    for flag in ["--keep-data", "--destroy-data"] {
        let told = admin.refused(5, &delete(&on, &names, &[flag]));
        for (name, object, state) in [
            ("deploy", "deploy", "(replicas: 0)"),
            ("sts", "sts", "(replicas: 0)"),
            ("cj", "cj", "(suspended)"),
        ] {
            let words =
                format!("the template of {object}/{}/{name} references it {state}", on.name);
            because(&told, name, &["no flag overrides this", &words, "remove the claim from"]);
        }
    }
    for (name, volume) in names.iter().zip(&volumes) {
        is_untouched(&on, name);
        assert_eq!(state(&on, volume), ("Delete".to_owned(), "Bound".to_owned()));
        assert_eq!(driver.delete_calls(&on.handle(volume)), 0);
    }
}
