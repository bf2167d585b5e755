//! A scenario's own corner of a cluster.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use super::audit_log::Mark;
use super::{Cluster, Explained, HOST_PATHS, Proxy, Report, eventually, happens, say};

/// A namespace named after the test, and what is to be removed with it.
pub(crate) struct Scenario<'a> {
    pub(crate) cluster: &'a Cluster,
    /// The namespace. Cluster-wide objects start their names with it too.
    pub(crate) name: String,
    volumes: RefCell<Vec<String>>,
    folders: RefCell<Vec<PathBuf>>,
    started: Instant,
    /// Where the audit log ended when the scenario began.
    pub(super) began: Mark,
}

impl<'a> Scenario<'a> {
    /// Begins the scenario of this test.
    pub(crate) fn on(cluster: &'a Cluster) -> Self {
        Self::part(cluster, "")
    }

    /// Begins a part of this test, in a namespace with this end.
    pub(crate) fn part(cluster: &'a Cluster, end: &str) -> Self {
        let test = thread::current().name().unwrap_or("main").to_owned();
        let short = test.rsplit("::").next().unwrap_or(&test).replace('_', "-");
        let short = short.chars().take(45).collect::<String>();
        let name = format!("{}{end}", short.trim_end_matches('-'));
        let scenario = Self {
            cluster,
            name,
            volumes: RefCell::default(),
            folders: RefCell::default(),
            started: Instant::now(),
            began: cluster.mark(),
        };
        let name = &scenario.name;
        let mut namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        super::guard::label(&mut namespace);
        scenario.cluster.create(&namespace);
        scenario
    }

    /// A name for a cluster-wide object of this scenario.
    pub(crate) fn named(&self, name: &str) -> String {
        format!("{}-{name}", self.name)
    }

    /// Creates an object, in the scenario's namespace when it has one.
    pub(crate) fn create(&self, object: &Value) -> Value {
        let mut object = object.clone();
        match object["kind"].as_str() {
            Some("PersistentVolume") => {
                let name = object["metadata"]["name"].as_str();
                self.remember(name.expect("because volumes are created with a name"));
            }
            Some(
                "StorageClass"
                | "VolumeAttachment"
                | "VolumeAttributesClass"
                | "VolumeSnapshotContent",
            ) => {}
            _ => object["metadata"]["namespace"] = json!(self.name),
        }
        self.cluster.create(&object)
    }

    /// Remembers a volume, so that it goes with the scenario.
    pub(crate) fn remember(&self, volume: &str) {
        let mut volumes = self.volumes.borrow_mut();
        if !volumes.iter().any(|it| it == volume) {
            volumes.push(volume.to_owned());
        }
    }

    /// Waits until a claim is bound, and returns its volume's name.
    pub(crate) fn bound(&self, claim: &str) -> String {
        self.wait_phase(&format!("pvc/{claim}"), "Bound");
        let claim = self.read(&format!("pvc/{claim}"));
        let volume = claim["spec"]["volumeName"].as_str().expect("because it is bound").to_owned();
        self.wait_phase(&format!("pv/{volume}"), "Bound"); // the claim is bound a moment before
        self.remember(&volume);
        self.remember_folder(&self.read(&format!("pv/{volume}")));
        volume
    }

    /// Remembers all volumes that claims of the namespace have, so that they go with the scenario.
    pub(crate) fn remember_volumes(&self) {
        let all = self.cluster.list("", "pv").into_iter();
        for volume in all.filter(|volume| volume["spec"]["claimRef"]["namespace"] == self.name) {
            self.remember(volume["metadata"]["name"].as_str().expect("because it has a name"));
            self.remember_folder(&volume);
        }
    }

    fn remember_folder(&self, volume: &Value) {
        if let Some(path) = volume["spec"]["hostPath"]["path"].as_str().map(Path::new)
            && path.starts_with(HOST_PATHS)
        {
            self.folders.borrow_mut().push(path.to_owned()); // goes in any case
        }
    }

    /// The object as it is now, or nothing.
    pub(crate) fn get(&self, object: &str) -> Option<Value> {
        self.cluster.get(&self.name, object)
    }

    /// The object as it is now; there must be one.
    pub(crate) fn read(&self, object: &str) -> Value {
        self.get(object).unwrap_or_else(|| panic!("{object} is gone"))
    }

    /// The handle of a CSI volume.
    pub(crate) fn handle(&self, volume: &str) -> String {
        let volume = self.read(&format!("pv/{volume}"));
        volume["spec"]["csi"]["volumeHandle"]
            .as_str()
            .expect("because it is a CSI volume")
            .to_owned()
    }

    /// The folder of an in-tree volume; what is left of it goes with the scenario.
    pub(crate) fn folder(&self, volume: &str) -> PathBuf {
        let volume = self.read(&format!("pv/{volume}"));
        let path =
            Path::new(volume["spec"]["hostPath"]["path"].as_str().expect("because it is a folder"));
        assert!(path.starts_with(HOST_PATHS), "{} is none of ours", path.display());
        self.folders.borrow_mut().push(path.to_owned());
        path.to_owned()
    }

    pub(crate) fn has_finalizer(&self, object: &str, finalizer: &str) -> bool {
        let object = self.read(object);
        object["metadata"]["finalizers"]
            .as_array()
            .is_some_and(|all| all.iter().any(|it| it == finalizer))
    }

    /// Waits until an object has a finalizer, or has it no more.
    pub(crate) fn wait_finalizer(&self, object: &str, finalizer: &str, there: bool) {
        eventually(&format!("{finalizer} on {object} is {there}"), || {
            self.has_finalizer(object, finalizer) == there
        });
    }

    /// Waits until an object, which must be there, is in a phase.
    pub(crate) fn wait_phase(&self, object: &str, phase: &str) {
        // What a controller creates may not be there yet.
        let is_there = || self.get(object).is_some_and(|it| it["status"]["phase"] == phase);
        assert!(happens(is_there), "{object} is never {phase}: {:#?}", self.get(object));
    }

    /// Waits until an object is gone; another one of its name may have come.
    pub(crate) fn wait_gone(&self, object: &str) {
        let uid = |it: Value| it["metadata"]["uid"].clone();
        let Some(old) = self.get(object).map(uid) else { return };
        eventually(&format!("{object} is gone"), || {
            self.get(object).map(uid).is_none_or(|now| now != old)
        });
    }

    pub(crate) fn patch(&self, object: &str, patch: &Value) {
        self.cluster.patch(&self.name, object, patch);
    }

    pub(crate) fn patch_status(&self, object: &str, patch: &Value) {
        self.cluster.patch_status(&self.name, object, patch);
    }

    pub(crate) fn set_policy(&self, volume: &str, policy: &str) {
        let patch = json!({"spec": {"persistentVolumeReclaimPolicy": policy}});
        self.patch(&format!("pv/{volume}"), &patch);
    }

    /// Asks for an object's deletion, and does not wait.
    pub(crate) fn delete(&self, object: &str) {
        self.cluster.delete(&self.name, object);
    }

    /// Asks for a volume's deletion, and waits until it is Terminating.
    pub(crate) fn terminate(&self, volume: &str) {
        let object = format!("pv/{volume}");
        self.delete(&object);
        eventually("the volume is Terminating", || {
            self.get(&object).is_none_or(|it| !it["metadata"]["deletionTimestamp"].is_null())
        });
    }

    /// Audits the cluster as its administrator.
    pub(crate) fn audit(&self, args: &[&str]) -> Report {
        self.cluster.audit(args)
    }

    /// Audits the cluster as its administrator, by way of a proxy. It may be incomplete.
    pub(crate) fn audit_through(&self, proxy: &Proxy, args: &[&str]) -> Report {
        self.cluster.audit_as(proxy.kubeconfig(), args)
    }

    /// What `explain` says of an object of the scenario, as JSON. Nothing may be written.
    pub(crate) fn explain(&self, object: &str) -> Explained {
        self.cluster.explain(object, &self.name)
    }

    fn clean_up(&self) {
        // Much of it is gone by now.
        let api = self.cluster.api();
        let _ = api.delete("", &format!("namespace/{}", self.name));
        for volume in self.volumes.borrow().iter() {
            // No controller may destroy or keep anything after the test: the object goes as it is.
            let patch = json!({
                "metadata": {"finalizers": null}, "spec": {"persistentVolumeReclaimPolicy": "Retain"},
            });
            let object = format!("pv/{volume}");
            let _ = api.merge("", &object, "", &patch);
            let _ = api.delete("", &object);
            let _ = api.merge("", &object, "", &patch);
        }
    }
}

impl Drop for Scenario<'_> {
    fn drop(&mut self) {
        let outcome = if thread::panicking() { "failed" } else { "passed" };
        say(&format!("{:5.1} s  {outcome}  {}", self.started.elapsed().as_secs_f32(), self.name));
        if self.cluster.is_shared() && !thread::panicking() {
            self.clean_up();
        }
        for folder in self.folders.borrow().iter() {
            let _ = fs::remove_dir_all(folder); // most are gone by now
        }
    }
}
