//! `deploy/chart` as far as no helm is needed: what is written from the program, its values, and the commands it shows.
//! `tests/real/watch/chart` has helm render, install and uninstall it.

use std::fs;

use kubectl_storage::{cli, watch::policy::WatchPolicy};
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use crate::{
    next_commands,
    support::{Call, expect_file, read, root},
};

const CHART: &str = "deploy/chart";

fn yaml(path: &str) -> Value {
    serde_yaml::from_str(&read(&root().join(CHART).join(path))).expect("because it is YAML")
}

/// What is printed for a policy, object by object.
fn printed(policy: &str, args: &[&str]) -> Vec<Value> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("policy.yaml");
    let text = format!("apiVersion: storage.kubectl.dev/v1alpha1\nkind: WatchPolicy\n{policy}");
    fs::write(&path, text).expect("it is ours");
    let path = path.display().to_string();
    let call = ["watch", "print", "-f", &path];
    let ran = Call::new(call.iter().chain(args).copied()).run();
    assert_eq!(ran.code, Some(0), "{policy}: {}", ran.stderr);
    let of = |it: &str| serde_yaml::from_str(it).expect("because it is YAML");
    ran.stdout.split("\n---\n").map(of).collect()
}

/// The rules of the roles of a name, in a namespace or in the cluster.
fn rules(all: &[Value], name: &str, namespace: Option<&str>) -> Vec<Value> {
    let is_it = |it: &&Value| {
        let metadata = &it["metadata"];
        it["rules"].is_array()
            && metadata["name"] == name
            && metadata["namespace"].as_str() == namespace
    };
    let found = all.iter().filter(is_it).filter_map(|it| it["rules"].as_array());
    found.flatten().cloned().collect()
}

/// The rules of the templates, by what asks for them.
fn rights() -> Value {
    const NAME: &str = "kubectl-storage-watch";
    let of_cluster = |policy: &str| rules(&printed(policy, &[]), NAME, None);
    let bare = of_cluster("");
    let added_by = |policy: &str| -> Vec<Value> {
        let all = of_cluster(policy);
        assert!(bare.iter().all(|it| all.contains(it)), "{policy}: a rule was merged with another");
        all.into_iter().filter(|it| !bare.contains(it)).collect()
    };
    let reconcilers = ["rescue", "retention", "finalizers", "reclaim"].map(|name| {
        let all = printed("leaderElection: {}", &["--act", name]);
        let of = format!("{NAME}:{name}");
        let mode = match name {
            "reclaim" => "mode: act, olderThan: 30d, grace: 72h",
            _ => "mode: act",
        };
        let acts = |mode: &str| {
            let policy = "leaderElection: {}\nclusterJournal: journals\nreconcilers:";
            printed(&format!("{policy} {{{name}: {{{mode}}}}}"), &[])
        };
        let elsewhere = acts(mode);
        // In the namespace of the journal it is paused too.
        let journal = rules(&elsewhere, &of, Some("journals"));
        assert_eq!(journal, rules(&all, &of, Some("kubectl-storage")), "{name}");
        let reports = acts(&mode.replace("act", "report"));
        let rules_of = json!({
            "cluster": rules(&all, &of, None),
            "journal": journal,
            "pause": rules(&elsewhere, &of, Some("kubectl-storage")),
            "records": rules(&all, &of, Some("kube-system")),
            "report": rules(&reports, &of, Some("journals")),
        });
        (name.to_owned(), rules_of)
    });
    let elected = printed("leaderElection: {}", &[]);
    json!({
        "watch": bare,
        "events": added_by("report: {events: {}}"),
        "openReports": added_by("report: {openReports: {}}"),
        "metrics": added_by("report: {metrics: {address: '0.0.0.0:8443'}}"),
        "records": rules(&elected, &format!("{NAME}-records"), Some("kube-system")),
        "lease": rules(&elected, NAME, Some("kubectl-storage")),
        "reconcilers": Value::Object(reconcilers.into_iter().collect()),
    })
}

#[test]
fn what_the_templates_take_is_what_the_program_has() {
    let written =
        "# Written by `UPDATE=1 cargo test --test it chart` from what `watch print` prints.\n";
    let rights = serde_yaml::to_string(&rights()).expect("because it is JSON");
    expect_file(&root().join(CHART).join("files/rights.yaml"), &format!("{written}{rights}"));
    let alerts = read(&root().join("deploy/alerts.yaml"));
    expect_file(&root().join(CHART).join("files/alerts.yaml"), &alerts);
    // By which the templates know whether somebody has set one.
    let policy = serde_yaml::to_string(&yaml("values.yaml")["policy"]).expect("because it is JSON");
    expect_file(&root().join(CHART).join("files/policy.yaml"), &policy);
    let dashboard = read(&root().join("deploy/components/monitoring/dashboard.json"));
    expect_file(&root().join(CHART).join("files/dashboard.json"), &dashboard);
}

/// The schema of the values. Draft-07: the helm of before 3.18 reads no newer one, and knows nothing of `$defs`.
fn schema() -> Value {
    let policy = SchemaSettings::draft07().into_generator().into_root_schema_for::<WatchPolicy>();
    let mut policy = serde_json::to_value(policy).expect("a schema is JSON");
    let definitions = policy["definitions"].take();
    let fields = policy.as_object_mut().expect("because a schema is an object");
    fields.retain(|key, _| key != "$schema" && key != "definitions");
    let names = json!(["rescue", "retention", "finalizers", "reclaim"]);
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Values of the chart kubectl-storage",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "global": {"type": "object", "description": "Values that charts share; none is used here."},
            "policy": policy,
            "policyFile": {"type": ["string", "null"], "description": "A policy file, in the place of policy."},
            "image": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "repository": {"type": "string", "pattern": "^[!-~]+$"},
                    "tag": {
                        "type": "string",
                        "pattern": "^[!-~]*$",
                        "description": "The tag; that of the version without one.",
                    },
                    "digest": {"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"},
                    "pullPolicy": {"enum": ["", "Always", "IfNotPresent", "Never"]},
                },
            },
            "imagePullSecrets": {"type": "array", "items": {"type": "object"}},
            "replicas": {"type": ["integer", "null"], "minimum": 1, "maximum": 100},
            "act": {"type": "array", "items": {"enum": names}, "uniqueItems": true},
            "monitoring": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "enabled": {"type": "boolean"},
                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                    "clusterLabel": {"type": "string", "pattern": "^[a-zA-Z_][a-zA-Z0-9_]*$"},
                },
            },
            "resources": {"type": "object"},
            "nodeSelector": {"type": "object", "additionalProperties": {"type": "string"}},
            "tolerations": {"type": "array", "items": {"type": "object"}},
            "affinity": {"type": "object"},
            "priorityClassName": {"type": "string", "pattern": "^([a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$"},
        },
        "definitions": definitions,
    })
}

#[test]
fn the_schema_of_values_is_that_of_policies_in_draft_07() {
    let schema = schema();
    assert!(jsonschema::draft7::meta::is_valid(&schema));
    let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    assert!(!text.contains("$defs"), "a word of later drafts");
    expect_file(&root().join(CHART).join("values.schema.json"), &format!("{text}\n"));
    let validator = jsonschema::draft7::new(&schema).expect("the schema is one");
    let wrong = |change: &str| {
        let mut values = yaml("values.yaml");
        let change: Value = serde_yaml::from_str(change).expect("because it is YAML");
        for (key, value) in change.as_object().expect("because it is a mapping") {
            match (values[key].as_object_mut(), value.as_object()) {
                (Some(into), Some(from)) => into.extend(from.clone()),
                _ => values[key] = value.clone(),
            }
        }
        validator.iter_errors(&values).map(|it| it.to_string()).collect::<Vec<_>>()
    };
    for right in [
        "{}",
        "global: {storageClass: fast}",
        "policy: {reconcilers: {rescue: {mode: act}}}",
        "replicas: 1",
        "act: [rescue, reclaim]",
        "policyFile: 'kind: WatchPolicy'",
        "priorityClassName: system-cluster-critical",
        "monitoring: {enabled: true, labels: {release: prometheus}, clusterLabel: k8s_name}",
    ] {
        assert_eq!(wrong(right), [""; 0], "{right}");
    }
    for mistaken in [
        "polcy: {}",
        "policy: {reconcilers: {rescue: {mode: false}}}",
        "policy: {rules: {'false': [pv-failed]}}",
        "policy: {thresholds: {stuk: 2h}}",
        "policyFile: {kind: WatchPolicy}",
        "policy: {clusterJournal: null}",
        "policy: {report: {webhook: null}}",
        "policy: {leaderElection: {name: null}}",
        "policy: {leaderElection: {namespace: a.b}}",
        "priorityClassName: 'a # b'",
        "priorityClassName: \"a\\nhostPID: true\"",
        "image: {tag: a b}",
        "image: {repository: ''}",
        "replicas: 0",
        "act: [rescu]",
        "image: {digest: latest}",
        "monitoring: {enable: true}",
        "monitoring: {clusterLabel: k8s.name}",
    ] {
        assert!(!wrong(mistaken).is_empty(), "{mistaken}");
    }
}

#[test]
fn values_are_what_is_printed_without_a_policy() {
    let values = yaml("values.yaml");
    let ran = Call::new(["watch", "print"]).run();
    let all: Vec<Value> = ran
        .stdout
        .split("\n---\n")
        .map(|it| serde_yaml::from_str(it).expect("because it is YAML"))
        .collect();
    let of = |kind: &str| all.iter().find(|it| it["kind"] == kind).expect("it is printed");
    let policy = of("ConfigMap")["data"]["policy.yaml"].as_str().expect("because it is text");
    let policy: Value = serde_yaml::from_str(policy).expect("because it is YAML");
    assert_eq!(values["policy"], policy);
    let pod = &of("Deployment")["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    assert_eq!(values["resources"], container["resources"]);
    assert_eq!(values["nodeSelector"], pod["nodeSelector"]);
    // Both of its versions are those of the program.
    let versions = regex::Regex::new("(?m)^(version|appVersion): .*$").expect("a pattern");
    let path = root().join(CHART).join("Chart.yaml");
    let text = read(&path);
    assert_eq!(versions.find_iter(&text).count(), 2, "{text}");
    let expected = concat!("$1: ", env!("CARGO_PKG_VERSION"));
    expect_file(&path, &versions.replace_all(&text, expected));
    let chart = yaml("Chart.yaml");
    assert_eq!(chart["home"], env!("CARGO_PKG_REPOSITORY"));
    let text = |value: &Value| value.as_str().expect("because it is text").to_owned();
    let image = format!("{}:v{}", text(&values["image"]["repository"]), text(&chart["appVersion"]));
    assert_eq!(container["image"], image);
}

/// What stands between braces stands for the namespace of the release here.
#[test]
fn commands_of_the_notes_run_as_they_are_shown() {
    let action = regex::Regex::new(r"\{\{.*?\}\}").expect("a pattern");
    let notes = read(&root().join(CHART).join("templates/NOTES.txt"));
    let notes = action.replace_all(&notes, "kubectl-storage").replace('"', "'");
    let program = cli::command("kubectl-storage");
    let lines = notes.lines().filter_map(|it| it.strip_prefix("  kubectl storage "));
    let commands: Vec<_> = lines.map(|it| format!("kubectl storage {it}")).collect();
    assert!(commands.len() > 3, "{commands:?}");
    for command in commands {
        assert_eq!(next_commands::check(&program, &command), Ok(()), "{command}");
    }
}
