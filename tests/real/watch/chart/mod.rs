//! The chart: the same objects as `watch print`, refused where that refuses, and what is left when helm has uninstalled it.

mod refused;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::Watcher;
use super::acting::{left, rescued};
use super::installed::{NAMESPACE, documents, in_pod};
use crate::support::{Admin, Cluster, Options, Outcome, Run, Scenario, eventually, program};

const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/chart");
const HEADER: &str = "apiVersion: storage.kubectl.dev/v1alpha1\nkind: WatchPolicy\n";

fn helm(args: &[&str]) -> Run {
    Run::of(args).program(program("helm")).more(&["-n", NAMESPACE])
}

/// What it printed.
#[track_caller]
fn done(outcome: Outcome) -> String {
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    outcome.stdout
}

fn written(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).expect("because the temporary folder is writable");
    path.display().to_string()
}

/// The objects of a release with these arguments, or why there is none.
fn rendered(args: &[&str]) -> Result<Vec<Value>, String> {
    let outcome = helm(&["template", "release", CHART]).more(args).go();
    match outcome.code {
        Some(0) => {
            let all = documents(outcome.stdout.trim_start_matches("---\n"));
            is_sound(&all, args);
            Ok(all)
        }
        _ => Err(outcome.stderr),
    }
}

/// Whatever is rendered has each object once, and its bindings give its own account roles of its own.
fn is_sound(all: &[Value], args: &[&str]) {
    let named = |it: &Value| {
        [&it["kind"], &it["metadata"]["namespace"], &it["metadata"]["name"]].map(Value::clone)
    };
    let mut seen = BTreeSet::new();
    for object in all {
        assert!(
            seen.insert(json!(named(object)).to_string()),
            "{args:?}: twice: {:?}",
            named(object)
        );
    }
    let account = all.iter().find(|it| it["kind"] == "ServiceAccount").expect("there is one");
    let [kind, namespace, name] = named(account);
    let subjects = json!([{"kind": kind, "name": name, "namespace": namespace}]);
    for binding in all.iter().filter(|it| it["subjects"].is_array()) {
        let role = &binding["roleRef"];
        let place = match role["kind"] == "Role" {
            true => &binding["metadata"]["namespace"],
            false => &Value::Null,
        };
        let role = json!([role["kind"], place, role["name"]]).to_string();
        assert!(seen.contains(&role), "{args:?}: binds {role}, which is not its own");
        assert_eq!(binding["subjects"], subjects, "{args:?}");
    }
}

/// The rules of a role as the rights that they give, whatever their order.
fn rights(rules: &Value) -> Value {
    let words = |rule: &Value, key: &str| -> Vec<String> {
        let list = rule[key].as_array().map_or(&[][..], Vec::as_slice);
        list.iter().map(|it| it.as_str().unwrap_or_default().to_owned()).collect()
    };
    let mut rights = BTreeSet::new();
    for rule in rules.as_array().map_or(&[][..], Vec::as_slice) {
        let (groups, names) = (words(rule, "apiGroups"), words(rule, "resourceNames"));
        for (verb, resource) in words(rule, "verbs")
            .iter()
            .flat_map(|verb| words(rule, "resources").into_iter().map(move |it| (verb.clone(), it)))
        {
            rights.insert(format!("{verb} {resource} {groups:?} {names:?}"));
        }
    }
    json!(rights)
}

/// Objects without what is helm's own.
fn comparable(all: Vec<Value>) -> Vec<Value> {
    let mut comparable = Vec::new();
    // Helm needs the namespace before it installs anything, and what it deletes must not take the journal with it.
    for mut object in all.into_iter().filter(|it| it["kind"] != "Namespace") {
        if let Some(labels) = object["metadata"]["labels"].as_object_mut() {
            labels.retain(|key, _| key != "helm.sh/chart" && key != "app.kubernetes.io/managed-by");
        }
        if object["rules"].is_array() {
            object["rules"] = rights(&object["rules"]);
        }
        if let Some(text) = object["data"]["policy.yaml"].as_str() {
            object["data"]["policy.yaml"] = serde_yaml::from_str(text).expect("it is YAML");
        }
        // By this helm restarts pods where no policy is in force without.
        if let Some(pod) = object.pointer_mut("/spec/template/metadata")
            && let Some(fields) = pod.as_object_mut()
        {
            fields.remove("annotations");
        }
        comparable.push(object);
    }
    comparable
}

/// A policy as values that give just this policy, whatever the chart's own has.
fn as_values(policy: &str) -> String {
    let mut policy: Value = serde_yaml::from_str(policy).expect("because it is YAML");
    let fields = policy.as_object_mut().expect("because it is a mapping");
    fields.entry("leaderElection").or_insert(Value::Null);
    let report = fields.entry("report").or_insert(Value::Null);
    for key in ["events", "metrics", "probes"] {
        if let Some(report) = report.as_object_mut() {
            report.entry(key).or_insert(Value::Null);
        }
    }
    json!({"policy": policy}).to_string()
}

#[test]
#[ignore = "extended suite: tools of others"]
fn helm_renders_what_is_printed() {
    let folder = tempfile::tempdir().expect("because the temporary folder is writable");
    let print = |args: &[&str]| documents(&done(Run::of(&["watch", "print"]).more(args).go()));
    let render = |args: &[&str]| rendered(args).unwrap_or_else(|error| panic!("{args:?}: {error}"));
    let same = |values: &[&str], args: &[&str]| {
        assert_eq!(comparable(render(values)), comparable(print(args)), "{values:?}");
    };
    same(&[], &[]);
    same(&["--set", "monitoring.enabled=true"], &["--monitoring"]);
    same(
        &["--set", "monitoring.enabled=true,monitoring.clusterLabel=k8s_name"],
        &["--monitoring", "--cluster-label", "k8s_name"],
    );
    same(
        &["--set", "replicas=3,image.tag=next"],
        &["--replicas", "3", "--image", "ghcr.io/kubectl-storage/kubectl-storage:next"],
    );
    let all = "rescue,retention,finalizers,reclaim";
    same(&["--set", &format!("act={{{all}}}")], &["--act", all]);

    // The whole example of the page, and what decides about roles, ports, mounts and replicas.
    let page = fs::read_to_string(Path::new(CHART).join("../../docs/watch.md")).expect("a page");
    let example = page.split("Full example:\n\n```yaml\n").nth(1).expect("there is one");
    let example = example.split("```").next().expect("because there is a first part");
    let act = "leaderElection: {name: kubectl-storage-watch-shop}\nreconcilers: {rescue: {mode: act}, retention: \
               {mode: act}, finalizers: {mode: act}, reclaim: {mode: act, olderThan: 30d, grace: 72h}}\n";
    for rest in [
        "",
        "report: {metrics: {address: '127.0.0.1:9000'}}\n",
        "report: {metrics: {address: '[::]:9000'}}\n",
        "report: {metrics: {address: '[::ffff:127.0.0.1]:9000'}}\n",
        "report: {metrics: {address: '[0:0::ffff:7f00:1]:9000'}}\n",
        "report: {metrics: {address: '0.0.0.0:0200'}}\n",
        "report: {probes: {address: '0.0.0.0:9000'}}\n",
        "report: {events: {severity: low}, webhook: {urlFile: /etc/hook/address}}\n",
        "report: {openReports: {severity: medium}}\n",
        "report: {metrics: {address: '0.0.0.0:9000', tls: {certFile: /etc/tls/c, keyFile: /etc/tls/k}}}\n",
        "leaderElection: {namespace: leases}\nreconcilers: {finalizers: {mode: report}, rescue: {mode: 'off'}}\n",
        act,
        &format!("{act}clusterJournal: journals\n"),
        &format!("{act}clusterJournal: kube-system\n"),
        &format!("{act}clusterJournal: {NAMESPACE}\n"),
        example.strip_prefix(HEADER).expect("because a policy begins so"),
    ] {
        let policy = format!("{HEADER}{rest}");
        let file = written(folder.path(), "policy.yaml", &policy);
        let values = written(folder.path(), "values.yaml", &as_values(&policy));
        same(&["--set-file", &format!("policyFile={file}")], &["-f", &file]);
        same(&["-f", &values], &["-f", &file]);
    }
    // One that may act, and only reports, has one Role.
    for journal in ["", "clusterJournal: journals\n", "clusterJournal: kube-system\n"] {
        let policy = format!(
            "{HEADER}leaderElection: {{}}\n{journal}reconcilers: {{finalizers: {{mode: report}}}}\n"
        );
        let file = written(folder.path(), "policy.yaml", &policy);
        let values = ["--set-file", &format!("policyFile={file}"), "--set", "act={finalizers}"];
        same(&values, &["-f", &file, "--act", "finalizers"]);
    }
    // A file is kept as it is written.
    let text = format!("{HEADER}# off, é \t\nrules: {{off: [pv-failed]}}\n\n");
    let file = written(folder.path(), "policy.yaml", &text);
    let all = render(&["--set-file", &format!("policyFile={file}")]);
    let kept = all.iter().find(|it| it["kind"] == "ConfigMap").expect("there is one");
    assert_eq!(kept["data"]["policy.yaml"], text);
}

#[test]
#[ignore = "extended suite: tools of others"]
fn helm_renders_what_people_set() {
    let folder = tempfile::tempdir().expect("because the temporary folder is writable");
    let values = json!({
        "image": {"digest": format!("sha256:{}", "0".repeat(64)), "pullPolicy": "Always"},
        "imagePullSecrets": [{"name": "registry"}],
        "resources": {"limits": {"memory": "1Gi"}},
        "nodeSelector": {"pool": "infra"},
        "tolerations": [{"key": "infra", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "priorityClassName": "system-cluster-critical",
        "monitoring": {"enabled": true, "labels": {"release": "prometheus"}},
        "global": {"storageClass": "fast"},
    });
    let file = written(folder.path(), "values.json", &values.to_string());
    let all = rendered(&["-f", &file]).expect("these are values");
    let of = |kind: &str| all.iter().find(|it| it["kind"] == kind).expect("it is rendered");
    let pod = &of("Deployment")["spec"]["template"]["spec"];
    for key in ["imagePullSecrets", "tolerations", "affinity", "priorityClassName"] {
        assert_eq!(pod[key], values[key], "{key}");
    }
    // Mappings are merged into the chart's.
    assert_eq!(pod["nodeSelector"], json!({"kubernetes.io/os": "linux", "pool": "infra"}));
    let container = &pod["containers"][0];
    assert_eq!(container["resources"]["limits"], json!({"cpu": "1", "memory": "1Gi"}));
    assert_eq!(container["imagePullPolicy"], "Always");
    let image = container["image"].as_str().expect("because it is text");
    assert!(image.contains("/kubectl-storage@sha256:0"), "{image}");
    for kind in ["ServiceMonitor", "PrometheusRule"] {
        assert_eq!(of(kind)["metadata"]["labels"]["release"], "prometheus", "{kind}");
    }
    // Without quotes it would be a number.
    let all = rendered(&["-n", "123"]).expect("it is a namespace");
    let places =
        all.iter().flat_map(|it| [&it["metadata"]["namespace"], &it["subjects"][0]["namespace"]]);
    let places: BTreeSet<_> = places.map(Value::to_string).collect();
    assert_eq!(places.iter().collect::<Vec<_>>(), ["\"123\"", "\"kube-system\"", "null"]);
    let said = done(helm(&["lint", "--strict", CHART, "-f", &file]).go());
    assert!(said.contains("1 chart(s) linted, 0 chart(s) failed"), "{said}");
}

/// What the program recorded in a namespace.
fn records(cluster: &Cluster, namespace: &str) -> Vec<Value> {
    let all = cluster.list(namespace, "configmaps").into_iter();
    let is_record = |it: &Value| {
        let name = it["metadata"]["name"].as_str().unwrap_or_default();
        name.starts_with("kubectl-storage-") && name != "kubectl-storage-watch-policy"
    };
    all.filter(is_record)
        .map(|it| json!([it["metadata"]["name"], it["metadata"]["uid"], it["data"]]))
        .collect()
}

#[test]
#[ignore = "extended suite: tools of others"]
fn what_was_recorded_outlives_an_installation() {
    let cluster = Cluster::start(Options::COMPLETE);
    let on = Scenario::on(&cluster);
    let admin = Admin::of(&on);
    let folder = tempfile::tempdir().expect("because the temporary folder is writable");
    let release = |args: &[&str]| done(helm(args).kubeconfig(cluster.kubeconfig()).go());
    let deployment =
        || cluster.get(NAMESPACE, "deployment/kubectl-storage-watch").expect("it is there");
    let policy = || {
        let map = cluster.get(NAMESPACE, "configmap/kubectl-storage-watch-policy");
        map.expect("it is there")["data"]["policy.yaml"].as_str().expect("it is text").to_owned()
    };

    let said = release(&["install", "storage", CHART, "--create-namespace", "--wait"]);
    assert!(said.contains("helm uninstall storage") && !said.contains("watch resume"), "{said}");
    assert_eq!(deployment()["status"]["readyReplicas"], 2);
    let first = deployment()["metadata"]["generation"].clone();

    // What takes effect by itself restarts no pod.
    release(&["upgrade", "storage", CHART, "--set", "policy.report.events.severity=low"]);
    assert!(policy().contains("severity: low"), "{}", policy());
    assert_eq!(deployment()["metadata"]["generation"], first);
    let values = json!({"policy": {
        "report": {"metrics": Value::Null, "probes": Value::Null},
        "bounds": {"unchangedJudgements": 2, "judgementInterval": "1s"},
        "reconcilers": {"rescue": {"mode": "act"}},
    }});
    let values = written(folder.path(), "values.json", &values.to_string());
    let said = release(&["upgrade", "storage", CHART, "-f", &values]);
    assert!(said.contains("act, unless they are paused: rescue"), "{said}");
    assert_ne!(deployment()["metadata"]["generation"], first, "it listens elsewhere");

    // The process has the rights of the chart, and the policy that it put into the cluster.
    let kubeconfig = in_pod(&cluster, folder.path());
    let file = written(folder.path(), "policy.yaml", &policy());
    let watcher = Watcher::in_pod("pod", &kubeconfig, Path::new(&file), &[]);
    let resume = Run::of(&["watch", "resume", "-n", NAMESPACE]);
    done(resume.kubeconfig(cluster.kubeconfig()).go());
    let driver = cluster.driver();
    rescued(&on, &driver.class_delete);
    let said = watcher.said();
    watcher.terminate();
    assert!(!said.contains("not read") && !said.contains("no right"), "{said}");
    let kept = left(&on, "kept");
    // Until it has been Released for long enough, it is refused.
    let object = format!("pv/{kept}");
    let keep = ["gc", &object, "--older-than", "1s", "--keep-backend", "--yes"];
    eventually("its object is deleted", || {
        admin.by(cluster.kubeconfig(), &keep).go().code == Some(0)
    });

    let recorded = || [NAMESPACE, "kube-system"].map(|it| records(&cluster, it));
    let before = recorded();
    let has = |name: &str| {
        before.iter().flatten().any(|it| it[0].as_str().is_some_and(|it| it.starts_with(name)))
    };
    for name in
        ["kubectl-storage-journal-", "kubectl-storage-kept-backends", "kubectl-storage-watch"]
    {
        assert!(has(name), "{name}: {before:#?}");
    }
    let made = documents(release(&["get", "manifest", "storage"]).trim_start_matches("---\n"));
    let live = |it: &Value| {
        let metadata = &it["metadata"];
        let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
        let object = format!("{}/{}", text(&it["kind"]).to_lowercase(), text(&metadata["name"]));
        cluster.get(&text(&metadata["namespace"]), &object)
    };
    assert!(made.len() > 10 && made.iter().all(|it| live(it).is_some()), "{made:#?}");
    release(&["uninstall", "storage", "--wait"]);
    let left: Vec<_> = made.iter().filter(|it| live(it).is_some()).collect();
    assert_eq!(left, Vec::<&Value>::new());
    assert_eq!(cluster.list(NAMESPACE, "secrets").len(), 0, "helm's own record");
    eventually("its pods are gone", || cluster.list(NAMESPACE, "pods").is_empty());
    assert_eq!(recorded(), before);
    let journal = admin.run(&["journal", &format!("--cluster-journal={NAMESPACE}")]).ends(0);
    assert!(journal.json.to_string().contains("watch-rescue"), "{:#}", journal.json);
    assert!(driver.has(&kept), "the kept backend volume is gone");
    on.audit(&[]).finding("journal-kept-backend", &format!("pv/{kept}"));
}
