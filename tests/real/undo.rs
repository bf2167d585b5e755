//! What can be undone, and what is destroyed for good although no volume names it any more (D-35, D-36).
//!
//! The tool writes here: each scenario has a cluster of its own.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use kubectl_storage::journal::{Backend, Intent, Log, Outcome as Ended, SentRequest};
use kubectl_storage::model::{Kind, ObjectKey, ObjectRef, Uid};
use serde_json::{Value, json};

use crate::support::{
    Cluster, Driver, DriverOptions, Mark, Options, Outcome, PersistentVolume, Run, Scenario, claim,
    eventually, host_path_class,
};

/// What is named again, or destroyed, is taken out of the record of what was kept.
const FORGOTTEN: &str = "patch configmaps kubectl-storage-kept-backends 200";

/// A cluster, a driver, and the journal of whoever works with it.
struct Desk<'a> {
    on: Scenario<'a>,
    driver: Driver,
    home: tempfile::TempDir,
}

impl<'a> Desk<'a> {
    fn at(cluster: &'a Cluster) -> Self {
        let driver = cluster.start_driver("disk.csi.example", &DriverOptions::default());
        let home = tempfile::tempdir().expect("because the temporary folder is writable");
        Self { on: Scenario::on(cluster), driver, home }
    }

    fn run(&self, args: &[&str]) -> Run {
        let run = Run::of(args).kubeconfig(self.on.cluster.kubeconfig());
        run.env("XDG_STATE_HOME", self.home.path().as_os_str())
    }

    /// Runs the tool, which must end with this code.
    fn ends(&self, code: i32, args: &[&str]) -> Outcome {
        let ran = self.run(args).go();
        assert_eq!(ran.code, Some(code), "{args:?}:\n{}\n{}", ran.stdout, ran.stderr);
        ran
    }

    /// Runs the tool, which must refuse for this reason, and must have asked for nothing.
    fn refuses(&self, args: &[&str], reason: &str) {
        let before = self.on.cluster.mark();
        let ran = self.ends(5, args);
        let said = flat(&format!("{} {}", ran.stdout, ran.stderr));
        assert!(said.contains(reason), "{args:?} does not say {reason:?}: {said}");
        self.on.cluster.assert_no_write(before);
    }

    /// A volume whose claim is gone, and its handle.
    fn released(&self, claimed: &str) -> (String, String) {
        self.on.create(&claim(claimed, &self.driver.class_retain));
        let name = self.on.bound(claimed);
        let handle = self.on.handle(&name);
        self.on.delete(&format!("pvc/{claimed}"));
        self.on.wait_phase(&format!("pv/{name}"), "Released");
        eventually("the claim is gone", || self.on.get(&format!("pvc/{claimed}")).is_none());
        sleep(Duration::from_secs(2));
        (name, handle)
    }

    /// Drops the object of a Released volume, and returns the entry of the journal.
    fn keep(&self, name: &str) -> String {
        let object = format!("pv/{name}");
        self.ends(0, &["gc", &object, "--older-than", "1s", "--keep-backend", "--yes"]);
        assert!(self.on.get(&object).is_none());
        let last = self.entries().pop().expect("it is written down");
        assert_eq!((&last["action"], &last["outcome"]), (&json!("delete-volume"), &json!("done")));
        last["entry"].to_string()
    }

    fn entries(&self) -> Vec<Value> {
        let said = self.ends(0, &["journal", "-o", "json"]).stdout;
        let said: Value = serde_json::from_str(&said).expect("it is JSON");
        said["journals"][0]["entries"].as_array().cloned().unwrap_or_default()
    }

    /// What the tool had changed since, Events apart: verb, resource, name and the server's answer.
    fn writes(&self, since: Mark) -> Vec<String> {
        let mut lines = Vec::new();
        for event in self.on.cluster.requests_since(since) {
            let verb = event["verb"].as_str().unwrap_or_default();
            let object = &event["objectRef"];
            let resource = object["resource"].as_str().unwrap_or_default();
            let uri = event["requestURI"].as_str().unwrap_or_default();
            let dry = uri.contains("dryRun=All")
                || event["requestObject"]["dryRun"].to_string().contains("All");
            let reads = ["get", "list", "watch"].contains(&verb);
            if reads || dry || resource == "events" || resource.ends_with("accessreviews") {
                continue;
            }
            let body = &event["requestObject"]["metadata"]["name"];
            let name = object["name"].as_str().or(body.as_str()).unwrap_or_default();
            lines.push(format!("{verb} {resource} {name} {}", event["responseStatus"]["code"]));
        }
        lines
    }

    fn folder(&self) -> std::path::PathBuf {
        self.home.path().join("kubectl-storage").join(self.on.cluster.uid())
    }

    /// Takes a bound volume's object away by force, having written down that it was kept.
    fn lose(&self, name: &str, saved: &Value) {
        write_down(&self.folder(), name, saved);
        self.on.terminate(name);
        self.on.patch(&format!("pv/{name}"), &json!({"metadata": {"finalizers": null}}));
        self.on.wait_gone(&format!("pv/{name}"));
    }
}

fn write_down(folder: &Path, name: &str, saved: &Value) {
    let csi = &saved["spec"]["csi"];
    let text = |value: &Value| value.as_str().expect("because it is a CSI volume").to_owned();
    let intent = Intent {
        command: "fix-finalizers".to_owned(),
        object: ObjectRef {
            key: ObjectKey::cluster_wide(Kind::PersistentVolume, name),
            uid: Uid::parse(saved["metadata"]["uid"].as_str().expect("it has a uid")),
        },
        action: "remove-finalizer".to_owned(),
        because: "fix-finalizers".to_owned(),
        request: SentRequest {
            method: "PATCH".to_owned(),
            path: format!("/api/v1/persistentvolumes/{name}"),
            content_type: "application/json-patch+json".to_owned(),
            body: json!([]),
        },
        pre_image: Some(saved.clone()),
        backend: Some(Backend { driver: text(&csi["driver"]), handle: text(&csi["volumeHandle"]) }),
        capacity: Some("1Gi".to_owned()),
        keeps: true,
        adds_finalizer: None,
        removes_finalizer: None,
        undoes: None,
    };
    let log = Log::open(folder).expect("because the folder is ours");
    let entry = log.begin("a-run", None, &intent).expect("because there is room");
    log.end(entry, None, Ended::Done, "it is gone").expect("because there is room");
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_kept_backend_gets_its_volume_back() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let desk = Desk::at(&cluster);
    let (name, handle) = desk.released("data");
    let object = format!("pv/{name}");
    let before = desk.on.read(&object);
    let entry = desk.keep(&name);
    assert!(desk.driver.has(&handle));

    // Nobody there to ask, and no word: nothing happens.
    desk.refuses(&["undo"], "cannot ask for confirmation");
    let mark = cluster.mark();
    desk.ends(0, &["undo", "--dry-run=server"]);
    cluster.assert_no_write(mark);
    let ran = desk.ends(0, &["undo", "--yes"]);
    assert!(flat(&ran.stdout).contains("it is Released"), "{}", ran.stdout);
    let made = format!("create persistentvolumes {name} 201");
    assert_eq!(desk.writes(mark), [&*made, FORGOTTEN]);

    let after = desk.on.read(&object);
    assert_eq!(after["status"]["phase"], "Released");
    assert_eq!(after["spec"]["persistentVolumeReclaimPolicy"], "Retain");
    assert_eq!(after["spec"]["claimRef"]["uid"], before["spec"]["claimRef"]["uid"]);
    assert_eq!(after["spec"]["csi"], before["spec"]["csi"]);
    assert_ne!(after["metadata"]["uid"], before["metadata"]["uid"]);
    assert!(desk.driver.has(&handle) && desk.driver.delete_calls(&handle) == 0);
    let events = cluster.kubectl(&["get", "events", "-A", "-o", "json"]);
    assert!(events.contains("StorageUndone"), "{events}");

    desk.refuses(&["undo", &entry, "--yes"], "it was undone already");
    let ran = desk.ends(0, &["undo", "--yes"]);
    assert!(ran.stderr.contains("no entry of the journal can be undone"), "{}", ran.stderr);
    desk.refuses(&["undo", "99", "--yes"], "the journal has no entry 99");
    desk.refuses(
        &["destroy-orphan", "--from-journal", &entry, "--yes"],
        "was undone, or its backend volume destroyed, already",
    );

    // What gc reclaims is gone for good, and undo says so before it looks at anything else.
    sleep(Duration::from_secs(2));
    desk.ends(0, &["gc", &object, "--older-than", "1s", "--yes"]);
    assert!(!desk.driver.has(&handle));
    let last = desk.entries().pop().expect("it is written down")["entry"].to_string();
    desk.refuses(&["undo", &last, "--yes"], "deletes the backend volume immediately");
    let ran = desk.ends(0, &["undo", "--yes"]);
    assert!(ran.stderr.contains(&format!("entry {last} cannot be undone")), "{}", ran.stderr);
}

#[test]
fn d_35_a_lost_claim_gets_its_volume_back() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let desk = Desk::at(&cluster);
    desk.on.create(&claim("data", &desk.driver.class_delete));
    let name = desk.on.bound("data");
    let handle = desk.on.handle(&name);
    std::fs::write(desk.driver.folder(&handle).join("page"), "one").expect("the folder is ours");
    let saved = desk.on.read(&format!("pv/{name}"));
    desk.lose(&name, &saved);
    desk.on.wait_phase("pvc/data", "Lost");

    let ran = desk.ends(0, &["undo", "--yes"]);
    assert!(
        flat(&ran.stdout).contains("it is bound to its claim again"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    desk.on.wait_phase("pvc/data", "Bound");
    let volume = desk.on.read(&format!("pv/{name}"));
    assert_eq!(volume["spec"]["persistentVolumeReclaimPolicy"], "Retain");
    let page = std::fs::read_to_string(desk.driver.folder(&handle).join("page"));
    assert_eq!(page.ok().as_deref(), Some("one"));
    assert_eq!(desk.driver.delete_calls(&handle), 0);
}

#[test]
fn d_36_a_manifest_of_another_claim_is_refused() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let desk = Desk::at(&cluster);
    desk.on.create(&claim("data", &desk.driver.class_retain));
    let name = desk.on.bound("data");
    let handle = desk.on.handle(&name);
    let mut saved = desk.on.read(&format!("pv/{name}"));
    saved["spec"]["claimRef"]["uid"] = json!("00000000-dead-4000-8000-000000000000");
    desk.lose(&name, &saved);
    desk.on.wait_phase("pvc/data", "Lost");
    desk.refuses(&["undo", "--yes"], "is not the claim that it was bound to");
    // A lost claim's pods may still write: nobody destroys what it may have had.
    let orphan = ["destroy-orphan", "--from-journal", "1", "--yes"];
    desk.refuses(&orphan, "may have been this one");

    // Somebody was quicker, under another name.
    let other = desk.on.named("other");
    desk.on.create(&PersistentVolume::csi(&other, &desk.driver.name, &handle).0);
    desk.refuses(&["undo", "--yes"], "the same backend volume");
    assert!(desk.driver.has(&handle));
}

#[test]
fn a_policy_goes_back_where_nobody_can_have_acted() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let desk = Desk::at(&cluster);
    desk.on.create(&claim("data", &desk.driver.class_delete));
    let name = desk.on.bound("data");
    let (object, handle) = (format!("pv/{name}"), desk.on.handle(&name));
    let policy = || desk.on.read(&object)["spec"]["persistentVolumeReclaimPolicy"].clone();
    desk.ends(0, &["retain", &object, "--yes"]);
    assert_eq!(policy(), "Retain");
    let mark = cluster.mark();
    desk.ends(0, &["undo", "--yes"]);
    assert_eq!(policy(), "Delete");
    assert_eq!(desk.writes(mark), [format!("patch persistentvolumes {name} 200")]);
    desk.refuses(&["undo", "1", "--yes"], "it was undone already");

    // Released: with its old policy it would be destroyed at once.
    desk.ends(0, &["retain", &object, "--yes"]);
    desk.on.delete("pvc/data");
    desk.on.wait_phase(&object, "Released");
    desk.refuses(&["undo", "--yes"], "its phase was Bound and is Released");
    assert_eq!(policy(), "Retain");
    assert!(desk.driver.has(&handle));
}

#[test]
fn the_backend_volume_that_was_kept_is_destroyed() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let desk = Desk::at(&cluster);
    let (name, handle) = desk.released("data");
    let entry = desk.keep(&name);
    let orphan = ["destroy-orphan", "--from-journal", &entry, "--yes", "--timeout", "30s"];
    let named = ["destroy-orphan", "--driver", &desk.driver.name, "--handle", &handle, "--yes"];
    desk.refuses(&named, "pass --from-journal");

    let other = desk.on.named("other");
    desk.on.create(&PersistentVolume::csi(&other, &desk.driver.name, &handle).0);
    desk.refuses(&orphan, "the same backend volume");
    desk.on.delete(&format!("pv/{other}"));
    desk.on.wait_gone(&format!("pv/{other}"));

    let node = desk.on.named("node");
    cluster.create(&json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}}));
    let held = format!("kubernetes.io/csi/{}^{handle}", desk.driver.name);
    desk.on.patch_status(&format!("node/{node}"), &json!({"status": {"volumesInUse": [held]}}));
    desk.refuses(&orphan, "lists it in volumesInUse or volumesAttached");
    desk.on.delete(&format!("node/{node}"));
    desk.on.wait_gone(&format!("node/{node}"));

    let mark = cluster.mark();
    let ran = desk.ends(0, &orphan);
    assert!(flat(&ran.stdout).contains("only after DeleteVolume succeeded"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("backend gone"));
    assert!(!desk.driver.has(&handle) && desk.driver.delete_calls(&handle) == 1);
    let [write, forgotten]: [String; 2] = desk.writes(mark).try_into().expect("two writes");
    assert_eq!(forgotten, FORGOTTEN);
    assert!(write.starts_with("create persistentvolumes kubectl-storage-reclaim-"), "{write}");
    let tombstone = write.split(' ').nth(2).expect("its name").to_owned();
    assert!(desk.on.get(&format!("pv/{tombstone}")).is_none());
    desk.refuses(&orphan, "its backend volume destroyed, already");
    let undo = desk.ends(0, &["undo", "--yes"]);
    assert!(undo.stderr.contains("no entry of the journal can be undone"), "{}", undo.stderr);
}

/// Of an in-tree volume the whole source is kept, and the controller manager deletes the folder.
#[test]
fn the_folder_of_an_in_tree_volume_that_was_kept_is_destroyed() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let desk = Desk::at(&cluster);
    let class = desk.on.named("class");
    desk.on.create(&host_path_class(&class, "Retain"));
    desk.on.create(&claim("data", &class));
    let name = desk.on.bound("data");
    let folder = desk.on.folder(&name);
    desk.on.delete("pvc/data");
    desk.on.wait_phase(&format!("pv/{name}"), "Released");
    eventually("the claim is gone", || desk.on.get("pvc/data").is_none());
    sleep(Duration::from_secs(2));
    let entry = desk.keep(&name);
    assert!(folder.is_dir());
    let mark = cluster.mark();
    desk.ends(0, &["destroy-orphan", "--from-journal", &entry, "--yes", "--timeout", "30s"]);
    assert!(!folder.exists());
    let writes = desk.writes(mark);
    assert!(writes.len() == 2 && writes[1] == FORGOTTEN, "{writes:#?}");
}

#[test]
#[ignore = "extended suite: further cases"]
fn a_handle_alone_takes_the_users_word_for_everything() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let desk = Desk::at(&cluster);
    let (driver, handle) = (desk.driver.name.clone(), "stray");
    desk.driver.make(handle);
    let bare = ["destroy-orphan", "--driver", &driver, "--handle", handle, "--yes"];
    let with = |more: &[&'static str]| -> Vec<String> {
        bare.iter().chain(more).map(ToString::to_string).collect()
    };
    let refuses = |more: &[&'static str], reason| {
        let args = with(more);
        desk.refuses(&args.iter().map(String::as_str).collect::<Vec<_>>(), reason);
    };
    refuses(&["--no-secret"], "--backend-exclusive asserts");
    refuses(&["--backend-exclusive"], "pass --secret NAMESPACE/NAME, or --no-secret");
    refuses(&["--backend-exclusive", "--secret", "default/none"], "does not exist");

    // The driver refuses at first: what was begun is not begun again.
    desk.driver.fault(&json!({"DeleteVolume": {"fail": {"code": "INTERNAL", "message": "busy"}}}));
    let words = ["--backend-exclusive", "--no-secret"];
    let short = [&words[..], &["--timeout", "4s"]].concat();
    let args = with(&short);
    let mark = cluster.mark();
    let ran = desk.ends(6, &args.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(flat(&ran.stdout).contains("still exists"), "{}", ran.stdout);
    assert!(desk.driver.has(handle));
    let long = [&words[..], &["--timeout", "40s"]].concat();
    let args = with(&long);
    let running = desk.run(&args.iter().map(String::as_str).collect::<Vec<_>>()).start();
    sleep(Duration::from_secs(4));
    desk.driver.fault(&json!({}));
    let ran = running.finish();
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
    assert!(flat(&ran.stderr).contains("an earlier run created"), "{}", ran.stderr);
    assert!(!desk.driver.has(handle));
    let writes = desk.writes(mark);
    let [first, second] = writes.as_slice() else { panic!("{writes:#?}") };
    assert!(first.ends_with(" 201") && second.ends_with(" 409"), "{writes:#?}");
}

#[test]
#[ignore = "extended suite: further cases"]
fn nobody_is_asked_to_destroy_what_no_provisioner_would() {
    let cluster = Cluster::start(Options::CONTROLLERS);
    let desk = Desk::at(&cluster);
    desk.driver.make("stray");
    desk.driver.stop("scale-to-zero");
    let driver = desk.driver.name.clone();
    let orphan = ["destroy-orphan", "--driver", &driver, "--handle", "stray", "--yes"];
    let args = [&orphan[..], &["--backend-exclusive", "--no-secret"]].concat();
    let looks = [&args[..], &["--dry-run=client"]].concat();
    eventually("its provisioner does not count as running", || {
        desk.run(&looks).go().code == Some(5)
    });
    desk.refuses(&args, "csi-provisioner of disk.csi.example");
    assert!(desk.driver.has("stray"));
}
