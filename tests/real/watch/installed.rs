//! `watch` with what `watch print` prints: accepted by kubectl and an API server, and enough for processes with the token
//! of its service account.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use super::{PAST, Watcher, released, reporting::events};
use crate::support::{Cluster, Options, Run, Scenario, eventually, program};

pub(super) const NAMESPACE: &str = "kubectl-storage";
const ACCOUNT: &str = "kubectl-storage-watch";
/// The user that a process in a pod is.
pub(super) const USER: &str = "system:serviceaccount:kubectl-storage:kubectl-storage-watch";

/// Runs kubectl, and returns all that it said.
pub(super) fn kubectl(args: &[&str], stdin: &str) -> Output {
    let mut child = Command::new(program("kubectl"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("because the testbed has a kubectl");
    let mut pipe = child.stdin.take().expect("because it is piped");
    pipe.write_all(stdin.as_bytes()).expect("because it reads");
    drop(pipe);
    child.wait_with_output().expect("because it was started")
}

/// What it printed, which must be all that it said: no warning either.
#[track_caller]
pub(super) fn quiet(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(super) fn documents(text: &str) -> Vec<Value> {
    let of = |it: &str| serde_yaml::from_str(it).expect("because it is YAML");
    let mut all: Vec<Value> = text.split("\n---\n").map(of).collect();
    all.sort_by_key(|it| {
        let metadata = &it["metadata"];
        format!("{} {} {}", it["kind"], metadata["name"], metadata["namespace"])
    });
    all
}

fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("because the temporary folder is writable");
    for entry in fs::read_dir(from).expect("because it is a folder") {
        let entry = entry.expect("because it was just read").path();
        let to = to.join(entry.file_name().expect("because it is in a folder"));
        if entry.is_dir() {
            copied(&entry, &to);
        } else {
            fs::copy(&entry, &to).expect("because the temporary folder is writable");
        }
    }
}

#[test]
fn kustomize_builds_what_is_printed() {
    let folder = tempfile::tempdir().expect("because the temporary folder is writable");
    copied(&Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy"), folder.path());
    let build = |components: &str| {
        let path = folder.path().join("kustomization.yaml");
        let text = format!("resources: [base]\ncomponents: [{components}]\n");
        fs::write(path, text).expect("because the temporary folder is writable");
        documents(&quiet(&kubectl(&["kustomize", &folder.path().to_string_lossy()], "")))
    };
    let print = |args: &[&str]| documents(&Run::of(&["watch", "print"]).more(args).go().stdout);
    assert_eq!(build(""), print(&[]));
    assert_eq!(build("components/monitoring"), print(&["--monitoring"]));
    assert_eq!(build("components/reclaim"), print(&["--act", "reclaim"]));
    let acting = ["rescue", "retention", "finalizers", "reclaim"];
    let components = acting.map(|it| format!("components/{it}")).join(", ");
    assert_eq!(build(&components), print(&["--act", &acting.join(",")]));
    let patch = fs::read_to_string(folder.path().join("components/webhook/policy.yaml"));
    let patch: Value = serde_yaml::from_str(&patch.expect("it was copied")).expect("it is YAML");
    let policy = folder.path().join("with-webhook.yaml");
    let text = patch["data"]["policy.yaml"].as_str().expect("it has a policy");
    fs::write(&policy, text).expect("because the temporary folder is writable");
    let kustomized = build("components/monitoring, components/webhook");
    assert_eq!(kustomized.len(), print(&["--monitoring"]).len());
    let of = |all: &[Value], kind: &str| all.iter().find(|it| it["kind"] == kind).cloned();
    let printed = print(&["-f", &policy.to_string_lossy()]);
    let policy_of = |all: &[Value]| {
        let is_it = |it: &&Value| it["metadata"]["name"] == "kubectl-storage-watch-policy";
        all.iter().find(is_it).cloned().expect("there is one")
    };
    assert_eq!(policy_of(&kustomized), policy_of(&printed));
    // The order of volumes is kustomize's own.
    let sorted = |all: &[Value]| {
        let mut deployment = of(all, "Deployment").expect("there is one");
        let pod = &mut deployment["spec"]["template"]["spec"];
        for list in ["/volumes", "/containers/0/volumeMounts"] {
            let list = pod.pointer_mut(list).and_then(Value::as_array_mut).expect("it is a list");
            list.sort_by_key(|it| it["name"].to_string());
        }
        deployment
    };
    assert_eq!(sorted(&kustomized), sorted(&printed));
}

/// Applies manifests, with which kubectl and the API server must be content.
#[track_caller]
pub(super) fn apply(cluster: &Cluster, manifests: &str) {
    let admin = format!("--kubeconfig={}", cluster.kubeconfig().display());
    // A dry run needs the namespace.
    let namespace = manifests.split("---\n").next().expect("there is a first");
    quiet(&kubectl(&[&admin, "apply", "--validate=strict", "-f", "-"], namespace));
    for dry in ["--dry-run=server", "--dry-run=none"] {
        quiet(&kubectl(&[&admin, "apply", "--validate=strict", dry, "-f", "-"], manifests));
    }
}

/// A kubeconfig as a process in a pod has it, with the token of the service account.
pub(super) fn in_pod(cluster: &Cluster, folder: &Path) -> PathBuf {
    in_pod_of(cluster, folder, ACCOUNT)
}

/// The same for another service account.
pub(super) fn in_pod_of(cluster: &Cluster, folder: &Path, account: &str) -> PathBuf {
    let token = cluster.kubectl(&["create", "token", "-n", NAMESPACE, account]);
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "pod",
        "clusters": [{"name": "pod", "cluster": {
            "server": cluster.server(), "certificate-authority": cluster.authority(),
        }}],
        "users": [{"name": "pod", "user": {"token": token.trim()}}],
        "contexts": [{"name": "pod", "context": {"cluster": "pod", "user": "pod", "namespace": NAMESPACE}}],
    });
    let kubeconfig = folder.join("kubeconfig");
    fs::write(&kubeconfig, config.to_string()).expect("because the temporary folder is writable");
    kubeconfig
}

/// Asks a process for a path, with a token.
fn get(port: u16, path: &str, token: &str) -> Option<String> {
    let server = format!("--server=https://127.0.0.1:{port}");
    let token = format!("--token={token}");
    let skip = "--insecure-skip-tls-verify=true";
    let output =
        kubectl(&["--kubeconfig=/dev/null", &server, skip, &token, "get", "--raw", path], "");
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn free_port() -> u16 {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("because loopback has free ports");
    free.local_addr().expect("because it is bound").port()
}

/// Of an Event about a volume, by whom it was sent, and how often.
fn events_about(cluster: &Cluster, volume: &str) -> usize {
    let name = volume.trim_start_matches("pv/");
    let all = events(cluster, "default");
    let is_it =
        |it: &&Value| it["regarding"]["name"] == name && it["reason"] == "PvReleasedPastThreshold";
    all.iter().filter(is_it).count()
}

#[test]
#[ignore = "extended suite: the rest of what watch does"]
fn what_is_printed_is_accepted_and_is_enough() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let on = Scenario::on(&cluster);
    let folder = tempfile::tempdir().expect("because the temporary folder is writable");
    let ports = [free_port(), free_port()];
    let paths = ports.map(|port| folder.path().join(format!("{port}.yaml")));
    let policy = format!(
        "apiVersion: storage.kubectl.dev/v1alpha1\nkind: WatchPolicy\nthresholds: {{older-than: 1s}}\n\
         report: {{events: {{severity: info}}, metrics: {{address: '0.0.0.0:{}'}}}}\nleaderElection: {{}}\n",
        ports[0]
    );
    fs::write(&paths[0], &policy).expect("because the temporary folder is writable");
    let printed = Run::of(&["watch", "print", "-f", &paths[0].to_string_lossy()]).go().stdout;
    let admin = format!("--kubeconfig={}", cluster.kubeconfig().display());

    apply(&cluster, &printed);
    // The restrictions are in force: a pod of another kind is refused.
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": NAMESPACE},
        "spec": {"containers": [{"name": "a", "image": "a"}]},
    });
    let refused = kubectl(&[&admin, "create", "-f", "-"], &pod.to_string());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("violates PodSecurity"));
    // The pods of the Deployment are not.
    eventually("both pods are created", || cluster.list(NAMESPACE, "pods").len() == 2);

    // The policy is the one in the cluster; each process has a port of its own here.
    let mounted =
        cluster.get(NAMESPACE, "configmap/kubectl-storage-watch-policy").expect("it is applied");
    let mounted = mounted["data"]["policy.yaml"].as_str().expect("it has the policy").to_owned();
    assert_eq!(mounted, policy);
    let other = mounted.replace(&ports[0].to_string(), &ports[1].to_string());
    fs::write(&paths[1], other).expect("because the temporary folder is writable");
    let kubeconfig = in_pod(&cluster, folder.path());
    cluster.kubectl(&["create", "serviceaccount", "-n", &on.name, "prometheus"]);
    cluster.grant(
        &format!("system:serviceaccount:{}:prometheus", on.name),
        &json!([{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]),
    );
    let prometheus = cluster.kubectl(&["create", "token", "-n", &on.name, "prometheus"]);
    let prometheus = prometheus.trim();
    let leads = |port: u16, so: &str| {
        let line = format!(
            "kubectl_storage_leader{{lease_namespace=\"{NAMESPACE}\",lease=\"kubectl-storage-watch\"}} {so}"
        );
        get(port, "/metrics", prometheus)
            .is_some_and(|it| it.lines().any(|it| it.starts_with(&line)))
    };

    let before = cluster.mark();
    let first = Watcher::by_policy(&kubeconfig, &paths[0]);
    eventually("the first leads", || leads(ports[0], "1"));
    let volume = released(&on, "one");
    first.tells("appeared", PAST, &volume);
    eventually("there is an Event", || events_about(&cluster, &volume) == 1);

    // One stands by, is ready, and takes over when the first ends.
    let second = Watcher::by_policy(&kubeconfig, &paths[1]);
    eventually("the second is ready", || get(ports[1], "/readyz", prometheus).is_some());
    assert!(leads(ports[1], "0"));
    let said = [first.said(), second.said()].concat();
    first.terminate();
    eventually("the second leads", || leads(ports[1], "1"));
    let volume = released(&on, "two");
    eventually("there is an Event", || events_about(&cluster, &volume) == 1);

    // So it does when the one that leads is killed.
    let third = Watcher::by_policy(&kubeconfig, &paths[0]);
    eventually("the third is ready", || get(ports[0], "/readyz", prometheus).is_some());
    let said = [said, second.said()].concat();
    second.kill();
    eventually("the third leads", || leads(ports[0], "1"));
    let volume = released(&on, "three");
    eventually("there is an Event", || events_about(&cluster, &volume) == 1);
    let said = [said, third.said()].concat();
    assert!(!said.contains("not read") && !said.contains("no right"), "{said}");
    third.terminate();

    // All that was asked was allowed, and nothing else was written.
    let mut requests = cluster.requests_since(before);
    requests.retain(|it| it["user"]["username"] == USER);
    let forbidden = requests.iter().find(|it| it["responseStatus"]["code"] == 403);
    assert!(forbidden.is_none(), "{forbidden:#?}");
    let mut events = 0;
    for request in &requests {
        let object = &request["objectRef"];
        let verb = request["verb"].as_str().unwrap_or_default();
        if matches!(verb, "get" | "list" | "watch") {
            continue;
        }
        match (verb, object["resource"].as_str().unwrap_or_default()) {
            ("create" | "patch", "events") => {
                events += 1;
                assert_eq!(object["apiGroup"], "events.k8s.io", "{request:#}");
            }
            ("create" | "update", "leases") => {
                assert_eq!(object["namespace"], NAMESPACE, "{request:#}");
                let name = object["name"]
                    .as_str()
                    .or(request["requestObject"]["metadata"]["name"].as_str());
                assert_eq!(name, Some(ACCOUNT), "{request:#}");
            }
            ("create", "tokenreviews" | "subjectaccessreviews" | "selfsubjectaccessreviews") => {}
            _ => panic!("it wrote: {request:#}"),
        }
    }
    assert!(events >= 3, "{events}");
}
