//! CSI drivers, and the truth about their backends.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::testbed::testbed;

/// How a driver is installed.
pub(crate) struct DriverOptions<'a> {
    /// Verbs on `PersistentVolume`s that its `ServiceAccount` lacks.
    pub(crate) rbac_without: &'a [&'a str],
    /// Its volumes are attached to nodes; without `attacher` nobody does it.
    pub(crate) attach: bool,
    /// The real external-attacher runs.
    pub(crate) attacher: bool,
    /// The real external-resizer runs, and its classes allow expansion.
    pub(crate) resizer: bool,
    /// The image that the container of its provisioner names.
    pub(crate) provisioner_image: Option<&'a str>,
    /// More arguments of its provisioner.
    pub(crate) provisioner_args: &'a [&'a str],
}

impl Default for DriverOptions<'_> {
    /// A driver of disks: of one that attaches nothing, nobody could tell whether two handles name one
    /// directory. Nodes without the annotation `volumes.kubernetes.io/controller-managed-attach-detach`
    /// get no attachments all the same.
    fn default() -> Self {
        Self {
            rbac_without: &[],
            attach: true,
            attacher: false,
            resizer: false,
            provisioner_image: None,
            provisioner_args: &[],
        }
    }
}

/// An installed CSI driver with the real csi-provisioner. Its backend is a folder.
pub(crate) struct Driver {
    cluster: String,
    pub(crate) name: String,
    volumes: PathBuf,
    calls: PathBuf,
    faults: PathBuf,
    /// Its `StorageClass` with reclaim policy Delete.
    pub(crate) class_delete: String,
    /// Its `StorageClass` with reclaim policy Retain.
    pub(crate) class_retain: String,
}

impl Driver {
    pub(super) fn start(cluster: &str, name: &str, options: &DriverOptions) -> Self {
        let mut request = json!({
            "cluster": cluster, "driver": name,
            "rbac_without": options.rbac_without, "attach": options.attach, "attacher": options.attacher,
            "resizer": options.resizer,
            "provisioner_args": options.provisioner_args,
        });
        if let Some(image) = options.provisioner_image {
            request["provisioner_image"] = json!(image);
        }
        let reply = testbed().request("driver.start", request);
        let text = |value: &Value| {
            value.as_str().unwrap_or_else(|| panic!("incomplete reply: {reply}")).to_owned()
        };
        Self {
            cluster: cluster.to_owned(),
            name: name.to_owned(),
            volumes: text(&reply["volumes"]).into(),
            calls: text(&reply["calls"]).into(),
            faults: text(&reply["faults"]).into(),
            class_delete: text(&reply["classes"]["delete"]),
            class_retain: text(&reply["classes"]["retain"]),
        }
    }

    /// Whether the backend has a volume.
    pub(crate) fn has(&self, handle: &str) -> bool {
        self.folder(handle).is_dir()
    }

    /// Makes a volume that no `PersistentVolume` names yet.
    pub(crate) fn make(&self, handle: &str) {
        fs::create_dir(self.folder(handle)).expect("because the backend is a folder of ours");
    }

    /// The folder of a volume.
    pub(crate) fn folder(&self, handle: &str) -> PathBuf {
        self.volumes.join(handle)
    }

    /// How often a volume was asked to be deleted.
    pub(crate) fn delete_calls(&self, handle: &str) -> usize {
        lines(&self.calls)
            .filter(|call| call["rpc"] == "DeleteVolume" && call["volume"] == handle)
            .filter(|call| call["code"].is_null()) // arrivals, not answers
            .count()
    }

    /// What goes wrong from now on.
    pub(crate) fn fault(&self, faults: &Value) {
        let next = self.faults.with_extension("next");
        fs::write(&next, faults.to_string()).expect("because the folder is ours");
        fs::rename(&next, &self.faults).expect("because the folder is ours");
    }

    /// Stops it: `kill`, `scale-to-zero` or `uninstall`. The backend stays.
    pub(crate) fn stop(&self, how: &str) {
        self.request("stop", json!({"how": how}));
    }

    /// Undoes a stop.
    pub(crate) fn resume(&self) {
        self.request("resume", json!({}));
    }

    /// Gives its `ServiceAccount` all the rights it needs.
    pub(crate) fn grant_all(&self) {
        self.request("rbac", json!({"without": []}));
    }

    fn request(&self, verb: &str, fields: Value) {
        let mut request = fields;
        request["cluster"] = json!(self.cluster);
        request["driver"] = json!(self.name);
        testbed().request(&format!("driver.{verb}"), request);
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Its objects stay in the cluster. The processes would renew their Leases until the last test ends; they may
        // have ended already.
        let fields = json!({"cluster": self.cluster, "driver": self.name, "how": "kill"});
        let _ = testbed().try_request("driver.stop", fields);
    }
}

fn lines(path: &Path) -> impl Iterator<Item = Value> {
    let text = fs::read_to_string(path).unwrap_or_default(); // there is none before the first call
    let parsed: Vec<_> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    parsed.into_iter()
}
