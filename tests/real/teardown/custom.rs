//! Workloads that are custom resources: rollouts of Argo, clone sets of `OpenKruise`, by the controllers that people run.

use std::fs::{self, File};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::{container, deployment, lines, mounts, run_unattended};
use crate::support::{Admin, Cluster, Driver, Options, Run, Scenario, claim, eventually, program};

/// A controller on this machine; it ends with the test.
struct Controller(Child);

impl Controller {
    fn start(on: &Scenario, name: &str, args: &[&str]) -> Self {
        let log = on.cluster.kubeconfig().with_file_name(format!("{name}.log"));
        let started = Command::new(program(name))
            .args(args)
            .arg(format!("--kubeconfig={}", on.cluster.kubeconfig().display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(log).expect("because the folder of the cluster is writable"))
            .spawn();
        Self(started.expect("because the testbed has it"))
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn template(app: &str, claim: &str) -> Value {
    json!({
        "metadata": {"labels": {"app": app}},
        "spec": {"containers": container(), "volumes": mounts(claim)},
    })
}

fn rollout(name: &str, rest: &Value) -> Value {
    let mut rollout = json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": name},
        "spec": {"replicas": 2, "strategy": {"canary": {}}, "selector": {"matchLabels": {"app": name}}},
    });
    let spec = rollout["spec"].as_object_mut().expect("because it is an object");
    spec.extend(rest.as_object().expect("because it is an object").clone());
    rollout
}

/// A `CloneSet` whose pods share one claim, and have one of their own each, which its controller deletes with the pod.
fn clone_set(name: &str, driver: &Driver) -> Value {
    let own =
        json!({"metadata": {"name": "data"}, "spec": claim("data", &driver.class_delete)["spec"]});
    json!({
        "apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet", "metadata": {"name": name},
        "spec": {
            "replicas": 2, "selector": {"matchLabels": {"app": name}}, "volumeClaimTemplates": [own],
            "template": {"metadata": {"labels": {"app": name}}, "spec": {
                "containers": [{"name": "main", "image": "none", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}],
                "volumes": [{"name": "common", "persistentVolumeClaim": {"claimName": name}}],
            }},
        },
    })
}

/// Serves both kinds, with their controllers.
fn controllers(on: &Scenario) -> [Controller; 2] {
    for folder in ["rollouts", "cloneset"] {
        // kubectl does not follow a link to a folder.
        let folder = fs::canonicalize(program(&format!("../share/{folder}-crds")));
        let folder = folder.expect("because the testbed has it").display().to_string();
        on.cluster.kubectl(&["apply", "--server-side", "-f", &folder]);
    }
    eventually("all kinds are served", || {
        let all = on.cluster.list("", "customresourcedefinitions");
        all.iter()
            .all(|it| it["status"]["conditions"].to_string().contains("\"InitialNamesAccepted\""))
    });
    // Their servers would listen on every address: without a port they do not.
    let silent = ["--metricsport=-1", "--healthzPort=-1", "--leader-elect=false"];
    [
        Controller::start(on, "rollouts-controller", &silent),
        Controller::start(on, "testbed-cloneset", &[]),
    ]
}

fn run(on: &Scenario, pods: usize) {
    eventually("everything runs", || {
        let all = on.cluster.list(&on.name, "pods");
        all.len() == pods && all.iter().all(|it| it["status"]["phase"] == "Running")
    });
}

/// A Rollout with a template, one that refers to a Deployment, and a `CloneSet` are stopped and torn down; a set at 0 is
/// what `undo` starts again when a run ends before that.
#[test]
#[ignore = "extended suite: controllers of custom resources"]
fn custom_workloads_are_stopped_and_started() {
    let cluster = Cluster::start(Options::COMPLETE);
    let on = Scenario::on(&cluster);
    let driver = cluster.driver_without_attachments();
    let _controllers = controllers(&on);
    for name in ["web", "moved", "pool"] {
        on.create(&claim(name, &driver.class_delete));
    }
    on.create(&rollout("web", &json!({"template": template("web", "web")})));
    let mut moved = deployment("moved", "moved");
    moved["spec"]["replicas"] = json!(0);
    on.create(&moved);
    let refers = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "moved"});
    on.create(&rollout("moved", &json!({"workloadRef": refers})));
    on.create(&clone_set("pool", driver));
    run(&on, 6);
    let claims = on.cluster.list(&on.name, "persistentvolumeclaims");
    assert_eq!(claims.len(), 5);
    let handles: Vec<_> = claims
        .iter()
        .map(|it| {
            on.handle(&on.bound(it["metadata"]["name"].as_str().expect("because it has one")))
        })
        .collect();
    let admin = Admin::of(&on);
    let exclusive = format!("--backend-exclusive={}", driver.name);

    // What uses nothing but claims that are left out is not stopped; what uses others, too, blocks.
    let dry = |spared: &str| {
        let spared = format!("--except=pvc/{}/{spared}", on.name);
        admin.run(&["teardown", "--dry-run", "-n", &on.name, &exclusive, &spared])
    };
    let told = dry("moved").ends(0);
    let stopped = told.listed("stopped").iter().map(|it| it["object"]["kind"].clone());
    assert_eq!(stopped.collect::<Vec<_>>(), ["Rollout", "CloneSet"], "{:#}", told.json);
    let told = dry("pool").ends(5);
    let obstacles = told.json["obstacles"].to_string();
    assert!(obstacles.contains("it also uses 1 claim that the teardown leaves out"), "{obstacles}");

    // The printed role is enough.
    let role = Run::of(&["rbac", "teardown"]).go().stdout;
    cluster.try_kubectl(&["apply", "-f", "-"], &role).expect("it is a ClusterRole");
    let limited = Admin::named(&on, "limited", &[]);
    let user = format!("--user={}", limited.name);
    let role = "--clusterrole=kubectl-storage-teardown";
    cluster.kubectl(&["create", "clusterrolebinding", "limited", role, &user]);
    let told = limited.run(&[
        "teardown",
        "--dry-run=server",
        "--destroy-data",
        "-n",
        &on.name,
        &exclusive,
    ]);
    assert_eq!(told.ends(0).listed("obstacles"), [Value::Null; 0]);

    // A run that ends early: a pod does not go.
    let held = on.cluster.list(&on.name, "pods");
    let held = held.iter().find(|it| it["metadata"]["labels"]["app"] == "web");
    let held =
        held.expect("because it runs")["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    on.patch(&format!("pod/{held}"), &json!({"metadata": {"finalizers": ["example.com/hold"]}}));
    let args = ["--destroy-data", "-n", &on.name, &exclusive, "--max=5", "--timeout=20s"];
    let told = run_unattended(&admin, &args).ends(6).says(&["stopped: rollout/", "undo"]);
    assert!(handles.iter().any(|it| driver.has(it)), "{:#}", told.json);
    assert_eq!(on.read("rollout/web")["spec"]["replicas"], 0);
    let undo = |name: &str| {
        let journal = admin.run(&["journal"]);
        let entries = journal.json["journals"][0]["entries"].as_array().cloned();
        let stops = |it: &&Value| it["action"] == "scale-workload" && it["object"]["name"] == name;
        let entries = entries.unwrap_or_default();
        let number = entries.iter().rev().find(stops).map(|it| it["name"].clone());
        let number = number.unwrap_or_else(|| panic!("{:#}", journal.json));
        admin.run(&["undo", number.as_str().expect("because an entry has a name"), "--yes"])
    };
    undo("web").ends(0);
    // The others have lost their claims: they would run with new, empty ones.
    for (name, why) in [("pool", "0 of its 2 claims exist"), ("moved", "does not exist")] {
        let told = undo(name).ends(5);
        assert!(told.json.to_string().contains(why), "{why}: {:#}", told.json);
    }
    let back = on.read("rollout/web");
    assert_eq!(
        (
            &back["spec"]["replicas"],
            &back["metadata"]["annotations"]["storage.kubectl.dev/stopped-from"]
        ),
        (&json!(2), &Value::Null)
    );
    on.patch(&format!("pod/{held}"), &json!({"metadata": {"finalizers": null}}));

    // Run again to its end.
    let mark = on.cluster.mark();
    let told = run_unattended(&admin, &args[..args.len() - 1]).ends(0);
    let destroyed = told.listed("volumes").iter().filter(|it| it["outcome"] == "destroyed").count();
    assert_eq!(destroyed, 5, "{:#}", told.json);
    assert!(!handles.iter().any(|it| driver.has(it)));
    let sent = lines(&admin.sent(mark));
    assert!(
        !sent.iter().any(|it| it.contains("replicasets") || it.starts_with("delete pods")),
        "{sent:?}"
    );
    eventually("nothing is left", || {
        on.cluster.list(&on.name, "persistentvolumeclaims").is_empty()
    });
}
