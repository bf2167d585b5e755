//! What is said of the disks that a provider lists, and of those that lie in a cluster (semantics K.1 to K.3).
//! `tests/inventory.yaml` and `tests/own_inventory.yaml` have the cases.

use std::{collections::BTreeMap, fs};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::support::{Call, root};

/// Clusters, a listing, and what is said of its disks.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    case: String,
    #[serde(default)]
    args: Vec<String>,
    clusters: Vec<Cluster>,
    listing: Option<Value>,
    /// A second listing.
    more: Option<Value>,
    /// A listing that is no JSON.
    text: Option<String>,
    pool: Option<String>,
    #[serde(default)]
    findings: Vec<String>,
    #[serde(default)]
    counts: BTreeMap<String, u64>,
    /// How many disks were listed, if that is not the sum of these.
    listed: Option<u64>,
    #[serde(default)]
    bytes: u64,
    #[serde(default)]
    exit: i32,
    #[serde(default)]
    gaps: Vec<String>,
    #[serde(default)]
    stderr: Vec<String>,
    /// Texts of the report.
    #[serde(default)]
    told: Vec<String>,
    /// Whether the report is as if nothing had been compared.
    #[serde(default)]
    silent: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cluster {
    name: Option<String>,
    taken: Option<String>,
    complete: Option<Vec<String>>,
    #[serde(default)]
    missing: bool,
    #[serde(default)]
    pv: Vec<Volume>,
    #[serde(default)]
    claims: Vec<String>,
    #[serde(default)]
    nodes: Vec<Node>,
    /// The arguments of the controllers of drivers.
    #[serde(default)]
    flags: BTreeMap<String, String>,
    #[serde(default)]
    objects: Vec<Value>,
    /// Disks that lie in the cluster, by what they do not have in common with the others of their system.
    #[serde(default)]
    disks: Vec<OwnDisk>,
}

/// An object of a storage system: its kind, its name, and what is set besides.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnDisk {
    system: String,
    name: String,
    #[serde(default)]
    set: BTreeMap<String, Value>,
}

impl OwnDisk {
    /// Returns a disk of 10 GiB that is in no use, and that is old.
    fn object(&self) -> Value {
        let (api_version, kind, namespace, mut object) = match &*self.system {
            "longhorn" => (
                "longhorn.io/v1beta2",
                "Volume",
                Some("longhorn-system"),
                json!({"spec": {"size": "10737418240"}, "status": {"state": "detached", "ownerID": "n1"}}),
            ),
            "lvm" => (
                "local.openebs.io/v1alpha1",
                "LVMVolume",
                Some("openebs"),
                json!({
                    "spec": {"ownerNodeID": "n1", "volGroup": "vg1", "capacity": "10737418240"},
                    "status": {"state": "Ready"},
                }),
            ),
            "zfs" => (
                "zfs.openebs.io/v1",
                "ZFSVolume",
                Some("openebs"),
                json!({
                    "spec": {"ownerNodeID": "n1", "poolName": "tank/k8s", "capacity": "10737418240"},
                    "status": {"state": "Ready"},
                }),
            ),
            "topolvm" | "legacy-topolvm" => (
                if self.system == "topolvm" { "topolvm.io/v1" } else { "topolvm.cybozu.com/v1" },
                "LogicalVolume",
                None,
                json!({
                    "spec": {"name": self.name, "nodeName": "n1", "deviceClass": "ssd", "size": "10Gi"},
                    "status": {"volumeID": format!("id-of-{}", self.name), "currentSize": "10Gi"},
                }),
            ),
            "directpv" => (
                "directpv.min.io/v1beta1",
                "DirectPVVolume",
                None,
                json!({"status": {
                    "stagingTargetPath": "", "targetPath": "", "totalCapacity": 10_737_418_240_u64, "status": "Ready",
                }}),
            ),
            "trident" => (
                "trident.netapp.io/v1",
                "TridentVolume",
                Some("trident"),
                json!({
                    "config": {"name": self.name, "internalName": format!("t_{}", self.name), "size": "10737418240"},
                    "backendUUID": "b1", "pool": "aggr1", "orphaned": false, "state": "online",
                }),
            ),
            other => panic!("no system is called {other}"),
        };
        object["apiVersion"] = api_version.into();
        object["kind"] = kind.into();
        object["metadata"] = json!({
            "name": self.name, "namespace": namespace, "uid": format!("{}-{}", self.system, self.name),
            "creationTimestamp": "2026-01-01T00:00:00Z",
        });
        for (path, value) in &self.set {
            let place = path.split('.').fold(&mut object, |it, step| &mut it[step]);
            *place = value.clone();
        }
        object
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Volume {
    name: String,
    driver: String,
    handle: String,
    uid: String,
    #[serde(default)]
    zones: Vec<String>,
    phase: Option<String>,
    /// The node to which it is attached.
    on: Option<String>,
    created: Option<String>,
    /// Whether no driver made it.
    #[serde(default, rename = "static")]
    is_static: bool,
    #[serde(default)]
    attributes: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Node {
    name: String,
    id: String,
}

impl Volume {
    fn objects(&self) -> Vec<Value> {
        let created = self.created.as_deref().unwrap_or("2026-01-01T00:00:00Z");
        let mut volume = json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": self.name, "uid": self.name, "creationTimestamp": created},
            "spec": {
                "capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"],
                "persistentVolumeReclaimPolicy": "Retain",
                "claimRef": {"namespace": "shop", "name": self.name, "uid": self.uid},
                "csi": {"driver": self.driver, "volumeHandle": self.handle, "volumeAttributes": self.attributes},
            },
            "status": {"phase": self.phase.as_deref().unwrap_or("Bound")},
        });
        if !self.is_static {
            volume["metadata"]["annotations"] =
                json!({"pv.kubernetes.io/provisioned-by": self.driver});
        }
        if !self.zones.is_empty() {
            let zone = json!({"key": "topology.kubernetes.io/zone", "operator": "In", "values": self.zones});
            volume["spec"]["nodeAffinity"] =
                json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}});
        }
        let attachment = self.on.as_ref().map(|node| {
            json!({
                "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
                "metadata": {"name": format!("va-{}", self.name), "uid": format!("va-{}", self.name)},
                "spec": {
                    "attacher": self.driver, "nodeName": node,
                    "source": {"persistentVolumeName": self.name},
                },
                "status": {"attached": true},
            })
        });
        [volume].into_iter().chain(attachment).collect()
    }
}

impl Cluster {
    fn dump(&self) -> String {
        let complete = self.complete.clone().unwrap_or_else(|| vec!["all".to_owned()]);
        let taken = self.taken.as_deref().unwrap_or("2026-06-01T00:00:00Z");
        let name = self.name.as_deref().unwrap_or("one");
        let mut head = json!({
            "apiVersion": "storage.kubectl.dev/v1alpha1", "kind": "Excerpt", "complete": complete,
            "metadata": {"takenAt": taken, "identity": true, "cluster": {"version": "v1.34.1", "uid": name}},
        });
        if taken.is_empty() {
            head["metadata"]
                .as_object_mut()
                .expect("because it was written here")
                .remove("takenAt");
        }
        let claims = self.claims.iter().map(|uid| {
            json!({
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": {"name": format!("claim-{uid}"), "namespace": "shop", "uid": uid},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
                "status": {"phase": "Pending"},
            })
        });
        let nodes = self.nodes.iter().map(|Node { name, id }| {
            json!({
                "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name},
                "spec": {"providerID": id},
                "status": {"conditions": [{"type": "Ready", "status": "True"}]},
            })
        });
        let controllers = self.flags.iter().map(|(driver, flag)| {
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "controller", "namespace": "storage", "uid": driver},
                "spec": {"replicas": 1, "template": {"spec": {"containers": [
                    {"name": "driver", "image": "example/driver:v1", "args": [flag]},
                    {"name": "csi-provisioner", "image": "registry.k8s.io/sig-storage/csi-provisioner:v5.3.0",
                     "args": [format!("--csi-address=/var/lib/csi/{driver}/csi.sock")]},
                ]}}},
            })
        });
        let drivers = self.flags.keys().map(|driver| {
            json!({
                "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver",
                "metadata": {"name": driver, "uid": driver}, "spec": {"attachRequired": true},
            })
        });
        let volumes = self.pv.iter().flat_map(Volume::objects);
        let all = [head].into_iter().chain(volumes).chain(claims).chain(nodes).chain(controllers);
        let disks = self.disks.iter().map(OwnDisk::object);
        let all = all.chain(drivers).chain(self.objects.iter().cloned()).chain(disks);
        all.map(|it| it.to_string()).collect::<Vec<_>>().join("\n")
    }
}

impl Case {
    fn check(&self) -> Result<(), String> {
        let folder = tempfile::tempdir().map_err(|it| it.to_string())?;
        let mut args = vec!["audit".to_owned()];
        for (number, cluster) in self.clusters.iter().enumerate() {
            let file = folder.path().join(format!("cluster-{number}.json"));
            if !cluster.missing {
                fs::write(&file, cluster.dump()).map_err(|it| it.to_string())?;
            }
            let name = cluster.name.as_ref().map(|it| format!("{it}=")).unwrap_or_default();
            args.extend(["-f".to_owned(), format!("{name}{}", file.display())]);
        }
        if let Some(listing) = self.text.clone().or(self.listing.as_ref().map(Value::to_string)) {
            let file = folder.path().join("listing.json");
            fs::write(&file, listing).map_err(|it| it.to_string())?;
            let pool = self.pool.as_ref().map(|it| format!("rbd:{it}=")).unwrap_or_default();
            args.extend(["--inventory".to_owned(), format!("{pool}{}", file.display())]);
        }
        if let Some(more) = &self.more {
            let file = folder.path().join("more.json");
            fs::write(&file, more.to_string()).map_err(|it| it.to_string())?;
            args.extend(["--inventory".to_owned(), file.display().to_string()]);
        }
        args.extend(["-o", "json"].map(str::to_owned));
        args.extend(self.args.iter().cloned());
        let ran = Call::new(args.iter().map(String::as_str)).run();
        let fails = |told: &str| format!("{told}\n{}\n{}", ran.stderr, ran.stdout);
        if ran.code != Some(self.exit) {
            return Err(fails(&format!("exit {:?}, and not {}", ran.code, self.exit)));
        }
        for told in &self.stderr {
            if !ran.stderr.contains(told) {
                return Err(fails(&format!("stderr lacks {told:?}")));
            }
        }
        if self.exit == 1 {
            return Ok(());
        }
        let report: Value =
            serde_json::from_str(&ran.stdout).map_err(|it| fails(&it.to_string()))?;
        let found = report["findings"].as_array().into_iter().flatten().filter_map(|it| {
            let id = it["id"].as_str().filter(|it| it.starts_with("backend-volume"))?;
            let (severity, name) = (it["severity"].as_str()?, it["object"]["name"].as_str()?);
            let cluster = it["cluster"].as_str().map(|it| format!(" @{it}")).unwrap_or_default();
            Some(format!("{id} {severity} {name}{cluster}"))
        });
        let found: Vec<String> = found.collect();
        if found != self.findings {
            return Err(fails(&format!("found {found:#?}")));
        }
        if let Some(text) = self.told.iter().find(|it| !ran.stdout.contains(*it)) {
            return Err(fails(&format!("the report lacks {text:?}")));
        }
        if self.silent {
            let is_told = report["summary"].get("inventory").is_some();
            return if is_told { Err(fails("it is not silent")) } else { Ok(()) };
        }
        let summary =
            report["summary"]["inventory"].as_object().ok_or_else(|| fails("no summary"))?;
        for (key, value) in summary {
            let expected = match &**key {
                "listed" | "identities" | "unattributedBytes" => continue,
                "orphanedBytes" => self.bytes,
                key => self.counts.get(key).copied().unwrap_or_default(),
            };
            if value.as_u64() != Some(expected) {
                return Err(fails(&format!("{key} is {value}, and not {expected}")));
            }
        }
        let listed = self.listed.unwrap_or_else(|| self.counts.values().sum());
        if summary["listed"] != listed {
            return Err(fails("the counts do not add up"));
        }
        let gaps = report["gaps"].to_string();
        match self.gaps.iter().find(|it| !gaps.contains(*it)) {
            Some(gap) => Err(fails(&format!("no gap says {gap:?}"))),
            None => Ok(()),
        }
    }
}

#[test]
fn each_disk_of_a_listing_is_judged_as_the_cases_say() {
    check("tests/inventory.yaml");
}

#[test]
fn each_disk_that_lies_in_a_cluster_is_judged_as_the_cases_say() {
    check("tests/own_inventory.yaml");
}

#[track_caller]
fn check(file: &str) {
    let text = fs::read_to_string(root().join(file)).expect("the cases are there");
    let cases: Vec<Case> = serde_yaml::from_str(&text).expect("the cases are YAML");
    assert!(cases.len() > 30);
    let failed: Vec<String> =
        cases.iter().filter_map(|it| Some(format!("{}: {}", it.case, it.check().err()?))).collect();
    assert!(failed.is_empty(), "{} failed\n{}", failed.len(), failed.join("\n\n"));
}
