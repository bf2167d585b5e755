//! The `CronJob` that `watch print --dump-cronjob` prints: accepted by kubectl and an API server, and enough for what it runs.

use std::{
    collections::BTreeSet, fs, os::unix::fs::PermissionsExt as _, path::Path, thread::sleep,
    time::Duration,
};

use serde_json::Value;

use super::installed::{NAMESPACE, apply, documents, in_pod_of, kubectl, quiet};
use crate::support::{Cluster, Options, PersistentVolume, Run, Scenario, eventually};

const NAME: &str = "kubectl-storage-dump";

fn print(args: &[&str]) -> String {
    let run = Run::of(&["watch", "print", "--dump-cronjob"]).more(args).go();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.stdout
}

fn cron_job(all: &[Value]) -> &Value {
    all.iter().find(|it| it["kind"] == "CronJob").expect("there is one")
}

fn pod(cron_job: &Value) -> &Value {
    &cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
}

fn files(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).expect("it is a folder").flatten();
    entries.map(|it| it.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
#[ignore = "extended suite: the rest of what watch does"]
fn a_dump_is_saved_and_the_last_ones_are_kept() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let on = Scenario::on(&cluster);
    let name = on.named("kept");
    on.create(&PersistentVolume::csi(&name, "none.example", &name).left_by(&on.name, "gone").0);
    on.wait_phase(&format!("pv/{name}"), "Released");
    let printed = print(&["--to", "pvc/backup/storage", "--keep", "2"]);
    apply(&cluster, &printed);
    // A run of it makes a pod that the namespace takes.
    let from = format!("--from=cronjob/{NAME}");
    cluster.kubectl(&["create", "job", "-n", NAMESPACE, &from, "now"]);
    eventually("its pod is created", || cluster.list(NAMESPACE, "pods").len() == 1);

    // What the container runs, with the token of its service account.
    let all = documents(&printed);
    let container = &pod(cron_job(&all))["containers"][0];
    let folder = tempfile::tempdir().expect("because the temporary folder is writable");
    let dumps = folder.path().join("dumps/storage");
    let words = |field: &str| -> Vec<String> {
        let words = container[field].as_array().into_iter().flatten();
        words.map(|it| it.as_str().expect("it is a text").to_owned()).collect()
    };
    let here = |word: String| word.replace("/dumps/storage", &dumps.display().to_string());
    let typed: Vec<_> =
        words("command").into_iter().skip(1).chain(words("args")).map(here).collect();
    let typed: Vec<_> = typed.iter().map(String::as_str).collect();
    let kubeconfig = in_pod_of(&cluster, folder.path(), NAME);
    let before = cluster.mark();
    let mut seen = Vec::new();
    for _ in 0..3 {
        let run = Run::of(&typed).kubeconfig(&kubeconfig).go();
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(!run.stderr.contains("not read"), "{}", run.stderr);
        seen.push(files(&dumps));
        // Their names differ by the second.
        sleep(Duration::from_millis(1100));
    }
    assert_eq!(seen.iter().map(BTreeSet::len).collect::<Vec<_>>(), [1, 2, 2]);
    assert!(seen[2].is_disjoint(&seen[0]) && !seen[2].is_disjoint(&seen[1]), "{seen:?}");
    let last = dumps.join(seen[2].last().expect("there are two"));
    let mode = fs::metadata(&last).expect("it is a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let audited = Run::of(&["audit", "--older-than", "1s", "-f"]).more(&[&last.to_string_lossy()]);
    let audited = audited.go();
    assert!(audited.stdout.contains(&name), "{}{}", audited.stdout, audited.stderr);

    // All that was asked was allowed, and nothing was written.
    let user = format!("system:serviceaccount:{NAMESPACE}:{NAME}");
    let mut requests = cluster.requests_since(before);
    requests.retain(|it| it["user"]["username"] == user.as_str());
    // Whether other namespaces have records of announcements, it does without.
    requests
        .retain(|it| !it["requestURI"].as_str().is_some_and(|it| it.contains("labelSelector=")));
    assert!(requests.len() > 60, "{}", requests.len());
    for request in &requests {
        assert_ne!(request["responseStatus"]["code"], 403, "{request:#}");
        let asks = request["objectRef"]["resource"] == "subjectaccessreviews";
        let verb = request["verb"].as_str().unwrap_or_default();
        assert!(asks || matches!(verb, "get" | "list"), "{request:#}");
    }
}

/// The claim is printed where none is named, and what the documentation adds to the `CronJob` is accepted.
#[test]
fn an_upload_follows_the_dump() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let printed = print(&[]);
    apply(&cluster, &printed);
    let claim = cluster.get(NAMESPACE, "persistentvolumeclaim/kubectl-storage-dumps");
    assert!(claim.is_some(), "it is printed too");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/dumps.md");
    let page = fs::read_to_string(page).expect("it is ours");
    let (_, rest) = page.split_once("```yaml\n# kustomization.yaml").expect("it shows one");
    let (kustomization, _) = rest.split_once("```").expect("it ends");
    let folder = tempfile::tempdir().expect("because the temporary folder is writable");
    for (name, text) in
        [("dump.yaml", &*printed), ("kustomization.yaml", &*format!("#{kustomization}"))]
    {
        fs::write(folder.path().join(name), text).expect("the folder is writable");
    }
    let built = quiet(&kubectl(&["kustomize", &folder.path().to_string_lossy()], ""));
    let all = documents(&built);
    let pod = pod(cron_job(&all));
    let names = |field: &str| -> Vec<_> {
        pod[field].as_array().into_iter().flatten().map(|it| it["name"].clone()).collect()
    };
    assert_eq!(
        (names("initContainers"), names("containers")),
        (vec!["dump".into()], vec!["upload".into()])
    );
    let admin = format!("--kubeconfig={}", cluster.kubeconfig().display());
    quiet(&kubectl(&[&admin, "apply", "--validate=strict", "--dry-run=server", "-f", "-"], &built));
}
