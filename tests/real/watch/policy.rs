//! `watch`: what a policy file has told, and what becomes of it when the file changes.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{PAST, Watcher, bind, released};
use crate::support::{Cluster, Options, Run, Scenario, eventually, never};

/// A folder in which a policy is mounted as a kubelet mounts a `ConfigMap`.
struct Mounted {
    folder: tempfile::TempDir,
    generation: usize,
}

impl Mounted {
    fn new(policy: &str) -> Self {
        let folder = tempfile::tempdir().expect("because the temporary folder is writable");
        let mut mounted = Self { folder, generation: 0 };
        mounted.replace(policy);
        symlink("..data/policy.yaml", mounted.path()).expect("because the folder is writable");
        mounted
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("policy.yaml")
    }

    /// Moves `..data` to a new folder (`atomic_writer.go`, `AtomicWriter.Write`).
    fn replace(&mut self, policy: &str) {
        self.generation += 1;
        let at = |name: &str| self.folder.path().join(name);
        let data = format!("..2026_{}", self.generation);
        fs::create_dir(at(&data)).expect("because the folder is writable");
        fs::write(at(&data).join("policy.yaml"), policy).expect("because the folder is writable");
        symlink(&data, at("..data_tmp")).expect("because the folder is writable");
        fs::rename(at("..data_tmp"), at("..data")).expect("because the folder is writable");
    }
}

/// A policy for a namespace in which everything that is Released is reported.
fn policy(namespace: &str, rest: &str) -> String {
    format!(
        "apiVersion: storage.kubectl.dev/v1alpha1\nkind: WatchPolicy\n\
         thresholds: {{older-than: 1s}}\nscope: {{namespaces: [{namespace}]}}\n{rest}\n"
    )
}

fn check(policy: &Path) -> Run {
    Run::of(&["watch", "--check", "-f", &policy.to_string_lossy()])
}

#[test]
#[ignore = "extended suite: the rest of what watch does"]
fn a_policy_that_changes_is_in_force_and_a_bad_one_is_not() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let on = Scenario::on(&cluster);
    let before = cluster.mark();
    let (first, other) = (released(&on, "first"), released(&on, "other"));
    let mut mounted = Mounted::new(&policy(&on.name, ""));
    let watcher = Watcher::by_policy(cluster.kubeconfig(), &mounted.path());
    watcher.tells("appeared", PAST, &first);
    watcher.tells("appeared", PAST, &other);
    watcher.says("watching");

    // What is turned off is left out.
    mounted.replace(&policy(&on.name, &format!("rules: {{off: [{PAST}]}}")));
    watcher.tells("cleared", PAST, &first);
    watcher.tells("cleared", PAST, &other);
    let cleared: Vec<_> =
        watcher.events().into_iter().filter(|it| it["event"] == "cleared").collect();
    assert!(cleared.iter().all(|it| it["leftOut"] == true), "{cleared:?}");
    watcher.says("a new policy is in force");

    // A bad one is refused with everything that is wrong with it, and the old one stays.
    mounted.replace(&policy(&on.name, "rule: {}\nreport: {events: {severity: loud}}"));
    watcher.says("policy.yaml:5:1: unknown key \\\"rule\\\"; did you mean \\\"rules\\\"?");
    watcher.says("policy.yaml:6:29: unknown value \\\"loud\\\"");
    watcher.says("the policy in force stays");
    let third = released(&on, "third");
    never("a refused policy is in force", Duration::from_secs(8), || {
        watcher.count("appeared", PAST, &third) > 0
    });

    // Nor does it end when there is no file; and an exemption is about one object.
    fs::remove_file(mounted.path()).expect("because it is there");
    watcher.says("No such file");
    let exempted = format!("exemptions: [{{rule: {PAST}, object: {first}, reason: it is kept}}]");
    mounted.replace(&policy(&on.name, &exempted));
    symlink("..data/policy.yaml", mounted.path()).expect("because it was removed");
    watcher.tells("appeared", PAST, &third);
    assert_eq!(watcher.count("appeared", PAST, &other), 2);
    assert_eq!(watcher.count("appeared", PAST, &first), 1);

    // Those of other namespaces were never told.
    let foreign = |it: &&serde_json::Value| it["object"]["name"].to_string().contains(&on.name);
    assert!(watcher.events().iter().all(|it| foreign(&it)), "{:?}", watcher.events());
    assert!(!watcher.said().contains("defect"), "{}", watcher.said());
    watcher.terminate();
    cluster.assert_no_write(before);
}

#[test]
fn check_says_what_would_be_reported_and_refuses_what_cannot_be() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let on = Scenario::on(&cluster);
    released(&on, "first");
    let before = cluster.mark();
    let mounted = Mounted::new(&policy(&on.name, ""));
    // It is told when it is older than a second.
    eventually("it is a finding", || {
        check(&mounted.path()).kubeconfig(cluster.kubeconfig()).go().stdout.contains(PAST)
    });
    let run = check(&mounted.path()).kubeconfig(cluster.kubeconfig()).go();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let row: Vec<_> = run.stdout.lines().map(|it| it.split_whitespace().collect()).collect();
    let row: Option<&Vec<_>> = row.iter().find(|it: &&Vec<&str>| it.get(1) == Some(&PAST));
    assert_eq!(row.map(|it| it[2..].join(" ")), Some("1 nowhere".to_owned()), "{}", run.stdout);
    assert!(run.stderr.contains("policy.yaml: valid; 1 finding now"), "{}", run.stderr);
    assert!(run.stderr.contains("note: the policy reports nowhere"), "{}", run.stderr);

    // A namespace that does not exist, which may have been another, and a selector in vain.
    let near = format!("{}x", on.name);
    let mounted = Mounted::new(&policy(&near, ""));
    let run = check(&mounted.path()).kubeconfig(cluster.kubeconfig()).go();
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    let expected =
        format!("policy.yaml:4:22: namespace {near:?} does not exist; did you mean {:?}?", on.name);
    assert!(run.stderr.contains(&expected), "{}", run.stderr);
    let text = policy(&on.name, "").replace("]}", "], selector: no-such=label}");
    let mounted = Mounted::new(&text);
    let run = check(&mounted.path()).kubeconfig(cluster.kubeconfig()).go();
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(
        run.stderr.contains(": the selector no-such=label selects no object"),
        "{}",
        run.stderr
    );

    // Who may read nothing learns that, and how to.
    let mounted = Mounted::new(&policy(&on.name, ""));
    let run = check(&mounted.path()).kubeconfig(&cluster.kubeconfig_of("user-1")).go();
    assert_eq!(run.code, Some(4), "{}", run.stderr);
    assert!(run.stderr.contains("rbac watch --check"), "{}", run.stderr);
    cluster.assert_no_write(before);
    cluster.assert_no_dry_run(before);
}

#[test]
#[ignore = "extended suite: the rest of what watch does"]
fn a_watch_that_began_before_its_api_server_reports_once_it_is_there() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let on = Scenario::on(&cluster);
    let volume = released(&on, "volume");
    cluster.stop_component("apiserver");
    let mounted = Mounted::new(&policy(&on.name, ""));
    let watcher = Watcher::by_policy(cluster.kubeconfig(), &mounted.path());
    watcher.says("retry_seconds");
    assert_eq!(watcher.events().len(), 0);
    cluster.start_component("apiserver");
    watcher.tells("appeared", PAST, &volume);
    watcher.terminate();
}

#[test]
fn exactly_the_role_that_is_printed_is_enough() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let on = Scenario::on(&cluster);
    let volume = released(&on, "volume");
    let mounted = Mounted::new(&policy(&on.name, ""));
    let path = mounted.path().to_string_lossy().into_owned();
    let role = Run::of(&["rbac", "watch", "-f", &path]).go().stdout;
    cluster.try_kubectl(&["create", "-f", "-"], &role).expect("because it is a role");
    let name = "kubectl-storage-watch";
    bind(&cluster, name, "user-1");
    let user = cluster.kubeconfig_of("user-1");
    let watcher = Watcher::by_policy(&user, &mounted.path());
    watcher.tells("appeared", PAST, &volume);
    watcher.says("watching");
    assert!(!watcher.said().contains("not read"), "{}", watcher.said());
    let lacking = Run::of(&["rbac", "watch", "-f", &path, "--check"]).kubeconfig(&user).go();
    assert_eq!(lacking.code, Some(0), "{} {}", lacking.stdout, lacking.stderr);
    watcher.terminate();
}
