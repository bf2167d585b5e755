//! The GCE PD CSI driver as it was released, with its real sidecars, and a stand-in for the cloud behind it.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::Cluster;
use super::testbed::testbed;

/// The project and zone of all instances.
const ZONE: &str = "projects/demo/zones/us-central1-a";

/// The driver, and the truth about its disks. They are called by their volume handles.
pub(crate) struct GcePd {
    /// What the cloud has; the cloud writes it.
    file: PathBuf,
    /// Where the cloud listens.
    address: String,
    /// Its `StorageClass` with reclaim policy Retain.
    pub(crate) class_retain: String,
    /// Its `StorageClass` with reclaim policy Delete.
    pub(crate) class_delete: String,
    /// Its `VolumeSnapshotClass` with deletion policy Delete.
    pub(crate) snapshot_class: &'static str,
}

impl GcePd {
    pub(crate) const DRIVER: &str = "pd.csi.storage.gke.io";
    /// The component that attaches.
    pub(crate) const ATTACHER: &str = "pd.csi.storage.gke.io/attacher";

    /// Installs it with all sidecars, and the snapshot controller.
    pub(crate) fn start(on: &Cluster) -> Self {
        let cluster = on.name();
        testbed().request("snapshots.install", json!({"cluster": cluster, "controller": true}));
        let reply = testbed().request(
            "driver.start",
            json!({
                "cluster": cluster, "driver": Self::DRIVER, "plugin": "gce-pd",
                "attacher": true, "snapshotter": true,
            }),
        );
        let text = |value: &Value| {
            value.as_str().unwrap_or_else(|| panic!("incomplete reply: {reply}")).to_owned()
        };
        let snapshot_class = "nightly";
        on.create(&json!({
            "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotClass",
            "metadata": {"name": snapshot_class}, "driver": Self::DRIVER, "deletionPolicy": "Delete",
        }));
        Self {
            file: text(&reply["backend"]).into(),
            address: text(&reply["compute"]).trim_start_matches("http://").to_owned(),
            class_retain: text(&reply["classes"]["retain"]),
            class_delete: text(&reply["classes"]["delete"]),
            snapshot_class,
        }
    }

    /// Makes a disk that no `PersistentVolume` names yet, and returns its handle.
    pub(crate) fn make(&self, name: &str) -> String {
        self.ask(&format!("{ZONE}/disks"), &json!({"name": name, "sizeGb": "1"}));
        format!("{ZONE}/disks/{name}")
    }

    /// Whether there is a disk of this handle.
    pub(crate) fn has(&self, handle: &str) -> bool {
        !self.disk(handle).is_null()
    }

    /// The disk of a handle, or null.
    pub(crate) fn disk(&self, handle: &str) -> Value {
        self.everything()["disks"][handle].take()
    }

    /// The snapshot of a handle, or null.
    pub(crate) fn snapshot(&self, handle: &str) -> Value {
        self.everything()["snapshots"][handle].take()
    }

    /// The nodes that a disk is attached to.
    pub(crate) fn nodes_of(&self, handle: &str) -> Vec<String> {
        let everything = self.everything();
        let all = everything["attachments"].as_array().into_iter().flatten();
        let of = all.filter(|it| it["disk"] == handle);
        let node = |it: &Value| {
            it["instance"].as_str().and_then(|it| it.rsplit('/').next()).map(str::to_owned)
        };
        of.filter_map(node).collect()
    }

    /// What was done to a disk or a snapshot, in order: `insert`, `createSnapshot`, `attachDisk`,
    /// `detachDisk`, `delete`.
    pub(crate) fn operations_on(&self, handle: &str) -> Vec<String> {
        let everything = self.everything();
        let all = everything["operations"].as_array().into_iter().flatten();
        let of = all.filter(|it| it["target"] == handle);
        of.map(|it| it["type"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Attaches a disk as somebody does who goes past Kubernetes.
    pub(crate) fn attach(&self, handle: &str, node: &str) {
        let (_, name) = handle.rsplit_once('/').expect("because it is a path");
        let disk = json!({"source": handle, "deviceName": name, "mode": "READ_WRITE"});
        self.ask(&format!("{ZONE}/instances/{node}/attachDisk"), &disk);
    }

    /// Detaches it as they do.
    pub(crate) fn detach(&self, handle: &str, node: &str) {
        let (_, name) = handle.rsplit_once('/').expect("because it is a path");
        let target = format!("{ZONE}/instances/{node}/detachDisk?deviceName={name}");
        self.ask(&target, &Value::Null);
    }

    fn everything(&self) -> Value {
        let text = fs::read_to_string(&self.file).expect("because the cloud writes it at once");
        serde_json::from_str(&text).expect("because it is replaced as a whole")
    }

    /// All disks, as `gcloud compute disks list --format json` prints them.
    pub(crate) fn listing(&self) -> Value {
        let answer = self.call("GET", &format!("{ZONE}/disks"), "");
        let (_, body) = answer.split_once("\r\n\r\n").expect("because the cloud answers");
        let answer: Value = serde_json::from_str(body).expect("because it is JSON");
        let mut disks = answer["items"].as_array().cloned().unwrap_or_default();
        for disk in &mut disks {
            let name = disk["name"].as_str().expect("because each has one");
            let users = self.nodes_of(&format!("{ZONE}/disks/{name}"));
            if !users.is_empty() {
                let link = |it: &String| {
                    format!("https://www.googleapis.com/compute/v1/{ZONE}/instances/{it}")
                };
                disk["users"] = users.iter().map(link).collect();
            }
        }
        Value::Array(disks)
    }

    /// Asks the cloud for a change, which must succeed.
    fn ask(&self, target: &str, body: &Value) {
        self.call("POST", target, &body.to_string());
    }

    fn call(&self, method: &str, target: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("because the cloud listens");
        let request = format!(
            "{method} /compute/v1/{target} HTTP/1.0\r\nHost: {}\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(request.as_bytes()).expect("because the cloud listens");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("because the cloud answers");
        let status = answer.split_whitespace().nth(1);
        assert_eq!(status, Some("200"), "{target}: {answer}");
        answer
    }
}
