//! Backend volumes that are left behind on purpose: the journal and the record in the cluster.

mod faults;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Cluster, Driver, Options, Outcome, PersistentVolume, Report, Run, Scenario};
use crate::support::{claim, eventually};

const RECORD: &str = "cm/kubectl-storage-kept-backends";
const ID: &str = "journal-kept-backend";

/// A volume that Retain keeps, and what it names.
struct Volume {
    name: String,
    object: String,
    uid: String,
    handle: String,
}

/// Volumes of the shared driver whose claims were deleted a while ago.
fn released(on: &Scenario, claims: &[&str]) -> Vec<Volume> {
    let of = |claimed: &&str| {
        on.create(&claim(claimed, &driver().class_retain));
        let name = on.bound(claimed);
        let object = format!("pv/{name}");
        let uid = on.read(&object)["metadata"]["uid"].as_str().expect("it has one").to_owned();
        let handle = on.handle(&name);
        on.delete(&format!("pvc/{claimed}"));
        on.wait_phase(&object, "Released");
        eventually("the claim is gone", || on.get(&format!("pvc/{claimed}")).is_none());
        Volume { name, object, uid, handle }
    };
    let volumes = claims.iter().map(of).collect();
    sleep(Duration::from_secs(3)); // older than a second, by times that have no fractions
    volumes
}

/// A cluster of these scenarios: on the one that all share, no audit may see a write.
static CLUSTER: LazyLock<Cluster> = LazyLock::new(|| Cluster::start(Options::COMPLETE));

fn driver() -> &'static Driver {
    CLUSTER.driver()
}

/// `gc --keep-backend` on volumes, with a home for the journal.
fn keep(home: &Path, kubeconfig: &Path, more: &[&str]) -> Run {
    let args = ["gc", "--keep-backend", "--older-than", "1s", "--yes", "-o", "json"];
    Run::of(&args).more(more).env("XDG_STATE_HOME", home).kubeconfig(kubeconfig)
}

/// An audit of the scenario's volumes on a machine with this home.
fn audit(on: &Scenario, home: &Path, more: &[&str]) -> Report {
    let args = ["audit", "-o", "json", "-n", &on.name];
    let run = Run::of(&args).more(more).env("XDG_STATE_HOME", home);
    run.kubeconfig(on.cluster.kubeconfig()).go().report()
}

/// What the record in a namespace says of a volume.
fn recorded(namespace: &str, volume: &Volume) -> Option<Value> {
    let record = CLUSTER.get(namespace, RECORD)?;
    let values = record["data"].as_object()?.values();
    let mut values = values.map(|it| {
        let text = it.as_str().expect("values are text");
        serde_json::from_str::<Value>(text).expect("every value is JSON")
    });
    values.find(|it| it["handle"] == volume.handle)
}

/// The lines of the one journal in a home.
fn journal(home: &Path) -> Vec<Value> {
    let clusters = fs::read_dir(home.join("kubectl-storage")).expect("something was written down");
    let journals: Vec<PathBuf> = clusters
        .map(|it| it.expect("readable").path().join("journal.jsonl"))
        .filter(|it| it.exists())
        .collect();
    let [journal] = &journals[..] else { panic!("not one journal: {journals:?}") };
    let text = fs::read_to_string(journal).expect("it was just found");
    text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

fn receipt(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", outcome.stdout, outcome.stderr))
}

/// Who recorded what a finding is about.
fn recorder(report: &Report, object: &str) -> String {
    let finding = report.finding(ID, object).expect("info", "report-only");
    let evidence = finding.0["evidence"].as_array().expect("there is evidence");
    let of = evidence.iter().find(|it| it["field"] == "recorded").expect("it says who");
    of["value"].as_str().unwrap_or_default().to_owned()
}

/// What the tool really changed, in order: no dry runs, no reviews, no Events.
fn changes(mut requests: Vec<Value>) -> Vec<Value> {
    requests.retain(|it| {
        let verb = it["verb"].as_str().unwrap_or_default();
        let resource = it["objectRef"]["resource"].as_str().unwrap_or_default();
        let in_query = it["requestURI"].as_str().is_some_and(|uri| uri.contains("dryRun=All"));
        ["create", "patch", "delete"].contains(&verb)
            && ["configmaps", "persistentvolumes"].contains(&resource)
            && !in_query
            && it["requestObject"].get("dryRun").is_none()
    });
    requests.sort_by_key(|it| it["requestReceivedTimestamp"].as_str().map(str::to_owned));
    requests
}

/// Panics unless each of the volumes was deleted after a change of the record.
fn assert_recorded_first(namespace: &str, requests: Vec<Value>, volumes: &[Volume]) {
    let mut changes = changes(requests);
    let of_record = |object: &Value| object["namespace"] == namespace;
    changes.retain(|it| {
        let object = &it["objectRef"];
        let ours = volumes.iter().any(|volume| object["name"] == *volume.name);
        ours || of_record(object)
    });
    let (mut written, mut deleted) = (0, 0);
    for change in &changes {
        let accepted = change["responseStatus"]["code"].as_u64().is_some_and(|it| it < 300);
        if change["objectRef"]["resource"] == "configmaps" {
            written += usize::from(accepted);
        } else {
            assert_eq!(change["verb"], "delete", "{change:#}");
            deleted += 1;
            assert!(deleted <= written, "deleted before it was recorded: {changes:#?}");
        }
    }
    assert_eq!((written, deleted), (volumes.len(), volumes.len()), "{changes:#?}");
}

#[test]
fn kept_backends_are_known_to_every_machine_until_a_volume_names_them_again() {
    let on = Scenario::on(&CLUSTER);
    let volumes = released(&on, &["one", "two"]);
    let [first, second] = &volumes[..] else { panic!("there are two") };
    let (here, there) =
        (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let before = on.cluster.mark();
    let admin = on.cluster.kubeconfig();
    let outcome = keep(here.path(), admin, &["-n", &on.name, "--parallel", "2"]).go();
    assert_eq!(outcome.code, Some(0), "{}{}", outcome.stderr, outcome.stdout);
    assert_recorded_first("kube-system", on.cluster.requests_since(before), &volumes);

    let kept: Vec<_> = journal(here.path()).into_iter().filter(|it| it["keeps"] == true).collect();
    assert_eq!(kept.len(), 2, "{kept:#?}");
    for volume in &volumes {
        assert!(on.get(&volume.object).is_none(), "{} is there", volume.object);
        assert!(driver().has(&volume.handle), "the backend volume is gone");
        let record = recorded("kube-system", volume).expect("it is in the record");
        assert_eq!(record["version"], 1, "{record:#}");
        assert_eq!(record["driver"], driver().name, "{record:#}");
        assert_eq!(record["uid"], *volume.uid, "{record:#}");
        assert_eq!(record["manifest"]["spec"]["csi"]["volumeHandle"], *volume.handle, "{record:#}");
        let entry = kept.iter().find(|it| it["backend"]["handle"] == *volume.handle);
        let entry = entry.expect("it is in the journal");
        assert_eq!(record["entry"], entry["sequence"], "{record:#}");
        assert_eq!(record["run"], entry["run"], "{record:#}");
    }

    for (home, who) in [(&here, "both"), (&there, "cluster")] {
        let report = audit(&on, home.path(), &[]);
        assert_eq!(report.code, Some(0), "{report}");
        for volume in &volumes {
            assert_eq!(recorder(&report, &volume.object), who);
            let finding = report.finding(ID, &volume.object);
            finding.says(&[&volume.handle, &driver().name, "1Gi"]).trusted("single-source");
            assert_eq!(finding.0["object"]["uid"], *volume.uid, "{finding}");
        }
        assert_eq!(report.json["summary"]["leaking"], "0", "{report}");
    }
    let elsewhere = audit(&on, there.path(), &["--record-namespace", &on.name]);
    elsewhere.expect_not(&first.object, ID);

    // A dump knows them too, and nothing of the record that the report does not show.
    let dump = there.path().join("dump.json");
    let file = dump.display().to_string();
    let run = Run::of(&["dump", &file]).env("XDG_STATE_HOME", there.path());
    let outcome = run.kubeconfig(on.cluster.kubeconfig()).go();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let saved = audit(&on, there.path(), &[]);
    let text = fs::read_to_string(&dump).expect("it was saved");
    assert!(text.contains("KeptBackend") && !text.contains("manifest"), "{text}");
    let args = ["audit", "-o", "json", "-n", &on.name, "-f", &file];
    assert_eq!(Run::of(&args).go().report().pairs(), saved.pairs());

    let again = PersistentVolume::csi(&on.named("again"), &driver().name, &first.handle);
    on.create(&again.0);
    for home in [&here, &there] {
        let report = audit(&on, home.path(), &[]);
        report.expect_not(&first.object, ID);
        report.finding(ID, &second.object);
    }
}

/// The rights of somebody who may read what `gc` reads and delete volumes, and knows no `ConfigMap`s.
fn grant_all_but_config_maps(on: &Scenario, user: &str) {
    let core = [
        "persistentvolumes",
        "persistentvolumeclaims",
        "pods",
        "nodes",
        "namespaces",
        "events",
        "replicationcontrollers",
    ];
    let groups = [
        "storage.k8s.io",
        "apps",
        "batch",
        "coordination.k8s.io",
        "autoscaling",
        "snapshot.storage.k8s.io",
        "groupsnapshot.storage.k8s.io",
    ];
    let read = ["get", "list", "watch"];
    on.cluster.grant(
        user,
        &json!([
            {"apiGroups": [""], "resources": core, "verbs": read},
            {"apiGroups": groups, "resources": ["*"], "verbs": read},
            {"apiGroups": [""], "resources": ["persistentvolumes"], "verbs": ["delete"]},
        ]),
    );
}

/// Lets a user do something to `ConfigMap`s of the scenario's namespace.
fn grant_config_maps(on: &Scenario, user: &str, verbs: &[&str]) {
    let name = format!("{user}-{}", verbs.join("-"));
    on.create(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}],
    }));
    on.create(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    }));
}

#[test]
fn nothing_is_deleted_where_the_record_may_not_be_written_unless_the_journal_is_enough() {
    const USER: &str = "user-14";
    let on = Scenario::on(&CLUSTER);
    let volumes = released(&on, &["data"]);
    let volume = &volumes[0];
    grant_all_but_config_maps(&on, USER);
    let kubeconfig = on.cluster.kubeconfig_of(USER);
    let home = tempfile::tempdir().expect("a folder");
    let before = on.cluster.mark();
    let named = [&*volume.name, "--no-events", "--record-namespace", &on.name];
    let refused = |verb: &str| {
        let mut said = String::new();
        // The authorizer learns of new roles a moment later.
        eventually(&format!("it is refused for want of {verb}"), || {
            let outcome = keep(home.path(), &kubeconfig, &named).go();
            said = format!("{}{}", outcome.stdout, outcome.stderr);
            outcome.code == Some(5) && said.contains(&format!("{verb} was refused"))
        });
        assert!(said.contains("--journal-only"), "{said}");
        assert!(said.contains(&format!("configmaps in namespace {}", on.name)), "{said}");
    };
    refused("get");
    grant_config_maps(&on, USER, &["get"]);
    refused("create");
    let nowhere = ["--record-namespace", "no-such-namespace", "--dry-run=server"];
    let outcome = Run::of(&["gc", "--keep-backend", "--older-than", "1s", "-o", "json"])
        .more(&[&named[..2], &nowhere].concat())
        .kubeconfig(on.cluster.kubeconfig())
        .go();
    assert!(outcome.stdout.contains("no-such-namespace"), "{}", outcome.stdout);
    assert_eq!(outcome.code, Some(5), "{}{}", outcome.stdout, outcome.stderr);
    let mut written = changes(on.cluster.requests_since(before));
    written.retain(|it| it["user"]["username"] == USER);
    assert!(written.is_empty(), "{written:#?}");
    assert_eq!(on.read(&volume.object)["status"]["phase"], "Released");
    assert!(on.get(RECORD).is_none());

    let before = on.cluster.mark();
    let outcome = keep(home.path(), &kubeconfig, &[&named[..], &["--journal-only"]].concat()).go();
    assert_eq!(outcome.code, Some(0), "{}{}", outcome.stdout, outcome.stderr);
    let notes = receipt(&outcome)["notes"].to_string();
    assert!(notes.contains("--journal-only"), "{notes}");
    let config_maps = on.cluster.requests_since(before).into_iter();
    // Others write theirs beside it.
    let config_maps = config_maps
        .filter(|it| it["objectRef"]["resource"] == "configmaps" && it["user"]["username"] == USER);
    assert!(
        config_maps.clone().all(|it| it["verb"] == "get"),
        "{:#?}",
        config_maps.collect::<Vec<_>>()
    );
    assert!(on.get(&volume.object).is_none() && driver().has(&volume.handle));
    assert!(on.get(RECORD).is_none());
    assert_eq!(recorder(&audit(&on, home.path(), &[]), &volume.object), "journal");
    let stranger = tempfile::tempdir().expect("a folder");
    audit(&on, stranger.path(), &[]).expect_not(&volume.object, ID);
}

/// All keys are of one object: whoever is slower writes again, and loses nothing of the other's.
#[test]
fn two_runs_at_once_lose_no_key_of_each_other() {
    let on = Scenario::on(&CLUSTER);
    let volumes = released(&on, &["a", "b", "c", "d"]);
    let homes = [tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder")];
    let before = on.cluster.mark();
    let start = |home: &tempfile::TempDir, volumes: &[Volume]| {
        let names: Vec<_> = volumes.iter().map(|it| &*it.name).collect();
        let more = [&names[..], &["--parallel", "2", "--record-namespace", &on.name]].concat();
        keep(home.path(), on.cluster.kubeconfig(), &more).start()
    };
    let running = [start(&homes[0], &volumes[..2]), start(&homes[1], &volumes[2..])];
    for outcome in running.map(crate::support::Running::finish) {
        assert_eq!(outcome.code, Some(0), "{}{}", outcome.stdout, outcome.stderr);
    }
    assert_recorded_first(&on.name, on.cluster.requests_since(before), &volumes);
    for volume in &volumes {
        assert!(recorded(&on.name, volume).is_some(), "{} was lost", volume.name);
        assert!(on.get(&volume.object).is_none() && driver().has(&volume.handle));
    }
}

/// Admission lets the rehearsal of a deletion pass, and not the deletion.
fn forbid_deletion(on: &Scenario, volume: &str) {
    let (policy, probe) = (on.named("keeps"), on.named("probe"));
    let api = "admissionregistration.k8s.io/v1";
    // The probe tells when the API server has taken up the policy.
    let allowed =
        format!("request.name != '{probe}' && (request.name != '{volume}' || request.dryRun)");
    on.create(&PersistentVolume::csi(&probe, "no.csi.example", "probe").0);
    on.cluster.create(&json!({
        "apiVersion": api, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": policy},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["persistentvolumes"],
            }]},
            "validations": [{"expression": allowed, "message": "it is precious"}],
        },
    }));
    on.cluster.create(&json!({
        "apiVersion": api, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": policy},
        "spec": {"policyName": policy, "validationActions": ["Deny"]},
    }));
    eventually("the policy is at work", || {
        let delete = ["delete", "pv", &probe, "--dry-run=server"];
        on.cluster.try_kubectl(&delete, "").is_err()
    });
}

/// The record was written first: it must not say for ever what is not so.
#[test]
fn the_record_of_a_deletion_that_is_not_admitted_is_taken_back() {
    let on = Scenario::on(&CLUSTER);
    let volumes = released(&on, &["precious"]);
    let volume = &volumes[0];
    forbid_deletion(&on, &volume.name);
    let home = tempfile::tempdir().expect("a folder");
    let before = on.cluster.mark();
    let more = [&*volume.name, "--record-namespace", &on.name];
    let outcome = keep(home.path(), on.cluster.kubeconfig(), &more).go();
    assert_eq!(outcome.code, Some(1), "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stdout.contains("it is precious"), "{}", outcome.stdout);
    let mut changes = changes(on.cluster.requests_since(before));
    changes.retain(|it| {
        let object = &it["objectRef"];
        object["name"] == *volume.name || object["namespace"] == *on.name
    });
    let verbs: Vec<_> = changes.iter().filter_map(|it| it["verb"].as_str()).collect();
    assert_eq!(verbs, ["create", "delete", "patch"], "{changes:#?}");
    assert!(recorded(&on.name, volume).is_none(), "it is still recorded");
    assert_eq!(on.read(&volume.object)["status"]["phase"], "Released");
    audit(&on, home.path(), &["--record-namespace", &on.name]).expect_not(&volume.object, ID);
}

/// The record is one object, and objects have a largest size.
#[test]
fn nothing_is_deleted_when_the_record_is_full() {
    const LARGEST: usize = 1 << 20; // bytes of data (`MaxSecretSize`, which is that of ConfigMaps too)
    let on = Scenario::on(&CLUSTER);
    let volumes = released(&on, &["data"]);
    let volume = &volumes[0];
    on.create(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kubectl-storage-kept-backends"},
        "data": {"others": "x".repeat(LARGEST - 100)},
    }));
    let home = tempfile::tempdir().expect("a folder");
    let more = [&*volume.name, "--record-namespace", &on.name];
    let outcome = keep(home.path(), on.cluster.kubeconfig(), &more).go();
    assert_eq!(outcome.code, Some(5), "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.stdout.contains("another namespace"), "{}", outcome.stdout);
    assert_eq!(on.read(&volume.object)["status"]["phase"], "Released");
    // What is in there is none of ours, and that is not the same as nothing.
    let report = audit(&on, home.path(), &["--record-namespace", &on.name]);
    assert_eq!(report.code, Some(4), "{report}");
    assert!(report.gaps().iter().any(|gap| gap["ids"] == json!([ID])), "{report}");
}
