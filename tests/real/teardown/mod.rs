//! `teardown`: what it stops, destroys, keeps and records, and what it leaves alone.

mod brought_back;
mod changed;
mod custom;
mod faults;
mod hindered;
mod killed;
mod random;
mod real_drivers;
mod refused;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{
    Admin, Driver, Fault, PersistentVolume, Run, Scenario, Told, Write, claim, eventually, pod,
    shared,
};

/// A namespace with one of everything that a teardown meets.
struct Town<'a> {
    on: &'a Scenario<'a>,
    admin: Admin<'a>,
    driver: &'a Driver,
    /// Handles by what claims them.
    handles: Vec<(&'static str, String)>,
}

/// What a pipeline adds, which nobody confirms: which cluster it is, and the file of the record.
fn unattended(admin: &Admin) -> [String; 3] {
    let record = admin.home.path().join("record.json");
    let uid = admin.on.cluster.uid();
    [
        "--yes".to_owned(),
        format!("--confirm-cluster={uid}"),
        format!("--record={}", record.display()),
    ]
}

/// A teardown as a pipeline runs it, that is not begun.
fn by_pipeline(admin: &Admin, kubeconfig: &Path, args: &[&str]) -> Run {
    let unattended = unattended(admin);
    let more = unattended.each_ref().map(String::as_str);
    admin.by(kubeconfig, &[&["teardown"], args, &more].concat())
}

/// Runs a teardown as a pipeline does.
fn run_unattended(admin: &Admin, args: &[&str]) -> Told {
    Told::of(by_pipeline(admin, admin.on.cluster.kubeconfig(), args).go())
}

pub(super) fn container() -> Value {
    json!([{"name": "main", "image": "none"}])
}

fn mounts(claim: &str) -> Value {
    json!([{"name": "data", "persistentVolumeClaim": {"claimName": claim}}])
}

/// A set with a template of claims that a scale-down deletes.
pub(super) fn set(name: &str, class: &str, replicas: u32) -> Value {
    let mut template = claim("data", class);
    for field in ["apiVersion", "kind"] {
        template.as_object_mut().expect("because it is an object").remove(field);
    }
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name},
        "spec": {
            "replicas": replicas, "serviceName": name, "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {"app": name}},
            "persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete", "whenDeleted": "Retain"},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": container()}},
            "volumeClaimTemplates": [template],
        },
    })
}

/// A Deployment whose pod uses a claim.
pub(super) fn deployment(name: &str, claim: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": container(), "volumes": mounts(claim)},
            },
        },
    })
}

fn job(kind: &str, name: &str, claim: &str) -> Value {
    let spec = json!({"template": {"spec": {
        "restartPolicy": "Never", "containers": container(), "volumes": mounts(claim),
    }}});
    let (version, spec) = match kind {
        "CronJob" => ("batch/v1", json!({"schedule": "0 0 1 1 *", "jobTemplate": {"spec": spec}})),
        _ => ("batch/v1", spec),
    };
    json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec})
}

impl<'a> Town<'a> {
    fn of(on: &'a Scenario<'a>) -> Self {
        let driver = on.cluster.driver_without_attachments();
        let class = &driver.class_delete;
        for name in ["web", "batch", "nightly", "alone", "idle"] {
            on.create(&claim(name, class));
        }
        on.create(&claim("kept", &driver.class_retain));
        on.create(&claim("spared", class));
        on.create(&set("db", class, 2));
        on.create(&deployment("web", "web"));
        on.create(&job("Job", "batch", "batch"));
        on.create(&job("CronJob", "nightly", "nightly"));
        on.create(&pod("alone", "alone"));
        let names = [
            "data-db-0",
            "data-db-1",
            "web",
            "batch",
            "nightly",
            "alone",
            "idle",
            "kept",
            "spared",
        ];
        eventually("the claims are there", || on.get("pvc/data-db-1").is_some());
        let handles = names.map(|name| {
            let volume = on.bound(name);
            (name, on.handle(&volume))
        });
        eventually("everything runs", || {
            let pods = on.cluster.list(&on.name, "pods");
            let is_up = |it: &Value| {
                // What a Job runs may have ended.
                ["Running", "Succeeded"].map(Value::from).contains(&it["status"]["phase"])
            };
            pods.len() == 5 && pods.iter().all(is_up)
        });
        Self { on, admin: Admin::of(on), driver, handles: handles.into() }
    }

    /// Runs a teardown of the namespace, all but one claim.
    fn run(&self, more: &[&str]) -> Told {
        let args = self.args(more);
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        self.admin.run(&args)
    }

    fn args(&self, more: &[&str]) -> Vec<String> {
        let namespace = &self.on.name;
        let mut args = vec![
            "teardown".to_owned(),
            format!("--namespace={namespace}"),
            format!("--backend-exclusive={}", self.driver.name),
            format!("--except=pvc/{namespace}/spared"),
        ];
        args.extend(more.iter().map(|it| (*it).to_owned()));
        args
    }

    /// The arguments with which a pipeline destroys the data.
    fn destroying(&self) -> Vec<String> {
        let mut args = self.args(&["--destroy-data", "--max=20"]);
        args.extend(unattended(&self.admin));
        args
    }

    fn record_file(&self) -> String {
        self.admin.home.path().join("record.json").display().to_string()
    }

    fn destroy(&self) -> Told {
        let args = self.destroying();
        self.admin.run(&args.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// The record that was written last.
    fn record(&self) -> Value {
        let text = fs::read_to_string(self.record_file()).expect("because it was written");
        serde_json::from_str(&text).expect("because a record is JSON")
    }

    /// Claims in the record with this outcome, without the namespace.
    fn outcomes(&self, outcome: &str) -> Vec<String> {
        let record = self.record();
        let volumes = record["volumes"].as_array().cloned().unwrap_or_default();
        let of = volumes.iter().filter(|it| it["outcome"] == outcome);
        let claim = |it: &Value| {
            let claim = it["claim"].as_str().unwrap_or_default();
            claim.split('/').next_back().unwrap_or_default().to_owned()
        };
        let mut names: Vec<_> = of.map(claim).collect();
        names.sort();
        names
    }

    /// The backend has what the record leaves, and nothing else of these.
    fn is_as_recorded(&self) {
        let destroyed = self.outcomes("destroyed");
        for (name, handle) in &self.handles {
            let gone = destroyed.iter().any(|it| it == name);
            assert_eq!(!self.driver.has(handle), gone, "{name}: {:#}", self.record());
        }
    }
}

const DESTROYED: [&str; 7] = ["alone", "batch", "data-db-0", "data-db-1", "idle", "nightly", "web"];

fn lines(sent: &[Write]) -> Vec<String> {
    sent.iter().filter(|it| !it.dry).map(Write::line).collect()
}

/// Everything at once: what the dry run says is what comes of it, in the order of K.5.
#[test]
fn a_namespace_is_torn_down_but_for_what_is_kept() {
    let on = Scenario::on(shared());
    let town = Town::of(&on);
    let before = town.on.cluster.mark();
    let told = town.run(&["--dry-run"]).ends(0);
    let planned =
        |plan: &str| told.listed("volumes").iter().filter(|it| it["plan"] == plan).count();
    assert_eq!((planned("destroy"), planned("keep")), (7, 2), "{:#}", told.json);
    let stopped = told.listed("stopped").len();
    // A Job that has finished needs no stop, but its pod an end.
    assert!((5..=6).contains(&stopped), "{:#}", told.json);
    assert_eq!(lines(&town.admin.sent(before)), [""; 0]);

    let mark = town.on.cluster.mark();
    town.destroy().ends(0);
    assert_eq!(town.outcomes("destroyed"), DESTROYED);
    assert_eq!(town.outcomes("kept"), ["kept", "spared"]);
    town.is_as_recorded();
    let sent = town.admin.sent(mark);
    let real: Vec<_> = sent.iter().filter(|it| !it.dry).collect();
    assert!(
        real.iter().all(|it| it.namespace.is_empty() || it.namespace == town.on.name),
        "{real:#?}"
    );
    assert!(!real.iter().any(|it| it.verb == "delete" && it.resource == "persistentvolumes"));
    // Every policy is held before anything is stopped, and every request was tried before the first.
    let first = |what: &dyn Fn(&&Write) -> bool| real.iter().position(what);
    let last_held = real.iter().rposition(|it| {
        it.resource == "persistentvolumes"
            && it.body.to_string().contains("\"Retain\"")
            && !it.body.to_string().contains("\"value\":\"Delete\"")
    });
    let stopped = first(&|it| it.resource == "statefulsets");
    let deleted = first(&|it| it.verb == "delete" && it.resource == "persistentvolumeclaims");
    assert!(last_held < stopped && stopped < deleted, "{:#?}", lines(&sent));
    let first_real = sent.iter().position(|it| !it.dry).expect("because something was sent");
    let tried: Vec<_> = sent[..first_real].iter().map(|it| it.resource.as_str()).collect();
    for resource in ["persistentvolumes", "statefulsets", "deployments", "persistentvolumeclaims"] {
        assert!(tried.contains(&resource), "{resource}: {tried:?}");
    }
    // What was left out is as it was.
    assert_eq!(town.on.read("pvc/spared")["status"]["phase"], "Bound");
    assert_eq!(town.on.read("pvc/kept")["status"]["phase"], "Bound");

    // Run again, it has nothing to do, and says the same.
    let mark = town.on.cluster.mark();
    town.destroy().ends(0);
    assert_eq!(lines(&town.admin.sent(mark)), [""; 0]);
    assert_eq!(town.outcomes("destroyed"), DESTROYED);
}

/// Every disk stays, and the record has a manifest of each for another cluster.
#[test]
fn data_is_kept_for_another_cluster() {
    let on = Scenario::on(shared());
    let driver = on.cluster.driver_without_attachments();
    on.create(&set("db", &driver.class_delete, 1));
    eventually("the claim is there", || on.get("pvc/data-db-0").is_some());
    let volume = on.bound("data-db-0");
    let handle = on.handle(&volume);
    let admin = Admin::of(&on);
    let told = run_unattended(&admin, &["--keep-data", "-n", &on.name]).ends(0);
    let kept = &told.listed("volumes")[0];
    assert_eq!(kept["outcome"], "kept", "{:#}", told.json);
    assert!(on.get("pvc/data-db-0").is_none() && driver.has(&handle));
    assert_eq!(on.read(&format!("pv/{volume}"))["spec"]["persistentVolumeReclaimPolicy"], "Retain");

    // A teardown that destroys data does not take what another one kept.
    let exclusive = format!("--backend-exclusive={}", driver.name);
    let told = admin.run(&["teardown", "--dry-run", "-n", &on.name, &exclusive]).ends(0);
    assert_eq!(told.listed("volumes")[0]["plan"], "keep", "{:#}", told.json);

    let manifest = kept["manifest"].clone();
    assert_eq!(manifest["spec"]["persistentVolumeReclaimPolicy"], "Retain");
    assert_eq!(manifest["spec"]["claimRef"]["uid"], Value::Null);
    assert_eq!(manifest["metadata"]["uid"], Value::Null);
    on.cluster.delete("", &format!("pv/{volume}"));
    on.wait_gone(&format!("pv/{volume}"));
    on.create(&manifest);
    let mut again = claim("data-db-0", &driver.class_delete);
    again["spec"]["volumeName"] = json!(volume);
    on.create(&again);
    assert_eq!(on.bound("data-db-0"), volume);

    // The same by `rebind`, which creates the claim, too.
    on.delete("pvc/data-db-0");
    on.wait_phase(&format!("pv/{volume}"), "Released");
    let record = admin.home.path().join("record.json").display().to_string();
    let rebind = |args: &[&str]| {
        let named = format!("pv/{volume}");
        let all = [&["rebind", &named, "--from", &record, "--yes"], args].concat();
        admin.run(&all)
    };
    let refused = |says: &str| {
        let told = rebind(&[]).ends(5);
        assert!(told.json.to_string().contains(says), "{says}: {:#}", told.json);
    };
    refused("is Released");
    let mut other = manifest.clone();
    other["metadata"]["name"] = json!(on.named("other"));
    on.cluster.delete("", &format!("pv/{volume}"));
    on.wait_gone(&format!("pv/{volume}"));
    on.create(&other);
    let mark = on.cluster.mark();
    refused("the same backend volume");
    assert_eq!(lines(&admin.sent(mark)), [""; 0]);
    on.cluster.delete("", &format!("pv/{}", on.named("other")));
    on.wait_gone(&format!("pv/{}", on.named("other")));
    let to = format!("--to={}/data-db-0", on.name);
    // What an unknown driver may confuse it with comes and goes: that is no change of the plan.
    let proxy = on.cluster.proxy();
    let held = proxy.hold(Fault::hold().on("POST", "/persistentvolumes").real());
    let named = format!("pv/{volume}");
    let args = ["rebind", &named, "--from", &record, "--yes", &to];
    let running = admin.by(proxy.kubeconfig(), &args).start();
    held.wait();
    let another = on.named("another");
    on.create(&PersistentVolume::csi(&another, &driver.name, &another).0);
    held.release();
    Told::of(running.finish()).ends(0);
    assert_eq!(on.bound("data-db-0"), volume);
    let sent: Vec<_> = admin.sent(mark).into_iter().filter(|it| !it.dry).collect();
    let kinds: Vec<_> = sent.iter().map(|it| (it.verb.as_str(), it.resource.as_str())).collect();
    let wanted = [("create", "persistentvolumes"), ("create", "persistentvolumeclaims")];
    assert_eq!(kinds, wanted, "{:#?}", lines(&sent));
    assert!(driver.has(&handle));
}

/// `--released` takes Retain volumes whose claims are gone; without it they are kept.
#[test]
fn released_volumes_are_taken_only_when_asked() {
    let on = Scenario::on(shared());
    let driver = on.cluster.driver_without_attachments();
    on.create(&claim("old", &driver.class_retain));
    let volume = on.bound("old");
    let handle = on.handle(&volume);
    on.delete("pvc/old");
    on.wait_phase(&format!("pv/{volume}"), "Released");
    let shared_by = PersistentVolume::csi(&on.named("shared"), &driver.name, &on.named("other"));
    on.create(&shared_by.policy("Retain").left_by(&on.name, "shared").0);
    let admin = Admin::of(&on);
    let exclusive = format!("--backend-exclusive={}", driver.name);
    let told = admin.run(&["teardown", "--dry-run", "-n", &on.name, &exclusive]).ends(0);
    assert!(told.listed("volumes").iter().all(|it| it["plan"] == "keep"), "{:#}", told.json);
    let args = ["--destroy-data", "--released", "-n", &on.name, &exclusive, "--max=2"];
    let told = run_unattended(&admin, &args);
    let of = |claim: &str| {
        let claim = format!("{}/{claim}", on.name);
        let found = told.listed("volumes").iter().find(|it| it["claim"] == claim.as_str());
        found.unwrap_or_else(|| panic!("{:#}", told.json))["outcome"].clone()
    };
    assert_eq!(of("old"), "destroyed", "{:#}", told.json);
    assert!(!driver.has(&handle));
    // The driver has no such disk: it answers OK, or the volume stays and is named.
    assert!(["destroyed", "left"].map(Value::from).contains(&of("shared")), "{:#}", told.json);
}
