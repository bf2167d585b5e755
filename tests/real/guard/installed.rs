//! Installed, proven, edited by others, repaired, and removed.

use serde_json::{Value, json};

use super::ask::{Asker, Seen};
use super::world::{fill, in_force, install, namespace, tool};
use crate::support::{Cluster, Fault, Options, Outcome, Run, eventually};

const POLICY: &str = "validatingadmissionpolicy";
const BINDING: &str = "validatingadmissionpolicybinding";
const CLAIMS: &str = "kubectl-storage-guard-persistentvolumeclaims";

/// How many objects the guard has in a cluster.
fn count(cluster: &Cluster) -> (usize, usize) {
    let of = |resource: &str| {
        let all = cluster.list("", resource);
        all.iter()
            .filter(|it| {
                it["metadata"]["name"]
                    .as_str()
                    .is_some_and(|it| it.starts_with("kubectl-storage-guard-"))
            })
            .count()
    };
    (of("validatingadmissionpolicies"), of("validatingadmissionpolicybindings"))
}

#[track_caller]
fn ends(outcome: &Outcome, code: i32, words: &[&str]) {
    let all = format!("{}\n{}", outcome.stdout, outcome.stderr);
    assert_eq!(outcome.code, Some(code), "{all}");
    for word in words {
        assert!(all.contains(word), "does not say {word:?}: {all}");
    }
}

/// What was written since, by anybody: no dry runs, no reviews.
pub(super) fn written(cluster: &Cluster, since: crate::support::Mark) -> Vec<String> {
    let events = cluster.events_since(since, "validatingadmissionpolic");
    let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
    let changes = events.iter().filter(|it| {
        let dry = text(&it["requestURI"]).contains("dryRun=All")
            || it["requestObject"]["dryRun"][0] == "All";
        !dry && ["create", "patch", "update", "delete"].contains(&&*text(&it["verb"]))
            && text(&it["userAgent"]).starts_with("kubectl-storage/")
    });
    let line = |it: &Value| {
        let object = &it["objectRef"];
        let name = object["name"].as_str().or(it["requestObject"]["metadata"]["name"].as_str());
        let resource = text(&object["resource"]).replace("validatingadmission", "");
        format!("{} {resource} {}", text(&it["verb"]), name.unwrap_or_default())
    };
    changes.map(line).collect()
}

fn live_cycle(version: &str) {
    let cluster = Cluster::start(Options { version, ..Options::CONTROLLERS });
    namespace(&cluster, "strict", Some("deny"));
    namespace(&cluster, "typo", Some("Deny"));
    let mark = cluster.mark();
    ends(&tool(&cluster, &["guard", "status"]), 1, &["guard: not installed"]);
    let created = format!("create  {POLICY}/{CLAIMS}");
    ends(&tool(&cluster, &["guard", "diff"]), 1, &["not installed", &created]);
    let shown = tool(&cluster, &["guard", "install", "--dry-run"]);
    ends(&shown, 0, &["create  ", "It does not stop"]);
    assert_eq!(shown.stdout.lines().count(), 13, "{}", shown.stdout);
    ends(&tool(&cluster, &["guard", "install", "--dry-run=server"]), 0, &["would accept"]);
    ends(&tool(&cluster, &["guard", "install"]), 5, &["cannot ask for confirmation"]);
    ends(
        &tool(&cluster, &["guard", "install", "--yes", "--break-glass-group=system:masters"]),
        2,
        &["cannot be the break-glass group"],
    );
    ends(&tool(&cluster, &["guard", "uninstall", "--yes"]), 0, &["not installed"]);
    assert_eq!(written(&cluster, mark), [""; 0]);
    assert_eq!(count(&cluster), (0, 0));

    let home = tempfile::tempdir().expect("because the temporary folder is writable");
    let person = ["--as", "ann@example.com", "--as-group", "system:masters"];
    let run = Run::of(&["guard", "install", "--yes"]).more(&person);
    let run = run.kubeconfig(cluster.kubeconfig()).env("XDG_STATE_HOME", home.path());
    let installed = run.go();
    ends(
        &installed,
        0,
        &["created", "in force: ", "namespace typo has storage.kubectl.dev/guard=Deny"],
    );
    assert!(!installed.stderr.contains("NOT in force"), "{}", installed.stderr);
    assert_eq!(count(&cluster), (5, 8));
    let first = written(&cluster, mark);
    assert_eq!(first.len(), 13, "{first:#?}");
    assert!(first[4].contains("policies") && first[5].contains("policybindings"), "{first:#?}");
    let journal = Run::of(&["journal", "-o", "json"]).kubeconfig(cluster.kubeconfig());
    let journal = journal.env("XDG_STATE_HOME", home.path()).go();
    assert!(journal.stdout.contains("create-guard"), "{}", journal.stdout);
    let undo = Run::of(&["undo", "1", "--yes"]).kubeconfig(cluster.kubeconfig());
    ends(&undo.env("XDG_STATE_HOME", home.path()).go(), 5, &["`kubectl storage guard` installs"]);

    // Once more changes nothing, and what is given before is kept.
    let mark = cluster.mark();
    ends(&tool(&cluster, &["guard", "install", "--yes"]), 0, &["nothing is to be changed"]);
    ends(&tool(&cluster, &["guard", "diff"]), 0, &["as it was installed"]);
    assert_eq!(written(&cluster, mark), [""; 0]);
    eventually("the types are checked", || {
        tool(&cluster, &["guard", "status"])
            .stdout
            .contains("types: 5 policies checked, without a warning")
    });
    let status = tool(&cluster, &["guard", "status"]);
    ends(
        &status,
        0,
        &[
            "volumes: warn",
            "policies and bindings: as installed",
            "refuses in namespaces: strict",
            &format!("in force: {CLAIMS}-deny"),
            &format!("in force: {CLAIMS}-warn"),
            "in force: kubectl-storage-guard-persistentvolumes",
            "unknown label: namespace typo",
            "It does not stop",
        ],
    );
    assert!(!status.stdout.contains("not proven"), "{}", status.stdout);
    ends(
        &tool(
            &cluster,
            &["guard", "install", "--yes", "--volumes=deny", "--deny-account=ci/deployer"],
        ),
        0,
        &["changed"],
    );
    ends(&tool(&cluster, &["guard", "install", "--yes"]), 0, &["nothing is to be changed"]);
    ends(
        &tool(&cluster, &["guard", "status"]),
        0,
        &["volumes: deny", "service account ci/deployer"],
    );

    // Somebody edits it.
    let warns = json!({"spec": {"validationActions": ["Warn"]}});
    cluster.patch("", &format!("{BINDING}/{CLAIMS}-deny"), &warns);
    let diff = tool(&cluster, &["guard", "diff"]);
    ends(&diff, 1, &["spec.validationActions", "- [\"Warn\"]", "+ [\"Deny\",\"Audit\"]"]);
    eventually("status says that it is not in force", || {
        tool(&cluster, &["guard", "status"])
            .stdout
            .contains(&format!("NOT in force: {CLAIMS}-deny"))
    });
    ends(&tool(&cluster, &["guard", "status"]), 1, &["changed: ", "guard install"]);
    cluster.delete("", &format!("{BINDING}/kubectl-storage-guard-namespaces-deny"));
    let mark = cluster.mark();
    ends(&tool(&cluster, &["guard", "install", "--yes"]), 0, &["changed", "created", "in force"]);
    assert_eq!(
        written(&cluster, mark),
        [
            format!("patch policybindings {CLAIMS}-deny"),
            "create policybindings kubectl-storage-guard-namespaces-deny".to_owned(),
        ]
    );
    // Labels of others stay.
    let label = json!({"metadata": {"labels": {"team": "storage"}}});
    cluster.patch("", &format!("{POLICY}/{CLAIMS}"), &label);
    ends(&tool(&cluster, &["guard", "diff"]), 0, &[]);

    // An interrupted removal is continued.
    cluster.delete("", &format!("{BINDING}/{CLAIMS}-deny"));
    ends(&tool(&cluster, &["guard", "uninstall"]), 5, &["cannot ask"]);
    let mark = cluster.mark();
    ends(
        &tool(&cluster, &["guard", "uninstall", "--yes"]),
        0,
        &["deleted", "the guard is removed"],
    );
    let removed = written(&cluster, mark);
    assert_eq!(removed.len(), 12, "{removed:#?}");
    assert!(
        removed[6].contains("policybindings") && removed[7].contains("policies"),
        "{removed:#?}"
    );
    assert_eq!(count(&cluster), (0, 0));
    ends(&tool(&cluster, &["guard", "uninstall", "--yes"]), 0, &["not installed"]);
}

#[test]
fn installed_edited_repaired_and_removed_on_1_36() {
    live_cycle("1.36.3");
}

#[test]
#[ignore = "extended suite: Kubernetes 1.32"]
fn installed_edited_repaired_and_removed_on_1_32() {
    live_cycle("1.32.2");
}

/// Objects of somebody else that have a name of the guard are never written.
#[test]
fn what_others_made_is_left_alone() {
    let cluster = Cluster::start(Options::default());
    let theirs = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": CLAIMS},
        "spec": {
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"],
                "resources": ["persistentvolumeclaims"],
            }]},
            "validations": [{"expression": "false", "message": "no"}],
        },
    });
    let before = cluster.create(&theirs);
    let mark = cluster.mark();
    let refused = tool(&cluster, &["guard", "install", "--yes"]);
    ends(&refused, 5, &["never changed by it", &format!("{POLICY}/{CLAIMS}")]);
    ends(&tool(&cluster, &["guard", "uninstall", "--yes"]), 0, &["not made by this tool"]);
    assert_eq!(written(&cluster, mark), [""; 0]);
    let now = cluster.get("", &format!("{POLICY}/{CLAIMS}")).expect("it is there");
    assert_eq!(now["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);
    cluster.delete("", &format!("{POLICY}/{CLAIMS}"));

    // A policy of others that decides about the same is named.
    install(&cluster, &[]);
    let mut other = theirs;
    other["metadata"]["name"] = json!("december");
    other["spec"]["matchConditions"] =
        json!([{"name": "who", "expression": "request.userInfo.username == 'nobody'"}]);
    cluster.create(&other);
    cluster.create(&json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "december"},
        "spec": {"policyName": "december", "validationActions": ["Deny"]},
    }));
    let status = tool(&cluster, &["guard", "status"]);
    assert!(status.stdout.contains("policy of others: december"), "{}", status.stdout);
    // Without controllers nobody checks the types.
    ends(&status, 4, &["not checked yet"]);
}

/// The rights that `rbac guard` prints are enough, and none of storage is among them.
#[test]
fn admission_rights_are_enough() {
    let cluster = Cluster::start(Options::default());
    let role = Run::of(&["rbac", "guard"]).go();
    assert_eq!(role.code, Some(0), "{}", role.stderr);
    for storage in ["persistentvolume", "statefulset", "volumeattachment", "secret", "configmap"] {
        assert!(!role.stdout.contains(storage), "{}", role.stdout);
    }
    cluster.try_kubectl(&["create", "-f", "-"], &role.stdout).expect("it is a ClusterRole");
    let bind = [
        "create",
        "clusterrolebinding",
        "guard",
        "--clusterrole=kubectl-storage-guard",
        "--user=user-1",
    ];
    cluster.kubectl(&bind);
    let kubeconfig = cluster.kubeconfig_of("user-1");
    let run = |args: &[&str]| Run::of(args).kubeconfig(&kubeconfig).go();
    eventually("the rights are known", || run(&["rbac", "guard", "--check"]).code == Some(0));
    ends(&run(&["guard", "install", "--yes"]), 0, &["created", "not proven"]);
    assert_eq!(count(&cluster), (5, 8));
    ends(&run(&["guard", "install", "--yes", "--volumes=deny"]), 0, &["changed"]);
    ends(&run(&["guard", "uninstall", "--yes"]), 0, &["deleted"]);
    assert_eq!(count(&cluster), (0, 0));
    // Somebody without them writes nothing.
    let run = Run::of(&["guard", "install", "--yes"]).kubeconfig(&cluster.kubeconfig_of("user-2"));
    ends(&run.go(), 1, &["validatingadmissionpolicies"]);
    assert_eq!(count(&cluster), (0, 0));
}

/// An API server that is too old.
#[test]
fn an_api_server_without_the_api_is_told() {
    let cluster = Cluster::start(Options::default());
    let proxy = cluster.proxy();
    proxy.fault(Fault::status(404).on("GET", "/apis/admissionregistration.k8s.io/v1/.*"));
    for command in
        [&["guard", "install", "--yes"][..], &["guard", "status"], &["guard", "uninstall", "--yes"]]
    {
        let outcome = Run::of(command).through(&proxy).go();
        ends(&outcome, 5, &["(v1.", ") does not serve ValidatingAdmissionPolicy", "since 1.30"]);
    }
    assert_eq!(count(&cluster), (0, 0));
}

/// A run that is killed in the middle is continued by the next.
#[test]
fn an_interrupted_installation_is_continued() {
    let cluster = Cluster::start(Options::default());
    let proxy = cluster.proxy();
    let path = ".*/validatingadmissionpolicybindings";
    proxy.fault(Fault::status(503).on("POST", path).query("^fieldManager=kubectl-storage$"));
    let person = ["--as", "ann@example.com", "--as-group", "system:masters"];
    let run = Run::of(&["guard", "install", "--yes"]).more(&person).through(&proxy);
    ends(&run.go(), 6, &["5 of 13 changes were made", "unanswered"]);
    assert_eq!(count(&cluster), (5, 0));
    namespace(&cluster, "strict", Some("deny"));
    fill(&cluster, "strict");
    install(&cluster, &[]);
    assert_eq!(count(&cluster), (5, 8));
    in_force(&Asker::of(&cluster), "strict", Seen::Refused);
}
