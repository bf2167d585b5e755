//! What others create: pods, workloads, and custom resources from which operators make pods.

use serde_json::{Value, json};

use super::case::{Kind, SET, Shape, TEMPLATE};
use crate::support::{claim, pod};

/// A finalizer of nobody's.
pub(super) const HELD: &str = "example.com/held";

pub(super) fn pod_of(name: &str, claimed: &str, shape: Shape) -> Value {
    let mut pod = pod(name, claimed);
    pod["spec"]["terminationGracePeriodSeconds"] = json!(0);
    match shape {
        Shape::Unscheduled => pod["spec"]["nodeSelector"] = json!({"is": "nowhere"}),
        Shape::Held => pod["metadata"]["finalizers"] = json!([HELD]),
        Shape::Running | Shape::Succeeded => {}
    }
    pod
}

/// A set of the claims' own templates is called so, whatever it was to be called.
pub(super) fn name_of(kind: Kind, name: &str, claimed: &str) -> String {
    if is_template_claim(kind, claimed) { SET.to_owned() } else { name.to_owned() }
}

fn is_template_claim(kind: Kind, claimed: &str) -> bool {
    kind == Kind::StatefulSet && claimed.starts_with(&format!("{TEMPLATE}-{SET}-"))
}

/// A workload of so many replicas; what has none is suspended at zero.
pub(super) fn workload(kind: Kind, name: &str, claimed: &str, replicas: u32, class: &str) -> Value {
    let name = &name_of(kind, name, claimed);
    let labels = json!({"app": name});
    let mut spec = pod(name, claimed)["spec"].clone();
    spec["terminationGracePeriodSeconds"] = json!(0);
    let template = json!({"metadata": {"labels": labels}, "spec": spec});
    let job = |restart: &str| {
        let mut template = template.clone();
        template["spec"]["restartPolicy"] = json!(restart);
        template["metadata"] = json!({});
        json!({"template": template})
    };
    let (version, word, spec) = match kind {
        Kind::Deployment => (
            "apps/v1",
            "Deployment",
            json!({"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}),
        ),
        Kind::StatefulSet => {
            let mut spec = json!({
                "replicas": replicas, "serviceName": name, "podManagementPolicy": "Parallel",
                "selector": {"matchLabels": labels}, "template": template,
            });
            if is_template_claim(kind, claimed) {
                spec["template"]["spec"]["volumes"] = json!([]);
                spec["volumeClaimTemplates"] = json!([claim(TEMPLATE, class)]);
            }
            ("apps/v1", "StatefulSet", spec)
        }
        Kind::Job => {
            let mut spec = job("Never");
            spec["suspend"] = json!(replicas == 0);
            ("batch/v1", "Job", spec)
        }
        Kind::CronJob => (
            "batch/v1",
            "CronJob",
            json!({
                "schedule": "* * * * *", "suspend": replicas == 0,
                "jobTemplate": {"spec": job("Never")},
            }),
        ),
        Kind::ScaledJob => (
            "keda.sh/v1alpha1",
            "ScaledJob",
            json!({"jobTargetRef": job("Never"), "triggers": [{"type": "cpu"}]}),
        ),
        Kind::WorkflowTemplate => (
            "argoproj.io/v1alpha1",
            "WorkflowTemplate",
            json!({
                "entrypoint": "main", "volumes": template["spec"]["volumes"],
                "templates": [{"name": "main", "container": {"image": "none"}}],
            }),
        ),
    };
    json!({"apiVersion": version, "kind": word, "metadata": {"name": name}, "spec": spec})
}

/// How many replicas it has from now on, as a patch.
pub(super) fn scaled(kind: Kind, replicas: u32) -> Value {
    match kind {
        Kind::Deployment | Kind::StatefulSet => json!({"spec": {"replicas": replicas}}),
        Kind::Job | Kind::CronJob => json!({"spec": {"suspend": replicas == 0}}),
        Kind::ScaledJob => json!({"spec": {"maxReplicaCount": replicas}}),
        Kind::WorkflowTemplate => json!({"spec": {"parallelism": replicas}}),
    }
}

/// The kinds of operators, without the operators.
pub(super) fn definitions() -> [Value; 2] {
    [
        definition("keda.sh", "ScaledJob", "scaledjobs"),
        definition("argoproj.io", "WorkflowTemplate", "workflowtemplates"),
    ]
}

fn definition(group: &str, kind: &str, plural: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                }},
            }],
        },
    })
}
